/* stencil.c: the grid, its boundary, and the expected value of the corner. See stencil.h. */
#include "stencil/stencil.h"

#include <math.h>
#include <stdio.h>

#include "common/app.h"
#include "common/job.h"

static int rows = 1000, columns = 1000, iterations = 10;

static const struct app_option options[] = {
    { "rows", &rows, 2, "rows of the grid, the boundary included" },
    { "columns", &columns, 2, "columns of the grid, the boundary included" },
    { "iterations", &iterations, 1, "wavefronts across the grid in one run" },
    { NULL, NULL, 0, NULL },
};

#ifdef APP_MPI
static const char *const                 names[] = { "message", "notified", NULL };
static const struct stencil_style *const styles[] = { &stencil_message, &stencil_notified };
#else
static const char *const                 names[] = { "notified", "onesided", "message", NULL };
static const struct stencil_style *const styles[] = { &stencil_notified, &stencil_onesided, &stencil_message };
#endif

static struct stencil              s;
static const struct stencil_style *style;

/* Return the first column of a rank; columns 1 ... columns - 1 are distributed over the ranks. */
static size_t first_column(int rank, int ranks)
{
    return 1 + (s.columns - 1) * (size_t)rank / (size_t)ranks;
}

static void open(int number)
{
    int ranks = job_size < columns ? job_size : columns - 1; /* with at least one column each; the others are idle */

    s = (struct stencil){ .rows = (size_t)rows, .columns = (size_t)columns, .iterations = iterations };
    s.pitch = ((s.columns - 2) / (size_t)ranks + 2 + 7) / 8 * 8; /* whole cache lines */
    s.left = s.right = -1;
    s.last = ranks - 1;
    if (job_rank < ranks) {
        s.width = first_column(job_rank + 1, ranks) - first_column(job_rank, ranks);
        s.left = job_rank - 1;
        s.right = job_rank < s.last ? job_rank + 1 : -1;
    }
    style = styles[number];
    s.grid = style->open(&s, s.rows * s.pitch * sizeof(double));
}

static void prepare(void)
{
    int    ranks = s.last + 1;
    size_t before = job_rank < ranks ? first_column(job_rank, ranks) - 1 : 0; /* the column before this rank's */

    for (size_t row = 0; row < s.rows; row++)
        for (size_t j = 0; j <= s.width; j++)
            stencil_row(&s, row)[j] = row == 0 ? (double)(before + j) : j == 0 && before == 0 ? (double)row : 0;
}

static void run(void)
{
    if (job_rank <= s.last)
        style->run(&s, job_rank);
}

static void alone(void)
{
    for (int i = 0; i < s.iterations && job_rank <= s.last; i++)
        for (size_t row = 1; row < s.rows; row++)
            stencil_update(&s, row);
}

static void describe(char *text, size_t size)
{
    snprintf(text, size, "%d x %d points, %d iterations", rows, columns, iterations);
}

static double work(void)
{
    return 1e-6 * iterations * (rows - 1.0) * (columns - 1.0);
}

static double *witness(void)
{
    return job_rank == s.last ? stencil_row(&s, s.rows - 1) + s.width : NULL;
}

static bool check(char *verdict, size_t size)
{
    double corner = job_max(witness() ? *witness() : -INFINITY), expected = iterations * (rows + columns - 2.0);

    snprintf(verdict, size, "the corner is %.0f and must be %.0f", corner, expected);
    return corner == expected;
}

static void end(void)
{
    style->close(s.grid);
}

int main(int argc, char **argv)
{
    static const struct app app = { .name = "stencil",
                                    .unit = "points/s",
                                    .styles = names,
                                    .options = options,
                                    .open = open,
                                    .prepare = prepare,
                                    .run = run,
                                    .alone = alone,
                                    .close = end,
                                    .describe = describe,
                                    .work = work,
                                    .check = check,
                                    .witness = witness };

    return app_main(&app, argc, argv);
}

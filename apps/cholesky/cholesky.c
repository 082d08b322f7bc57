/* cholesky.c: the matrix, the tasks and their order, the broadcast tree of each tile, the residual. See cholesky.h. */
#include "cholesky/cholesky.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/app.h"
#include "common/job.h"

extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info); /* LAPACK, in OpenBLAS */
extern int  blas_thread_shutdown_(void) __attribute__((weak)); /* in builds of OpenBLAS that have their own threads */

static int tiles = 32, side = 32;

static const struct app_option options[] = {
    { "tiles", &tiles, 1, "tiles from top to bottom of the matrix" },
    { "side", &side, 1, "rows and columns of a tile" },
    { NULL, NULL, 0, NULL },
};

#ifdef APP_MPI
static const char *const                  names[] = { "message", "notified", NULL };
static const struct cholesky_style *const styles[] = { &cholesky_message, &cholesky_notified };
#else
static const char *const                  names[] = { "notified", "onesided", "message", NULL };
static const struct cholesky_style *const styles[] = { &cholesky_notified, &cholesky_onesided, &cholesky_message };
#endif

static struct cholesky              c;
static const struct cholesky_style *style;

/* ---- ownership and broadcast trees ---- */

static int owner(int row)
{
    return row % job_size;
}

static int row_of(int number)
{
    int row = (int)(sqrt(2.0 * number + 0.25) - 0.5);

    row -= cholesky_number(row, 0) > number; /* correct the rounding of the square root */
    row += cholesky_number(row + 1, 0) <= number;
    return row;
}

int cholesky_next(const struct cholesky *chol, int number, int to[2])
{
    int row = row_of(number), place, count = 0;

    if (row == chol->tiles - 1) /* no other rank needs the last row */
        return 0;
    place = (job_rank - owner(row) + job_size) % job_size; /* in a tree whose root is 0 */
    for (int next = 2 * place + 1; next <= 2 * place + 2 && next < job_size; next++)
        to[count++] = (next + owner(row)) % job_size;
    return count;
}

int cholesky_arrived(struct cholesky *chol, int number, int to[2])
{
    chol->here[number] = true;
    chol->missing--;
    return cholesky_next(chol, number, to);
}

/* ---- the tasks ---- */

static double *tile(int row, int column)
{
    return cholesky_tile(&c, cholesky_number(row, column));
}

/* tile(m, k) -= tile(m, n) tile(k, n)' */
static void update(int m, int k, int n)
{
    if (m == k)
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, side, side, -1, tile(k, n), side, 1, tile(k, k), side);
    else
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, side, side, side, -1, tile(m, n), side, tile(k, n), side,
                    1, tile(m, k), side);
}

/* Finish tile(m, k) after all updates from the tiles on its left. */
static void solve(int m, int k)
{
    int info = 0;

    if (m == k)
        dpotrf_("L", &side, tile(k, k), &side, &info);
    else
        cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, side, side, 1, tile(k, k), side,
                    tile(m, k), side);
    if (info != 0)
        job_fail("dpotrf says that the matrix is not positive definite");
    for (int j = 1; m == k && j < side; j++) /* dpotrf does not clear the part above the diagonal */
        memset(tile(k, k) + j * side, 0, (size_t)j * sizeof(double));
}

/* Receive and forward tiles until this rank has the tile. */
static void need(int row, int column)
{
    while (!c.here[cholesky_number(row, column)])
        style->take(&c, true);
}

static void run(void)
{
    for (int k = 0; k < tiles; k++) {
        for (int m = k + (job_rank - owner(k) + job_size) % job_size; m < tiles; m += job_size) {
            while (style->take(&c, false)) /* other ranks may wait for this rank to forward the tile */
                ;
            for (int n = 0; n < k; n++) {
                need(k, n);
                update(m, k, n);
            }
            if (m > k)
                need(k, k);
            solve(m, k);
            c.here[cholesky_number(m, k)] = true;
            style->give(&c, cholesky_number(m, k));
        }
    }
    while (c.missing > 0)
        style->take(&c, true);
    style->finish();
}

/* The computation of a run without communication. Must follow a run, which leaves the tiles of other ranks here. */
static void alone(void)
{
    for (int k = 0; k < tiles; k++) {
        for (int m = k + (job_rank - owner(k) + job_size) % job_size; m < tiles; m += job_size) {
            for (int n = 0; n < k; n++)
                update(m, k, n);
            solve(m, k);
        }
    }
}

/* ---- the matrix ---- */

/* Return element (i, j) of A. A is symmetric, its elements off the diagonal lie between -1/2 and 1/2, and its
 * diagonal makes A positive definite. */
static double element(int i, int j)
{
    uint64_t low = (uint64_t)(i < j ? i : j), high = (uint64_t)(i < j ? j : i);
    uint64_t bits = (high << 32 | low) * 0x9e3779b97f4a7c15u;

    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9u;
    return i == j ? (double)tiles * side : (double)(bits >> 11) * 0x1p-53 - 0.5;
}

static void fill(int row, int column, double *to)
{
    for (int j = 0; j < side; j++)
        for (int i = 0; i < side; i++)
            to[j * side + i] = element(row * side + i, column * side + j);
}

static void open_style(int number)
{
    size_t count = (size_t)cholesky_number(tiles, 0);

    openblas_set_num_threads(1); /* the parallelism comes from the ranks */
    if (blas_thread_shutdown_)
        blas_thread_shutdown_(); /* it has started threads by now, which spin for some time before they sleep */
    c = (struct cholesky){ .tiles = tiles, .side = side, .bytes = (size_t)side * (size_t)side * sizeof(double) };
    c.here = app_memory(count * sizeof(bool));
    style = styles[number];
    c.matrix = style->open(&c, (count * c.bytes + 63) / 64 * 64);
}

static void prepare(void)
{
    memset(c.here, 0, (size_t)cholesky_number(tiles, 0) * sizeof(bool));
    c.missing = 0;
    for (int row = 0; row < tiles; row++) {
        if (owner(row) == job_rank)
            for (int column = 0; column <= row; column++)
                fill(row, column, tile(row, column));
        else if (row < tiles - 1)
            c.missing += row + 1;
    }
}

static void describe(char *text, size_t size)
{
    snprintf(text, size, "%d x %d tiles of %d x %d doubles", tiles, tiles, side, side);
}

static double work(void)
{
    double n = (double)tiles * side;

    return 1e-6 * (n * n * n / 3 + n * n / 2 + n / 6);
}

static double *witness(void)
{
    return owner(tiles - 1) == job_rank ? tile(tiles - 1, 0) : NULL;
}

/* Return the largest element of A - L L' in the rows of this rank. */
static double residual(void)
{
    double *rest = app_memory(c.bytes), most = 0;

    for (int m = job_rank; m < tiles; m += job_size) {
        for (int k = 0; k <= m; k++) {
            fill(m, k, rest);
            for (int n = 0; n <= k; n++)
                cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, side, side, side, -1, tile(m, n), side, tile(k, n),
                            side, 1, rest, side);
            for (int i = 0; i < side * side; i++)
                most = isnan(rest[i]) ? INFINITY : fmax(most, fabs(rest[i]));
        }
    }
    free(rest);
    return most;
}

/* Check the residual in units of the rounding error of one multiplication, times the order of the matrix. */
static bool check(char *verdict, size_t size)
{
    double n = (double)tiles * side, scaled = job_max(residual()) / (DBL_EPSILON * n * n);

    snprintf(verdict, size, "|A - L L'| / (n |A| epsilon) is %.3g and must be below 1", scaled);
    return scaled < 1;
}

static void end(void)
{
    style->close(c.matrix);
    free(c.here);
}

int main(int argc, char **argv)
{
    static const struct app app = { .name = "cholesky",
                                    .unit = "operations/s",
                                    .styles = names,
                                    .options = options,
                                    .open = open_style,
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

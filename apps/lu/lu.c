/* lu.c: the matrix, its distribution, the steps of the factorisation, the residual. See lu.h. */
#include "lu/lu.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/app.h"
#include "common/job.h"

extern int blas_thread_shutdown_(void) __attribute__((weak)); /* in builds of OpenBLAS that have their own threads */

static int blocks = 16, side = 32, cyclic = 1;

static const struct app_option options[] = {
    { "blocks", &blocks, 1, "blocks from top to bottom of the matrix" },
    { "side", &side, 1, "rows and columns of a block" },
    { "cyclic", &cyclic, 0, "1: block-cyclic distribution; 0: block distribution" },
    { NULL, NULL, 0, NULL },
};

#if defined(APP_ARMCI)
static const char *const            names[] = { "armci", "message", NULL };
static const struct lu_style *const styles[] = { &lu_armci, &lu_message };
#elif defined(APP_MPI)
static const char *const            names[] = { "message", NULL };
static const struct lu_style *const styles[] = { &lu_message };
#else
static const char *const            names[] = { "notified", "onesided", "message", "armci", NULL };
static const struct lu_style *const styles[] = { &lu_notified, &lu_onesided, &lu_message, &lu_armci };
#endif

static struct lu              lu;
static const struct lu_style *style;
static int                    grid_rows, grid_columns; /* the ranks as a grid, as square as possible */

/* ---- the distribution ---- */

int lu_owner(int row, int column)
{
    if (cyclic)
        return row % grid_rows * grid_columns + column % grid_columns;
    return row * grid_rows / blocks * grid_columns + column * grid_columns / blocks;
}

int lu_owner_of(const struct lu *l, int number)
{
    return lu_owner(number % l->blocks, number / l->blocks);
}

static bool mine(int row, int column)
{
    return lu_owner(row, column) == job_rank;
}

static double *block(int row, int column)
{
    int     number = lu_number(&lu, row, column);
    double *array = mine(row, column) ? lu.matrix : lu.others;

    return array + lu_offset(&lu, number) / sizeof(double);
}

/* Give a final block of this rank to the owners of the blocks behind it in its row or in its column; to both, if it
 * lies on the diagonal. */
static void give(int row, int column)
{
    int k = row < column ? row : column, count = 0;

    lu.here[lu_number(&lu, row, column)] = true;
    for (int i = 0; i < 2 * (blocks - k - 1); i++) {
        int  other = k + 1 + i / 2;
        bool along = i % 2 ? row <= column : column <= row; /* down the column of a block of U; along the row of L */
        int  rank = i % 2 ? lu_owner(other, column) : lu_owner(row, other);
        bool known = rank == job_rank;

        for (int j = 0; j < count && !known; j++)
            known = lu.to[j] == rank;
        if (along && !known)
            lu.to[count++] = rank;
    }
    style->give(&lu, lu_number(&lu, row, column), count);
}

/* ---- the kernels ---- */

/* Factor a block in place, without pivoting. */
static void factor(double *a)
{
    for (int k = 0; k < side; k++) {
        for (int i = k + 1; i < side; i++)
            a[k * side + i] /= a[k * side + k];
        for (int j = k + 1; j < side; j++)
            for (int i = k + 1; i < side; i++)
                a[j * side + i] -= a[k * side + i] * a[j * side + k];
    }
}

static void solve(int row, int column, int k)
{
    bool lower = row > k;

    cblas_dtrsm(CblasColMajor, lower ? CblasRight : CblasLeft, lower ? CblasUpper : CblasLower, CblasNoTrans,
                lower ? CblasNonUnit : CblasUnit, side, side, 1, block(k, k), side, block(row, column), side);
}

static void update(int row, int column, int k)
{
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, side, side, side, -1, block(row, k), side, block(k, column),
                side, 1, block(row, column), side);
}

/* ---- the steps ---- */

/* Return whether this rank owns a block in the part of a row, or of a column, that begins at block k. */
static bool has_row(int row, int k)
{
    for (int j = k; j < blocks; j++)
        if (mine(row, j))
            return true;
    return false;
}

static bool has_column(int column, int k)
{
    for (int i = k; i < blocks; i++)
        if (mine(i, column))
            return true;
    return false;
}

/* Add a block to the list of blocks that this rank needs, if it belongs to another rank. */
static int wish(int row, int column, int count)
{
    if (!mine(row, column) && !lu.here[lu_number(&lu, row, column)])
        lu.list[count++] = lu_number(&lu, row, column);
    return count;
}

/* Compute the perimeter of step k: the blocks of this rank in row k and in column k. */
static void perimeter(int k, bool communicate)
{
    if (communicate && (has_row(k, k + 1) || has_column(k, k + 1))) {
        int count = wish(k, k, 0);

        style->need(&lu, count);
    }
    for (int i = k + 1; i < blocks; i++) {
        if (mine(i, k)) {
            solve(i, k, k);
            if (communicate)
                give(i, k);
        }
        if (mine(k, i)) {
            solve(k, i, k);
            if (communicate)
                give(k, i);
        }
    }
}

static void interior(int k, bool communicate)
{
    int count = 0;

    for (int i = k + 1; communicate && i < blocks; i++) {
        count = has_row(i, k + 1) ? wish(i, k, count) : count;
        count = has_column(i, k + 1) ? wish(k, i, count) : count;
    }
    if (communicate)
        style->need(&lu, count);
    for (int j = k + 1; j < blocks; j++)
        for (int i = k + 1; i < blocks; i++)
            if (mine(i, j))
                update(i, j, k);
}

static void factorise(bool communicate)
{
    for (int k = 0; k < blocks; k++) {
        if (mine(k, k)) {
            factor(block(k, k));
            if (communicate)
                give(k, k);
        }
        if (communicate)
            style->phase();
        perimeter(k, communicate);
        if (communicate)
            style->phase();
        interior(k, communicate);
    }
    if (communicate)
        style->finish();
}

static void run(void)
{
    factorise(true);
}

/* The computation of a run without communication. It follows a run, which leaves the blocks of other ranks here. */
static void alone(void)
{
    factorise(false);
}

/* ---- the matrix ---- */

/* Return element (i, j) of A. The elements off the diagonal lie between -1/2 and 1/2, and the diagonal is so large that
 * the factorisation needs no pivoting. */
static double element(int i, int j)
{
    uint64_t bits = ((uint64_t)i << 32 | (uint64_t)j) * 0x9e3779b97f4a7c15u;

    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9u;
    return i == j ? (double)blocks * side : (double)(bits >> 11) * 0x1p-53 - 0.5;
}

static void fill(int row, int column, double *to)
{
    for (int j = 0; j < side; j++)
        for (int i = 0; i < side; i++)
            to[j * side + i] = element(row * side + i, column * side + j);
}

static void open_style(int number)
{
    openblas_set_num_threads(1); /* the parallelism comes from the ranks */
    if (blas_thread_shutdown_)
        blas_thread_shutdown_(); /* it has started threads by now, which spin for some time before they sleep */
    grid_rows = (int)sqrt((double)job_size);
    while (job_size % grid_rows != 0)
        grid_rows--;
    grid_columns = job_size / grid_rows;
    lu = (struct lu){ .blocks = blocks, .side = side, .bytes = (size_t)side * (size_t)side * sizeof(double) };
    lu.here = app_memory((size_t)blocks * (size_t)blocks * sizeof(bool));
    lu.to = app_memory((size_t)job_size * sizeof(int));
    lu.list = app_memory(2 * (size_t)blocks * sizeof(int));
    style = styles[number];
    style->open(&lu);
}

static void prepare(void)
{
    memset(lu.here, 0, (size_t)blocks * (size_t)blocks * sizeof(bool));
    for (int j = 0; j < blocks; j++)
        for (int i = 0; i < blocks; i++)
            if (mine(i, j))
                fill(i, j, block(i, j));
}

static void describe(char *text, size_t size)
{
    snprintf(text, size, "%d x %d blocks of %d x %d doubles, %s distribution over %d x %d ranks", blocks, blocks, side,
             side, cyclic ? "block-cyclic" : "block", grid_rows, grid_columns);
}

static double work(void)
{
    double n = (double)blocks * side;

    return 1e-6 * (2 * n * n * n / 3 - n * n / 2 - n / 6);
}

static double *witness(void)
{
    return mine(blocks - 1, blocks - 1) ? block(blocks - 1, blocks - 1) : NULL;
}

/* Copy L or U from a block on the diagonal, with zeros in place of the other one. */
static void extract(const double *from, double *to, bool lower)
{
    for (int j = 0; j < side; j++) {
        for (int i = 0; i < side; i++) {
            bool keep = lower ? i > j : i <= j;

            to[j * side + i] = keep ? from[j * side + i] : lower && i == j ? 1 : 0;
        }
    }
}

/* Subtract L(row, n) U(n, column) from a block. */
static void subtract(double *rest, int row, int column, int n, double *left, double *right)
{
    const double *l = block(row, n), *u = block(n, column);

    if (n == row) {
        extract(l, left, true);
        l = left;
    }
    if (n == column) {
        extract(u, right, false);
        u = right;
    }
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, side, side, side, -1, l, side, u, side, 1, rest, side);
}

/* Return the largest element of A - L U in the blocks of this rank, which has all blocks that the product needs. */
static double residual(void)
{
    double *rest = app_memory(3 * lu.bytes), *left = rest + side * side, *right = left + side * side, most = 0;

    for (int j = 0; j < blocks; j++) {
        for (int i = 0; i < blocks; i++) {
            if (!mine(i, j))
                continue;
            fill(i, j, rest);
            for (int n = 0; n <= i && n <= j; n++)
                subtract(rest, i, j, n, left, right);
            for (int e = 0; e < side * side; e++)
                most = isnan(rest[e]) ? INFINITY : fmax(most, fabs(rest[e]));
        }
    }
    free(rest);
    return most;
}

/* Check the residual in units of the rounding error of one multiplication, times the order of the matrix. */
static bool check(char *verdict, size_t size)
{
    double n = (double)blocks * side, scaled = job_max(residual()) / (DBL_EPSILON * n * n);

    snprintf(verdict, size, "|A - L U| / (n |A| epsilon) is %.3g and must be below 1", scaled);
    return scaled < 1;
}

static void end(void)
{
    style->close(&lu);
    free(lu.here);
    free(lu.to);
    free(lu.list);
}

int main(int argc, char **argv)
{
    static const struct app app = { .name = "lu",
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

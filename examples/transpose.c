/* transpose.c: transposes a matrix whose rows are distributed over the ranks. Each rank puts a block of its rows to
 * each rank, where the rows become columns. Each block is one strided put, which transposes the block on the way.
 * Then every rank checks its rows of the result.
 *
 * Usage: transpose [N], for N by N doubles.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tern.h>

#define CHECK(call)                             \
    do {                                        \
        if ((call) != TERN_OK)                  \
            tern_abort(1, tern_error_detail()); \
    } while (0)

/* Return the first row of a rank. The rank's last row precedes the first row of the next rank. */
static size_t first_row(size_t n, int rank)
{
    return n * (size_t)rank / (size_t)tern_size();
}

static double element(size_t row, size_t column)
{
    return (double)row * 1e6 + (double)column;
}

/* Put the block of this rank's rows that has the columns of a rank into the rows of that rank. */
static void put_block(tern_region *region, int rank, const double *rows, size_t n)
{
    size_t       mine = first_row(n, tern_rank()), theirs = first_row(n, rank), line = n * sizeof(double);
    size_t       count[] = { first_row(n, tern_rank() + 1) - mine, first_row(n, rank + 1) - theirs };
    ptrdiff_t    here[] = { (ptrdiff_t)line, sizeof(double) }; /* distance to the next row, to the next column */
    int64_t      there[] = { sizeof(double), (int64_t)line };  /* at the target: to the next column, to the next row */
    tern_strided block =
        TERN_STRIDED(.dims = 2, .element = sizeof(double), .count = count, .local = (void *)(uintptr_t)(rows + theirs),
                     .local_stride = here, .remote = mine * sizeof(double), .remote_stride = there);

    CHECK(tern_put_strided_nbi(TERN_WORLD, region, rank, &block));
}

/* Return how many elements of this rank's rows of the transposed matrix are wrong. */
static size_t count_wrong(const double *rows, size_t n)
{
    size_t first = first_row(n, tern_rank()), wrong = 0;

    for (size_t row = first; row < first_row(n, tern_rank() + 1); row++)
        for (size_t column = 0; column < n; column++)
            wrong += rows[(row - first) * n + column] != element(column, row);
    return wrong;
}

int main(int argc, char **argv)
{
    size_t       n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, first, rows, wrong, *all;
    tern_region *region;
    double      *matrix;

    CHECK(tern_init());
    first = first_row(n, tern_rank());
    rows = first_row(n, tern_rank() + 1) - first;
    matrix = malloc((rows * n + 1) * sizeof(double));
    all = malloc((size_t)tern_size() * sizeof(*all));
    if (!matrix || !all)
        tern_abort(1, "no memory");
    for (size_t i = 0; i < rows * n; i++)
        matrix[i] = element(first + i / n, i % n);

    /* The largest number of rows of any rank, because all ranks must request the same size. */
    CHECK(tern_region_create(TERN_WORLD, (n / (size_t)tern_size() + 1) * n * sizeof(double) + 1, NULL, &region));
    for (int i = 1; i <= tern_size(); i++) /* each rank starts with its neighbour */
        put_block(region, (tern_rank() + i) % tern_size(), matrix, n);
    CHECK(tern_quiet(TERN_WORLD));
    CHECK(tern_barrier(TERN_WORLD));

    wrong = count_wrong(tern_region_ptr(region, tern_rank()), n);
    CHECK(tern_allgather(TERN_WORLD, &wrong, sizeof(wrong), all));
    wrong = 0;
    for (int i = 0; i < tern_size(); i++)
        wrong += all[i];
    if (tern_rank() == 0)
        printf("%zu x %zu doubles on %d ranks transposed, %zu wrong\n", n, n, tern_size(), wrong);

    free(all);
    free(matrix);
    CHECK(tern_region_free(region));
    CHECK(tern_finalize());
    return wrong > 0;
}

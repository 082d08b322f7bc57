/* matrix.c: transpose and column_bw: transfers of matrices of doubles. The size is the number of rows and columns.
 *
 * transpose puts a square matrix so that its rows become columns. It is compared with two naive loops that copy one
 * element at a time (one reads contiguously and writes with a stride, the other reads with a stride and writes
 * contiguously) and with memcpy of the same number of bytes, which is the upper limit.
 *
 * column_bw is the ARMCI paper, figure 7: the transfer of a square section of a matrix that is twice as wide. It
 * compares one strided get with a series of contiguous gets, one for each row of the section; with the same series of
 * nonblocking gets; and, through memory, with a memcpy for each row.
 */
#include <string.h>

#include "perf.h"

#define DOUBLE ((int64_t)sizeof(double))

uint64_t perf_matrix_bytes(uint64_t size)
{
    return size * size * sizeof(double);
}

uint64_t perf_section_bytes(uint64_t size)
{
    return 2 * perf_matrix_bytes(size);
}

static void transposed(struct perf_case *c, uint64_t iters)
{
    int64_t      row = (int64_t)c->size * DOUBLE;
    tern_strided s = TERN_STRIDED(.dims = 2, .element = sizeof(double), .count = (size_t[]){ c->size, c->size },
                                  .local = c->p->local, .local_stride = (ptrdiff_t[]){ (ptrdiff_t)row, DOUBLE },
                                  .remote_stride = (int64_t[]){ DOUBLE, row });

    for (uint64_t i = 0; i < iters; i++)
        perf_must(tern_put_strided(c->p->ctx, c->p->region, c->target, &s), "transpose");
}

static double *other_matrix(const struct perf_case *c)
{
    return (double *)(void *)(c->p->theirs != NULL ? c->p->theirs : c->p->mine);
}

/* Copy element by element, in the order of the source. */
static void naive_reading(struct perf_case *c, uint64_t iters)
{
    const double *from = (const double *)(const void *)c->p->local;
    double       *to = other_matrix(c);
    size_t        n = c->size;

    for (uint64_t k = 0; k < iters; k++) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                to[j * n + i] = from[i * n + j];
        perf_keep();
    }
}

/* Copy element by element, in the order of the destination. */
static void naive_writing(struct perf_case *c, uint64_t iters)
{
    const double *from = (const double *)(const void *)c->p->local;
    double       *to = other_matrix(c);
    size_t        n = c->size;

    for (uint64_t k = 0; k < iters; k++) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                to[i * n + j] = from[j * n + i];
        perf_keep();
    }
}

/* Copy without transposing. */
static void copied(struct perf_case *c, uint64_t iters)
{
    for (uint64_t k = 0; k < iters; k++) {
        memcpy(other_matrix(c), c->p->local, perf_matrix_bytes(c->size));
        perf_keep();
    }
}

/* Collective. Verify that the peer has the transpose. */
static void verify(struct perf_case *c)
{
    struct perf *p = c->p;
    double      *local = (double *)(void *)p->local;

    for (size_t i = 0; i < c->size * c->size; i++)
        local[i] = (double)i;
    perf_must(tern_barrier(p->ctx), "barrier");
    if (p->rank == 0)
        transposed(c, 1);
    perf_must(tern_barrier(p->ctx), "barrier");
    for (size_t i = 0; i < c->size * c->size && p->rank == 1; i++) {
        if (((const double *)(const void *)p->mine)[i] != (double)(i % c->size * c->size + i / c->size))
            tern_abort(1, "tern-perf: data arrived damaged");
    }
}

void perf_transpose(struct perf_case *c)
{
    static const struct perf_kernel k[] = {
        { PERF_FIRST, transposed }, { PERF_FIRST, naive_reading }, { PERF_FIRST, naive_writing }, { PERF_FIRST, copied }
    };
    double bytes = (double)perf_matrix_bytes(c->size);

    verify(c);
    perf_measure(c, k, c->p->network ? 1 : 4);
    perf_figure_bandwidth(c, 0, bytes, "bandwidth");
    if (c->p->network)
        return;
    perf_figure_bandwidth(c, 1, bytes, "naive_reading");
    perf_figure_bandwidth(c, 2, bytes, "naive_writing");
    perf_figure_bandwidth(c, 3, bytes, "memcpy");
    perf_figure_ratio(c, 1, 0, 1, "ratio_to_naive_reading");
    perf_figure_ratio(c, 2, 0, 1, "ratio_to_naive_writing");
    perf_figure_ratio(c, 3, 0, 1, "ratio_to_memcpy");
}

static void section(struct perf_case *c, uint64_t iters)
{
    int64_t      row = (int64_t)c->size * DOUBLE;
    tern_strided s = TERN_STRIDED(.dims = 1, .element = (size_t)row, .count = (size_t[]){ c->size },
                                  .local = c->p->local, .local_stride = (ptrdiff_t[]){ (ptrdiff_t)row },
                                  .remote = (uint64_t)row / 2 / sizeof(double) * sizeof(double),
                                  .remote_stride = (int64_t[]){ 2 * row });

    for (uint64_t i = 0; i < iters; i++)
        perf_must(tern_get_strided(c->p->ctx, c->p->region, c->target, &s), "get of a section");
}

static inline __attribute__((always_inline)) void rows(struct perf_case *c, uint64_t iters, bool wait)
{
    uint64_t row = c->size * sizeof(double), first = row / 2 / sizeof(double) * sizeof(double);

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t n = 0; n < c->size; n++)
            perf_must(
                wait
                    ? tern_get(c->p->ctx, c->p->region, c->target, first + 2 * n * row, c->p->local + n * row, row)
                    : tern_get_nbi(c->p->ctx, c->p->region, c->target, first + 2 * n * row, c->p->local + n * row, row),
                "get of a row");
        if (!wait)
            perf_must(tern_quiet(c->p->ctx), "quiet");
    }
}

static void series(struct perf_case *c, uint64_t iters)
{
    rows(c, iters, true);
}

static void series_posted(struct perf_case *c, uint64_t iters)
{
    rows(c, iters, false);
}

/* Copy row by row through plain pointers. */
static void section_by_hand(struct perf_case *c, uint64_t iters)
{
    const unsigned char *from = (const unsigned char *)other_matrix(c);
    size_t               row = c->size * sizeof(double), first = row / 2 / sizeof(double) * sizeof(double);

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t n = 0; n < c->size; n++)
            memcpy(c->p->local + n * row, from + first + 2 * n * row, row);
        perf_keep();
    }
}

void perf_column_bw(struct perf_case *c)
{
    static const struct perf_kernel k[] = {
        { PERF_FIRST, section }, { PERF_FIRST, series }, { PERF_FIRST, series_posted }, { PERF_FIRST, section_by_hand }
    };
    double bytes = (double)perf_matrix_bytes(c->size);

    perf_measure(c, k, c->p->network ? 3 : 4);
    perf_figure_bandwidth(c, 0, bytes, "bandwidth");
    perf_figure_bandwidth(c, 1, bytes, "series");
    perf_figure_bandwidth(c, 2, bytes, "series_posted");
    perf_figure_ratio(c, 1, 0, 1, "ratio_to_series");
    perf_figure_ratio(c, 2, 0, 1, "ratio_to_series_posted");
    if (c->p->network)
        return;
    perf_figure_bandwidth(c, 3, bytes, "hand");
    perf_figure_ratio(c, 3, 0, 1, "ratio_to_hand");
}

/* acc.c: accumulates by example, and every refusal.
 *
 * Promise: accumulates of all ranks to the same large array are added up, whatever the path and however they are split;
 * extents of the target may overlap; accumulates to a target that computes make progress; an invalid call is refused
 * with the documented status and changes nothing: neither the target, nor local memory, nor an event.
 *
 * env: TERN_CMA=off
 * ranks: 1 2 4
 */
#include "job_test.h"

#define LARGE (3u << 18) /* numbers: 3 MiB of float, 6 of double */
#define NOT_AN_EVENT ((struct tern_pending *)(uintptr_t)0xabcd0)

static const tern_scale doubles = { TERN_DOUBLE, NULL };

/* All ranks add to an array of the last rank at the same time, in two halves that overlap. */
static void large(enum job_kind kind)
{
    struct job_region area;
    double           *from = job_new(LARGE * sizeof(double)), by = 0.5;
    const tern_scale  half = { TERN_DOUBLE, &by };
    int               last = tern_size() - 1;
    size_t            cut = LARGE / 2 + 77, rest = LARGE / 4;

    job_region_make(&area, kind, LARGE * sizeof(double));
    memset(area.mine, 0, LARGE * sizeof(double));
    for (size_t i = 0; i < LARGE; i++)
        from[i] = (double)(i % 1000) * (tern_rank() + 1);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_acc_nbi(TERN_WORLD, area.region, last, 0, from, cut * sizeof(double), &half));
    OK(tern_acc(TERN_WORLD, area.region, last, rest * sizeof(double), from + rest, (LARGE - rest) * sizeof(double),
                &half));
    OK(tern_quiet(TERN_WORLD));
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == last) {
        double ranks = tern_size() * (tern_size() + 1) / 2;

        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        for (size_t i = 0; i < LARGE; i++) {
            double times = (i < cut) + (i >= rest);

            CHECK(((double *)(void *)area.mine)[i] == times * ranks * (double)(i % 1000) / 2);
        }
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
    OK(tern_barrier(TERN_WORLD));
    free(from);
    job_region_drop(&area);
}

/* Rank 0 computes, and never calls Tern, until the others have added the value that it waits for. */
static void computing(enum job_kind kind)
{
    const tern_scale  ones = { TERN_INT64, NULL };
    struct job_region area;
    int64_t           one = 1;

    job_region_make(&area, kind, 64);
    memset(area.mine, 0, 64);
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() > 0)
        OK(tern_acc(TERN_WORLD, area.region, 0, 8, &one, sizeof(one), &ones));
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__); /* a thread of this process adds to this memory */
    while (tern_rank() == 0 && *(volatile int64_t *)(void *)(area.mine + 8) != tern_size() - 1)
        ;
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    OK(tern_barrier(TERN_WORLD));
    job_region_drop(&area);
}

/* Strict contexts: an accumulate follows the put before it, and the put after it follows the accumulate. */
static void ordered(enum job_kind kind)
{
    struct job_region area;
    tern_ctx         *ctx;
    int               right = (tern_rank() + 1) % tern_size();
    double            value = 0;

    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &ctx));
    job_region_make(&area, kind, 64);
    memset(area.mine, 0, 64);
    OK(tern_barrier(TERN_WORLD));
    for (int i = 1; i <= 50; i++) {
        const double base = i, more[2] = { 100, 1000 };

        OK(tern_put_nbi(ctx, area.region, right, 16, &base, sizeof(base)));
        OK(tern_acc_nbi(ctx, area.region, right, 16, &more[0], sizeof(double), &doubles));
        OK(tern_acc_nbi(ctx, area.region, right, 16, &more[1], sizeof(double), &doubles));
        OK(tern_get(ctx, area.region, right, 16, &value, sizeof(value)));
        CHECK(value == base + 1100);
    }
    OK(tern_quiet(ctx));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_ctx_destroy(ctx));
    job_region_drop(&area);
}

/* Overlapping extents of the target: every summand is added; the old values are those of some order. */
static void overlapping(enum job_kind kind)
{
    struct job_region area;
    double            from[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }, sum = 0;
    uint64_t          same[8] = { 8, 8, 8, 8, 8, 8, 8, 8 };
    void             *each[8];
    int               right = (tern_rank() + 1) % tern_size();
    tern_indexed      x = { 8, sizeof(double), each, 8, sizeof(double), same };
    tern_strided      s = { .dims = 1,
                            .element = sizeof(double),
                            .count = (size_t[]){ 8 },
                            .local = from,
                            .local_stride = (ptrdiff_t[]){ sizeof(double) },
                            .remote = 8,
                            .remote_stride = (int64_t[]){ 0 } };

    for (int i = 0; i < 8; i++)
        each[i] = &from[i];
    job_region_make(&area, kind, 64);
    memset(area.mine, 0, 64);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_acc_indexed(TERN_WORLD, area.region, right, &x, &doubles));
    OK(tern_get_acc_strided(TERN_WORLD, area.region, right, &s, &doubles));
    for (int i = 0; i < 8; i++) {
        CHECK(from[i] >= 8 && from[i] < 16);
        sum += from[i];
    }
    CHECK(sum == 8 * 8 + 28);
    OK(tern_barrier(TERN_WORLD));
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    CHECK(((double *)(void *)area.mine)[1] == 16 && ((double *)(void *)area.mine)[2] == 0);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    OK(tern_barrier(TERN_WORLD));
    job_region_drop(&area);
}

/* ---- refusals ---- */

#define SIZE 256

static void refuse_contiguous(const struct job_region *area, int rank)
{
    unsigned char    buffer[SIZE] = { 0 };
    const tern_scale none = { TERN_TYPES, NULL }, below = { (tern_type)-1, NULL };
    const tern_scale complex = { TERN_COMPLEX_DOUBLE, NULL };
    tern_region     *r = area->region;
    tern_event       event = { NOT_AN_EVENT }, local = { NOT_AN_EVENT };
    tern_opts        opts = { .flags = TERN_IMMEDIATE, .local = &local, .event = &event };

    RETURNS(TERN_ERR_ARG, tern_acc(NULL, r, rank, 0, buffer, 8, &doubles));
    RETURNS(TERN_ERR_ARG, tern_acc(TERN_WORLD, NULL, rank, 0, buffer, 8, &doubles));
    RETURNS(TERN_ERR_ARG, tern_acc(TERN_WORLD, r, rank, 0, NULL, 8, &doubles));
    RETURNS(TERN_ERR_ARG, tern_acc(TERN_WORLD, r, rank, 0, buffer, 8, NULL));
    RETURNS(TERN_ERR_ARG, tern_acc(TERN_WORLD, r, rank, 0, buffer, 8, &none));
    SAYS("type");
    RETURNS(TERN_ERR_ARG, tern_acc(TERN_WORLD, r, rank, 0, buffer, 8, &below));
    RETURNS(TERN_ERR_RANGE, tern_acc(TERN_WORLD, r, tern_size(), 0, buffer, 8, &doubles));
    RETURNS(TERN_ERR_RANGE, tern_acc(TERN_WORLD, r, -1, 0, buffer, 8, &doubles));
    RETURNS(TERN_ERR_RANGE, tern_acc(TERN_WORLD, r, rank, SIZE - 8, buffer, 16, &doubles));
    RETURNS(TERN_ERR_RANGE, tern_acc(TERN_WORLD, r, rank, UINT64_MAX - 7, buffer, 16, &doubles));
    RETURNS(TERN_ERR_ARG, tern_acc(TERN_WORLD, r, rank, 4, buffer, 8, &doubles));
    SAYS("multiple of 8");
    RETURNS(TERN_ERR_ARG, tern_acc(TERN_WORLD, r, rank, 0, buffer, 12, &doubles));
    SAYS("whole elements");
    RETURNS(TERN_ERR_ARG, tern_get_acc(TERN_WORLD, r, rank, 0, buffer, 8, &complex));
    RETURNS(TERN_ERR_ARG, tern_get_acc(TERN_WORLD, r, rank, 4, buffer, 16, &complex));
    RETURNS(TERN_ERR_ARG, tern_acc_with(TERN_WORLD, r, rank, 4, buffer, 8, &doubles, &opts));
    opts.flags = 0x80;
    RETURNS(TERN_ERR_ARG, tern_acc_with(TERN_WORLD, r, rank, 0, buffer, 8, &doubles, &opts));
    RETURNS(TERN_ERR_ARG, tern_acc_nb(TERN_WORLD, r, rank, 0, buffer, 8, &doubles, NULL));
    CHECK(event.pending == NOT_AN_EVENT && local.pending == NOT_AN_EVENT);
    ALL_ARE(buffer, SIZE, 0);
    OK(tern_acc(TERN_WORLD, r, rank, SIZE, buffer, 0, &doubles)); /* an empty accumulate at the very end */
    opts.flags = 0;
    OK(tern_acc_with(TERN_WORLD, r, rank, 0, NULL, 0, &doubles, &opts));
    CHECK(event.pending == NULL && local.pending == NULL);
}

static void refuse_shapes(const struct job_region *area, int rank)
{
    static double local[8];
    tern_region  *r = area->region;
    tern_piece    pieces[2] = { { local, 8 }, { local + 2, 8 } };
    tern_extent   extents[2] = { { 0, 12 }, { 16, 4 } };
    tern_vector   v = { 2, pieces, 2, extents };
    void         *addrs[2] = { local, local + 1 };
    uint64_t      offsets[2] = { 0, 12 };
    tern_indexed  x = { 2, 8, addrs, 2, 8, offsets };
    size_t        count[1] = { 2 };
    ptrdiff_t     near[1] = { 8 };
    int64_t       far[1] = { 12 };
    tern_strided  s = { 1, 8, count, local, near, 0, far };

    RETURNS(TERN_ERR_ARG, tern_acc_vector(TERN_WORLD, r, rank, &v, &doubles)); /* cuts an element at the target */
    SAYS("whole elements");
    extents[0] = (tern_extent){ 0, 8 }, extents[1] = (tern_extent){ 16, 8 };
    pieces[0].len = 12, pieces[1].len = 4; /* and on the local side */
    RETURNS(TERN_ERR_ARG, tern_acc_vector(TERN_WORLD, r, rank, &v, &doubles));
    pieces[0].len = 8, pieces[1].len = 8;
    extents[1].offset = 20;
    RETURNS(TERN_ERR_ARG, tern_get_acc_vector(TERN_WORLD, r, rank, &v, &doubles));
    SAYS("multiple of 8");
    extents[1].offset = SIZE;
    RETURNS(TERN_ERR_RANGE, tern_acc_vector(TERN_WORLD, r, rank, &v, &doubles));
    RETURNS(TERN_ERR_ARG, tern_acc_vector(TERN_WORLD, r, rank, NULL, &doubles));
    RETURNS(TERN_ERR_ARG, tern_acc_indexed(TERN_WORLD, r, rank, &x, &doubles));
    SAYS("multiple of 8");
    x.local_len = x.remote_len = 4;
    RETURNS(TERN_ERR_ARG, tern_acc_indexed(TERN_WORLD, r, rank, &x, &doubles));
    RETURNS(TERN_ERR_ARG, tern_acc_strided(TERN_WORLD, r, rank, &s, &doubles));
    SAYS("multiple of 8");
    far[0] = 16;
    s.element = 4;
    RETURNS(TERN_ERR_ARG, tern_get_acc_strided(TERN_WORLD, r, rank, &s, &doubles));
    SAYS("whole elements");
    s.element = 8;
    s.remote = SIZE - 8;
    RETURNS(TERN_ERR_RANGE, tern_acc_strided(TERN_WORLD, r, rank, &s, &doubles));
}

static void refusals(enum job_kind kind)
{
    struct job_region area;

    job_region_make(&area, kind, SIZE);
    memset(area.mine, 0, SIZE);
    OK(tern_barrier(TERN_WORLD));
    for (int rank = 0; rank < tern_size(); rank++) {
        refuse_contiguous(&area, rank);
        refuse_shapes(&area, rank);
    }
    OK(tern_quiet(TERN_WORLD));
    OK(tern_barrier(TERN_WORLD));
    ALL_ARE(area.mine, SIZE, 0);
    job_region_drop(&area);
}

int main(void)
{
    static const enum job_kind kinds[] = { JOB_HOST, JOB_REGISTERED };

    OK(tern_init());
    for (int i = 0; i < 2; i++) {
        large(kinds[i]);
        computing(kinds[i]);
        ordered(kinds[i]);
        overlapping(kinds[i]);
        refusals(kinds[i]);
    }
    OK(tern_finalize());
    return 0;
}

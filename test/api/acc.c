/* acc.c: accumulates by example, and every refusal.
 *
 * Promise: accumulates of all ranks to the same large array are added up, whatever the path and however they are split;
 * extents of the target may overlap; accumulates to a target that computes make progress; an invalid call is refused
 * with the documented status and changes nothing: neither the target, nor local memory, nor an event.
 *
 * env: TERN_CMA=off
 * ranks: 1 2 4
 */
#include "acc_test.h"

#define LARGE (3u << 18) /* numbers: 3 MiB of float, 6 of double */
#define NOT_AN_EVENT ((struct tern_pending *)(uintptr_t)0xabcd0)

static const tern_acc_args doubles = { .size = sizeof(tern_acc_args), .type = TERN_DOUBLE };

/* All ranks add to an array of the last rank at the same time, in two halves that overlap. */
static void large(enum job_kind kind)
{
    struct job_region   area;
    double             *from = job_new(LARGE * sizeof(double)), by = 0.5;
    const tern_acc_args half = TERN_ACC_ARGS(.type = TERN_DOUBLE, .factor = &by);
    int                 last = tern_size() - 1;
    size_t              cut = LARGE / 2 + 77, rest = LARGE / 4;

    job_region_make(&area, kind, LARGE * sizeof(double));
    memset(area.mine, 0, LARGE * sizeof(double));
    for (size_t i = 0; i < LARGE; i++)
        from[i] = (double)(i % 1000) * (tern_rank() + 1);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_acc_with(TERN_WORLD, area.region, last, 0, from, cut * sizeof(double), &TERN_OPTS(.acc = &half)));
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
    const tern_acc_args ones = TERN_ACC_ARGS(.type = TERN_INT64);
    struct job_region   area;
    int64_t             one = 1;

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
        OK(tern_acc_with(ctx, area.region, right, 16, &more[0], sizeof(double), &TERN_OPTS(.acc = &doubles)));
        OK(tern_acc_with(ctx, area.region, right, 16, &more[1], sizeof(double), &TERN_OPTS(.acc = &doubles)));
        OK(tern_get(ctx, area.region, right, 16, &value, sizeof(value)));
        CHECK(value == base + 1100);
    }
    OK(tern_quiet(ctx));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_ctx_free(ctx));
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
    tern_indexed      x = TERN_INDEXED(.local_count = 8, .local_len = sizeof(double), .local = each, .remote_count = 8,
                                       .remote_len = sizeof(double), .remote = same);
    tern_strided      s =
        TERN_STRIDED(.dims = 1, .element = sizeof(double), .count = (size_t[]){ 8 }, .local = from,
                     .local_stride = (ptrdiff_t[]){ sizeof(double) }, .remote = 8, .remote_stride = (int64_t[]){ 0 });

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
    unsigned char       buffer[SIZE] = { 0 };
    const tern_acc_args none = TERN_ACC_ARGS(.type = TERN_TYPES), below = TERN_ACC_ARGS(.type = (tern_type)-1);
    const tern_acc_args unsized = { .type = TERN_DOUBLE };
    const tern_acc_args complex = TERN_ACC_ARGS(.type = TERN_COMPLEX_DOUBLE);
    tern_region        *r = area->region;
    tern_event          event = { NOT_AN_EVENT }, local = { NOT_AN_EVENT };
    tern_opts           opts = TERN_OPTS(.flags = TERN_IMMEDIATE, .local = &local, .event = &event, .acc = &doubles);

    RETURNS(TERN_ERR_ARG, tern_acc(NULL, r, rank, 0, buffer, 8, &doubles));
    RETURNS(TERN_ERR_ARG, tern_acc(TERN_WORLD, NULL, rank, 0, buffer, 8, &doubles));
    RETURNS(TERN_ERR_ARG, tern_acc(TERN_WORLD, r, rank, 0, NULL, 8, &doubles));
    RETURNS(TERN_ERR_ARG, tern_acc(TERN_WORLD, r, rank, 0, buffer, 8, NULL));
    RETURNS(TERN_ERR_ARG, tern_acc(TERN_WORLD, r, rank, 0, buffer, 8, &none));
    SAYS("type");
    RETURNS(TERN_ERR_ARG, tern_acc(TERN_WORLD, r, rank, 0, buffer, 8, &below));
    REFUSES(TERN_ERR_ARG, tern_acc(TERN_WORLD, r, rank, 0, buffer, 8, &unsized));
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
    RETURNS(TERN_ERR_ARG, tern_acc_with(TERN_WORLD, r, rank, 4, buffer, 8, &opts));
    opts.flags = 0x80;
    RETURNS(TERN_ERR_ARG, tern_acc_with(TERN_WORLD, r, rank, 0, buffer, 8, &opts));
    opts.flags = 0;
    opts.acc = NULL;
    RETURNS(TERN_ERR_ARG, tern_acc_with(TERN_WORLD, r, rank, 0, buffer, 8, &opts));
    RETURNS(TERN_ERR_ARG, tern_acc_with(TERN_WORLD, r, rank, 0, buffer, 8, NULL));
    CHECK(event.pending == NOT_AN_EVENT && local.pending == NOT_AN_EVENT);
    ALL_ARE(buffer, SIZE, 0);
    OK(tern_acc(TERN_WORLD, r, rank, SIZE, buffer, 0, &doubles)); /* an empty accumulate at the very end */
    opts.acc = &doubles;
    OK(tern_acc_with(TERN_WORLD, r, rank, 0, NULL, 0, &opts));
    CHECK(event.pending == NULL && local.pending == NULL);
}

/* Check that a call refuses the arguments with a text that names the call, the reduction and the type. */
static void refuse_args(tern_region *r, int rank, const tern_acc_args *args, const char *reduction, const char *type)
{
    unsigned char buffer[SIZE] = { 0 };
    tern_event    event = { NOT_AN_EVENT };
    tern_opts     opts = TERN_OPTS(.acc = args, .event = &event);

    REFUSES(TERN_ERR_ARG, tern_acc(TERN_WORLD, r, rank, 0, buffer, 16, args));
    SAYS(reduction);
    SAYS(type);
    REFUSES(TERN_ERR_ARG, tern_get_acc(TERN_WORLD, r, rank, 0, buffer, 16, args));
    REFUSES(TERN_ERR_ARG, tern_get_acc_with(TERN_WORLD, r, rank, 0, buffer, 16, &opts));
    SAYS(reduction);
    SAYS(type);
    CHECK(event.pending == NOT_AN_EVENT);
    ALL_ARE(buffer, SIZE, 0);
}

static void refuse_reductions(const struct job_region *area, int rank)
{
    static const double one[2] = { 1, 0 };
#define TEXT(name, number, text) [number] = (text),
    static const char *const reduction[] = { TERN_REDUCTION_LIST(TEXT) };
#undef TEXT
#define TEXT(name, ctype, bytes, text) [name] = (text),
    static const char *const type[] = { TERN_TYPE_LIST(TEXT) };
#undef TEXT

    for (int t = 0; t < (int)TERN_TYPES; t++) {
        for (int op = 0; op < (int)TERN_REDUCTIONS; op++) {
            tern_acc_args args = TERN_ACC_ARGS(.type = (tern_type)t, .op = (tern_reduction)op);

            if (!acc_has(args.op, args.type))
                refuse_args(area->region, rank, &args, reduction[op], type[t]);
            args.factor = one;
            if (op != TERN_SUM)
                refuse_args(area->region, rank, &args, reduction[op], type[t]);
        }
        refuse_args(area->region, rank, &TERN_ACC_ARGS(.type = (tern_type)t, .op = (tern_reduction)TERN_REDUCTIONS),
                    "reduction 8", type[t]);
        refuse_args(area->region, rank, &TERN_ACC_ARGS(.type = (tern_type)t, .op = (tern_reduction)-1), "reduction -1",
                    type[t]);
    }
}

static void refuse_shapes(const struct job_region *area, int rank)
{
    static double local[8];
    tern_region  *r = area->region;
    tern_piece    pieces[2] = { { local, 8 }, { local + 2, 8 } };
    tern_extent   extents[2] = { { 0, 12 }, { 16, 4 } };
    tern_vector   v = TERN_VECTOR(.local_count = 2, .local = pieces, .remote_count = 2, .remote = extents);
    void         *addrs[2] = { local, local + 1 };
    uint64_t      offsets[2] = { 0, 12 };
    tern_indexed  x = TERN_INDEXED(.local_count = 2, .local_len = 8, .local = addrs, .remote_count = 2, .remote_len = 8,
                                   .remote = offsets);
    size_t        count[1] = { 2 };
    ptrdiff_t     near[1] = { 8 };
    int64_t       far[1] = { 12 };
    tern_strided  s = TERN_STRIDED(.dims = 1, .element = 8, .count = count, .local = local, .local_stride = near,
                                   .remote = 0, .remote_stride = far);

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
        refuse_reductions(&area, rank);
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

/* snippets_coll.c: the examples in the manual pages of collective calls; see snippets.c. */
#include <stdlib.h>
#include <tern.h>

#pragma GCC diagnostic ignored "-Wunused-function"

#define CHECK(call)                             \
    do {                                        \
        if ((call) != TERN_OK)                  \
            tern_abort(1, tern_error_detail()); \
    } while (0)

void compute(void);

/* tern_sync: Let the ranks meet without completing their operations. */
static void meet(tern_ctx *ctx)
{
    CHECK(tern_sync(ctx));
}

/* tern_sync_with: Meet while the program computes. */
static void meet_later(tern_ctx *ctx)
{
    tern_event event;

    CHECK(tern_sync_with(ctx, &TERN_OPTS(.event = &event)));
    compute();
    CHECK(tern_event_wait(&event, TERN_FOREVER));
}

/* tern_barrier_with: Compute while the puts of all ranks arrive. */
static void meet_after_puts(tern_ctx *ctx)
{
    tern_event event;

    CHECK(tern_barrier_with(ctx, &TERN_OPTS(.event = &event)));
    compute();
    CHECK(tern_event_wait(&event, TERN_FOREVER));
}

/* tern_broadcast, tern_scatter, tern_gather: Rank 0 distributes a parameter and work, and collects the results. */
static void farm(tern_ctx *ctx, const double *work, double *results)
{
    double step = 0.5, mine, result;

    CHECK(tern_broadcast(ctx, 0, &step, sizeof(step)));
    CHECK(tern_scatter(ctx, 0, work, &mine, sizeof(mine)));
    result = mine * step;
    CHECK(tern_gather(ctx, 0, &result, sizeof(result), results));
}

/* tern_broadcast_with, tern_scatter_with, tern_gather_with: The same, all under way at once. */
static void farm_with(tern_ctx *ctx, double *step, const double *work, double *mine, const double *old, double *results)
{
    tern_event event[3];

    CHECK(tern_broadcast_with(ctx, 0, step, sizeof(*step), &TERN_OPTS(.event = &event[0])));
    CHECK(tern_scatter_with(ctx, 0, work, mine, sizeof(*mine), &TERN_OPTS(.event = &event[1])));
    CHECK(tern_gather_with(ctx, 0, old, sizeof(*old), results, &TERN_OPTS(.event = &event[2])));
    compute();
    CHECK(tern_event_wait_all(event, 3, TERN_FOREVER));
}

/* tern_reduce, tern_allreduce, tern_reduce_args, TERN_REDUCE_ARGS: The sum of all ranks at rank 0, and the greatest
 * value at every rank. */
static void sums(tern_ctx *ctx, double value)
{
    double sum, most;

    CHECK(tern_reduce(ctx, 0, &value, &sum, 1, &TERN_REDUCE_ARGS(.type = TERN_DOUBLE)));
    CHECK(tern_allreduce(ctx, &value, &most, 1, &TERN_REDUCE_ARGS(.type = TERN_DOUBLE, .op = TERN_MAX)));
}

/* tern_reduce_with, tern_allreduce_with: Start two reductions, and compute meanwhile. */
static void sums_with(tern_ctx *ctx, const double *values, double *sums, double *all, size_t n)
{
    const tern_reduce_args add = TERN_REDUCE_ARGS(.type = TERN_DOUBLE, .flags = TERN_REPRODUCIBLE);
    tern_event             event[2];

    CHECK(tern_reduce_with(ctx, 0, values, sums, n, &add, &TERN_OPTS(.event = &event[0])));
    CHECK(tern_allreduce_with(ctx, values, all, n, &add, &TERN_OPTS(.event = &event[1])));
    compute();
    CHECK(tern_event_wait_all(event, 2, TERN_FOREVER));
}

/* tern_reduce_scatter, tern_reduce_scatterv: Each rank gets its block of a sum. */
static void blocks_of_sum(tern_ctx *ctx, const float *parts, float *mine, size_t each, const size_t *bytes)
{
    const tern_reduce_args add = TERN_REDUCE_ARGS(.type = TERN_FLOAT);

    CHECK(tern_reduce_scatter(ctx, parts, mine, each, &add));
    CHECK(tern_reduce_scatterv(ctx, parts, mine, &TERN_BLOCKS(.len = bytes), &add));
}

/* tern_reduce_scatter_with, tern_reduce_scatterv_with: The same, with an event. */
static void blocks_of_sum_with(tern_ctx *ctx, const float *parts, float *mine, size_t each, const size_t *bytes)
{
    const tern_reduce_args add = TERN_REDUCE_ARGS(.type = TERN_FLOAT);
    tern_event             event;

    CHECK(tern_reduce_scatter_with(ctx, parts, mine, each, &add, &TERN_OPTS(.event = &event)));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_reduce_scatterv_with(ctx, parts, mine, &TERN_BLOCKS(.len = bytes), &add, &TERN_OPTS(.event = &event)));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
}

/* tern_gatherv, tern_scatterv, tern_allgatherv, tern_blocks, TERN_BLOCKS: Blocks of different lengths. */
static void lists(tern_ctx *ctx, const char *text, size_t len, char *all, const size_t *lengths, char *mine)
{
    CHECK(tern_gatherv(ctx, 0, text, len, all, &TERN_BLOCKS(.len = lengths)));
    CHECK(tern_scatterv(ctx, 0, all, &TERN_BLOCKS(.len = lengths), mine, len));
    CHECK(tern_allgatherv(ctx, text, len, all, &TERN_BLOCKS(.len = lengths)));
}

/* tern_gatherv_with, tern_scatterv_with, tern_allgatherv_with: The same, with events. */
static void lists_with(tern_ctx *ctx, const char *text, size_t len, char *all, const size_t *lengths, char *mine)
{
    tern_event event;

    CHECK(tern_gatherv_with(ctx, 0, text, len, all, &TERN_BLOCKS(.len = lengths), &TERN_OPTS(.event = &event)));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_scatterv_with(ctx, 0, all, &TERN_BLOCKS(.len = lengths), mine, len, &TERN_OPTS(.event = &event)));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_allgatherv_with(ctx, text, len, all, &TERN_BLOCKS(.len = lengths), &TERN_OPTS(.event = &event)));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
}

/* tern_allgather_with: Gather while the program computes. */
static void gather_later(tern_ctx *ctx, const double *mine, double *all)
{
    tern_event event;

    CHECK(tern_allgather_with(ctx, mine, sizeof(*mine), all, &TERN_OPTS(.event = &event)));
    compute();
    CHECK(tern_event_wait(&event, TERN_FOREVER));
}

/* tern_alltoall, tern_alltoallv, tern_alltoalls, tern_alltoalls_args, TERN_ALLTOALLS_ARGS: Exchange blocks with all
 * ranks: of one length, of different lengths, and of every second element. */
static void transpose(tern_ctx *ctx, const double *rows, double *columns, size_t n, const size_t *out, const size_t *in)
{
    CHECK(tern_alltoall(ctx, rows, columns, n * sizeof(*rows)));
    CHECK(tern_alltoallv(ctx, rows, &TERN_BLOCKS(.len = out), columns, &TERN_BLOCKS(.len = in)));
    CHECK(tern_alltoalls(ctx, rows, columns,
                         &TERN_ALLTOALLS_ARGS(.elem = sizeof(*rows), .count = n, .src_stride = 2, .dst_stride = 1)));
}

/* tern_alltoall_with, tern_alltoallv_with, tern_alltoalls_with: The same, with an event. */
static void transpose_with(tern_ctx *ctx, const double *rows, double *columns, size_t n, const tern_blocks *out,
                           const tern_blocks *in)
{
    const tern_alltoalls_args every = TERN_ALLTOALLS_ARGS(.elem = 8, .count = n, .src_stride = 2, .dst_stride = 1);
    tern_event                event;

    CHECK(tern_alltoall_with(ctx, rows, columns, n * sizeof(*rows), &TERN_OPTS(.event = &event)));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_alltoallv_with(ctx, rows, out, columns, in, &TERN_OPTS(.event = &event)));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_alltoalls_with(ctx, rows, columns, &every, &TERN_OPTS(.event = &event)));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
}

/* tern_scan, tern_exscan: Where the elements of this rank begin in a list of all, and where they end. */
static void positions(tern_ctx *ctx, uint64_t count)
{
    uint64_t begin = 0, end;

    CHECK(tern_exscan(ctx, &count, &begin, 1, &TERN_REDUCE_ARGS(.type = TERN_UINT64)));
    CHECK(tern_scan(ctx, &count, &end, 1, &TERN_REDUCE_ARGS(.type = TERN_UINT64)));
}

/* tern_scan_with, tern_exscan_with: The same, with events. */
static void positions_with(tern_ctx *ctx, const uint64_t *count, uint64_t *begin, uint64_t *end)
{
    const tern_reduce_args add = TERN_REDUCE_ARGS(.type = TERN_UINT64);
    tern_event             event[2];

    CHECK(tern_exscan_with(ctx, count, begin, 1, &add, &TERN_OPTS(.event = &event[0])));
    CHECK(tern_scan_with(ctx, count, end, 1, &add, &TERN_OPTS(.event = &event[1])));
    CHECK(tern_event_wait_all(event, 2, TERN_FOREVER));
}

/* tern_reduce_fn: Compose functions x -> a * x + b, which does not commute. */
static void compose(const void *in, void *inout, size_t count, void *user)
{
    const double *first = in;
    double       *then = inout;

    (void)user;
    for (size_t i = 0; i < 2 * count; i += 2) {
        then[i + 1] += then[i] * first[i + 1];
        then[i] *= first[i];
    }
}

/* tern_reduce_fn: The composition of the functions of all ranks. */
static void compose_all(tern_ctx *ctx, const double mine[2], double all[2])
{
    CHECK(tern_allreduce(ctx, mine, all, 1,
                         &TERN_REDUCE_ARGS(.op = TERN_USER, .fn = compose, .elem = 2 * sizeof(double))));
}

/* coll.c: the collective calls: the time of each call when all ranks make it in a row, with arrays in private memory
 * (latency) and in a region (region), beside the copies that the call cannot avoid (limit).
 *
 * The size is what the program passes as length or count, in bytes: the whole array of a broadcast or a reduction, and
 * the block of one rank in a gather, scatter, all-gather, all-to-all and reduce-scatter. Reductions add doubles. The
 * root is rank 0.
 *
 * The limit is made of memcpy between the regions of the ranks, by all ranks at once, without synchronization. For n
 * ranks and arrays or blocks of s bytes, each rank copies:
 *
 *     broadcast           s, the root nothing: each rank reads the array of the root
 *     reduce              (n - 1) s / n: each rank combines one n-th of the arrays of all others
 *     allreduce           2 (n - 1) s / n: the same, and it reads the n-ths of the others
 *     reduce_scatter      (n - 1) s: its block of each other rank
 *     gather, scatter     s: its block
 *     allgather           n s: the block of each rank, and its own
 *     alltoall            n s: one block of each rank
 *     scan                s, rank 0 nothing: the result of the rank before it
 *
 * A reduction reads one operand and writes the result where a memcpy reads and writes. The other operand is not
 * counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

/* The arrays of a call. Each has room for a block of every rank. */
struct arrays {
    unsigned char *src, *dst;
};

typedef tern_status call_fn(tern_ctx *ctx, struct arrays a, uint64_t size);

static struct {
    call_fn       *call;
    struct arrays  plain, shared; /* in private memory, and in the region */
    tern_region   *region;
    unsigned char *memory; /* the private memory */
    uint64_t       room;   /* bytes of an array */
    void (*copies)(struct perf_case *c, uint64_t iters);
} now;

static const tern_reduce_args sum = TERN_REDUCE_ARGS(.type = TERN_DOUBLE, .op = TERN_SUM);

/* ---- the calls ---- */

static tern_status call_sync(tern_ctx *ctx, struct arrays a, uint64_t size)
{
    (void)a;
    (void)size;
    return tern_sync(ctx);
}

static tern_status call_broadcast(tern_ctx *ctx, struct arrays a, uint64_t size)
{
    return tern_broadcast(ctx, 0, tern_rank() == 0 ? a.src : a.dst, size);
}

static tern_status call_reduce(tern_ctx *ctx, struct arrays a, uint64_t size)
{
    return tern_reduce(ctx, 0, a.src, a.dst, size / sizeof(double), &sum);
}

static tern_status call_allreduce(tern_ctx *ctx, struct arrays a, uint64_t size)
{
    return tern_allreduce(ctx, a.src, a.dst, size / sizeof(double), &sum);
}

static tern_status call_reduce_scatter(tern_ctx *ctx, struct arrays a, uint64_t size)
{
    return tern_reduce_scatter(ctx, a.src, a.dst, size / sizeof(double), &sum);
}

static tern_status call_gather(tern_ctx *ctx, struct arrays a, uint64_t size)
{
    return tern_gather(ctx, 0, a.src, size, a.dst);
}

static tern_status call_scatter(tern_ctx *ctx, struct arrays a, uint64_t size)
{
    return tern_scatter(ctx, 0, a.src, a.dst, size);
}

static tern_status call_allgather(tern_ctx *ctx, struct arrays a, uint64_t size)
{
    return tern_allgather(ctx, a.src, size, a.dst);
}

static tern_status call_alltoall(tern_ctx *ctx, struct arrays a, uint64_t size)
{
    return tern_alltoall(ctx, a.src, a.dst, size);
}

static tern_status call_scan(tern_ctx *ctx, struct arrays a, uint64_t size)
{
    return tern_scan(ctx, a.src, a.dst, size / sizeof(double), &sum);
}

/* ---- the copies that a call cannot avoid ---- */

static unsigned char *src_of(int rank)
{
    return tern_region_ptr(now.region, rank);
}

static unsigned char *dst_of(int rank)
{
    return src_of(rank) + now.room + MEASURE_SKEW;
}

/* The n-th of an array that a rank combines, in whole words. */
static uint64_t part_at(const struct perf_case *c, int rank)
{
    return c->size / sizeof(double) * (uint64_t)rank / (uint64_t)c->p->ranks * sizeof(double);
}

static void copy_parts(struct perf_case *c, bool of_others)
{
    int me = c->p->rank;

    for (int i = 1; i < c->p->ranks; i++) {
        int      peer = (me + i) % c->p->ranks, part = of_others ? peer : me;
        uint64_t at = part_at(c, part);

        memcpy(now.shared.dst + at, (of_others ? dst_of(peer) : src_of(peer)) + at, part_at(c, part + 1) - at);
    }
}

static void copies_broadcast(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters && c->p->rank != 0; i++, perf_keep())
        memcpy(now.shared.dst, src_of(0), c->size);
}

static void copies_reduce(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++, perf_keep())
        copy_parts(c, false);
}

static void copies_allreduce(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++, perf_keep()) {
        copy_parts(c, false);
        copy_parts(c, true);
    }
}

static void copies_reduce_scatter(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++, perf_keep())
        for (int k = 1; k < c->p->ranks; k++)
            memcpy(now.shared.dst, src_of((c->p->rank + k) % c->p->ranks) + (uint64_t)c->p->rank * c->size, c->size);
}

static void copies_gather(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++, perf_keep())
        memcpy(dst_of(0) + (uint64_t)c->p->rank * c->size, now.shared.src, c->size);
}

static void copies_scatter(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++, perf_keep())
        memcpy(now.shared.dst, src_of(0) + (uint64_t)c->p->rank * c->size, c->size);
}

static void copies_all(struct perf_case *c, uint64_t iters, bool one)
{
    for (uint64_t i = 0; i < iters; i++, perf_keep())
        for (int k = 0; k < c->p->ranks; k++) {
            int peer = (c->p->rank + k) % c->p->ranks;

            memcpy(now.shared.dst + (uint64_t)peer * c->size, src_of(peer) + (one ? 0 : (uint64_t)c->p->rank * c->size),
                   c->size);
        }
}

static void copies_allgather(struct perf_case *c, uint64_t iters)
{
    copies_all(c, iters, true);
}

static void copies_alltoall(struct perf_case *c, uint64_t iters)
{
    copies_all(c, iters, false);
}

static void copies_scan(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters && c->p->rank > 0; i++, perf_keep())
        memcpy(now.shared.dst, dst_of(c->p->rank - 1), c->size);
}

/* ---- the tests ---- */

static const struct {
    const char *name;
    call_fn    *call;
    void (*copies)(struct perf_case *c, uint64_t iters); /* NULL: none */
} calls[] = {
    { "sync", call_sync, NULL },
    { "broadcast", call_broadcast, copies_broadcast },
    { "reduce", call_reduce, copies_reduce },
    { "allreduce", call_allreduce, copies_allreduce },
    { "reduce_scatter", call_reduce_scatter, copies_reduce_scatter },
    { "gather", call_gather, copies_gather },
    { "scatter", call_scatter, copies_scatter },
    { "allgather", call_allgather, copies_allgather },
    { "alltoall", call_alltoall, copies_alltoall },
    { "scan", call_scan, copies_scan },
};

static void calls_plain(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++)
        perf_must(now.call(c->p->ctx, now.plain, c->size), c->p->test->name);
}

static void calls_shared(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++)
        perf_must(now.call(c->p->ctx, now.shared, c->size), c->p->test->name);
}

static void open_arrays(struct perf_case *c)
{
    uint64_t bytes = c->size * (uint64_t)c->p->ranks;
    void    *memory = NULL;

    now.room = (bytes + MEASURE_PAGE - 1) / MEASURE_PAGE * MEASURE_PAGE;
    bytes = 2 * now.room + MEASURE_PAGE;
    perf_must(tern_region_create(c->p->ctx, bytes, NULL, &now.region), "allocating the arrays");
    if (posix_memalign(&memory, MEASURE_PAGE, bytes) != 0)
        tern_abort(1, "tern-perf: not enough memory for these sizes; choose smaller ones");
    now.memory = memory;
    now.shared = (struct arrays){ .src = tern_region_ptr(now.region, c->p->rank) };
    now.shared.dst = now.shared.src + now.room + MEASURE_SKEW;
    now.plain = (struct arrays){ .src = now.memory, .dst = now.memory + now.room + MEASURE_SKEW };
}

/* Fill the arrays: word i of rank r is r + i % 7, so that sums are exact. */
static void fill(const struct perf_case *c, struct arrays a)
{
    double *word = (double *)(void *)a.src;

    memset(a.src, 0, now.room);
    memset(a.dst, 0, now.room);
    for (uint64_t i = 0; i < now.room / sizeof(double); i++)
        word[i] = c->p->rank + (double)(i % 7);
}

/* Collective. Check the first and the last word of the first block of the result of this rank. */
static void verify(struct perf_case *c, struct arrays a)
{
    const double *word = (const double *)(const void *)a.dst;
    uint64_t      n = c->size / sizeof(double), last = n - 1, first = 0;
    int           me = c->p->rank, ranks = c->p->ranks;
    double        all = (double)ranks * (ranks - 1) / 2, want = 0, times = 0;
    bool          rooted = now.call == call_reduce || now.call == call_gather;

    fill(c, a);
    perf_must(tern_barrier(c->p->ctx), "barrier");
    perf_must(now.call(c->p->ctx, a, c->size), c->p->test->name);
    perf_must(tern_barrier(c->p->ctx), "barrier");
    if (now.call == call_sync || n == 0 || (rooted && me != 0) || (now.call == call_broadcast && me == 0))
        return;
    if (now.call == call_reduce || now.call == call_allreduce || now.call == call_reduce_scatter)
        times = ranks, want = all;
    else if (now.call == call_scan)
        times = me + 1, want = (double)me * (me + 1) / 2;
    else
        times = 1;
    if (now.call == call_reduce_scatter || now.call == call_scatter || now.call == call_alltoall)
        first = (uint64_t)me * n;
    if (word[0] != want + times * (double)(first % 7) || word[last] != want + times * (double)((first + last) % 7))
        tern_abort(1, "tern-perf: the result of a collective call is wrong");
}

void perf_coll(struct perf_case *c)
{
    struct perf_kernel k[3] = { { PERF_ALL, calls_plain }, { PERF_ALL, calls_shared } };
    bool               sizes = strcmp(c->p->test->name, "sync") != 0;
    bool               limit = c->p->opt->vs_limit && sizes && !c->p->network;

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (strcmp(calls[i].name, c->p->test->name) == 0) {
            now.call = calls[i].call;
            k[2] = (struct perf_kernel){ PERF_ALL, calls[i].copies };
        }
    if (sizes && c->size % sizeof(double) != 0)
        return;
    open_arrays(c);
    verify(c, now.plain);
    verify(c, now.shared);
    perf_measure(c, k, limit ? 3 : sizes ? 2 : 1);
    perf_figure_time(c, 0, 1, "latency");
    if (sizes)
        perf_figure_time(c, 1, 1, "region");
    if (limit) {
        perf_figure_time(c, 2, 1, "limit");
        perf_figure_ratio(c, 0, 2, 1, "ratio_to_limit");
        perf_figure_ratio(c, 1, 2, 1, "region_ratio_to_limit");
    }
    perf_must(tern_region_free(now.region), "freeing the arrays");
    free(now.memory);
}

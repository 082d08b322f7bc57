/* lock.c: lock_rate: the rate of locking and unlocking a mutex of another rank, by rank 0 only and by all ranks at
 * the same time. */
#include "perf.h"

static tern_mutexes *mutexes; /* kept until tern_finalize */

static void lock_at(struct perf_case *c, uint64_t iters, int rank, uint64_t index)
{
    for (uint64_t i = 0; i < iters; i++) {
        perf_must(tern_mutex_lock(c->p->ctx, mutexes, rank, index), "lock");
        perf_must(tern_mutex_unlock(c->p->ctx, mutexes, rank, index), "unlock");
    }
}

static void alone(struct perf_case *c, uint64_t iters)
{
    lock_at(c, iters, c->target, 0);
}

static void together(struct perf_case *c, uint64_t iters)
{
    lock_at(c, iters, 0, 1);
}

void perf_lock_rate(struct perf_case *c)
{
    const struct perf_kernel k[] = { { PERF_FIRST, alone }, { PERF_ALL, together } };

    if (mutexes == NULL)
        perf_must(tern_mutex_create(c->p->ctx, 2, &mutexes), "making mutexes");
    perf_measure(c, k, 2);
    perf_figure_time(c, 0, 1, "latency");
    perf_figure_rate(c, 0, 1, "rate");
    perf_figure_rate(c, 1, (double)c->p->ranks, "contended");
}

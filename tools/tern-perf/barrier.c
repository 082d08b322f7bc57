/* barrier.c: the time of a barrier of all ranks, and the time of work that the ranks divide among themselves. The
 * limit is half a round trip of one cache line: no barrier between two ranks is faster, and a barrier of n ranks
 * needs at least that time for each doubling of n.
 */
#include "perf.h"

static void barriers(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++)
        perf_must(tern_barrier(c->p->ctx), "barrier");
}

void perf_barrier(struct perf_case *c)
{
    const struct perf_kernel k[] = { { PERF_ALL, barriers }, perf_limit_trip(c->p) };
    bool                     limit = c->p->opt->vs_limit && c->p->ranks > 1;

    perf_measure(c, k, limit ? 2 : 1);
    perf_figure_time(c, 0, 1, "latency");
    if (limit) {
        perf_figure_time(c, 1, 2, perf_limit_trip_name(c->p));
        perf_figure_ratio(c, 0, 1, 2, "ratio_to_limit"); /* 2: an iteration of the kernel is a whole round trip */
    }
}

/* The total work does not depend on the number of ranks: size dependent multiplications, divided among the ranks. */
static void steps(struct perf_case *c, uint64_t iters)
{
    uint64_t share = c->size / (uint64_t)c->p->ranks;

    for (uint64_t i = 0; i < iters; i++) {
        uint64_t x = 3;
        for (uint64_t k = 0; k < share; k++) {
            x *= 3;
            __asm__ volatile("" : "+r"(x)); /* the compiler must neither remove nor combine the multiplications */
        }
        perf_must(tern_barrier(c->p->ctx), "barrier");
    }
}

void perf_share(struct perf_case *c)
{
    static const struct perf_kernel k[] = { { PERF_ALL, steps } };

    perf_measure(c, k, 1);
    perf_figure_time(c, 0, 1, "step");
}

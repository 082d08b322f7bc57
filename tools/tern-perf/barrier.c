/* barrier.c: how long all ranks need to come together. The limit is one cache line's half round trip: no barrier
 * between two ranks is faster, and one among n needs at least that for each doubling of n. */
#include "perf.h"

static void barriers(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++)
        perf_must(tern_barrier(c->p->ctx), "barrier");
}

void perf_barrier(struct perf_case *c)
{
    static const struct perf_kernel k[] = { { PERF_ALL, barriers }, { PERF_PAIR, perf_line_pingpong } };
    bool                            limit = c->p->opt->vs_limit && c->p->ranks > 1;

    perf_measure(c, k, limit ? 2 : 1);
    perf_figure_time(c, 0, 1, "latency");
    if (limit) {
        perf_figure_time(c, 1, 2, "cacheline_half_rtt");
        perf_figure_ratio(c, 0, 1, 2, "ratio_to_limit"); /* 2: the kernel's iteration is a whole round trip */
    }
}

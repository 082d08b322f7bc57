/* demo.c: a short tour of this machine: latency and bandwidth for a few sizes, compared with memcpy. */
#include "perf.h"

void perf_demo(struct perf_case *c)
{
    static const struct perf_kernel k[] = { { PERF_FIRST, perf_put_blocking },
                                            { PERF_FIRST, perf_get_blocking },
                                            { PERF_FIRST, perf_copy_to },
                                            { PERF_PAIR, perf_put_pingpong } };
    double                          bytes = (double)c->size;

    perf_pingpong_prepare(c);
    perf_measure(c, k, c->p->ranks > 1 ? 4 : 3);
    perf_figure_time(c, 0, 1, "put_latency");
    perf_figure_time(c, 1, 1, "get_latency");
    if (c->p->ranks > 1)
        perf_figure_time(c, 3, 2, "half_rtt");
    perf_figure_bandwidth(c, 0, bytes, "put_bandwidth");
    perf_figure_bandwidth(c, 1, bytes, "get_bandwidth");
    perf_figure_bandwidth(c, 2, bytes, "memcpy");
}

/* order.c: order: the cost of strict ordering (the ordering paper, figures 3 to 5).
 *
 * The ranks work in pairs, as in window: each rank posts a window of transfers to its partner and completes them
 * with tern_quiet, all ranks at the same time. Slices with a relaxed context and slices with a strict context
 * alternate. The cost is the ratio of their times; a ratio of 1 means that strict ordering delays nothing.
 */
#include <stdio.h>

#include "perf.h"

static tern_ctx *strict;

static inline __attribute__((always_inline)) void windows(struct perf_case *c, uint64_t iters, tern_ctx *ctx, bool put)
{
    tern_region   *region = c->p->region;
    unsigned char *local = c->p->local;
    uint64_t       window = c->window, stride = c->stride;
    size_t         len = c->size;
    int            target = c->target;

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < window; w++)
            perf_must(put ? tern_put_nbi(ctx, region, target, w * stride, local + w * stride, len)
                          : tern_get_nbi(ctx, region, target, w * stride, local + w * stride, len),
                      put ? "put" : "get");
        perf_must(tern_quiet(ctx), "quiet");
    }
}

static void put_relaxed(struct perf_case *c, uint64_t iters)
{
    windows(c, iters, c->p->ctx, true);
}

static void put_strict(struct perf_case *c, uint64_t iters)
{
    windows(c, iters, strict, true);
}

static void get_relaxed(struct perf_case *c, uint64_t iters)
{
    windows(c, iters, c->p->ctx, false);
}

static void get_strict(struct perf_case *c, uint64_t iters)
{
    windows(c, iters, strict, false);
}

void perf_order(struct perf_case *c)
{
    static const struct perf_kernel k[] = {
        { PERF_ALL, put_relaxed }, { PERF_ALL, put_strict }, { PERF_ALL, get_relaxed }, { PERF_ALL, get_strict }
    };
    static const char *const names[] = { "put_relaxed", "put_strict", "get_relaxed", "get_strict" };
    double                   bytes = (double)(c->size * c->window) * c->p->ranks;
    char                     metric[48];

    perf_must(tern_ctx_create(tern_ctx_team(c->p->ctx), TERN_STRICT, &strict), "making a strict context");
    c->target = (c->p->rank + c->p->ranks / 2) % c->p->ranks;
    perf_measure(c, k, 4);
    for (size_t i = 0; i < 4; i++) {
        snprintf(metric, sizeof(metric), "%s_w%llu", names[i], (unsigned long long)c->window);
        perf_figure_bandwidth(c, i, bytes, metric);
        if (i % 2 == 0)
            continue;
        snprintf(metric, sizeof(metric), "%.3s_cost_w%llu", names[i], (unsigned long long)c->window);
        perf_figure_ratio(c, i, i - 1, 1, metric);
    }
    perf_must(tern_ctx_free(strict), "releasing the strict context");
}

/* bw.c: put_bw, get_bw, put_rate, get_rate and window: streams of transfers.
 *
 * put_bw and get_bw repeat blocking transfers between rank 0 and rank 1 or, with --window, post that many nonblocking
 * transfers and wait for all of them. The limit is memcpy (or the raw system call, for registered memory) between the
 * same addresses in the same loop, and one TCP connection if the ranks share only a network. `bandwidth_complete` is
 * the bandwidth of puts that tern_quiet completes at the target, one by one or window by window. put_rate and get_rate
 * post windows of small transfers and wait with tern_quiet. window is the bidirectional benchmark of the ordering
 * paper, figure 2: half of the ranks are paired with the other half, each rank posts a window of nonblocking transfers
 * and waits for all of them, and no buffer is used twice within a window.
 */
#include <stdio.h>
#include <string.h>

#include "perf.h"

/* Each loop is instantiated twice, for puts and for gets. The direction is a compile-time constant, and the
 * variables of a loop stay in registers. */

/* Blocking transfers, one by one. */
static inline __attribute__((always_inline)) void blocking_loop(struct perf_case *c, uint64_t iters, size_t len,
                                                                bool put)
{
    tern_ctx      *ctx = c->p->ctx;
    tern_region   *region = c->p->region;
    unsigned char *local = perf_buffer(c);
    int            target = c->target;

    for (uint64_t i = 0; i < iters; i++)
        perf_must(put ? tern_put(ctx, region, target, 0, local, len) : tern_get(ctx, region, target, 0, local, len),
                  put ? "put" : "get");
}

static inline __attribute__((always_inline)) void blocking_put_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    blocking_loop(c, iters, len, true);
}

static inline __attribute__((always_inline)) void blocking_get_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    blocking_loop(c, iters, len, false);
}

PERF_BY_LENGTH(static void blocking_puts, blocking_put_loop)

PERF_BY_LENGTH(static void blocking_gets, blocking_get_loop)

/* Windows of nonblocking transfers, each with its own event. */
static inline __attribute__((always_inline)) void posted_loop(struct perf_case *c, uint64_t iters, size_t len, bool put)
{
    tern_ctx      *ctx = c->p->ctx;
    tern_region   *region = c->p->region;
    unsigned char *local = perf_window_buffer(c, len);
    tern_event    *events = c->p->events;
    uint64_t       window = c->window, stride = c->stride;
    int            target = c->target;

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < window; w++)
            perf_must(put ? tern_put_nb(ctx, region, target, w * stride, local + w * stride, len, &events[w])
                          : tern_get_nb(ctx, region, target, w * stride, local + w * stride, len, &events[w]),
                      put ? "put" : "get");
        perf_must(tern_event_wait_all(events, window, TERN_FOREVER), put ? "wait for puts" : "wait for gets");
    }
}

static inline __attribute__((always_inline)) void posted_put_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    posted_loop(c, iters, len, true);
}

static inline __attribute__((always_inline)) void posted_get_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    posted_loop(c, iters, len, false);
}

/* Puts, one by one or in windows. Each put, or each window, is complete at the target before the next one starts. */
static inline __attribute__((always_inline)) void complete_put_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    tern_ctx      *ctx = c->p->ctx;
    tern_region   *region = c->p->region;
    unsigned char *local = perf_window_buffer(c, len);
    uint64_t       window = c->window > 0 ? c->window : 1, stride = c->stride;
    int            target = c->target;

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < window; w++)
            perf_must(tern_put_nbi(ctx, region, target, w * stride, local + w * stride, len), "put");
        perf_must(tern_quiet(ctx), "quiet");
    }
}

PERF_BY_LENGTH(static void complete_puts, complete_put_loop)

PERF_BY_LENGTH(static void posted_puts, posted_put_loop)

void perf_stream_put(struct perf_case *c, uint64_t iters)
{
    if (c->window == 0)
        blocking_puts(c, iters);
    else
        posted_puts(c, iters);
}

PERF_BY_LENGTH(static void posted_gets, posted_get_loop)

void perf_stream_get(struct perf_case *c, uint64_t iters)
{
    if (c->window == 0)
        blocking_gets(c, iters);
    else
        posted_gets(c, iters);
}

/* Collective. Verify that the data of the test arrives, because a benchmark that moves no data is fast. */
static void verify(struct perf_case *c, bool put)
{
    struct perf   *p = c->p;
    unsigned char *mine = p->mine, mark = (unsigned char)(0x11 + p->rank);

    memset(put ? p->local : mine, mark, c->size);
    perf_must(tern_barrier(p->ctx), "barrier");
    if (p->rank == 0 && put)
        perf_must(tern_put(p->ctx, p->region, c->target, 0, p->local, c->size), "put");
    if (p->rank == 0 && !put)
        perf_must(tern_get(p->ctx, p->region, c->target, 0, p->local, c->size), "get");
    perf_must(tern_barrier(p->ctx), "barrier");
    if (put ? p->rank != (p->ranks > 1) : p->rank != 0)
        return;
    mine = put ? mine : p->local;
    mark = (unsigned char)(put ? 0x11 : 0x11 + c->target);
    for (uint64_t i = 0; i < c->size; i++) {
        if (mine[i] != mark)
            tern_abort(1, "tern-perf: data arrived damaged");
    }
}

/* put_bw and get_bw. */
static void bandwidth(struct perf_case *c, bool put)
{
    struct perf_kernel k[3] = { { PERF_FIRST, put ? perf_stream_put : perf_stream_get } };
    double             bytes = (double)(c->size * (c->window > 0 ? c->window : 1));
    size_t             n = 1, limit;

    if (put)
        k[n++] = (struct perf_kernel){ PERF_FIRST, complete_puts };
    limit = n;
    if (c->p->opt->vs_limit)
        k[n++] = put ? perf_limit_to(c->p) : perf_limit_from(c->p);
    verify(c, put);
    perf_measure(c, k, n);
    perf_figure_bandwidth(c, 0, bytes, "bandwidth");
    if (put)
        perf_figure_bandwidth(c, 1, bytes, "bandwidth_complete");
    if (c->p->opt->vs_limit) {
        perf_figure_bandwidth(c, limit, bytes, "limit");
        perf_figure_ratio(c, limit, 0, 1, "ratio_to_limit");
    }
}

void perf_put_bw(struct perf_case *c)
{
    bandwidth(c, true);
}

void perf_get_bw(struct perf_case *c)
{
    bandwidth(c, false);
}

/* Windows of nonblocking transfers without events. */
static inline __attribute__((always_inline)) void quiet_loop(struct perf_case *c, uint64_t iters, size_t len, bool put)
{
    tern_ctx      *ctx = c->p->ctx;
    tern_region   *region = c->p->region;
    unsigned char *local = perf_window_buffer(c, len);
    uint64_t       window = c->window, stride = c->stride;
    int            target = c->target;

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < window; w++)
            perf_must(put ? tern_put_nbi(ctx, region, target, w * stride, local + w * stride, len)
                          : tern_get_nbi(ctx, region, target, w * stride, local + w * stride, len),
                      put ? "put" : "get");
        perf_must(tern_quiet(ctx), "quiet");
    }
}

static inline __attribute__((always_inline)) void quiet_put_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    quiet_loop(c, iters, len, true);
}

static inline __attribute__((always_inline)) void quiet_get_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    quiet_loop(c, iters, len, false);
}

PERF_BY_LENGTH(static void put_windows, quiet_put_loop)

PERF_BY_LENGTH(static void get_windows, quiet_get_loop)

/* put_rate and get_rate. */
static void rate(struct perf_case *c, bool put)
{
    const struct perf_kernel k[] = { { PERF_FIRST, put ? put_windows : get_windows },
                                     put ? perf_limit_to(c->p) : perf_limit_from(c->p) };

    perf_measure(c, k, c->p->opt->vs_limit ? 2 : 1);
    perf_figure_rate(c, 0, (double)c->window, "rate");
    if (c->p->opt->vs_limit) {
        perf_figure_rate(c, 1, (double)c->window, "limit");
        perf_figure_ratio(c, 1, 0, 1, "ratio_to_limit");
    }
}

void perf_put_rate(struct perf_case *c)
{
    rate(c, true);
}

void perf_get_rate(struct perf_case *c)
{
    rate(c, false);
}

/* The limit of window: the same copies with memcpy, by all ranks at the same time. */
static inline __attribute__((always_inline)) void window_copy_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    unsigned char *theirs = tern_region_ptr(c->p->region, c->target);
    unsigned char *to = theirs != NULL ? theirs : c->p->mine, *from = perf_window_buffer(c, len);
    uint64_t       window = c->window, stride = c->stride;

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < window; w++) {
            memcpy(to + w * stride, from + w * stride, len);
            perf_keep();
        }
    }
}

PERF_BY_LENGTH(static void window_copy, window_copy_loop)

void perf_window(struct perf_case *c)
{
    static const struct perf_kernel k[] = { { PERF_ALL, perf_stream_put },
                                            { PERF_ALL, perf_stream_get },
                                            { PERF_ALL, window_copy } };
    char                            metric[48];
    unsigned long long              window = c->window;
    double                          bytes = (double)(c->size * c->window) * c->p->ranks;
    bool                            limit = c->p->opt->vs_limit && !c->p->network; /* memcpy limits no network */

    c->target = (c->p->rank + c->p->ranks / 2) % c->p->ranks;
    perf_measure(c, k, limit ? 3 : 2);
    snprintf(metric, sizeof(metric), "put_bandwidth_w%llu", window);
    perf_figure_bandwidth(c, 0, bytes, metric);
    snprintf(metric, sizeof(metric), "get_bandwidth_w%llu", window);
    perf_figure_bandwidth(c, 1, bytes, metric);
    if (limit) {
        snprintf(metric, sizeof(metric), "limit_w%llu", window);
        perf_figure_bandwidth(c, 2, bytes, metric);
        snprintf(metric, sizeof(metric), "ratio_to_limit_put_w%llu", window);
        perf_figure_ratio(c, 2, 0, 1, metric);
        snprintf(metric, sizeof(metric), "ratio_to_limit_get_w%llu", window);
        perf_figure_ratio(c, 2, 1, 1, metric);
    }
}

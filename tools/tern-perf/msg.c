/* msg.c: msg_lat, msg_bw, msg_bw_one, msg_rate, msg_depth and msg_bibw: tagged messages between ranks 0 and 1, in
 * msg_bibw between all ranks.
 *
 * msg_lat is a ping-pong of tern_send and tern_recv. msg_bw and msg_rate send in one direction: rank 0 starts a window
 * of sends, rank 1 a window of receives, both wait for all of theirs, and rank 1 answers with a short message. No
 * buffer is used twice within a window, except in msg_bw_one, where all messages use one buffer, as in ucx_perftest.
 * msg_depth is a ping-pong of 8 bytes while both ranks store as many unexpected messages as the size says, each with a
 * tag of its own. msg_bibw is the benchmark of the ordering paper, figure 11: half of the ranks are paired with the
 * other half, all ranks start a window of receives and a window of sends and wait for all of them. The same exchange
 * with nonblocking puts alternates with it. All buffers are private memory, except the receive buffers of msg_bibw,
 * which are in the region. The received data is verified once, before the measurement.
 */
#include <stdio.h>

#include "perf.h"

#define TAG 7
#define FIRST_KEPT 1000 /* first tag of the unexpected messages */

static tern_request *requests[2 * PERF_MAX_WINDOW];

static void send_one(struct perf_case *c, const void *from, size_t len)
{
    perf_must(tern_send(c->p->ctx, c->target, TAG, from, len), "sending");
}

static void receive_one(struct perf_case *c, void *to, size_t len)
{
    perf_must(tern_recv(c->p->ctx, c->target, TAG, to, len, NULL), "receiving");
}

static void pingpong(struct perf_case *c, uint64_t iters, size_t len)
{
    unsigned char *buffer = c->p->local;
    bool           leads = c->p->rank == 0;

    for (uint64_t i = 0; i < iters; i++) {
        if (leads)
            send_one(c, buffer, len);
        receive_one(c, buffer, len);
        if (!leads)
            send_one(c, buffer, len);
    }
}

/* Collective over ranks 0 and 1. Verify that messages arrive. */
static void verify(struct perf_case *c)
{
    unsigned char *local = c->p->local;

    if (c->p->rank > 1)
        return;
    for (uint64_t i = 0; i < c->size; i++)
        local[i] = (unsigned char)(c->p->rank == 0 ? i * 7 + 1 : 0);
    pingpong(c, 1, c->size);
    for (uint64_t i = 0; i < c->size; i++) {
        if (local[i] != (unsigned char)(i * 7 + 1))
            tern_abort(1, "tern-perf: a message arrived damaged");
    }
}

/* ---- latency ---- */

static void size_pingpong(struct perf_case *c, uint64_t iters)
{
    pingpong(c, iters, c->size);
}

void perf_msg_lat(struct perf_case *c)
{
    const struct perf_kernel k[] = { { PERF_PAIR, size_pingpong }, perf_limit_trip(c->p) };

    verify(c);
    perf_measure(c, k, c->p->opt->vs_limit ? 2 : 1);
    perf_figure_time(c, 0, 2, "half_rtt");
    if (c->p->opt->vs_limit) {
        perf_figure_time(c, 1, 2, perf_limit_trip_name(c->p));
        perf_figure_ratio(c, 0, 1, 1, "ratio_to_limit");
    }
}

/* ---- streams ---- */

static void begin(struct perf_case *c, uint64_t w)
{
    unsigned char *at = c->p->local + w * c->stride;

    perf_must(c->p->rank == 0 ? tern_isend(c->p->ctx, c->target, TAG, at, c->size, &requests[w])
                              : tern_irecv(c->p->ctx, c->target, TAG, at, c->size, &requests[w]),
              "beginning a message");
}

static void windows(struct perf_case *c, uint64_t iters)
{
    unsigned char word[sizeof(uint64_t)] = { 0 };

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < c->window; w++)
            begin(c, w);
        perf_must(tern_request_wait_all(requests, c->window, TERN_FOREVER, NULL, NULL), "waiting for messages");
        if (c->p->rank == 0)
            receive_one(c, word, sizeof(word));
        else
            send_one(c, word, sizeof(word));
    }
}

static void stream(struct perf_case *c)
{
    static const struct perf_kernel k[] = { { PERF_PAIR, windows } };

    verify(c);
    perf_measure(c, k, 1);
}

void perf_msg_bw(struct perf_case *c)
{
    stream(c);
    perf_figure_bandwidth(c, 0, (double)(c->size * c->window), "bandwidth");
}

void perf_msg_bw_one(struct perf_case *c)
{
    c->stride = 0;
    perf_msg_bw(c);
}

void perf_msg_rate(struct perf_case *c)
{
    stream(c);
    perf_figure_rate(c, 0, (double)c->window, "rate");
}

/* ---- both ways ---- */

static void both_ways(struct perf_case *c, uint64_t iters)
{
    struct perf *p = c->p;
    int          source = (p->rank + p->ranks - p->ranks / 2) % p->ranks; /* the rank whose target this rank is */
    uint64_t     window = c->window;

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < window; w++)
            perf_must(tern_irecv(p->ctx, source, TAG, p->mine + w * c->stride, c->size, &requests[w]), "receiving");
        for (uint64_t w = 0; w < window; w++)
            perf_must(tern_isend(p->ctx, c->target, TAG, p->local + w * c->stride, c->size, &requests[window + w]),
                      "sending");
        perf_must(tern_request_wait_all(requests, 2 * window, TERN_FOREVER, NULL, NULL), "waiting for messages");
    }
}

void perf_msg_bibw(struct perf_case *c)
{
    static const struct perf_kernel k[] = { { PERF_ALL, both_ways }, { PERF_ALL, perf_stream_put } };
    char                            metric[48];
    double                          bytes = (double)(c->size * c->window) * c->p->ranks;

    c->target = (c->p->rank + c->p->ranks / 2) % c->p->ranks;
    perf_measure(c, k, 2);
    snprintf(metric, sizeof(metric), "bandwidth_w%llu", (unsigned long long)c->window);
    perf_figure_bandwidth(c, 0, bytes, metric);
    snprintf(metric, sizeof(metric), "put_bandwidth_w%llu", (unsigned long long)c->window);
    perf_figure_bandwidth(c, 1, bytes, metric);
}

/* ---- depth ---- */

static void word_pingpong(struct perf_case *c, uint64_t iters)
{
    pingpong(c, iters, sizeof(uint64_t));
}

static void keep(struct perf_case *c)
{
    for (uint64_t i = 0; i < c->size; i++)
        perf_must(tern_send(c->p->ctx, c->target, (int64_t)(FIRST_KEPT + i), c->p->local, sizeof(uint64_t)), "sending");
    pingpong(c, 1, sizeof(uint64_t)); /* messages arrive in order: the unexpected messages have arrived */
}

/* Receive all unexpected messages. */
static void drop(struct perf_case *c)
{
    for (uint64_t i = 0; i < c->size; i++)
        perf_must(tern_recv(c->p->ctx, c->target, TERN_ANY_TAG, c->p->local, sizeof(uint64_t), NULL), "receiving");
}

void perf_msg_depth(struct perf_case *c)
{
    static const struct perf_kernel k[] = { { PERF_PAIR, word_pingpong } };

    if (c->p->rank < 2)
        keep(c);
    perf_measure(c, k, 1);
    if (c->p->rank < 2)
        drop(c);
    perf_figure_time(c, 0, 2, "half_rtt");
}

/* notifycost.c: notify_cost and overlap: the cost of notified accesses for their callers, as in the Notified Access
 * paper (V.A).
 *
 * notify_cost: `init`, `start` and `free` are the times of tern_notify_create, _start and _free. `issue` is the time
 * of tern_put_notify_nbi of 8 bytes while the target's queue has free cells: the overhead o of the sender. `receive`
 * is the time of starting a request and waiting for it when its notification has already arrived: the overhead of
 * the receiver. The other figures are parameters of LogGP: `L`, half a ping-pong of notifications without data; `g`,
 * the time between two notified puts of 8 bytes in a stream; `G`, nanoseconds per additional byte, from ping-pongs
 * of 64 KiB and 1 MiB.
 *
 * overlap: the Notified Access paper, figure 4a. A rank starts a notified put, computes for slightly longer than the
 * put takes, and then waits for the completion of the put. `overlap` is the fraction of the put's time that is hidden
 * by the computation.
 */
#include <string.h>

#include "perf.h"

#define TAG 7u
#define BATCH 128u /* requests, or notifications in a target's queue, at a time */

static struct {
    tern_request *request[BATCH];
    tern_request *peer;  /* for the peer's notifications, one at a time */
    tern_request *batch; /* for the peer's notifications, BATCH at a time */
    int64_t       spent; /* time of the measured part of a slice */
    uint64_t      work;  /* rounds of computation */
} state;

static tern_request *new_request(struct perf_case *c, uint32_t count)
{
    tern_request *request;

    perf_must(tern_notify_create(c->p->ctx, c->p->region, c->p->peer, TAG, count, &request), "making a request");
    return request;
}

static void start(tern_request *request)
{
    perf_must(tern_request_start(request), "starting a request");
}

static void await_notification(tern_request *request)
{
    perf_must(tern_request_wait(&request, TERN_FOREVER, NULL), "waiting for a notification");
}

static void release(tern_request *request)
{
    perf_must(tern_request_free(&request), "freeing a request");
}

/* ---- parts of a batch: only one of them is measured; an iteration is a batch ---- */

enum part { INIT, START, FREE, ISSUE, RECEIVE, PARTS };

/* Requests of this rank that are never matched. */
static void requests(struct perf_case *c, uint64_t iters, enum part part)
{
    int64_t t[4];

    state.spent = 0;
    for (uint64_t i = 0; i < iters; i++) {
        t[0] = measure_now();
        for (unsigned k = 0; k < BATCH; k++)
            state.request[k] = new_request(c, 1);
        t[1] = measure_now();
        for (unsigned k = 0; k < BATCH; k++)
            start(state.request[k]);
        t[2] = measure_now();
        for (unsigned k = 0; k < BATCH; k++)
            release(state.request[k]);
        t[3] = measure_now();
        state.spent += t[part - INIT + 1] - t[part - INIT];
    }
}

/* Rank 0 sends a batch. Rank 1 waits until the whole batch has arrived, and then consumes it one by one. */
static void batches(struct perf_case *c, uint64_t iters, enum part part)
{
    struct perf *p = c->p;
    int64_t      before;

    state.spent = 0;
    for (uint64_t i = 0; i < iters; i++) {
        before = measure_now();
        for (unsigned k = 0; k < BATCH && p->rank == 0; k++)
            perf_must(tern_put_notify_nbi(p->ctx, p->region, c->target, 0, p->local, sizeof(uint64_t), TAG),
                      "notified put");
        if (part == ISSUE)
            state.spent += measure_now() - before;
        perf_must(tern_barrier(p->ctx), "barrier"); /* the batch has arrived */
        before = measure_now();
        for (unsigned k = 0; k < BATCH && p->rank == 1; k++) {
            start(state.peer);
            await_notification(state.peer);
        }
        if (part == RECEIVE)
            state.spent += measure_now() - before;
        perf_must(tern_barrier(p->ctx), "barrier");
    }
}

/* Return the mean time of one call in a part, as measured by the rank that makes the calls, on every rank. */
static double part_ns(struct perf_case *c, enum part part, uint64_t iters)
{
    double mine, it;

    if (part < ISSUE)
        requests(c, iters, part);
    else
        batches(c, iters, part);
    mine = (double)state.spent / (double)(iters * BATCH);
    perf_must(tern_allgather(c->p->ctx, &mine, sizeof(mine), c->p->gather), "all-gather");
    memcpy(&it, c->p->gather + (part == RECEIVE ? sizeof(it) : 0), sizeof(it));
    return it;
}

/* ---- ping-pong and stream ---- */

static uint64_t ping_len;

static void pingpong(struct perf_case *c, uint64_t iters)
{
    struct perf *p = c->p;

    for (uint64_t i = 0; i < iters; i++) {
        start(state.peer);
        if (p->rank == 1)
            await_notification(state.peer);
        perf_must(tern_put_notify_nbi(p->ctx, p->region, c->target, 0, p->local, ping_len, TAG), "notified put");
        if (p->rank == 0)
            await_notification(state.peer);
    }
    perf_must(tern_quiet(p->ctx), "quiet");
}

static void stream(struct perf_case *c, uint64_t iters)
{
    struct perf *p = c->p;

    for (uint64_t i = 0; i < iters; i++) { /* batches, several of which are in flight */
        if (p->rank == 1) {
            start(state.batch);
            await_notification(state.batch);
            continue;
        }
        for (unsigned k = 0; k < BATCH; k++)
            perf_must(tern_put_notify_nbi(p->ctx, p->region, c->target, 0, p->local, sizeof(uint64_t), TAG),
                      "notified put");
    }
    start(state.peer);
    perf_must(tern_notify(p->ctx, p->region, c->target, TAG), "notifying");
    await_notification(state.peer);
    perf_must(tern_quiet(p->ctx), "quiet");
}

/* Store half the time of a ping-pong of len bytes, per slice. */
static void half_trips(struct perf_case *c, uint64_t len, double *ns)
{
    static const struct perf_kernel k[] = { { PERF_PAIR, pingpong } };

    ping_len = len;
    perf_measure(c, k, 1);
    for (size_t r = 0; r < c->p->repeat; r++)
        ns[r] = c->p->ns[0][r] / 2;
}

void perf_notify_cost(struct perf_case *c)
{
    static const char *const        name[PARTS] = { "init", "start", "free", "issue", "receive" };
    static const struct perf_kernel k[] = { { PERF_PAIR, stream } };
    static double                   ns[PERF_MAX_REPEAT], large[PERF_MAX_REPEAT];
    const uint64_t                  small = 64u << 10, big = 1u << 20;

    for (unsigned part = 0; part < PARTS; part++) {
        state.peer = new_request(c, 1);
        for (size_t r = 0; r < c->p->repeat; r++)
            ns[r] = part_ns(c, part, c->p->opt->iters > 0 ? c->p->opt->iters : 20);
        release(state.peer);
        perf_figure_values(c, ns, name[part], "ns");
    }
    state.peer = new_request(c, 1);
    half_trips(c, 0, ns);
    perf_figure_values(c, ns, "L", "ns");
    half_trips(c, small, ns);
    half_trips(c, big, large);
    for (size_t r = 0; r < c->p->repeat; r++)
        large[r] = (large[r] - ns[r]) / (double)(big - small);
    perf_figure_values(c, large, "G", "ns/byte");
    state.batch = new_request(c, BATCH);
    perf_measure(c, k, 1);
    for (size_t r = 0; r < c->p->repeat; r++)
        ns[r] = c->p->ns[0][r] / BATCH;
    perf_figure_values(c, ns, "g", "ns");
    release(state.batch);
    release(state.peer);
}

/* ---- overlap ---- */

static void work(uint64_t rounds)
{
    uint64_t x = rounds | 1;

    for (uint64_t i = 0; i < rounds; i++)
        x = x * 6364136223846793005ull + 1442695040888963407ull; /* a chain of dependent operations */
    __asm__ volatile("" ::"r"(x));
}

static void put_then(struct perf_case *c, uint64_t iters, uint64_t rounds)
{
    struct perf *p = c->p;
    tern_event   event;

    for (uint64_t i = 0; i < iters; i++) {
        perf_must(tern_put_notify_nb(p->ctx, p->region, c->target, 0, p->local, c->size, TAG, &event), "notified put");
        work(rounds);
        perf_must(tern_event_wait(&event, TERN_FOREVER), "waiting for an event");
    }
}

/* The target consumes notifications, so that its queue does not fill up. */
static void consume_all(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++) {
        start(state.peer);
        await_notification(state.peer);
    }
    (void)c;
}

static void puts_alone(struct perf_case *c, uint64_t iters)
{
    if (c->p->rank == 0)
        put_then(c, iters, 0);
    else
        consume_all(c, iters);
}

static void puts_and_work(struct perf_case *c, uint64_t iters)
{
    if (c->p->rank == 0)
        put_then(c, iters, state.work);
    else
        consume_all(c, iters);
}

static void work_alone(struct perf_case *c, uint64_t iters)
{
    (void)c;
    for (uint64_t i = 0; i < iters; i++) {
        work(state.work);
        perf_keep();
    }
}

void perf_overlap(struct perf_case *c)
{
    static const struct perf_kernel k[] = { { PERF_PAIR, puts_alone },
                                            { PERF_FIRST, work_alone },
                                            { PERF_PAIR, puts_and_work } };
    static double                   share[PERF_MAX_REPEAT];
    double                          put, each;

    state.peer = new_request(c, 1);
    state.work = 1u << 16;
    perf_measure(c, k, 2);
    put = measure_summarise(c->p->ns[0], c->p->repeat).median;
    each = measure_summarise(c->p->ns[1], c->p->repeat).median / (double)state.work;
    state.work = c->p->rank == 0 ? 1 + (uint64_t)(1.1 * put / each) : 1;
    perf_measure(c, k, 3);
    release(state.peer);
    for (size_t r = 0; r < c->p->repeat; r++)
        share[r] = 100 * (c->p->ns[0][r] + c->p->ns[1][r] - c->p->ns[2][r]) / c->p->ns[0][r];
    perf_figure_time(c, 0, 1, "put");
    perf_figure_time(c, 1, 1, "work");
    perf_figure_time(c, 2, 1, "both");
    perf_figure_values(c, share, "overlap", "percent");
}

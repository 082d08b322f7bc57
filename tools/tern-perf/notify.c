/* notify.c: notify_lat, notify_rate and notify_match: notified accesses between ranks 0 and 1.
 *
 * notify_lat is a ping-pong as in the Notified Access paper, listing 1: a rank makes a notified access to the peer and
 * then waits for the peer's access with a request for that source and one tag. `half_rtt` uses tern_put_notify_nbi,
 * `half_rtt_blocking` tern_put_notify, `half_rtt_get` tern_get_notify. After the notification of a put, the target
 * examines the word, or the first and the last byte, which must be those of this turn. Over a network, three more
 * kernels alternate with these: `put_half_rtt` uses plain puts, which the target detects by polling its memory.
 * `put_flush_send_half_rtt` uses a put that is waited for, followed by a notification without data: two consecutive
 * messages, as in a program without notified puts. `put_signal_half_rtt` uses puts with a signal.
 *
 * notify_rate sends in one direction: rank 1 waits for all notifications of a slice with one counting request.
 *
 * notify_match is the ping-pong of 8 bytes while both ranks store as many unexpected notifications as the size says,
 * each with a tag of its own. `ratio_to_none` is the cost of the unexpected notifications. With `_any` the request
 * accepts any source and any tag, and no other notification is stored for its region.
 */
#include <string.h>

#include "perf.h"

#define TAG 7u
#define FIRST_KEPT 1000u /* first tag of the unexpected notifications */

static const unsigned char turn_byte[2] = { 0x55, 0xaa }; /* the contents that perf_pingpong_prepare fills in */

static struct {
    tern_request *request; /* for the peer's accesses to the region */
    tern_request *counter; /* rank 1: for the accesses of a slice */
    uint64_t      counted;
    tern_region  *other; /* the region of the unexpected notifications */
} state;

static unsigned char *there(const struct perf_case *c)
{
    return c->p->mine + c->p->area;
}

static unsigned char *source(const struct perf_case *c, unsigned turn)
{
    return c->p->local + c->p->area + turn * c->p->ping;
}

static void new_request(struct perf_case *c, int from, int64_t tag)
{
    perf_must(tern_notify_create(c->p->ctx, c->p->region, from, tag, 1, &state.request), "making a request");
}

static void release(void)
{
    perf_must(tern_request_free(&state.request), "freeing a request");
}

/* ---- latency ---- */

/* Return whether the data is wrong. A word is read as a whole, as a program would read it; of other lengths, the
 * first and the last byte are compared. */
static inline bool is_wrong(const unsigned char *at, size_t len, unsigned char want)
{
    uint64_t word;

    if (len != sizeof(word))
        return len > 0 && (at[0] != want || at[len - 1] != want);
    memcpy(&word, at, sizeof(word));
    return word != want * UINT64_C(0x0101010101010101);
}

/* Wait for the peer's notification, and verify that its data has arrived. */
static inline void await_notification(const unsigned char *at, size_t len, unsigned char want)
{
    perf_must(tern_request_start(state.request), "starting a request");
    perf_must(tern_request_wait(&state.request, TERN_FOREVER, NULL), "waiting for a notification");
    if (TERN_UNLIKELY(is_wrong(at, len, want)))
        tern_abort(1, "tern-perf: a notification came before its data");
}

enum way { NBI, BLOCKING, FLUSH_SEND };

static inline __attribute__((always_inline)) void put(struct perf_case *c, const void *src, size_t len, enum way way)
{
    if (way == FLUSH_SEND) {
        perf_must(tern_put(c->p->ctx, c->p->region, c->target, c->p->area, src, len), "put");
        perf_must(tern_notify(c->p->ctx, c->p->region, c->target, TAG), "notifying");
    } else if (way == NBI) {
        perf_must(tern_put_notify_nbi(c->p->ctx, c->p->region, c->target, c->p->area, src, len, TAG), "notified put");
    } else {
        perf_must(tern_put_notify(c->p->ctx, c->p->region, c->target, c->p->area, src, len, TAG), "notified put");
    }
}

static inline __attribute__((always_inline)) void put_loop(struct perf_case *c, uint64_t iters, size_t len,
                                                           enum way way)
{
    const unsigned char *mine = there(c), *src[2] = { source(c, 0), source(c, 1) };
    bool                 leads = c->p->rank == 0;
    unsigned             turn = c->turn;

    for (uint64_t i = 0; i < iters; i++, turn ^= 1) {
        if (!leads)
            await_notification(mine, len, turn_byte[turn]);
        put(c, src[turn], len, way);
        if (leads)
            await_notification(mine, len, turn_byte[turn]);
    }
    c->turn = turn;
    perf_must(tern_quiet(c->p->ctx), "quiet");
}

static inline __attribute__((always_inline)) void nbi_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    put_loop(c, iters, len, NBI);
}

static inline __attribute__((always_inline)) void blocking_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    put_loop(c, iters, len, BLOCKING);
}

static void flush_send_pingpong(struct perf_case *c, uint64_t iters)
{
    put_loop(c, iters, c->size, FLUSH_SEND);
}

PERF_BY_LENGTH(static void nbi_pingpong, nbi_loop)

PERF_BY_LENGTH(static void blocking_pingpong, blocking_loop)

/* A put with a signal that counts the turns. The signal word lies after the data. */
static void give_signal(struct perf_case *c, tern_signal *signal, unsigned turn)
{
    signal->value++;
    perf_must(tern_put_signal_nbi(c->p->ctx, c->p->region, c->target, c->p->area, source(c, turn), c->size, signal),
              "put with a signal");
}

static void await_signal(struct perf_case *c, const tern_signal *signal, uint64_t value, unsigned char want)
{
    const unsigned char *mine = there(c);

    perf_must(tern_signal_wait(c->p->ctx, signal->region, signal->offset, TERN_EQ, value, TERN_FOREVER, NULL),
              "waiting for a signal");
    if (TERN_UNLIKELY(mine[0] != want || mine[c->size - 1] != want))
        tern_abort(1, "tern-perf: a signal came before its data");
}

static void signal_pingpong(struct perf_case *c, uint64_t iters)
{
    static uint64_t turns;
    tern_signal     signal = TERN_SIGNAL(.region = c->p->region, .offset = (c->p->area + c->size + 7) / 8 * 8,
                                         .value = turns, .op = TERN_SIGNAL_SET);
    bool            leads = c->p->rank == 0;
    unsigned        turn = c->turn;

    for (uint64_t i = 1; i <= iters; i++, turn ^= 1) {
        if (!leads)
            await_signal(c, &signal, turns + i, turn_byte[turn]);
        give_signal(c, &signal, turn);
        if (leads)
            await_signal(c, &signal, turns + i, turn_byte[turn]);
    }
    c->turn = turn;
    turns = signal.value;
    perf_must(tern_quiet(c->p->ctx), "quiet");
}

static void get_pingpong(struct perf_case *c, uint64_t iters)
{
    tern_ctx      *ctx = c->p->ctx;
    unsigned char *into = source(c, 2);
    bool           leads = c->p->rank == 0;

    for (uint64_t i = 0; i < iters; i++) {
        if (!leads)
            await_notification(NULL, 0, 0);
        perf_must(tern_get_notify(ctx, c->p->region, c->target, c->p->area, into, c->size, TAG), "notified get");
        if (leads)
            await_notification(NULL, 0, 0);
    }
}

void perf_notify_lat(struct perf_case *c)
{
    struct perf_kernel k[PERF_MAX_KERNELS] = { { PERF_PAIR, nbi_pingpong },
                                               { PERF_PAIR, blocking_pingpong },
                                               { PERF_PAIR, get_pingpong } };
    size_t             n = 3, trip = 0, plain = 0;

    if (c->p->opt->vs_limit) {
        trip = n;
        k[n++] = perf_limit_trip(c->p);
    }
    if (c->p->network && c->size > 0) {
        plain = n;
        k[n++] = (struct perf_kernel){ PERF_PAIR, perf_put_pingpong };
        k[n++] = (struct perf_kernel){ PERF_PAIR, flush_send_pingpong };
        k[n++] = (struct perf_kernel){ PERF_PAIR, signal_pingpong };
    }
    perf_pingpong_prepare(c);
    new_request(c, c->p->peer, TAG);
    perf_measure(c, k, n);
    release();
    perf_figure_time(c, 0, 2, "half_rtt");
    perf_figure_time(c, 1, 2, "half_rtt_blocking");
    perf_figure_time(c, 2, 2, "half_rtt_get");
    if (plain > 0) {
        perf_figure_time(c, plain, 2, "put_half_rtt");
        perf_figure_ratio(c, 0, plain, 1, "ratio_to_put");
        perf_figure_time(c, plain + 1, 2, "put_flush_send_half_rtt");
        perf_figure_ratio(c, 0, plain + 1, 1, "ratio_to_put_flush_send");
        perf_figure_time(c, plain + 2, 2, "put_signal_half_rtt");
        perf_figure_ratio(c, plain + 2, plain + 1, 1, "ratio_signal_to_put_flush_send");
    }
    if (trip > 0) {
        perf_figure_time(c, trip, 2, perf_limit_trip_name(c->p));
        perf_figure_ratio(c, 0, trip, 1, "ratio_to_limit");
    }
}

/* ---- rate ---- */

/* Start a request for the given number of notifications. */
static void count(struct perf_case *c, uint64_t number)
{
    if (state.counter && state.counted == number)
        return;
    if (state.counter)
        perf_must(tern_request_free(&state.counter), "freeing a request");
    state.counted = number;
    perf_must(tern_notify_create(c->p->ctx, c->p->region, c->p->peer, TAG, (uint32_t)number, &state.counter),
              "making a request");
}

/* The slice ends when rank 1 has received all notifications and has reported this to rank 0. */
static void stream(struct perf_case *c, uint64_t iters)
{
    struct perf *p = c->p;

    count(c, p->rank == 0 ? 1 : iters);
    perf_must(tern_request_start(state.counter), "starting a request");
    for (uint64_t i = 0; i < iters && p->rank == 0; i++)
        perf_must(tern_put_notify_nbi(p->ctx, p->region, c->target, perf_spot(i, c->size), p->local, c->size, TAG),
                  "notified put");
    perf_must(tern_request_wait(&state.counter, TERN_FOREVER, NULL), "waiting for notifications");
    if (p->rank != 0)
        perf_must(tern_notify(p->ctx, p->region, c->target, TAG), "notifying");
    perf_must(tern_quiet(p->ctx), "quiet");
}

void perf_notify_rate(struct perf_case *c)
{
    static const struct perf_kernel k[] = { { PERF_PAIR, stream } };

    perf_measure(c, k, 1);
    if (state.counter)
        perf_must(tern_request_free(&state.counter), "freeing a request");
    state.counter = NULL;
    perf_figure_rate(c, 0, 1, "rate");
}

/* ---- matching ---- */

static void keep(struct perf_case *c, tern_region *region)
{
    tern_request *last;

    perf_must(tern_notify_create(c->p->ctx, region, c->p->peer, TAG, 1, &last), "making a request");
    perf_must(tern_request_start(last), "starting a request");
    for (uint64_t i = 0; i < c->size; i++)
        perf_must(tern_notify(c->p->ctx, region, c->target, (uint32_t)(FIRST_KEPT + i)), "notifying");
    perf_must(tern_notify(c->p->ctx, region, c->target, TAG), "notifying");
    perf_must(tern_request_wait(&last, TERN_FOREVER, NULL), "waiting for a notification");
    perf_must(tern_request_free(&last), "freeing a request");
}

/* Consume all unexpected notifications. */
static void drop(struct perf_case *c)
{
    if (c->size == 0)
        return;
    new_request(c, c->p->peer, TERN_ANY_TAG);
    for (uint64_t i = 0; i < c->size; i++) {
        perf_must(tern_request_start(state.request), "starting a request");
        perf_must(tern_request_wait(&state.request, TERN_FOREVER, NULL), "waiting for a notification");
    }
    release();
}

/* The ping-pong's messages have 8 bytes, regardless of the number of unexpected notifications. */
static void small_pingpong(struct perf_case *c, uint64_t iters)
{
    put_loop(c, iters, sizeof(uint64_t), NBI);
}

/* Measure the ping-pong with a request for this source and tag, and store the times of its slices, so that the
 * caller can compare the medians of two measurements. */
static void measure_with(struct perf_case *c, int from, int64_t tag, double *ns)
{
    static const struct perf_kernel k[] = { { PERF_PAIR, small_pingpong } };
    uint64_t                        kept = c->size;

    c->size = sizeof(uint64_t);
    perf_pingpong_prepare(c);
    c->size = kept;
    new_request(c, from, tag);
    perf_measure(c, k, 1);
    release();
    memcpy(ns, c->p->ns[0], c->p->repeat * sizeof(*ns));
}

void perf_notify_match(struct perf_case *c)
{
    static double none[PERF_MAX_REPEAT], exact[PERF_MAX_REPEAT], any[PERF_MAX_REPEAT], ratio[PERF_MAX_REPEAT];
    struct perf  *p = c->p;

    measure_with(c, p->peer, TAG, none);
    perf_must(tern_region_create(p->ctx, PERF_LINE, NULL, &state.other), "making a region");
    if (p->rank < 2)
        keep(c, state.other);
    perf_must(tern_barrier(p->ctx), "barrier");
    measure_with(c, TERN_ANY_SOURCE, TERN_ANY_TAG, any);
    perf_must(tern_region_free(state.other), "freeing a region");
    if (p->rank < 2)
        keep(c, p->region);
    perf_must(tern_barrier(p->ctx), "barrier");
    measure_with(c, p->peer, TAG, exact);
    if (p->rank < 2)
        drop(c);
    for (size_t r = 0; r < p->repeat; r++) {
        ratio[r] = exact[r] / none[r];
        none[r] /= 2, exact[r] /= 2, any[r] /= 2;
    }
    perf_figure_values(c, none, "half_rtt_none", "ns");
    perf_figure_values(c, exact, "half_rtt_kept", "ns");
    perf_figure_values(c, any, "half_rtt_any", "ns");
    perf_figure_values(c, ratio, "ratio_to_none", "ratio");
}

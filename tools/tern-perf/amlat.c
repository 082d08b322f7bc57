/* amlat.c: am_lat: half a round trip of active messages between ranks 0 and 1.
 *
 * Rank 0 sends a request and makes progress until the handler of the reply has run. Rank 1 makes progress, and the
 * request's handler replies with the same number of bytes. Size 0 is a short message; every other size is a medium
 * message. Handlers examine the payload only in one exchange before the measurement, which verifies that the payload
 * arrives intact.
 *
 * With --generate, each payload is generated while it is sent, as consecutive integers. One variant generates the
 * payload into a private buffer and sends it as fixed payload; the other variant generates it directly in the buffer
 * that tern_am_prepare returns. The two variants alternate.
 */
#include <string.h>

#include "perf.h"

#define LOOKS_PER_PROGRESS 16 /* a call of tern_progress takes as long as about this many polls of memory */

/* How a message is made. Each variant has its own handler ids, so that the target recognises the variant by the
 * handler. */
struct way {
    bool     generate, negotiated;
    bool     check; /* handlers verify the payload */
    unsigned request, reply;
};

static const struct way plain = { .request = 1, .reply = 2 };
static const struct way fixed = { .generate = true, .request = 3, .reply = 4 };
static const struct way negotiated = { .generate = true, .negotiated = true, .request = 5, .reply = 6 };
static const struct way fixed_checked = { .generate = true, .check = true, .request = 7, .reply = 8 };
static const struct way negotiated_checked = {
    .generate = true, .negotiated = true, .check = true, .request = 9, .reply = 10
};

/* The state that handlers use and modify. Rank 0 counts replies, rank 1 counts requests. */
static struct {
    volatile uint64_t handled;
    uint64_t          wanted; /* the value of handled when all messages that were started are done */
    unsigned char    *buffer; /* private: holds a fixed payload */
} state;

/* Write consecutive integers, word by word. */
static void generate(unsigned char *to, size_t len)
{
    uint64_t word = 0;
    size_t   i = 0;

    for (; i + sizeof(word) <= len; i += sizeof(word), word++)
        memcpy(to + i, &word, sizeof(word));
    for (; i < len; i++)
        to[i] = (unsigned char)i;
}

static void check(const tern_am_event *event)
{
    static unsigned char expected[1 << 16];
    size_t               len = event->len < sizeof(expected) ? event->len : sizeof(expected);

    generate(expected, len - len % sizeof(uint64_t)); /* the words do not depend on the length */
    if (len >= sizeof(uint64_t) && memcmp(event->payload, expected, len - len % sizeof(uint64_t)) != 0)
        tern_abort(1, "tern-perf: the payload of an active message arrived damaged");
}

static void on_reply(const tern_am_event *event, void *user)
{
    const struct way *way = user;

    if (TERN_UNLIKELY(way->check))
        check(event);
    state.handled++;
}

/* Generate the reply's payload in place in the queue. */
static void reply_negotiated(const struct way *way, const tern_am_event *event)
{
    const tern_am_prepare_opts opts =
        TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .min = event->len, .max = event->len);
    tern_am_prepared room;

    perf_must(tern_am_prepare_reply(event->token, &opts, &room), "preparing a reply");
    generate(room.addr, event->len);
    perf_must(tern_am_commit(&room, way->reply, NULL, 0, event->len), "committing a reply");
}

static void on_request(const tern_am_event *event, void *user)
{
    const struct way *way = user;
    tern_am           reply = TERN_AM(.kind = event->kind, .handler = (uint16_t)way->reply, .len = event->len);

    if (TERN_UNLIKELY(way->check))
        check(event);
    state.handled++;
    if (way->negotiated) {
        reply_negotiated(way, event);
        return;
    }
    if (event->len > 0)
        reply.payload = state.buffer;
    if (way->generate)
        generate(state.buffer, event->len);
    perf_must(tern_am_reply(event->token, &reply), "sending a reply");
}

static void request_negotiated(const struct perf_case *c, const struct way *way)
{
    const tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .min = c->size, .max = c->size);
    tern_am_prepared           room;

    perf_must(tern_am_prepare(c->p->ctx, c->target, &opts, &room), "preparing a request");
    generate(room.addr, c->size);
    perf_must(tern_am_commit(&room, way->request, NULL, 0, c->size), "committing a request");
}

static inline void request(const struct perf_case *c, const struct way *way)
{
    if (way->negotiated) {
        request_negotiated(c, way);
        return;
    }
    if (way->generate)
        generate(state.buffer, c->size);
    if (c->size == 0)
        perf_must(tern_am_short(c->p->ctx, c->target, way->request, NULL, 0), "sending a request");
    else
        perf_must(tern_am_medium(c->p->ctx, c->target, way->request, NULL, 0, state.buffer, c->size),
                  "sending a request");
}

struct awaited {
    const volatile uint64_t *count;
    uint64_t                 want;
};

static bool is_there(void *arg)
{
    const struct awaited *a = arg;

    return *a->count == a->want;
}

void perf_am_await(struct perf *p, const volatile uint64_t *count, uint64_t want)
{
    struct awaited a = { count, want };

    perf_must(tern_wait_until(p->ctx, is_there, &a, TERN_FOREVER), "waiting for messages");
}

static inline __attribute__((always_inline)) void pingpong(struct perf_case *c, uint64_t iters, const struct way *way)
{
    uint64_t begin = state.wanted;

    state.wanted += iters;
    if (c->p->rank != 0) {
        perf_am_await(c->p, &state.handled, state.wanted);
        return;
    }
    for (uint64_t i = 1; i <= iters; i++) {
        request(c, way);
        perf_am_await(c->p, &state.handled, begin + i);
    }
}

static void pingpong_plain(struct perf_case *c, uint64_t iters)
{
    pingpong(c, iters, &plain);
}

static void pingpong_fixed(struct perf_case *c, uint64_t iters)
{
    pingpong(c, iters, &fixed);
}

static void pingpong_negotiated(struct perf_case *c, uint64_t iters)
{
    pingpong(c, iters, &negotiated);
}

bool perf_am_fit(struct perf_case *c)
{
    static bool full;
    size_t      most = tern_am_max_medium(c->p->ctx, c->target, 0);

    if (c->size <= most)
        return true;
    if (full)
        return false;
    full = true;
    c->size = most;
    return true;
}

/* Collective. Register the handlers and verify that payloads arrive. */
static void open_handlers(struct perf_case *c)
{
    static const struct way *const ways[] = { &plain, &fixed, &negotiated, &fixed_checked, &negotiated_checked };

    state.buffer = c->p->local;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        void *user = (void *)(uintptr_t)ways[i];

        perf_must(tern_am_register(ways[i]->request, on_request, user), "registering a handler");
        perf_must(tern_am_register(ways[i]->reply, on_reply, user), "registering a handler");
    }
    perf_must(tern_barrier(c->p->ctx), "barrier");
    if (c->size > 0 && c->p->rank < 2) {
        pingpong(c, 1, &fixed_checked);
        pingpong(c, 1, &negotiated_checked);
    }
}

static void fixed_against_negotiated(struct perf_case *c)
{
    static const struct perf_kernel k[] = { { PERF_PAIR, pingpong_fixed }, { PERF_PAIR, pingpong_negotiated } };
    double                          gain[PERF_MAX_REPEAT];

    perf_measure(c, k, 2);
    for (size_t r = 0; r < c->p->repeat; r++)
        gain[r] = 100 * (c->p->ns[0][r] / c->p->ns[1][r] - 1);
    perf_figure_time(c, 0, 2, "half_rtt_fixed");
    perf_figure_time(c, 1, 2, "half_rtt_negotiated");
    perf_figure_values(c, gain, "gain_percent", "percent");
}

struct perf_kernel perf_am_trip(struct perf_case *c)
{
    open_handlers(c);
    return (struct perf_kernel){ PERF_PAIR, pingpong_plain };
}

void perf_am_lat(struct perf_case *c)
{
    const struct perf_kernel k[] = { { PERF_PAIR, pingpong_plain }, perf_limit_trip(c->p) };

    if (!perf_am_fit(c))
        return;
    open_handlers(c);
    if (c->p->opt->generate) {
        if (c->size > 0)
            fixed_against_negotiated(c);
        return;
    }
    perf_measure(c, k, c->p->opt->vs_limit ? 2 : 1);
    perf_figure_time(c, 0, 2, "half_rtt");
    if (c->p->opt->vs_limit) {
        perf_figure_time(c, 1, 2, perf_limit_trip_name(c->p));
        perf_figure_ratio(c, 0, 1, 1, "ratio_to_limit");
    }
}

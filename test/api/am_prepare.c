/* am_prepare.c: active messages with a negotiated payload.
 *
 * Promise: prepare gives at least the minimum, at most the maximum, and more than the usual maximum where there is
 * space; the handler reads what the sender wrote there, at any length and with any number of arguments up to the
 * prepared number; several messages may be prepared at once, and arrive in the order of their preparation however they
 * are committed; a cancelled message is never seen; a long message is written directly into the target's part where
 * that is reachable.
 *
 * env: TERN_CMA=off
 * env: TERN_AM_QUEUE=64K
 * env: TERN_TEST=apart=1
 */
#include "job_test.h"

#define SINK 1u
#define ORDERED 2u
#define LATER 3u
#define ANSWER 4u

static uint64_t          handled, next[64];
static struct job_region shared, own;

static void wait_for(uint64_t count)
{
    OK(job_await(&handled, count, tern_deadline_in(60)));
    SAME(handled, count);
}

/* The length and the source determine the payload. */
static void on_sink(const tern_am_event *event, void *user)
{
    (void)user;
    for (unsigned i = 0; i < event->nargs; i++)
        SAME(event->args[i], i + 1000);
    if (event->kind == TERN_AM_LONG)
        CHECK(job_put_holds(event->payload, event->len, (unsigned)event->source, (unsigned)event->len));
    else
        HOLDS(event->payload, event->len, (unsigned)event->source, (unsigned)event->len);
    handled++;
}

static void on_ordered(const tern_am_event *event, void *user)
{
    (void)user;
    SAME(event->args[0], next[event->source]);
    next[event->source] = event->args[0] + 1;
    HOLDS(event->payload, event->len, (unsigned)event->source, event->args[0]);
    handled++;
}

static int right(void)
{
    return (tern_rank() + 1) % tern_size();
}

/* Every length and number of arguments, committed shorter and with fewer arguments. */
static void lengths(int to)
{
    uint32_t args[16];
    uint64_t sent = 0;
    size_t   most = tern_am_max_medium(TERN_WORLD, to, 16);

    handled = 0;
    for (unsigned i = 0; i < 16; i++)
        args[i] = i + 1000;
    OK(tern_barrier(TERN_WORLD));
    for (unsigned nargs = 0; nargs <= 16; nargs++) {
        for (size_t len = 0; len <= 200; len += 1 + len / 70 * 13) {
            for (unsigned fewer = 0; fewer <= nargs; fewer += 3) {
                tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .nargs = (uint16_t)nargs,
                                                                 .min = len, .max = len % 2 ? len : most);
                tern_am_prepared     out;

                OK(tern_am_prepare(TERN_WORLD, to, &opts, &out));
                CHECK(out.len >= len && out.len <= opts.max);
                memset(out.addr, 0xff, out.len);
                job_fill(out.addr, len, (unsigned)tern_rank(), (unsigned)len);
                OK(tern_am_commit(&out, SINK, args, nargs - fewer, len));
                sent++;
            }
        }
    }
    wait_for(sent); /* as many from the left as to the right */
    OK(tern_barrier(TERN_WORLD));
}

/* An empty queue gives more than the usual maximum, and never more than was requested. */
static void more_than_usual(int to)
{
    size_t   most = tern_am_max_medium(TERN_WORLD, to, 0), seen = 0;
    uint64_t sent = 0;

    handled = 0;
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < 50; i++) {
        tern_am_prepare_opts opts =
            TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .min = most, .max = i % 2 ? SIZE_MAX : most + most / 3);
        tern_am_prepared out;

        OK(tern_am_prepare(TERN_WORLD, to, &opts, &out));
        CHECK(out.len >= most && out.len <= opts.max);
        seen = out.len > seen ? out.len : seen;
        job_fill(out.addr, out.len, (unsigned)tern_rank(), (unsigned)out.len);
        OK(tern_am_commit(&out, SINK, NULL, 0, out.len));
        wait_for(++sent);
        OK(tern_barrier(TERN_WORLD));
    }
    CHECK(seen > most);
}

/* Several messages at once, committed in any order, some cancelled; fixed messages between them keep their place. */
static void any_order(int to)
{
    uint64_t seed = 31, sent = 0;

    handled = 0;
    memset(next, 0, sizeof(next));
    OK(tern_barrier(TERN_WORLD));
    for (int round = 0; round < 200; round++) {
        tern_am_prepared out[4];
        uint32_t         number[4];
        unsigned         cancelled = (unsigned)job_random(&seed) % 16, left = 15;

        for (int i = 0; i < 4; i++) {
            tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .nargs = 1, .min = 1, .max = 100);
            OK(tern_am_prepare(TERN_WORLD, to, &opts, &out[i]));
            number[i] = (uint32_t)sent;
            sent += !(cancelled >> i & 1);
        }
        unsigned char fixed[60];
        uint32_t      last = (uint32_t)sent++;
        job_fill(fixed, sizeof(fixed), (unsigned)tern_rank(), last);
        OK(tern_am_medium(TERN_WORLD, to, ORDERED, &last, 1, fixed, sizeof(fixed)));
        while (left) {
            unsigned i = (unsigned)(job_random(&seed) >> 20) % 4;
            size_t   len = job_random(&seed) % (out[i].len + 1);

            if (!(left >> i & 1))
                continue;
            left &= ~(1u << i);
            if (cancelled >> i & 1) {
                OK(tern_am_cancel(&out[i]));
                continue;
            }
            job_fill(out[i].addr, len, (unsigned)tern_rank(), number[i]);
            OK(tern_am_commit(&out[i], ORDERED, &number[i], 1, len));
        }
    }
    wait_for(sent);
    OK(tern_barrier(TERN_WORLD));
}

/* An open message holds up the messages behind it to this rank, and to no other. */
static void holds_up(int to)
{
    tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .max = 8);
    tern_am_prepared     out;

    handled = 0;
    OK(tern_barrier(TERN_WORLD));
    OK(tern_am_prepare(TERN_WORLD, to, &opts, &out));
    for (int i = 0; i < 5; i++)
        OK(tern_am_short(TERN_WORLD, to, SINK, NULL, 0));
    for (int i = 0; i < 100; i++)
        OK(tern_progress(TERN_WORLD));
    SAME(handled, 0);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_am_cancel(&out));
    wait_for(5);
    OK(tern_barrier(TERN_WORLD));
}

/* Long messages: directly into the part, or from the queue or a buffer to their place; offsets of all alignments. */
static void into_the_region(struct job_region *r, int to)
{
    unsigned char *part = tern_region_ptr(r->region, to);
    size_t         most = tern_am_max_medium(TERN_WORLD, to, 0);
    uint64_t       sent = 0;

    handled = 0;
    OK(tern_barrier(TERN_WORLD));
    for (uint64_t offset = 0; offset < 70; offset += 7) {
        for (size_t len = 0; len <= 3000; len = len * 3 + 1) {
            unsigned char        buffer[4096];
            bool                 own_buffer = len % 2;
            size_t               space = len < most ? len : most;
            tern_am_prepare_opts opts =
                TERN_AM_PREPARE_OPTS(.kind = TERN_AM_LONG, .min = space, .max = own_buffer ? 4000 : space,
                                     .buffer = own_buffer ? buffer : NULL, .region = r->region, .offset = offset);
            tern_am_prepared out;

            OK(tern_am_prepare(TERN_WORLD, to, &opts, &out));
            CHECK(out.len >= space && out.len <= opts.max);
            if (own_buffer)
                CHECK(out.addr == buffer && out.len == opts.max);
            else if (part)
                CHECK(out.addr == part + offset);
            job_fill(out.addr, space, (unsigned)tern_rank(), (unsigned)space);
            OK(tern_am_commit(&out, SINK, NULL, 0, space));
            wait_for(++sent);
            OK(tern_barrier(TERN_WORLD)); /* before it is overwritten */
        }
    }
}

/* A cancelled reply may still be sent, prepared or not. */
static void on_later(const tern_am_event *event, void *user)
{
    tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .nargs = 2, .min = 10, .max = 20);
    tern_am_prepared     out;
    uint32_t             args[2] = { 1000, 1001 };

    (void)user;
    for (uint32_t i = 0; i < event->args[0] % 4; i++) {
        OK(tern_am_prepare_reply(event->token, &opts, &out));
        RETURNS(TERN_ERR_STATE, tern_am_reply(event->token, &TERN_AM(.handler = ANSWER)));
        RETURNS(TERN_ERR_RANGE, tern_am_commit(&out, ANSWER, args, 2, 21));
        OK(tern_am_cancel(&out));
    }
    if (event->args[0] % 3 == 0)
        return; /* no reply at all */
    OK(tern_am_prepare_reply(event->token, &opts, &out));
    job_fill(out.addr, 15, (unsigned)tern_rank(), 15);
    OK(tern_am_commit(&out, ANSWER, args, 2, 15));
    RETURNS(TERN_ERR_STATE, tern_am_commit(&out, ANSWER, args, 2, 15));
    RETURNS(TERN_ERR_STATE, tern_am_reply(event->token, &TERN_AM(.handler = ANSWER)));
}

static void replies(int to)
{
    uint64_t sent = 0;

    handled = 0;
    OK(tern_barrier(TERN_WORLD));
    for (uint32_t i = 0; i < 300; i++) {
        OK(tern_am_short(TERN_WORLD, to, LATER, &i, 1));
        sent += i % 3 != 0;
    }
    wait_for(sent);
    OK(tern_barrier(TERN_WORLD));
}

static void all(int to)
{
    lengths(to);
    more_than_usual(to);
    any_order(to);
    holds_up(to);
    into_the_region(&shared, to);
    into_the_region(&own, to);
    replies(to);
}

int main(void)
{
    OK(tern_am_register(SINK, on_sink, NULL));
    OK(tern_am_register(ANSWER, on_sink, NULL));
    OK(tern_am_register(ORDERED, on_ordered, NULL));
    OK(tern_am_register(LATER, on_later, NULL));
    OK(tern_init());
    job_region_make(&shared, JOB_HOST, 8192);
    job_region_make(&own, JOB_REGISTERED, 8192);
    all(right());
    all(tern_rank());
    job_region_drop(&shared);
    job_region_drop(&own);
    OK(tern_finalize());
    return 0;
}

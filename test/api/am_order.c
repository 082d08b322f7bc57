/* am_order.c: order, time limits and back-pressure of active messages.
 *
 * Promise: messages of a pair are handled in the order in which they were sent, whatever their kinds; with
 * TERN_IMMEDIATE a full queue returns TERN_AGAIN, nothing is consumed, and the send succeeds when there is space again;
 * a context's time limit ends a wait for space, and nothing is sent; tern_wait_until keeps its deadline; a message of a
 * strict context is handled after the data of the transfers that the context started before it to the same rank.
 *
 * A rank "does not poll" while it waits for a word of a region to change. Under chaos a rank that sends a long message
 * polls, and a queue is never known to be full or to have space: the checks of full queues are then left out.
 *
 * poor: off, because space may come by itself there, when what has been sent is done with
 * providers: net sockets shm
 * env: TERN_CMA=off
 * env: TERN_AM_QUEUE=64K
 */
#include "job_test.h"

#include <stdatomic.h>

#define COUNT 1u
#define ORDERED 2u
#define ASK 3u
#define ANSWER 4u
#define LOOK 5u
#define PING 6u
#define PONG 7u
#define BIG (1u << 20)

static uint64_t          handled, answered, refused, next[64];
static struct job_region words, data;
static unsigned char     big[BIG];

static void wait_for(uint64_t count)
{
    OK(job_await(&handled, count, tern_deadline_in(60)));
    SAME(handled, count);
}

static int right(void)
{
    return (tern_rank() + 1) % tern_size();
}

/* Wait without calling Tern until a neighbour's number has the value. Returns the value that accompanies it. */
static uint32_t await_word(uint32_t number)
{
    const _Atomic uint64_t *word = tern_region_ptr(words.region, tern_rank());

    while (atomic_load(word) >> 32 < number)
        usleep(100);
    return (uint32_t)atomic_load(word);
}

/* Send the number to a neighbour, without handling messages meanwhile. */
static void tell_word(int rank, uint32_t number, uint64_t besides)
{
    static uint64_t told[64];

    told[rank] = (uint64_t)number << 32 | besides;
    OK(tern_put_nbi(TERN_WORLD, words.region, rank, 0, &told[rank], sizeof(told[rank])));
}

/* Wait, without calling Tern, until the word at a place of this rank's part has reached the value. */
static void await_place(int place, uint64_t value)
{
    const _Atomic uint64_t *word = tern_region_ptr(words.region, tern_rank());

    while (atomic_load(word + place) < value)
        usleep(100);
}

/* A barrier after which no rank polls any more: a rank in tern_barrier would poll until it sees the last rank arrive.
 * All ranks tell rank 0, and rank 0 tells all. */
static void settle(void)
{
    enum { FIRST = 128, LAST = FIRST - 1 }; /* places */
    static uint64_t settled;
    int             n = tern_size();

    OK(tern_barrier(TERN_WORLD));
    settled++;
    OK(tern_put_nbi(TERN_WORLD, words.region, 0, (uint64_t)(FIRST + tern_rank()) * 8, &settled, 8));
    for (int rank = 0; tern_rank() == 0 && rank < n; rank++)
        await_place(FIRST + rank, settled);
    for (int rank = 0; tern_rank() == 0 && rank < n; rank++)
        OK(tern_put_nbi(TERN_WORLD, words.region, rank, LAST * 8, &settled, 8));
    await_place(LAST, settled);
}

static void on_count(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    handled++;
}

static void on_ordered(const tern_am_event *event, void *user)
{
    (void)user;
    SAME(event->args[0], next[event->source]);
    next[event->source]++;
    handled++;
}

/* All kinds and both styles in one stream to every rank. */
static void streams(void)
{
    uint64_t seed = 9 + (uint64_t)tern_rank(), rounds = JOB_SANITIZED ? 300 : 3000;
    int      n = tern_size();

    handled = 0;
    OK(tern_barrier(TERN_WORLD));
    for (uint32_t i = 0; i < rounds; i++) {
        for (int to = 0; to < n; to++) {
            tern_am              am = TERN_AM(.handler = ORDERED, .nargs = 1, .args = &i, .payload = big);
            tern_am_prepared     out;
            tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .nargs = 1, .max = 300);

            am.kind = (tern_am_kind)(job_random(&seed) >> 30) % 3;
            am.len = am.kind == TERN_AM_SHORT ? 0 : job_random(&seed) % 500;
            am.region = am.kind == TERN_AM_LONG ? data.region : NULL;
            if (job_random(&seed) % 4 == 0) {
                OK(tern_am_prepare(TERN_WORLD, to, &opts, &out));
                OK(tern_am_commit(&out, ORDERED, &i, 1, out.len));
            } else {
                OK(tern_am_request(TERN_WORLD, to, &am));
            }
        }
    }
    wait_for(rounds * (uint64_t)n);
    OK(tern_barrier(TERN_WORLD));
}

static void on_ping(const tern_am_event *event, void *user)
{
    tern_am am = TERN_AM(.handler = PONG);

    (void)user;
    OK(tern_am_reply(event->token, &am));
}

static void on_pong(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    answered++;
}

/* Ask a rank for a reply. The reply shows that everything before it has been handled. After that no rank polls. */
static void settle_with(int to)
{
    uint64_t want = answered + 1;

    OK(tern_am_short(TERN_WORLD, to, PING, NULL, 0));
    OK(job_await(&answered, want, tern_deadline_in(60)));
    settle();
}

/* Fill the queue to a rank that does not poll. Returns the number of messages sent. */
static uint64_t fill(int to, const tern_am *am)
{
    uint64_t    sent = 0;
    tern_status st;

    while ((st = tern_am_request(TERN_WORLD, to, am)) == TERN_OK)
        sent++;
    SAME(st, TERN_AGAIN);
    return sent;
}

static void immediate(int to)
{
    static uint32_t round;
    size_t          most = tern_am_max_medium(TERN_WORLD, to, 16);
    uint64_t        sent = 0, come;
    tern_status     st;

    handled = 0;
    for (int i = 0; i < 6; i++) {
        tern_am am = TERN_AM(.kind = (tern_am_kind)(i % 3), .handler = COUNT, .payload = big, .flags = TERN_IMMEDIATE);
        tern_am_prepare_opts opts =
            TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .min = most, .max = SIZE_MAX, .flags = TERN_IMMEDIATE);
        tern_am_prepared out;

        am.len = am.kind == TERN_AM_SHORT ? 0 : i < 3 ? 100 : most;
        am.region = am.kind == TERN_AM_LONG ? words.region : NULL;
        am.offset = am.kind == TERN_AM_LONG ? 64 : 0;
        am.len = am.kind == TERN_AM_LONG ? 64 : am.len;
        if (am.kind == TERN_AM_LONG && job_network())
            continue; /* a rank that waits for the payload to arrive there polls */
        settle_with(to);
        sent += fill(to, &am);
        RETURNS(TERN_AGAIN, tern_am_request(TERN_WORLD, to, &am));
        RETURNS(TERN_AGAIN, tern_am_prepare(TERN_WORLD, to, &opts, &out));
        RETURNS(TERN_ERR_STATE, tern_am_cancel(&out));
        tell_word(to, ++round, sent);
        come = await_word(round);     /* the sender to this rank has seen its queue full */
        wait_for(come);               /* as many as it reports */
        OK(tern_barrier(TERN_WORLD)); /* and all queues are empty; credit may be in flight */
        while ((st = tern_am_request(TERN_WORLD, to, &am)) == TERN_AGAIN)
            OK(tern_progress(TERN_WORLD));
        OK(st);
        sent++;
        wait_for(come + 1);
    }
    OK(tern_barrier(TERN_WORLD));
}

/* A reply that finds no space. */
static void on_ask(const tern_am_event *event, void *user)
{
    tern_am     am = TERN_AM(.kind = TERN_AM_MEDIUM, .handler = ANSWER, .payload = big, .flags = TERN_IMMEDIATE);
    tern_status st;

    (void)user;
    am.len = tern_am_max_medium(TERN_WORLD, event->source, 0);
    st = tern_am_reply(event->token, &am);
    CHECK(st == TERN_OK || st == TERN_AGAIN);
    if (st == TERN_AGAIN) { /* nothing was sent: the handler may try again, or send no reply */
        RETURNS(TERN_AGAIN, tern_am_reply(event->token, &am));
        refused++;
    }
    handled++;
}

static void on_answer(const tern_am_event *event, void *user)
{
    (void)user;
    CHECK(event->len == tern_am_max_medium(TERN_WORLD, event->source, 0) &&
          memcmp(event->payload, big, event->len) == 0);
    answered++;
}

static void immediate_replies(void)
{
    enum { REQUESTS = 6 };
    uint64_t want = 0;

    if (tern_size() < 2)
        return;
    handled = answered = refused = 0;
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0) {
        for (int i = 0; i < REQUESTS; i++)
            OK(tern_am_short(TERN_WORLD, 1, ASK, NULL, 0));
        want = await_word(1000000); /* polls nothing meanwhile */
        CHECK(want > 0 && want < REQUESTS);
        OK(job_await(&answered, want, tern_deadline_in(60)));
    } else if (tern_rank() == 1) {
        wait_for(REQUESTS);
        CHECK(refused > 0);
        tell_word(0, 1000000, REQUESTS - refused);
    }
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0)
        SAME(answered, want);
}

static void time_limits(int to)
{
    static uint32_t      round = 2000000;
    tern_am              am = TERN_AM(.handler = COUNT, .flags = TERN_IMMEDIATE);
    tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .max = 100);
    tern_am_prepared     out;
    tern_ctx            *ctx;
    uint64_t             sent;

    if (to == tern_rank()) /* this rank would serve itself */
        return;
    handled = 0;
    OK(tern_ctx_create(tern_ctx_team(TERN_WORLD), TERN_RELAXED, &ctx));
    OK(tern_ctx_set_timeout(ctx, 0.02));
    settle_with(to);
    if (tern_rank() == 0) { /* all other ranks are busy elsewhere */
        sent = fill(to, &am);
        RETURNS(TERN_ERR_TIMEOUT, tern_am_short(ctx, to, COUNT, NULL, 0));
        SAYS("space in the queue");
        RETURNS(TERN_ERR_TIMEOUT, tern_am_prepare(ctx, to, &opts, &out));
        for (int rank = 1; rank < tern_size(); rank++)
            tell_word(rank, round, sent);
    } else {
        sent = await_word(round);
        if (tern_rank() == 1)
            wait_for(sent);
    }
    round++;
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < 100; i++)
        OK(tern_progress(TERN_WORLD));
    CHECK(tern_rank() != 1 || handled == sent);
    OK(tern_ctx_free(ctx));
    OK(tern_barrier(TERN_WORLD));
}

static bool never(void *arg)
{
    ++*(uint64_t *)arg;
    return false;
}

static void deadlines(void)
{
    uint64_t looks = 0;

    RETURNS(TERN_PENDING, tern_wait_until(TERN_WORLD, never, &looks, tern_deadline_in(0)));
    CHECK(looks > 0);
    RETURNS(TERN_ERR_TIMEOUT, tern_wait_until(TERN_WORLD, never, &looks, tern_deadline_in(0.01)));
    SAYS("condition");
    RETURNS(TERN_ERR_TIMEOUT, tern_wait_until(TERN_WORLD, never, &looks, 1)); /* passed long ago */
    handled = 0;
    OK(job_await(&handled, 0, 0)); /* the condition already holds, so an old deadline does not matter */
}

/* The data is there before the handler runs, whatever the path of the region. */
static void on_look(const tern_am_event *event, void *user)
{
    (void)user;
    CHECK(job_put_holds(data.mine + BIG * (event->args[0] & 1), BIG, (unsigned)event->source, event->args[0]));
    handled++;
}

static void strict(int to)
{
    tern_ctx *ctx;

    handled = 0;
    OK(tern_ctx_create(tern_ctx_team(TERN_WORLD), TERN_STRICT, &ctx));
    OK(tern_barrier(TERN_WORLD));
    for (uint32_t i = 0; i < (JOB_SANITIZED ? 4 : 12); i++) {
        tern_am              am = TERN_AM(.handler = LOOK, .nargs = 1, .args = &i, .flags = TERN_IMMEDIATE);
        tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .nargs = 1);
        tern_am_prepared     out;
        tern_status          st;

        job_fill(big, BIG, (unsigned)tern_rank(), i);
        OK(tern_put_nbi(ctx, data.region, to, BIG * (i & 1), big, BIG));
        if (i % 3 == 0) {
            OK(tern_am_short(ctx, to, LOOK, &i, 1));
        } else if (i % 3 == 1) {
            OK(tern_am_prepare(ctx, to, &opts, &out));
            OK(tern_am_commit(&out, LOOK, &i, 1, 0));
        } else {
            while ((st = tern_am_request(ctx, to, &am)) == TERN_AGAIN)
                OK(tern_progress(ctx));
            OK(st);
        }
        OK(tern_quiet(ctx));
        wait_for(i + 1);
        OK(tern_barrier(TERN_WORLD));
    }
    OK(tern_ctx_free(ctx));
}

int main(void)
{
    OK(tern_am_register(COUNT, on_count, NULL));
    OK(tern_am_register(ORDERED, on_ordered, NULL));
    OK(tern_am_register(ASK, on_ask, NULL));
    OK(tern_am_register(ANSWER, on_answer, NULL));
    OK(tern_am_register(LOOK, on_look, NULL));
    OK(tern_am_register(PING, on_ping, NULL));
    OK(tern_am_register(PONG, on_pong, NULL));
    OK(tern_init());
    job_fill(big, BIG, 1, 1);
    job_region_make(&words, JOB_HOST, 4096);
    job_region_make(&data, JOB_REGISTERED, 2 * BIG);
    streams();
    if (!job_chaos()) {
        immediate(right());
        immediate(tern_rank());
        immediate_replies();
        time_limits(right());
    }
    deadlines();
    strict(right());
    if (tern_size() == 1 || !JOB_SANITIZED) /* overwrites memory that a helper thread wrote: see job_put_holds() */
        strict(tern_rank());
    OK(tern_barrier(TERN_WORLD));
    job_region_drop(&words);
    job_region_drop(&data);
    OK(tern_finalize());
    return 0;
}

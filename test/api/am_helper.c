/* am_helper.c: handlers that the helper thread runs.
 *
 * Promise: a rank that computes without calling Tern answers the messages of a client with by_helper, over every link,
 * and no handler of the default client runs meanwhile. A process never runs two handlers at the same time, whatever
 * thread runs them. Handlers on the helper thread may reply, with a payload too, and may use a context of their own. A
 * rank that waits is woken by what such a handler does. The helper thread calls no idle hooks, even if a handler waits
 * there. Without the helper thread such a client is refused.
 *
 * timeout: 240
 * env: TERN_PROGRESS_THREAD=off
 * env: TERN_AM_QUEUE=64K
 */
#include "job_test.h"

#include <pthread.h>
#include <stdatomic.h>

#define ASK 1u
#define ANSWER 2u
#define PLAIN 3u
#define CROWD 4u
#define ANSWERED 5u
#define EACH (JOB_SANITIZED || job_chaos() ? 30u : 300u) /* chaos delays each put and get of a handler */

static tern_am_client  *client;
static tern_ctx        *own; /* of the handlers */
static tern_region     *region;
static pthread_t        program;
static _Atomic uint64_t asked, answered, plain, by_program;
static _Atomic int      running;  /* handlers that run now; a reply may be inside a request */
static int              unshared; /* plain: only handlers use it, one at a time */
static uint64_t         next[64];

static bool reached(void *count)
{
    return atomic_load(&answered) >= *(const uint64_t *)count;
}

static void on_ask(const tern_am_event *event, void *user)
{
    unsigned char bytes[512];
    uint64_t      word;

    SAME(atomic_fetch_add(&running, 1), 0);
    unshared++;
    CHECK(user == &client && event->team == tern_team_world());
    SAME(event->args[0], next[event->source]);
    next[event->source]++;
    HOLDS(event->payload, event->len, (unsigned)event->source, event->args[0]);
    if (pthread_equal(pthread_self(), program))
        atomic_fetch_add(&by_program, 1);
    OK(tern_get_u64(own, region, tern_rank(), 8, &word)); /* a handler's own context */
    OK(tern_put_u64(own, region, tern_rank(), 8, word + 1));
    RETURNS(TERN_ERR_STATE, tern_barrier(own));
    job_fill(bytes, event->len, (unsigned)tern_rank(), event->args[0]);
    OK(tern_am_reply(event->token, &TERN_AM(.kind = TERN_AM_MEDIUM, .handler = ANSWER, .nargs = 1, .args = event->args,
                                            .payload = bytes, .len = event->len)));
    atomic_fetch_sub(&running, 1);
    atomic_fetch_add(&asked, 1);
}

static void on_crowd(const tern_am_event *event, void *user)
{
    static const unsigned char bytes[512];

    (void)user;
    OK(tern_am_reply(event->token,
                     &TERN_AM(.kind = TERN_AM_MEDIUM, .handler = ANSWERED, .payload = bytes, .len = sizeof(bytes))));
}

static void on_answered(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    atomic_fetch_add(&answered, 1);
}

static void on_answer(const tern_am_event *event, void *user)
{
    (void)user;
    CHECK(atomic_load(&running) <= 1);
    HOLDS(event->payload, event->len, (unsigned)event->source, event->args[0]);
    atomic_fetch_add(&answered, 1);
}

/* A handler of the default client, which only the program runs. */
static void on_plain(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    CHECK(pthread_equal(pthread_self(), program));
    SAME(atomic_load(&running), 0);
    unshared++;
    atomic_fetch_add(&plain, 1);
}

static void on_idle(void *arg)
{
    (void)arg;
    CHECK(pthread_equal(pthread_self(), program));
}

static void send(int to, uint32_t number)
{
    unsigned char bytes[512];
    size_t        len = number % sizeof(bytes);

    job_fill(bytes, len, (unsigned)tern_rank(), number);
    OK(tern_am_client_request(
        client, TERN_WORLD, to,
        &TERN_AM(.kind = TERN_AM_MEDIUM, .handler = ASK, .nargs = 1, .args = &number, .payload = bytes, .len = len)));
}

/* The last rank computes until it has answered all requests of the others. Messages of the default client that it was
 * sent meanwhile wait. */
static void computes(void)
{
    int      me = tern_rank(), last = tern_size() - 1;
    uint64_t want = EACH;

    atomic_store(&asked, 0);
    atomic_store(&answered, 0);
    atomic_store(&plain, 0);
    atomic_store(&by_program, 0);
    memset(next, 0, sizeof(next));
    OK(tern_barrier(TERN_WORLD));
    if (me == last) {
        uint64_t early = atomic_load(&by_program), early_plain = atomic_load(&plain); /* within the barrier */

        while (atomic_load(&asked) < EACH * (uint64_t)last)
            ; /* no call of Tern */
        SAME(atomic_load(&by_program), early);
        SAME(atomic_load(&plain), early_plain);
        CHECK(early < EACH);
    } else {
        OK(tern_am_short(TERN_WORLD, last, PLAIN, NULL, 0));
        for (uint32_t i = 0; i < EACH; i++) {
            send(last, i);
            if (i % 16 == 0) {
                want = i + 1;
                OK(tern_wait_until(TERN_WORLD, reached, &want, TERN_FOREVER));
            }
        }
        want = EACH;
        OK(tern_wait_until(TERN_WORLD, reached, &want, TERN_FOREVER));
    }
    OK(tern_barrier(TERN_WORLD));
    while (me == last && atomic_load(&plain) < (uint64_t)last)
        OK(tern_progress(TERN_WORLD));
    OK(tern_barrier(TERN_WORLD));
}

/* Requests whose replies fill the queue of a rank that takes none, so that the handlers at its peer have to wait on the
 * helper thread. */
static void crowded(void)
{
    const tern_am am = TERN_AM(.kind = TERN_AM_SHORT, .handler = CROWD, .flags = TERN_IMMEDIATE);
    uint64_t      sent = 0, most = JOB_SANITIZED || job_chaos() ? 500 : 20000;

    atomic_store(&answered, 0);
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0)
        for (unsigned refused = 0; sent < most && refused < 100;) {
            tern_status st = tern_am_client_request(client, TERN_WORLD, 1, &am);

            CHECK(st == TERN_OK || st == TERN_AGAIN);
            sent += st == TERN_OK;
            refused = st == TERN_OK ? 0 : refused + 1;
            if (st == TERN_AGAIN)
                usleep(100);
        }
    else
        usleep(20000);
    OK(tern_wait_until(TERN_WORLD, reached, &sent, TERN_FOREVER));
    OK(tern_barrier(TERN_WORLD));
}

/* All ranks send to all, and alternate between waiting and computing. */
static void all_to_all(void)
{
    int      me = tern_rank(), ranks = tern_size();
    uint64_t want = 0;

    memset(next, 0, sizeof(next));
    atomic_store(&answered, 0);
    OK(tern_barrier(TERN_WORLD));
    for (uint32_t i = 0; i < EACH / 3; i++) {
        for (int to = 0; to < ranks; to++) {
            send(to, i);
            OK(tern_am_short(TERN_WORLD, to, PLAIN, NULL, 0));
            want++;
        }
        if (i % 7 == 6) {
            int64_t until = tern_clock() + 2000000;

            while (tern_clock() < until)
                ;
        }
        if (i % 10 == (uint32_t)me % 10)
            OK(tern_wait_until(TERN_WORLD, reached, &want, TERN_FOREVER));
    }
    OK(tern_wait_until(TERN_WORLD, reached, &want, TERN_FOREVER));
    OK(tern_barrier(TERN_WORLD));
}

int main(void)
{
    const tern_am_client_handler handlers[] = { { ASK, on_ask, &client },
                                                { ANSWER, on_answer, NULL },
                                                { CROWD, on_crowd, NULL },
                                                { ANSWERED, on_answered, NULL } };
    const tern_am_client_opts    opts =
        TERN_AM_CLIENT_OPTS(.name = "helped", .by_helper = 1, .handlers = handlers, .count = 4);
    const char *thread = getenv("TERN_PROGRESS_THREAD");

    program = pthread_self();
    OK(tern_am_register(PLAIN, on_plain, NULL));
    OK(tern_init());
    if (thread && strcmp(thread, "off") == 0) {
        REFUSES(TERN_ERR_STATE, tern_am_client_create(TERN_WORLD, &opts, &client));
        SAYS("TERN_PROGRESS_THREAD=off");
        OK(tern_finalize());
        return 0;
    }
    OK(tern_on_idle(on_idle, NULL));
    OK(tern_region_create(TERN_WORLD, 64, NULL, &region));
    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &own));
    OK(tern_am_client_create(TERN_WORLD, &opts, &client));
    for (int round = 0; round < 2; round++) {
        if (tern_size() > 1) {
            computes();
            crowded();
        }
        all_to_all();
    }
    OK(tern_am_client_free(client));
    memset(next, 0, sizeof(next));
    OK(tern_am_client_create(TERN_WORLD, &opts, &client)); /* tern_finalize frees it */
    all_to_all();
    OK(tern_region_free(region));
    OK(tern_finalize());
    return 0;
}

/* am_threads.c: many threads send, and any thread that makes progress runs handlers.
 *
 * Promise: threads with their own contexts may send and prepare at the same time; messages of a thread arrive in order;
 * a process never runs two handlers at the same time, except a reply handler inside a request handler that waits to
 * reply, on the same thread. Handlers share plain memory here, so that the thread sanitizer sees whether that holds. A
 * sleeping thread is woken by the effect of a handler on another thread.
 *
 * timeout: 240
 * env: TERN_AM_QUEUE=64K
 */
#include "job_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define THREADS 8
#define ASK 1u
#define ANSWER 2u

static unsigned         rounds;
static uint64_t         next[64][THREADS], asked; /* plain: handlers only */
static int              in_ask, in_answer;        /* plain */
static pthread_t        who;
static _Atomic uint64_t answered[THREADS];
static unsigned char    bytes[8192];

struct sender {
    pthread_t thread;
    unsigned  id;
    uint64_t  want;
};

static void on_ask(const tern_am_event *event, void *user)
{
    unsigned thread = event->args[0];
    tern_am  am =
        TERN_AM(.kind = event->kind == TERN_AM_LONG ? TERN_AM_SHORT : event->kind, .handler = ANSWER,
                .nargs = (uint16_t)event->nargs, .args = event->args, .payload = event->payload, .len = event->len);

    (void)user;
    SAME(in_ask++ + in_answer, 0);
    who = pthread_self();
    SAME(event->args[1], next[event->source][thread]);
    next[event->source][thread]++;
    asked++;
    if (event->kind == TERN_AM_MEDIUM)
        CHECK(memcmp(event->payload, bytes, event->len) == 0);
    OK(tern_am_reply(event->token, &am));
    in_ask--;
}

static void on_answer(const tern_am_event *event, void *user)
{
    (void)user;
    SAME(in_answer++, 0);
    CHECK(in_ask == 0 || pthread_equal(who, pthread_self()));
    if (event->kind == TERN_AM_MEDIUM)
        CHECK(memcmp(event->payload, bytes, event->len) == 0);
    in_answer--;
    atomic_fetch_add(&answered[event->args[0]], 1);
}

static bool all_answered(void *arg)
{
    const struct sender *s = arg;

    return atomic_load(&answered[s->id]) >= s->want;
}

static void send_one(tern_ctx *ctx, int to, const uint32_t *args, uint64_t *seed)
{
    size_t               most = tern_am_max_medium(ctx, to, 2), len = job_random(seed) % 1500;
    tern_am_prepared     out;
    tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .nargs = 2);

    len = len < most ? len : most;
    switch (job_random(seed) >> 20 & 3) {
    case 0: OK(tern_am_short(ctx, to, ASK, args, 2)); break;
    case 1: OK(tern_am_medium(ctx, to, ASK, args, 2, bytes, len)); break;
    default:
        opts.min = opts.max = len;
        OK(tern_am_prepare(ctx, to, &opts, &out));
        memcpy(out.addr, bytes, len);
        if (job_random(seed) % 8 == 0)
            sched_yield(); /* other threads queue up behind it */
        OK(tern_am_commit(&out, ASK, args, 2, len));
        break;
    }
}

static void *flood(void *arg)
{
    struct sender *s = arg;
    uint64_t       seed = 1 + (uint64_t)tern_rank() * THREADS + s->id;
    tern_ctx      *ctx;

    OK(tern_ctx_create(tern_ctx_team(TERN_WORLD), s->id % 2 ? TERN_STRICT : TERN_RELAXED, &ctx));
    for (uint32_t i = 0; i < rounds; i++)
        for (int to = 0; to < tern_size(); to++)
            send_one(ctx, to, (uint32_t[]){ s->id, i }, &seed);
    s->want = (uint64_t)rounds * (uint64_t)tern_size();
    OK(tern_wait_until(ctx, all_answered, s, tern_deadline_in(200)));
    for (int i = 0; i < (JOB_SANITIZED ? 20 : 200); i++) { /* one at a time: a sleeping thread is woken by any other */
        OK(tern_am_short(ctx, (tern_rank() + 1) % tern_size(), ASK, (uint32_t[]){ s->id, rounds + (uint32_t)i }, 2));
        s->want++;
        OK(tern_wait_until(ctx, all_answered, s, tern_deadline_in(200)));
    }
    OK(tern_ctx_free(ctx));
    return NULL;
}

int main(void)
{
    struct sender sender[THREADS];
    uint64_t      total = 0;

    OK(tern_am_register(ASK, on_ask, NULL));
    OK(tern_am_register(ANSWER, on_answer, NULL));
    OK(tern_init());
    rounds = (JOB_SANITIZED ? 200u : 1600u) / (unsigned)tern_size();
    job_fill(bytes, sizeof(bytes), 1, 1);
    for (unsigned i = 0; i < THREADS; i++) {
        sender[i] = (struct sender){ .id = i };
        CHECK(pthread_create(&sender[i].thread, NULL, flood, &sender[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_join(sender[i].thread, NULL) == 0);
        total += sender[i].want;
    }
    OK(tern_barrier(TERN_WORLD));
    SAME(asked, total);
    OK(tern_finalize());
    return 0;
}

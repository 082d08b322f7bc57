/* shared_complete.c: calls that complete what a shared context has started, before they do something else.
 *
 * Promise: tern_mutex_unlock, an atomic operation with TERN_RELEASE and tern_ctx_free first complete what all threads
 * have started on a shared context, also notifications that carry their data: the target sees the data in its memory
 * without calling Tern. tern_mutex_unlock, the atomic operation, and the fence of a context with counters are not
 * delayed by what other threads start meanwhile. A handler that makes a call on a shared context for which it would
 * have to wait is told that it is a handler.
 *
 * env: TERN_CMA=off TERN_BOUNCE_CHUNK=4K TERN_BOUNCE_CHUNKS=4
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "job_test.h"

#define FLAG 0u     /* offset of the word that says that the data must be there */
#define DATA 64u    /* offset of the data */
#define LONG 30000u /* bytes of a transfer that takes a while */
#define STREAM 4u   /* transfers of the other thread that are outstanding at any time */

enum call { UNLOCK, RELEASE, FREE, CALLS };

static struct job_region r;
static tern_mutexes     *mutexes;
static tern_ctx         *ctx;
static int               asked;

/* Send the value in a notification, complete it by the call, and tell the target. */
static void send(enum call call, int to, uint64_t value)
{
    const uint64_t none = 0;

    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED | TERN_SHARED, &ctx));
    if (call == UNLOCK)
        OK(tern_mutex_lock(ctx, mutexes, to, 0));
    OK(tern_put_notify_nbi(ctx, r.region, to, DATA, &value, sizeof(value), 5));
    if (call == UNLOCK)
        OK(tern_mutex_unlock(ctx, mutexes, to, 0));
    else if (call == RELEASE)
        OK(tern_atomic_with(ctx, NULL, r.region, to, 2 * DATA,
                            &TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_ADD, .type = TERN_UINT64, .operand = &none),
                            &TERN_OPTS(.flags = TERN_RELEASE)));
    else
        OK(tern_ctx_free(ctx));
    OK(tern_put_u64(TERN_WORLD, r.region, to, FLAG, value));
    if (call != FREE)
        OK(tern_ctx_free(ctx));
}

/* One rank sends to the next one, which does not call Tern until it has checked its memory. */
static void inline_data(void)
{
    uint64_t value = 0, *words = (uint64_t *)(void *)r.mine;

    for (int sender = 0; sender < tern_size(); sender++)
        for (int call = 0; call < CALLS; call++)
            for (unsigned i = 0; i < 20; i++) {
                int to = (sender + 1) % tern_size();

                value++;
                OK(tern_barrier(TERN_WORLD));
                if (tern_rank() == sender)
                    send((enum call)call, to, value);
                if (tern_rank() != to)
                    continue;
                while (__atomic_load_n(&words[FLAG / 8], __ATOMIC_ACQUIRE) != value)
                    sched_yield();
                SAME(__atomic_load_n(&words[DATA / 8], __ATOMIC_RELAXED), value);
            }
    OK(tern_barrier(TERN_WORLD));
}

/* ---- while another thread goes on ---- */

static _Atomic bool started, over;

static void *go_on(void *data)
{
    tern_event event[STREAM];
    int        to = (tern_rank() + 1) % tern_size();

    for (unsigned i = 0; i < STREAM; i++)
        OK(tern_put_nb(ctx, r.region, to, 4096, data, LONG, &event[i]));
    atomic_store(&started, true);
    for (unsigned i = 0; !atomic_load(&over); i = (i + 1) % STREAM) { /* the others are outstanding meanwhile */
        OK(tern_event_wait(&event[i], TERN_FOREVER));
        OK(tern_put_nb(ctx, r.region, to, 4096, data, LONG, &event[i]));
    }
    OK(tern_event_wait_all(event, STREAM, TERN_FOREVER));
    return NULL;
}

static void undelayed(void)
{
    int            to = (tern_rank() + 1) % tern_size();
    const uint64_t one = 1;
    tern_counter  *counter;
    pthread_t      thread;
    unsigned char *data = job_new(LONG);

    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED | TERN_SHARED, &ctx));
    atomic_store(&over, false);
    atomic_store(&started, false);
    CHECK(pthread_create(&thread, NULL, go_on, data) == 0);
    while (!atomic_load(&started))
        sched_yield();
    for (unsigned i = 0; i < 5; i++) {
        OK(tern_mutex_lock(ctx, mutexes, to, 0));
        OK(tern_put_nbi(ctx, r.region, to, DATA, &one, sizeof(one)));
        OK(tern_mutex_unlock(ctx, mutexes, to, 0));
        OK(tern_atomic_with(ctx, NULL, r.region, to, 2 * DATA,
                            &TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_ADD, .type = TERN_UINT64, .operand = &one),
                            &TERN_OPTS(.flags = TERN_RELEASE)));
        OK(tern_fence(ctx));
        OK(tern_counter_create(ctx, &counter)); /* behind a fence */
        OK(tern_put_with(ctx, r.region, to, DATA, &one, sizeof(one), &TERN_OPTS(.counter = counter)));
        OK(tern_fence(ctx));
        OK(tern_counter_wait(counter, 1, TERN_NOW));
        OK(tern_counter_free(counter));
    }
    atomic_store(&over, true);
    CHECK(pthread_join(thread, NULL) == 0);
    OK(tern_ctx_free(ctx));
    free(data);
    OK(tern_barrier(TERN_WORLD));
}

/* ---- in a handler ---- */

static void on_question(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    RETURNS(TERN_ERR_STATE, tern_mutex_lock(ctx, mutexes, tern_rank(), 0)); /* TERN_WORLD holds it */
    SAYS("a handler of an active message");
    asked++;
}

static bool is_asked(void *arg)
{
    (void)arg;
    return asked > 0;
}

static void in_handler(void)
{
    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED | TERN_SHARED, &ctx));
    OK(tern_mutex_lock(TERN_WORLD, mutexes, tern_rank(), 0));
    OK(tern_am_short(TERN_WORLD, tern_rank(), 1, NULL, 0));
    OK(tern_wait_until(TERN_WORLD, is_asked, NULL, TERN_FOREVER));
    OK(tern_mutex_unlock(TERN_WORLD, mutexes, tern_rank(), 0));
    OK(tern_ctx_free(ctx));
    asked = 0;
    OK(tern_barrier(TERN_WORLD));
}

int main(void)
{
    OK(tern_am_register(1, on_question, NULL));
    OK(tern_init());
    OK(tern_mutex_create(TERN_WORLD, 1, &mutexes));
    for (int kind = 0; kind < JOB_KINDS; kind += JOB_REGISTERED) {
        job_region_make(&r, (enum job_kind)kind, 4096 + LONG);
        inline_data();
        undelayed();
        in_handler();
        job_region_drop(&r);
    }
    OK(tern_mutex_free(mutexes));
    OK(tern_finalize());
    return 0;
}

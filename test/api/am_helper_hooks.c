/* am_helper_hooks.c: idle hooks while a handler waits on the helper thread.
 *
 * Promise: idle hooks run on threads of the program only. A handler that waits on the helper thread, because the queue
 * for its reply is full, calls no hook.
 *
 * ranks: 2
 */
#include "job_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#define ASK 1u
#define ANSWER 2u
#define PATIENCE 100 /* times that a message finds no space before the handler at the other end is taken to wait */

static pthread_t        program;
static _Atomic uint64_t strange, answers, asked;
static _Atomic bool     go_on;

static void hook(void *arg)
{
    (void)arg;
    if (!pthread_equal(pthread_self(), program))
        atomic_fetch_add(&strange, 1);
}

static void on_ask(const tern_am_event *event, void *user)
{
    static const unsigned char bytes[512];

    (void)user;
    OK(tern_am_reply(event->token, &TERN_AM(.kind = TERN_AM_MEDIUM, .handler = ANSWER, .payload = bytes, .len = 512)));
}

static void on_answer(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    while (!atomic_load(&go_on)) /* further replies stay in the queue */
        sched_yield();
    atomic_fetch_add(&answers, 1);
}

/* Send until the queues of requests and of replies are full: the first reply is being handled meanwhile. */
static void fill_queues(tern_am_client *client)
{
    const tern_am ask = TERN_AM(.kind = TERN_AM_SHORT, .handler = ASK, .flags = TERN_IMMEDIATE);

    for (int full = 0; full < PATIENCE && atomic_load(&asked) < 100000;) {
        tern_status st = tern_am_client_request(client, TERN_WORLD, 1, &ask);

        if (st == TERN_OK) {
            atomic_fetch_add(&asked, 1);
            full = 0;
        } else {
            RETURNS(TERN_AGAIN, st);
            nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
            full++;
        }
    }
}

static bool all_answered(void *arg)
{
    (void)arg;
    return atomic_load(&answers) == atomic_load(&asked);
}

int main(void)
{
    const tern_am_client_handler handlers[] = { { ASK, on_ask, NULL }, { ANSWER, on_answer, NULL } };
    tern_am_client              *client;
    tern_region                 *region;
    const uint64_t              *done;

    program = pthread_self();
    OK(tern_init());
    OK(tern_am_client_create(TERN_WORLD, &TERN_AM_CLIENT_OPTS(.by_helper = 1, .handlers = handlers, .count = 2),
                             &client));
    OK(tern_region_create(TERN_WORLD, 8, NULL, &region));
    done = tern_region_ptr(region, tern_rank());
    OK(tern_on_idle(hook, NULL));
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0) {
        fill_queues(client);
        OK(tern_put_u64(TERN_WORLD, region, 1, 0, 1));
        atomic_store(&go_on, true);
        OK(tern_wait_until(TERN_WORLD, all_answered, NULL, TERN_FOREVER));
    } else if (tern_rank() == 1) {
        while (__atomic_load_n(done, __ATOMIC_ACQUIRE) == 0)
            sched_yield();
    }
    OK(tern_barrier(TERN_WORLD));
    SAME(atomic_load(&strange), 0);
    OK(tern_on_idle_remove(hook, NULL));
    OK(tern_am_client_free(client));
    OK(tern_region_free(region));
    OK(tern_finalize());
    return 0;
}

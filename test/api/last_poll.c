/* last_poll.c: a handler that ends while another thread of its rank is about to sleep.
 *
 * Promise: a thread that waits for something that a handler does is woken, even if the handler runs in another thread,
 * its message was removed from the queue before the waiting thread announced its sleep, and the handler takes effect
 * after the last poll of the waiting thread. Nobody rings the bell for the message then.
 *
 * The condition of the wait arranges this order: when it is evaluated in the last poll, it lets the handler finish in
 * the other thread, and returns the value from before. Without the wake, the thread sleeps for ever.
 *
 * ranks: 2
 * network: 2
 * keep: 2-tcp
 * hosts: off, because a barrier between nodes is a message, which keeps threads awake
 * chaos: off, because chaos stores messages of its own, which keep threads awake
 * poor: off, because it concerns threads of one rank
 * imposed: off, because it concerns threads of one rank
 * timeout: 30
 */
#include "job_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "core/job.h"

#define HANDLER 1
#define ROUNDS 20u

static _Atomic unsigned begun, may_end, has_run, returned, woken; /* each the number of a round */
static tern_ctx        *waiting;                                  /* the context of the thread that waits */

static void handler(const tern_am_event *event, void *user)
{
    unsigned round = event->args[0];

    (void)user;
    atomic_store(&begun, round);
    while (atomic_load(&may_end) < round)
        sched_yield();
    atomic_store(&has_run, round);
}

static bool condition(void *arg)
{
    unsigned round = *(unsigned *)arg;
    bool     value = atomic_load(&has_run) >= round;

    if (!value && atomic_load(&tern_core_job_slot(tern_rank())->sleepers) > 0) {
        atomic_store(&may_end, round);
        while (atomic_load(&returned) < round)
            sched_yield();
    }
    return value;
}

static void *wait_for_handlers(void *arg)
{
    (void)arg;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        while (atomic_load(&begun) < round)
            sched_yield();
        OK(tern_wait_until(waiting, condition, &round, TERN_FOREVER));
        atomic_store(&woken, round);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;

    OK(tern_am_register(HANDLER, handler, NULL));
    OK(tern_init());
    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &waiting));
    if (tern_rank() == 1)
        CHECK(pthread_create(&thread, NULL, wait_for_handlers, NULL) == 0);
    for (unsigned round = 1; round <= ROUNDS; round++) {
        if (tern_rank() == 0)
            OK(tern_am_short(TERN_WORLD, 1, HANDLER, &round, 1));
        while (tern_rank() == 1 && atomic_load(&has_run) < round)
            OK(tern_progress(TERN_WORLD));
        atomic_store(&returned, round);
        while (tern_rank() == 1 && atomic_load(&woken) < round) /* without a call that could ring the bell */
            usleep(100);
        OK(tern_barrier(TERN_WORLD)); /* the queue has no further message while the handler runs */
    }
    if (tern_rank() == 1)
        CHECK(pthread_join(thread, NULL) == 0);
    OK(tern_ctx_free(waiting));
    OK(tern_finalize());
    return 0;
}

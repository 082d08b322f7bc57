/* two_threads.c: a context that two threads use at the same time.
 *
 * Promise: in debug builds every call on a context returns TERN_ERR_STATE, inlined puts included, while another thread
 * is in a call on the same context, and the text names both calls. Afterwards the context works, in any thread, if the
 * threads take turns; and calls of one thread may be nested. In release builds the program is skipped; under the thread
 * sanitizer, too, because the misuse is a data race.
 *
 * ranks: 1 2
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "misuse_test.h"

static struct misuse m = { .want = TERN_ERR_STATE, .says = "another thread of this rank is in tern_wait_until" };
static _Atomic int   waiting, stop;

/* The condition of the other thread makes a nested call. */
static bool is_stopped(void *arg)
{
    (void)arg;
    OK(tern_put_u64(m.ctx, m.region, tern_rank(), 512, 1));
    atomic_store(&waiting, 1);
    return atomic_load(&stop) != 0;
}

static void *wait_there(void *arg)
{
    (void)arg;
    OK(tern_wait_until(m.ctx, is_stopped, NULL, TERN_FOREVER));
    return NULL;
}

int main(void)
{
    pthread_t  thread;
    tern_event event;

#ifdef __SANITIZE_THREAD__
    return JOB_SKIP;
#endif
    OK(tern_init());
    m.team = tern_team_world();
    OK(tern_ctx_create(m.team, TERN_RELAXED, &m.ctx));
    OK(tern_region_create(m.ctx, 4096, NULL, &m.region));
    OK(tern_atomic_domain_create(m.ctx, TERN_UINT64, (1u << TERN_ATOMIC_OPS) - 1, 0, &m.domain));
    OK(tern_mutex_create(m.ctx, 1, &m.mutexes));
    OK(tern_counter_create(m.ctx, &m.counter));
    OK(tern_send_create(m.ctx, 0, 1, misuse_words, 8, &m.request));
    OK(tern_counter_event(m.counter, 7, &event));
    CHECK(pthread_create(&thread, NULL, wait_there, NULL) == 0);
    while (!atomic_load(&waiting))
        sched_yield();
    if (tern_progress(m.ctx) == TERN_OK) { /* a release build */
        atomic_store(&stop, 1);
        pthread_join(thread, NULL);
        OK(tern_finalize());
        return JOB_SKIP;
    }
    misuse_of_ctx(&m);
    misuse_of_region(&m);
    misuse_of_request(&m);
    misuse_check(&m, "tern_counter_wait", tern_counter_wait(m.counter, 7, TERN_FOREVER));
    misuse_check(&m, "tern_counter_free", tern_counter_free(m.counter));
    misuse_check(&m, "tern_event_test", tern_event_test(&event));
    misuse_check(&m, "tern_event_wait", tern_event_wait(&event, TERN_FOREVER));
    OK(tern_counter_add(m.counter, 7)); /* any thread may call this */
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    OK(tern_event_wait(&event, TERN_FOREVER));
    OK(tern_put_u64(m.ctx, m.region, tern_rank(), 0, 5));
    CHECK(tern_direct(m.ctx, m.region, tern_rank(), 0, 8) != NULL);
    OK(tern_barrier(m.ctx));
    OK(tern_ctx_free(m.ctx));
    OK(tern_finalize());
    return 0;
}

/* core_before_sleep.c: a delivery by one thread between two steps of another thread that goes to sleep.
 *
 * Promise: a thread that waits for the effect of a handler is woken, or polls again before it sleeps, whenever another
 * thread of its rank takes the message and runs the handler: also if the other thread begins just after the waiting
 * thread has looked whether anybody delivers, or after its last poll, and whether it ends before or after the waiting
 * thread sleeps. Nobody rings the bell for the message then. This holds for the owner of the bias
 * (base/biased_lock.h) and for other threads. While a handler runs for long and more messages are in its queue, the
 * threads that wait sleep.
 *
 * The test takes the place of tern_core_message_before_sleep(), which calls the original function and then lets the
 * other thread deliver, and of tern_core_message_has_more(), which lets the other thread deliver and then calls the
 * original function. Without the wake, the thread sleeps for ever.
 *
 * timeout: 30
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/biased_lock.h"
#include "base/options.h"
#include "boot/bell.h"
#include "core/job.h"
#include "core/message.h"
#include "core/wait.h"

/* What the two threads have done. */
static struct {
    bool             ends_early;     /* the handler ends before the last poll of the waiting thread returns */
    bool             leaves_message; /* the queue shows a message while the handler runs */
    bool             holds;          /* the other thread only prevents deliveries, and does not deliver itself */
    bool             armed;          /* the next call of tern_core_message_before_sleep() starts the delivery */
    bool             armed_later;    /* the next call of tern_core_message_has_more() does that instead */
    _Atomic bool     begin, in_handler, may_end, done, delivered;
    _Atomic uint32_t word; /* of the queue; 0: empty */
} scene;

/* ---- the queue ---- */

static tern_status deliver(struct tern_link_watch *w)
{
    (void)w;
    atomic_store(&scene.word, scene.leaves_message);
    atomic_store(&scene.in_handler, true);
    while (!atomic_load(&scene.may_end))
        sched_yield();
    atomic_store(&scene.done, true);
    atomic_store(&scene.word, 0);
    return TERN_OK;
}

static struct tern_link_watch watch = { .word = &scene.word, .channel = TERN_CHANNEL_REQUEST, .deliver = deliver };

/* ---- the thread that delivers ---- */

static void *run_handler(void *owns_bias)
{
    if (owns_bias)
        tern_base_bias_claim();
    while (!atomic_load(&scene.begin))
        sched_yield();
    if (scene.holds) {
        assert_true(tern_core_message_hold());
        deliver(&watch);
        tern_core_message_release();
    } else {
        tern_core_message_poll();
    }
    atomic_store(&scene.delivered, true);
    return NULL;
}

/* A message arrives, and the other thread takes it. */
static void begin_delivery(void)
{
    atomic_store(&scene.word, !scene.holds);
    atomic_store(&scene.begin, true);
    while (!atomic_load(&scene.in_handler))
        sched_yield();
}

/* ---- the thread that waits ---- */

uint32_t __real_tern_core_message_before_sleep(void);
uint32_t __wrap_tern_core_message_before_sleep(void);

uint32_t __wrap_tern_core_message_before_sleep(void)
{
    uint32_t count = __real_tern_core_message_before_sleep();

    if (scene.armed) {
        scene.armed = false;
        begin_delivery();
    }
    return count;
}

static void end_delivery(void)
{
    atomic_store(&scene.may_end, true);
    while (!atomic_load(&scene.delivered))
        sched_yield();
}

bool __real_tern_core_message_has_more(void);
bool __wrap_tern_core_message_has_more(void);

bool __wrap_tern_core_message_has_more(void)
{
    if (scene.armed_later) {
        scene.armed_later = false;
        begin_delivery();
        if (scene.ends_early)
            end_delivery();
    }
    return __real_tern_core_message_has_more();
}

static tern_status poll_once(void *arg)
{
    bool done = atomic_load(&scene.done);

    (void)arg;
    tern_core_message_poll();
    if (!done && scene.ends_early && atomic_load(&scene.in_handler))
        end_delivery();
    return done ? TERN_OK : TERN_PENDING;
}

static void say(void *arg, char *text, size_t size)
{
    (void)arg;
    snprintf(text, size, "the effect of a handler");
}

/* Let a handler that runs for long end when the waiting thread sleeps. The only sign of that is the state of the
 * thread: it sleeps in the kernel, and on nothing but the bell. */
static void *end_when_asleep(void *stat_file)
{
    char state = 'R';

    while (state != 'S') {
        FILE *file = fopen(stat_file, "r");

        assert_non_null(file);
        if (atomic_load(&scene.in_handler) && fscanf(file, "%*d %*s %c", &state) != 1)
            state = 'R';
        fclose(file);
        sched_yield();
    }
    atomic_store(&scene.may_end, true);
    return NULL;
}

/* When the other thread begins. */
enum moment { BEFORE_LAST_POLL, AFTER_LAST_POLL, BEFORE_WAIT };

static void play(bool owns_bias, bool ends_early, enum moment begins)
{
    struct tern_wait wait = { .poll = poll_once, .describe = say, .deadline = TERN_FOREVER };
    pthread_t        thread, observer;
    char             file[64];

    scene.ends_early = ends_early;
    scene.leaves_message = begins == BEFORE_WAIT;
    scene.armed = begins == BEFORE_LAST_POLL;
    scene.armed_later = begins == AFTER_LAST_POLL;
    scene.begin = scene.in_handler = scene.may_end = scene.done = scene.delivered = false;
    snprintf(file, sizeof(file), "/proc/self/task/%d/stat", gettid());
    assert_int_equal(pthread_create(&thread, NULL, run_handler, owns_bias ? &scene : NULL), 0);
    if (!ends_early)
        assert_int_equal(pthread_create(&observer, NULL, end_when_asleep, file), 0);
    if (begins == BEFORE_WAIT)
        begin_delivery();
    assert_int_equal(tern_core_wait(&wait), TERN_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (!ends_early)
        assert_int_equal(pthread_join(observer, NULL), 0);
}

static void ends_before_the_last_poll(void **state)
{
    (void)state;
    play(false, true, BEFORE_LAST_POLL);
    play(true, true, BEFORE_LAST_POLL);
}

static void ends_after_the_last_poll(void **state)
{
    (void)state;
    play(false, true, AFTER_LAST_POLL);
    play(true, true, AFTER_LAST_POLL);
}

static void ends_while_the_thread_sleeps(void **state)
{
    (void)state;
    play(false, false, BEFORE_LAST_POLL);
    play(true, false, BEFORE_LAST_POLL);
}

/* The other thread has the delivery to itself, but counts none. */
static void held_while_the_thread_sleeps(void **state)
{
    (void)state;
    scene.holds = true;
    play(false, false, BEFORE_LAST_POLL);
    play(true, false, BEFORE_LAST_POLL);
    play(false, false, AFTER_LAST_POLL);
    play(true, false, AFTER_LAST_POLL);
    scene.holds = false;
}

static void threads_sleep_during_a_long_handler(void **state)
{
    (void)state;
    play(false, false, BEFORE_WAIT);
    play(true, false, BEFORE_WAIT);
}

/* Make a job of one rank with one queue, as far as waits use it. */
static int job_make(void **state)
{
    char *none[] = { NULL };

    (void)state;
    tern_job.boot = (struct tern_boot){ .ranks = 1, .relay_fd = -1 };
    tern_job.turns = 1;
    tern_core_wait_longest_sleep = INT64_MAX;
    return tern_base_options_load(none) == TERN_OK &&
                   tern_boot_arena_make(1, 1, &tern_job.boot.arena, &tern_job.boot.huge, &tern_job.boot.segment) ==
                       TERN_OK &&
                   tern_core_message_open() == TERN_OK && tern_core_message_watch(&watch) == TERN_OK
               ? 0
               : -1;
}

static int job_remove(void **state)
{
    (void)state;
    tern_core_message_close();
    tern_boot_leave(&tern_job.boot);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_before_the_last_poll),           cmocka_unit_test(ends_after_the_last_poll),
        cmocka_unit_test(ends_while_the_thread_sleeps),        cmocka_unit_test(held_while_the_thread_sleeps),
        cmocka_unit_test(threads_sleep_during_a_long_handler),
    };

    return cmocka_run_group_tests_name("core before sleep", tests, job_make, job_remove);
}

/* op_helper.c: how the helper thread goes to sleep on the rank's bell.
 *
 * Promise: the thread sleeps when its last poll has found nothing to do. It does not sleep if a consumer was asked for
 * a wake-up after the thread announced its sleep (base/wake_request.h), or if a message was delivered: it polls again
 * instead. The file under test is included, so that the test can count its sleeps and control its last poll.
 */
/* clang-format off: the file under test is read with another work, and another sleep */
#define tern_boot_bell_wait count_sleep
#define tern_op_engine_progress play_work
#include "op/trigger/thread.c"
#undef tern_boot_bell_wait
#undef tern_op_engine_progress

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/wake_request.h"
#include "serve_world.h"
/* clang-format on */

enum event { NO_EVENT, ASKED, FOUND_ASKED, DELIVERED, EVENTS };

static _Atomic uint32_t   word; /* the word by which a consumer is asked */
static struct tern_engine engine;
static enum event         event; /* of the last poll */
static unsigned           looks, sleeps;

void count_sleep(_Atomic uint32_t *bell, uint32_t seen, int64_t ns)
{
    struct tern_slot *slot = tern_core_job_slot(0);

    assert_ptr_equal(bell, &slot->bell);
    assert_int_equal(seen, atomic_load(&slot->bell));
    assert_true(ns > 0 && atomic_load(&slot->sleepers) == 1);
    sleeps++;
}

bool play_work(struct tern_engine *of)
{
    assert_ptr_equal(of, &engine);
    looks++;
    if (event == ASKED || event == FOUND_ASKED)
        tern_base_wake_request(&word);
    if (event == DELIVERED)
        tern_core_message_count++;
    return false;
}

static int begin(void **state)
{
    (void)state;
    serve_world_open();
    memset((void *)&engine, 0, sizeof(engine));
    pthread_mutex_init(&engine.lock, NULL);
    atomic_store(&engine.base.busy, 1);
    tern_op_helper_join(&engine);
    looks = sleeps = 0;
    return 0;
}

static int finish(void **state)
{
    (void)state;
    tern_op_helper_leave(&engine);
    pthread_mutex_destroy(&engine.lock);
    serve_world_close();
    return 0;
}

static void it_sleeps_unless_it_has_to_look_again(void **state)
{
    (void)state;
    for (unsigned i = 0; i < EVENTS; i++) {
        event = (enum event)i;
        atomic_store(&word, event == FOUND_ASKED); /* the word was set before the sleep was announced */
        looks = sleeps = 0;
        sleep_for_news();
        assert_int_equal(looks, 1);
        assert_int_equal(sleeps, event == NO_EVENT || event == FOUND_ASKED);
        assert_int_equal(atomic_load(&tern_core_job_slot(0)->sleepers), 0);
    }
}

/* Another thread was setting the word when this one announced its sleep, and has completed that since. */
static void it_knows_of_other_threads(void **state)
{
    (void)state;
    event = FOUND_ASKED;
    atomic_fetch_add(&tern_base_wake_requests.begun, 1);
    atomic_store(&word, 1);
    sleep_for_news();
    assert_int_equal(sleeps, 0);
    atomic_fetch_add(&tern_base_wake_requests.ended, 1);
    sleep_for_news();
    assert_int_equal(sleeps, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_sleeps_unless_it_has_to_look_again, begin, finish),
        cmocka_unit_test_setup_teardown(it_knows_of_other_threads, begin, finish),
    };

    return cmocka_run_group_tests_name("the thread beside the program", tests, NULL, NULL);
}

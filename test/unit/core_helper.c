/* core_helper.c: how the helper thread of the rank goes to sleep, and who wakes it.
 *
 * Promise: the thread sleeps when its last poll has found nothing to do. It does not sleep on the rank's bell if a
 * consumer was asked for a wake-up after the thread announced its sleep (base/wake_request.h), or if a message was
 * delivered: it polls again instead. A peer that needs service ends every sleep, and new work of this process ends
 * those that have no short limit. A thread that has nothing to do for some time sleeps without a limit. The files
 * under test are included, so that the test can count its sleeps and control its polls.
 */
/* clang-format off: the files under test are read with another sleep */
#define tern_boot_bell_wait count_sleep
#include "boot/helper.c"
#include "core/helper.c"
#undef tern_boot_bell_wait

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

static _Atomic uint32_t word;    /* the word by which a consumer is asked */
static enum event       event;   /* of the last poll */
static int64_t          results; /* of the polls */
static int64_t          slept;   /* the limit of the last sleep */
static unsigned         looks, sleeps;

/* Return the bell that a call rings; NULL: none. */
static _Atomic uint32_t *rung_by(void (*ring)(void))
{
    struct tern_slot *slot = own_slot();
    uint32_t          bell = atomic_load(&slot->bell), service = atomic_load(&slot->service_bell);

    ring();
    if (atomic_load(&slot->bell) != bell)
        return &slot->bell;
    return atomic_load(&slot->service_bell) != service ? &slot->service_bell : NULL;
}

static void need_service(void)
{
    tern_boot_wake_service(own_slot());
}

static int64_t play_poll(struct tern_helper_poller *poller, bool again)
{
    (void)poller;
    (void)again;
    if (++looks % 2 != 0) /* the first of two polls */
        return results;
    if (event == ASKED || event == FOUND_ASKED)
        tern_base_wake_request(&word);
    if (event == DELIVERED)
        tern_core_message_count++;
    return results;
}

static struct tern_helper_poller player = { .poll = play_poll, .added = true };

static void have_work(void)
{
    tern_boot_helper_wake(&tern_core_helper, &player);
}

void count_sleep(_Atomic uint32_t *bell, uint32_t seen, int64_t ns)
{
    bool on_bell = bell == &own_slot()->bell;

    assert_int_equal(seen, atomic_load(bell));
    assert_true(ns != 0);
    assert_int_equal(atomic_load(&own_slot()->sleepers), on_bell);
    assert_ptr_equal(rung_by(need_service), bell);
    assert_ptr_equal(rung_by(have_work), ns > 0 && ns <= TERN_HELPER_LONGEST_NAP && !on_bell ? NULL : bell);
    slept = ns;
    sleeps++;
}

static int begin(void **state)
{
    (void)state;
    serve_world_open();
    tern_core_helper_open();
    atomic_store(&tern_core_helper.pollers, &player);
    tern_core_helper.nap = TERN_HELPER_LONGEST_NAP / 16;
    tern_core_helper.idle = 0;
    event = NO_EVENT;
    results = TERN_HELPER_EVENT;
    looks = sleeps = 0;
    return 0;
}

static int finish(void **state)
{
    (void)state;
    assert_int_equal(atomic_load(&own_slot()->service_sleeps), TERN_SERVICE_AWAKE);
    assert_null(rung_by(need_service));
    assert_null(rung_by(have_work));
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
        tern_boot_helper_round(&tern_core_helper);
        assert_int_equal(looks, 2);
        assert_int_equal(sleeps, event == NO_EVENT || event == FOUND_ASKED);
        assert_int_equal(atomic_load(&own_slot()->sleepers), 0);
    }
}

/* Rounds without work between rounds in which the program polls do not make the naps short again. */
static void naps_stay_long_while_work_comes_and_goes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        results = i % 2 ? TERN_HELPER_IDLE : TERN_HELPER_NAP;
        tern_boot_helper_round(&tern_core_helper);
    }
    assert_int_equal(sleeps, 20);
    assert_int_equal(slept, TERN_HELPER_LONGEST_NAP);
}

/* Another thread was setting the word when this one announced its sleep, and has completed that since. */
static void it_knows_of_other_threads(void **state)
{
    (void)state;
    event = FOUND_ASKED;
    atomic_fetch_add(&tern_base_wake_requests.begun, 1);
    atomic_store(&word, 1);
    tern_boot_helper_round(&tern_core_helper);
    assert_int_equal(sleeps, 0);
    atomic_fetch_add(&tern_base_wake_requests.ended, 1);
    tern_boot_helper_round(&tern_core_helper);
    assert_int_equal(sleeps, 1);
}

/* While the program polls, the thread naps, longer and longer. Work of its own ends that. */
static void it_naps_while_the_program_polls(void **state)
{
    int64_t before = 0;

    (void)state;
    results = TERN_HELPER_NAP;
    for (unsigned i = 0; i < 20; i++, before = slept) {
        tern_boot_helper_round(&tern_core_helper);
        assert_int_equal(sleeps, i + 1);
        assert_true(slept > before || slept == TERN_HELPER_LONGEST_NAP);
    }
    assert_int_equal(slept, TERN_HELPER_LONGEST_NAP);
    results = looks = 0;
    tern_boot_helper_round(&tern_core_helper);
    assert_int_equal(sleeps, 20);
    looks = 0;
    results = 1;
    tern_boot_helper_round(&tern_core_helper);
    assert_int_equal(slept, 1);
}

static void it_rests_without_work(void **state)
{
    (void)state;
    results = TERN_HELPER_IDLE;
    for (slept = 0; slept >= 0;) /* negative: no limit */
        tern_boot_helper_round(&tern_core_helper);
    assert_true(sleeps > 1 && sleeps < 20);
    results = 0; /* the service needs no naps afterwards */
    tern_boot_helper_round(&tern_core_helper);
    looks = 0;
    slept = 0;
    results = TERN_HELPER_IDLE;
    tern_boot_helper_round(&tern_core_helper);
    assert_true(slept < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_sleeps_unless_it_has_to_look_again, begin, finish),
        cmocka_unit_test_setup_teardown(naps_stay_long_while_work_comes_and_goes, begin, finish),
        cmocka_unit_test_setup_teardown(it_knows_of_other_threads, begin, finish),
        cmocka_unit_test_setup_teardown(it_naps_while_the_program_polls, begin, finish),
        cmocka_unit_test_setup_teardown(it_rests_without_work, begin, finish),
    };

    return cmocka_run_group_tests_name("the helper thread", tests, NULL, NULL);
}

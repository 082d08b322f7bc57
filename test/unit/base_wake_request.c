/* base_wake_request.c: several threads of one process ask a consumer for a wake-up.
 *
 * Promise: a thread may sleep only if every word that it found set was set before its barrier. Whichever step of
 * setting a word another thread has reached when the first thread reads the count, and whichever step when the first
 * thread asks, a set that was not complete before makes the first thread poll again; a set that was complete does not.
 * The test makes the steps one by one, in every order in which threads can make them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/wake_request.h"

static _Atomic uint32_t word;

static void begin(uint32_t count)
{
    atomic_store(&word, 0);
    atomic_store(&tern_base_wake_requests.begun, count);
    atomic_store(&tern_base_wake_requests.ended, count);
}

/* Make one of the three steps of tern_base_wake_request() in another thread. */
static void make_step(unsigned step)
{
    if (step == 0)
        atomic_fetch_add(&tern_base_wake_requests.begun, 1);
    else if (step == 1)
        atomic_store(&word, 1);
    else
        atomic_fetch_add(&tern_base_wake_requests.ended, 1);
}

#define STEPS 3u

/* The steps above are those of tern_base_wake_request(). */
static void the_steps_are_these(void **state)
{
    (void)state;
    begin(5);
    tern_base_wake_request(&word);
    assert_int_equal(word, 1);
    assert_int_equal(tern_base_wake_requests.begun, 6);
    assert_int_equal(tern_base_wake_requests.ended, 6);
    tern_base_wake_request(&word); /* a word that is already set stays set, and is not counted */
    assert_int_equal(word, 1);
    assert_int_equal(tern_base_wake_requests.begun, 6);
    assert_int_equal(tern_base_wake_requests.ended, 6);
}

/* A thread that sets the word in its last poll is too late for the messages being consumed, and polls again. Then it
 * finds the word set, and may sleep. */
static void who_sets_it_looks_again(void **state)
{
    uint32_t then;

    (void)state;
    begin(UINT32_MAX); /* the counts wrap around */
    then = tern_base_wake_requests_ended();
    assert_false(tern_base_wake_requests_since(then));
    tern_base_wake_request(&word);
    assert_true(tern_base_wake_requests_since(then));
    then = tern_base_wake_requests_ended();
    tern_base_wake_request(&word);
    assert_false(tern_base_wake_requests_since(then));
    atomic_store(&word, 0); /* the consumer has seen the request and consumed something; the queue is full again */
    tern_base_wake_request(&word);
    assert_true(tern_base_wake_requests_since(then));
}

/* Another thread makes `before` steps before this thread reads the count, and `meanwhile` more before this thread
 * asks. */
static void who_finds_it_set(void **state)
{
    (void)state;
    for (unsigned before = 0; before <= STEPS; before++) {
        for (unsigned meanwhile = 0; before + meanwhile <= STEPS; meanwhile++) {
            uint32_t then, counted;

            begin(7);
            for (unsigned i = 0; i < before; i++)
                make_step(i);
            then = tern_base_wake_requests_ended();
            for (unsigned i = before; i < before + meanwhile; i++)
                make_step(i);
            if (word != 0) {
                counted = tern_base_wake_requests.begun;
                tern_base_wake_request(&word); /* this thread's last poll */
                assert_int_equal(tern_base_wake_requests.begun, counted);
                assert_true(tern_base_wake_requests_since(then) == (before < STEPS));
            } else {
                tern_base_wake_request(&word);
                assert_true(tern_base_wake_requests_since(then));
            }
        }
    }
}

/* One thread has completed a set, and another is in the middle of its own: their counts must not be confused. */
static void two_others(void **state)
{
    uint32_t then;

    (void)state;
    begin(7);
    make_step(0); /* the second thread stops after this step */
    for (unsigned i = 0; i < STEPS; i++)
        make_step(i); /* the steps of the first thread */
    then = tern_base_wake_requests_ended();
    assert_true(tern_base_wake_requests_since(then));
    make_step(1);
    assert_true(tern_base_wake_requests_since(then));
    make_step(2);
    assert_true(tern_base_wake_requests_since(then)); /* the set was not complete then */
    assert_false(tern_base_wake_requests_since(tern_base_wake_requests_ended()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_steps_are_these),
        cmocka_unit_test(who_sets_it_looks_again),
        cmocka_unit_test(who_finds_it_set),
        cmocka_unit_test(two_others),
    };

    return cmocka_run_group_tests_name("wants", tests, NULL, NULL);
}

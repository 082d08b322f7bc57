/* base_clock.c: promise: the time never decreases, and deadlines neither overflow nor pass early. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"

static void time_never_goes_back(void **state)
{
    int64_t last = tern_base_now();

    (void)state;
    assert_true(last > 0);
    for (int i = 0; i < 100000; i++) {
        int64_t now = tern_base_now();
        assert_true(now >= last);
        last = now;
    }
}

static void what_is_no_time_ahead_is_now(void **state)
{
    (void)state;
    assert_true(tern_base_deadline_in(0) == TERN_NOW);
    assert_true(tern_base_deadline_in(-1) == TERN_NOW);
    assert_true(tern_base_deadline_in(-INFINITY) == TERN_NOW);
    assert_true(tern_base_deadline_in((double)NAN) == TERN_NOW);
}

static void what_is_too_far_is_forever(void **state)
{
    (void)state;
    assert_true(tern_base_deadline_in(291 * 365.25 * 86400) == TERN_FOREVER);
    assert_true(tern_base_deadline_in(1e300) == TERN_FOREVER);
    assert_true(tern_base_deadline_in(INFINITY) == TERN_FOREVER);
    assert_true(tern_base_deadline_in(289 * 365.25 * 86400) > tern_base_now());
}

static void a_deadline_lies_as_far_ahead_as_asked(void **state)
{
    int64_t       before = tern_base_now();
    tern_deadline one = tern_base_deadline_in(1.5);
    int64_t       after = tern_base_now();

    (void)state;
    assert_true(one >= before + 1500000000 && one <= after + 1500000000);
    assert_true(tern_base_deadline_in(1e-9) != TERN_NOW);
    tern_base_relax();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_never_goes_back),
        cmocka_unit_test(what_is_no_time_ahead_is_now),
        cmocka_unit_test(what_is_too_far_is_forever),
        cmocka_unit_test(a_deadline_lies_as_far_ahead_as_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* core_test_hooks.c: the option TERN_TEST.
 *
 * Promise: a list takes effect as a whole; an unknown word is an error that names the word.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <tern/status.h>

#include "core/group_bruck.h"
#include "core/test_hooks.h"
#include "core/wait.h"

static void nothing_changes_nothing(void **state)
{
    int64_t usual = tern_core_wait_longest_sleep;

    (void)state;
    assert_int_equal(tern_core_test_hooks_apply(""), TERN_OK);
    assert_int_equal(tern_core_wait_longest_sleep, usual);
    assert_int_equal(tern_core_group_apart, 0);
}

static void a_list_takes_effect(void **state)
{
    (void)state;
    assert_int_equal(tern_core_test_hooks_apply("apart=3,net=off"), TERN_OK);
    assert_int_equal(tern_core_group_apart, 3);
    assert_true(tern_core_wait_longest_sleep == INT64_MAX);
}

static void mistakes_are_named(void **state)
{
    static const char *const wrong[] = { "net=on",  "apart=",           "apart=-1",
                                         "apart=x", "net=off,nett=off", "apart=99999999999" };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(tern_core_test_hooks_apply(wrong[i]), TERN_ERR_ARG);
        assert_non_null(strstr(tern_error_detail(), "TERN_TEST"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_changes_nothing),
        cmocka_unit_test(a_list_takes_effect),
        cmocka_unit_test(mistakes_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

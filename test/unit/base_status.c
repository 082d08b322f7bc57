/* base_status.c: the detail of an error is kept per thread, whole up to 511 bytes, and reporting an error has no side
 * effects.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/status.h"

/* Promise: a thread that never failed has an empty detail, whatever other threads did. */
static void *look_from_elsewhere(void *out)
{
    *(int *)out = strcmp(tern_base_detail(), "") == 0;
    tern_base_fail(TERN_ERR_ARG, "elsewhere");
    return NULL;
}

static void detail_is_per_thread(void **state)
{
    pthread_t thread;
    int       was_empty = 0;

    (void)state;
    assert_int_equal(tern_base_fail(TERN_ERR_RANGE, "rank %d of %d", 9, 4), TERN_ERR_RANGE);
    assert_int_equal(pthread_create(&thread, NULL, look_from_elsewhere, &was_empty), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(was_empty);
    assert_string_equal(tern_base_detail(), "rank 9 of 4");
}

static void long_texts_are_cut(void **state)
{
    char text[2000];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    tern_base_fail(TERN_ERR_ARG, "%s", text);
    assert_int_equal(strlen(tern_base_detail()), 511);
}

static void a_detail_may_quote_the_one_before(void **state)
{
    (void)state;
    tern_base_fail(TERN_ERR_SYSTEM, "no file");
    tern_base_fail(TERN_ERR_BOOT, "cannot start: %s", tern_base_detail());
    assert_string_equal(tern_base_detail(), "cannot start: no file");
}

static void errno_is_kept(void **state)
{
    (void)state;
    errno = ENOSPC;
    tern_base_fail(TERN_ERR_NOMEM, "%s", "full");
    assert_int_equal(errno, ENOSPC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detail_is_per_thread),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(a_detail_may_quote_the_one_before),
        cmocka_unit_test(errno_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

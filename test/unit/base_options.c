/* base_options.c: every option has a usable default and accepts exactly the values in its range, and a misspelt name is
 * answered with the right name.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/options.h"
#include "said_test.h"

#define ENV(...) ((char *const[]){ __VA_ARGS__, NULL })

/* Load the options and return the text printed on standard error. */
static const char *said(char *const *environment, tern_status want)
{
    said_begin();
    assert_int_equal(tern_base_options_load(environment), want);
    return said_end();
}

static struct tern_option_info row_of(const char *name)
{
    for (size_t i = 0; i < tern_base_options_count(); i++)
        if (strcmp(tern_base_options_row(i).name, name) == 0)
            return tern_base_options_row(i);
    fail_msg("no option %s", name);
    abort();
}

static void defaults_hold(void **state)
{
    (void)state;
    assert_string_equal(said(ENV("HOME=/"), TERN_OK), "");
    assert_int_equal(tern_opt.on_failure, TERN_ON_FAILURE_ABORT);
    assert_int_equal(tern_opt.cma, TERN_CMA_AUTO);
    assert_true(tern_opt.stall_report == 10);
    assert_true(tern_opt.spin == -1);
    assert_true(tern_opt.bounce_chunk == 65536);
    assert_string_equal(tern_opt.boot, "");
    assert_int_equal(tern_base_options_load(NULL), TERN_OK);
}

/* Promise: the option list is consistent: each default is accepted as a value, and reads back as the same value. */
static void every_default_lies_within_its_range(void **state)
{
    char                entry[256];
    struct tern_options want;

    (void)state;
    assert_int_equal(tern_base_options_load(NULL), TERN_OK);
    want = tern_opt;
    for (size_t i = 0; i < tern_base_options_count(); i++) {
        struct tern_option_info row = tern_base_options_row(i);

        assert_string_equal(row.source, "default");
        assert_string_equal(row.value, row.fallback);
        if (strcmp(row.type, "TEXT") == 0)
            continue;
        snprintf(entry, sizeof(entry), "%s=%s", row.name, row.fallback);
        assert_int_equal(tern_base_options_load(ENV(entry)), TERN_OK);
        assert_string_equal(tern_base_options_row(i).source, "environment");
        assert_memory_equal(&tern_opt, &want, sizeof(want));
    }
}

static void values_are_taken(void **state)
{
    (void)state;
    assert_int_equal(tern_base_options_load(ENV("TERN_ON_FAILURE=return", "TERN_SPIN=0", "TERN_MEMORY_KEEP=16M",
                                                "TERN_STALL_REPORT=0.25", "TERN_BOOT=abc")),
                     TERN_OK);
    assert_int_equal(tern_opt.on_failure, TERN_ON_FAILURE_RETURN);
    assert_true(tern_opt.spin == 0);
    assert_true(tern_opt.memory_keep == 16u << 20);
    assert_true(tern_opt.stall_report == 0.25);
    assert_string_equal(tern_opt.boot, "abc");
    assert_string_equal(row_of("TERN_MEMORY_KEEP").value, "16M");
    assert_string_equal(row_of("TERN_MEMORY_KEEP").source, "environment");
    assert_string_equal(row_of("TERN_LOG").source, "default");
}

/* Promise: an option of any type that is set to an empty value has its default. */
static void empty_values_select_the_defaults(void **state)
{
    char  entry[256];
    char *environment[] = { entry, NULL };

    (void)state;
    for (size_t i = 0; i < tern_base_options_count(); i++) {
        snprintf(entry, sizeof(entry), "%s=", tern_base_options_row(i).name);
        assert_int_equal(tern_base_options_load(environment), TERN_OK);
        assert_string_equal(tern_base_options_row(i).value, tern_base_options_row(i).fallback);
        assert_string_equal(tern_base_options_row(i).source, "default");
    }
}

/* Promise: an unusable value is reported with the allowed values, and the default is used in its place. */
static void bad_values_are_refused(void **state)
{
    static char *const bad[] = {
        "TERN_LOG=loud",
        "TERN_LOG=err",
        "TERN_LOG=error|warn",
        "TERN_LOG=NOTE",
        "TERN_SPIN=-2",
        "TERN_SPIN=1000000001",
        "TERN_SPIN=12x",
        "TERN_SPIN=1.0",
        "TERN_SPIN= 1",
        "TERN_BOUNCE_CHUNK=1",
        "TERN_BOUNCE_CHUNK=1T",
        "TERN_BOUNCE_CHUNK=64KB",
        "TERN_BOUNCE_CHUNK=99999999999999999999",
        "TERN_MEMORY_KEEP=1025T",
        "TERN_TIMEOUT=nan",
        "TERN_TIMEOUT=inf",
        "TERN_TIMEOUT=-1",
        "TERN_TIMEOUT=1e10",
        "TERN_TIMEOUT=5s",
        NULL,
    };
    struct tern_options want;

    (void)state;
    tern_base_options_load(NULL);
    want = tern_opt;
    for (char *const *entry = bad; *entry != NULL; entry++) {
        char name[64];

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*entry, "="), *entry);
        assert_int_equal(tern_base_options_load(ENV(*entry)), TERN_ERR_ARG);
        assert_non_null(strstr(tern_base_detail(), name));
        assert_non_null(strstr(tern_base_detail(), "allowed is"));
        assert_memory_equal(&tern_opt, &want, sizeof(want));
        assert_string_equal(row_of(name).source, "default");
    }
}

/* Promise: one bad value does not affect the others, and the first bad value is reported. */
static void the_rest_is_loaded(void **state)
{
    (void)state;
    assert_int_equal(tern_base_options_load(ENV("TERN_CMA=no", "TERN_ON_FAILURE=x", "TERN_YIELDS=5")), TERN_ERR_ARG);
    assert_non_null(strstr(tern_base_detail(), "TERN_ON_FAILURE=x"));
    assert_true(tern_opt.yields == 5);
    assert_int_equal(tern_opt.cma, TERN_CMA_AUTO);
}

static void misspelt_names_get_the_nearest(void **state)
{
    char long_name[300] = "TERN_";

    (void)state;
    assert_non_null(strstr(said(ENV("TERN_TIMOUT=3"), TERN_OK), "TERN_TIMOUT is no option"));
    assert_string_equal(said(ENV("TERN_TIMOUT=3"), TERN_OK), ""); /* reported once */
    assert_non_null(strstr(said(ENV("TERN_YEILDS=3"), TERN_OK), "did you mean TERN_YIELDS?"));
    assert_non_null(strstr(said(ENV("TERN_on_failure=abort"), TERN_OK), "did you mean TERN_ON_FAILURE?"));
    assert_non_null(strstr(said(ENV("TERN_ON_FAIL=abort"), TERN_OK), "did you mean TERN_ON_FAILURE?"));
    assert_non_null(strstr(said(ENV("TERN_LGO=debug"), TERN_OK), "did you mean TERN_LOG?"));
    assert_non_null(strstr(said(ENV("TERN_WALLPAPER=3"), TERN_OK), "tern-info"));
    assert_null(strstr(said(ENV("TERN_BOOTS=3"), TERN_OK), "TERN_BOOT?"));
    assert_non_null(strstr(said(ENV("TERN_=3"), TERN_OK), "tern-info"));
    assert_non_null(strstr(said(ENV("TERN_STRANGE"), TERN_OK), "tern-info")); /* no value at all */
    memset(long_name + 5, 'A', sizeof(long_name) - 6);
    assert_non_null(strstr(said(ENV(long_name), TERN_OK), "tern-info"));
    assert_string_equal(said(ENV("TERN_UNHEARD=1", "TERN_BOOT=x"), TERN_OK), ""); /* ternrun has reported it */
    assert_string_equal(said(ENV("TERN_RANK=1", "TERN_SIZE=2", "TERN_LOCAL_RANK=0", "TERN_LOCAL_SIZE=1",
                                 "TERN_ARMCI_DOMAIN=rank", "TERN_ARMCI_MEMGET=64K"),
                             TERN_OK),
                        "");
    assert_string_equal(said(ENV("TERNARY=1", "TERN=2", "_TERN_LOG=3"), TERN_OK), "");
}

static void the_level_of_the_log_follows(void **state)
{
    (void)state;
    assert_string_equal(said(ENV("TERN_QUIETLY=1", "TERN_LOG=error"), TERN_OK), "");
    tern_base_options_load(NULL);
}

/* Promise: texts stay valid when the environment changes, also across later loads. */
static void texts_are_copies(void **state)
{
    char        entry[] = "TERN_BOOT=first";
    const char *first;

    (void)state;
    assert_int_equal(tern_base_options_load(ENV(entry)), TERN_OK);
    first = tern_opt.boot;
    memset(entry + 10, 'x', 5);
    assert_int_equal(tern_base_options_load(ENV("TERN_BOOT=second", "TERN_BOOT=third")), TERN_OK);
    assert_string_equal(first, "first");
    assert_string_equal(tern_opt.boot, "second"); /* as getenv: the first of two */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_hold),
        cmocka_unit_test(every_default_lies_within_its_range),
        cmocka_unit_test(values_are_taken),
        cmocka_unit_test(empty_values_select_the_defaults),
        cmocka_unit_test(bad_values_are_refused),
        cmocka_unit_test(the_rest_is_loaded),
        cmocka_unit_test(misspelt_names_get_the_nearest),
        cmocka_unit_test(the_level_of_the_log_follows),
        cmocka_unit_test(texts_are_copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* base_parse.c: a number is accepted as a whole or refused as a whole, in every locale, and nothing overflows. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/parse.h"

static const char *const never_numbers[] = { "",      " ",     "x",     "-",     "+1",     "1 ",      " 1",
                                             "1x",    "0x10",  "1,5",   "--1",   "1_0",    "1e",      "e5",
                                             ".",     "-.",    "nan",   "NaN",   "inf",    "-inf",    "infinity",
                                             "1.2.3", "1e5e5", "1e+-5", "1e++5", "1e9999", "1e-9999", "K",
                                             "5KB",   "5KK",   "5k",    "\xff",  "1\n",    NULL };

static void counts(void **state)
{
    int64_t value = 77;

    (void)state;
    for (const char *const *bad = never_numbers; *bad != NULL; bad++)
        assert_false(tern_base_parse_count(*bad, &value));
    assert_false(tern_base_parse_count("1.0", &value));
    assert_false(tern_base_parse_count("1K", &value));
    assert_false(tern_base_parse_count("9223372036854775808", &value));
    assert_false(tern_base_parse_count("99999999999999999999999999", &value));
    assert_true(value == 77);
    assert_true(tern_base_parse_count("9223372036854775807", &value) && value == INT64_MAX);
    assert_true(tern_base_parse_count("-9223372036854775807", &value) && value == -INT64_MAX);
    assert_true(tern_base_parse_count("-1", &value) && value == -1);
    assert_true(tern_base_parse_count("007", &value) && value == 7);
}

static void sizes(void **state)
{
    uint64_t value = 77;

    (void)state;
    for (const char *const *bad = never_numbers; *bad != NULL; bad++)
        assert_false(tern_base_parse_size(*bad, &value));
    assert_false(tern_base_parse_size("-1", &value));
    assert_false(tern_base_parse_size("16777216T", &value)); /* 2^64 */
    assert_false(tern_base_parse_size("18446744073709551616", &value));
    assert_true(value == 77);
    assert_true(tern_base_parse_size("16777215T", &value) && value == 16777215ull << 40);
    assert_true(tern_base_parse_size("18446744073709551615", &value) && value == UINT64_MAX);
    assert_true(tern_base_parse_size("0", &value) && value == 0);
    assert_true(tern_base_parse_size("3K", &value) && value == 3072);
    assert_true(tern_base_parse_size("2M", &value) && value == 2u << 20);
    assert_true(tern_base_parse_size("1G", &value) && value == 1u << 30);
}

static void check_seconds(void)
{
    double value = 77;
    char   digits[402];

    for (const char *const *bad = never_numbers; *bad != NULL; bad++)
        assert_false(tern_base_parse_seconds(*bad, &value));
    memset(digits, '9', 400);
    digits[400] = digits[401] = '\0';
    assert_false(tern_base_parse_seconds(digits, &value));
    digits[0] = '.';
    assert_false(tern_base_parse_seconds(digits, &value));
    assert_true(value == 77);
    assert_true(tern_base_parse_seconds("0.1", &value) && value == 0.1);
    assert_true(tern_base_parse_seconds("1e9", &value) && value == 1e9);
    assert_true(tern_base_parse_seconds("1.5E+2", &value) && value == 150);
    assert_true(tern_base_parse_seconds("25e-2", &value) && value == 0.25);
    assert_true(tern_base_parse_seconds("-3", &value) && value == -3);
    assert_true(tern_base_parse_seconds(".5", &value) && value == 0.5);
    assert_true(tern_base_parse_seconds("5.", &value) && value == 5);
    assert_true(tern_base_parse_seconds("0e300", &value) && value == 0);
}

/* Many digits after the point and a small exponent, neither excessive by itself. */
static void many_digits(void **state)
{
    char   text[300];
    double value = 77;

    (void)state;
    memset(text, '0', sizeof(text));
    memcpy(text, "1.", 2);
    memcpy(text + 262, "e-60", 5);
    assert_true(tern_base_parse_seconds(text, &value) && value > 0.99e-60 && value < 1.01e-60);
}

static void seconds(void **state)
{
    (void)state;
    check_seconds();
    if (setlocale(LC_ALL, "de_DE.UTF-8") != NULL) /* a decimal comma; not installed everywhere */
        check_seconds();
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(sizes),
        cmocka_unit_test(seconds),
        cmocka_unit_test(many_digits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

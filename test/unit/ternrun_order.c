/* ternrun_order.c: the order that the head sends its hosts arrives as it was sent, and no bytes do harm.
 *
 * Promise: decoding accepts the output of encoding and nothing else: every prefix, every additional byte and every
 * length that does not fit is refused, and no byte outside is read. The file under test is included, because it belongs
 * to a tool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../tools/ternrun/order.c"

static int   counts[] = { 2, 1, 4096 };
static char *program[] = { "./program", "", "an argument", NULL };
static char *environment[] = { "HOME=/home/x", "EMPTY=", "ODD=\x01\xff", NULL };

static struct run_order example(void)
{
    return (struct run_order){ .job = 0x1122334455667788ull,
                               .hosts = 3,
                               .count = counts,
                               .on_failure = 1,
                               .binding = BIND_LIST,
                               .grace = 0.25,
                               .verbose = true,
                               .terminals = 1u << 2,
                               .window = { .ws_row = 50, .ws_col = 132 },
                               .cpu_list = "0,2-3",
                               .directory = "/tmp",
                               .program = program,
                               .environment = environment };
}

/* Decode a copy of exactly these bytes, so that a sanitizer sees an access past the end. */
static bool decode(const unsigned char *bytes, size_t len, struct run_order *order)
{
    unsigned char *copy = malloc(len > 0 ? len : 1);
    bool           good;

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    good = run_order_decode(copy, len, order);
    free(copy);
    return good;
}

static void same_texts(char **got, char **want)
{
    for (; *want != NULL; got++, want++)
        assert_string_equal(*got, *want);
    assert_null(*got);
}

static void orders_come_back(void **state)
{
    struct run_order order = example(), got;
    size_t           len;
    unsigned char   *bytes = run_order_encode(&order, &len);

    (void)state;
    assert_true(decode(bytes, len, &got));
    assert_true(got.job == order.job);
    assert_int_equal(got.hosts, 3);
    assert_memory_equal(got.count, counts, sizeof(counts));
    assert_int_equal(got.on_failure, 1);
    assert_int_equal(got.binding, BIND_LIST);
    assert_true(got.grace == 0.25 && got.verbose);
    assert_int_equal(got.terminals, 1u << 2);
    assert_int_equal(got.window.ws_row, 50);
    assert_int_equal(got.window.ws_col, 132);
    assert_string_equal(got.cpu_list, "0,2-3");
    assert_string_equal(got.directory, "/tmp");
    same_texts(got.program, program);
    same_texts(got.environment, environment);
    run_order_free(&got);
    free(bytes);
}

static void parts_of_orders_are_none(void **state)
{
    struct run_order order = example(), got;
    size_t           len;
    unsigned char   *bytes = run_order_encode(&order, &len), *longer = calloc(len + 1, 1);

    (void)state;
    for (size_t cut = 0; cut < len; cut++)
        assert_false(decode(bytes, cut, &got));
    memcpy(longer, bytes, len);
    assert_false(decode(longer, len + 1, &got));
    free(longer);
    free(bytes);
}

static void refuse_order(struct run_order order)
{
    struct run_order got;
    size_t           len;
    unsigned char   *bytes = run_order_encode(&order, &len);

    assert_false(decode(bytes, len, &got));
    free(bytes);
}

static void values_are_checked(void **state)
{
    static int       none[] = { 1, 0, 1 }, many[] = { 1, TERN_MAX_NODE_RANKS + 1, 1 }, sum[17];
    static char     *nothing[] = { NULL };
    struct run_order order = example();

    (void)state;
    refuse_order((order = example(), order.job = 0, order));
    refuse_order((order = example(), order.hosts = 0, order));
    refuse_order((order = example(), order.count = none, order));
    refuse_order((order = example(), order.count = many, order));
    for (int i = 0; i < 17; i++)
        sum[i] = 4000;
    refuse_order((order = example(), order.hosts = 17, order.count = sum, order));
    refuse_order((order = example(), order.on_failure = 2, order));
    refuse_order((order = example(), order.binding = BIND_LIST + 1, order));
    refuse_order((order = example(), order.grace = 2e9, order));
    refuse_order((order = example(), order.terminals = 8, order));
    refuse_order((order = example(), order.program = nothing, order)); /* nothing to start */
}

/* Bytes changed at random: many are refused, none does harm, and an accepted order can be read to its end. */
static void damaged_bytes_do_no_harm(void **state)
{
    struct run_order order = example(), got;
    size_t           len, sum = 0;
    unsigned char   *bytes = run_order_encode(&order, &len), *copy = malloc(len);
    uint64_t         seed = 88172645463325252ull;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        memcpy(copy, bytes, len);
        for (int k = 0; k < 1 + i % 3; k++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            copy[seed % len] = (unsigned char)(seed >> 40);
        }
        if (!decode(copy, len, &got))
            continue;
        for (char **text = got.program; *text != NULL; text++)
            sum += strlen(*text);
        for (char **text = got.environment; *text != NULL; text++)
            sum += strlen(*text);
        run_order_free(&got);
    }
    assert_true(sum > 0);
    free(copy);
    free(bytes);
}

static void what_belongs_to_a_host_stays(void **state)
{
    static const char *const stays[] = { "HOSTNAME=a", "SSH_CONNECTION=1", "XDG_RUNTIME_DIR=/run", "DISPLAY=:0",
                                         "_=x" };
    static const char *const goes[] = { "PATH=/bin",    "TERN_SPIN=3", "HOME=/root", "HOSTNAMES=a",       "SSH=1",
                                        "MY_DISPLAY=1", "=x",          "",           "LD_LIBRARY_PATH=/x" };

    (void)state;
    for (size_t i = 0; i < sizeof(stays) / sizeof(stays[0]); i++)
        assert_true(run_order_stays(stays[i]));
    for (size_t i = 0; i < sizeof(goes) / sizeof(goes[0]); i++)
        assert_false(run_order_stays(goes[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_come_back),
        cmocka_unit_test(parts_of_orders_are_none),
        cmocka_unit_test(values_are_checked),
        cmocka_unit_test(damaged_bytes_do_no_harm),
        cmocka_unit_test(what_belongs_to_a_host_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

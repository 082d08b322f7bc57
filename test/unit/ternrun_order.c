/* ternrun_order.c: the order that the head sends its hosts arrives as it was sent, and no bytes do harm.
 *
 * Promise: decoding accepts the output of encoding and nothing else: every prefix, every additional byte and every
 * length that does not fit is refused, and no byte outside is read. The files under test are included, because they
 * belong to a tool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../tools/ternrun/order.c"
#include "../tools/ternrun/wrap.c"

static int   counts[] = { 2, 1, 4096 };
static char *words[] = { "./program", "", "an argument", NULL }, *other[] = { "other", NULL };
static char *variables[] = { "A=1", "B=", NULL };
static char *environment[] = { "HOME=/home/x", "EMPTY=", "ODD=\x01\xff", NULL };

static struct run_program programs[] = { { 3, "", words, NULL }, { 4096, "/var/tmp", other, variables } };

static struct run_order example(void)
{
    return (struct run_order){ .job = 0x1122334455667788ull,
                               .hosts = 3,
                               .count = counts,
                               .on_failure = 1,
                               .binding = BIND_LIST,
                               .cores_per_rank = 12,
                               .grace = 0.25,
                               .verbose = true,
                               .show_binding = true,
                               .terminals = 1u << 2,
                               .window = { .ws_row = 50, .ws_col = 132 },
                               .cpu_list = "0,2-3",
                               .directory = "/tmp",
                               .prefix = "perf record -o 'perf %r'",
                               .tool = "gdb --args",
                               .tool_ranks = "0,2-3",
                               .program = programs,
                               .programs = 2,
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
    assert_int_equal(got.cores_per_rank, 12);
    assert_true(got.grace == 0.25 && got.verbose && got.show_binding);
    assert_int_equal(got.terminals, 1u << 2);
    assert_int_equal(got.window.ws_row, 50);
    assert_int_equal(got.window.ws_col, 132);
    assert_string_equal(got.cpu_list, "0,2-3");
    assert_string_equal(got.directory, "/tmp");
    assert_string_equal(got.prefix, "perf record -o 'perf %r'");
    assert_string_equal(got.tool, "gdb --args");
    assert_string_equal(got.tool_ranks, "0,2-3");
    assert_int_equal(got.programs, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(got.program[i].ranks, programs[i].ranks);
        assert_string_equal(got.program[i].directory, programs[i].directory);
        same_texts(got.program[i].words, programs[i].words);
        same_texts(got.program[i].variables, i == 0 ? (char *[]){ NULL } : variables);
    }
    same_texts(got.environment, environment);
    run_order_free(&got);
    free(bytes);
}

static void flags_do_not_mix(void **state)
{
    struct run_order order = example(), got;

    (void)state;
    for (int i = 0; i < 4; i++) {
        size_t         len;
        unsigned char *bytes;

        order.verbose = (i & 1) != 0;
        order.show_binding = (i & 2) != 0;
        bytes = run_order_encode(&order, &len);
        assert_true(decode(bytes, len, &got));
        assert_true(got.verbose == order.verbose && got.show_binding == order.show_binding);
        run_order_free(&got);
        free(bytes);
    }
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

/* Refuse an order whose second program is this one. */
static void refuse_program(struct run_program program)
{
    struct run_program pair[] = { programs[0], program };
    struct run_order   order = example();

    order.program = pair;
    refuse_order(order);
}

static void values_are_checked(void **state)
{
    static int       none[] = { 1, 0, 1 }, many[] = { 1, TERN_MAX_NODE_RANKS + 1, 1 }, sum[17];
    static char     *nothing[] = { NULL }, *unnamed[] = { "=1", NULL }, *unset[] = { "A", NULL };
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
    refuse_order((order = example(), order.cores_per_rank = MAX_CORES_PER_RANK + 1, order));
    refuse_order((order = example(), order.grace = 2e9, order));
    refuse_order((order = example(), order.terminals = 8, order));
    refuse_order((order = example(), order.prefix = "a 'b", order));
    refuse_order((order = example(), order.prefix = " ", order));
    refuse_order((order = example(), order.tool = "a %x", order));
    refuse_order((order = example(), order.programs = 0, order));
    refuse_order((order = example(), order.programs = 1, order));    /* too few ranks */
    refuse_program((struct run_program){ 4096, "", nothing, NULL }); /* nothing to start */
    refuse_program((struct run_program){ 4095, "", other, NULL });
    refuse_program((struct run_program){ 4097, "", other, NULL });
    refuse_program((struct run_program){ 0, "", other, NULL });
    refuse_program((struct run_program){ 4096, "", other, unnamed });
    refuse_program((struct run_program){ 4096, "", other, unset });
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
        for (int k = 0; k < got.programs; k++) {
            for (char **text = got.program[k].words; *text != NULL; text++)
                sum += strlen(*text);
            for (char **text = got.program[k].variables; *text != NULL; text++)
                sum += strlen(*text) + strlen(strchr(*text, '='));
        }
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

static void branches_come_back(void **state)
{
    char                   *names[] = { "b", "c@d", "[::1]", NULL }, *wrong[] = { "b", "-oX", "c", NULL };
    struct run_branch_order sent = {
        .node = 3, .end = 7, .fanout = 2, .agent = "ssh -T", .ternrun = "/bin/t", .name = names
    };
    struct run_branch_order got;
    size_t                  len;
    unsigned char          *bytes = run_branch_encode(&sent, &len);

    (void)state;
    assert_true(run_branch_decode(bytes, len, &got));
    assert_true(got.node == 3 && got.end == 7 && got.fanout == 2);
    assert_string_equal(got.agent, "ssh -T");
    assert_string_equal(got.ternrun, "/bin/t");
    for (int i = 0; i < 3; i++)
        assert_string_equal(got.name[i], names[i]);
    run_branch_order_free(&got);
    for (size_t cut = 0; cut < len; cut++)
        assert_false(run_branch_decode(bytes, cut, &got));
    for (size_t i = 0; i < 8 * len; i++) {
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
        if (run_branch_decode(bytes, len, &got)) {
            assert_true(got.end > got.node + 1 && got.name[got.end - got.node - 1] == NULL && got.fanout > 0);
            run_branch_order_free(&got);
        }
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    free(bytes);
    sent.name = wrong; /* a name that would be an option of the agent */
    bytes = run_branch_encode(&sent, &len);
    assert_false(run_branch_decode(bytes, len, &got));
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_come_back),         cmocka_unit_test(flags_do_not_mix),
        cmocka_unit_test(parts_of_orders_are_none), cmocka_unit_test(values_are_checked),
        cmocka_unit_test(damaged_bytes_do_no_harm), cmocka_unit_test(what_belongs_to_a_host_stays),
        cmocka_unit_test(branches_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

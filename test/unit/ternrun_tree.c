/* ternrun_tree.c: promise: every host is called once, by ternrun or by a host before it; no ternrun calls more hosts
 * than --fanout says; the tree is not deeper than necessary; and each node computes the same tree as the head. The file
 * under test is included, because it belongs to a tool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../tools/ternrun/tree.c"

#define MOST 1100

static struct run_host host[MOST];

static int depth_of(int at)
{
    int depth = 1;

    while ((at = host[at].parent) >= 0)
        depth++;
    return depth;
}

/* Return the number of levels that so many hosts need at least. */
static int least_depth(int hosts, int fanout)
{
    int  depth = 0;
    long level = 1;

    while (hosts > 0) {
        level *= fanout;
        hosts -= (int)(level < hosts ? level : hosts);
        depth++;
    }
    return depth;
}

static void check_tree(int hosts, int fanout)
{
    struct run_config config = { .host = host, .hosts = hosts, .fanout = fanout };
    static int        called[MOST + 1];

    for (int i = 0; i <= hosts; i++)
        called[i] = 0;
    run_tree_plan(&config);
    for (int i = 0; i < hosts; i++) {
        int parent = host[i].parent, end = parent < 0 ? hosts : host[parent].end;

        assert_int_equal(host[i].index, i);
        assert_true(parent < i && host[i].end > i && host[i].end <= end);
        assert_ptr_equal(host[i].way, parent < 0 ? &host[i] : host[parent].way);
        assert_int_equal(host[i].end, run_tree_part(parent + 1, end, config.fanout, i));
        assert_true(++called[parent + 1] <= (fanout > 0 ? fanout : hosts));
        assert_true(fanout == 0 ? depth_of(i) == 1 : depth_of(i) <= least_depth(hosts, fanout));
    }
}

static void trees_are_sound(void **state)
{
    static const int fanouts[] = { 0, 2, 3, 4, 7, 16, 32 };

    (void)state;
    for (size_t i = 0; i < sizeof(fanouts) / sizeof(fanouts[0]); i++) {
        for (int hosts = 1; hosts < 100; hosts++)
            check_tree(hosts, fanouts[i]);
        for (int hosts = 1000; hosts < MOST; hosts += 3)
            check_tree(hosts, fanouts[i]);
    }
}

static void hosts_behind_are_named(void **state)
{
    static char       name[20][8];
    struct run_config config = { .host = host, .hosts = 20, .fanout = 2 };
    char              text[100];

    (void)state;
    for (int i = 0; i < 20; i++) {
        snprintf(name[i], sizeof(name[i]), "n%d", i);
        host[i].name = name[i];
    }
    run_tree_plan(&config);
    run_tree_behind(&config, &host[19], text, sizeof(text));
    assert_string_equal(text, "");
    run_tree_behind(&config, &host[0], text, sizeof(text));
    assert_string_equal(text, "n1, n2, n3, n4, n5, n6, n7, n8, n9");
    run_tree_behind(&config, &host[0], text, 40);
    assert_string_equal(text, "n1, n2, n3, n4 and 5 more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_are_sound),
        cmocka_unit_test(hosts_behind_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

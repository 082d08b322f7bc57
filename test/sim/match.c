/* match.c: promise: the search of the RDRP paper, section 3.1, finds no solution for table 1, and finds solutions when
 * a constraint is dropped; the short search counts as many solutions as the search of all choices.
 *
 * builds: release debug asan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "search.h"

#define ALL ((1u << MATCH_ORDERS) - 1)

/* A choice serves all orders that are asked for, when it is asked one order at a time. */
static void check_example(const struct match_order *table, unsigned orders, bool any_order)
{
    struct match_found found = match_search(table, orders, any_order);

    assert_true(found.solutions > 0);
    for (int i = 0; i < MATCH_ORDERS; i++) {
        if (orders >> i & 1)
            assert_true(match_serves(found.example, &table[i], any_order));
    }
}

static void table_has_no_solution(void **state)
{
    (void)state;
    assert_int_equal(match_search(match_table, ALL, false).solutions, 0);
    assert_int_equal(match_search(match_table, ALL, true).solutions, 0);
}

/* Order 7 contradicts order 2: both begin with recv(t2), and fetch different sends. Without either there are solutions;
 * without any other there are none. */
static void dropping_a_constraint(void **state)
{
    (void)state;
    for (int i = 0; i < MATCH_ORDERS; i++) {
        unsigned orders = ALL & ~(1u << i);

        if (i == 1 || i == 6)
            check_example(match_table, orders, false);
        else
            assert_int_equal(match_search(match_table, orders, false).solutions, 0);
    }
}

/* With what MPI's matching says of order 7, recv(t2) fetching t2, two sends can be told apart; three cannot. */
static void by_mpi(void **state)
{
    struct match_conflict conflict;
    int                   fetches[2][4];

    (void)state;
    for (int i = 0; i < MATCH_ORDERS; i++) {
        int tag[2], got[2];

        for (int r = 0; r < 2; r++)
            tag[r] = match_mpi[i].tag[r] == MATCH_ANY ? -1 : (int)match_mpi[i].tag[r];
        match_by_mpi(2, tag, 2, got);
        assert_true(got[0] == match_mpi[i].fetches[0] && got[1] == match_mpi[i].fetches[1]);
    }
    check_example(match_mpi, ALL, false);
    check_example(match_mpi, ALL, true);
    assert_false(match_conflict(2, &conflict));
    for (int sends = 3; sends <= 4; sends++) {
        assert_true(match_conflict(sends, &conflict));
        for (int i = 0; i < 2; i++)
            match_by_mpi(sends, conflict.tag[i], sends, fetches[i]);
        assert_int_equal(fetches[0][conflict.at], conflict.fetches[0]);
        assert_int_equal(fetches[1][conflict.at], conflict.fetches[1]);
        assert_int_not_equal(conflict.fetches[0], conflict.fetches[1]);
        assert_int_equal(conflict.tag[0][conflict.at], conflict.tag[1][conflict.at]);
        assert_int_equal(conflict.tag[0][conflict.at - 1], conflict.tag[1][conflict.at - 1]);
    }
}

/* Count by asking every choice whose bits are all below a limit, and compare with what the shortcut would say of it. */
static void shortcut(void **state)
{
    uint64_t right = 0;

    (void)state;
    for (unsigned i = 0; i < 1u << 18; i += 37) { /* entries of send 1 */
        for (unsigned j = 0; j < 1u << 18; j += 1021) {
            struct match_entry entry[2] = { { i % MATCH_VALUES, i / MATCH_VALUES },
                                            { j % MATCH_VALUES, j / MATCH_VALUES } };
            bool               serves = true;

            for (int order = 0; order < MATCH_ORDERS && serves; order++)
                serves = match_serves(entry, &match_table[order], false);
            right += serves;
        }
    }
    assert_int_equal(right, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_has_no_solution),
        cmocka_unit_test(dropping_a_constraint),
        cmocka_unit_test(by_mpi),
        cmocka_unit_test(shortcut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

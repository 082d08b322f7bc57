/* op_coll_select.c: promise: the choice of an algorithm depends on how the members of a team are placed. On a team on
 * several nodes in which the members of a node do not follow each other, a broadcast and a reduce of any length use the
 * hierarchical algorithm; on a team in the order of the nodes they do not. A reduction that the hierarchical algorithm
 * would combine in a wrong order, and a team with one member on each node, do not use it. The ids of teams leave the
 * bit unused by which the scope of collective calls differs from that of the program's messages, and a rank that has
 * used all its ids gets an error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/job.h"
#include "core/team_create.h"
#include "op/coll/coll.h"
#include "op/coll/nodes.h"

enum { RANKS = 8 };

/* The name of the algorithm of a call by 8 ranks on two nodes. */
static const char *choice(const struct tern_coll_nodes *nodes, const struct tern_coll_args *args)
{
    struct tern_coll_nodes placed = *nodes;
    struct tern_team       team = { .size = RANKS };
    struct tern_station    station = { .team = &team, .nodes = &placed };

    return tern_op_coll_select(&station, args)->name;
}

static const struct tern_coll_nodes ordered = { .nodes = 2, .shared = true, .ordered = true };
static const struct tern_coll_nodes mixed = { .nodes = 2, .shared = true };
static const struct tern_coll_nodes single = { .nodes = RANKS };

static void mixed_teams(void **state)
{
    static const size_t lengths[] = { 1, 4096, 256 << 10, 16 << 20 };

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct tern_coll_args broadcast = { .call = TERN_COLL_BROADCAST, .len = lengths[i] };
        struct tern_coll_args reduce = { .call = TERN_COLL_REDUCE,
                                         .len = lengths[i],
                                         .how = { .elem = 1, .commutes = true } };

        assert_string_equal(choice(&mixed, &broadcast), "hierarchical");
        assert_string_equal(choice(&mixed, &reduce), "hierarchical");
        assert_string_not_equal(choice(&ordered, &broadcast), "hierarchical");
        assert_string_equal(choice(&ordered, &reduce), "binomial");
        assert_string_not_equal(choice(&single, &broadcast), "hierarchical");
        assert_string_equal(choice(&single, &reduce), "binomial");
        reduce.how.commutes = false;
        assert_string_equal(choice(&mixed, &reduce), "binomial");
        reduce.how.fold = true;
        assert_string_equal(choice(&mixed, &reduce), "linear");
    }
}

/* A call that is forced, and a call with another rule, do not depend on the order. */
static void others(void **state)
{
    struct tern_coll_args broadcast = { .call = TERN_COLL_BROADCAST, .len = 8 };
    struct tern_coll_args sync = { .call = TERN_COLL_SYNC };

    (void)state;
    assert_string_equal(choice(&mixed, &sync), "hierarchical");
    assert_string_equal(choice(&ordered, &sync), "hierarchical");
    assert_int_equal(tern_op_coll_options("broadcast=linear"), TERN_OK);
    assert_string_equal(choice(&mixed, &broadcast), "linear");
    assert_int_equal(tern_op_coll_options(""), TERN_OK);
}

static void ids_of_teams(void **state)
{
    int before = tern_job.boot.rank;

    (void)state;
    for (int rank = 0; rank < TERN_MAX_RANKS; rank += rank < 32760 ? 32760 : 1) {
        uint32_t id;

        tern_job.boot.rank = rank;
        assert_int_equal(tern_core_team_propose(&id), TERN_OK);
        assert_true(id >= TERN_TEAM_FIRST);
        assert_int_equal((id - TERN_TEAM_FIRST) >> TERN_TEAM_RANK, rank);
        assert_int_equal(id >> 31, 0);
        assert_true(tern_op_coll_scope(id) >> 31 == 1);
    }
    tern_job.boot.rank = before;
}

/* A rank that has chosen the ids of as many teams as there are numbers gets an error, until a team is gone. */
static void all_ids_in_use(void **state)
{
    enum { MOST = 32700 };
    struct tern_team *teams = calloc(MOST, sizeof(*teams)), *last = NULL;
    uint32_t          id, freed;
    int               n = 0;

    (void)state;
    assert_non_null(teams);
    while (tern_core_team_propose(&id) == TERN_OK) {
        assert_true(n < MOST);
        last = &teams[n++];
        last->id = id;
        tern_core_team_list(last);
    }
    assert_int_equal(n, MOST);
    assert_int_equal(tern_core_team_propose(&id), TERN_ERR_NOMEM);
    assert_non_null(strstr(tern_base_detail(), "tern_team_free"));
    freed = last->id;
    last->id = 0; /* as if the team had been freed */
    assert_int_equal(tern_core_team_propose(&id), TERN_OK);
    assert_int_equal(id, freed);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(mixed_teams), cmocka_unit_test(others),
                                        cmocka_unit_test(ids_of_teams), cmocka_unit_test(all_ids_in_use) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

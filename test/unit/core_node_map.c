/* core_node_map.c: the map of the ranks of each node.
 *
 * Promise: the map lists the ranks of each node in ascending order, whatever the order of the nodes. A segment whose
 * numbers do not fit together is refused: nothing is written outside of the map.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/node_map.h"

#define RANKS 5
#define NODES 3

static struct tern_segment *segment_make(void)
{
    static const uint32_t node[RANKS] = { 2, 0, 2, 1, 0 }, local[RANKS] = { 0, 0, 1, 0, 1 };
    struct tern_segment  *segment = aligned_alloc(64, tern_segment_bytes(RANKS, false));

    assert_non_null(segment);
    for (int rank = 0; rank < RANKS; rank++) {
        segment->slot[rank].node = node[rank];
        segment->slot[rank].local = local[rank];
    }
    return segment;
}

static void lists_ranks(void **state)
{
    static const int     size[NODES] = { 2, 1, 2 }, member[NODES][2] = { { 1, 4 }, { 3, -1 }, { 0, 2 } };
    struct tern_segment *segment = segment_make();
    struct tern_node_map map = { 0 };

    (void)state;
    assert_int_equal(tern_core_node_map_open(&map, segment, RANKS, NODES), TERN_OK);
    for (int node = 0; node < NODES; node++) {
        assert_int_equal(tern_core_node_map_size(&map, node), size[node]);
        for (int i = 0; i < size[node]; i++)
            assert_int_equal(tern_core_node_map_rank(&map, node, i), member[node][i]);
    }
    tern_core_node_map_close(&map);
    free(segment);
}

static void refuses_damage(void **state)
{
    static const uint32_t wrong[] = { 1, 2, NODES, RANKS, 1u << 31, UINT32_MAX };
    struct tern_segment  *segment = segment_make();
    struct tern_node_map  map = { 0 };

    (void)state;
    for (unsigned i = 2; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        segment->slot[1].node = wrong[i];
        assert_int_equal(tern_core_node_map_open(&map, segment, RANKS, NODES), TERN_ERR_BOOT);
        assert_null(map.first);
    }
    segment->slot[1].node = 0;
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        segment->slot[3].local = wrong[i]; /* the only rank of its node */
        assert_int_equal(tern_core_node_map_open(&map, segment, RANKS, NODES), TERN_ERR_BOOT);
        assert_null(map.member);
    }
    free(segment);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(lists_ranks), cmocka_unit_test(refuses_damage) };

    return cmocka_run_group_tests_name("node map", tests, NULL, NULL);
}

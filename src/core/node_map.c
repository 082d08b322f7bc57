/* node_map.c: the ranks of each node, sorted by counting. */
#include "core/node_map.h"

#include <stdlib.h>

tern_status tern_core_node_map_open(struct tern_node_map *map, const struct tern_segment *segment, int ranks, int nodes)
{
    map->first = calloc((size_t)nodes + 1, sizeof(*map->first));
    map->member = calloc((size_t)ranks, sizeof(*map->member));
    if (!map->first || !map->member) {
        tern_core_node_map_close(map);
        return tern_base_fail(TERN_ERR_NOMEM, "tern_init: no memory for tables of %d ranks", ranks);
    }
    for (int rank = 0; rank < ranks; rank++) {
        uint32_t node = segment->slot[rank].node;

        if (node < (uint32_t)nodes)
            map->first[node + 1]++;
    }
    for (int node = 0; node < nodes; node++)
        map->first[node + 1] += map->first[node];
    for (int rank = 0; rank < ranks; rank++) {
        uint32_t node = segment->slot[rank].node, local = segment->slot[rank].local;

        if (node >= (uint32_t)nodes || local >= (uint32_t)tern_core_node_map_size(map, (int)node)) {
            tern_core_node_map_close(map);
            return tern_base_fail(TERN_ERR_BOOT,
                                  "tern_init: the boot segment says that rank %d is number %u of the ranks of node %u, "
                                  "which a job of %d ranks on %d nodes does not have: the segment is damaged",
                                  rank, local, node, ranks, nodes);
        }
        map->member[map->first[node] + (int32_t)local] = rank;
    }
    return TERN_OK;
}

void tern_core_node_map_close(struct tern_node_map *map)
{
    free(map->first);
    free(map->member);
    *map = (struct tern_node_map){ 0 };
}

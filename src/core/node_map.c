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
    for (int rank = 0; rank < ranks; rank++)
        map->first[segment->slot[rank].node + 1]++;
    for (int node = 0; node < nodes; node++)
        map->first[node + 1] += map->first[node];
    for (int rank = 0; rank < ranks; rank++)
        map->member[map->first[segment->slot[rank].node] + (int32_t)segment->slot[rank].local] = rank;
    return TERN_OK;
}

void tern_core_node_map_close(struct tern_node_map *map)
{
    free(map->first);
    free(map->member);
    *map = (struct tern_node_map){ 0 };
}

/* node_map.h: which ranks each node of the job has. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "boot/segment.h"

struct tern_node_map {
    int32_t *first;  /* [nodes + 1] index in member of the first rank of each node */
    int32_t *member; /* [ranks] the ranks in the job, node by node, in ascending order */
};

/* Build the map from the segment of a job with this many ranks and nodes. */
tern_status tern_core_node_map_open(struct tern_node_map *map, const struct tern_segment *segment, int ranks,
                                    int nodes);
void        tern_core_node_map_close(struct tern_node_map *map);

/* Return the number of ranks of a node, and the rank in the job of one of them. The arguments must be valid. */
static inline int tern_core_node_map_size(const struct tern_node_map *map, int node)
{
    return map->first[node + 1] - map->first[node];
}

static inline int tern_core_node_map_rank(const struct tern_node_map *map, int node, int index)
{
    return map->member[map->first[node] + index];
}

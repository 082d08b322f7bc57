/* nodes.h: which members of a team share a node, for algorithms that treat them apart (hierarchy.c). */
#pragma once

#include "core/team.h"

struct tern_coll_nodes {
    int      nodes;   /* number of nodes that have members, in the order of their first members */
    int      mine;    /* the node of this rank, */
    int      local;   /* and its number among the members of the node */
    bool     shared;  /* at least one node has several members */
    bool     ordered; /* the members of each node follow each other in the team */
    int32_t *first;   /* [nodes + 1] index in `member` of the first member of each node */
    int32_t *member;  /* [size] ranks in the team, node by node */
    int32_t *leader;  /* [nodes] the first member of each node */
};

/* Find the nodes of a team. *out is NULL if the team is on one node. */
tern_status tern_op_coll_nodes_open(const struct tern_team *team, struct tern_coll_nodes **out);
void        tern_op_coll_nodes_close(struct tern_coll_nodes *nodes);

static inline int tern_coll_node_size(const struct tern_coll_nodes *nodes, int node)
{
    return nodes->first[node + 1] - nodes->first[node];
}

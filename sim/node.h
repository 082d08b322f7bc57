/* node.h: the nodes of a router: their sources and sinks. */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include "sim.h"

/* A cycle of all nodes of a router. */
void sim_nodes_run(struct sim_worker *worker, struct sim_router *router, uint32_t now);

/* Cycles until the next packet of an open source: 1 or more, drawn so that each cycle has the same chance. */
uint64_t sim_node_gap(const struct sim *sim, struct sim_node *node);

#endif

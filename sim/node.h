/* node.h: the nodes of a router: sources and sinks. */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include "sim.h"

/* Simulate one cycle of all nodes of a router. */
void sim_nodes_run(struct sim_worker *worker, struct sim_router *router, uint32_t now);

/* Return the number of cycles until an open source generates its next packet, at least 1. The number is drawn such that
 * each cycle has the same probability. */
uint64_t sim_node_gap(const struct sim *sim, struct sim_node *node);

#endif

/* traffic.h: who sends to whom, and which sinks are slow. */
#ifndef SIM_TRAFFIC_H
#define SIM_TRAFFIC_H

#include "sim.h"

/* Destinations that a node draws from, by weight. */
struct sim_flow {
    uint32_t target;
    double   until; /* sum of the weights so far, divided by that of all */
};

struct sim_traffic {
    uint32_t        *hot; /* hot spots */
    uint32_t         hots;
    struct sim_flow *flow; /* of node i: [first[i], first[i+1]) */
    uint32_t        *first;
};

/* Give every node its destination or what it needs to draw one, and slow down sinks. The detail of an error names the
 * parameter, or the file and line. */
tern_status sim_traffic_open(struct sim *sim);
void        sim_traffic_close(struct sim *sim);

/* The destination of the next packet of a node that is not silent. */
uint32_t sim_traffic_target(struct sim *sim, struct sim_node *node);

/* Read traffic_file. Part of sim_traffic_open. */
tern_status sim_traffic_read(struct sim *sim);

#endif

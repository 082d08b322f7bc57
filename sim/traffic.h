/* traffic.h: the destinations of packets, and the choice of slow sinks. */
#ifndef SIM_TRAFFIC_H
#define SIM_TRAFFIC_H

#include "sim.h"

/* One of the destinations from which a node draws by weight. */
struct sim_flow {
    uint32_t target;
    double   until; /* cumulative weight up to this flow, divided by the total weight */
};

struct sim_traffic {
    uint32_t        *hot; /* hot spots */
    uint32_t         hots;
    struct sim_flow *flow; /* the flows of node i are [first[i], first[i+1]) */
    uint32_t        *first;
};

/* Give every node its destination, or the data from which it draws destinations, and choose the slow sinks. The detail
 * of an error names the parameter, or the file and the line. */
tern_status sim_traffic_open(struct sim *sim);
void        sim_traffic_close(struct sim *sim);

/* Return the destination of the next packet of a node. The node must not be silent. */
uint32_t sim_traffic_target(struct sim *sim, struct sim_node *node);

/* Read traffic_file. Called by sim_traffic_open. */
tern_status sim_traffic_read(struct sim *sim);

#endif

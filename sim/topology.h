/* topology.h: what a topology provides to the simulator: its size, its connections, and the routing of packets.
 *
 * A topology is one const object, selected when the network is created. A new topology needs a file and a row in
 * topology.c.
 */
#ifndef SIM_TOPOLOGY_H
#define SIM_TOPOLOGY_H

#include "sim.h"

enum sim_link_class { SIM_LINK_TERMINAL, SIM_LINK_LOCAL, SIM_LINK_GLOBAL, SIM_LINK_CLASSES, SIM_LINK_UNUSED };

extern const char *const sim_link_class_name[SIM_LINK_CLASSES];

/* The other end of a port. */
struct sim_end {
    enum sim_link_class link_class; /* SIM_LINK_UNUSED: nothing is connected */
    uint32_t            index;      /* a node for a terminal link, a router otherwise */
    unsigned            port;       /* the port of that router; unused for a node */
};

struct sim_topology {
    const char *name;

    /* Fill shape from config. Returns TERN_ERR_ARG if parameters are inconsistent; the detail names them. */
    tern_status (*plan)(const struct sim_config *config, struct sim_shape *shape);

    /* Allocate the tables that far and route need, in sim->map. The simulator releases sim->map with free(). */
    tern_status (*open)(struct sim *sim);

    struct sim_end (*far)(const struct sim *sim, uint32_t router, unsigned port);

    /* Set out and out_vc of a packet whose head has arrived at VC vc of input in. Called once for each router on the
     * route, with the state of that router in the current cycle. */
    void (*route)(struct sim *sim, struct sim_router *router, unsigned in, unsigned vc, struct sim_packet *packet);

    /* Return whether an undecided packet that waits at input in for out and out_vc now takes a non-minimal route, and
     * store the intermediate router or group in *via. NULL if the topology has no non-minimal routes. */
    bool (*round)(struct sim *sim, struct sim_router *router, unsigned in, const struct sim_in_vc *waiting,
                  uint16_t *via);
};

/* Return the topology that config selects. */
const struct sim_topology *sim_topology_of(const struct sim_config *config);

/* Set shape->vcs to the value in config, or to needed if config leaves it open. needed is the minimum number of VCs for
 * the routing, and why names the routing in the error message. */
tern_status sim_topology_vcs(const struct sim_config *config, struct sim_shape *shape, unsigned needed,
                             const char *why);

/* Return an error if a router would have more than SIM_MAX_PORTS ports, or if config selects a routing other than
 * minimal. */
tern_status sim_topology_ports(unsigned ports, const char *which);
tern_status sim_topology_minimal(const struct sim_config *config);

extern const struct sim_topology sim_dragonfly, sim_torus, sim_fattree, sim_single;

#endif

/* topology.h: what a topology tells the simulator: its size, what each port leads to, and the way of a packet.
 *
 * A topology is one const object, chosen once. New ones add a file and a row in topology.c.
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
    unsigned            port;       /* of that router */
};

struct sim_topology {
    const char *name;

    /* Fill shape from config. Returns TERN_ERR_ARG where parameters do not fit together; the detail names them. */
    tern_status (*plan)(const struct sim_config *config, struct sim_shape *shape);

    /* Make the tables that far and route need, in sim->map. They are freed with free(). */
    tern_status (*open)(struct sim *sim);

    struct sim_end (*far)(const struct sim *sim, uint32_t router, unsigned port);

    /* The head of packet has come to input in, by VC vc of it: set out and out_vc. Called once for each router on the
     * way, with that router's state of this very cycle. */
    void (*route)(struct sim *sim, struct sim_router *router, unsigned in, unsigned vc, struct sim_packet *packet);

    /* Whether a packet that is undecided, and waits at input in for out and out_vc, now goes round: by way of *via.
     * NULL where there are no ways round. */
    bool (*round)(struct sim *sim, struct sim_router *router, unsigned in, const struct sim_in_vc *waiting,
                  uint16_t *via);
};

/* The one that config asks for. */
const struct sim_topology *sim_topology_of(const struct sim_config *config);

/* Set shape->vcs to what config says, or to needed; needed is what the routing, named why, cannot do without. */
tern_status sim_topology_vcs(const struct sim_config *config, struct sim_shape *shape, unsigned needed,
                             const char *why);

/* Refuse routers with more than SIM_MAX_PORTS ports, and other routings than minimal. */
tern_status sim_topology_ports(unsigned ports, const char *which);
tern_status sim_topology_minimal(const struct sim_config *config);

extern const struct sim_topology sim_dragonfly, sim_torus, sim_fattree, sim_single;

#endif

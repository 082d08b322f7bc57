/* dragonfly.h: the tables of a dragonfly: which router of a group has the link to which other group, and which VCs each
 * stage of a route uses. dragonfly.c creates the tables, and dragonfly_route.c routes packets with them.
 */
#ifndef SIM_DRAGONFLY_H
#define SIM_DRAGONFLY_H

#include "topology.h"

/* The stage of its route in which a packet takes a local link. */
enum sim_stage {
    SIM_STAGE_SOURCE, /* in the source group */
    SIM_STAGE_SECOND, /* in the source group again, because the second router chose a non-minimal route (par) */
    SIM_STAGE_TO,     /* in the intermediate group, towards the randomly chosen router */
    SIM_STAGE_FROM,   /* in the intermediate group, towards the next group */
    SIM_STAGE_TARGET, /* in the destination group */
    SIM_STAGE_WITHIN, /* source and destination are in the same group */
    SIM_STAGES
};

/* VCs by stage, for packets on a minimal route [0] and on a non-minimal route [1]; the VC of the global link to the
 * intermediate group, and the VC of the global link to the destination group. */
struct sim_vc_plan {
    uint8_t local[2][SIM_STAGES];
    uint8_t to_via, to_target;
    uint8_t needed;
};

struct sim_dragonfly_map {
    uint32_t           p, a, h, groups;
    uint32_t           copies; /* links between each pair of groups */
    uint32_t           global; /* number of the first global port */
    uint32_t           lanes;  /* number of VCs for each VC of the plan */
    struct sim_vc_plan plan;
    uint16_t          *group_of; /* [node] */
    uint16_t          *place_of; /* [node] index of the node's router within the group */
    /* Link number `copy` to the group that is number `distance` among the other groups: [distance * copies + copy] */
    uint8_t           *gate;      /* index, within the group, of the router that has the link */
    uint8_t           *gate_port; /* port of that router */
};

/* Return the VC plan for the routing that config selects. */
struct sim_vc_plan sim_dragonfly_plan(const struct sim_config *config);

bool sim_dragonfly_round(struct sim *sim, struct sim_router *router, unsigned in, const struct sim_in_vc *waiting,
                         uint16_t *via);
void sim_dragonfly_route(struct sim *sim, struct sim_router *router, unsigned in, unsigned vc,
                         struct sim_packet *packet);

#endif

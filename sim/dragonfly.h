/* dragonfly.h: the tables of a dragonfly: which router of a group has the link to which other group, and which VCs are
 * used where. dragonfly.c makes them, dragonfly_route.c finds ways by them.
 */
#ifndef SIM_DRAGONFLY_H
#define SIM_DRAGONFLY_H

#include "topology.h"

/* Where on its way a packet takes a local link. */
enum sim_stage {
    SIM_STAGE_SOURCE, /* in the group that it begins in */
    SIM_STAGE_SECOND, /* there again, because it was sent round at the second router (par) */
    SIM_STAGE_TO,     /* in the group that it goes by way of, to the router drawn */
    SIM_STAGE_FROM,   /* there, on to the next group */
    SIM_STAGE_TARGET, /* in the group of its destination */
    SIM_STAGE_WITHIN, /* both ends in one group */
    SIM_STAGES
};

/* VCs by stage, for packets on the minimal way [0] and those that go round [1]; of the global link to the group drawn,
 * and of that to the destination's group. */
struct sim_vc_plan {
    uint8_t local[2][SIM_STAGES];
    uint8_t to_via, to_target;
    uint8_t needed;
};

struct sim_dragonfly_map {
    uint32_t           p, a, h, groups;
    uint32_t           copies; /* links between each pair of groups */
    uint32_t           global; /* number of the first global port */
    uint32_t           lanes;  /* VCs for each VC of the plan */
    struct sim_vc_plan plan;
    uint16_t          *group_of; /* [node] */
    uint16_t          *place_of; /* [node] of its router, within the group */
    /* Link `copy` to the group that is `distance`-th among the others: [distance * copies + copy] */
    uint8_t           *gate;      /* place of the router that has it */
    uint8_t           *gate_port; /* and its port */
};

/* The plan for this routing. */
struct sim_vc_plan sim_dragonfly_plan(const struct sim_config *config);

bool sim_dragonfly_round(struct sim *sim, struct sim_router *router, unsigned in, const struct sim_in_vc *waiting,
                         uint16_t *via);
void sim_dragonfly_route(struct sim *sim, struct sim_router *router, unsigned in, unsigned vc,
                         struct sim_packet *packet);

#endif

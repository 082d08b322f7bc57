/* dragonfly_route.c: routing in a dragonfly.
 *
 * A minimal route takes at most three links: a local link to the router that has the link to the target's group, that
 * global link, and a local link in the target's group. A non-minimal route first goes to a randomly chosen group (or
 * router). The first router decides which route a packet takes: always minimal (min), always non-minimal (valiant), or
 * by comparing queues (ugal, par). The adaptive algorithms choose the minimal route if q_min <= bias * q_non +
 * threshold, where q is the number of credits in use on the output port, on all VCs or only on the VC that the packet
 * would take (parameter queue). With par, the second router in the source group decides again for packets on the
 * minimal route.
 *
 * The VC numbers increase along every route, in an order of links and VCs that has no cycle: L0 < G0 < L1 < G1 < L2 for
 * ugal, and so on (see the table below). The order "reference" is the one of the reference simulator: its ugal takes a
 * local, a global and a local link on VC 0, and can deadlock. If there are at least twice as many VCs as needed, each
 * VC of the plan stands for two or more VCs, and a packet takes one of them at random on each link.
 */
#include "dragonfly.h"
#include "random.h"

enum { PLAN_MIN, PLAN_GROUP, PLAN_ROUTER, PLAN_PAR, PLAN_PAR_ROUTER, PLAN_UGAL_REFERENCE };

/*                                         source second to from target within */
static const struct sim_vc_plan plans[] = {
    [PLAN_MIN] = { { { 0, 0, 0, 0, 1, 0 }, { 0, 0, 0, 0, 1, 0 } }, 0, 1, 2 },
    [PLAN_GROUP] = { { { 0, 0, 0, 0, 2, 2 }, { 0, 0, 0, 1, 2, 2 } }, 0, 1, 3 },
    [PLAN_ROUTER] = { { { 0, 0, 0, 0, 3, 3 }, { 0, 0, 1, 2, 3, 3 } }, 0, 1, 4 },
    [PLAN_PAR] = { { { 0, 0, 0, 0, 3, 3 }, { 0, 1, 0, 2, 3, 3 } }, 1, 2, 4 },
    [PLAN_PAR_ROUTER] = { { { 0, 0, 0, 0, 4, 4 }, { 0, 1, 2, 3, 4, 4 } }, 1, 2, 5 },
    [PLAN_UGAL_REFERENCE] = { { { 1, 1, 0, 0, 2, 2 }, { 0, 0, 0, 1, 2, 2 } }, 0, 2, 3 },
};

struct sim_vc_plan sim_dragonfly_plan(const struct sim_config *config)
{
    bool router = config->via == SIM_VIA_ROUTER;

    switch (config->routing) {
    case SIM_MIN: return plans[PLAN_MIN];
    case SIM_PAR: return plans[router ? PLAN_PAR_ROUTER : PLAN_PAR];
    default: break;
    }
    if (config->vc_order == SIM_VC_REFERENCE)
        return plans[PLAN_UGAL_REFERENCE];
    return plans[router ? PLAN_ROUTER : PLAN_GROUP];
}

/* Return the port that leads to a router of the same group. */
static unsigned local_port(const struct sim_dragonfly_map *map, const struct sim_router *router, uint32_t place)
{
    return map->p + place - (place > router->place);
}

/* Return the port that leads to another group: a global link of this router if it has one to that group, otherwise the
 * port to a router that has one. *gate receives the index in map->gate of the global link that the packet will use. */
static unsigned group_port(const struct sim_dragonfly_map *map, struct sim_router *router, uint32_t group,
                           uint32_t *gate)
{
    uint32_t distance = group - (group > router->group), first = distance * map->copies, chosen = first;

    if (map->copies > 1) {
        chosen = first + sim_random_below(&router->random, map->copies);
        for (uint32_t i = first; i < first + map->copies; i++) {
            if (map->gate[i] == router->place)
                chosen = i;
        }
    }
    *gate = chosen;
    return map->gate[chosen] == router->place ? map->gate_port[chosen] : local_port(map, router, map->gate[chosen]);
}

/* Return the number of credits in use on the VCs of a port that stand for one VC of the plan. */
static uint32_t used_of(const struct sim *sim, const struct sim_router *router, unsigned port, unsigned vc)
{
    const struct sim_dragonfly_map *map = sim->map;
    const struct sim_out_vc        *out = &router->out[port << sim->shift | vc * map->lanes];
    uint32_t                        used = map->lanes * sim->buffer;

    for (uint32_t i = 0; i < map->lanes; i++)
        used -= out[i].credits;
    return used;
}

/* Return the length of the queue that a packet would join on its minimal or non-minimal route to a group. */
static uint32_t queue_to(struct sim *sim, struct sim_router *router, uint32_t group, bool first, bool round)
{
    const struct sim_dragonfly_map *map = sim->map;
    uint32_t                        gate;
    unsigned                        port = group_port(map, router, group, &gate), vc;

    if (sim->config->routing == SIM_UGAL_G)
        return sim->seen[(router->group * map->a + map->gate[gate]) * sim->shape.ports + map->gate_port[gate]];
    if (sim->config->queue == SIM_QUEUE_PORT)
        return router->port[port].used;
    if (port >= map->global)
        vc = round ? map->plan.to_via : map->plan.to_target;
    else
        vc = map->plan.local[round][first ? SIM_STAGE_SOURCE : SIM_STAGE_SECOND];
    return used_of(sim, router, port, vc);
}

/* Choose an intermediate group, or a router in it, at random. *group receives the group. */
static uint32_t draw(struct sim *sim, struct sim_router *router, uint32_t *group)
{
    const struct sim_dragonfly_map *map = sim->map;
    bool                            via_router = sim->config->via == SIM_VIA_ROUTER;
    uint32_t drawn = sim_random_below(&router->random, via_router ? sim->shape.routers : map->groups);

    *group = via_router ? sim->router[drawn].group : drawn;
    return drawn;
}

bool sim_dragonfly_round(struct sim *sim, struct sim_router *router, unsigned in, const struct sim_in_vc *waiting,
                         uint16_t *via)
{
    const struct sim_config        *config = sim->config;
    const struct sim_dragonfly_map *map = sim->map;
    uint32_t                        group;
    int64_t                         minimal;

    *via = (uint16_t)draw(sim, router, &group);
    if (group == router->group)
        return false;
    minimal = config->queue == SIM_QUEUE_PORT ? router->port[waiting->out].used
                                              : used_of(sim, router, waiting->out, waiting->out_vc / map->lanes);
    return minimal > config->bias * queue_to(sim, router, group, in < map->p, true) + config->threshold;
}

/* Decide whether a packet to another group takes a non-minimal route. */
static void decide(struct sim *sim, struct sim_router *router, uint32_t target_group, bool first,
                   struct sim_packet *packet)
{
    const struct sim_config *config = sim->config;
    uint32_t                 drawn, group;

    if (config->routing == SIM_MIN)
        return;
    drawn = draw(sim, router, &group);
    if (group == router->group)
        return;
    if (config->routing != SIM_VALIANT) {
        int64_t minimal = queue_to(sim, router, target_group, first, false);
        int64_t round = queue_to(sim, router, group, first, true);

        if (minimal <= config->bias * round + config->threshold)
            return;
    }
    packet->via = (uint16_t)drawn;
    packet->flags |= SIM_ROUND;
}

static enum sim_stage stage_of(const struct sim_packet *packet, bool first, bool within)
{
    if (!(packet->flags & SIM_CROSSED)) {
        if (within && !(packet->flags & SIM_ROUND))
            return SIM_STAGE_WITHIN;
        return first ? SIM_STAGE_SOURCE : SIM_STAGE_SECOND;
    }
    if (packet->flags & SIM_LAST)
        return SIM_STAGE_TARGET;
    return packet->flags & SIM_TURNED ? SIM_STAGE_FROM : SIM_STAGE_TO;
}

/* Set SIM_TURNED if the packet has reached its intermediate group or router. */
static void turn(const struct sim_config *config, const struct sim_router *router, struct sim_packet *packet)
{
    uint32_t here = config->via == SIM_VIA_ROUTER ? router->index : router->group;

    if ((packet->flags & (SIM_ROUND | SIM_TURNED)) == SIM_ROUND && packet->via == here)
        packet->flags |= SIM_TURNED;
}

/* The next goal of a packet: a group, and the index of a router in it. */
struct goal {
    uint32_t group, place;
};

static struct goal goal_of(const struct sim *sim, const struct sim_packet *packet)
{
    const struct sim_dragonfly_map *map = sim->map;

    if ((packet->flags & (SIM_ROUND | SIM_TURNED)) != SIM_ROUND)
        return (struct goal){ map->group_of[packet->target], map->place_of[packet->target] };
    if (sim->config->via == SIM_VIA_ROUTER)
        return (struct goal){ sim->router[packet->via].group, sim->router[packet->via].place };
    return (struct goal){ packet->via, 0 };
}

void sim_dragonfly_route(struct sim *sim, struct sim_router *router, unsigned in, unsigned vc,
                         struct sim_packet *packet)
{
    const struct sim_dragonfly_map *map = sim->map;
    struct goal                     goal = goal_of(sim, packet);
    bool                            first = in < map->p, round, asked;
    uint32_t                        gate;

    (void)vc;
    asked = goal.group != router->group && !(packet->flags & SIM_ROUND) &&
            (first || (sim->config->routing == SIM_PAR && !(packet->flags & SIM_CROSSED)));
    if (asked)
        decide(sim, router, goal.group, first, packet);
    packet->undecided = asked && !(packet->flags & SIM_ROUND);
    turn(sim->config, router, packet);
    if (packet->flags & SIM_ROUND)
        goal = goal_of(sim, packet);
    round = packet->flags & SIM_ROUND;
    packet->out_vc = map->plan.local[round][stage_of(packet, first, goal.group == router->group)];
    if (goal.group != router->group) {
        packet->out = (uint8_t)group_port(map, router, goal.group, &gate);
        if (packet->out >= map->global) {
            bool last = !round || packet->flags & SIM_TURNED;

            packet->out_vc = last ? map->plan.to_target : map->plan.to_via;
            packet->flags |= last ? SIM_CROSSED | SIM_LAST : SIM_CROSSED;
        }
    } else if (goal.place != router->place) {
        packet->out = (uint8_t)local_port(map, router, goal.place);
    } else {
        packet->out = (uint8_t)(packet->target % map->p);
    }
    if (map->lanes > 1)
        packet->out_vc = (uint8_t)(packet->out_vc * map->lanes + sim_random_below(&router->random, map->lanes));
}

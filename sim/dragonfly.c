/* dragonfly.c: the dragonfly topology: groups of a routers that are all connected with each other, with p nodes and h
 * global links per router.
 *
 * The ports of a router are numbered as follows: nodes first, then the other routers of the group in order, then global
 * links. Global link q of a group (port q % h of router q / h) leads to the q-th of the other groups, counted from
 * group 0. With fewer than a*h+1 groups, the count wraps around: link q is copy q / (groups-1) of the link to the other
 * group number q % (groups-1). Remaining links, which could not connect every pair of groups, are left unconnected.
 */
#include "dragonfly.h"

#include <stdlib.h>
#include <string.h>

static tern_status plan(const struct sim_config *config, struct sim_shape *shape)
{
    uint64_t    links = (uint64_t)config->a * (uint64_t)config->h;
    uint64_t    groups = config->groups > 0 ? (uint64_t)config->groups : links + 1;
    tern_status status;

    if (groups > links + 1)
        return tern_base_fail(TERN_ERR_ARG, "groups=%lu is too many: with a=%ld and h=%ld it is 1 to a*h+1 = %lu",
                              (unsigned long)groups, (long)config->a, (long)config->h, (unsigned long)links + 1);
    shape->ports = (unsigned)(config->p + config->a - 1 + config->h);
    if ((status = sim_topology_ports(shape->ports, "p + a-1 + h")) < 0)
        return status;
    shape->routers = (uint32_t)(groups * (uint64_t)config->a);
    shape->nodes = shape->routers * (uint32_t)config->p;
    shape->unit = (uint32_t)config->a;
    shape->terminals = (unsigned)config->p;
    shape->inner = (unsigned)(config->p + config->a - 1);
    if (shape->routers >= SIM_NO_VIA)
        return tern_base_fail(TERN_ERR_ARG,
                              "a=%ld with %lu groups are %u routers; at most %u are possible: lower a, h or "
                              "groups",
                              (long)config->a, (unsigned long)groups, shape->routers, SIM_NO_VIA - 1);
    return sim_topology_vcs(config, shape, sim_dragonfly_plan(config).needed, "this routing");
}

static tern_status open_map(struct sim *sim)
{
    const struct sim_config  *config = sim->config;
    uint32_t                  a = (uint32_t)config->a, h = (uint32_t)config->h, groups = sim->shape.routers / a;
    uint32_t                  links = groups > 1 ? a * h / (groups - 1) * (groups - 1) : 0;
    uint32_t                  nodes = sim->shape.nodes;
    struct sim_dragonfly_map *map = calloc(1, sizeof(*map) + 2 * (size_t)links + 4 * (size_t)nodes);

    if (map == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for the map of %u groups", groups);
    map->p = (uint32_t)config->p;
    map->a = a;
    map->h = h;
    map->groups = groups;
    map->copies = groups > 1 ? links / (groups - 1) : 0;
    map->global = map->p + a - 1;
    map->plan = sim_dragonfly_plan(config);
    map->lanes = sim->vcs / map->plan.needed;
    map->group_of = (uint16_t *)(map + 1);
    map->place_of = map->group_of + nodes;
    map->gate = (uint8_t *)(map->place_of + nodes);
    map->gate_port = map->gate + links;
    for (uint32_t q = 0; q < links; q++) {
        uint32_t at = q % (groups - 1) * map->copies + q / (groups - 1);

        map->gate[at] = (uint8_t)(q / h);
        map->gate_port[at] = (uint8_t)(map->global + q % h);
    }
    for (uint32_t r = 0; r < sim->shape.routers; r++) {
        sim->router[r].group = r / a;
        sim->router[r].place = r % a;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        map->group_of[i] = (uint16_t)(i / map->p / a);
        map->place_of[i] = (uint16_t)(i / map->p % a);
    }
    sim->map = map;
    return TERN_OK;
}

/* Return the other end of global link q of a group. */
static struct sim_end far_global(const struct sim_dragonfly_map *map, uint32_t group, uint32_t q)
{
    uint32_t others = map->groups - 1, copy, to, back, at;

    if (others == 0 || q >= others * map->copies)
        return (struct sim_end){ SIM_LINK_UNUSED, 0, 0 };
    copy = q / others;
    to = q % others + (q % others >= group);
    back = group - (group > to); /* index of group among the other groups of `to` */
    at = back * map->copies + copy;
    return (struct sim_end){ SIM_LINK_GLOBAL, to * map->a + map->gate[at], map->gate_port[at] };
}

static struct sim_end far_end(const struct sim *sim, uint32_t router, unsigned port)
{
    const struct sim_dragonfly_map *map = sim->map;
    uint32_t                        group = router / map->a, place = router % map->a, other;

    if (port < map->p)
        return (struct sim_end){ SIM_LINK_TERMINAL, router * map->p + port, 0 };
    if (port >= map->global)
        return far_global(map, group, place * map->h + port - map->global);
    other = port - map->p + (port - map->p >= place);
    return (struct sim_end){ SIM_LINK_LOCAL, group * map->a + other, map->p + place - (place > other) };
}

const struct sim_topology sim_dragonfly = {
    .name = "dragonfly",
    .plan = plan,
    .open = open_map,
    .far = far_end,
    .route = sim_dragonfly_route,
    .round = sim_dragonfly_round,
};

/* fattree.c: a k-ary n-tree: n levels of k^(n-1) routers. Each router has k links down and, below the top level, k
 * links up.
 *
 * The routers of a level are numbered by n-1 digits of base k. Router w of level l and router v of level l+1 are
 * connected if w and v agree in all digits except digit l. Up link number u of w leads to the router v whose digit l is
 * u. Node m is attached to router m / k of level 0. A packet goes up over randomly chosen links until it reaches a
 * router that has the target below it, and then down the only path that exists. Routes that go up before they go down
 * have no cycle, so a packet can keep its VC.
 */
#include "topology.h"

#include <stdlib.h>

#include "random.h"

struct tree_map {
    uint32_t k, n;
    uint32_t level_routers;
    uint32_t power[9]; /* powers of k */
};

static tern_status plan(const struct sim_config *config, struct sim_shape *shape)
{
    uint64_t    nodes = 1;
    tern_status status;

    for (int64_t i = 0; i < config->n; i++) {
        nodes *= (uint64_t)config->k;
        if (nodes > 1u << 20)
            return tern_base_fail(TERN_ERR_ARG, "k=%ld and n=%ld are too large together: k^n is at most %u nodes",
                                  (long)config->k, (long)config->n, 1u << 20);
    }
    if ((status = sim_topology_minimal(config)) < 0)
        return status;
    shape->ports = (unsigned)(2 * config->k);
    if ((status = sim_topology_ports(shape->ports, "2k")) < 0)
        return status;
    shape->nodes = (uint32_t)nodes;
    shape->routers = (uint32_t)(nodes / (uint64_t)config->k * (uint64_t)config->n);
    shape->unit = 1;
    shape->terminals = (unsigned)config->k;
    shape->inner = shape->terminals;
    return sim_topology_vcs(config, shape, 1, "topology=fattree");
}

static tern_status open_map(struct sim *sim)
{
    struct tree_map *map = calloc(1, sizeof(*map));

    if (map == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for the map of the tree");
    map->k = (uint32_t)sim->config->k;
    map->n = (uint32_t)sim->config->n;
    map->level_routers = sim->shape.routers / map->n;
    map->power[0] = 1;
    for (uint32_t i = 1; i <= map->n; i++)
        map->power[i] = map->power[i - 1] * map->k;
    sim->map = map;
    return TERN_OK;
}

/* Return the other end of a port. Ports 0 to k-1 lead down, ports k to 2k-1 lead up. */
static struct sim_end far_end(const struct sim *sim, uint32_t router, unsigned port)
{
    const struct tree_map *map = sim->map;
    uint32_t               level = router / map->level_routers, place = router % map->level_routers, digit, unit;

    if (level == 0 && port < map->k)
        return (struct sim_end){ SIM_LINK_TERMINAL, router * map->k + port, 0 };
    if (port < map->k) { /* down: the port is digit level-1 of the router below */
        unit = map->power[level - 1];
        digit = place / unit % map->k;
        return (struct sim_end){ SIM_LINK_LOCAL, (level - 1) * map->level_routers + place + (port - digit) * unit,
                                 map->k + digit };
    }
    if (level == map->n - 1)
        return (struct sim_end){ SIM_LINK_UNUSED, 0, 0 };
    unit = map->power[level];
    digit = place / unit % map->k;
    return (struct sim_end){ SIM_LINK_LOCAL, (level + 1) * map->level_routers + place + (port - map->k - digit) * unit,
                             digit };
}

static void route(struct sim *sim, struct sim_router *router, unsigned in, unsigned vc, struct sim_packet *packet)
{
    const struct tree_map *map = sim->map;
    uint32_t               level = router->index / map->level_routers, place = router->index % map->level_routers;
    uint32_t               goal = packet->target / map->k; /* the target's router on level 0 */

    (void)in;
    packet->out_vc = (uint8_t)vc;
    if (goal / map->power[level] != place / map->power[level])
        packet->out = (uint8_t)(map->k + sim_random_below(&router->random, map->k));
    else if (level == 0)
        packet->out = (uint8_t)(packet->target % map->k);
    else
        packet->out = (uint8_t)(goal / map->power[level - 1] % map->k);
}

const struct sim_topology sim_fattree = {
    .name = "fattree",
    .plan = plan,
    .open = open_map,
    .far = far_end,
    .route = route,
};

/* torus.c: a torus of k routers along each of n dimensions, with p nodes per router.
 *
 * The ports are numbered as follows: nodes first, then, for each dimension, the upper and the lower neighbour. Packets
 * traverse the dimensions in order and take the shorter direction in each ring; if both directions have the same
 * length, the parity of the source decides. A ring is a cycle of links, so a packet uses the lower half of the VCs
 * until it crosses the link between the last and the first router of the ring (the dateline), and the upper half from
 * there on. vc_order=none omits this, and deadlocks under load.
 */
#include "topology.h"

#include <stdlib.h>

struct torus_map {
    uint32_t p, k, n;
    uint32_t step[8]; /* distance between neighbours along a dimension */
};

static tern_status plan(const struct sim_config *config, struct sim_shape *shape)
{
    uint64_t    routers = 1;
    tern_status status;

    for (int64_t i = 0; i < config->n; i++) {
        routers *= (uint64_t)config->k;
        if (routers * (uint64_t)config->p > 1u << 20)
            return tern_base_fail(TERN_ERR_ARG,
                                  "k=%ld, n=%ld and p=%ld are too large together: p * k^n is at most %u nodes",
                                  (long)config->k, (long)config->n, (long)config->p, 1u << 20);
    }
    if ((status = sim_topology_minimal(config)) < 0)
        return status;
    shape->ports = (unsigned)(config->p + 2 * config->n);
    if ((status = sim_topology_ports(shape->ports, "p + 2n")) < 0)
        return status;
    shape->routers = (uint32_t)routers;
    shape->nodes = (uint32_t)(routers * (uint64_t)config->p);
    shape->unit = 1;
    shape->terminals = (unsigned)config->p;
    shape->inner = shape->terminals;
    return sim_topology_vcs(config, shape, config->vc_order == SIM_VC_NONE ? 1 : 2, "topology=torus");
}

static tern_status open_map(struct sim *sim)
{
    struct torus_map *map = calloc(1, sizeof(*map));

    if (map == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for the map of the torus");
    map->p = (uint32_t)sim->config->p;
    map->k = (uint32_t)sim->config->k;
    map->n = (uint32_t)sim->config->n;
    map->step[0] = 1;
    for (uint32_t i = 1; i < map->n; i++)
        map->step[i] = map->step[i - 1] * map->k;
    sim->map = map;
    return TERN_OK;
}

static struct sim_end far_end(const struct sim *sim, uint32_t router, unsigned port)
{
    const struct torus_map *map = sim->map;
    uint32_t                dimension, place, next;
    bool                    below;

    if (port < map->p)
        return (struct sim_end){ SIM_LINK_TERMINAL, router * map->p + port, 0 };
    dimension = (port - map->p) / 2;
    below = (port - map->p) % 2;
    place = router / map->step[dimension] % map->k;
    next = (place + (below ? map->k - 1 : 1)) % map->k;
    return (struct sim_end){ SIM_LINK_LOCAL, router + (next - place) * map->step[dimension],
                             below ? port - 1 : port + 1 };
}

/* Return whether a packet travels downwards in a dimension, from place to goal. */
static bool goes_down(uint32_t k, uint32_t place, uint32_t goal, bool odd)
{
    uint32_t up = (goal + k - place) % k;

    return 2 * up == k ? odd : 2 * up > k;
}

static void route(struct sim *sim, struct sim_router *router, unsigned in, unsigned vc, struct sim_packet *packet)
{
    const struct torus_map *map = sim->map;
    uint32_t                goal = packet->target / map->p, half = sim->vcs / 2;

    if (half > 0 && sim->config->vc_order != SIM_VC_NONE)
        vc %= half; /* the VC within its half; the half is chosen below */
    for (uint32_t i = 0; i < map->n; i++) {
        uint32_t place = router->index / map->step[i] % map->k, there = goal / map->step[i] % map->k;
        bool     below;

        if (place == there)
            continue;
        below = goes_down(map->k, place, there, packet->source & 1);
        packet->out = (uint8_t)(map->p + 2 * i + below);
        if (in < map->p || (in - map->p) / 2 != i)
            packet->flags &= (uint8_t)~SIM_CROSSED; /* the packet enters a new ring */
        if (place == (below ? 0 : map->k - 1))
            packet->flags |= SIM_CROSSED;
        packet->out_vc = (uint8_t)vc;
        if (half > 0 && sim->config->vc_order != SIM_VC_NONE && packet->flags & SIM_CROSSED)
            packet->out_vc = (uint8_t)(vc + half);
        return;
    }
    packet->out = (uint8_t)(packet->target % map->p);
    packet->out_vc = (uint8_t)vc;
}

const struct sim_topology sim_torus = {
    .name = "torus",
    .plan = plan,
    .open = open_map,
    .far = far_end,
    .route = route,
};

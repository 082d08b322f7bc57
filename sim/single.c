/* single.c: a topology of one router with all nodes. A packet keeps the VC that its node chose. */
#include "topology.h"

static tern_status plan(const struct sim_config *config, struct sim_shape *shape)
{
    tern_status status;

    if ((status = sim_topology_minimal(config)) < 0)
        return status;
    shape->ports = (unsigned)config->p;
    shape->routers = shape->unit = 1;
    shape->nodes = shape->ports;
    shape->terminals = shape->ports;
    shape->inner = shape->ports;
    return sim_topology_vcs(config, shape, 1, "topology=single");
}

static tern_status open_map(struct sim *sim)
{
    (void)sim;
    return TERN_OK;
}

static struct sim_end far_end(const struct sim *sim, uint32_t router, unsigned port)
{
    (void)sim;
    (void)router;
    return (struct sim_end){ SIM_LINK_TERMINAL, port, 0 };
}

static void route(struct sim *sim, struct sim_router *router, unsigned in, unsigned vc, struct sim_packet *packet)
{
    (void)sim;
    (void)router;
    (void)in;
    packet->out = (uint8_t)packet->target;
    packet->out_vc = (uint8_t)vc;
}

const struct sim_topology sim_single = {
    .name = "single",
    .plan = plan,
    .open = open_map,
    .far = far_end,
    .route = route,
};

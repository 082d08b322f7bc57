/* topology.c: the list of topologies, and the checks that they share. */
#include "topology.h"

const char *const sim_link_class_name[SIM_LINK_CLASSES] = {
    [SIM_LINK_TERMINAL] = "terminal",
    [SIM_LINK_LOCAL] = "local",
    [SIM_LINK_GLOBAL] = "global",
};

const struct sim_topology *sim_topology_of(const struct sim_config *config)
{
    static const struct sim_topology *const all[] = {
        [SIM_DRAGONFLY] = &sim_dragonfly,
        [SIM_TORUS] = &sim_torus,
        [SIM_FATTREE] = &sim_fattree,
        [SIM_SINGLE] = &sim_single,
    };

    return all[config->topology];
}

tern_status sim_topology_vcs(const struct sim_config *config, struct sim_shape *shape, unsigned needed, const char *why)
{
    shape->vcs = config->vcs > 0 ? (unsigned)config->vcs : needed;
    if (shape->vcs >= needed)
        return TERN_OK;
    return tern_base_fail(TERN_ERR_ARG, "vcs=%u is too few for %s: it needs %u to %d (0: as many as needed)",
                          shape->vcs, why, needed, SIM_MAX_VCS);
}

tern_status sim_topology_ports(unsigned ports, const char *which)
{
    if (ports <= SIM_MAX_PORTS)
        return TERN_OK;
    return tern_base_fail(TERN_ERR_ARG, "a router would have %s = %u ports; at most %d are possible", which, ports,
                          SIM_MAX_PORTS);
}

tern_status sim_topology_minimal(const struct sim_config *config)
{
    if (config->routing == SIM_MIN)
        return TERN_OK;
    return tern_base_fail(TERN_ERR_ARG, "routing must be min on this topology; valiant, ugal, ugal_g and par are for "
                                        "topology=dragonfly");
}

/* cores.c: asks hwloc which cores ternrun may use, and to which socket, NUMA node and L3 cache each core belongs.
 *
 * Only cpus that ternrun itself may use count, so that a job in a container or under taskset stays within its limits. A
 * core of which only some hardware threads may be used is a core with fewer cpus.
 */
#include <stdlib.h>

#include "bind.h"

static hwloc_topology_t load_topology(void)
{
    static const hwloc_obj_type_t kept[] = { HWLOC_OBJ_CORE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_PACKAGE };
    hwloc_topology_t              topology;

    if (hwloc_topology_init(&topology) != 0)
        return NULL;
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        hwloc_topology_set_type_filter(topology, kept[i], HWLOC_TYPE_FILTER_KEEP_ALL);
    /* Without groups, hwloc cannot tell which cores of a socket belong to which of several NUMA nodes of the socket. */
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    if (hwloc_topology_load(topology) == 0)
        return topology;
    hwloc_topology_destroy(topology);
    return NULL;
}

bool run_cores_load(struct run_cores *cores)
{
    hwloc_topology_t topology = load_topology();
    hwloc_bitmap_t   allowed = hwloc_bitmap_alloc();

    *cores = (struct run_cores){ 0 };
    if (topology == NULL || allowed == NULL) {
        hwloc_bitmap_free(allowed);
        if (topology != NULL)
            hwloc_topology_destroy(topology);
        return false;
    }
    if (hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_PROCESS) != 0)
        hwloc_bitmap_copy(allowed, hwloc_topology_get_topology_cpuset(topology));
    return run_cores_of(cores, topology, allowed);
}

/* Return the unit to which a core belongs, or NULL if hwloc knows none. */
static hwloc_obj_t unit_of(hwloc_topology_t topology, hwloc_obj_t core, enum run_level level)
{
    int node = core->nodeset == NULL ? -1 : hwloc_bitmap_first(core->nodeset);

    if (level == LEVEL_NUMA)
        return node < 0 ? NULL : hwloc_get_numanode_obj_by_os_index(topology, (unsigned)node);
    return hwloc_get_ancestor_obj_by_type(topology, level == LEVEL_SOCKET ? HWLOC_OBJ_PACKAGE : HWLOC_OBJ_L3CACHE,
                                          core);
}

/* Add a core that follows previous (NULL: none) in the order of hwloc. Returns false if there is no memory. */
static bool add_core(struct run_cores *cores, hwloc_obj_t core, hwloc_obj_t previous, bool *is_known)
{
    struct run_core *added = &cores->core[cores->count];

    added->cpus = hwloc_bitmap_alloc();
    if (added->cpus == NULL)
        return false;
    hwloc_bitmap_and(added->cpus, core->cpuset, cores->allowed);
    for (enum run_level level = 0; level < LEVELS; level++) {
        hwloc_obj_t unit = unit_of(cores->topology, core, level);

        is_known[level] = is_known[level] && unit != NULL;
        if (previous != NULL)
            added->unit[level] = added[-1].unit[level] + (unit_of(cores->topology, previous, level) != unit);
    }
    cores->count++;
    return true;
}

bool run_cores_of(struct run_cores *cores, hwloc_topology_t topology, hwloc_bitmap_t allowed)
{
    bool             is_known[LEVELS] = { true, true, true };
    hwloc_obj_type_t type = HWLOC_OBJ_CORE;
    hwloc_obj_t      core = NULL, previous = NULL;
    int              most;

    *cores = (struct run_cores){ .topology = topology, .allowed = allowed };
    hwloc_bitmap_and(allowed, allowed, hwloc_topology_get_topology_cpuset(topology));
    if (hwloc_get_nbobjs_by_type(topology, type) <= 0)
        type = HWLOC_OBJ_PU; /* hwloc finds no cores on this machine */
    most = hwloc_get_nbobjs_by_type(topology, type);
    cores->core = most > 0 ? calloc((size_t)most, sizeof(cores->core[0])) : NULL;
    while (cores->core != NULL && (core = hwloc_get_next_obj_by_type(topology, type, core)) != NULL) {
        if (!hwloc_bitmap_intersects(core->cpuset, allowed))
            continue;
        if (!add_core(cores, core, previous, is_known))
            return false;
        previous = core;
    }
    for (int level = 0; level < LEVELS && cores->count > 0; level++) {
        cores->units[level] = is_known[level] ? cores->core[cores->count - 1].unit[level] + 1 : 0;
        for (int i = 0; i < cores->count && !is_known[level]; i++)
            cores->core[i].unit[level] = 0;
    }
    return cores->count > 0;
}

void run_cores_free(struct run_cores *cores)
{
    for (int i = 0; i < cores->count; i++)
        hwloc_bitmap_free(cores->core[i].cpus);
    free(cores->core);
    hwloc_bitmap_free(cores->allowed);
    if (cores->topology != NULL)
        hwloc_topology_destroy(cores->topology);
    *cores = (struct run_cores){ 0 };
}

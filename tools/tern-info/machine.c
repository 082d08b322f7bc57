/* machine.c: the cores, the resources that they share, and the cpus that this process may use, according to hwloc. */
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "info.h"

static void binding(hwloc_topology_t topology)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    char          *text = NULL;
    int            allowed = 0, all = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);

    if (set != NULL && hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_PROCESS) == 0) {
        allowed = hwloc_bitmap_weight(set);
        hwloc_bitmap_list_asprintf(&text, set);
    }
    if (text == NULL)
        info_text("binding", "this process runs on", "unknown");
    else
        info_text("binding", "this process runs on", "CPU %s (%s)", text,
                  allowed == 1    ? "bound to one"
                  : allowed < all ? "bound to some"
                                  : "not bound");
    free(text);
    hwloc_bitmap_free(set);
}

static void caches(hwloc_topology_t topology)
{
    static const struct {
        hwloc_obj_type_t type;
        const char      *key, *label;
    } levels[] = { { HWLOC_OBJ_L1CACHE, "l1d_bytes", "L1 data cache, each" },
                   { HWLOC_OBJ_L2CACHE, "l2_bytes", "L2 cache, each" },
                   { HWLOC_OBJ_L3CACHE, "l3_bytes", "L3 cache, each" } };

    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        hwloc_obj_t cache = hwloc_get_obj_by_type(topology, levels[i].type, 0);

        if (cache != NULL)
            info_bytes(levels[i].key, levels[i].label, cache->attr->cache.size);
    }
}

static void counts(hwloc_topology_t topology)
{
    static const struct {
        hwloc_obj_type_t type;
        const char      *key, *label;
    } kinds[] = { { HWLOC_OBJ_PACKAGE, "packages", "packages" },
                  { HWLOC_OBJ_NUMANODE, "numa_nodes", "NUMA nodes" },
                  { HWLOC_OBJ_CORE, "cores", "cores" },
                  { HWLOC_OBJ_PU, "cpus", "hardware threads" } };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        int n = hwloc_get_nbobjs_by_type(topology, kinds[i].type);

        info_number(kinds[i].key, kinds[i].label, n > 0 ? (uint64_t)n : 0, "");
    }
}

void info_machine(void)
{
    hwloc_topology_t topology;
    hwloc_obj_t      package;
    const char      *model;

    info_section("machine", "Cores");
    if (hwloc_topology_init(&topology) < 0) {
        info_text("error", "topology", "hwloc could not be started");
        info_section_end();
        return;
    }
    if (hwloc_topology_load(topology) < 0) {
        info_text("error", "topology", "hwloc could not read the topology");
    } else {
        package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
        model = package != NULL ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
        info_text("model", "model", "%s", model != NULL ? model : "unknown");
        counts(topology);
        caches(topology);
        binding(topology);
    }
    hwloc_topology_destroy(topology);
    info_section_end();
}

/* machine.c: the cores, the resources that they share, and the cpus that this process may use, according to hwloc. */
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"

/* Write a set of processors as a list, such as 0-3,8. */
static void list_text(hwloc_const_bitmap_t set, char *text, size_t size)
{
    if (set == NULL || hwloc_bitmap_iszero(set))
        snprintf(text, size, "none");
    else
        hwloc_bitmap_list_snprintf(text, size, set);
}

static int count_inside(hwloc_topology_t topology, hwloc_const_bitmap_t set, hwloc_obj_type_t type)
{
    int count = 0;

    for (hwloc_obj_t object = NULL; (object = hwloc_get_next_obj_by_type(topology, type, object)) != NULL;)
        count += hwloc_bitmap_intersects(object->cpuset, set) != 0;
    return count;
}

/* Print how many cores and hardware threads this process may use: those of its binding that its control group allows,
 * and the time on them. */
static void usable(hwloc_topology_t topology)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    double         quota = info_cpu_quota();

    if (set != NULL && hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_PROCESS) == 0) {
        hwloc_bitmap_and(set, set, hwloc_topology_get_allowed_cpuset(topology));
        info_number("usable_cores", "cores usable from here", (uint64_t)count_inside(topology, set, HWLOC_OBJ_CORE),
                    "");
        info_number("usable_cpus", "hardware threads usable", (uint64_t)hwloc_bitmap_weight(set), "");
    }
    if (quota > 0)
        info_text("cpu_quota", "CPU time usable", "that of %.2f CPUs, limited by the control group", quota);
    else
        info_no_limit("cpu_quota", "CPU time usable");
    hwloc_bitmap_free(set);
}

/* Print the NUMA nodes. */
static void numa_nodes(hwloc_topology_t topology)
{
    hwloc_bitmap_t bound = hwloc_bitmap_alloc(), shared = hwloc_bitmap_alloc();

    info_list("numa", "NUMA nodes");
    if (bound != NULL && hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_PROCESS) != 0)
        hwloc_bitmap_fill(bound);
    for (hwloc_obj_t node = NULL; (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != NULL;) {
        char number[16], memory[32], cpus[256], usable_cpus[256], cores[16], text[800];

        if (bound == NULL || shared == NULL)
            break;
        hwloc_bitmap_and(shared, bound, node->cpuset);
        snprintf(number, sizeof(number), "%u", node->os_index);
        snprintf(memory, sizeof(memory), "%llu", (unsigned long long)node->attr->numanode.local_memory);
        snprintf(cores, sizeof(cores), "%d", count_inside(topology, node->cpuset, HWLOC_OBJ_CORE));
        list_text(node->cpuset, cpus, sizeof(cpus));
        list_text(shared, usable_cpus, sizeof(usable_cpus));
        snprintf(text, sizeof(text), "node %s: %.1f GiB, %s cores, CPUs %s, usable from here: %s", number,
                 (double)node->attr->numanode.local_memory / (1 << 30), cores, cpus, usable_cpus);
        info_item(text,
                  (struct info_field[]){ { "node", number },
                                         { "memory_bytes", memory },
                                         { "cores", cores },
                                         { "cpus", cpus },
                                         { "usable_cpus", usable_cpus } },
                  5);
    }
    hwloc_bitmap_free(bound);
    hwloc_bitmap_free(shared);
    info_list_end();
}

/* Print how many caches of each level there are, and how many hardware threads share one. */
static void cache_levels(hwloc_topology_t topology)
{
    static const struct {
        hwloc_obj_type_t type;
        const char      *name;
    } levels[] = { { HWLOC_OBJ_L1CACHE, "L1d" }, { HWLOC_OBJ_L2CACHE, "L2" }, { HWLOC_OBJ_L3CACHE, "L3" } };

    info_list("caches", "Caches");
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        hwloc_obj_t cache = hwloc_get_obj_by_type(topology, levels[i].type, 0);
        char        count[16], bytes[32], cpus[16], text[256];

        if (cache == NULL)
            continue;
        snprintf(count, sizeof(count), "%d", hwloc_get_nbobjs_by_type(topology, levels[i].type));
        snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)cache->attr->cache.size);
        snprintf(cpus, sizeof(cpus), "%d", hwloc_bitmap_weight(cache->cpuset));
        snprintf(text, sizeof(text), "%-4s %s of %llu KiB, each for %s hardware thread%s", levels[i].name, count,
                 (unsigned long long)cache->attr->cache.size / 1024, cpus, strcmp(cpus, "1") == 0 ? "" : "s");
        info_item(text,
                  (struct info_field[]){
                      { "level", levels[i].name }, { "count", count }, { "bytes", bytes }, { "cpus_each", cpus } },
                  4);
    }
    info_list_end();
}

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

/* Print the section of the cores. Returns whether hwloc has read the topology. */
static bool cores(hwloc_topology_t topology)
{
    bool        loaded = hwloc_topology_load(topology) == 0;
    hwloc_obj_t package = loaded ? hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0) : NULL;
    const char *model = package != NULL ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;

    info_section("machine", "Cores");
    if (loaded) {
        info_text("model", "model", "%s", model != NULL ? model : "unknown");
        counts(topology);
        usable(topology);
        binding(topology);
    } else {
        info_text("error", "topology", "hwloc could not read the topology");
    }
    info_section_end();
    return loaded;
}

void info_machine(void)
{
    hwloc_topology_t topology;

    if (hwloc_topology_init(&topology) < 0) {
        info_section("machine", "Cores");
        info_text("error", "topology", "hwloc could not be started");
        info_section_end();
        return;
    }
    if (cores(topology)) {
        numa_nodes(topology);
        cache_levels(topology);
    }
    hwloc_topology_destroy(topology);
}

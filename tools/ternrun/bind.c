/* bind.c: decides with hwloc which rank runs on which cpus.
 *
 * Only cpus that ternrun itself may use are considered, so that a job in a container or under taskset stays within its
 * limits. A rank that is bound to a core may use all hardware threads of that core. Oversubscribed ranks are left to
 * the kernel's scheduler, which knows which ranks are waiting.
 */
#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "ternrun.h"

#define MAX_CPUS 65536

struct run_plan {
    hwloc_topology_t topology;
    hwloc_bitmap_t   allowed; /* cpus that ternrun may use */
    hwloc_bitmap_t  *set;     /* [ranks]; NULL: not bound */
    int              ranks, cores, cpus;
    bool             is_strict; /* a rank that cannot be bound is an error, because the user named the cpus */
    char             summary[256];
};

/* Load only the needed part of the topology: cores and hardware threads. Returns false on failure. */
static bool load_machine(struct run_plan *plan)
{
    hwloc_const_cpuset_t known;

    if (hwloc_topology_init(&plan->topology) != 0)
        return false;
    hwloc_topology_set_all_types_filter(plan->topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(plan->topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    plan->allowed = hwloc_bitmap_alloc();
    if (plan->allowed == NULL || hwloc_topology_load(plan->topology) != 0)
        return false;
    known = hwloc_topology_get_topology_cpuset(plan->topology);
    if (hwloc_get_cpubind(plan->topology, plan->allowed, HWLOC_CPUBIND_PROCESS) != 0)
        hwloc_bitmap_copy(plan->allowed, known);
    hwloc_bitmap_and(plan->allowed, plan->allowed, known);
    plan->cpus = hwloc_bitmap_weight(plan->allowed);
    return plan->cpus > 0;
}

/* Store the allowed cpus of each core in set[0 ... most - 1]. Returns the number of cores that have any. */
static int list_cores(const struct run_plan *plan, hwloc_bitmap_t *set, int most)
{
    hwloc_obj_t core = NULL;
    int         found = 0;

    while ((core = hwloc_get_next_obj_by_type(plan->topology, HWLOC_OBJ_CORE, core)) != NULL) {
        if (!hwloc_bitmap_intersects(core->cpuset, plan->allowed))
            continue;
        if (found < most && (set[found] = hwloc_bitmap_alloc()) != NULL)
            hwloc_bitmap_and(set[found], core->cpuset, plan->allowed);
        found++;
    }
    return found;
}

/* Bind one rank to each core if there are enough cores. */
static void plan_cores(struct run_plan *plan, const struct run_config *config)
{
    plan->cores = list_cores(plan, NULL, 0);
    if (plan->cores == 0)
        plan->cores = plan->cpus; /* hwloc finds no cores on this machine */
    if (config->binding == BIND_NONE || config->binding == BIND_LIST || plan->ranks > plan->cores)
        return;
    list_cores(plan, plan->set, plan->ranks);
}

static bool refuse_list(const char *list, const char *why)
{
    run_say("--bind %.200s: %s; see ternrun --help", list, why);
    return false;
}

/* Parse "number" or "number-number" at *at, and advance *at. Returns false if the text is invalid. */
static bool take_range(const char **at, int64_t *first, int64_t *last)
{
    char   text[32], *dash;
    size_t len = strcspn(*at, ",");

    if (len == 0 || len >= sizeof(text))
        return false;
    memcpy(text, *at, len);
    text[len] = '\0';
    *at += len;
    dash = strchr(text, '-');
    if (dash != NULL)
        *dash++ = '\0';
    return tern_base_parse_count(text, first) && tern_base_parse_count(dash != NULL ? dash : text, last) &&
           *first >= 0 && *first <= *last && *last < MAX_CPUS;
}

/* Store the cpus of the list, in its order, in cpu[MAX_CPUS]. Returns their number, or -1 after printing a message. */
static int read_list(const struct run_plan *plan, const char *list, unsigned *cpu)
{
    const char *at = list;
    int         count = 0;
    int64_t     first, last;
    char        text[512], why[640];

    for (;; at++) {
        if (!take_range(&at, &first, &last))
            return refuse_list(list, "not a list of cpus such as 0,2,4-7"), -1;
        for (int64_t i = first; i <= last && count < MAX_CPUS; i++) {
            if (!hwloc_bitmap_isset(plan->allowed, (unsigned)i)) {
                hwloc_bitmap_list_snprintf(text, sizeof(text), plan->allowed);
                snprintf(why, sizeof(why), "cpu %d is not among those that ternrun may use, which are %s", (int)i,
                         text);
                return refuse_list(list, why), -1;
            }
            cpu[count++] = (unsigned)i;
        }
        if (*at == '\0')
            return count;
    }
}

/* Bind rank i to the i-th cpu of the list, starting over if the list is shorter. Returns false after printing a
 * message. */
static bool plan_list(struct run_plan *plan, const struct run_config *config)
{
    unsigned      *cpu = malloc(MAX_CPUS * sizeof(*cpu));
    int            count = cpu == NULL ? -1 : read_list(plan, config->cpu_list, cpu);
    hwloc_bitmap_t used = hwloc_bitmap_alloc();

    for (int r = 0; r < plan->ranks && count > 0 && used != NULL; r++) {
        plan->set[r] = hwloc_bitmap_alloc();
        if (plan->set[r] != NULL)
            hwloc_bitmap_only(plan->set[r], cpu[r % count]);
        hwloc_bitmap_set(used, cpu[r % count]);
    }
    plan->is_strict = true;
    if (count > 0 && used != NULL)
        plan->cpus = hwloc_bitmap_weight(used); /* so that ranks that share a cpu yield to each other */
    hwloc_bitmap_free(used);
    free(cpu);
    return count > 0;
}

static void summarize(struct run_plan *plan, int seen)
{
    const char *how = plan->set[0] == NULL ? "ranks are not bound"
                      : plan->is_strict    ? "ranks are bound to the cpus given"
                                           : "each rank is bound to a core";

    snprintf(plan->summary, sizeof(plan->summary), "%d ranks, %d cores with %d cpus to use; %s%s", plan->ranks,
             plan->cores, seen, how,
             plan->ranks > plan->cores && plan->set[0] == NULL ? ": more ranks than cores" : "");
}

struct run_plan *run_bind_plan(const struct run_config *config, int *status)
{
    struct run_plan *plan = calloc(1, sizeof(*plan));
    int              seen;

    *status = EXIT_TROUBLE;
    if (plan != NULL)
        plan->set = calloc((size_t)config->ranks, sizeof(plan->set[0]));
    if (plan == NULL || plan->set == NULL || !load_machine(plan)) {
        run_say("cannot find out which cpus this machine has (hwloc)");
        goto err_free;
    }
    plan->ranks = config->ranks;
    seen = plan->cpus;
    plan_cores(plan, config);
    *status = EXIT_USAGE;
    if (config->binding == BIND_CORE && plan->ranks > plan->cores)
        run_say("--bind core: there are %d ranks and %d cores, so the ranks are not bound", plan->ranks, plan->cores);
    if (config->binding == BIND_LIST && !plan_list(plan, config))
        goto err_free;
    summarize(plan, seen);
    return plan;
err_free:
    run_bind_free(plan);
    return NULL;
}

int run_bind_cpus(const struct run_plan *plan)
{
    return plan->cpus;
}

const char *run_bind_summary(const struct run_plan *plan)
{
    return plan->summary;
}

void run_bind_text(const struct run_plan *plan, int rank, char *text, size_t size)
{
    if (plan->set[rank] == NULL)
        snprintf(text, size, "any cpu");
    else if (hwloc_bitmap_weight(plan->set[rank]) == 1)
        snprintf(text, size, "cpu %d", hwloc_bitmap_first(plan->set[rank]));
    else
        hwloc_bitmap_list_snprintf(text + snprintf(text, size, "cpus "), size - 5, plan->set[rank]);
}

int run_bind_apply(const struct run_plan *plan, int rank)
{
    if (plan->set[rank] == NULL || hwloc_set_cpubind(plan->topology, plan->set[rank], HWLOC_CPUBIND_PROCESS) == 0)
        return 0;
    return plan->is_strict ? errno : 0;
}

void run_bind_free(struct run_plan *plan)
{
    if (plan == NULL)
        return;
    for (int r = 0; r < plan->ranks; r++)
        hwloc_bitmap_free(plan->set[r]);
    free(plan->set);
    hwloc_bitmap_free(plan->allowed);
    if (plan->topology != NULL)
        hwloc_topology_destroy(plan->topology);
    free(plan);
}

/* bind.c: chooses from the options on which cpus each rank runs, and binds the ranks.
 *
 * Without an option, ranks are bound only if the ranks of this host fill the cores that ternrun may use. In all other
 * cases the kernel's scheduler places them: it knows which cores are idle, although two jobs, or two nodes of one job,
 * run on the same machine and do not know of each other, and it knows which of the oversubscribed ranks are waiting. A
 * rank that is bound to a core may use all hardware threads of that core.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "bind.h"
#include "ternrun.h"

#define MAX_CPUS 65536

struct run_plan {
    struct run_cores cores;
    hwloc_bitmap_t  *set;     /* [ranks]; NULL: not bound */
    int             *threads; /* [ranks] number of threads that find a core of their own */
    int              ranks;
    int              cpus; /* cpus that the job may use */
    bool             is_bound;
    bool             is_asked; /* a rank that cannot be bound is an error, because the user asked for the binding */
    char             why[160], summary[320];
};

/* The words that --bind accepts, in the order of enum run_binding. */
static const char *const words[] = {
    [BIND_CORE] = "core", [BIND_SHARE] = "share",   [BIND_L3] = "l3",
    [BIND_NUMA] = "numa", [BIND_SOCKET] = "socket", [BIND_NONE] = "none",
};

bool run_bind_read(struct run_config *config, const char *text)
{
    for (int i = BIND_CORE; i <= BIND_NONE; i++)
        if (strcmp(text, words[i]) == 0) {
            config->binding = (enum run_binding)i;
            return true;
        }
    config->binding = BIND_LIST;
    config->cpu_list = text;
    return *text != '\0' && text[strspn(text, "0123456789,-/")] == '\0';
}

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

/* ---- lists of cpus ---- */

static bool refuse_list(const char *list, const char *why)
{
    run_say("--bind %.200s: %s; see ternrun --help", list, why);
    return false;
}

/* Parse "number" or "number-number" at *at, and advance *at. Returns false if the text is invalid. */
static bool take_range(const char **at, int64_t *first, int64_t *last)
{
    char   text[32], *dash;
    size_t len = strcspn(*at, ",/");

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

/* The cpus of a list, in its order. The entry of a cpu is the number of the entry to which it belongs. */
struct cpu_list {
    int      count, entries;
    unsigned cpu[MAX_CPUS], entry[MAX_CPUS];
};

/* Append a range of cpus to the list. Returns false after printing a message. */
static bool add_range(const struct run_plan *plan, const char *text, int64_t first, int64_t last, struct cpu_list *list)
{
    char allowed[512], why[640];

    for (int64_t i = first; i <= last && list->count < MAX_CPUS; i++) {
        if (!hwloc_bitmap_isset(plan->cores.allowed, (unsigned)i)) {
            hwloc_bitmap_list_snprintf(allowed, sizeof(allowed), plan->cores.allowed);
            snprintf(why, sizeof(why), "cpu %d is not among those that ternrun may use, which are %s", (int)i, allowed);
            return refuse_list(text, why);
        }
        list->cpu[list->count] = (unsigned)i;
        list->entry[list->count++] = (unsigned)list->entries;
        if (strchr(text, '/') == NULL)
            list->entries++;
    }
    return true;
}

/* Read a list of cpus. Each cpu is an entry, or, in a list with slashes, the cpus between two slashes. Returns false
 * after printing a message. */
static bool read_list(const struct run_plan *plan, const char *text, struct cpu_list *list)
{
    const char *at = text;
    int64_t     first, last;

    list->count = list->entries = 0;
    for (;; at++) {
        if (!take_range(&at, &first, &last))
            return refuse_list(text, "not a list of cpus such as 0,2,4-7, or 0-3/4-7 for several cpus for each rank");
        if (!add_range(plan, text, first, last, list))
            return false;
        if (*at == '/' || (*at == '\0' && strchr(text, '/') != NULL))
            list->entries++;
        if (*at == '\0')
            return true;
    }
}

/* Bind rank i to the i-th entry of the list, starting over if the list is shorter. Returns false after printing a
 * message. */
static bool plan_list(struct run_plan *plan, const struct run_config *config)
{
    struct cpu_list *list = malloc(sizeof(*list));
    bool             is_good = list != NULL && read_list(plan, config->cpu_list, list);

    if (list == NULL)
        refuse_list(config->cpu_list, "no memory to read the list");
    for (int r = 0; r < plan->ranks && is_good; r++) {
        plan->set[r] = hwloc_bitmap_alloc();
        for (int i = 0; i < list->count && plan->set[r] != NULL; i++)
            if (list->entry[i] == (unsigned)(r % list->entries))
                hwloc_bitmap_set(plan->set[r], list->cpu[i]);
    }
    plan->is_bound = is_good;
    free(list);
    return is_good;
}

/* ---- shares of cores ---- */

/* Return the name of a unit of the level, for messages. */
static const char *unit_name(enum run_level level)
{
    static const char *const name[] = { "socket", "NUMA node", "L3 cache" };

    return name[level];
}

/* Bind the ranks to their shares. */
static void bind_shares(struct run_plan *plan, const struct run_share *share)
{
    for (int r = 0; r < plan->ranks; r++) {
        plan->set[r] = hwloc_bitmap_alloc();
        for (int i = 0; i < share[r].count && plan->set[r] != NULL; i++)
            hwloc_bitmap_or(plan->set[r], plan->set[r], plan->cores.core[share[r].first + i].cpus);
    }
    plan->is_bound = true;
}

static enum run_level level_of(enum run_binding binding)
{
    return binding == BIND_L3 ? LEVEL_L3 : binding == BIND_NUMA ? LEVEL_NUMA : LEVEL_SOCKET;
}

static bool is_unit(enum run_binding binding)
{
    return binding == BIND_L3 || binding == BIND_NUMA || binding == BIND_SOCKET;
}

/* Check that there are enough cores for --cores-per-rank, and enough in each unit. Returns false after printing a
 * message. */
static bool check_cores(const struct run_plan *plan, const struct run_config *config)
{
    int            cores = plan->cores.count, each = config->cores_per_rank, room;
    enum run_level level = level_of(config->binding);

    if ((int64_t)plan->ranks * each > cores) {
        run_say("--cores-per-rank %d: %d rank%s would need %lld cores, and ternrun may use %d; give at most %d%s; see "
                "ternrun --help",
                each, plan->ranks, plural(plan->ranks), (long long)plan->ranks * each, cores,
                cores >= plan->ranks ? cores / plan->ranks : cores, cores >= plan->ranks ? "" : " ranks");
        return false;
    }
    room = run_shares_room(&plan->cores, each, level);
    if (is_unit(config->binding) && room < plan->ranks) {
        run_say(
            "--bind %s --cores-per-rank %d: of %d rank%s with %d cores each, only %d can have all their cores in one "
            "%s; give fewer cores or ranks, or --bind core; see ternrun --help",
            words[config->binding], each, plan->ranks, plural(plan->ranks), each, room, unit_name(level));
        return false;
    }
    return true;
}

/* Check that hwloc knows the units of --bind. Returns false after printing a message. */
static bool check_units(const struct run_plan *plan, const struct run_config *config)
{
    char known[64] = "";

    if (!is_unit(config->binding) || plan->cores.units[level_of(config->binding)] > 0)
        return true;
    for (int i = BIND_L3; i <= BIND_SOCKET; i++)
        if (plan->cores.units[level_of((enum run_binding)i)] > 0)
            snprintf(known + strlen(known), sizeof(known) - strlen(known), ", %s", words[i]);
    run_say(
        "--bind %s: hwloc does not know to which %s the cores of this machine belong; give core, share%s or none; see "
        "ternrun --help",
        words[config->binding], unit_name(level_of(config->binding)), known);
    return false;
}

/* Return whether the ranks are to be bound to shares of the cores, and write down the reason. */
static bool wants_shares(struct run_plan *plan, const struct run_config *config)
{
    int  ranks = plan->ranks, cores = plan->cores.count;
    char asked[64] = "", each[64] = "";

    if (config->binding != BIND_AUTO)
        snprintf(asked, sizeof(asked), "--bind %s", words[config->binding]);
    if (config->cores_per_rank > 0)
        snprintf(each, sizeof(each), "%s--cores-per-rank %d", *asked != '\0' ? " " : "", config->cores_per_rank);
    snprintf(plan->why, sizeof(plan->why), "%s%s", asked, each);
    if (config->binding == BIND_NONE)
        return false;
    if (config->cores_per_rank > 0 || is_unit(config->binding))
        return true;
    if (ranks > cores) {
        if (config->binding != BIND_AUTO)
            run_say("%s: there are %d ranks and %d cores, so the ranks are not bound", asked, ranks, cores);
        snprintf(plan->why, sizeof(plan->why), "there are more ranks (%d) than cores (%d)", ranks, cores);
        return false;
    }
    if (config->binding == BIND_AUTO)
        snprintf(plan->why, sizeof(plan->why), "%d rank%s %s %d core%s", ranks, plural(ranks),
                 ranks == cores ? ranks == 1 ? "fills" : "fill"
                 : ranks == 1   ? "does not fill"
                                : "do not fill",
                 cores, plural(cores));
    return config->binding != BIND_AUTO || ranks == cores;
}

/* Choose the cpus of each rank. Returns false after printing a message. */
static bool choose(struct run_plan *plan, const struct run_config *config)
{
    struct run_share *share;
    int               each = config->cores_per_rank > 0 ? config->cores_per_rank : 1;
    bool              is_good = true;

    if (config->binding == BIND_LIST) {
        snprintf(plan->why, sizeof(plan->why), "--bind %.100s", config->cpu_list);
        return plan_list(plan, config);
    }
    if (!check_units(plan, config) || (config->cores_per_rank > 0 && !check_cores(plan, config)))
        return false;
    if (!wants_shares(plan, config))
        return true;
    share = calloc((size_t)plan->ranks, sizeof(*share));
    if (share == NULL)
        is_good = false;
    else if (is_unit(config->binding) && config->cores_per_rank == 0)
        run_shares_units(&plan->cores, plan->ranks, level_of(config->binding), share);
    else if (config->binding == BIND_SHARE)
        is_good = run_shares_divide(&plan->cores, plan->ranks, share);
    else
        is_good = run_shares_pack(&plan->cores, plan->ranks, each, level_of(config->binding), share);
    if (is_good)
        bind_shares(plan, share);
    else
        run_say("no memory to place %d ranks", plan->ranks);
    free(share);
    return is_good;
}

/* ---- the plan ---- */

/* Return whether the rank may run on the core. */
static bool has_core(const struct run_plan *plan, int rank, int core)
{
    return plan->set[rank] == NULL || hwloc_bitmap_intersects(plan->set[rank], plan->cores.core[core].cpus);
}

/* Return the number of cores on which the rank may run. */
static int cores_of(const struct run_plan *plan, int rank)
{
    int count = 0;

    for (int i = 0; i < plan->cores.count; i++)
        count += has_core(plan, rank, i);
    return count;
}

/* Count the threads that each rank can run on cores of its own. Ranks that share a core divide it. Returns false
 * after printing a message. */
static bool count_threads(struct run_plan *plan, const struct run_config *config)
{
    int  each = config->cores_per_rank > 0 ? config->cores_per_rank : plan->cores.count / plan->ranks;
    int *users;

    for (int r = 0; r < plan->ranks; r++)
        plan->threads[r] = each > 0 ? each : 1;
    if (!plan->is_bound || config->cores_per_rank > 0)
        return true;
    users = calloc((size_t)plan->cores.count, sizeof(*users));
    if (users == NULL) {
        run_say("no memory to place %d ranks", plan->ranks);
        return false;
    }
    for (int r = 0; r < plan->ranks; r++)
        for (int i = 0; i < plan->cores.count; i++)
            users[i] += has_core(plan, r, i);
    for (int r = 0; r < plan->ranks; r++) {
        double sum = 1e-6; /* covers rounding errors */

        for (int i = 0; i < plan->cores.count; i++)
            sum += has_core(plan, r, i) ? 1.0 / users[i] : 0;
        plan->threads[r] = sum > 1 ? (int)sum : 1;
    }
    free(users);
    return true;
}

/* Count the cpus that the ranks may use together, so that ranks that share a cpu yield to each other. */
static void count_cpus(struct run_plan *plan)
{
    hwloc_bitmap_t used = plan->is_bound ? hwloc_bitmap_alloc() : NULL;

    plan->cpus = hwloc_bitmap_weight(plan->cores.allowed);
    for (int r = 0; r < plan->ranks && used != NULL; r++)
        if (plan->set[r] != NULL)
            hwloc_bitmap_or(used, used, plan->set[r]);
    if (used != NULL && !hwloc_bitmap_iszero(used))
        plan->cpus = hwloc_bitmap_weight(used);
    hwloc_bitmap_free(used);
}

static void summarize(struct run_plan *plan)
{
    snprintf(plan->summary, sizeof(plan->summary), "%d rank%s, %d core%s with %d cpus to use; ranks are %sbound: %s",
             plan->ranks, plural(plan->ranks), plan->cores.count, plural(plan->cores.count),
             hwloc_bitmap_weight(plan->cores.allowed), plan->is_bound ? "" : "not ", plan->why);
}

/* Decide for the cores that were loaded. Returns false after printing a message. */
static bool fill_plan(struct run_plan *plan, const struct run_config *config)
{
    plan->ranks = config->ranks;
    plan->is_asked = config->binding != BIND_AUTO || config->cores_per_rank > 0;
    if (!choose(plan, config) || !count_threads(plan, config))
        return false;
    count_cpus(plan);
    summarize(plan);
    return true;
}

struct run_plan *run_bind_plan(const struct run_config *config, int *status)
{
    struct run_plan *plan = calloc(1, sizeof(*plan));
    size_t           ranks = (size_t)config->ranks;

    *status = EXIT_TROUBLE;
    if (plan != NULL) {
        plan->set = calloc(ranks, sizeof(hwloc_bitmap_t));
        plan->threads = calloc(ranks, sizeof(plan->threads[0]));
    }
    if (plan == NULL || plan->set == NULL || plan->threads == NULL) {
        run_say("no memory to place %d ranks", config->ranks);
        goto err_free;
    }
    if (!run_cores_load(&plan->cores)) {
        run_say("cannot find out which cpus this machine has (hwloc)");
        goto err_free;
    }
    *status = EXIT_USAGE;
    if (!fill_plan(plan, config))
        goto err_free;
    return plan;
err_free:
    run_bind_free(plan);
    return NULL;
}

int run_bind_cpus(const struct run_plan *plan)
{
    return plan->cpus;
}

int run_bind_threads(const struct run_plan *plan, int rank)
{
    return plan->threads[rank];
}

const char *run_bind_summary(const struct run_plan *plan)
{
    return plan->summary;
}

/* Write "cpu 3" or "cpus 0-1,4". */
static void cpus_text(hwloc_const_bitmap_t set, char *text, size_t size)
{
    char list[400];

    hwloc_bitmap_list_snprintf(list, sizeof(list), set);
    snprintf(text, size, "cpu%s %s", plural(hwloc_bitmap_weight(set)), list);
}

void run_bind_text(const struct run_plan *plan, int rank, char *text, size_t size)
{
    if (plan->set[rank] == NULL)
        snprintf(text, size, "any cpu");
    else
        cpus_text(plan->set[rank], text, size);
}

void run_bind_show(const struct run_plan *plan, int rank, const char *threads, char *text, size_t size)
{
    char cpus[420], own[16];
    int  cores = cores_of(plan, rank);

    cpus_text(plan->set[rank] != NULL ? plan->set[rank] : plan->cores.allowed, cpus, sizeof(cpus));
    snprintf(own, sizeof(own), "%d", plan->threads[rank]);
    snprintf(text, size, "%s %s (%d core%s), OMP_NUM_THREADS=%.20s; reason: %s",
             plan->set[rank] != NULL ? "bound to" : "not bound, may use", cpus, cores, plural(cores),
             threads != NULL ? threads : own, plan->why);
}

int run_bind_apply(const struct run_plan *plan, int rank)
{
    if (plan->set[rank] == NULL || hwloc_set_cpubind(plan->cores.topology, plan->set[rank], HWLOC_CPUBIND_PROCESS) == 0)
        return 0;
    return plan->is_asked ? errno : 0;
}

void run_bind_free(struct run_plan *plan)
{
    if (plan == NULL)
        return;
    for (int r = 0; r < plan->ranks; r++)
        hwloc_bitmap_free(plan->set[r]);
    free(plan->set);
    free(plan->threads);
    run_cores_free(&plan->cores);
    free(plan);
}

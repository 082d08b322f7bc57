/* select.c: the choice of an algorithm by call, length and team, and the option TERN_COLL, which forces one.
 *
 * The rules of a call are in the order of their lengths; the first one that applies counts. All ranks of a team must
 * choose alike, so a rule depends only on values that are the same on all of them. docs/collectives.md says how the
 * limits were measured. */
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "core/job.h"
#include "op/coll/coll.h"
#include "op/coll/nodes.h"

static const struct tern_coll_algorithm *const algorithms[TERN_COLL_COUNT] = {
    [TERN_COLL_SYNC] = tern_coll_sync,
    [TERN_COLL_BROADCAST] = tern_coll_broadcast,
    [TERN_COLL_REDUCE] = tern_coll_reduce,
    [TERN_COLL_ALLREDUCE] = tern_coll_allreduce,
    [TERN_COLL_REDUCE_SCATTER] = tern_coll_reduce_scatter,
    [TERN_COLL_REDUCE_SCATTERV] = tern_coll_reduce_scatterv,
    [TERN_COLL_GATHER] = tern_coll_gather,
    [TERN_COLL_GATHERV] = tern_coll_gatherv,
    [TERN_COLL_SCATTER] = tern_coll_scatter,
    [TERN_COLL_SCATTERV] = tern_coll_scatterv,
    [TERN_COLL_ALLGATHER] = tern_coll_allgather,
    [TERN_COLL_ALLGATHERV] = tern_coll_allgatherv,
    [TERN_COLL_ALLTOALL] = tern_coll_alltoall,
    [TERN_COLL_ALLTOALLV] = tern_coll_alltoallv,
    [TERN_COLL_ALLTOALLS] = tern_coll_alltoalls,
    [TERN_COLL_SCAN] = tern_coll_scan,
    [TERN_COLL_EXSCAN] = tern_coll_scan,
    [TERN_COLL_BARRIER] = tern_coll_sync,
};

/* A rule: the algorithm for lengths of up to `most` bytes of one rank's contribution, in teams of at least `ranks`. It
 * applies if the algorithm can be used for the team. */
struct rule {
    uint8_t     call;
    int         ranks;
    uint64_t    most;
    const char *name;
};

static const struct rule rules[] = {
    { TERN_COLL_SYNC, 2, UINT64_MAX, "hierarchical" },
    { TERN_COLL_SYNC, 2, UINT64_MAX, "dissemination" },
    { TERN_COLL_BARRIER, 2, UINT64_MAX, "hierarchical" },
    { TERN_COLL_BARRIER, 2, UINT64_MAX, "dissemination" },
    { TERN_COLL_BROADCAST, 8, 256 << 10, "binomial" },
    { TERN_COLL_BROADCAST, 8, UINT64_MAX, "scatter_ring" },
    { TERN_COLL_BROADCAST, 2, UINT64_MAX, "binomial" },
    { TERN_COLL_REDUCE, 2, UINT64_MAX, "binomial" },
    { TERN_COLL_ALLREDUCE, 2, 256 << 10, "hierarchical" },
    { TERN_COLL_ALLREDUCE, 8, 8 << 10, "recursive_doubling" },
    { TERN_COLL_ALLREDUCE, 8, UINT64_MAX, "rabenseifner" },
    { TERN_COLL_ALLREDUCE, 4, 64 << 10, "recursive_doubling" },
    { TERN_COLL_ALLREDUCE, 4, UINT64_MAX, "pieces" },
    { TERN_COLL_ALLREDUCE, 2, 256 << 10, "recursive_doubling" },
    { TERN_COLL_ALLREDUCE, 2, UINT64_MAX, "rabenseifner" },
    { TERN_COLL_REDUCE_SCATTER, 2, 64 << 10, "hierarchical" },
    { TERN_COLL_REDUCE_SCATTER, 2, UINT64_MAX, "pieces" },
    { TERN_COLL_REDUCE_SCATTERV, 2, UINT64_MAX, "pieces" },
    { TERN_COLL_GATHER, 2, 4 << 10, "binomial" },
    { TERN_COLL_GATHER, 2, UINT64_MAX, "linear" },
    { TERN_COLL_GATHERV, 2, UINT64_MAX, "linear" },
    { TERN_COLL_SCATTER, 2, 4 << 10, "binomial" },
    { TERN_COLL_SCATTER, 2, UINT64_MAX, "linear" },
    { TERN_COLL_SCATTERV, 2, UINT64_MAX, "linear" },
    { TERN_COLL_ALLGATHER, 2, 256 << 10, "hierarchical" },
    { TERN_COLL_ALLGATHER, 3, 1 << 10, "bruck" },
    { TERN_COLL_ALLGATHER, 2, UINT64_MAX, "ring" },
    { TERN_COLL_ALLGATHERV, 2, UINT64_MAX, "ring" },
    { TERN_COLL_ALLTOALL, 2, 4 << 10, "hierarchical" },
    { TERN_COLL_ALLTOALL, 8, 256, "bruck" },
    { TERN_COLL_ALLTOALL, 2, 4 << 10, "linear" },
    { TERN_COLL_ALLTOALL, 2, UINT64_MAX, "pairwise" },
    { TERN_COLL_ALLTOALLV, 2, UINT64_MAX, "pairwise" },
    { TERN_COLL_ALLTOALLS, 2, UINT64_MAX, "pairwise" },
    { TERN_COLL_SCAN, 2, UINT64_MAX, "recursive_doubling" },
    { TERN_COLL_EXSCAN, 2, UINT64_MAX, "recursive_doubling" },
};

const char              *tern_op_coll_forced[TERN_COLL_COUNT];
static const char *const others[] = { "board", "direct", "tree" };
#define OTHERS (sizeof(others) / sizeof(others[0]))

const char *tern_op_coll_name(unsigned call)
{
#define AS_NAME(name, text) "tern_" text,
    static const char *const names[] = { TERN_COLL_CALLS(AS_NAME) };
#undef AS_NAME

    return call < TERN_COLL_COUNT ? names[call] : "another collective call";
}

/* ---- the choice ---- */

static const struct tern_coll_algorithm *find(unsigned call, const char *name)
{
    for (const struct tern_coll_algorithm *a = algorithms[call]; a->name; a++)
        if (strcmp(a->name, name) == 0)
            return a;
    return NULL;
}

/* Whether the algorithm can be used for a team of this size; nodes: those of the team, or NULL. */
static bool is_for(const struct tern_coll_algorithm *a, int size, const struct tern_coll_nodes *nodes)
{
    switch ((enum tern_coll_teams)a->teams) {
    case TERN_COLL_POWERS: return (size & (size - 1)) == 0;
    case TERN_COLL_HIERARCHY: return nodes && nodes->shared;
    case TERN_COLL_ORDERED: return nodes && nodes->shared && nodes->ordered;
    default: return true;
    }
}

/* Return whether the algorithm meets the requirements of the arguments. */
static bool suits(const struct tern_coll_algorithm *a, int size, const struct tern_coll_nodes *nodes,
                  const struct tern_coll_args *args)
{
    bool reduces = args->how.elem > 0;

    if (!is_for(a, size, nodes))
        return false;
    return !reduces || a->order >= (args->how.fold       ? TERN_COLL_FOLDED
                                    : args->how.commutes ? TERN_COLL_ANY
                                                         : TERN_COLL_RANKS);
}

/* Return whether the members of a node do not follow each other. Most steps of a binomial tree then cross the
 * network. */
static bool is_mixed(const struct tern_coll_nodes *nodes)
{
    return nodes && !nodes->ordered;
}

static const struct tern_coll_algorithm *choose(int size, const struct tern_coll_nodes *nodes,
                                                const struct tern_coll_args *args)
{
    const struct tern_coll_algorithm *a;

    if (is_mixed(nodes) && (args->call == TERN_COLL_BROADCAST || args->call == TERN_COLL_REDUCE) &&
        (a = find(args->call, "hierarchical")) && suits(a, size, nodes, args))
        return a;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (rules[i].call == args->call && args->len <= rules[i].most && size >= rules[i].ranks &&
            (a = find(args->call, rules[i].name)) && suits(a, size, nodes, args))
            return a;
    for (a = algorithms[args->call]; a->name && !suits(a, size, nodes, args); a++)
        continue; /* used if nothing else can be: every reduction has an algorithm that folds */
    return a;
}

const struct tern_coll_algorithm *tern_op_coll_select(const struct tern_station   *station,
                                                      const struct tern_coll_args *args)
{
    const struct tern_coll_algorithm *a =
        tern_op_coll_forced[args->call] ? find(args->call, tern_op_coll_forced[args->call]) : NULL;

    if (a && suits(a, station->team->size, station->nodes, args))
        return a;
    return choose(station->team->size, station->nodes, args);
}

const struct tern_coll_algorithm *tern_op_coll_select_flat(int size, const struct tern_coll_args *args)
{
    return choose(size, NULL, args);
}

bool tern_op_coll_forces(unsigned call, const char *name)
{
    return tern_op_coll_forced[call] && strcmp(tern_op_coll_forced[call], name) == 0;
}

/* ---- the option ---- */

static void list_names(unsigned call, char *text, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < OTHERS; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", others[i]);
    for (const struct tern_coll_algorithm *a = algorithms[call]; a->name && used < size; a++)
        used += (size_t)snprintf(text + used, size - used, ", %s", a->name);
}

static tern_status unknown_call(const char *text, size_t len)
{
    char   names[320];
    size_t used = 0;

    names[0] = '\0';
    for (unsigned call = 0; call < TERN_COLL_COUNT && used < sizeof(names); call++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", call ? ", " : "",
                                 tern_op_coll_name(call) + strlen("tern_"));
    return tern_base_fail(TERN_ERR_ARG,
                          "TERN_COLL: \"%.*s\" is not a call with an algorithm, such as allreduce=ring; the calls are "
                          "%s",
                          (int)len, text, names);
}

/* Read one entry, such as allreduce=ring. */
static tern_status read_entry(const char *text, size_t len)
{
    const char *equals = memchr(text, '=', len);
    size_t      name = equals ? (size_t)(equals - text) : 0;
    char        names[320];

    for (unsigned call = 0; equals && call < TERN_COLL_COUNT; call++) {
        const char *own = tern_op_coll_name(call) + strlen("tern_");
        size_t      rest = len - name - 1;

        if (strlen(own) != name || strncmp(own, text, name) != 0)
            continue;
        for (size_t i = 0; i < OTHERS; i++)
            if (strlen(others[i]) == rest && strncmp(equals + 1, others[i], rest) == 0) {
                tern_op_coll_forced[call] = others[i];
                return TERN_OK;
            }
        for (const struct tern_coll_algorithm *a = algorithms[call]; a->name; a++)
            if (strlen(a->name) == rest && strncmp(equals + 1, a->name, rest) == 0) {
                tern_op_coll_forced[call] = a->name;
                return TERN_OK;
            }
        list_names(call, names, sizeof(names));
        return tern_base_fail(TERN_ERR_ARG, "TERN_COLL: %s has no algorithm \"%.*s\"; it has %s", own, (int)rest,
                              equals + 1, names);
    }
    return unknown_call(text, len);
}

tern_status tern_op_coll_options(const char *text)
{
    tern_status st = TERN_OK;

    memset(tern_op_coll_forced, 0, sizeof(tern_op_coll_forced));
    while (st == TERN_OK && *text) {
        size_t len = strcspn(text, ",");

        st = read_entry(text, len);
        text += len + (text[len] == ',');
    }
    return st;
}

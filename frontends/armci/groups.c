/* groups.c: groups of ranks.
 *
 * A group is a team of Tern with a context for its collective calls and, in the builds with MPI, a communicator. Only
 * the members take part in its creation; other ranks that make the call get a group of which they are not members.
 */
#include <stdlib.h>

#include "state.h"

struct tern_armci_group *tern_armci_group_of(const char *call, const ARMCI_Group *group)
{
    tern_armci_check_running(call);
    if (group == NULL)
        tern_front_die(call, "the group is NULL");
    if (group->rank < 0 || group->grp_to_abs == NULL)
        tern_front_die(call, "this rank, %d, is no member of the group", tern_armci.me);
    return (struct tern_armci_group *)(void *)((char *)group->grp_to_abs - offsetof(struct tern_armci_group, tables));
}

/* Create the group of n ranks of the job from a team. */
static struct tern_armci_group *make(const char *call, tern_team *team, const int *ranks, int n)
{
    size_t                   entries = (size_t)n + (size_t)tern_armci.size;
    struct tern_armci_group *group = tern_front_alloc(call, 1, sizeof *group + entries * sizeof(int));
    int                     *reverse = group->tables + n;

    group->team = team;
    group->size = n;
    group->rank = tern_team_rank(team);
    for (int i = 0; i < tern_armci.size; i++)
        reverse[i] = -1;
    for (int i = 0; i < n; i++) {
        group->tables[i] = ranks[i];
        reverse[ranks[i]] = i;
    }
    tern_front_check(tern_ctx_create(team, TERN_RELAXED, &group->ctx), call, "creating the context of a group");
    return group;
}

static ARMCI_Group public_group(struct tern_armci_group *group, armci_comm_t comm)
{
    group->comm = comm;
    return (ARMCI_Group){ .comm = comm,
                          .noncoll_pgroup_comm = tern_armci_comm_none(),
                          .grp_to_abs = group->tables,
                          .abs_to_grp = group->tables + group->size,
                          .rank = group->rank,
                          .size = group->size };
}

void tern_armci_start_groups(void)
{
    const char *call = "ARMCI_Init";
    int        *ranks = tern_front_alloc(call, (size_t)tern_armci.size, sizeof *ranks);

    for (int i = 0; i < tern_armci.size; i++)
        ranks[i] = i;
    tern_armci.world = public_group(make(call, tern_team_world(), ranks, tern_armci.size), tern_armci_comm_world(call));
    tern_armci.chosen = tern_armci.world;
    free(ranks);
}

/* Create the group of n ranks of the job. Ranks that are not among them get a group without members. */
static ARMCI_Group create(const char *call, const int *ranks, int n)
{
    ARMCI_Group none = { .comm = tern_armci_comm_none(), .noncoll_pgroup_comm = tern_armci_comm_none(), .rank = -1 };
    bool        member = false;
    tern_team  *team;
    struct tern_armci_group *group;

    for (int i = 0; i < n; i++) {
        tern_armci_check_rank(call, ranks[i]);
        member = member || ranks[i] == tern_armci.me;
    }
    if (!member)
        return none;
    tern_front_check(tern_team_create(tern_team_world(), ranks, n, 0, &team), call, "creating a group");
    group = make(call, team, ranks, n);
    group->next = tern_armci.groups;
    tern_armci.groups = group;
    return public_group(group, tern_armci_comm_of(call, ranks, n));
}

/* Create a group from ranks of a parent. */
static void create_child(const char *call, int n, const int *list, ARMCI_Group *out, const ARMCI_Group *parent)
{
    struct tern_armci_group *from = tern_armci_group_of(call, parent);
    int                     *ranks;

    if (out == NULL || (list == NULL && n > 0) || n < 0 || n > from->size)
        tern_front_die(call, "%d ranks in the list at %p: a group has 0 to %d ranks of its parent", n,
                       (const void *)list, from->size);
    ranks = tern_front_alloc(call, (size_t)n, sizeof *ranks);
    for (int i = 0; i < n; i++) {
        if (list[i] < 0 || list[i] >= from->size)
            tern_front_die(call, "entry %d of the list is rank %d; the parent has the ranks 0 to %d", i, list[i],
                           from->size - 1);
        ranks[i] = from->tables[list[i]];
    }
    *out = create(call, ranks, n);
    free(ranks);
}

ARMCI_EXPORT void ARMCI_Group_create(int grp_size, int *pid_list, ARMCI_Group *group_out)
{
    create_child("ARMCI_Group_create", grp_size, pid_list, group_out, &tern_armci.chosen);
}

ARMCI_EXPORT void ARMCI_Group_create_child(int grp_size, int *pid_list, ARMCI_Group *group_out,
                                           ARMCI_Group *group_parent)
{
    create_child("ARMCI_Group_create_child", grp_size, pid_list, group_out, group_parent);
}

/* Free the team and the context of a group. */
static void release(const char *call, struct tern_armci_group *group)
{
    struct tern_armci_group **link = &tern_armci.groups;

    while (*link != group)
        link = &(*link)->next;
    *link = group->next;
    tern_front_check(tern_ctx_free(group->ctx), call, "freeing the context of a group");
    tern_front_check(tern_team_free(group->team), call, "freeing a group");
    free(group);
}

void tern_armci_unuse_group(const char *call, struct tern_armci_group *group)
{
    if (--group->blocks == 0 && group->dropped)
        release(call, group);
}

/* Free the groups that the program has not freed, and the group of all ranks. The members of a group have the same
 * list of common groups, so that their collective calls match. All allocations have been freed. */
void tern_armci_stop_groups(void)
{
    const char              *call = "ARMCI_Finalize";
    struct tern_armci_group *world = tern_armci_group_of(call, &tern_armci.world);

    while (tern_armci.groups != NULL) {
        tern_armci_comm_free(&tern_armci.groups->comm);
        release(call, tern_armci.groups);
    }
    tern_front_check(tern_ctx_free(world->ctx), call, "freeing the context of all ranks");
    tern_armci_comm_free(&world->comm);
    free(world);
}

/* Free a group. While the group has allocations, the team stays until the last of them is freed. */
ARMCI_EXPORT void ARMCI_Group_free(ARMCI_Group *group)
{
    const char              *call = "ARMCI_Group_free";
    struct tern_armci_group *g;

    tern_armci_check_running(call);
    if (group != NULL && group->rank < 0)
        return; /* this rank is not a member and has nothing to free */
    g = tern_armci_group_of(call, group);
    if (group->grp_to_abs == tern_armci.world.grp_to_abs)
        tern_front_die(call, "the group of all ranks cannot be freed");
    if (group->grp_to_abs == tern_armci.chosen.grp_to_abs)
        tern_armci.chosen = tern_armci.world;
    tern_armci_comm_free(&g->comm);
    group->comm = tern_armci_comm_none();
    group->grp_to_abs = group->abs_to_grp = NULL;
    group->rank = -1;
    group->size = 0;
    g->dropped = true;
    if (g->blocks == 0)
        release(call, g);
}

ARMCI_EXPORT int ARMCI_Group_rank(ARMCI_Group *group, int *rank)
{
    if (group == NULL || rank == NULL)
        tern_front_die("ARMCI_Group_rank", "the group or the result is NULL");
    *rank = group->rank;
    return group->rank >= 0 ? 0 : FAIL;
}

ARMCI_EXPORT void ARMCI_Group_size(ARMCI_Group *group, int *size)
{
    if (group == NULL || size == NULL)
        tern_front_die("ARMCI_Group_size", "the group or the result is NULL");
    *size = group->size;
}

ARMCI_EXPORT void ARMCI_Group_set_default(ARMCI_Group *group)
{
    (void)tern_armci_group_of("ARMCI_Group_set_default", group);
    tern_armci.chosen = *group;
}

ARMCI_EXPORT void ARMCI_Group_get_default(ARMCI_Group *group_out)
{
    tern_armci_check_running("ARMCI_Group_get_default");
    if (group_out == NULL)
        tern_front_die("ARMCI_Group_get_default", "the result is NULL");
    *group_out = tern_armci.chosen;
}

ARMCI_EXPORT void ARMCI_Group_get_world(ARMCI_Group *group_out)
{
    tern_armci_check_running("ARMCI_Group_get_world");
    if (group_out == NULL)
        tern_front_die("ARMCI_Group_get_world", "the result is NULL");
    *group_out = tern_armci.world;
}

ARMCI_EXPORT int ARMCI_Absolute_id(ARMCI_Group *group, int group_rank)
{
    struct tern_armci_group *g = tern_armci_group_of("ARMCI_Absolute_id", group);

    if (group_rank < 0 || group_rank >= g->size)
        tern_front_die("ARMCI_Absolute_id", "rank %d is not in the group, which has the ranks 0 to %d", group_rank,
                       g->size - 1);
    return g->tables[group_rank];
}

/* The arguments that a rank passes to a split. */
struct wish {
    int colour, key, rank; /* rank in the job */
};

static int by_key(const void *a, const void *b)
{
    const struct wish *x = a, *y = b;

    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->rank > y->rank) - (x->rank < y->rank);
}

ARMCI_EXPORT int ARMCIX_Group_split(ARMCI_Group *parent, int color, int key, ARMCI_Group *new_group)
{
    const char              *call = "ARMCIX_Group_split";
    struct tern_armci_group *from = tern_armci_group_of(call, parent);
    struct wish             *wishes = tern_front_alloc(call, (size_t)from->size, sizeof *wishes);
    int                     *ranks = tern_front_alloc(call, (size_t)from->size, sizeof *ranks), n = 0;
    struct wish              mine = { color, key, from->rank };

    if (new_group == NULL)
        tern_front_die(call, "the result is NULL");
    tern_front_check(tern_allgather(from->ctx, &mine, sizeof mine, wishes), call, "exchanging colours");
    qsort(wishes, (size_t)from->size, sizeof *wishes, by_key);
    for (int i = 0; i < from->size; i++) {
        if (color >= 0 && wishes[i].colour == color)
            ranks[n++] = from->tables[wishes[i].rank];
    }
    *new_group = create(call, ranks, n);
    free(ranks);
    free(wishes);
    return 0;
}

ARMCI_EXPORT int ARMCIX_Group_dup(ARMCI_Group *parent, ARMCI_Group *new_group)
{
    struct tern_armci_group *from = tern_armci_group_of("ARMCIX_Group_dup", parent);

    if (new_group == NULL)
        tern_front_die("ARMCIX_Group_dup", "the result is NULL");
    *new_group = create("ARMCIX_Group_dup", from->tables, from->size);
    return 0;
}

ARMCI_EXPORT void ARMCIX_Get_world_comm(armci_comm_t *comm)
{
    tern_armci_check_running("ARMCIX_Get_world_comm");
    if (comm == NULL)
        tern_front_die("ARMCIX_Get_world_comm", "the result is NULL");
    *comm = tern_armci.world.comm;
}

ARMCI_EXPORT armci_comm_t armci_group_comm(ARMCI_Group *group)
{
    (void)tern_armci_group_of("armci_group_comm", group);
    return group->comm;
}

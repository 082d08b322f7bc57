/* team_split.c: creation of teams by all members of a team.
 *
 * First, each member contributes its colour, its key and an id; from these, all members derive the same teams. The
 * first member of a new team whose members share memory allocates that memory, and a second all-gather tells the others
 * its offset. Then each member opens its team. The last all-gather shows whether all succeeded, so that all members
 * return the same status, and no member uses a team that another member has not opened. */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "boot/space.h"
#include "core/context.h"
#include "core/job.h"
#include "core/team_create.h"

/* The contribution of each member. Travels between processes. */
struct contribution {
    struct tern_team_result result;
    int64_t                 key;
    int32_t                 colour;
    uint32_t                id; /* proposed id for the team of which this member is the first */
    uint64_t                space;
};
_Static_assert(sizeof(struct contribution) == 280, "a contribution has no padding");
_Static_assert(sizeof(struct contribution) <= TERN_TEAM_SCRATCH,
               "a contribution fits into the scratch space of the team");

/* A member of the parent. */
struct entry {
    int64_t key;
    int32_t colour;
    int     rank; /* rank in the parent */
};

struct splitting {
    struct tern_team     *parent;
    tern_deadline         deadline;
    enum tern_collective  call;
    struct contribution  *all;     /* [parent size]; the parent's scratch memory */
    struct entry         *order;   /* [parent size] sorted by colour, key and rank */
    int32_t              *members; /* [parent size] ranks in the job of the members of this rank's team */
    int                   first;   /* rank in the parent of the first of these */
    struct tern_team_plan plan;
    struct tern_space     space;
    struct tern_team     *team;
    bool                  refused; /* a member has reported an error, so that no member uses its team */
};

static tern_status exchange(struct splitting *s, struct contribution *mine, tern_status st)
{
    return tern_core_team_exchange(s->parent, &mine->result, sizeof(*mine), st, s->deadline, s->call, &s->refused);
}

static int compare(const void *one, const void *two)
{
    const struct entry *a = one, *b = two;

    if (a->colour != b->colour)
        return a->colour < b->colour ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Sort the members, and find those of this rank's team. */
static void sort(struct splitting *s, int colour)
{
    struct tern_team *parent = s->parent;

    for (int i = 0; i < parent->size; i++)
        s->order[i] = (struct entry){ s->all[i].key, s->all[i].colour, i };
    qsort(s->order, (size_t)parent->size, sizeof(s->order[0]), compare);
    for (int i = 0; i < parent->size && colour >= 0; i++) {
        if (s->order[i].colour != colour)
            continue;
        if (s->order[i].rank == parent->rank)
            s->plan.rank = s->plan.size;
        if (s->plan.size == 0)
            s->first = s->order[i].rank;
        s->members[s->plan.size++] = tern_core_team_world(parent, s->order[i].rank);
    }
    s->plan.members = s->members;
    s->plan.like = parent;
    s->plan.id = s->plan.size > 0 ? s->all[s->first].id : 0;
}

static uint32_t node_of(const struct splitting *s, int i)
{
    return tern_core_job_slot(tern_core_team_world(s->parent, s->order[i].rank))->node;
}

/* Return whether the members of any new team of several ranks are on one node, so that they may share memory. All
 * members of the parent get the same result. */
static bool may_share(const struct splitting *s)
{
    int size = s->parent->size;

    for (int begin = 0, end; begin < size; begin = end) {
        bool together = s->order[begin].colour >= 0;

        for (end = begin + 1; end < size && s->order[end].colour == s->order[begin].colour; end++)
            together &= node_of(s, end) == node_of(s, begin);
        if (together && end - begin > 1)
            return true;
    }
    return false;
}

/* As the first member of the new team, allocate the memory that its members share. */
static tern_status take_space(struct splitting *s)
{
    uint64_t bytes;

    if (s->plan.size == 0 || s->plan.rank != 0 || (bytes = tern_core_team_space(s->members, s->plan.size)) == 0)
        return TERN_OK;
    return tern_boot_space_take(&tern_job.boot, tern_job.boot.arena, bytes, &s->space);
}

static tern_status make(struct splitting *s, int colour, int64_t key)
{
    struct contribution mine = { .key = key, .colour = colour < 0 ? -1 : colour };
    tern_status         st = s->order && s->members
                                 ? TERN_OK
                                 : tern_base_fail(TERN_ERR_NOMEM, "no memory for tables of %d ranks", s->parent->size);

    if (st == TERN_OK)
        st = tern_core_team_propose(&mine.id);
    if ((st = exchange(s, &mine, st)) < 0)
        return st;
    sort(s, colour);
    if (may_share(s)) {
        st = take_space(s);
        mine.space = s->space.offset;
        if ((st = exchange(s, &mine, st)) < 0)
            return st;
        s->plan.space = s->plan.size > 0 ? s->all[s->first].space : 0;
    }
    if (s->plan.size > 0)
        st = tern_core_team_make(&s->plan, &s->team);
    if ((st = exchange(s, &mine, st)) < 0 || !s->team)
        return st;
    s->team->ctx = s->parent->ctx;
    st = tern_core_team_greet(s->team, s->deadline, tern_core_collective_name(s->call));
    s->team->ctx = NULL;
    return st;
}

tern_status tern_core_team_split(struct tern_ctx *ctx, int colour, int64_t key, enum tern_collective call,
                                 struct tern_team **out)
{
    size_t           size = (size_t)ctx->team->size;
    struct splitting s = { .parent = ctx->team,
                           .deadline = tern_core_ctx_deadline(ctx),
                           .call = call,
                           .all = ctx->team->scratch,
                           .order = calloc(size, sizeof(struct entry)),
                           .members = calloc(size, sizeof(int32_t)) };
    tern_status      st = make(&s, colour, key);

    if (st == TERN_OK)
        *out = s.team;
    else if (s.team)
        tern_core_team_abandon(s.team);
    /* If the last exchange has failed at this rank only, others use the team: the last one frees the memory. */
    if (st < 0 && s.space.bytes > 0 && (s.refused || !s.team))
        tern_boot_space_give(&s.space);
    if (st == TERN_OK && s.team)
        tern_base_log(TERN_LOG_DEBUG, "%s: rank %d of %s", tern_core_collective_name(call), s.team->rank,
                      tern_core_team_name(s.team).text);
    free(s.order);
    free(s.members);
    return st;
}

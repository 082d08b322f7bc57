/* team_survive.c: the team of the members of a team that are alive.
 *
 * Each member that makes the call publishes that it asks for the team, and waits until every other member has asked
 * too, has died, or has left the job or the team. All live members agree on whether a member asked before it died
 * (core/group_segment.c, and the groups of the links in jobs that survive deaths). So all of them find the same list of
 * members that have asked. They synchronize once in the new team. If a member on the list has died in the meantime,
 * this fails for all of them alike, and the program repeats the call. */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "core/context.h"
#include "core/group_segment.h"
#include "core/job.h"
#include "core/team_create.h"
#include "core/wait.h"

struct regroup {
    struct tern_team *team;
    int32_t          *members; /* [size of the team] ranks in the job of the members that have asked */
    int               found;   /* number of members that have asked */
    int               next;    /* first member of the team whose state is not known */
    int               rank;    /* rank of this process among the members that have asked */
    uint32_t          id;      /* id that the first of them has proposed */
};

/* Return whether the member will not ask any more. The caller reads this before the member's request, so that it sees a
 * request that was published before. */
static bool is_out(int world)
{
    /* acquire: the requests before. Pairs with the release in core/job.c, and the relay's. */
    return tern_core_job_lost(world) ||
           atomic_load_explicit(&tern_core_job_slot(world)->life, memory_order_acquire) >= TERN_LIFE_LEAVING;
}

/* Return whether the member has left the team, because the creation of the team failed there or because it has freed
 * it. Such a member does not ask. */
static bool has_left_team(const struct tern_team *team, int member)
{
    uint64_t object = 0;

    return team->group->ops->doing(team->group, (uint32_t)member, &object) == TERN_MEMBER_IN_DEPARTURE &&
           object & TERN_TEAM_OBJECT_SELF;
}

static tern_status regroup_poll(void *arg)
{
    struct regroup               *r = arg;
    const struct tern_link_group *group = r->team->group;

    tern_core_team_progress(r->team);
    if (!r->team->given_up)
        tern_core_team_give_up_if_lost(r->team); /* a member may be in a call that this rank has given up */
    for (; r->next < r->team->size; r->next++) {
        int      world = tern_core_team_world(r->team, r->next);
        bool     out = is_out(world) || has_left_team(r->team, r->next);
        uint32_t id;

        /* acquire: the end of the member before its requests. Pairs with the launcher's release of its fate. */
        atomic_thread_fence(memory_order_acquire);
        if (group->ops->regrouped(group, (uint32_t)r->next, &id)) {
            r->rank = world == tern_job.boot.rank ? r->found : r->rank;
            r->id = r->found == 0 ? id : r->id;
            r->members[r->found++] = world;
        } else if (!out)
            return TERN_PENDING;
    }
    return TERN_OK;
}

static void regroup_describe(void *arg, char *text, size_t size)
{
    struct regroup *r = arg;
    char            doing[96];

    tern_core_team_describe(r->team, r->next, doing, sizeof(doing));
    snprintf(text, size, "tern_team_survivors waits for rank %d of %s, which has not called it and is alive%s", r->next,
             tern_core_team_name(r->team).text, doing);
}

/* Synchronize with the members of the new team. Returns TERN_ERR_PEER if one has died meanwhile, at all of them, or if
 * one has given up. */
static tern_status confirm(struct tern_team *team, struct tern_ctx *ctx)
{
    uint32_t    mine = 1, *all = team->scratch;
    tern_status st;
    int         gone;

    team->ctx = ctx;
    st = tern_core_team_gather(team, &mine, sizeof(mine), all, tern_core_ctx_deadline(ctx),
                               TERN_COLLECTIVE_TEAM_SURVIVORS);
    team->ctx = NULL;
    if (st != TERN_ERR_PEER)
        return st;
    gone = tern_core_team_lost(team);
    return tern_base_fail(TERN_ERR_PEER,
                          "tern_team_survivors: rank %d of the job %s while the other %d ranks formed a team; no rank "
                          "has got one; call tern_team_survivors again",
                          tern_core_team_world(team, gone >= 0 ? gone : team->quitter - 1),
                          gone >= 0 ? "died" : "gave up", team->size - 1);
}

/* Resources of the new team, allocated before this rank asks: after that, nothing may fail at one rank alone. */
struct reserve {
    struct tern_team       *team;
    struct tern_team_map   *map;
    struct tern_link_group *group;
};

static tern_status reserve(struct reserve *new, int most)
{
    tern_status st;

    new->team = tern_core_team_new();
    new->map = malloc(sizeof(*new->map) + ((size_t)tern_job.boot.ranks + (size_t)most) * sizeof(new->map->rank[0]));
    if (new->team)
        new->team->scratch = malloc((size_t)most * TERN_TEAM_SCRATCH);
    if (!new->team || !new->map || !new->team->scratch)
        st = tern_base_fail(TERN_ERR_NOMEM, "tern_team_survivors: no memory for a team of %d ranks", most);
    else
        st = tern_core_segment_prepare((uint32_t)most, &new->group);
    if (st == TERN_OK)
        return TERN_OK;
    if (new->team)
        tern_core_team_delete(new->team);
    free(new->map);
    return st;
}

static void discard(struct reserve *new)
{
    new->group->ops->close(new->group);
    tern_core_team_delete(new->team);
    free(new->map);
}

/* Open the team of the members that have asked. */
static void begin(const struct reserve *new, const struct regroup *r)
{
    struct tern_team      *team = new->team;
    struct tern_link_group as = { .id = r->id, .size = (uint32_t)r->found, .me = (uint32_t)r->rank };

    tern_core_team_map_fill(new->map, r->members, r->found);
    team->size = r->found;
    team->rank = r->rank;
    team->id = r->id;
    team->map = new->map;
    team->team_rank = new->map->rank;
    team->world_rank = new->map->rank + tern_job.boot.ranks;
    as.world_rank = team->world_rank;
    team->group = new->group;
    tern_core_segment_begin(team->group, &as);
    tern_core_team_list(team);
}

static tern_status regroup(struct regroup *r, struct tern_ctx *ctx)
{
    struct tern_wait wait = {
        .poll = regroup_poll, .describe = regroup_describe, .arg = r, .deadline = tern_core_ctx_deadline(ctx)
    };
    uint32_t    id;
    tern_status st;

    if (!r->team->asking) {
        if ((st = tern_core_team_propose(&id)) < 0)
            return st;
        r->team->group->ops->regroup(r->team->group, id);
        r->team->asking = true;
    }
    if ((st = tern_core_wait(&wait)) < 0)
        return st;
    r->team->asking = false;
    return TERN_OK;
}

tern_status tern_core_team_survivors(struct tern_ctx *ctx, struct tern_team **out)
{
    struct regroup r = { .team = ctx->team };
    struct reserve new;
    tern_status st;

    if (!tern_job.boot.segment->contributions) /* a death ends the job: all members are alive */
        return tern_core_team_split(ctx, 0, 0, TERN_COLLECTIVE_TEAM_SURVIVORS, out);
    if (!(r.members = calloc((size_t)r.team->size, sizeof(*r.members))))
        return tern_base_fail(TERN_ERR_NOMEM, "tern_team_survivors: no memory for %d ranks", r.team->size);
    if ((st = reserve(&new, r.team->size)) == TERN_OK) {
        st = regroup(&r, ctx);
        if (st < 0)
            discard(&new);
    }
    if (st == TERN_OK) {
        begin(&new, &r);
        st = confirm(new.team, ctx);
        if (st < 0)
            tern_core_team_abandon(new.team);
    }
    if (st == TERN_OK) {
        *out = new.team;
        tern_base_log(TERN_LOG_DEBUG, "tern_team_survivors: %d of %d ranks are in %s", r.found, r.team->size,
                      tern_core_team_name(new.team).text);
    }
    free(r.members);
    return st;
}

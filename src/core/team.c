/* team.c: teams, and their barrier and all-gather. The groups synchronize; this file waits, detects dead members, and
 * checks that all members make the same call. */
#include "core/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/collective.h"
#include "core/context.h"
#include "core/group_bruck.h"
#include "core/group_segment.h"
#include "core/job.h"
#include "core/message.h"
#include "core/wait.h"

static bool reaches_all(unsigned link, const struct tern_link_group *as)
{
    for (uint32_t i = 0; i < as->size; i++)
        if (!tern_job.ops[link]->reaches(tern_job.link[link], tern_link_group_world(as, i)))
            return false;
    return true;
}

/* Return the link that provides the group of the members, because it reaches all of them; -1: no link does. */
static int group_link(const struct tern_link_group *as)
{
    for (unsigned i = 0; i < tern_job.links; i++)
        if (tern_job.ops[i]->group && reaches_all(i, as))
            return (int)i;
    return -1;
}

/* Open a group for the members in `as`, whose data must outlive the group. A link that reaches all members provides the
 * group, if the link has groups at all. If no link does, because the members are on several nodes, the core creates the
 * group: by messages over the links that serve the members, or in the boot segment if the job must survive deaths,
 * because all surviving ranks must then see the same state. */
static tern_status group_open(const struct tern_link_group *as, struct tern_link_group **out)
{
    bool                         apart = as->id == 0 && tern_core_group_apart != 0;
    int                          link = apart ? -1 : group_link(as);
    const struct tern_group_ops *ops;

    if (link >= 0)
        return tern_job.ops[link]->group->open(tern_job.link[link], as, out);
    ops = tern_job.boot.segment->contributions ? &tern_core_segment_group : &tern_core_bruck_group;
    return ops->open(NULL, as, out);
}

uint64_t tern_core_team_space(const int32_t *members, int size)
{
    struct tern_link_group as = { .size = (uint32_t)size, .world_rank = members };
    int                    link = group_link(&as);

    return link >= 0 ? tern_job.ops[link]->group->space(as.size) : 0;
}

void tern_core_team_map_fill(struct tern_team_map *map, const int32_t *members, int size)
{
    atomic_init(&map->users, 1);
    for (int i = 0; i < tern_job.boot.ranks; i++)
        map->rank[i] = -1;
    for (int i = 0; i < size; i++) {
        map->rank[tern_job.boot.ranks + i] = members[i];
        map->rank[members[i]] = i;
    }
}

struct tern_team_map *tern_core_team_map(const int32_t *members, int size)
{
    size_t                ranks = (size_t)tern_job.boot.ranks;
    struct tern_team_map *map = malloc(sizeof(*map) + (ranks + (size_t)size) * sizeof(map->rank[0]));

    if (map)
        tern_core_team_map_fill(map, members, size);
    return map;
}

void tern_core_team_map_drop(struct tern_team_map *map)
{
    /* acq_rel: the uses of the tables before they are freed. Pairs with itself. */
    if (map && atomic_fetch_sub_explicit(&map->users, 1, memory_order_acq_rel) == 1)
        free(map);
}

tern_status tern_core_team_open(struct tern_team *team, uint32_t id, struct tern_team_map *map, int size, int rank,
                                uint64_t space)
{
    struct tern_link_group as = { .id = id, .size = (uint32_t)size, .me = (uint32_t)rank, .space = space };
    tern_status            st;

    *team = (struct tern_team){
        .size = size, .rank = rank, .id = id, .map = map, .scratch = malloc((size_t)size * TERN_TEAM_SCRATCH)
    };
    tern_base_list_init(&team->node);
    if (map) {
        team->team_rank = map->rank;
        team->world_rank = map->rank + tern_job.boot.ranks;
        as.world_rank = team->world_rank;
    }
    if (team->scratch)
        st = group_open(&as, &team->group);
    else
        st = tern_base_fail(TERN_ERR_NOMEM, "no memory for a team of %d ranks", size);
    if (st < 0)
        tern_core_team_close(team);
    return st;
}

struct tern_team_name tern_core_team_name(const struct tern_team *team)
{
    struct tern_team_name name;

    if (team == &tern_job.world)
        snprintf(name.text, sizeof(name.text), "the team of all %d ranks", team->size);
    else if (team == &tern_job.node)
        snprintf(name.text, sizeof(name.text), "the team of the node, %d ranks", team->size);
    else if (team == &tern_job.self)
        snprintf(name.text, sizeof(name.text), "the team of this rank");
    else
        snprintf(name.text, sizeof(name.text), "team %u.%u of %d ranks", (team->id - TERN_TEAM_FIRST) >> TERN_TEAM_RANK,
                 (team->id - TERN_TEAM_FIRST) % (1u << TERN_TEAM_RANK), team->size);
    return name;
}

int tern_core_team_locals(const struct tern_team *team)
{
    int locals = 0;

    for (int i = 0; i < team->size; i++)
        locals += tern_boot_same_node(&tern_job.boot, tern_core_team_world(team, i));
    return locals;
}

bool tern_core_team_deserted(const struct tern_team *team, int source)
{
    if (source >= 0)
        return tern_core_job_lost(source);
    for (int i = 0; i < team->size; i++) {
        int world = tern_core_team_world(team, i);

        if (world != tern_job.boot.rank && !tern_core_job_lost(world))
            return false;
    }
    return team->size > 1;
}

bool tern_core_team_has_sent(const struct tern_team *team, int source, unsigned channel)
{
    if (source >= 0)
        return tern_core_message_has_from(source, channel);
    for (int i = 0; i < team->size; i++) {
        int world = tern_core_team_world(team, i);

        if (tern_core_message_has_from(world, channel) &&
            (world != tern_job.boot.rank || !tern_core_message_refuses(channel)))
            return true;
    }
    return false;
}

void tern_core_team_close(struct tern_team *team)
{
    tern_op_coll_close(team);
    if (team->group)
        team->group->ops->close(team->group);
    free(team->scratch);
    tern_core_team_map_drop(team->map);
    *team = (struct tern_team){ 0 };
    tern_base_list_init(&team->node);
}

tern_status tern_core_team_claim(struct tern_team *team, struct tern_ctx *ctx, const char *what)
{
    if (tern_core_in_handler())
        return tern_base_fail(TERN_ERR_STATE, "%s: %s must not make collective calls", what, tern_core_handler_kind());
    if (!tern_base_biased_claim(&team->busy))
        return tern_base_fail(TERN_ERR_STATE,
                              "%s: another thread of this rank is in a collective call on the team; "
                              "let one thread at a time make them",
                              what);
    team->ctx = ctx;
    return TERN_OK;
}

void tern_core_team_release(struct tern_team *team)
{
    team->ctx = NULL;
    tern_base_biased_unclaim(&team->busy);
}

int tern_core_team_lost(const struct tern_team *team)
{
    if (atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) == 0)
        return -1;
    for (int i = 0; i < team->size; i++)
        if (tern_core_job_lost(tern_core_team_world(team, i)))
            return i;
    return -1;
}

static tern_status member_gone(const struct tern_team *team, const char *what)
{
    int member = tern_core_team_lost(team), quitter = team->quitter - 1;

    if (member < 0 && quitter >= 0)
        return tern_base_fail(TERN_ERR_PEER,
                              "%s: rank %d of the team has given up the team (rank %d of the job; %s), because a "
                              "collective call failed there, or after the death of another rank; the members that are "
                              "still needed create another team",
                              what, quitter, tern_core_team_world(team, quitter), tern_core_team_name(team).text);
    return tern_base_fail(TERN_ERR_PEER,
                          "%s: rank %d of the team is gone (rank %d of the job; %s); call tern_team_survivors to go on "
                          "with the others",
                          what, member, member < 0 ? -1 : tern_core_team_world(team, member),
                          tern_core_team_name(team).text);
}

void tern_core_team_progress(const struct tern_team *team)
{
    if (team->ctx) {
        tern_core_ctx_progress(team->ctx);
    } else {
        tern_core_message_poll();
        tern_core_job_check_deaths();
    }
}

/* A contribution: the arguments of the member, then a fragment of its bytes. A short fragment is in the cache line of
 * the arguments, and a longer one begins with the next line. */
struct contribution {
    uint64_t      len;
    uint32_t      number; /* number of the barrier */
    uint32_t      call;   /* enum tern_collective */
    unsigned char brief[48];
    unsigned char piece[TERN_LINK_CONTRIBUTION - 64];
};
_Static_assert(offsetof(struct contribution, piece) == 64, "the arguments and a short fragment fill a cache line");
_Static_assert(sizeof(struct contribution) == TERN_LINK_CONTRIBUTION, "a contribution fills its slot");

/* The offset of a fragment of n bytes in a contribution. */
static inline size_t fragment_offset(size_t n)
{
    return n <= sizeof(((struct contribution *)0)->brief) ? offsetof(struct contribution, brief)
                                                          : offsetof(struct contribution, piece);
}

/* ---- the calls of other members ---- */

const char *tern_core_collective_name(uint32_t call)
{
#define AS_NAME(name, text) [TERN_COLLECTIVE_##name] = text,
    static const char *const names[] = { TERN_COLLECTIVES(AS_NAME) };
#undef AS_NAME

    return call < TERN_COLLECTIVE_COUNT ? names[call] : "an unknown collective call";
}

static tern_status different_calls(const char *what, int member, uint32_t other)
{
    return tern_base_fail(TERN_ERR_ARG,
                          "%s: rank %d called %s at the same time; all ranks of a team make the same collective "
                          "calls in the same order",
                          what, member, tern_core_collective_name(other));
}

/* The call by which a member gives up an object. */
static uint64_t call_of_departure(uint64_t object)
{
    if (object & TERN_TEAM_OBJECT_CLIENT)
        return TERN_COLLECTIVE_AM_CLIENT_FREE;
    return object & TERN_TEAM_OBJECT_SELF ? TERN_COLLECTIVE_TEAM_FREE : TERN_COLLECTIVE_REGION_FREE;
}

void tern_core_team_describe(const struct tern_team *team, int member, char *text, size_t size)
{
    uint64_t               call = TERN_COLLECTIVE_BARRIER;
    int                    world = tern_core_team_world(team, member);
    enum tern_member_doing doing = team->group->ops->doing(team->group, (uint32_t)member, &call);

    if (doing == TERN_MEMBER_IN_DEPARTURE)
        call = call_of_departure(call);
    if (atomic_load_explicit(&tern_core_job_slot(world)->life, memory_order_relaxed) >= TERN_LIFE_LEAVING)
        call = TERN_COLLECTIVE_FINALIZE;
    else if (doing == TERN_MEMBER_ELSEWHERE) {
        text[0] = '\0';
        return;
    }
    snprintf(text, size, "; rank %d is in %s", member, tern_core_collective_name((uint32_t)call));
}

/* ---- the barrier ---- */

#define NAP_NS 1000000ll /* longest sleep in a barrier whose members may not wake this one */

struct barrier_wait {
    struct tern_team *team;
    const char       *what;
    struct tern_wait  wait;
};

void tern_core_team_give_up(struct tern_team *team)
{
    if (team->given_up)
        return;
    team->given_up = true;
    team->group->ops->give_up(team->group);
}

bool tern_core_team_give_up_if_lost(struct tern_team *team)
{
    if (tern_core_team_lost(team) < 0)
        return false;
    team->gone = true;
    tern_core_team_give_up(team);
    return true;
}

void tern_core_team_break(struct tern_team *team)
{
    team->broken = true;
    tern_core_team_give_up(team);
}

/* Return a member that died before it arrived; -1: none. A member that died after it had arrived does not invalidate
 * the barrier, so that all live members see the same outcome. */
static int missing_member(const struct tern_team *team)
{
    for (int i = tern_core_team_lost(team); i >= 0 && i < team->size; i++)
        if (tern_core_job_lost(tern_core_team_world(team, i)) &&
            !team->group->ops->has_arrived(team->group, (uint32_t)i))
            return i;
    return -1;
}

/* Return whether the barrier cannot complete, because a member has given up. */
static bool is_given_up(struct barrier_wait *m)
{
    m->team->quitter = m->team->group->ops->quitter(m->team->group) + 1;
    if (m->team->group->naps)
        m->wait.nap = NAP_NS;
    return m->team->quitter > 0;
}

static tern_status barrier_poll(void *arg)
{
    struct barrier_wait *m = arg;

    if (m->team->group->ops->arrived(m->team->group))
        return TERN_OK;
    tern_core_team_progress(m->team);
    if (m->team->group->ops->arrived(m->team->group)) /* by a message, for which no bell rings any more */
        return TERN_OK;
    return missing_member(m->team) < 0 && !is_given_up(m) ? TERN_PENDING : member_gone(m->team, m->what);
}

static void barrier_describe(void *arg, char *text, size_t size)
{
    struct barrier_wait *m = arg;
    int                  late = 0;
    char                 doing[96];

    tern_boot_tell(&tern_job.boot); /* the reports of ranks on other nodes name this call */
    while (late < m->team->size && m->team->group->ops->has_arrived(m->team->group, (uint32_t)late))
        late++;
    if (late < m->team->size) {
        tern_core_team_describe(m->team, late, doing, sizeof(doing));
        snprintf(text, size, "%s waits for rank %d of %d, which has not called it%s%s", m->what, late, m->team->size,
                 *doing || tern_boot_same_node(&tern_job.boot, tern_core_team_world(m->team, late))
                     ? ""
                     : ", or waits itself for one on another node",
                 doing);
    } else
        snprintf(text, size, "%s: all %d ranks have called it, but one is not running", m->what, m->team->size);
}

/* Refuse a collective call on a team that this rank has given up. A barrier that failed because a member was gone may
 * complete later, but no member would take it for this call. */
static __attribute__((cold, noinline)) tern_status refuse(const struct tern_team *team, const char *what)
{
    if (team->gone)
        return member_gone(team, what);
    if (team->broken)
        return tern_base_fail(TERN_ERR_STATE,
                              "%s: an earlier collective call on the team timed out or failed half way; only "
                              "tern_region_free and tern_finalize are left",
                              what);
    return tern_base_fail(TERN_ERR_STATE, "%s: a tern_team_free on the team timed out; call it again", what);
}

/* Meet the other members, whatever they contribute. */
static inline __attribute__((always_inline)) tern_status meet(struct tern_team *team, tern_deadline deadline,
                                                              const char *what)
{
    struct barrier_wait m = { team,
                              what,
                              { .poll = barrier_poll, .describe = barrier_describe, .deadline = deadline } };
    tern_status         st;

    if (TERN_UNLIKELY(team->given_up))
        return refuse(team, what);
    if (!team->entered) {
        team->meetings++;
        team->group->ops->arrive(team->group);
        team->entered = true;
    }
    m.wait.arg = &m;
    st = tern_core_wait(&m.wait);
    if (TERN_LIKELY(st == TERN_OK)) {
        team->entered = false;
    } else if (st == TERN_ERR_PEER) {
        team->gone = true;
        tern_core_team_give_up(team);
    }
    return st;
}

/* Name the other call that members have made in the barrier that is complete. */
static __attribute__((cold, noinline)) tern_status others_gathered(struct tern_team *team, const char *what)
{
    team->group->mixed = false;
    for (int i = 0; i < team->size; i++) {
        const struct contribution *theirs = team->group->ops->contribution(team->group, (uint32_t)i);

        if (theirs && theirs->number == team->meetings)
            return different_calls(what, i, theirs->call);
    }
    return tern_base_fail(TERN_ERR_ARG, "%s: another rank made another collective call at the same time", what);
}

tern_status tern_core_team_barrier(struct tern_team *team, tern_deadline deadline, const char *what)
{
    tern_status st = meet(team, deadline, what);

    return TERN_UNLIKELY(team->group->mixed) && st == TERN_OK ? others_gathered(team, what) : st;
}

/* An all-gather of this rank. */
struct gathering {
    const unsigned char *src;
    unsigned char       *all; /* may be NULL if there is nothing to gather */
    uint64_t             len;
    uint32_t             call;   /* enum tern_collective */
    uint32_t             number; /* of the barrier */
    tern_deadline        deadline;
};

static tern_status check_contribution(const struct tern_team *team, int member, const struct gathering *mine)
{
    const char                *what = tern_core_collective_name(mine->call);
    const struct contribution *theirs = team->group->ops->contribution(team->group, (uint32_t)member);

    if (!theirs || theirs->number != mine->number)
        return different_calls(what, member, TERN_COLLECTIVE_BARRIER);
    if (theirs->call != mine->call)
        return different_calls(what, member, theirs->call);
    if (theirs->len != mine->len)
        return tern_base_fail(TERN_ERR_ARG,
                              "%s: rank %d passed a length of %llu bytes, rank %d one of %llu; all ranks "
                              "pass the same",
                              what, member, (unsigned long long)theirs->len, team->rank, (unsigned long long)mine->len);
    return TERN_OK;
}

/* Make one round: gather the bytes [at, at + n) of every member. */
static tern_status gather_fragment(struct tern_team *team, struct gathering *g, size_t at, size_t n)
{
    const struct tern_group_ops *ops = team->group->ops;
    size_t                       offset = fragment_offset(n);
    struct contribution         *mine;
    tern_status                  st;

    g->number = team->meetings + 1;
    team->group->call = g->call;
    mine = ops->contribute(team->group, offset + n);
    mine->len = g->len;
    mine->number = g->number;
    mine->call = g->call;
    if (n > 0)
        memcpy((unsigned char *)mine + offset, g->src + at, n);
    st = meet(team, g->deadline, tern_core_collective_name(g->call));
    team->group->call = TERN_COLLECTIVE_BARRIER;
    if (st < 0)
        return st;
    team->group->mixed = false; /* the check of the contributions gives a more precise error */
    for (int i = 0; i < team->size && st == TERN_OK; i++)
        st = check_contribution(team, i, g);
    for (int i = 0; i < team->size && st == TERN_OK && n > 0; i++) {
        const unsigned char *theirs = ops->contribution(team->group, (uint32_t)i);

        if (i != team->rank)
            memcpy(g->all + (size_t)i * g->len + at, theirs + offset, n);
        else if (g->src != g->all + (size_t)i * g->len) /* not in place */
            memcpy(g->all + (size_t)i * g->len + at, g->src + at, n);
    }
    return st;
}

/* Check that this rank can contribute to an all-gather of the team. */
static tern_status may_gather(const struct tern_team *team, const char *what)
{
    if (TERN_UNLIKELY(team->given_up)) /* slower members may still read this rank's last contribution */
        return refuse(team, what);
    if (team->entered)
        return tern_base_fail(TERN_ERR_STATE,
                              "%s: a tern_barrier on the team timed out and is not over; call it again "
                              "first",
                              what);
    return TERN_OK;
}

tern_status tern_core_team_gather(struct tern_team *team, const void *src, size_t len, void *all,
                                  tern_deadline deadline, enum tern_collective call)
{
    struct gathering g = { .src = src, .all = all, .len = len, .call = (uint32_t)call, .deadline = deadline };
    size_t           at = 0, longest = team->group->longest - offsetof(struct contribution, piece);
    tern_status      st = may_gather(team, tern_core_collective_name((uint32_t)call));

    if (st < 0)
        return st;
    do {
        size_t n = len - at < longest ? len - at : longest;

        st = gather_fragment(team, &g, at, n);
        at += n;
    } while (st == TERN_OK && at < len);
    if (st == TERN_ERR_TIMEOUT)
        tern_core_team_break(team);
    return st;
}

tern_status tern_core_team_exchange(struct tern_team *team, struct tern_team_result *mine, size_t len, tern_status st,
                                    tern_deadline deadline, enum tern_collective call, bool *refused)
{
    struct tern_team_name   name = tern_core_team_name(team);
    struct tern_team_result result;

    mine->status = st;
    if (st < 0)
        snprintf(mine->why, sizeof(mine->why), "%s", tern_base_detail());
    st = tern_core_team_gather(team, mine, len, team->scratch, deadline, call);
    for (int i = 0; i < team->size && st == TERN_OK; i++) {
        memcpy(&result, (const unsigned char *)team->scratch + (size_t)i * len, sizeof(result));
        if (result.status >= 0)
            continue;
        if (refused)
            *refused = true;
        st = tern_base_fail((tern_status)result.status, "%s: rank %d%s%s: %.*s", tern_core_collective_name(call), i,
                            team->map ? " of " : "", team->map ? name.text : "", (int)sizeof(result.why), result.why);
    }
    return st;
}

tern_status tern_core_team_agree(struct tern_team *team, size_t len, tern_deadline deadline, enum tern_collective call)
{
    struct gathering g = { .len = len, .call = (uint32_t)call, .deadline = deadline };
    tern_status      st = may_gather(team, tern_core_collective_name((uint32_t)call));

    if (st == TERN_OK && (st = gather_fragment(team, &g, 0, 0)) == TERN_ERR_TIMEOUT)
        tern_core_team_break(team);
    return st;
}

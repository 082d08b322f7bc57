/* team.h: an ordered set of ranks, and the collective calls that set-up needs. */
#ifndef TERN_CORE_TEAM_H
#define TERN_CORE_TEAM_H

#include <stdatomic.h>
#include <tern/job.h>
#include <tern/team.h>

#include "link/link.h"

#define TERN_TEAM_SCRATCH 384 /* bytes per member */

struct tern_team {
    int                     size, rank;
    int32_t                *world_rank; /* [size]; NULL: the same */
    struct tern_link_group *group;
    void                   *scratch;  /* TERN_TEAM_SCRATCH bytes per member, for the collective call under way */
    _Atomic bool            busy;     /* a thread is in a collective call, */
    struct tern_ctx        *ctx;      /* made with this context; NULL: with none */
    bool                    entered;  /* a tern_barrier that timed out: arrived, not over */
    bool                    gone;     /* a collective call failed because a member died: all later ones fail alike */
    uint64_t                leaving;  /* what this rank is parting from; 0: nothing */
    uint32_t                meetings; /* barriers that this rank has entered, of collective calls of any kind */
    bool                    broken;   /* a collective call failed half way: no more of them */
};

static inline int tern_core_team_world(const struct tern_team *team, int rank)
{
    return team->world_rank ? team->world_rank[rank] : rank;
}

/* The rank in a team of a rank of the job; -1: it is not in it. */
static inline int tern_core_team_rank(const struct tern_team *team, int world)
{
    if (TERN_LIKELY(!team->world_rank) || world < 0)
        return world;
    for (int rank = 0; rank < team->size; rank++)
        if (team->world_rank[rank] == world)
            return rank;
    return -1;
}

/* Make a team with the given id: of all ranks of the job, or of the members, which are in allocated memory that the
 * team takes over. On an error nothing is left of it. */
tern_status tern_core_team_open(struct tern_team *team, uint32_t id, int32_t *members, int size, int rank);
void        tern_core_team_close(struct tern_team *team);

/* How many members are on this node. */
int tern_core_team_locals(const struct tern_team *team);

/* Claim the team for a collective call: TERN_ERR_STATE when another thread has it. Undone by release. While the call
 * waits, what the context has under way goes on: others may wait for that before they make the call. NULL: none. */
tern_status tern_core_team_claim(struct tern_team *team, struct tern_ctx *ctx, const char *what);
void        tern_core_team_release(struct tern_team *team);

/* The collectives, on a claimed team. what names the public call in reports. */
tern_status tern_core_team_barrier(struct tern_team *team, tern_deadline deadline, const char *what);
tern_status tern_core_team_gather(struct tern_team *team, const void *src, size_t len, void *all,
                                  tern_deadline deadline, const char *what);

/* Give up an object (not 0) with all members that live and stay: returns when none of them uses it any more. A call
 * that timed out may be repeated. Meets nobody in a barrier, so that it works after deaths and timeouts too. */
tern_status tern_core_team_part(struct tern_team *team, uint64_t object, tern_deadline deadline, const char *what);

#endif

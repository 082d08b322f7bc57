/* team.h: an ordered set of ranks, and the collective calls that set-up needs. */
#pragma once

#include <stdatomic.h>
#include <tern/job.h>
#include <tern/team.h>

#include "link/link.h"

#define TERN_TEAM_SCRATCH 440 /* bytes per member */

struct tern_team {
    int                     size, rank;
    int32_t                *world_rank; /* [size] ranks in the job; NULL: equal to the ranks in the team */
    struct tern_link_group *group;
    void                   *scratch; /* TERN_TEAM_SCRATCH bytes per member, for the current collective call */
    _Atomic bool            busy;    /* a thread is in a collective call */
    struct tern_ctx        *ctx;     /* context of that call; NULL: none */
    bool                    entered; /* a tern_barrier timed out after this rank had arrived, and is not complete */
    /* A collective call failed because a member died: all later ones fail with the same error. */
    bool                    gone;
    uint64_t                leaving; /* the object that this rank is giving up; 0: none */
    /* Number of barriers that this rank has entered, in collective calls of any kind. */
    uint32_t                meetings;
    bool                    broken; /* a collective call failed half way: no further ones are possible */
};

static inline int tern_core_team_world(const struct tern_team *team, int rank)
{
    return team->world_rank ? team->world_rank[rank] : rank;
}

/* Return the rank in the team of a rank of the job; -1: it is not a member. */
static inline int tern_core_team_rank(const struct tern_team *team, int world)
{
    if (TERN_LIKELY(!team->world_rank) || world < 0)
        return world;
    for (int rank = 0; rank < team->size; rank++)
        if (team->world_rank[rank] == world)
            return rank;
    return -1;
}

/* Return the team with the given number, which is its id; NULL: there is none. */
struct tern_team *tern_core_team_numbered(unsigned number);

/* Create a team with the given id, of all ranks of the job (members is NULL) or of the members. The team takes
 * ownership of members, which must be allocated. On an error nothing is left allocated. */
tern_status tern_core_team_open(struct tern_team *team, uint32_t id, int32_t *members, int size, int rank);
void        tern_core_team_close(struct tern_team *team);

/* Return the number of members on this node. */
int tern_core_team_locals(const struct tern_team *team);

/* deserted: return whether the source, a rank of the job, is dead; source -1: whether all other members are, which is
 * false if there are none. has_sent: return whether messages of the source (-1: of any member) on a channel may have
 * arrived that have not been delivered yet. Messages of any member that this rank has sent to itself and refuses do not
 * count. */
bool tern_core_team_deserted(const struct tern_team *team, int source);
bool tern_core_team_has_sent(const struct tern_team *team, int source, unsigned channel);

/* Claim the team for a collective call. Returns TERN_ERR_STATE if another thread has claimed it. Undone by release.
 * While the call waits, it also advances the outstanding operations of ctx, because other members may wait for them
 * before they make the call. ctx may be NULL. */
tern_status tern_core_team_claim(struct tern_team *team, struct tern_ctx *ctx, const char *what);
void        tern_core_team_release(struct tern_team *team);

/* The collectives, on a claimed team. what names the public call in reports. */
tern_status tern_core_team_barrier(struct tern_team *team, tern_deadline deadline, const char *what);
tern_status tern_core_team_gather(struct tern_team *team, const void *src, size_t len, void *all,
                                  tern_deadline deadline, const char *what);

/* Write which collective call a member, which this rank waits for, makes instead: "; rank 1 is in tern_finalize".
 * Writes "" if that is not known. */
void tern_core_team_describe(const struct tern_team *team, int member, char *text, size_t size);

/* Give up an object (not 0) together with all members that are alive and have not left: returns when none of them uses
 * it any more. A call that timed out may be repeated. Does not use a barrier, so that it works after deaths and
 * timeouts. */
tern_status tern_core_team_part(struct tern_team *team, uint64_t object, tern_deadline deadline, const char *what);

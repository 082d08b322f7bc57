/* team.h: an ordered set of ranks, and the collective calls that set-up needs. */
#pragma once

#include <stdatomic.h>
#include <tern/job.h>
#include <tern/team.h>

#include "base/biased_lock.h"
#include "core/collective.h"
#include "link/link.h"

#define TERN_TEAM_SCRATCH 440 /* bytes per member */

#define TERN_TEAM_NODE 1u  /* ids of the teams that every job has; the world's is 0 */
#define TERN_TEAM_SELF 2u  /* this rank alone */
#define TERN_TEAM_FIRST 8u /* the lowest id of a team that the program creates */
#define TERN_TEAM_RANK 15  /* bit from which on an id contains the rank that has proposed it; see team_table.c */

/* The tables that translate ranks. Duplicates of a team share them. */
struct tern_team_map {
    _Atomic uint32_t users;
    int32_t          rank[]; /* [ranks of the job] ranks in the team, -1: not a member; then [size] ranks in the job */
};

struct tern_team {
    int                      size, rank;
    int32_t                 *world_rank; /* [size] ranks in the job; NULL: equal to the ranks in the team */
    const int32_t           *team_rank;  /* [ranks of the job] ranks in the team, or -1; NULL: as above */
    struct tern_team_map    *map;        /* the memory of both tables; NULL: there are none */
    struct tern_link_group  *group;
    uint32_t                 id;
    struct tern_team        *chain;   /* next team in the table of teams */
    struct tern_list         node;    /* on the list of created teams, or of freed ones */
    bool                     freed;   /* the program has freed the team */
    _Atomic uint32_t         clients; /* number of clients of active messages (op/am/client.h) */
    bool                     asking;  /* a tern_team_survivors timed out after this rank had asked for the team */
    void                    *scratch; /* TERN_TEAM_SCRATCH bytes per member, for the current collective call */
    struct tern_biased_claim busy;    /* a thread is in a collective call */
    struct tern_ctx         *ctx;     /* context of that call; NULL: none */
    bool                     entered; /* a tern_barrier timed out after this rank had arrived, and is not complete */
    /* A collective call failed because a member died: all later ones fail with the same error. */
    bool                     gone;
    uint64_t                 leaving; /* the object that this rank is giving up; 0: none */
    /* Number of barriers that this rank has entered, in collective calls of any kind. */
    uint32_t                 meetings;
    bool                     broken;   /* a collective call failed half way: no further ones are possible */
    bool                     given_up; /* the other members know that this one makes no further collective calls */
    int                      quitter;  /* a member that had given up when a collective call failed, + 1; 0: none */
    struct tern_station     *coll;     /* op/coll/coll.h; NULL: none */
};

/* The functions of collective operations (op/coll/station.c) for a team that is closed. */
void     tern_op_coll_close(struct tern_team *team);
/* Return the scope of the messages of its collective operations. */
uint32_t tern_op_coll_scope(uint32_t id);

/* Read the option TERN_COLL (op/coll/select.c). Returns TERN_ERR_ARG, with a detail that lists what is valid, if it is
 * not valid. */
tern_status tern_op_coll_options(const char *text);

static inline int tern_core_team_world(const struct tern_team *team, int rank)
{
    return team->world_rank ? team->world_rank[rank] : rank;
}

/* Return the rank in the team of a rank of the job; -1: it is not a member. */
static inline int tern_core_team_rank(const struct tern_team *team, int world)
{
    return TERN_LIKELY(!team->team_rank) || world < 0 ? world : team->team_rank[world];
}

/* Write the name of the team for error texts: "the team of all 4 ranks", or "team 3.1 of 4 ranks". */
struct tern_team_name {
    char text[48];
};
struct tern_team_name tern_core_team_name(const struct tern_team *team);

/* Return the team with the given id; NULL: this rank has none. The caller is the delivering thread, which may use the
 * team until the delivery ends, or a thread that knows that the team exists. */
struct tern_team *tern_core_team_numbered(uint32_t id);

/* Create the tables for a list of ranks of the job. Returns NULL if there is no memory. */
struct tern_team_map *tern_core_team_map(const int32_t *members, int size);

/* Give up a reference to the tables; NULL is permitted. */
void tern_core_team_map_drop(struct tern_team_map *map);

/* Fill tables whose memory the caller has allocated. */
void tern_core_team_map_fill(struct tern_team_map *map, const int32_t *members, int size);

/* Create a team with the given id: of all ranks of the job, in order (map is NULL), or of the members in the map, of
 * which the team takes ownership. space is the memory that the members share, or 0. On an error nothing is left
 * allocated. */
tern_status tern_core_team_open(struct tern_team *team, uint32_t id, struct tern_team_map *map, int size, int rank,
                                uint64_t space);
void        tern_core_team_close(struct tern_team *team);

/* Return how many bytes of the arena the members of a team must share: see struct tern_group_ops. */
uint64_t tern_core_team_space(const int32_t *members, int size);

/* Return the number of members on this node. */
int tern_core_team_locals(const struct tern_team *team);

/* deserted: return whether the source, a rank of the job, is dead; source -1: whether all other members are, which is
 * false if there are none. has_sent: return whether messages of the source (-1: of any member) on a channel may have
 * arrived that have not been delivered yet. Messages of any member that this rank has sent to itself and refuses do not
 * count. */
bool tern_core_team_deserted(const struct tern_team *team, int source);
bool tern_core_team_has_sent(const struct tern_team *team, int source, unsigned channel);

/* Return a member that is known to be dead, or -1. */
int tern_core_team_lost(const struct tern_team *team);

/* Advance the outstanding operations of the context of the collective call, and deliver messages. */
void tern_core_team_progress(const struct tern_team *team);

/* Claim the team for a collective call. Returns TERN_ERR_STATE if another thread has claimed it. The function release
 * undoes this. While the call waits, it also advances the outstanding operations of ctx, because other members may wait
 * for them before they make the call. ctx may be NULL. */
tern_status tern_core_team_claim(struct tern_team *team, struct tern_ctx *ctx, const char *what);
void        tern_core_team_release(struct tern_team *team);

/* The collective calls, on a claimed team. what and call name the public call in reports. */
tern_status tern_core_team_barrier(struct tern_team *team, tern_deadline deadline, const char *what);
tern_status tern_core_team_gather(struct tern_team *team, const void *src, size_t len, void *all,
                                  tern_deadline deadline, enum tern_collective call);

/* The result of a member's own part of a collective call. A contribution begins with it. Travels between processes. */
struct tern_team_result {
    int32_t status;
    char    why[252]; /* the text of the error; otherwise free for the call */
};

/* Gather the contributions of all members, of len bytes each, into team->scratch. mine is the beginning of this
 * member's contribution, and gets st and, if st is an error, this thread's error text. If members report errors, every
 * member returns the first one in the order of ranks; *refused is true in this case only. refused may be NULL. */
tern_status tern_core_team_exchange(struct tern_team *team, struct tern_team_result *mine, size_t len, tern_status st,
                                    tern_deadline deadline, enum tern_collective call, bool *refused);

/* Meet as for an all-gather of len bytes, and check that all members make the same call with the same length, without
 * gathering. */
tern_status tern_core_team_agree(struct tern_team *team, size_t len, tern_deadline deadline, enum tern_collective call);

/* Write which collective call a member, which this rank waits for, makes instead: "; rank 1 is in tern_finalize".
 * Writes "" if that is not known. */
void tern_core_team_describe(const struct tern_team *team, int member, char *text, size_t size);

/* The objects that members of a team give up together: the id of a region, or one of these numbers with the id of
 * another object. */
#define TERN_TEAM_OBJECT_SELF (1ull << 62)   /* the team */
#define TERN_TEAM_OBJECT_CLIENT (1ull << 63) /* a client of active messages (op/am/client.h) */

/* Give up an object (not 0) together with all members that are alive and have not left. Returns when none of them uses
 * the object any more. A call that timed out may be repeated. The call does not use a barrier, so that it works after
 * deaths and timeouts. */
tern_status tern_core_team_part(struct tern_team *team, uint64_t object, tern_deadline deadline, const char *what);

/* Depart from an object without waiting for the other members. */
void tern_core_team_leave(struct tern_team *team, uint64_t object);

/* Let the other members know that this rank makes no further barriers and all-gathers on the team, so that they do not
 * wait for it: their calls return TERN_ERR_PEER. This rank can still depart from objects. Repeated calls do nothing. */
void tern_core_team_give_up(struct tern_team *team);

/* Give up a claimed team on which a collective call has failed half way. Its later collective calls return
 * TERN_ERR_STATE at this rank. */
void tern_core_team_break(struct tern_team *team);

/* As tern_core_team_give_up, if a member is known to be dead. Returns whether one is. */
bool tern_core_team_give_up_if_lost(struct tern_team *team);

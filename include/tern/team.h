/* team.h: teams, which are ordered sets of ranks.
 *
 * Contexts and regions belong to a team, and the rank argument of a call is a rank of the team of the context or region
 * that is passed to the call. Every job has three teams: all ranks, the ranks of the node of this process, and this
 * rank alone. A program creates others. The members of a team that tern_team_create and tern_team_strided create are
 * the only ranks that take part; tern_team_split, tern_team_dup and tern_team_survivors are collective over an existing
 * team. A rank may be in any number of teams, and teams may overlap.
 */
#ifndef TERN_TEAM_H
#define TERN_TEAM_H

#include <stdint.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

struct tern_ctx;

/* An ordered set of ranks. tern_team_world, tern_team_node and tern_team_self return one. */
typedef struct tern_team tern_team;

/* A colour for tern_team_split: this rank gets no team. */
#define TERN_NO_COLOUR (-1)

/* Get the team of all ranks of the job.
 * Returns  The team; NULL before tern_init, after tern_finalize and in a child that fork created.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API tern_team *tern_team_world(void);

/* Get the team of the ranks that share memory with this rank. They are in the order of their ranks in the job.
 * Returns  The team; NULL before tern_init, after tern_finalize and in a child that fork created.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API tern_team *tern_team_node(void);

/* Get the team that consists of this rank alone.
 * Returns  The team; NULL before tern_init, after tern_finalize and in a child that fork created.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API tern_team *tern_team_self(void);

/* Get the rank of this process in a team.
 * Returns  The rank; -1 if team is NULL or was freed, before tern_init, after tern_finalize and in a child that fork
 *          created.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API int tern_team_rank(const tern_team *team);

/* Get the number of ranks in a team.
 * Returns  The number of ranks; -1 if team is NULL or was freed, before tern_init, after tern_finalize and in a child
 *          that fork created.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API int tern_team_size(const tern_team *team);

/* Translate a rank of one team into a rank of another. The call finds the rank that the same process has in the other
 * team, in constant time.
 * Returns  TERN_OK: the rank in the team to is in *out.
 *          TERN_ERR_RANGE: the team from has no such rank, or its process is not in the team to.
 *          TERN_ERR_ARG: a pointer is NULL.
 *          TERN_ERR_STATE: Tern is not initialized, or a team was freed.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API tern_status tern_team_translate(const tern_team *from, int rank, const tern_team *to, int *out);

/* Create a team of some ranks of a team. Only these ranks make the call; the other ranks of parent take no part. ranks
 * contains n different ranks of parent, among them the rank of the caller; rank i of the new team is ranks[i] of
 * parent. The call waits until all members have made it. The team exists until tern_team_free or tern_finalize.
 *
 * The calls of the members belong together if their parent, ranks and tag are equal. If several threads of a rank
 * create teams of the same parent at the same time, they pass different tags; otherwise tag may be any number, and all
 * calls may pass the same number. Ranks that create several overlapping teams do so in the same order. If members that
 * wait for each other have passed different ranks with the same parent and tag, all of them get TERN_ERR_ARG. They pass
 * another tag when they call again: for some seconds, calls with the old tag may still be refused. If a member dies
 * during the call, the call fails at some or all members; if it succeeds at others, the collective calls on the new
 * team fail.
 * Returns  TERN_OK: the team is in *out.
 *          TERN_ERR_ARG: a pointer is NULL, n is not 1 to the size of parent, a rank appears twice, this rank is not in
 *            ranks, or members passed different ranks.
 *          TERN_ERR_RANGE: parent has no such rank.
 *          TERN_ERR_PEER: a member has died or has left the job.
 *          TERN_ERR_NOMEM: there is not enough memory, or this rank is in too many teams. There is a limit only in jobs
 *            over several nodes that survive deaths: 127 teams, or 31 if the job has more than 4096 ranks.
 *          TERN_ERR_TIMEOUT: a member did not call within the time that the option TERN_TIMEOUT sets.
 *          TERN_ERR_STATE: Tern is not initialized, an active message handler made the call, or parent was freed.
 *          All members that fail for a reason of one member get the same status.
 * Remote   The members exchange messages through the one with the lowest rank in the job.
 * Threads  Any thread may call this function. The call makes progress. */
TERN_API tern_status tern_team_create(tern_team *parent, const int *ranks, int n, uint64_t tag, tern_team **out);

/* Create a team of ranks of a team at a regular distance. Rank i of the new team is rank first + i * stride of parent,
 * for i from 0 to n - 1; a negative stride reverses the order. Only these ranks make the call, and all pass the same
 * arguments. The call waits until all members have made it. The team exists until tern_team_free or tern_finalize.
 *
 * If several threads of a rank create teams of the same parent at the same time, they pass different tags; otherwise
 * tag may be any number, and all calls may pass the same number. Ranks that create several overlapping teams do so in
 * the same order. If a member dies during the call, the call fails at some or all members; if it succeeds at others,
 * the collective calls on the new team fail.
 * Returns  TERN_OK: the team is in *out.
 *          TERN_ERR_ARG: a pointer is NULL, n is not 1 to the size of parent, stride is 0 and n is not 1, this rank is
 *            not one of the ranks, or members passed different ranks.
 *          TERN_ERR_RANGE: parent has no such rank.
 *          TERN_ERR_PEER: a member has died or has left the job.
 *          TERN_ERR_NOMEM: there is not enough memory, or this rank is in too many teams. There is a limit only in jobs
 *            over several nodes that survive deaths: 127 teams, or 31 if the job has more than 4096 ranks.
 *          TERN_ERR_TIMEOUT: a member did not call within the time that the option TERN_TIMEOUT sets.
 *          TERN_ERR_STATE: Tern is not initialized, an active message handler made the call, or parent was freed.
 *          All members that fail for a reason of one member get the same status.
 * Remote   The members exchange messages through the one with the lowest rank in the job.
 * Threads  Any thread may call this function. The call makes progress. */
TERN_API tern_status tern_team_strided(tern_team *parent, int first, int stride, int n, uint64_t tag, tern_team **out);

/* Split a team into teams by colour. The call is collective over the team of ctx. The ranks that pass the same colour
 * form a team, in the order of their keys; ranks with equal keys keep their order. A rank that passes a negative
 * colour, such as TERN_NO_COLOUR, gets no team: *out is NULL. The team exists until tern_team_free or tern_finalize.
 * Returns  TERN_OK: the team, or NULL, is in *out.
 *          TERN_ERR_ARG: a pointer is NULL; or, on all ranks, ranks made different collective calls.
 *          TERN_ERR_NOMEM: there is not enough memory, or a rank is in too many teams. There is a limit only in jobs
 *            over several nodes that survive deaths: 127 teams, or 31 if the job has more than 4096 ranks.
 *          TERN_ERR_PEER: a rank of the team of ctx died.
 *          TERN_ERR_TIMEOUT: a rank did not call in time. Afterwards, the team can make no collective calls but
 *            tern_region_free and tern_finalize.
 *          TERN_ERR_STATE: Tern is not initialized, an active message handler made the call, another thread of this
 *            rank is in a collective call on the team, a barrier on the team timed out and was not repeated, or another
 *            collective call on the team timed out.
 *          If the call fails on one rank after it has begun, it fails on all ranks, and no rank gets a team.
 * Remote   The ranks of the team of ctx exchange colours and keys.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress. */
TERN_API tern_status tern_team_split(struct tern_ctx *ctx, int colour, int64_t key, tern_team **out);

/* Create a team with the same ranks in the same order. The call is collective over the team of ctx. Messages on one of
 * the two teams do not match receives on the other, and two threads may make collective calls at once, each on a team
 * of its own. The team exists until tern_team_free or tern_finalize.
 * Returns  TERN_OK: the team is in *out.
 *          TERN_ERR_ARG: a pointer is NULL; or, on all ranks, ranks made different collective calls.
 *          TERN_ERR_NOMEM: there is not enough memory, or a rank is in too many teams. There is a limit only in jobs
 *            over several nodes that survive deaths: 127 teams, or 31 if the job has more than 4096 ranks.
 *          TERN_ERR_PEER: a rank of the team of ctx died.
 *          TERN_ERR_TIMEOUT: a rank did not call in time. Afterwards, the team can make no collective calls but
 *            tern_region_free and tern_finalize.
 *          TERN_ERR_STATE: Tern is not initialized, an active message handler made the call, another thread of this
 *            rank is in a collective call on the team, a barrier on the team timed out and was not repeated, or another
 *            collective call on the team timed out.
 *          If the call fails on one rank after it has begun, it fails on all ranks, and no rank gets a team.
 * Remote   The ranks of the team of ctx synchronize.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress. */
TERN_API tern_status tern_team_dup(struct tern_ctx *ctx, tern_team **out);

/* Create the team of the ranks of a team that are alive. The call is collective over the ranks of the team of ctx that
 * are alive; it waits until each of the others has made the call, has died, or has left the team or the job. All ranks
 * that make the call get the same team, in the order of their ranks in the team of ctx. The call is meant for
 * TERN_ON_FAILURE=return: after a death, the collective calls on a team of the dead rank fail, and the survivors go on
 * with their own team, contexts and regions.
 * If no rank has died, the call duplicates the team. The team exists until tern_team_free or tern_finalize.
 * Returns  TERN_OK: the team is in *out.
 *          TERN_ERR_PEER: a rank died after it had made the call. All ranks get this error, and none gets a team: make
 *            the call again.
 *          TERN_ERR_ARG: a pointer is NULL; or, in jobs that a death ends, ranks made different collective calls.
 *          TERN_ERR_NOMEM: there is not enough memory, or this rank is in 127 teams of survivors (31 if the job has
 *            more than 4096 ranks). Free some, and make the call again.
 *          TERN_ERR_TIMEOUT: a rank did not call within the context's time limit. Make the call again. If all ranks had
 *            called, the others may have got a team with this rank. Their collective calls on that team return
 *            TERN_ERR_PEER, and tern_team_survivors on it creates a team without this rank, whose call times out again.
 *          TERN_ERR_STATE: Tern is not initialized, an active message handler made the call, or another thread of this
 *            rank is in a collective call on the team.
 * Remote   The ranks of the team of ctx synchronize.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress. */
TERN_API tern_status tern_team_survivors(struct tern_ctx *ctx, tern_team **out);

/* Free a team that the program created. The call is collective over the team. This rank must have freed its contexts,
 * regions, mutexes, atomic domains and clients of active messages of the team before. Teams may be freed in any order,
 * also before the teams that were created from them. Active messages on the team that were sent before are delivered; a
 * reply that arrives after the call, and tagged messages that no rank has received, are lost. If a member has died, the
 * others do not wait for each other. tern_finalize frees all teams that are left.
 * Returns  TERN_OK: the team is freed.
 *          TERN_ERR_STATE: this rank still has contexts, regions, mutexes, atomic domains or clients of the team;
 *            nothing has changed, and the other ranks wait. Or: Tern is not initialized, the team was freed before, an
 *            active message handler made the call, or another thread of this rank is in a collective call on the team.
 *          TERN_ERR_ARG: team is NULL, or the program has not created it; or, on all ranks, ranks free different
 *            objects of the team.
 *          TERN_ERR_TIMEOUT: a member did not call within the time that the option TERN_TIMEOUT sets. The team remains;
 *            make the call again.
 * Remote   The call returns when all members have made it.
 * Threads  Any thread may call this function, and a rank may make one collective call per team at a time. The call
 *          makes progress. */
TERN_API tern_status tern_team_free(tern_team *team);

TERN_END_DECLS

#endif

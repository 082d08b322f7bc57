/* team_create.h: the teams that the program creates.
 *
 *   team_table.c    the table of created teams, and their end
 *   team_create.c   creation by the members of the new team alone
 *   team_split.c    creation by all members of a team: splits and duplicates
 *   team_survive.c  the team of the members of a team that are alive
 *
 * The id of a team is the rank that proposed it and a number, so that it is unique in the job. Members that share
 * memory synchronize in memory that one of them allocates; others by messages, or in the boot segment (core/team.c). */
#pragma once

#include "core/collective.h"
#include "core/team.h"

/* ---- team_table.c ---- */

/* Choose an id that no other team of the job has. */
tern_status tern_core_team_propose(uint32_t *id);

/* Never propose an id again, if it is one of this rank's: the team had members that gave up or died, and what they have
 * published under this id may still be visible. */
void tern_core_team_spoil(uint32_t id);

/* The properties of a new team. members: [size] ranks in the job. like: a team that may have the same members, so that
 * both can share their tables; NULL: none. */
struct tern_team_plan {
    const int32_t    *members;
    int               size, rank;
    uint32_t          id;
    uint64_t          space; /* memory that the members share (tern_core_team_space); 0: none */
    struct tern_team *like;
};

/* make: create a team and enter it into the table. greet: when all members have made the team, let them find each
 * other, if the group needs that. drop: free the team without synchronization. abandon: free a team whose creation has
 * failed at this rank; the members at which it succeeds do not wait for this rank. */
tern_status tern_core_team_make(const struct tern_team_plan *plan, struct tern_team **out);
tern_status tern_core_team_greet(struct tern_team *team, tern_deadline deadline, const char *what);
void        tern_core_team_drop(struct tern_team *team);
void        tern_core_team_abandon(struct tern_team *team);

/* Allocate the struct of a team, all zero, or free it. list: enter an open team into the table. */
struct tern_team *tern_core_team_new(void);
void              tern_core_team_delete(struct tern_team *team);
void              tern_core_team_list(struct tern_team *team);

/* Free a team, collectively, on a claimed team. Returns TERN_ERR_STATE, and changes nothing, if this rank still has
 * contexts, regions or domains of the team. If a member has died, the members do not wait for each other. */
tern_status tern_core_team_free(struct tern_team *team, const char *what);

/* Free all created teams; the job has ended. */
void tern_core_teams_close(void);

/* ---- team_create.c ---- */

/* Create a team of some ranks of the parent; only these ranks make the call. The calls of the members belong together
 * if parent, ranks and tag are equal. The caller has checked that the ranks are valid and different, and that this rank
 * is one of them. what names the public call. */
tern_status tern_core_team_create(struct tern_team *parent, const int *ranks, int size, uint64_t tag, const char *what,
                                  struct tern_team **out);

/* Process a message about the creation of a team. Returns false if it is malformed. */
bool tern_core_team_receive(int from, const unsigned char *head);

/* Forget what has been received; the job has ended. */
void tern_core_team_create_close(void);

/* ---- team_split.c, team_survive.c ---- */

/* Create teams of the members of the context's team that passed the same colour, in the order of their keys.
 * Collective, on a claimed team. A rank with a negative colour gets no team: *out is NULL. */
tern_status tern_core_team_split(struct tern_ctx *ctx, int colour, int64_t key, enum tern_collective call,
                                 struct tern_team **out);

/* Create the team of the members of the context's team that are alive. Collective among these, on a claimed team. */
tern_status tern_core_team_survivors(struct tern_ctx *ctx, struct tern_team **out);

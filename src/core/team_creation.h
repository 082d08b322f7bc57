/* team_creation.h: a call of this rank that creates a team by its members alone, and the state of all such calls. The
 * protocol is explained in team_create.c.
 *
 *   team_create.c    the steps of the call
 *   team_receive.c   incoming messages
 *   team_refuse.c    messages that are sent, calls that fail, and the refusal of calls that come later
 */
#pragma once

#include <pthread.h>

#include "boot/space.h"
#include "core/team_create.h"
#include "core/wire.h"

#define TERN_CREATION_CALL_NS 20000000ll /* time after which a root sends the first CALL */

enum stage { STAGE_JOINING, STAGE_READY, STAGE_GO, STAGE_FAILED };

/* A member, as the root sees it. */
struct member {
    uint32_t attempt;
    bool     joined, opened;
    bool     gave_up; /* the member needs no answer */
};

/* A call of this rank. */
struct creation {
    struct tern_list      listed;
    struct tern_team     *parent;
    const char           *what;
    uint64_t              tag, hash;
    struct tern_team_plan plan;
    int32_t              *members; /* [size] ranks in the job */
    int                   root;    /* index of the root in members */
    uint32_t              attempt; /* number of the call */
    struct member        *member;  /* [size] */
    int                   joined, opened;
    enum stage            stage;
    int64_t               call_at, call_every;
    struct tern_space     space;
    unsigned              unsent; /* messages of the call that have not been sent */
    int         caller; /* the root whose CALL contradicts this call, and which gets OBJECT in the end; -1: none */
    uint32_t    caller_attempt;
    /* STAGE_FAILED: */
    tern_status status;
    int         culprit;    /* rank in the job; -1: none */
    uint32_t    their_size; /* size of its list; 0: its list is not the reason */
};

/* A JOIN that waits. */
struct waiting {
    struct tern_list      listed;
    int                   from;
    struct core_team_wire wire;
};

/* Refusals of JOINs that have not arrived yet, after a call of this rank has failed: if this rank was the root, one for
 * each member that had not joined; and, if the reason was another list, one for each other rank with that list. */
struct owed {
    struct tern_list      listed;
    struct core_team_wire wire;  /* parent, tag and hash of the call; status, size and culprit of the refusal */
    uint64_t              other; /* hash of the other list; 0: there is none, 1: it is not known */
    int64_t               until;
    int                   size, answered, most; /* maximum number of ranks that can be answered */
    struct {
        int32_t rank;
        bool    due;
    } of[]; /* [size] members of the call; then [answered] ranks with the other list that have been answered */
};

/* A message that has not been sent. */
struct unsent {
    struct tern_list      listed;
    int                   peer;
    struct creation      *of; /* NULL: the message belongs to no current call */
    struct core_team_wire wire;
};

/* A call of this rank that will fail, because a member has given up before this rank has made the call. */
struct doomed {
    struct tern_list      listed;
    int64_t               until;
    struct core_team_wire wire; /* the ABORT of the member */
};

extern struct tern_creations {
    pthread_mutex_t  lock; /* guards the fields that follow, and every creation */
    struct tern_list calls, waiting, owed, doomed, unsent;
    uint32_t         attempts, count_waiting;
} tern_core_creations;

static inline bool tern_core_creation_leads(const struct creation *c)
{
    return c->plan.rank == c->root;
}

static inline int tern_core_creation_root(const struct creation *c)
{
    return c->members[c->root];
}

static inline int tern_core_creation_index(const struct creation *c, int rank)
{
    for (int i = 0; i < c->plan.size; i++)
        if (c->members[i] == rank)
            return i;
    return -1;
}

/* The caller of all functions below has the lock, except where it says otherwise. */

/* ---- team_refuse.c ---- */

/* End the job, because the other members would wait for a message of this rank for ever. */
void tern_core_creation_no_memory(void) __attribute__((cold, noreturn));

/* Return a message about the call. */
struct core_team_wire tern_core_creation_wire(const struct creation *c, enum core_direction way, uint32_t attempt);

/* Send a message when there is space for it. of: the call that it belongs to; NULL: none. */
void tern_core_creation_post(struct creation *of, int peer, const struct core_team_wire *wire);

/* Send as many messages as possible. The calling thread holds the delivery, or is delivering. */
void tern_core_creation_flush(void);

/* Send a message to the root; as the root, send a message to all other members. */
void tern_core_creation_tell_root(struct creation *c, enum core_direction way, tern_status status, uint64_t more);
void tern_core_creation_tell_members(struct creation *c, enum core_direction way, uint64_t more);

/* As a root that has waited for a while, ask the members that have not joined whether they make another call. */
void tern_core_creation_call(struct creation *c);

/* Let the call fail. theirs: a message of the culprit, which has another list; NULL: there is another reason. */
void tern_core_creation_fail(struct creation *c, tern_status status, int culprit, const struct core_team_wire *theirs);

/* Return the status of a call that has failed, and set the detail. */
tern_status tern_core_creation_report(const struct creation *c);

/* refuse: refuse a JOIN that has arrived. refuse_list: refuse it, and all JOINs with the same list, because this rank,
 * which would be the root, makes another call. is_owed: refuse a JOIN if a call of this rank that it belongs to has
 * failed, and return whether it was refused. */
void tern_core_creation_refuse_list(int to, const struct core_team_wire *join, const struct core_team_wire *why);
void tern_core_creation_refuse(int to, const struct core_team_wire *join, const struct core_team_wire *why);
bool tern_core_creation_is_owed(int from, const struct core_team_wire *wire);

/* ---- team_receive.c ---- */

/* begin: list the call, and find the JOINs that have arrived, or join. end: remove it from all lists. Both take the
 * lock. */
void tern_core_creation_begin(struct creation *c);
void tern_core_creation_end(struct creation *c);

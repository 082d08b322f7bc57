/* team_refuse.c: creation of a team by its members alone: outgoing messages, calls that fail, and the refusal of later
 * calls of other ranks. The protocol is explained in team_create.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/job.h"
#include "core/team_creation.h"

#define LONGEST_CALL_NS 1000000000ll /* longest time between two CALLs */
#define OWED_NS 10000000000ll        /* time during which refusals are owed */

void tern_core_creation_no_memory(void)
{
    tern_base_log(TERN_LOG_ERROR, "no memory for the creation of a team; ending the job");
    _Exit(1); /* the other members would wait for a message of this rank for ever */
}

/* ---- sending ---- */

/* Return whether an earlier message to the same rank has not been sent: messages to a rank stay in order. */
static bool is_second(const struct unsent *one)
{
    TERN_LIST_EACH(const struct unsent, earlier, &tern_core_creations.unsent, listed) {
        if (earlier == one)
            return false;
        if (earlier->peer == one->peer)
            return true;
    }
    return false;
}

/* Send as many messages as possible. A rank that computes, and whose queue is full, delays only the messages to itself.
 * The caller has the lock, and holds the delivery or is delivering. */
void tern_core_creation_flush(void)
{
    TERN_LIST_EACH(struct unsent, one, &tern_core_creations.unsent, listed) {
        if (is_second(one) || tern_core_wire_send(one->peer, &one->wire, sizeof(one->wire)) == TERN_AGAIN)
            continue;
        if (one->of)
            one->of->unsent--;
        tern_base_list_remove(&one->listed);
        free(one);
    }
}

/* Send a message when there is space for it. */
void tern_core_creation_post(struct creation *of, int peer, const struct core_team_wire *wire)
{
    struct unsent *one = malloc(sizeof(*one));

    if (!one)
        tern_core_creation_no_memory();
    *one = (struct unsent){ .peer = peer, .of = of, .wire = *wire };
    tern_base_list_append(&tern_core_creations.unsent, &one->listed);
    if (of)
        of->unsent++;
}

struct core_team_wire tern_core_creation_wire(const struct creation *c, enum core_direction way, uint32_t attempt)
{
    return (struct core_team_wire){ .whose = CORE_WIRE_OWN,
                                    .way = (uint8_t)way,
                                    .mark = CORE_WIRE_MARK,
                                    .parent = c->parent->id,
                                    .tag = c->tag,
                                    .hash = c->hash,
                                    .size = (uint32_t)c->plan.size,
                                    .attempt = attempt,
                                    .id = c->plan.id };
}

/* Send a message to the root. */
void tern_core_creation_tell_root(struct creation *c, enum core_direction way, tern_status status, uint64_t more)
{
    struct core_team_wire wire = tern_core_creation_wire(c, way, c->attempt);

    wire.status = status;
    wire.more = more;
    tern_core_creation_post(c, tern_core_creation_root(c), &wire);
}

/* As the root, send a message to all other members. */
void tern_core_creation_tell_members(struct creation *c, enum core_direction way, uint64_t more)
{
    for (int i = 0; i < c->plan.size; i++) {
        struct core_team_wire wire = tern_core_creation_wire(c, way, c->member[i].attempt);

        wire.more = more;
        if (i != c->plan.rank)
            tern_core_creation_post(c, c->members[i], &wire);
    }
}

/* ---- failure ---- */

/* Refuse a JOIN that has arrived. */
void tern_core_creation_refuse(int to, const struct core_team_wire *join, const struct core_team_wire *why)
{
    struct core_team_wire wire = *why;

    wire.way = CORE_TEAM_REFUSED;
    wire.attempt = join->attempt;
    tern_core_creation_post(NULL, to, &wire);
}

/* Return whether the JOIN must be refused because of a call that has failed, and note that. */
static bool is_due_in(struct owed *owed, int from, const struct core_team_wire *wire)
{
    int i = 0;

    if (owed->wire.parent != wire->parent || owed->wire.tag != wire->tag || tern_base_now() > owed->until)
        return false;
    while (i < owed->size + owed->answered && owed->of[i].rank != from)
        i++;
    if (i < owed->size + owed->answered) {
        bool due = owed->of[i].due && (owed->other != 0 || owed->wire.hash == wire->hash);

        owed->of[i].due &= !due;
        return due;
    }
    if (owed->other == 0 || wire->hash != owed->other || owed->answered == owed->most)
        return false;
    owed->of[i].rank = from;
    owed->of[i].due = false;
    owed->answered++;
    return true;
}

/* Return whether the rank may be about to make a call that belongs to an earlier one of this rank, and is refused. */
static bool is_behind(const struct creation *c, int rank)
{
    TERN_LIST_EACH(const struct owed, owed, &tern_core_creations.owed, listed) {
        int i = 0;

        if (owed->wire.parent != c->parent->id || owed->wire.tag != c->tag || tern_base_now() > owed->until)
            continue;
        while (i < owed->size + owed->answered && owed->of[i].rank != rank)
            i++;
        if (i < owed->size + owed->answered ? owed->of[i].due : owed->other > 1)
            return true;
    }
    return false;
}

/* Refuse a JOIN if a refusal is owed. */
bool tern_core_creation_is_owed(int from, const struct core_team_wire *wire)
{
    TERN_LIST_EACH(struct owed, owed, &tern_core_creations.owed, listed) {
        if (is_due_in(owed, from, wire)) {
            tern_core_creation_refuse(from, wire, &owed->wire);
            return true;
        }
        if (tern_base_now() > owed->until) {
            tern_base_list_remove(&owed->listed);
            free(owed);
        }
    }
    return false;
}

static struct owed *owed_new(const struct core_team_wire *why, uint64_t other, int size, int most)
{
    struct owed *owed = malloc(sizeof(*owed) + (size_t)(size + most) * sizeof(owed->of[0]));

    if (!owed)
        tern_core_creation_no_memory();
    *owed =
        (struct owed){ .wire = *why, .other = other, .until = tern_base_now() + OWED_NS, .size = size, .most = most };
    tern_base_list_append(&tern_core_creations.owed, &owed->listed);
    return owed;
}

/* Refuse the JOINs that wait. */
static void refuse_waiting(struct owed *owed)
{
    TERN_LIST_EACH(struct waiting, one, &tern_core_creations.waiting, listed) {
        if (!is_due_in(owed, one->from, &one->wire))
            continue;
        tern_core_creation_refuse(one->from, &one->wire, &owed->wire);
        tern_base_list_remove(&one->listed);
        free(one);
        tern_core_creations.count_waiting--;
    }
}

/* Handle the failure of a call of which this rank is the root: record refusals for the members that have not joined,
 * and for others with the other list. Refuse those that wait. */
static void owe(const struct creation *c, const struct core_team_wire *why, uint64_t other)
{
    struct owed *owed = owed_new(why, other, c->plan.size, (int)why->size);

    for (int i = 0; i < c->plan.size; i++) {
        owed->of[i].rank = c->members[i];
        owed->of[i].due = i != c->plan.rank && !c->member[i].joined && c->members[i] != c->culprit;
    }
    refuse_waiting(owed);
}

/* Refuse a list whose root this rank would be, because this rank makes another call: the ranks with that list would
 * wait for it. */
void tern_core_creation_refuse_list(int to, const struct core_team_wire *join, const struct core_team_wire *why)
{
    struct owed *owed = owed_new(why, join->hash, 0, (int)join->size);

    (void)is_due_in(owed, to, join); /* this call refuses it below, and no later call does */
    tern_core_creation_refuse(to, join, why);
    refuse_waiting(owed);
}

/* Let the call fail. theirs: a message of the culprit, which has another list; NULL: there is another reason. */
void tern_core_creation_fail(struct creation *c, tern_status status, int culprit, const struct core_team_wire *theirs)
{
    struct core_team_wire why = tern_core_creation_wire(c, CORE_TEAM_REFUSED, 0);
    uint32_t              their_size = theirs ? theirs->size : 0;

    if (c->stage == STAGE_FAILED || c->stage == STAGE_GO)
        return;
    c->status = status;
    c->culprit = culprit;
    c->their_size = their_size;
    why.status = status;
    why.size = their_size;
    why.more = (uint64_t)culprit + 1;
    if (!tern_core_creation_leads(c)) {
        why.way = CORE_TEAM_ABORT;
        why.attempt = c->attempt;
        tern_core_creation_post(c, tern_core_creation_root(c), &why);
    }
    for (int i = 0; i < c->plan.size && tern_core_creation_leads(c); i++) {
        why.attempt = c->member[i].attempt;
        if (i != c->plan.rank && c->member[i].joined && !c->member[i].gave_up)
            tern_core_creation_post(c, c->members[i], &why);
    }
    c->stage = STAGE_FAILED;
    if (tern_core_creation_leads(c) && c->joined < c->plan.size)
        owe(c, &why, !theirs ? 0 : theirs->hash != c->hash ? theirs->hash : 1); /* 1: not known here */
}

tern_status tern_core_creation_report(const struct creation *c)
{
    char name[48];

    snprintf(name, sizeof(name), "%s", tern_core_team_name(c->parent).text);
    if (c->their_size > 0)
        return tern_base_fail(
            c->status,
            "%s: rank %d of the job passed another list of ranks, with %u ranks, than other members of "
            "the new team (parent: %s; tag %" PRIu64 "; this rank, %d, passed %d ranks); all members "
            "pass the same ranks in the same order",
            c->what, c->culprit, c->their_size, name, c->tag, tern_job.boot.rank, c->plan.size);
    if (c->culprit == tern_job.boot.rank)
        return c->status; /* the detail is set already */
    if (c->status == TERN_ERR_PEER)
        return tern_base_fail(TERN_ERR_PEER,
                              "%s: rank %d of the job, a member of the new team of %d ranks, is gone (parent: %s; tag "
                              "%" PRIu64 ")",
                              c->what, c->culprit, c->plan.size, name, c->tag);
    return tern_base_fail(
        c->status, "%s: rank %d of the job could not create the team of %d ranks (parent: %s; tag %" PRIu64 "): %s",
        c->what, c->culprit, c->plan.size, name, c->tag,
        c->status == TERN_ERR_TIMEOUT ? "its call timed out" : tern_strerror(c->status));
}

/* As a root that has waited for a while, ask the members that have not joined whether they make another call. */
void tern_core_creation_call(struct creation *c)
{
    int64_t now = tern_base_now();

    if (!tern_core_creation_leads(c) || c->stage != STAGE_JOINING || now < c->call_at || c->unsent > 0)
        return;
    c->call_every = c->call_every * 2 < LONGEST_CALL_NS ? c->call_every * 2 : LONGEST_CALL_NS;
    c->call_at = now + c->call_every;
    for (int i = 0; i < c->plan.size; i++) {
        struct core_team_wire wire = tern_core_creation_wire(c, CORE_TEAM_CALL, c->attempt);

        if (i != c->plan.rank && !c->member[i].joined && !is_behind(c, c->members[i]))
            tern_core_creation_post(c, c->members[i], &wire);
    }
}

/* team_receive.c: creation of a team by its members alone: incoming messages. The protocol is explained in
 * team_create.c. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/job.h"
#include "core/team_creation.h"

#define DOOMED_NS 10000000000ll /* time for which a call is known to fail */
#define MOST_WAITING 65536u     /* maximum number of JOINs that wait: programs do not need more */

struct tern_creations tern_core_creations = { .lock = PTHREAD_MUTEX_INITIALIZER,
                                              .calls = TERN_LIST_INIT(tern_core_creations.calls),
                                              .waiting = TERN_LIST_INIT(tern_core_creations.waiting),
                                              .owed = TERN_LIST_INIT(tern_core_creations.owed),
                                              .doomed = TERN_LIST_INIT(tern_core_creations.doomed),
                                              .unsent = TERN_LIST_INIT(tern_core_creations.unsent) };

static bool is_same(const struct creation *c, const struct core_team_wire *wire)
{
    return c->parent->id == wire->parent && c->tag == wire->tag && c->hash == wire->hash;
}

/* Return the call of this rank that contradicts a call of another rank whose list contains this rank; NULL: none. */
static struct creation *contradiction(int from, const struct core_team_wire *wire)
{
    TERN_LIST_EACH(struct creation, c, &tern_core_creations.calls, listed)
        if (c->stage == STAGE_JOINING && c->parent->id == wire->parent && c->tag == wire->tag &&
            c->hash != wire->hash && tern_core_creation_index(c, from) >= 0)
            return c;
    return NULL;
}

/* Add a JOIN to the call that it belongs to, and return true; false: it belongs to none. */
static bool join(struct creation *c, int from, const struct core_team_wire *wire)
{
    int i;

    if (!tern_core_creation_leads(c) || c->stage != STAGE_JOINING || !is_same(c, wire) ||
        (i = tern_core_creation_index(c, from)) < 0 || c->member[i].joined)
        return false;
    c->member[i] = (struct member){ .attempt = wire->attempt, .joined = true };
    c->joined++;
    return true;
}

/* Handle a JOIN that contradicts a call of this rank. */
static void contradict(struct creation *c, int from, const struct core_team_wire *wire)
{
    struct core_team_wire why = *wire;

    why.status = TERN_ERR_ARG;
    why.size = (uint32_t)c->plan.size;
    why.more = (uint64_t)tern_job.boot.rank + 1;
    if (tern_core_creation_leads(c))
        tern_core_creation_refuse(from, wire, &why);
    else
        tern_core_creation_refuse_list(from, wire, &why);
    tern_core_creation_fail(c, TERN_ERR_ARG, from, wire);
}

static bool receive_join(int from, const struct core_team_wire *wire)
{
    struct creation *other;
    struct waiting  *one;

    TERN_LIST_EACH(struct creation, c, &tern_core_creations.calls, listed)
        if (join(c, from, wire))
            return true;
    if (tern_core_creation_is_owed(from, wire)) /* of an earlier call */
        return true;
    if ((other = contradiction(from, wire))) {
        contradict(other, from, wire);
        return true;
    }
    if (++tern_core_creations.count_waiting > MOST_WAITING)
        return false;
    if (!(one = malloc(sizeof(*one))))
        tern_core_creation_no_memory();
    *one = (struct waiting){ .from = from, .wire = *wire };
    tern_base_list_append(&tern_core_creations.waiting, &one->listed);
    return true;
}

/* Handle the ABORT of a member that arrives before the root has made its call: the call of the root will fail. */
static void doom(int from, const struct core_team_wire *abort)
{
    struct core_team_wire answer = *abort;
    struct doomed        *doomed = malloc(sizeof(*doomed));

    if (!doomed)
        tern_core_creation_no_memory();
    *doomed = (struct doomed){ .until = tern_base_now() + DOOMED_NS, .wire = *abort };
    tern_base_list_append(&tern_core_creations.doomed, &doomed->listed);
    tern_core_creation_refuse(from, abort, &answer);
}

/* Handle the ABORT of a member: the root gives up, too. If the reason is another list, the member waits for an
 * answer. */
static void receive_abort(int from, const struct core_team_wire *wire)
{
    TERN_LIST_EACH(struct waiting, one, &tern_core_creations.waiting, listed) {
        if (one->from == from && one->wire.attempt == wire->attempt) {
            tern_base_list_remove(&one->listed);
            free(one);
            tern_core_creations.count_waiting--;
            if (wire->size > 0)
                doom(from, wire);
            return;
        }
    }
    TERN_LIST_EACH(struct creation, c, &tern_core_creations.calls, listed) {
        int i = tern_core_creation_leads(c) && is_same(c, wire) ? tern_core_creation_index(c, from) : -1;

        if (i >= 0 && c->member[i].joined && c->member[i].attempt == wire->attempt) {
            c->member[i].gave_up = wire->size == 0;
            tern_core_creation_fail(c, wire->status, wire->size > 0 ? (int)wire->more - 1 : from,
                                    wire->size > 0 ? wire : NULL);
        }
    }
}

/* Fail the call if a member has given up before this rank made it, and drop doomed calls that are too old. */
static void meet_doom(struct creation *c)
{
    TERN_LIST_EACH(struct doomed, doomed, &tern_core_creations.doomed, listed) {
        bool late = tern_base_now() > doomed->until, meant = is_same(c, &doomed->wire) && tern_core_creation_leads(c);

        if (!late && !meant)
            continue;
        if (!late)
            tern_core_creation_fail(c, doomed->wire.status, (int)doomed->wire.more - 1, &doomed->wire);
        tern_base_list_remove(&doomed->listed);
        free(doomed);
        if (!late)
            return;
    }
}

/* Tell the root whose CALL contradicts this call that the call is over. */
static void object(struct creation *c)
{
    struct core_team_wire wire = tern_core_creation_wire(c, CORE_TEAM_OBJECT, c->caller_attempt);

    if (c->caller >= 0)
        tern_core_creation_post(NULL, c->caller, &wire);
    c->caller = -1;
}

/* Handle the answer of a root, or of a rank that received a CALL. */
static void receive_answer(int from, const struct core_team_wire *wire)
{
    TERN_LIST_EACH(struct creation, c, &tern_core_creations.calls, listed) {
        if (c->attempt != wire->attempt ||
            (wire->way != CORE_TEAM_OBJECT && (tern_core_creation_leads(c) || tern_core_creation_root(c) != from)))
            continue;
        if (wire->way == CORE_TEAM_READY && c->stage == STAGE_JOINING) {
            c->plan.id = wire->id;
            c->plan.space = wire->more;
            c->stage = STAGE_READY;
        } else if (wire->way == CORE_TEAM_GO && c->stage == STAGE_READY) {
            c->stage = STAGE_GO;
        } else if (wire->way == CORE_TEAM_OBJECT && tern_core_creation_leads(c) && c->stage == STAGE_JOINING) {
            tern_core_creation_fail(c, TERN_ERR_ARG, from, wire);
        } else if (wire->way == CORE_TEAM_REFUSED && c->stage < STAGE_GO) {
            c->status = wire->status;
            c->culprit = (int)wire->more - 1;
            c->their_size = wire->size;
            c->stage = STAGE_FAILED; /* the root knows */
            object(c);
        }
    }
}

static void receive_opened(int from, const struct core_team_wire *wire)
{
    TERN_LIST_EACH(struct creation, c, &tern_core_creations.calls, listed) {
        int i = tern_core_creation_leads(c) && c->stage == STAGE_READY && c->plan.id == wire->id
                    ? tern_core_creation_index(c, from)
                    : -1;

        if (i < 0 || c->member[i].opened)
            continue;
        c->member[i].opened = true;
        c->opened++;
        if (wire->status < 0)
            tern_core_creation_fail(c, wire->status, from, NULL);
    }
}

/* Handle the CALL of a root that contradicts a call of this rank: give up. */
static void receive_call(int from, const struct core_team_wire *wire)
{
    struct creation      *c = contradiction(from, wire);
    struct core_team_wire why;

    if (!c || tern_core_creation_leads(c) || c->caller >= 0)
        return;
    c->caller = from;
    c->caller_attempt = wire->attempt;
    why = tern_core_creation_wire(c, CORE_TEAM_ABORT, c->attempt);
    why.status = TERN_ERR_ARG;
    why.size = wire->size;
    why.more = (uint64_t)from + 1;
    tern_core_creation_post(c, tern_core_creation_root(c), &why);
}

/* Return whether the fields of a message have possible values. A call that fails has an error. */
static bool is_sound(const struct core_team_wire *wire)
{
    bool fails = wire->way == CORE_TEAM_REFUSED || wire->way == CORE_TEAM_ABORT;

    return wire->status <= 0 && (!fails || wire->status < 0) && wire->size <= TERN_MAX_RANKS &&
           (wire->way == CORE_TEAM_READY || wire->more <= (uint64_t)tern_job.boot.ranks);
}

bool tern_core_team_receive(int from, const unsigned char *head)
{
    struct core_team_wire wire;
    bool                  sound = true;

    memcpy(&wire, head, sizeof(wire));
    if (!is_sound(&wire))
        return false;
    pthread_mutex_lock(&tern_core_creations.lock);
    switch (wire.way) {
    case CORE_TEAM_JOIN: sound = receive_join(from, &wire); break;
    case CORE_TEAM_ABORT: receive_abort(from, &wire); break;
    case CORE_TEAM_OPENED: receive_opened(from, &wire); break;
    case CORE_TEAM_CALL: receive_call(from, &wire); break;
    case CORE_TEAM_READY:
    case CORE_TEAM_GO:
    case CORE_TEAM_OBJECT:
    case CORE_TEAM_REFUSED: receive_answer(from, &wire); break;
    default: sound = false;
    }
    tern_core_creation_flush();
    pthread_mutex_unlock(&tern_core_creations.lock);
    return sound;
}

void tern_core_team_create_close(void)
{
    struct tern_list *node;

    while ((node = tern_base_list_pop(&tern_core_creations.waiting)))
        free(TERN_LIST_ITEM(node, struct waiting, listed));
    while ((node = tern_base_list_pop(&tern_core_creations.owed)))
        free(TERN_LIST_ITEM(node, struct owed, listed));
    while ((node = tern_base_list_pop(&tern_core_creations.doomed)))
        free(TERN_LIST_ITEM(node, struct doomed, listed));
    while ((node = tern_base_list_pop(&tern_core_creations.unsent)))
        free(TERN_LIST_ITEM(node, struct unsent, listed));
    tern_core_creations.count_waiting = 0;
}

/* Begin the call: find the JOINs that have arrived, or join. */
void tern_core_creation_begin(struct creation *c)
{
    pthread_mutex_lock(&tern_core_creations.lock);
    c->attempt = ++tern_core_creations.attempts;
    tern_base_list_append(&tern_core_creations.calls, &c->listed);
    if (tern_core_creation_leads(c)) {
        c->member[c->plan.rank].joined = true;
        c->joined = 1;
    } else {
        tern_core_creation_tell_root(c, CORE_TEAM_JOIN, TERN_OK, 0);
    }
    TERN_LIST_EACH(struct waiting, one, &tern_core_creations.waiting, listed) {
        bool contradicts = contradiction(one->from, &one->wire) == c;

        if (!contradicts && !join(c, one->from, &one->wire))
            continue;
        tern_base_list_remove(&one->listed);
        tern_core_creations.count_waiting--;
        if (contradicts)
            contradict(c, one->from, &one->wire);
        free(one);
        if (contradicts)
            break; /* contradict() may have removed others */
    }
    meet_doom(c);
    pthread_mutex_unlock(&tern_core_creations.lock);
}

void tern_core_creation_end(struct creation *c)
{
    pthread_mutex_lock(&tern_core_creations.lock);
    tern_base_list_remove(&c->listed);
    TERN_LIST_EACH(struct unsent, one, &tern_core_creations.unsent, listed)
        if (one->of == c)
            one->of = NULL;
    pthread_mutex_unlock(&tern_core_creations.lock);
    free(c->members);
    free(c->member);
}

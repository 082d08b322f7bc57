/* team_create.c: creation of a team by its members alone.
 *
 * The member with the lowest rank in the job is the root. The other members JOIN it. When all have joined, the root
 * proposes the id of the team, allocates the memory that the members share, if any, and sends READY to the others. Each
 * member opens the team and sends OPENED to the root. When all members have opened the team, the root sends GO: from
 * then on each of them may use the team. So a creation takes four messages for each member, and involves no other rank.
 *
 * The calls of the members belong together if parent, list and tag are equal; the messages contain a hash of the list.
 * A JOIN waits until the root makes the call. Two calls contradict each other if they have the same parent and tag and
 * different lists, and each of the two ranks is in the list of the other: then each waits for a call that the other one
 * cannot make. A root finds this by the JOIN of the other rank; if the two have different roots, by the CALL that a
 * waiting root sends from time to time. The rank that receives the CALL, which is not a root, then gives up: it sends
 * ABORT to its own root and, when that root has confirmed this with REFUSED, OBJECT to the other root. The root answers
 * every JOIN by GO or by REFUSED, also a JOIN that arrives after the root has given up. So each call that is part of a
 * contradiction fails once. A JOIN does not tell which call of the root it is meant for: for some seconds, the next
 * call of the same ranks with the same tag may be refused, too, so that programs pass another tag. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "core/job.h"
#include "core/message.h"
#include "core/team_creation.h"
#include "core/wait.h"

/* ---- waiting ---- */

static enum stage stage_of(struct creation *c)
{
    enum stage stage;

    pthread_mutex_lock(&tern_core_creations.lock);
    stage = c->stage;
    pthread_mutex_unlock(&tern_core_creations.lock);
    return stage;
}

/* Return a member that is dead or has left the job; -1: none. */
static int gone_member(const struct creation *c)
{
    for (int i = 0; i < c->plan.size; i++)
        if (tern_core_job_lost(c->members[i]) ||
            /* relaxed: nothing depends on it but the outcome of this call */
            atomic_load_explicit(&tern_core_job_slot(c->members[i])->life, memory_order_relaxed) >= TERN_LIFE_LEAVING)
            return c->members[i];
    return -1;
}

/* Return whether the call has reached the next step. */
static bool is_due(const struct creation *c)
{
    if (c->unsent > 0)
        return false;
    if (c->stage == STAGE_FAILED || c->stage == STAGE_GO)
        return true;
    if (!tern_core_creation_leads(c))
        return c->stage == STAGE_READY && !c->member[c->plan.rank].opened;
    return c->stage == STAGE_JOINING ? c->joined == c->plan.size : c->opened == c->plan.size;
}

static tern_status creation_poll(void *arg)
{
    struct creation *c = arg;
    int              gone;
    bool             due;

    tern_core_message_poll();
    tern_core_job_check_deaths();
    pthread_mutex_lock(&tern_core_creations.lock);
    if (c->stage < STAGE_GO && (gone = gone_member(c)) >= 0)
        tern_core_creation_fail(c, TERN_ERR_PEER, gone, NULL);
    tern_core_creation_call(c);
    if (!tern_base_list_empty(&tern_core_creations.unsent) && tern_core_message_hold()) {
        tern_core_creation_flush();
        tern_core_message_release();
    }
    due = is_due(c);
    pthread_mutex_unlock(&tern_core_creations.lock);
    return due ? TERN_OK : TERN_PENDING;
}

static void creation_describe(void *arg, char *text, size_t size)
{
    struct creation *c = arg;
    int              late = tern_core_creation_root(c);

    pthread_mutex_lock(&tern_core_creations.lock);
    for (int i = c->plan.size - 1; i >= 0 && tern_core_creation_leads(c); i--)
        if (c->stage == STAGE_JOINING ? !c->member[i].joined : !c->member[i].opened)
            late = c->members[i];
    pthread_mutex_unlock(&tern_core_creations.lock);
    snprintf(text, size, "%s, for a team of %d ranks with tag %" PRIu64 ", waits for rank %d of the job%s", c->what,
             c->plan.size, c->tag, late,
             tern_core_creation_leads(c)
                 ? ", which has not called it with the same ranks"
                 : ", which has not called it with the same ranks, or waits itself for another member");
}

static tern_status await(struct creation *c, tern_deadline deadline)
{
    struct tern_wait wait = { .poll = creation_poll,
                              .describe = creation_describe,
                              .arg = c,
                              .deadline = deadline,
                              .nap = tern_core_creation_leads(c) && stage_of(c) == STAGE_JOINING ? TERN_CREATION_CALL_NS
                                                                                                 : 0 };
    tern_status      st = tern_core_wait(&wait);

    if (st < 0) {
        pthread_mutex_lock(&tern_core_creations.lock);
        tern_core_creation_fail(c, st, tern_job.boot.rank, NULL);
        if (tern_core_message_hold()) {
            tern_core_creation_flush();
            tern_core_message_release();
        }
        pthread_mutex_unlock(&tern_core_creations.lock);
    }
    return st;
}

/* ---- the call ---- */

/* As the root, when all have joined: choose the id, and allocate the memory that the members share. */
static tern_status make_ready(struct creation *c)
{
    uint64_t    bytes = tern_core_team_space(c->members, c->plan.size);
    tern_status st = TERN_OK;

    if (bytes > 0)
        st = tern_boot_space_take(&tern_job.boot, tern_job.boot.arena, bytes, &c->space);
    if (st == TERN_OK)
        st = tern_core_team_propose(&c->plan.id);
    pthread_mutex_lock(&tern_core_creations.lock);
    if (st < 0) {
        tern_core_creation_fail(c, st, tern_job.boot.rank, NULL);
    } else if (c->stage == STAGE_JOINING) {
        c->plan.space = c->space.offset;
        c->stage = STAGE_READY;
        tern_core_creation_tell_members(c, CORE_TEAM_READY, c->plan.space);
    }
    pthread_mutex_unlock(&tern_core_creations.lock);
    return st;
}

/* Open the team, and report this to the root. */
static tern_status open_team(struct creation *c, struct tern_team **team)
{
    tern_status st = tern_core_team_make(&c->plan, team);

    pthread_mutex_lock(&tern_core_creations.lock);
    c->member[c->plan.rank].opened = true;
    c->opened++;
    if (!tern_core_creation_leads(c))
        tern_core_creation_tell_root(c, CORE_TEAM_OPENED, st, 0);
    else if (st < 0)
        tern_core_creation_fail(c, st, tern_job.boot.rank, NULL);
    pthread_mutex_unlock(&tern_core_creations.lock);
    return st;
}

static tern_status run(struct creation *c, struct tern_team **team)
{
    tern_deadline deadline = tern_core_job_deadline();
    tern_status   st;

    tern_core_creation_begin(c);
    if ((st = await(c, deadline)) < 0 || stage_of(c) == STAGE_FAILED)
        return st;
    if (tern_core_creation_leads(c) && (st = make_ready(c)) < 0) {
        await(c, deadline);
        return st;
    }
    if (stage_of(c) == STAGE_READY)
        open_team(c, team);
    if ((st = await(c, deadline)) < 0 || stage_of(c) == STAGE_FAILED)
        return st;
    if (!tern_core_creation_leads(c))
        return TERN_OK;
    pthread_mutex_lock(&tern_core_creations.lock);
    if (c->stage == STAGE_READY) {
        tern_core_creation_tell_members(c, CORE_TEAM_GO, 0);
        c->stage = STAGE_GO;
    }
    pthread_mutex_unlock(&tern_core_creations.lock);
    return await(c, TERN_FOREVER);
}

static uint64_t hash(const int32_t *members, int size)
{
    uint64_t h = 14695981039346656037ull + (unsigned)size; /* FNV-1a, of words */

    for (int i = 0; i < size; i++) {
        h = (h ^ (uint32_t)members[i]) * 1099511628211ull;
        h ^= h >> 29;
    }
    return h;
}

static tern_status prepare(struct creation *c, const int *ranks)
{
    int size = c->plan.size;

    c->members = calloc((size_t)size, sizeof(*c->members));
    c->member = calloc((size_t)size, sizeof(*c->member));
    if (!c->members || !c->member)
        return tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for a team of %d ranks", c->what, size);
    for (int i = 0; i < size; i++) {
        c->members[i] = tern_core_team_world(c->parent, ranks[i]);
        if (c->members[i] == tern_job.boot.rank)
            c->plan.rank = i;
        if (c->members[i] < c->members[c->root])
            c->root = i;
    }
    c->plan.members = c->members;
    c->hash = hash(c->members, size);
    c->call_every = TERN_CREATION_CALL_NS;
    c->call_at = tern_base_now() + TERN_CREATION_CALL_NS;
    return TERN_OK;
}

tern_status tern_core_team_create(struct tern_team *parent, const int *ranks, int size, uint64_t tag, const char *what,
                                  struct tern_team **out)
{
    struct creation c = {
        .parent = parent, .what = what, .tag = tag, .plan = { .size = size, .like = parent }, .caller = -1
    };
    struct tern_team *team = NULL;
    tern_status       st = prepare(&c, ranks);

    tern_base_list_init(&c.listed);
    if (st == TERN_OK) {
        st = run(&c, &team);
        if (st == TERN_OK && stage_of(&c) == STAGE_FAILED)
            st = tern_core_creation_report(&c);
    }
    tern_core_creation_end(&c);
    if (st == TERN_OK)
        st = tern_core_team_greet(team, tern_core_job_deadline(), what);
    if (st < 0) {
        if (team)
            tern_core_team_abandon(team);
        if (c.space.bytes > 0)
            tern_boot_space_give(&c.space);
        return st;
    }
    tern_base_log(TERN_LOG_DEBUG, "%s: rank %d of %s", what, team->rank, tern_core_team_name(team).text);
    *out = team;
    return TERN_OK;
}

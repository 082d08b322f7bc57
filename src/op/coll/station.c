/* station.c: the station of a team, which executes the collective operations of the team. See coll.h.
 *
 * Any thread may put an operation at the door of the station. The thread that gets the lock of the station takes in the
 * operations at the door, and executes as much as it can of all operations. A thread that does not get the lock leaves
 * a mark, and the holder of the lock makes another round. Operations that have ended are reported without the lock,
 * because that may update a counter, whose engine has a lock of its own.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/debug.h"
#include "boot/bell.h"
#include "core/job.h"
#include "core/message.h"
#include "op/coll/board.h"
#include "op/coll/check.h"
#include "op/coll/coll.h"
#include "op/coll/helper.h"
#include "op/coll/nodes.h"
#include "op/coll/tag.h"
#include "op/tagged/tagged.h"
#include "op/trigger/engine.h"

#define LONG (64u << 10) /* bytes; to send or receive more takes several times as long as the wake of a thread, 10 us */
#define IMMEDIATELY 200000 /* ns after the start of an operation in which a program that waits for it polls */

/* ---- operations ---- */

static void temps_free(struct tern_coll_temp *temp)
{
    while (temp) {
        struct tern_coll_temp *next = temp->next;

        free(temp);
        temp = next;
    }
}

/* Free what an operation refers to, when its last event is consumed or its context is closed. */
static void coll_release(struct tern_op *op)
{
    struct tern_coll *c = (struct tern_coll *)op;

    temps_free(c->temps);
    free(c->step);
}

static void coll_describe(const struct tern_op *op, char *text, size_t size)
{
    tern_op_coll_describe((const struct tern_coll *)op, text, size);
}

static const char *coll_explain(const struct tern_op *op)
{
    return ((const struct tern_coll *)op)->detail;
}

static const struct tern_op_kind coll_kind = { .describe = coll_describe,
                                               .explain = coll_explain,
                                               .release = coll_release };

struct tern_coll *tern_op_coll_new(struct tern_station *station, struct tern_ctx *ctx,
                                   const struct tern_coll_args *args)
{
    struct tern_coll *c = tern_core_op_alloc(ctx, sizeof(*c), &coll_kind, args->what);

    if (!c) {
        tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for an operation", args->what);
        return NULL;
    }
    memset((char *)c + sizeof(c->op), 0, sizeof(*c) - sizeof(c->op));
    tern_base_list_init(&c->node);
    c->op.events = 1;
    c->station = station;
    c->ctx = ctx;
    c->rank = station->team->rank;
    c->size = station->team->size;
    c->call = args->call;
    c->root = args->root;
    c->says = tern_op_coll_says(args);
    c->how = args->how;
    c->blocks = args->blocks;
    c->number = ++station->number;
    c->tag = tag_make(c->number, &c->says);
    return c;
}

void tern_op_coll_fail(struct tern_coll *c, tern_status status, const char *format, ...)
{
    va_list list;

    if (c->status < 0)
        return;
    c->status = status;
    va_start(list, format);
    vsnprintf(c->detail, sizeof(c->detail), format, list);
    va_end(list);
}

/* Report the end of an operation. The memory of the operation may be gone afterwards. */
static void end(struct tern_coll *c)
{
    struct tern_ctx     *ctx = c->ctx;
    struct tern_counter *counter = c->counter;
    tern_status          status = c->status;
    bool                 blocks = c->blocks;

    c->op.status = status;
    if (c->op.events > 0)
        /* release: the results, and the last access by this thread. Pairs with tern_core_event_done(). */
        __atomic_store_n(&c->op.done, true, __ATOMIC_RELEASE);
    else
        tern_core_op_drop(&c->op);
    if (counter)
        tern_op_counter_used(counter, status);
    atomic_fetch_sub_explicit(&ctx->colls, 1, memory_order_release); /* last access to the context */
    /* The thread that waits for a blocking call is this one, unless this is the helper thread or the program has more
     * threads: all threads but the owner of the bias revoke the bias. The latter is a hint. */
    if (!blocks || !tern_bias_owner || atomic_load_explicit(&tern_bias.revoked, memory_order_relaxed))
        tern_boot_wake(tern_core_job_slot(tern_job.boot.rank));
}

/* ---- progress ---- */

/* Take in the operations at the door. */
static void admit(struct tern_station *station)
{
    struct tern_list *node;

    pthread_mutex_lock(&station->door);
    while ((node = tern_base_list_pop(&station->arrived)))
        tern_base_list_append(&station->active, node);
    pthread_mutex_unlock(&station->door);
}

/* Look for members that have died, and let all operations fail: members that wait for a dead one do not serve
 * others. */
static void check_losses(struct tern_station *station)
{
    uint32_t losses = atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed);
    int      lost = losses > 0 ? tern_core_team_lost(station->team) : -1;

    if (losses != station->losses) /* the job does not know the context of the station */
        atomic_store_explicit(&station->ctx->attention, true, memory_order_relaxed);
    station->losses = losses;
    if (lost < 0)
        return;
    TERN_LIST_EACH(struct tern_coll, c, &station->active, node)
        tern_op_coll_fail(
            c, TERN_ERR_PEER,
            "%s: rank %d of the team is gone (rank %d of the job); call tern_team_survivors to go on with "
            "the others",
            c->op.call, lost, tern_core_team_world(station->team, lost));
}

/* Record that an operation has failed half way: no later operation can be completed. */
static void note_failure(struct tern_station *station, const struct tern_coll *c)
{
    if (!station->failed || (int32_t)(station->failed_first - c->number) > 0)
        station->failed_first = c->number;
    station->failed = true;
    atomic_store_explicit(&station->broken, true, memory_order_relaxed);
    if (c->status == TERN_ERR_PEER)
        atomic_store_explicit(&station->lost, true, memory_order_relaxed);
}

/* Let an operation fail if an earlier one has failed: the members that gave up the earlier one do not take part in this
 * one. */
static void check_earlier(const struct tern_station *station, struct tern_coll *c)
{
    if (TERN_LIKELY(!station->failed) || (int32_t)(c->number - station->failed_first) <= 0)
        return;
    if (atomic_load_explicit(&station->lost, memory_order_relaxed)) /* the lock orders the access */
        tern_op_coll_fail(c, TERN_ERR_PEER,
                          "%s: a rank of the team is gone, as an earlier collective call has found; call "
                          "tern_team_survivors to go on with the others",
                          c->op.call);
    else
        tern_op_coll_fail(c, TERN_ERR_STATE,
                          "%s: an earlier collective call on the team failed half way; create another team",
                          c->op.call);
}

/* Remove an operation that has ended from the list. */
static void leave(struct tern_station *station, struct tern_coll *c, struct tern_list *ended)
{
    struct tern_coll_temp *last = c->temps;

    tern_base_list_remove(&c->node);
    tern_base_list_append(ended, &c->node);
    c->ended = true;
    if (!c->blocks)
        atomic_fetch_sub_explicit(&station->busy, 1, memory_order_relaxed);
    if (c->status < 0 && c->status != TERN_ERR_CANCELLED) { /* a cancelled operation has not begun, on any rank */
        note_failure(station, c);
        while (last && last->next)
            last = last->next;
        if (last) { /* peers may still read the messages of this rank */
            last->next = station->debris;
            station->debris = c->temps;
            c->temps = NULL;
        }
    }
}

/* Execute as much as possible. The caller holds the lock. */
static bool round_of(struct tern_station *station, struct tern_list *ended)
{
    bool any = false;

    admit(station);
    check_losses(station);
    if (station->ctx->engine)
        tern_op_engine_advance(station->ctx);
    if (atomic_load_explicit(&station->ctx->attention, memory_order_relaxed)) /* the lock of the tagged layer orders */
        tern_core_ctx_attend(station->ctx);
    TERN_LIST_EACH(struct tern_coll, c, &station->active, node) {
        bool over = false;

        check_earlier(station, c);
        any |= tern_op_coll_run(c, &over);
        if (over)
            leave(station, c, ended);
    }
    return any;
}

static _Thread_local bool is_brief;

bool tern_op_coll_is_brief(void)
{
    return is_brief;
}

void tern_op_coll_progress_briefly(struct tern_station *station)
{
    is_brief = true;
    tern_op_coll_progress(station);
    is_brief = false;
}

void tern_op_coll_progress(struct tern_station *station)
{
    struct tern_list ended, *node;

    if (tern_core_in_handler())
        return;
    tern_base_list_init(&ended);
    atomic_store(&station->again, true); /* seq_cst, as below: either thread sees what the other did */
    while (atomic_load(&station->again) && pthread_mutex_trylock(&station->lock) == 0) {
        atomic_store(&station->again, false);
        if (round_of(station, &ended))
            tern_core_message_keep_awake(); /* no bell rings any more for messages that match new receives */
        pthread_mutex_unlock(&station->lock);
    }
    while ((node = tern_base_list_pop(&ended)))
        end(TERN_LIST_ITEM(node, struct tern_coll, node));
}

/* Return whether the helper thread must serve a nonblocking operation at once. It must if the operation accesses the
 * memory of other ranks, because the call that starts the operation leaves that to the thread; and if the operation
 * takes much longer than the wake of a thread, and the program probably does not wait for it immediately. */
static bool is_urgent(struct tern_station *station, const struct tern_coll *c)
{
    bool waits;

    if (c->direct)
        return true;
    if (c->moved < LONG)
        return false;
    /* relaxed, here and in the next function: hints */
    waits = atomic_load_explicit(&station->after, memory_order_relaxed) == TERN_COLL_AFTER_WAITED;
    atomic_store_explicit(&station->started, tern_base_now(), memory_order_relaxed);
    atomic_store_explicit(&station->after, TERN_COLL_AFTER_UNKNOWN, memory_order_relaxed);
    return !waits;
}

/* Record what the program, which now polls, did after it started the last long operation. */
static void note_poll(struct tern_station *station)
{
    int64_t since;

    if (TERN_LIKELY(atomic_load_explicit(&station->after, memory_order_relaxed) != TERN_COLL_AFTER_UNKNOWN))
        return;
    since = tern_base_now() - atomic_load_explicit(&station->started, memory_order_relaxed);
    atomic_store_explicit(&station->after, since < IMMEDIATELY ? TERN_COLL_AFTER_WAITED : TERN_COLL_AFTER_COMPUTED,
                          memory_order_relaxed);
}

bool tern_op_coll_arrive(struct tern_coll *c)
{
    struct tern_station *station = c->station;
    struct tern_ctx     *ctx = c->ctx;
    bool                 blocks = c->blocks, urgent = !blocks && is_urgent(station, c);

    atomic_fetch_add_explicit(&ctx->colls, 1, memory_order_relaxed);
    if (!blocks)
        atomic_fetch_add_explicit(&station->busy, 1, memory_order_relaxed);
    pthread_mutex_lock(&station->door);
    c->parked = false;
    if (urgent) /* the helper thread must not wait for the program, unless the program polls from here on */
        atomic_store_explicit(&station->activity.polled, false, memory_order_relaxed); /* a hint */
    tern_base_list_append(&station->arrived, &c->node);
    /* release: the count. Pairs with tern_core_ctx_attend(). */
    atomic_store_explicit(&ctx->attention, true, memory_order_release);
    pthread_mutex_unlock(&station->door); /* from here on the operation may end, and its context may be freed */
    return urgent;
}

void tern_op_coll_open_gate(struct tern_coll *c, tern_status status, const char *text)
{
    struct tern_station *station = c->station;
    bool                 last;

    pthread_mutex_lock(&station->door);
    if (status < 0)
        tern_op_coll_fail(c, status, "%s", text);
    last = --c->gates == 0;
    pthread_mutex_unlock(&station->door);
    if (last)
        tern_op_coll_helper_wake(tern_op_coll_arrive(c)); /* the station may be freed */
}

void tern_op_coll_advance(struct tern_ctx *ctx)
{
    struct tern_station *station = ctx->team->coll;

    tern_boot_activity_mark(&station->activity);
    note_poll(station);
    tern_op_coll_progress(station);
}

/* ---- opening and closing ---- */

#define SCOPE 0x80000000u /* added to the id of the team, which has 31 bits */

uint32_t tern_op_coll_scope(uint32_t id)
{
    return id ^ SCOPE;
}

static tern_status station_open(struct tern_station *station, struct tern_team *team)
{
    tern_status st;

    station->team = team;
    station->group = (struct tern_link_group){ .id = tern_op_coll_scope(team->group->id) };
    station->scope = (struct tern_team){ .size = team->size,
                                         .rank = team->rank,
                                         .world_rank = team->world_rank,
                                         .team_rank = team->team_rank,
                                         .group = &station->group,
                                         .id = team->id };
    tern_base_list_init(&station->active);
    tern_base_list_init(&station->arrived);
    tern_base_list_init(&station->helped);
    if ((st = tern_op_coll_nodes_open(team, &station->nodes)) < 0)
        return st;
    if ((st = tern_core_ctx_open(&station->scope, TERN_RELAXED, &station->ctx)) < 0) {
        tern_op_coll_nodes_close(station->nodes);
        return st;
    }
    tern_core_ctx_unlist(station->ctx);
    pthread_mutex_init(&station->lock, NULL);
    pthread_mutex_init(&station->door, NULL);
    tern_op_board_open(station);
    tern_op_coll_helper_join(station);
    return TERN_OK;
}

struct tern_station *tern_op_coll_station_make(struct tern_team *team)
{
    struct tern_station *station = calloc(1, sizeof(*station));

    if (!station) {
        tern_base_fail(TERN_ERR_NOMEM, "no memory for the collective calls of a team");
        return NULL;
    }
    if (station_open(station, team) < 0) {
        free(station);
        return NULL;
    }
    return team->coll = station;
}

void tern_op_coll_close(struct tern_team *team)
{
    struct tern_station *station = team->coll;
    struct tern_list    *node;

    if (!station)
        return;
    tern_op_coll_helper_leave(station);
    admit(station);
    while ((node = tern_base_list_pop(&station->active))) { /* tern_finalize gave up */
        struct tern_coll *c = TERN_LIST_ITEM(node, struct tern_coll, node);

        tern_op_coll_stop(c);
        c->op.status = TERN_ERR_CANCELLED;
        c->op.done = true;
    }
    tern_core_ctx_close(station->ctx);
    tern_op_board_close(station);
    temps_free(station->debris);
    tern_op_coll_nodes_close(station->nodes);
    pthread_mutex_destroy(&station->lock);
    pthread_mutex_destroy(&station->door);
    free(station);
    team->coll = NULL;
}

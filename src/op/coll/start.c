/* start.c: from a checked collective call to an operation: blocking, nonblocking, or started by a counter. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/debug.h"
#include "core/job.h"
#include "core/message.h"
#include "core/quiet.h"
#include "core/shared.h"
#include "core/wait.h"
#include "op/coll/board.h"
#include "op/coll/check.h"
#include "op/coll/coll.h"
#include "op/coll/direct.h"
#include "op/coll/direct_with.h"
#include "op/coll/helper.h"
#include "op/coll/tree.h"
#include "op/trigger/engine.h"

#define POLL_EVERY 16 /* blocking calls that send messages, per poll by a member that does not wait */

/* ---- the schedule ---- */

/* The schedule of a team of one rank: copies. */
static void write_alone(struct tern_coll *c, const struct tern_coll_args *args)
{
    const tern_alltoalls_args *s = args->strided;

    if (s)
        tern_coll_pack(c, args->dst, s->elem * s->dst_stride, args->src, s->elem * s->src_stride, s->elem, s->count);
    else if (args->call != TERN_COLL_SYNC && args->call != TERN_COLL_BARRIER && args->call != TERN_COLL_BROADCAST &&
             args->call != TERN_COLL_EXSCAN)
        tern_coll_copy(c, args->dst + tern_coll_at(&args->to, 0), args->src + tern_coll_at(&args->from, 0), args->len);
}

void tern_op_coll_write(struct tern_coll *c, const struct tern_coll_args *args)
{
    const struct tern_coll_algorithm *a;

    if (c->size == 1) {
        c->algorithm = "copying";
        write_alone(c, args);
        return;
    }
    a = tern_op_coll_select(c->station, args);
    c->algorithm = a->name;
    a->write(c, args);
}

/* Create the operation of a call. NULL, with a detail: no memory. Then the team is broken. Other members that make the
 * call are told so here if the call has a number, and otherwise by fail_others(). */
static struct tern_coll *create(struct tern_station *station, struct tern_ctx *ctx, const struct tern_coll_args *args)
{
    struct tern_coll *c = tern_op_coll_new(station, ctx, args);

    if (c) {
        if (TERN_BASE_DEBUG && c->size > 1)
            tern_op_coll_write_check(c, args);
        if (tern_op_direct_with_takes(station, args))
            tern_op_direct_with_write(c, args);
        else
            tern_op_coll_write(c, args);
        if (c->status == TERN_OK)
            return c;
        tern_base_fail(c->status, "%s", c->detail);
        pthread_mutex_lock(&station->lock);
        tern_op_coll_warn(station, c->number, c->detail);
        pthread_mutex_unlock(&station->lock);
        tern_core_op_drop(&c->op);
    }
    atomic_store_explicit(&station->broken, true, memory_order_relaxed);
    return NULL;
}

/* ---- blocking ---- */

static tern_status blocking_poll(void *arg)
{
    struct tern_coll *c = arg;

    tern_core_ctx_progress(c->op.progress);
    /* acquire: the results. Pairs with the end of an operation in station.c. */
    return __atomic_load_n(&c->op.done, __ATOMIC_ACQUIRE) ? TERN_OK : TERN_PENDING;
}

static void blocking_describe(void *arg, char *text, size_t size)
{
    const struct tern_coll *c = arg;
    char                    one[160];

    tern_op_coll_describe(c, one, sizeof(one));
    snprintf(text, size, "%s waits: %s", c->op.call, one);
}

/* Leave the operation to itself, because the caller no longer waits. Returns false if the operation has ended in the
 * meantime. */
static bool give_up(struct tern_coll *c)
{
    struct tern_station *station = c->station;
    bool                 over;
    char                 text[160];

    pthread_mutex_lock(&station->lock);
    if (!(over = __atomic_load_n(&c->op.done, __ATOMIC_ACQUIRE) || c->ended)) {
        tern_op_coll_describe(c, text, sizeof(text));
        tern_op_coll_fail(c, TERN_ERR_TIMEOUT, "%s: its time limit passed in %s", c->op.call, text);
        c->op.events = 0;
    }
    pthread_mutex_unlock(&station->lock);
    if (over)
        while (!__atomic_load_n(&c->op.done, __ATOMIC_ACQUIRE)) /* another thread is reporting its end */
            tern_base_relax();
    else
        tern_op_coll_progress(station);
    return !over;
}

/* Start the operation. Returns whether it has ended, which is usual for a member that only sends. Such a member polls
 * for messages in one of POLL_EVERY calls only, as in calls of tern_send, but it always learns of deaths. */
static bool ends_at_once(struct tern_coll *c)
{
    bool polls = c->station->sends++ % POLL_EVERY == 0;

    tern_core_job_check_deaths();
    tern_op_coll_arrive(c);
    if (polls)
        tern_core_ctx_progress(c->op.progress);
    else
        tern_op_coll_progress(c->station);
    /* acquire: the results. Pairs with the end of an operation in station.c. */
    return __atomic_load_n(&c->op.done, __ATOMIC_ACQUIRE);
}

static tern_status run_blocking(struct tern_coll *c)
{
    struct tern_wait wait = { .poll = blocking_poll,
                              .describe = blocking_describe,
                              .arg = c,
                              .deadline = tern_core_ctx_deadline(c->ctx),
                              .nap = TERN_COLL_LOOK_NS };
    tern_status      st;

    if (!ends_at_once(c) && (st = tern_core_wait(&wait)) < 0 && give_up(c))
        return st;
    if ((st = c->op.status) < 0)
        tern_base_fail(st, "%s", c->detail);
    tern_core_op_drop(&c->op);
    return st;
}

/* ---- with options ---- */

/* The object that waits for the counter, in the counter's engine. */
struct starter {
    struct tern_op    op; /* must be first */
    struct tern_coll *c;  /* NULL: the operation has started, or was refused */
};

static tern_status starter_start(struct tern_op *op)
{
    struct starter *s = (struct starter *)op;

    tern_op_coll_open_gate(s->c, TERN_OK, NULL);
    s->c = NULL;
    return TERN_OK;
}

/* If the operation has not started, its counter was freed, or it no longer waits. The operation ends at its station. */
static void starter_release(struct tern_op *op)
{
    struct starter *s = (struct starter *)op;
    char            text[128];

    if (!s->c)
        return;
    snprintf(text, sizeof(text), "%s: cancelled before its counter reached the threshold", s->c->op.call);
    tern_op_coll_open_gate(s->c, TERN_ERR_CANCELLED, text);
}

static const struct tern_op_kind starter_kind = { .start = starter_start, .release = starter_release };

/* Let the operation wait for its counter. After an error, it no longer waits for it. */
static tern_status park(struct tern_coll *c, const tern_opts *opts)
{
    const tern_opts when = { .size = sizeof(when), .when = opts->when, .threshold = opts->threshold };
    struct starter *s = tern_op_parked_alloc(opts->when->engine, sizeof(*s), &starter_kind, c->op.call);

    if (!s) {
        tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for a triggered operation", c->op.call);
        tern_op_coll_open_gate(c, TERN_ERR_NOMEM, tern_base_detail());
        return TERN_ERR_NOMEM;
    }
    s->op.link.xfer = (struct tern_xfer){ .len = 0 };
    s->c = c;
    return tern_op_engine_park(&s->op, &when, -1, NULL); /* releases s if it fails */
}

/* The operations that the context had started before a barrier are complete. */
static void barrier_ready(void *arg, tern_status status, const char *failed)
{
    struct tern_coll *c = arg;
    char              text[300];

    snprintf(text, sizeof(text),
             status == TERN_ERR_CANCELLED ? "%s: the context was closed" : "%s: an earlier %s failed", c->op.call,
             failed);
    tern_op_coll_open_gate(c, status, text);
}

/* Let a barrier wait for the operations of the context. After an error, it no longer waits for them. */
static tern_status wait_quiet(struct tern_ctx *ctx, struct tern_coll *c)
{
    tern_status st;

    if (ctx->shared) {
        tern_core_shared_lock(ctx);
        tern_core_shared_take_unflushed(ctx);
    }
    if ((st = tern_core_quiet_then(ctx, c->op.call, barrier_ready, c)) < 0)
        tern_op_coll_open_gate(c, st, tern_base_detail());
    if (ctx->shared)
        tern_core_shared_unlock(ctx);
    return st;
}

/* Make the context responsible for freeing the operation if the program never consumes its event. */
static void hold(struct tern_ctx *ctx, struct tern_coll *c)
{
    if (ctx->shared)
        tern_core_shared_lock(ctx);
    tern_base_list_push(&ctx->held, &c->op.node);
    if (ctx->shared)
        tern_core_shared_unlock(ctx);
}

/* Make the first steps of an operation that may have started, and let the helper thread make the others. */
static void begin(struct tern_station *station, bool urgent)
{
    tern_op_coll_progress_briefly(station);
    if (atomic_load_explicit(&station->busy, memory_order_relaxed) > 0) /* another thread may write it */
        tern_op_coll_helper_wake(urgent);
    if (urgent) /* the helper thread may have run instead of this one */
        atomic_store_explicit(&station->started, tern_base_now(), memory_order_relaxed); /* a hint */
}

static tern_status start_with(struct tern_ctx *ctx, struct tern_coll *c, const tern_opts *opts)
{
    struct tern_station *station = c->station;
    bool                 completes = c->call == TERN_COLL_BARRIER;
    tern_status          st = TERN_OK;

    c->op.events = opts->event ? 1 : 0;
    if ((c->counter = opts->counter))
        tern_op_counter_use(opts->counter);
    if (opts->event) {
        hold(ctx, c);
        *opts->event = tern_core_event_make(&c->op, false);
    }
    if (!opts->when && !completes) {
        begin(station, tern_op_coll_arrive(c));
        return TERN_OK;
    }
    c->parked = true;
    c->gates = (uint8_t)(1 + completes + (opts->when != NULL)); /* the first gate is opened by this function */
    if (completes)
        st = wait_quiet(ctx, c);
    if (opts->when && st == TERN_OK)
        st = park(c, opts);
    else if (opts->when)
        tern_op_coll_open_gate(c, st, "");
    tern_op_coll_open_gate(c, TERN_OK, "");
    if (st < 0 && opts->event)
        *opts->event = TERN_EVENT_INIT; /* the operation was cancelled, and the context frees it */
    begin(station, false);              /* the last gate has woken the helper thread */
    return st;
}

/* ---- the call ---- */

static tern_status check_station(const struct tern_station *station, const char *what)
{
    int lost = tern_core_team_lost(station->team);

    if (TERN_UNLIKELY(lost >= 0))
        return tern_base_fail(TERN_ERR_PEER,
                              "%s: rank %d of the team is gone (rank %d of the job); call tern_team_survivors to go on "
                              "with the others",
                              what, lost, tern_core_team_world(station->team, lost));
    if (TERN_UNLIKELY(atomic_load_explicit(&station->lost, memory_order_relaxed)))
        return tern_base_fail(TERN_ERR_PEER, "%s: a rank of the team is gone, as an earlier collective call has found",
                              what);
    if (TERN_UNLIKELY(atomic_load_explicit(&station->broken, memory_order_relaxed)))
        return tern_base_fail(TERN_ERR_STATE,
                              "%s: an earlier collective call on the team failed half way; create another team", what);
    return TERN_OK;
}

/* Tell the other members that a blocking call has failed half way, unless the call has told them. */
static tern_status fail_others(struct tern_station *station, struct tern_ctx *ctx, unsigned call, tern_status st)
{
    char text[512];

    if (st == TERN_ERR_PEER)
        return st;
    snprintf(text, sizeof(text), "%s", tern_base_detail());
    tern_op_coll_quit(station, text);
    tern_op_coll_progress(station);
    if (st == TERN_ERR_ARG)
        tern_op_coll_let_fail(station, ctx, call);
    return tern_base_fail(st, "%s", text);
}

/* The methods of a blocking call. All members reach the same decision. */
enum way { BY_MESSAGES, BY_BOARD, BY_TREE, BY_DIRECT_ACCESS };

static inline enum way way_of(const struct tern_station *station, const struct tern_coll_args *args)
{
    if (TERN_LIKELY(tern_op_board_takes(station, args)))
        return BY_BOARD;
    if (tern_op_tree_takes(station, args))
        return BY_TREE;
    return tern_op_direct_takes(station, args) ? BY_DIRECT_ACCESS : BY_MESSAGES;
}

/* Make the call on a claimed team. ctx is private, or an inner context whose lock this thread does not hold. */
static tern_status call(struct tern_ctx *ctx, struct tern_coll_args *args, const tern_opts *opts)
{
    struct tern_station *station = tern_op_coll_station(ctx->team);
    struct tern_coll    *c;
    tern_status          st;
    enum way             way = BY_MESSAGES;

    if (!station)
        return TERN_ERR_NOMEM;
    args->blocks = !opts;
    if ((st = check_station(station, args->what)) < 0)
        return st == TERN_ERR_STATE ? fail_others(station, ctx, args->call, st) : st;
    if (opts && (st = tern_op_coll_help()) < 0)
        return st;
    if (!opts && (way = way_of(station, args)) != BY_MESSAGES) {
        if (TERN_BASE_DEBUG && (st = tern_op_coll_check_first(station, ctx, args, run_blocking)) < 0)
            return fail_others(station, ctx, args->call, st);
        st = way == BY_BOARD  ? tern_op_board_call(station, ctx, args)
             : way == BY_TREE ? tern_op_tree_call(station, ctx, args)
                              : tern_op_direct_call(station, ctx, args);
        if (st != TERN_AGAIN)
            return TERN_LIKELY(st == TERN_OK) ? st : fail_others(station, ctx, args->call, st);
    }
    if (!opts && way == BY_MESSAGES)
        tern_op_board_enter(station, args);
    if ((c = create(station, ctx, args)) && opts)
        return start_with(ctx, c, opts);
    st = c ? run_blocking(c) : TERN_ERR_NOMEM;
    if (!opts)
        tern_op_board_leave(station);
    return TERN_LIKELY(st == TERN_OK) ? st : fail_others(station, ctx, args->call, st);
}

tern_status tern_op_coll_call(struct tern_ctx *ctx, struct tern_coll_args *args, const tern_opts *opts)
{
    tern_status st = tern_core_team_claim(ctx->team, ctx, args->what);

    if (st < 0)
        return st;
    st = call(ctx->inner ? ctx->inner : ctx, args, opts);
    tern_core_team_release(ctx->team);
    return st;
}

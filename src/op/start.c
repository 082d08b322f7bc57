/* start.c: starting operations, and contiguous transfers.
 *
 * A start may find no space (TERN_AGAIN). Then the context makes progress and tries again, unless the program does not
 * want to wait. In a strict context, an operation waits until the earlier operations to the same rank are complete;
 * after a fence, it waits for those from before the fence. Neither waits if the path itself keeps the order.
 */
#include "op/start.h"

#include <stdio.h>
#include <string.h>

#include "core/job.h"
#include "core/message.h"
#include "core/shared.h"
#include "core/wait.h"
#include "op/trigger/engine.h"

const tern_opts tern_op_blocking = { .size = sizeof(tern_opts), .flags = TERN_OP_BLOCKING };

void *tern_op_new(struct tern_ctx *ctx, size_t bytes, const struct tern_op_kind *kind, const tern_opts *opts,
                  const char *call)
{
    bool  parked = tern_op_is_parked(opts);
    void *op;

    if (TERN_LIKELY(!parked && bytes == sizeof(struct tern_op)))
        op = tern_core_op_new(ctx, kind, call);
    else if (!parked)
        op = tern_core_op_alloc(ctx, bytes, kind, call);
    else
        op = tern_op_parked_alloc(ctx->engine, bytes, kind, call);
    if (TERN_UNLIKELY(!op))
        tern_base_fail(TERN_ERR_NOMEM, "%s: out of memory for another outstanding operation", call);
    return op;
}

/* ---- the notification that follows a transfer ---- */

static tern_status notify_start(struct tern_op *op)
{
    int rank = op->link.xfer.part->rank;

    if (TERN_UNLIKELY(tern_core_job_lost(rank)))
        return tern_base_fail(TERN_ERR_PEER, "rank %d is gone", rank);
    return tern_op_notify_try(rank, &op->notification);
}

static const struct tern_op_step then_notify = {
    .start = notify_start,
    .blocked = ", whose notification waits until the target has space for it (TERN_NOTIFY_QUEUE, TERN_NOTIFY_KEEP)",
};

void tern_op_then_notify(struct tern_op *op, const struct tern_link_part *part, uint64_t bytes, const tern_opts *opts)
{
    if (!(opts->flags & TERN_NOTIFY))
        return;
    op->then = &then_notify;
    op->notification = (struct tern_notification){ .scope = part->scope, .bytes = bytes, .tag = opts->tag };
}

/* Return whether the operation notifies its target, by a second step or with the transfer. */
static inline bool notifies(const struct tern_op *op)
{
    return op->then == &then_notify || op->link.xfer.notify;
}

/* ---- trying to start ---- */

/* Return whether the path keeps the operation behind all outstanding operations to its rank if the operation starts
 * now. This is possible only for a contiguous transfer in a context whose other operations have started all of their
 * transfers. */
static bool is_behind(const struct tern_op *op)
{
    const struct tern_link_part *part = op->link.xfer.part;

    return op->kind == &tern_op_contig_kind && !op->then && !op->link.xfer.notify &&
           tern_base_list_empty(&op->ctx->active) && part->path->keeps_order(op->ctx->lane[part->link], &op->link.xfer);
}

/* Send the notification for which space was reserved, after an operation that ended with st, or give the space back if
 * the operation has failed. Returns st. */
static inline tern_status notify_or_drop(tern_status st, struct tern_link_msg *msg, const struct tern_notification *n)
{
    if (st == TERN_OK)
        tern_op_notify_send(msg, n);
    else
        tern_op_notify_drop(msg);
    return st;
}

/* Start an instant operation and send its notification. Space for the notification is reserved first, so that an
 * operation that finds no space has no effect. */
static tern_status start_and_notify(struct tern_op *op)
{
    struct tern_link_msg msg;
    tern_status          st = tern_op_notify_reserve(op->link.xfer.part->rank, &msg);

    return st == TERN_OK ? notify_or_drop(op->kind->start(op), &msg, &op->notification) : st;
}

/* Start an operation that notifies its target, or that has another second step. */
static tern_status start_two_steps(struct tern_op *op)
{
    int         rank = op->link.xfer.part->rank;
    tern_status st;

    if (tern_core_job_lost(rank))
        return tern_base_fail(TERN_ERR_PEER, "%s: rank %d is gone", op->call, rank);
    if (notifies(op) && op->instant)
        return start_and_notify(op);
    if (notifies(op) && tern_core_ctx_is_stuck(op->ctx, rank))
        return TERN_AGAIN;
    st = op->kind->start(op);
    if (st != TERN_OK || !op->then)
        return st;
    op->transferred = true;
    return TERN_PENDING;
}

tern_status tern_op_try(struct tern_op *op)
{
    tern_status st;

    if (tern_core_ctx_must_follow(op->ctx, op->link.xfer.part->rank) && !is_behind(op))
        return TERN_AGAIN;
    st = TERN_UNLIKELY(op->then || op->link.xfer.notify) ? start_two_steps(op) : op->kind->start(op);
    if (st == TERN_PENDING)
        tern_core_op_enlist(op);
    return st;
}

tern_status tern_op_rpc_start(struct tern_op *op, const void *request, size_t len, size_t data,
                              void (*on_response)(struct tern_link_op *op, const unsigned char *bytes, size_t len),
                              size_t expect)
{
    const struct tern_xfer     xfer = op->link.xfer;
    const struct tern_rpc_ops *rpc = tern_job.ops[xfer.part->link]->rpc;
    struct tern_lane          *lane = op->ctx->lane[xfer.part->link];
    tern_status                st = rpc->open(lane, &xfer, &op->link);

    if (st != TERN_OK)
        return st;
    memcpy(op->link.rpc_buf, request, len);
    if (data > 0)
        memcpy(op->link.rpc_buf + len, xfer.local, data);
    op->link.on_response = on_response;
    rpc->send(lane, &op->link, len + data, expect);
    return TERN_PENDING;
}

/* ---- waiting until the operation can start ---- */

/* An operation that waits for space. */
struct waiting {
    struct tern_op *op;
    tern_status     result; /* the result of the last try */
};

static tern_status waiting_poll(void *arg)
{
    struct waiting *w = arg;

    tern_core_ctx_progress(w->op->ctx);
    w->result = tern_op_try(w->op);
    return w->result == TERN_AGAIN ? TERN_PENDING : TERN_OK;
}

static void waiting_describe(void *arg, char *text, size_t size)
{
    const struct tern_op   *op = ((struct waiting *)arg)->op;
    const struct tern_xfer *xfer = &op->link.xfer;

    snprintf(text, size, "%s of %llu bytes to rank %d waits for %s", op->call, (unsigned long long)xfer->len,
             xfer->part->rank,
             tern_core_ctx_must_follow(op->ctx, xfer->part->rank)
                 ? "an earlier operation that a strict context or a fence puts first"
             : notifies(op) ? "space in the queues to the target, or for its notification there"
                            : "space in the queues to the target");
}

bool tern_op_handler_may_wait(const struct tern_ctx *ctx, const struct tern_link_part *part)
{
    if (TERN_LIKELY(!tern_core_in_handler()))
        return false;
    if (ctx == tern_job.handler_ctx)
        return true;
    if (ctx->ordered != TERN_ORDERED_NONE)
        TERN_LIST_EACH(const struct tern_op, op, &ctx->outstanding, node)
            if (op->link.xfer.part->rank == part->rank && !op->link.xfer.part->path->self_progress)
                return false;
    return part->path->instant || part->path->self_progress;
}

static tern_status wait_and_try(struct tern_op *op, tern_deadline deadline)
{
    struct waiting   waiting = { .op = op };
    struct tern_wait wait = { .poll = waiting_poll,
                              .describe = waiting_describe,
                              .arg = &waiting,
                              .deadline = deadline,
                              .by_handler = !notifies(op) && tern_op_handler_may_wait(op->ctx, op->link.xfer.part) };
    tern_status      st = tern_core_wait(&wait);

    return st < 0 ? st : waiting.result;
}

/* Return whether the caller is a handler, which must not wait for this operation. */
static bool is_forbidden(const struct tern_op *op)
{
    const struct tern_link_part *part = op->link.xfer.part;

    if (TERN_LIKELY(!tern_core_in_handler()) || !part->path)
        return false;
    if (op->needs_target && !part->path->self_progress)
        return true;
    return (op->needs_target || !part->path->instant) && !tern_op_handler_may_wait(op->ctx, part);
}

/* Wait until the launcher knows of the death of a rank, without the lock of a shared context. */
static __attribute__((cold, noinline)) void confirm(const struct tern_ctx *ctx, int rank)
{
    struct tern_shared_pause pause = tern_core_shared_pause();

    tern_core_job_confirm(rank, tern_core_ctx_deadline(ctx));
    tern_core_shared_resume(pause);
}

/* Start the operation, with as many events as op->events says. Returns TERN_OK: the operation is complete.
 * TERN_PENDING: the operation is outstanding, or has ended in the meantime; an operation without events may have been
 * freed. Otherwise nothing was started. */
static tern_status start(struct tern_op *op, uint32_t flags, tern_deadline deadline)
{
    const struct tern_link_part *part = op->link.xfer.part;
    struct tern_ctx             *ctx = op->ctx;
    tern_status                  st;

    if (is_forbidden(op))
        return tern_base_fail(TERN_ERR_STATE, "%s: %s must not wait; the part of rank %d is reached through %s",
                              op->call, tern_core_handler_kind(), part->rank, part->path->name);
    st = tern_op_try(op);
    if (st == TERN_AGAIN) {
        tern_core_ctx_progress(ctx);
        st = (flags & TERN_IMMEDIATE) ? tern_op_try(op) : wait_and_try(op, deadline);
    }
    if (TERN_UNLIKELY(st == TERN_ERR_PEER))
        confirm(ctx, part->rank);
    return st;
}

/* ---- events ---- */

void tern_op_no_events(const tern_opts *opts)
{
    if (opts->event)
        *opts->event = TERN_EVENT_INIT;
    if (opts->local)
        *opts->local = TERN_EVENT_INIT;
}

void tern_op_fill_events(const tern_opts *opts, struct tern_op *op)
{
    if (opts->event)
        *opts->event = tern_core_event_make(op, false);
    if (opts->local)
        *opts->local = tern_core_event_make(op, true);
}

tern_status tern_op_go(struct tern_op *op, const tern_opts *opts)
{
    tern_status st;

    if (tern_op_is_parked(opts))
        return tern_op_engine_park(op, opts, op->link.xfer.part->rank, NULL);
    if (opts->flags & TERN_OP_BLOCKING)
        return tern_op_run(op, tern_core_ctx_deadline(op->ctx));
    op->events = tern_op_count_events(opts);
    op->implicit = !opts->event;
    st = start(op, opts->flags, tern_core_ctx_deadline(op->ctx));
    if (st == TERN_PENDING) {
        tern_op_fill_events(opts, op);
        return TERN_OK;
    }
    if (st == TERN_OK)
        tern_op_no_events(opts);
    tern_core_op_drop(op);
    return st;
}

/* ---- blocking ---- */

/* An outstanding operation with one event. */
struct finishing {
    tern_event event;
    uint64_t  *word; /* where to copy op->scratch[0] when the operation is complete; NULL: nowhere */
};

/* Consume the event of an operation that may be complete. */
static inline tern_status collect(struct finishing *f)
{
    if (f->word && tern_core_event_done(&f->event))
        *f->word = tern_core_event_op(&f->event)->scratch[0];
    return tern_core_event_test(&f->event);
}

static tern_status finish_poll(void *arg)
{
    struct finishing *f = arg;

    tern_core_ctx_progress(tern_core_event_op(&f->event)->progress);
    return collect(f);
}

static void finish_describe(void *arg, char *text, size_t size)
{
    const struct tern_op *op = tern_core_event_op(&((struct finishing *)arg)->event);
    char                  one[192];

    tern_core_op_describe(op, one, sizeof(one));
    snprintf(text, size, "%s waits: %s", op->call, one);
}

/* Wait for an outstanding operation with one event. After a timeout, the operation is cancelled, and tern_quiet waits
 * for its end. */
static tern_status finish(struct tern_op *op, tern_deadline deadline, uint64_t *word)
{
    struct finishing f = { tern_core_event_make(op, false), word };
    struct tern_wait wait = { .poll = finish_poll,
                              .describe = finish_describe,
                              .arg = &f,
                              .deadline = deadline,
                              .by_handler = tern_op_handler_may_wait(op->ctx, op->link.xfer.part) };
    tern_status      st = tern_core_wait(&wait);

    if (st == TERN_ERR_TIMEOUT && f.event.pending &&
        tern_core_event_done(&f.event)) /* completed by a thread that shares the context */
        return collect(&f);
    if (st == TERN_ERR_TIMEOUT && f.event.pending) {
        op->implicit = true;
        op->events = 0;
        tern_core_op_cancel(op);
    }
    return st;
}

tern_status tern_op_run(struct tern_op *op, tern_deadline deadline)
{
    tern_status st;

    op->events = 1;
    st = start(op, 0, deadline);
    if (st == TERN_PENDING)
        return finish(op, deadline, NULL);
    tern_core_op_drop(op);
    return st;
}

/* ---- contiguous transfers ---- */

/* Start the transfer on the path of its part. An instant path completes the transfer immediately. Other paths may need
 * space first (TERN_AGAIN), and complete the transfer later (TERN_PENDING), so they need an operation object. */
static tern_status contig_start(struct tern_op *op)
{
    const struct tern_xfer *xfer = &op->link.xfer;

    if (xfer->len == 0)
        return TERN_OK;
    return xfer->part->path->start(op->ctx->lane[xfer->part->link], xfer, &op->link);
}

const struct tern_op_kind tern_op_contig_kind = { .start = contig_start };

/* Let the path deliver the notification with the transfer, if it can. In a strict context notifications are sent
 * separately, in order with all others. */
static void merge_notification(struct tern_op *op)
{
    struct tern_xfer            *xfer = &op->link.xfer;
    const struct tern_link_path *path = xfer->part->path;

    xfer->notify = true;
    xfer->tag = op->notification.tag;
    if (xfer->len > 0 && op->ctx->order == TERN_RELAXED && path->can_notify(op->ctx->lane[xfer->part->link], xfer))
        op->then = NULL;
    else
        xfer->notify = false;
}

/* Start a transfer that completes within the call, and send its notification. Returns TERN_AGAIN, with no effect, if
 * the notification cannot be sent now: space for it is reserved first. */
static tern_status start_now(struct tern_ctx *ctx, const struct tern_xfer *xfer, const tern_opts *opts)
{
    const struct tern_link_part *part = xfer->part;
    bool                         notifies = (opts->flags & TERN_NOTIFY) != 0;
    struct tern_link_msg         msg;
    tern_status                  st = TERN_OK;

    if (notifies && (tern_core_job_lost(part->rank) || tern_op_notify_reserve(part->rank, &msg) != TERN_OK))
        return TERN_AGAIN;
    if (xfer->len > 0)
        st = part->path->start(ctx->lane[part->link], xfer, NULL);
    if (st == TERN_OK)
        tern_op_no_events(opts);
    else if (st == TERN_ERR_PEER)
        confirm(ctx, part->rank);
    if (!notifies)
        return st;
    return notify_or_drop(st, &msg,
                          &(struct tern_notification){ .scope = part->scope, .bytes = xfer->len, .tag = opts->tag });
}

tern_status tern_op_contig(struct tern_ctx *ctx, const struct tern_xfer *xfer, const tern_opts *opts, const char *call)
{
    bool           instant = xfer->len == 0 || xfer->part->path->instant, parked = tern_op_is_parked(opts);
    bool           follows = xfer->len > 0 || (opts->flags & TERN_NOTIFY);
    struct tern_op now, *op = &now;
    tern_status    st;

    if (instant && !parked && !(follows && tern_core_ctx_must_follow(ctx, xfer->part->rank)) &&
        (st = start_now(ctx, xfer, opts)) != TERN_AGAIN)
        return st;
    if (instant && !parked)
        tern_core_op_init(op, ctx, &tern_op_contig_kind, call);
    else if (!(op = tern_op_new(ctx, sizeof(*op), &tern_op_contig_kind, opts, call)))
        return TERN_ERR_NOMEM;
    op->link.xfer = *xfer;
    op->instant = instant;
    tern_op_then_notify(op, xfer->part, xfer->len, opts);
    if (op->then && !instant)
        merge_notification(op);
    return tern_op_go(op, opts);
}

tern_status tern_op_get_word(struct tern_ctx *ctx, struct tern_xfer *xfer, uint64_t *word, const char *call)
{
    tern_deadline   deadline = tern_core_ctx_deadline(ctx);
    struct tern_op *op;
    tern_status     st;

    if (xfer->part->path->instant) { /* nothing accesses *word after the call */
        xfer->local = word;
        return tern_op_contig(ctx, xfer, &tern_op_blocking, call);
    }
    if (!(op = tern_op_new(ctx, sizeof(*op), &tern_op_contig_kind, &tern_op_blocking, call)))
        return TERN_ERR_NOMEM;
    xfer->local = op->scratch;
    op->link.xfer = *xfer;
    op->events = 1;
    st = start(op, 0, deadline);
    if (st == TERN_PENDING)
        return finish(op, deadline, word);
    *word = op->scratch[0];
    tern_core_op_drop(op);
    return st;
}

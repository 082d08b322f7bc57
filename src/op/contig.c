/* contig.c: contiguous transfers.
 *
 * The part knows its path. An instant path completes the transfer immediately. Other paths may need space first
 * (TERN_AGAIN) and complete later (TERN_PENDING); for these the context has an operation.
 */
#include "op/contig.h"

#include "core/job.h"

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
        tern_core_job_confirm(part->rank, tern_core_ctx_deadline(ctx));
    if (notifies && st == TERN_OK)
        tern_op_notify_send(&msg,
                            &(struct tern_notification){ .scope = part->region, .bytes = xfer->len, .tag = opts->tag });
    else if (notifies)
        tern_op_notify_drop(&msg);
    return st;
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

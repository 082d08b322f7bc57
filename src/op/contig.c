/* contig.c: contiguous transfers.
 *
 * The part knows its path. An instant path completes the transfer immediately. Other paths may need space first
 * (TERN_AGAIN) and complete later (TERN_PENDING); for these the context keeps a record. Such a transfer with a
 * notification is a two-step operation (op/notify/two_step.h).
 */
#include "op/contig.h"

#include "op/start.h"
#include "op/notify/two_step.h"

struct contig {
    struct tern_op_start    attempt; /* must be first */
    struct tern_pending    *pending; /* NULL: the path is instant */
    const struct tern_xfer *xfer;    /* for a transfer with a notification */
};

static tern_status contig_start(struct tern_op_start *attempt)
{
    struct contig               *c = (struct contig *)attempt;
    const struct tern_link_part *part = attempt->part;

    return part->path->start(attempt->ctx->lane[part->link], attempt->xfer, c->pending ? &c->pending->op : NULL);
}

/* Start one transfer. notification: the notification that the path delivers with the transfer; NULL: none. */
static tern_status start_one(struct tern_ctx *ctx, const struct tern_xfer *xfer,
                             const struct tern_notification *notification, const tern_opts *opts, const char *what)
{
    struct contig c = {
        .attempt = { .ctx = ctx,
                     .part = xfer->part,
                     .what = what,
                     .len = xfer->len,
                     .xfer = xfer,
                     .notification = notification,
                     .start = contig_start },
    };
    tern_status st;

    if (!xfer->part->path->instant && !(c.pending = tern_core_pending_new(ctx)))
        return tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for one more operation under way", what);
    st = tern_op_start(&c.attempt, opts->flags);
    if (st == TERN_PENDING) {
        tern_op_fill_events(opts, c.pending);
        tern_core_pending_enlist(c.pending);
        return TERN_OK;
    }
    if (c.pending)
        tern_core_pending_drop(c.pending);
    if (st == TERN_OK)
        tern_op_fill_events(opts, NULL);
    return st;
}

tern_status tern_op_contig_start(struct tern_ctx *ctx, const struct tern_xfer *xfer, const tern_opts *opts,
                                 const char *what)
{
    return start_one(ctx, xfer, NULL, opts, what);
}

tern_status tern_op_contig_run(struct tern_ctx *ctx, const struct tern_xfer *xfer, const char *what)
{
    tern_event    event = TERN_EVENT_INIT;
    tern_opts     opts = { .event = &event };
    tern_deadline deadline = tern_core_ctx_deadline(ctx);
    tern_status   st = tern_op_contig_start(ctx, xfer, &opts, what);

    return st == TERN_OK ? tern_op_wait(ctx, xfer->part, &event, deadline) : st;
}

/* ---- with a notification ---- */

/* Start the transfer, whose length may be 0. */
static tern_status noted_start(struct tern_op_start *attempt)
{
    const struct contig         *c = (const struct contig *)attempt;
    const struct tern_link_part *part = attempt->part;

    if (c->xfer->len == 0)
        return TERN_OK;
    if (c->pending)
        c->pending->op.xfer = *c->xfer; /* used if the transfer completes immediately */
    return part->path->start(attempt->ctx->lane[part->link], c->xfer, c->pending ? &c->pending->op : NULL);
}

/* Whether the path delivers the notification with the transfer. In a strict context notifications are sent separately,
 * in order with all others. */
static bool is_one_message(const struct tern_ctx *ctx, const struct tern_xfer *xfer)
{
    const struct tern_link_path *path = xfer->part->path;

    return path->can_notify && ctx->order == TERN_RELAXED && path->can_notify(ctx->lane[xfer->part->link], xfer);
}

tern_status tern_op_contig_start_noted(struct tern_ctx *ctx, const struct tern_xfer *xfer, const tern_opts *opts,
                                       const char *what)
{
    struct tern_notification notification = tern_op_notification_of(xfer->part, xfer->len, opts->tag);
    struct contig            c = {
                   .attempt = { .ctx = ctx,
                                .part = xfer->part,
                                .what = what,
                                .len = xfer->len,
                                .notification = &notification,
                                .notify_now = xfer->len == 0 || xfer->part->path->instant,
                                .start = noted_start },
                   .xfer = xfer,
    };
    struct tern_two_step *two_step = NULL;
    struct tern_xfer      whole = *xfer;
    tern_status           st;

    whole.notify = true;
    whole.tag = opts->tag;
    if (!c.attempt.notify_now && is_one_message(ctx, &whole))
        return start_one(ctx, &whole, &notification, opts, what);
    if (!c.attempt.notify_now) {
        if (!(two_step = tern_op_two_step_new(ctx, &notification)))
            return tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for one more operation under way", what);
        c.pending = two_step->transfer;
    }
    st = tern_op_start(&c.attempt, opts->flags);
    if (two_step)
        return tern_op_two_step_go(two_step, opts, st);
    if (st == TERN_OK)
        tern_op_fill_events(opts, NULL);
    return st;
}

tern_status tern_op_contig_run_noted(struct tern_ctx *ctx, const struct tern_xfer *xfer, uint32_t tag, const char *what)
{
    tern_event    event = TERN_EVENT_INIT;
    tern_opts     opts = { .flags = TERN_NOTIFY, .event = &event, .tag = tag };
    tern_deadline deadline = tern_core_ctx_deadline(ctx);
    tern_status   st = tern_op_contig_start_noted(ctx, xfer, &opts, what);

    return st == TERN_OK ? tern_op_wait(ctx, xfer->part, &event, deadline) : st;
}

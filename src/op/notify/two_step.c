/* two_step.c: see two_step.h. */
#include "op/notify/two_step.h"

#include <stdlib.h>

#include "core/job.h"
#include "op/start.h"

tern_status tern_op_two_step_notify(struct tern_compound *compound, const struct tern_notification *notification)
{
    int         rank = compound->pending->op.xfer.part->rank;
    tern_status st;

    if (TERN_UNLIKELY(tern_core_job_lost(rank)))
        st = tern_base_fail(TERN_ERR_PEER, "rank %d is gone", rank);
    else
        st = tern_op_notify_try(rank, notification);
    compound->notify_blocked = st == TERN_AGAIN;
    return st;
}

static void two_step_advance(struct tern_compound *compound)
{
    struct tern_two_step *two_step = (struct tern_two_step *)compound;
    tern_status           st = two_step->status;

    if (two_step->transfer)
        return;
    if (st == TERN_OK && !two_step->stopped &&
        (st = tern_op_two_step_notify(compound, &two_step->notification)) == TERN_AGAIN)
        return;
    tern_core_compound_end(compound, st);
}

static void two_step_ended(struct tern_compound *compound, struct tern_pending *transfer, tern_status status)
{
    struct tern_two_step *two_step = (struct tern_two_step *)compound;

    (void)transfer;
    two_step->transfer = NULL;
    two_step->status = status;
    compound->pending->op.copied = compound->pending->op.xfer.len;
}

static void two_step_cancel(struct tern_compound *compound)
{
    struct tern_two_step *two_step = (struct tern_two_step *)compound;
    struct tern_ctx      *ctx = compound->pending->ctx;
    unsigned              link = compound->pending->op.xfer.part->link;

    two_step->stopped = true;
    if (two_step->transfer)
        tern_job.ops[link]->cancel(ctx->lane[link], &two_step->transfer->op);
}

static void two_step_release(struct tern_compound *compound)
{
    free(compound);
}

struct tern_two_step *tern_op_two_step_new(struct tern_ctx *ctx, const struct tern_notification *notification)
{
    struct tern_two_step *two_step = malloc(sizeof(*two_step));
    struct tern_pending  *pending = two_step ? tern_core_pending_new(ctx) : NULL;
    struct tern_pending  *transfer = pending ? tern_core_pending_new(ctx) : NULL;

    if (!transfer) {
        if (pending)
            tern_core_pending_drop(pending);
        free(two_step);
        return NULL;
    }
    *two_step = (struct tern_two_step){
        .compound = { .pending = pending,
                      .advance = two_step_advance,
                      .ended = two_step_ended,
                      .cancel = two_step_cancel,
                      .release = two_step_release },
        .notification = *notification,
        .transfer = transfer,
    };
    transfer->owner = &two_step->compound;
    return two_step;
}

static void two_step_drop(struct tern_two_step *two_step)
{
    tern_core_pending_drop(two_step->transfer);
    tern_core_pending_drop(two_step->compound.pending);
    free(two_step);
}

/* The transfer completed immediately: only the notification is left. */
static void done_at_once(struct tern_two_step *two_step)
{
    struct tern_pending *transfer = two_step->transfer;

    two_step_ended(&two_step->compound, transfer, TERN_OK);
    tern_core_pending_drop(transfer);
}

tern_status tern_op_two_step_go(struct tern_two_step *two_step, const tern_opts *opts, tern_status st)
{
    struct tern_pending *pending = two_step->compound.pending;

    if (st != TERN_OK && st != TERN_PENDING) {
        two_step_drop(two_step);
        return st;
    }
    pending->op.xfer = two_step->transfer->op.xfer;
    pending->op.copied = two_step->transfer->op.copied;
    if (st == TERN_OK)
        done_at_once(two_step);
    tern_op_fill_events(opts, pending);
    tern_core_compound_enlist(&two_step->compound);
    two_step_advance(&two_step->compound);
    return TERN_OK;
}

/* two_step.c: see two_step.h. */
#include "op/notify/two_step.h"

#include <stdlib.h>

#include "core/job.h"
#include "op/start.h"

tern_status tern_op_two_step_notify(struct tern_compound *work, const struct tern_notification *note)
{
    int         rank = work->pending->op.xfer.part->rank;
    tern_status st;

    if (TERN_UNLIKELY(tern_core_job_lost(rank)))
        st = tern_base_fail(TERN_ERR_PEER, "rank %d is gone", rank);
    else
        st = tern_op_notify_try(rank, note);
    work->notify_blocked = st == TERN_AGAIN;
    return st;
}

static void noted_advance(struct tern_compound *work)
{
    struct tern_two_step *noted = (struct tern_two_step *)work;
    tern_status           st = noted->status;

    if (noted->transfer)
        return;
    if (st == TERN_OK && !noted->stopped && (st = tern_op_two_step_notify(work, &noted->notification)) == TERN_AGAIN)
        return;
    tern_core_compound_end(work, st);
}

static void noted_ended(struct tern_compound *work, struct tern_pending *transfer, tern_status status)
{
    struct tern_two_step *noted = (struct tern_two_step *)work;

    (void)transfer;
    noted->transfer = NULL;
    noted->status = status;
    work->pending->op.copied = work->pending->op.xfer.len;
}

static void noted_cancel(struct tern_compound *work)
{
    struct tern_two_step *noted = (struct tern_two_step *)work;
    struct tern_ctx      *ctx = work->pending->ctx;
    unsigned              link = work->pending->op.xfer.part->link;

    noted->stopped = true;
    if (noted->transfer)
        tern_job.ops[link]->cancel(ctx->lane[link], &noted->transfer->op);
}

static void noted_release(struct tern_compound *work)
{
    free(work);
}

struct tern_two_step *tern_op_two_step_new(struct tern_ctx *ctx, const struct tern_notification *note)
{
    struct tern_two_step *noted = malloc(sizeof(*noted));
    struct tern_pending  *pending = noted ? tern_core_pending_new(ctx) : NULL;
    struct tern_pending  *transfer = pending ? tern_core_pending_new(ctx) : NULL;

    if (!transfer) {
        if (pending)
            tern_core_pending_drop(pending);
        free(noted);
        return NULL;
    }
    *noted = (struct tern_two_step){
        .compound = { .pending = pending,
                      .advance = noted_advance,
                      .ended = noted_ended,
                      .cancel = noted_cancel,
                      .release = noted_release },
        .notification = *note,
        .transfer = transfer,
    };
    transfer->owner = &noted->compound;
    return noted;
}

static void noted_drop(struct tern_two_step *noted)
{
    tern_core_pending_drop(noted->transfer);
    tern_core_pending_drop(noted->compound.pending);
    free(noted);
}

/* The transfer completed immediately: only the notification is left. */
static void done_at_once(struct tern_two_step *noted)
{
    struct tern_pending *transfer = noted->transfer;

    noted_ended(&noted->compound, transfer, TERN_OK);
    tern_core_pending_drop(transfer);
}

tern_status tern_op_two_step_go(struct tern_two_step *noted, const tern_opts *opts, tern_status st)
{
    struct tern_pending *pending = noted->compound.pending;

    if (st != TERN_OK && st != TERN_PENDING) {
        noted_drop(noted);
        return st;
    }
    pending->op.xfer = noted->transfer->op.xfer;
    pending->op.copied = noted->transfer->op.copied;
    if (st == TERN_OK)
        done_at_once(noted);
    tern_op_fill_events(opts, pending);
    tern_core_compound_enlist(&noted->compound);
    noted_advance(&noted->compound);
    return TERN_OK;
}

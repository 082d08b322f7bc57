/* multi.c: keeping the transfers of one operation in flight. See multi.h. */
#include "op/shape/multi.h"

#include <stdlib.h>
#include <string.h>

#include "core/job.h"
#include "op/notify/two_step.h"

/* ---- memory ---- */

/* Copy the list, which belongs to the application. Returns the end of the copy. */
static unsigned char *keep_list(struct tern_layout *side, unsigned char *buf)
{
    size_t bytes = tern_op_layout_list_bytes(side);

    memcpy(buf, side->list, bytes);
    side->list = buf;
    return buf + bytes;
}

static void multi_advance(struct tern_compound *compound);
static void multi_ended(struct tern_compound *compound, struct tern_pending *transfer, tern_status status);
static void multi_cancel(struct tern_compound *compound);
static void multi_release(struct tern_compound *compound);

struct tern_multi *tern_op_multi_make(struct tern_ctx *ctx, const struct tern_shape *shape,
                                      const struct tern_multi_method *method)
{
    size_t dims = shape->stride ? shape->stride->dims : 0;
    size_t lists =
        shape->stride ? 0 : tern_op_layout_list_bytes(&shape->local) + tern_op_layout_list_bytes(&shape->remote);
    struct tern_multi   *b = malloc(sizeof(*b) + 2 * dims * sizeof(struct tern_layout_dim) + lists);
    struct tern_pending *pending = b ? tern_core_pending_new(ctx) : NULL;

    if (!pending) {
        free(b);
        return NULL;
    }
    *b = (struct tern_multi){
        .compound = { .pending = pending,
                      .advance = multi_advance,
                      .ended = multi_ended,
                      .cancel = multi_cancel,
                      .release = multi_release },
        .ctx = ctx,
        .method = method,
        .shape = *shape,
    };
    if (shape->stride)
        tern_op_shape_layouts(&b->shape, (struct tern_layout_dim *)(b + 1), (struct tern_layout_dim *)(b + 1) + dims);
    else
        keep_list(&b->shape.remote, keep_list(&b->shape.local, (unsigned char *)(b + 1)));
    b->shape.stride = NULL; /* belongs to the application, too */
    b->shape.notification = NULL;
    if (shape->notification) {
        b->notifies = true;
        b->notification = *shape->notification;
    }
    pending->op.xfer = (struct tern_xfer){ .part = shape->part, .len = shape->total, .get = shape->get };
    tern_op_layout_run(&b->shape.remote, &b->cursors.remote, &pending->op.xfer.offset);
    return b;
}

void tern_op_multi_free(struct tern_multi *b)
{
    tern_core_pending_drop(b->compound.pending);
    free(b);
}

static void multi_release(struct tern_compound *compound)
{
    free(compound);
}

/* ---- transfers ---- */

static void transfer_add(struct tern_multi *b, struct tern_pending *transfer)
{
    transfer->next = b->transfers;
    transfer->link = &b->transfers;
    if (transfer->next)
        transfer->next->link = &transfer->next;
    b->transfers = transfer;
    b->in_flight++;
}

static void transfer_remove(struct tern_multi *b, struct tern_pending *transfer)
{
    *transfer->link = transfer->next;
    if (transfer->next)
        transfer->next->link = transfer->link;
    b->in_flight--;
}

/* Count the bytes of a transfer, once, as copied: their source may be overwritten. */
static void count_copied(struct tern_multi *b, struct tern_pending *transfer)
{
    if (!transfer->done)
        b->compound.pending->op.copied += transfer->op.xfer.len;
    transfer->done = true;
}

static tern_status start_one(struct tern_multi *b)
{
    struct tern_pending      *transfer = tern_core_pending_new(b->ctx);
    struct tern_shape_cursors cursors = b->cursors;
    tern_status               st;

    if (!transfer)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for one more transfer under way");
    transfer->owner = &b->compound;
    st = b->method->start(b, transfer, &cursors);
    if (st == TERN_OK || st == TERN_PENDING)
        b->cursors = cursors;
    if (st == TERN_OK ||
        (st == TERN_PENDING && (b->method->copies_source || transfer->op.copied == transfer->op.xfer.len)))
        count_copied(b, transfer);
    if (st == TERN_PENDING)
        transfer_add(b, transfer);
    else
        tern_core_pending_drop(transfer);
    return st;
}

static void multi_ended(struct tern_compound *compound, struct tern_pending *transfer, tern_status status)
{
    struct tern_multi *b = (struct tern_multi *)compound;

    if (b->method->ended)
        b->method->ended(b, transfer, status);
    count_copied(b, transfer);
    transfer_remove(b, transfer);
    if (status < 0 && b->status == TERN_OK)
        b->status = status;
    b->stopped |= status < 0;
}

/* All transfers have ended, or the operation has stopped. Send the notification if there is one. Returns false if
 * there is no space for the notification yet. */
static bool notify_sent(struct tern_multi *b)
{
    tern_status st = b->notifies && !b->stopped ? tern_op_two_step_notify(&b->compound, &b->notification) : TERN_OK;

    b->status = st < 0 ? st : b->status;
    return st != TERN_AGAIN;
}

static void multi_advance(struct tern_compound *compound)
{
    struct tern_multi *b = (struct tern_multi *)compound;
    tern_status        st = TERN_OK;

    while (!b->stopped && st != TERN_AGAIN && b->cursors.remote.at < b->shape.total && b->in_flight < b->method->most) {
        st = start_one(b);
        b->status = st < 0 ? st : b->status;
        b->stopped = st < 0;
    }
    if (b->in_flight == 0 && (b->stopped || b->cursors.remote.at == b->shape.total) && notify_sent(b))
        tern_core_compound_end(compound, b->status);
}

static void multi_cancel(struct tern_compound *compound)
{
    struct tern_multi *b = (struct tern_multi *)compound;
    unsigned           link = b->shape.part->link;

    b->stopped = true;
    for (struct tern_pending *t = b->transfers; t; t = t->next)
        tern_job.ops[link]->cancel(b->ctx->lane[link], &t->op);
}

tern_status tern_op_multi_first(struct tern_multi *b)
{
    tern_status st = start_one(b);

    return st == TERN_PENDING ? TERN_OK : st;
}

void tern_op_multi_go(struct tern_multi *b)
{
    tern_core_compound_enlist(&b->compound);
    multi_advance(&b->compound);
}

/* bundle.c: keeping the transfers of one operation under way. See bundle.h. */
#include "op/bundle.h"

#include <stdlib.h>
#include <string.h>

#include "core/job.h"
#include "op/noted.h"

/* ---- memory ---- */

/* The lists are the program's: keep copies. */
static unsigned char *keep_list(struct tern_side *side, unsigned char *room)
{
    size_t bytes = tern_op_side_list_bytes(side);

    memcpy(room, side->list, bytes);
    side->list = room;
    return room + bytes;
}

static void bundle_advance(struct tern_work *work);
static void bundle_ended(struct tern_work *work, struct tern_pending *transfer, tern_status status);
static void bundle_cancel(struct tern_work *work);
static void bundle_release(struct tern_work *work);

struct tern_bundle *tern_op_bundle_make(struct tern_ctx *ctx, const struct tern_shape *shape,
                                        const struct tern_bundle_way *way)
{
    size_t dims = shape->stride ? shape->stride->dims : 0;
    size_t lists = shape->stride ? 0 : tern_op_side_list_bytes(&shape->near) + tern_op_side_list_bytes(&shape->far);
    struct tern_bundle  *b = malloc(sizeof(*b) + 2 * dims * sizeof(struct tern_side_dim) + lists);
    struct tern_pending *pending = b ? tern_core_pending_new(ctx) : NULL;

    if (!pending) {
        free(b);
        return NULL;
    }
    *b = (struct tern_bundle){
        .work = { .pending = pending,
                  .advance = bundle_advance,
                  .ended = bundle_ended,
                  .cancel = bundle_cancel,
                  .release = bundle_release },
        .ctx = ctx,
        .way = way,
        .shape = *shape,
    };
    if (shape->stride)
        tern_op_shape_sides(&b->shape, (struct tern_side_dim *)(b + 1), (struct tern_side_dim *)(b + 1) + dims);
    else
        keep_list(&b->shape.far, keep_list(&b->shape.near, (unsigned char *)(b + 1)));
    b->shape.stride = NULL; /* the program's too */
    b->shape.note = NULL;
    if (shape->note) {
        b->noted = true;
        b->note = *shape->note;
    }
    pending->op.xfer = (struct tern_xfer){ .part = shape->part, .len = shape->total, .get = shape->get };
    tern_op_side_run(&b->shape.far, &b->marks.far, &pending->op.xfer.offset);
    return b;
}

void tern_op_bundle_free(struct tern_bundle *b)
{
    tern_core_pending_drop(b->work.pending);
    free(b);
}

static void bundle_release(struct tern_work *work)
{
    free(work);
}

/* ---- transfers ---- */

static void transfer_add(struct tern_bundle *b, struct tern_pending *transfer)
{
    transfer->next = b->transfers;
    transfer->link = &b->transfers;
    if (transfer->next)
        transfer->next->link = &transfer->next;
    b->transfers = transfer;
    b->flying++;
}

static void transfer_remove(struct tern_bundle *b, struct tern_pending *transfer)
{
    *transfer->link = transfer->next;
    if (transfer->next)
        transfer->next->link = transfer->link;
    b->flying--;
}

/* The source of a transfer may be overwritten; count that once. */
static void count_copied(struct tern_bundle *b, struct tern_pending *transfer)
{
    if (!transfer->done)
        b->work.pending->op.copied += transfer->op.xfer.len;
    transfer->done = true;
}

static tern_status start_one(struct tern_bundle *b)
{
    struct tern_pending    *transfer = tern_core_pending_new(b->ctx);
    struct tern_shape_marks marks = b->marks;
    tern_status             st;

    if (!transfer)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for one more transfer under way");
    transfer->owner = &b->work;
    st = b->way->start(b, transfer, &marks);
    if (st == TERN_OK || st == TERN_PENDING)
        b->marks = marks;
    if (st == TERN_OK || (st == TERN_PENDING && (b->way->packs || transfer->op.copied == transfer->op.xfer.len)))
        count_copied(b, transfer);
    if (st == TERN_PENDING)
        transfer_add(b, transfer);
    else
        tern_core_pending_drop(transfer);
    return st;
}

static void bundle_ended(struct tern_work *work, struct tern_pending *transfer, tern_status status)
{
    struct tern_bundle *b = (struct tern_bundle *)work;

    if (b->way->ended)
        b->way->ended(b, transfer, status);
    count_copied(b, transfer);
    transfer_remove(b, transfer);
    if (status < 0 && b->status == TERN_OK)
        b->status = status;
    b->stopped |= status < 0;
}

/* All has been transferred, or will not be: tell the target, if it is to be told. False: there is no room for that
 * yet. */
static bool is_told(struct tern_bundle *b)
{
    tern_status st = b->noted && !b->stopped ? tern_op_noted_tell(&b->work, &b->note) : TERN_OK;

    b->status = st < 0 ? st : b->status;
    return st != TERN_AGAIN;
}

static void bundle_advance(struct tern_work *work)
{
    struct tern_bundle *b = (struct tern_bundle *)work;
    tern_status         st = TERN_OK;

    while (!b->stopped && st != TERN_AGAIN && b->marks.far.at < b->shape.total && b->flying < b->way->most) {
        st = start_one(b);
        b->status = st < 0 ? st : b->status;
        b->stopped = st < 0;
    }
    if (b->flying == 0 && (b->stopped || b->marks.far.at == b->shape.total) && is_told(b))
        tern_core_work_end(work, b->status);
}

static void bundle_cancel(struct tern_work *work)
{
    struct tern_bundle *b = (struct tern_bundle *)work;
    unsigned            link = b->shape.part->link;

    b->stopped = true;
    for (struct tern_pending *t = b->transfers; t; t = t->next)
        tern_job.ops[link]->cancel(b->ctx->lane[link], &t->op);
}

tern_status tern_op_bundle_first(struct tern_bundle *b)
{
    tern_status st = start_one(b);

    return st == TERN_PENDING ? TERN_OK : st;
}

void tern_op_bundle_go(struct tern_bundle *b)
{
    tern_core_work_enlist(&b->work);
    bundle_advance(&b->work);
}

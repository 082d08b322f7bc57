/* staged.c: transfers whose remote side is contiguous in long runs and whose local side is not.
 *
 * The target need not help: the pieces of a put are packed into a buffer, which goes to its run as one transfer, and a
 * get brings a run into a buffer, from which its pieces are unpacked here. Several buffers are under way at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "op/bundle.h"

#define STAGE (256u << 10) /* bytes of a buffer, at most */

static const struct tern_side_memory here = { NULL, UINT64_MAX };

static void staged_ended(struct tern_bundle *b, struct tern_pending *transfer, tern_status status)
{
    struct tern_side_mark mark;

    memcpy(&mark, transfer->note, sizeof(mark));
    if (b->shape.get && status == TERN_OK && !b->stopped)
        tern_op_side_unpack(&b->shape.near, &here, &mark, transfer->op.xfer.len, transfer->stage);
    if (!transfer->op.kept)
        free(transfer->stage);
}

static tern_status staged_start(struct tern_bundle *b, struct tern_pending *transfer, struct tern_shape_marks *marks)
{
    const struct tern_link_part *part = b->shape.part;
    struct tern_xfer             xfer = { .part = part, .get = b->shape.get, .heap = true };
    uint64_t                     run = tern_op_side_run(&b->shape.far, &marks->far, &xfer.offset);
    tern_status                  st;

    xfer.len = run < STAGE ? run : STAGE;
    if (!(transfer->stage = xfer.local = malloc(xfer.len)))
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a buffer of %zu bytes", xfer.len);
    transfer->op.xfer = xfer;
    transfer->op.kept = false;
    if (b->shape.get) {
        memcpy(transfer->note, &marks->near, sizeof(marks->near));
        tern_op_side_skip(&b->shape.near, &marks->near, xfer.len);
    } else {
        tern_op_side_pack(&b->shape.near, &here, &marks->near, xfer.len, xfer.local);
    }
    tern_op_side_skip(&b->shape.far, &marks->far, xfer.len);
    st = part->path->start(b->ctx->lane[part->link], &xfer, &transfer->op);
    if (st != TERN_PENDING)
        staged_ended(b, transfer, st);
    return st;
}

const struct tern_bundle_way tern_op_way_staged = {
    .most = 4, .packs = true, .start = staged_start, .ended = staged_ended
};

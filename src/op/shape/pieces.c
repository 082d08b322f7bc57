/* pieces.c: transfers as many contiguous transfers, each with a record of its own. The multi-transfer operation
 * keeps some of them in flight until all have ended. */
#include "op/shape/multi.h"

static tern_status piece_start(struct tern_multi *m, struct tern_op *transfer, struct tern_shape_cursors *cursors)
{
    const struct tern_link_part *part = m->shape.part;
    struct tern_link_iov         piece = tern_op_shape_piece(&m->shape, cursors, UINT64_MAX);
    struct tern_xfer             xfer = {
                    .part = part, .offset = piece.offset, .local = piece.local, .len = piece.len, .get = m->shape.get
    };

    transfer->link.xfer = xfer;
    return part->path->start(m->op.ctx->lane[part->link], &xfer, &transfer->link);
}

const struct tern_multi_method tern_op_method_pieces = { .most = 16, .start = piece_start };

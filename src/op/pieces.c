/* pieces.c: transfers as many contiguous ones.
 *
 * A path that takes lists, and is instant, gets as many pieces at a time as it takes. On every other path each piece is
 * a transfer of its own, with a record of its own; a bundle keeps some of them under way until all have ended.
 */
#include "op/bundle.h"

tern_status tern_op_list(struct tern_ctx *ctx, struct tern_shape *shape)
{
    const struct tern_link_part *part = shape->part;
    struct tern_lane            *lane = ctx->lane[part->link];
    struct tern_link_piece       piece[TERN_LINK_PIECES];
    struct tern_shape_marks      marks = { { 0, 0, 0 }, { 0, 0, 0 } };
    struct tern_side_dim         near[TERN_STRIDE_DIMS], far[TERN_STRIDE_DIMS];
    tern_status                  st = TERN_OK;

    tern_op_shape_sides(shape, near, far);
    while (marks.far.at < shape->total && st == TERN_OK) {
        uint64_t bytes = 0;
        unsigned count = 0;

        while (count < TERN_LINK_PIECES && bytes < TERN_LINK_PIECES_BYTES && marks.far.at < shape->total) {
            piece[count] = tern_op_shape_piece(shape, &marks, TERN_LINK_PIECES_BYTES - bytes);
            bytes += piece[count++].len;
        }
        st = part->path->start_list(lane, part, piece, count, shape->get);
    }
    return st;
}

static tern_status piece_start(struct tern_bundle *b, struct tern_pending *transfer, struct tern_shape_marks *marks)
{
    const struct tern_link_part *part = b->shape.part;
    struct tern_link_piece       piece = tern_op_shape_piece(&b->shape, marks, UINT64_MAX);
    struct tern_xfer             xfer = { part, piece.offset, piece.local, piece.len, b->shape.get };

    transfer->op.xfer = xfer;
    return part->path->start(b->ctx->lane[part->link], &xfer, &transfer->op);
}

const struct tern_bundle_way tern_op_way_pieces = { .most = 16, .start = piece_start };

/* shape.h: how a transfer that is not contiguous travels.
 *
 * The ways, and when each is taken:
 *   direct   loads and stores reach the part: the copy loops do it, at once (direct.c)
 *   list     the path is instant and takes many pieces at a time (list.c)
 *   staged   the pieces are small, but the remote side is contiguous in long runs: each run is a transfer from or to a
 *            buffer here (staged.c)
 *   packed   the pieces are small, and the target's rank serves errands: they are packed into requests here and
 *            unpacked there, or the other way round; several requests are under way at a time (packed.c, serve.c)
 *   pieces   everything else: each contiguous piece is a transfer of its own, several at a time (pieces.c)
 */
#ifndef TERN_OP_SHAPE_H
#define TERN_OP_SHAPE_H

#include <tern/rma.h>

#include "core/context.h"
#include "op/note.h"
#include "op/side.h"
#include "op/stride.h"
#include "op/sum.h"

/* A checked transfer. The near side is this process's memory, the far side the part's. */
struct tern_shape {
    const struct tern_link_part *part;
    bool                         get;
    uint64_t                     total;                 /* bytes, at least 1 */
    const struct tern_stride    *stride;                /* NULL: it is described by lists */
    uint64_t                     near_first, far_first; /* strided: where the input has its first point */
    struct tern_side             near, far;             /* lists; strided: see tern_op_shape_sides() */
    struct tern_sum              sum;                   /* of an accumulate: acc.h */
    const struct tern_note      *note;                  /* the notification that follows; NULL: none */
};

/* Start it. opts as in tern_put_with, never NULL. what names the public call. */
tern_status tern_op_shape_start(struct tern_ctx *ctx, struct tern_shape *shape, const tern_opts *opts,
                                const char *what);

/* The same, and wait until it is complete or the context's time limit passes. */
tern_status tern_op_shape_run(struct tern_ctx *ctx, struct tern_shape *shape, const char *what);

/* Fill the sides of a strided shape; near and far are room for as many dimensions as its stride has. Lists have
 * theirs. */
void tern_op_shape_sides(struct tern_shape *shape, struct tern_side_dim *near, struct tern_side_dim *far);

/* Both sides, as far as they have come. */
struct tern_shape_marks {
    struct tern_side_mark near, far;
};

/* The longest piece of up to most bytes that is contiguous on both sides, from the marks on, which move behind it. */
struct tern_link_piece tern_op_shape_piece(const struct tern_shape *shape, struct tern_shape_marks *marks,
                                           uint64_t most);

/* direct.c: copy it, now. */
void tern_op_direct(const struct tern_shape *shape);

/* list.c: by the lists of an instant path, now. */
tern_status tern_op_list(struct tern_ctx *ctx, const struct tern_shape *shape);

#endif

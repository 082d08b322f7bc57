/* shape.h: how a transfer that is not contiguous travels.
 *
 * The ways, and when each is taken:
 *   direct   loads and stores reach the part: the copy loops do it, at once (direct.c)
 *   list     the path is instant and takes many pieces at a time (iov.c)
 *   staged   the pieces are small, but the remote side is contiguous in long runs: each run is a transfer from or to a
 *            buffer here (staged.c)
 *   packed   the pieces are small, and the target's rank serves errands: they are packed into requests here and
 *            unpacked there, or the other way round; several requests are outstanding (packed.c, op/rpc_serve.c)
 *   pieces   everything else: each contiguous piece is a transfer of its own, several at a time (pieces.c)
 * */
#ifndef TERN_OP_SHAPE_SHAPE_H
#define TERN_OP_SHAPE_SHAPE_H

#include <tern/rma.h>

#include "core/context.h"
#include "op/notify/notify.h"
#include "op/shape/layout.h"
#include "op/shape/stride.h"
#include "op/atomic/acc_kernels.h"

/* A checked transfer. The near side is this process's memory, the far side the part's. */
struct tern_shape {
    const struct tern_link_part    *part;
    bool                            get;
    uint64_t                        total;                     /* bytes, at least 1 */
    const struct tern_stride       *stride;                    /* NULL: it is described by lists */
    uint64_t                        local_first, remote_first; /* strided: where the input has its first point */
    struct tern_layout              local, remote;             /* lists; strided: see tern_op_shape_layouts() */
    struct tern_acc_op              acc;                       /* of an accumulate: op/atomic/acc.h */
    const struct tern_notification *notification;              /* the notification that follows; NULL: none */
};

/* Start it. opts as in tern_put_with, never NULL. what names the public call. */
tern_status tern_op_shape_start(struct tern_ctx *ctx, struct tern_shape *shape, const tern_opts *opts,
                                const char *what);

/* The same, and wait until it is complete or the context's time limit passes. */
tern_status tern_op_shape_run(struct tern_ctx *ctx, struct tern_shape *shape, const char *what);

/* Fill the sides of a strided shape; near and far are room for as many dimensions as its stride has. Lists have
 * theirs. */
void tern_op_shape_layouts(struct tern_shape *shape, struct tern_layout_dim *near, struct tern_layout_dim *far);

/* Both sides, as far as they have come. */
struct tern_shape_cursors {
    struct tern_cursor local, remote;
};

/* The longest piece of up to most bytes that is contiguous on both sides, from the marks on, which move behind it. */
struct tern_link_iov tern_op_shape_piece(const struct tern_shape *shape, struct tern_shape_cursors *marks,
                                         uint64_t most);

/* direct.c: copy it, now. */
void tern_op_direct(const struct tern_shape *shape);

/* iov.c: by the lists of an instant path, now. */
tern_status tern_op_iov(struct tern_ctx *ctx, const struct tern_shape *shape);

#endif

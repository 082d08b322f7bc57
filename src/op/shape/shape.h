/* shape.h: the execution of noncontiguous transfers, by one of several methods. Most methods make several transfers,
 * and keep some of them in flight at a time. Accumulates are direct or packed (op/atomic/acc.h).
 *
 * The methods, and the conditions for their use:
 *   direct   loads and stores reach the part: the copy loops transfer the data within the call (direct.c)
 *   iov      the path is instant and accepts lists of extents (iov.c)
 *   staged   the pieces are small, but the remote side is contiguous in long runs: each run is one transfer from or to
 *            a local buffer (packed.c)
 *   packed   the pieces are small, and the target serves RPCs: one side packs the pieces into a message and the other
 *            side unpacks them; several requests are outstanding (packed.c, op/rpc_serve.c)
 *   pieces   everything else: each contiguous piece is a transfer of its own, several in flight (shape.c)
 */
#pragma once

#include <tern/rma.h>

#include "op/atomic/acc_kernels.h"
#include "op/shape/layout.h"
#include "op/shape/stride.h"
#include "op/start.h"

/* A checked transfer or accumulate. The local side is memory of this process, the remote side is memory of the part. */
struct tern_shape {
    const struct tern_link_part *part;
    bool                         get;
    uint64_t                     total;                     /* bytes, at least 1 */
    const struct tern_stride    *stride;                    /* NULL: lists describe the transfer */
    uint64_t                     local_first, remote_first; /* strided: position of the first point of the input */
    struct tern_layout           local, remote;             /* lists; strided: see tern_op_shape_layouts() */
    bool                         accumulates;               /* add the elements instead of copying them */
    struct tern_acc_op           acc;                       /* for an accumulate: op/atomic/acc.h */
    const struct tern_op_atomic *signal;                    /* the signal that follows the put; NULL: none */
};

/* Start the transfer, or run it (TERN_OP_BLOCKING), as opts says. call names the public call. */
tern_status tern_op_shape(struct tern_ctx *ctx, struct tern_shape *shape, const tern_opts *opts, const char *call);

/* Start or run a put that is followed by a signal, as opts says. The caller has checked the signal. */
tern_status tern_op_shape_signal(struct tern_ctx *ctx, struct tern_shape *shape, const struct tern_op_atomic *signal,
                                 const tern_opts *opts, const char *call);

/* Fill in the layouts of a strided shape. `local_dim` and `remote_dim` are storage for as many dimensions as the stride
 * has. A shape that lists describe already has its layouts, and is not changed. */
void tern_op_shape_layouts(struct tern_shape *shape, struct tern_layout_dim *local_dim,
                           struct tern_layout_dim *remote_dim);

/* A position on both sides of a transfer. */
struct tern_shape_cursors {
    struct tern_cursor local, remote;
};

/* Return the longest piece, of up to `most` bytes, that starts at the cursors and is contiguous on both sides, and
 * advance the cursors past the piece. */
struct tern_link_iov tern_op_shape_piece(const struct tern_shape *shape, struct tern_shape_cursors *cursors,
                                         uint64_t most);

/* direct.c: copy the data within the call. */
void tern_op_direct(const struct tern_shape *shape);

struct tern_multi;

/* A method. */
struct tern_multi_method {
    unsigned most;          /* maximum number of transfers in flight; 0: the start executes the whole operation */
    bool     copies_source; /* the source of a put may be overwritten once its transfer has started */
    /* Start the next transfer at the cursors, as the operation `transfer`, and advance the cursors. Returns the same
     * values as the start function of a path. On return, link.xfer.len of the transfer is its number of bytes; for a
     * put, link.copied is the number of bytes whose source may be overwritten. */
    tern_status (*start)(struct tern_multi *multi, struct tern_op *transfer, struct tern_shape_cursors *cursors);
    /* Handle the end of a transfer whose start returned TERN_PENDING. NULL: nothing to do. */
    void (*ended)(struct tern_multi *multi, struct tern_op *transfer, tern_status status);
};

extern const struct tern_multi_method tern_op_method_iov, tern_op_method_packed, tern_op_method_staged;

/* An operation on noncontiguous data. */
struct tern_multi {
    struct tern_op                  op; /* must be first */
    const struct tern_multi_method *method;
    struct tern_shape               shape;     /* with its own layouts and lists if it outlives the call */
    struct tern_shape_cursors       cursors;   /* end of the transfers started so far */
    struct tern_list                transfers; /* transfers in flight */
    unsigned                        in_flight; /* number of transfers in flight */
    bool                            stopped;   /* start no more transfers */
    tern_status                     status;    /* the first error */
};

/* multi.h: an operation on noncontiguous data: one method out of several, most of which make several transfers and keep
 * some of them in flight at a time. */
#pragma once

#include "op/shape/shape.h"
#include "op/start.h"

struct tern_multi;

/* How an operation is executed. */
struct tern_multi_method {
    unsigned most;          /* maximum number of transfers in flight; 0: the start executes the whole operation */
    bool     copies_source; /* the source of a put may be overwritten once its transfer has started */
    /* Start the next transfer, using the given operation, at the cursors, and advance the cursors. Returns the same
     * values as the start function of a path. On return, link.xfer.len of the transfer is its number of bytes; for a
     * put, link.copied is the number of bytes whose source may be overwritten. */
    tern_status (*start)(struct tern_multi *multi, struct tern_op *transfer, struct tern_shape_cursors *cursors);
    /* A transfer that was pending has ended. NULL: nothing to do. */
    void (*ended)(struct tern_multi *multi, struct tern_op *transfer, tern_status status);
};

extern const struct tern_multi_method tern_op_method_direct, tern_op_method_iov, tern_op_method_pieces,
    tern_op_method_packed, tern_op_method_staged;

struct tern_multi {
    struct tern_op                  op; /* must be first */
    const struct tern_multi_method *method;
    struct tern_shape               shape;     /* if several transfers are made, with layouts and lists of its own */
    struct tern_shape_cursors       cursors;   /* end of the transfers started so far */
    struct tern_list                transfers; /* transfers in flight */
    unsigned                        in_flight; /* number of transfers in flight */
    bool                            stopped;   /* start no more transfers */
    tern_status                     status;    /* the first error */
};

/* Execute the shape by the method, as opts says. */
tern_status tern_op_multi_go(struct tern_ctx *ctx, const struct tern_shape *shape,
                             const struct tern_multi_method *method, const tern_opts *opts, const char *call);

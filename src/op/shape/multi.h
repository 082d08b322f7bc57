/* multi.h: an operation that consists of several transfers, some of which are in flight at a time. */
#ifndef TERN_OP_SHAPE_MULTI_H
#define TERN_OP_SHAPE_MULTI_H

#include "op/shape/shape.h"

struct tern_multi;

/* How the transfers of a multi-transfer operation are made. */
struct tern_multi_method {
    unsigned most;          /* maximum number of transfers in flight */
    bool     copies_source; /* the source of a put may be overwritten once its transfer has started */
    /* Start the next transfer, using the given record, at the cursors, and advance the cursors. Returns the same
     * values as the start function of a path. On return, op.xfer.len of the record is the number of bytes of the
     * transfer; for a put, op.copied is the number of bytes whose source may be overwritten. */
    tern_status (*start)(struct tern_multi *multi, struct tern_pending *transfer, struct tern_shape_cursors *cursors);
    /* A transfer that was pending has ended. NULL: nothing to do. */
    void (*ended)(struct tern_multi *multi, struct tern_pending *transfer, tern_status status);
};

extern const struct tern_multi_method tern_op_method_pieces, tern_op_method_packed, tern_op_method_staged;

struct tern_multi {
    struct tern_compound            compound; /* must be first */
    struct tern_ctx                *ctx;
    const struct tern_multi_method *method;
    struct tern_shape               shape;     /* with layouts and lists of its own */
    struct tern_shape_cursors       cursors;   /* end of the transfers started so far */
    struct tern_pending            *transfers; /* transfers in flight */
    unsigned                        in_flight; /* number of transfers in flight */
    bool                            stopped;   /* start no more transfers */
    bool                            notifies;  /* a notification follows; it is in `notification`, and
                                                  shape.notification is NULL */
    struct tern_notification        notification;
    tern_status                     status; /* the first error */
};

/* Make a multi-transfer operation without starting it. Returns NULL if there is no memory. */
struct tern_multi *tern_op_multi_make(struct tern_ctx *ctx, const struct tern_shape *shape,
                                      const struct tern_multi_method *method);
void               tern_op_multi_free(struct tern_multi *multi);

/* Start the first transfer. If this returns TERN_AGAIN or an error, nothing has been started. */
tern_status tern_op_multi_first(struct tern_multi *multi);

/* Continue with the remaining transfers. From now on the context owns the operation. */
void tern_op_multi_go(struct tern_multi *multi);

#endif

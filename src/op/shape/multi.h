/* multi.h: an operation that is made of several transfers, some of which are under way at a time. */
#ifndef TERN_OP_SHAPE_MULTI_H
#define TERN_OP_SHAPE_MULTI_H

#include "op/shape/shape.h"

struct tern_multi;

/* How the transfers of a bundle travel. */
struct tern_multi_method {
    unsigned most;          /* under way at a time */
    bool     copies_source; /* the source of a put may be overwritten when its transfer has started */
    /* Start the next transfer, which has a record, from the marks on, and move these. Returns as the start of a path;
     * the record's xfer says how many bytes it has, and of a put, copied, how many of these have left their place. */
    tern_status (*start)(struct tern_multi *bundle, struct tern_pending *transfer, struct tern_shape_cursors *marks);
    /* One that was pending has ended; NULL: there is nothing to do. */
    void (*ended)(struct tern_multi *bundle, struct tern_pending *transfer, tern_status status);
};

extern const struct tern_multi_method tern_op_method_pieces, tern_op_method_packed, tern_op_method_staged;

struct tern_multi {
    struct tern_compound            compound; /* first */
    struct tern_ctx                *ctx;
    const struct tern_multi_method *method;
    struct tern_shape               shape;     /* with sides and lists of its own */
    struct tern_shape_cursors       cursors;   /* of what has been started */
    struct tern_pending            *transfers; /* under way */
    unsigned                        in_flight; /* how many */
    bool                            stopped;   /* start no more */
    bool                            notifies;  /* a notification follows: note, of which shape.note speaks no more */
    struct tern_notification        notification;
    tern_status                     status; /* the first error */
};

/* Make one that is not under way; NULL: no memory. */
struct tern_multi *tern_op_multi_make(struct tern_ctx *ctx, const struct tern_shape *shape,
                                      const struct tern_multi_method *way);
void               tern_op_multi_free(struct tern_multi *bundle);

/* Start its first transfer; TERN_AGAIN and errors: nothing was started. */
tern_status tern_op_multi_first(struct tern_multi *bundle);

/* Go on with it; its record belongs to the context from now on. */
void tern_op_multi_go(struct tern_multi *bundle);

#endif

/* bundle.h: an operation that is made of several transfers, some of which are under way at a time. */
#ifndef TERN_OP_BUNDLE_H
#define TERN_OP_BUNDLE_H

#include "op/shape.h"

struct tern_bundle;

/* How the transfers of a bundle travel. */
struct tern_bundle_way {
    unsigned most;  /* under way at a time */
    bool     packs; /* the source of a put may be overwritten when its transfer has started */
    /* Start the next transfer, which has a record, from the marks on, and move these. Returns as the start of a path;
     * the record's xfer says how many bytes it has, and of a put, copied, how many of these have left their place. */
    tern_status (*start)(struct tern_bundle *bundle, struct tern_pending *transfer, struct tern_shape_marks *marks);
    /* One that was pending has ended; NULL: there is nothing to do. */
    void (*ended)(struct tern_bundle *bundle, struct tern_pending *transfer, tern_status status);
};

extern const struct tern_bundle_way tern_op_way_pieces, tern_op_way_packed, tern_op_way_staged;

struct tern_bundle {
    struct tern_work              work; /* first */
    struct tern_ctx              *ctx;
    const struct tern_bundle_way *way;
    struct tern_shape             shape;     /* with sides and lists of its own */
    struct tern_shape_marks       marks;     /* of what has been started */
    struct tern_pending          *transfers; /* under way */
    unsigned                      flying;    /* how many */
    bool                          stopped;   /* start no more */
    bool                          noted;     /* a notification follows: note, of which shape.note speaks no more */
    struct tern_note              note;
    tern_status                   status; /* the first error */
};

/* Make one that is not under way; NULL: no memory. */
struct tern_bundle *tern_op_bundle_make(struct tern_ctx *ctx, const struct tern_shape *shape,
                                        const struct tern_bundle_way *way);
void                tern_op_bundle_free(struct tern_bundle *bundle);

/* Start its first transfer; TERN_AGAIN and errors: nothing was started. */
tern_status tern_op_bundle_first(struct tern_bundle *bundle);

/* Go on with it; its record belongs to the context from now on. */
void tern_op_bundle_go(struct tern_bundle *bundle);

#endif

/* start.h: starting an operation that may have to wait for its turn or for room, and waiting for its end. */
#ifndef TERN_OP_START_H
#define TERN_OP_START_H

#include <tern/rma.h>

#include "core/context.h"
#include "op/notify/notify.h"

/* A flag beside those of tern_opts: try once, and make no progress. */
#define TERN_OP_ONCE 0x80000000u

/* An operation that is to start. */
struct tern_op_start {
    struct tern_ctx             *ctx;
    const struct tern_link_part *part;
    const char                  *what; /* the public call */
    uint64_t                     len;
    const struct tern_xfer      *xfer; /* where it is one contiguous transfer without notification; NULL: it is not */
    const struct tern_notification *notification; /* the notification that follows; NULL: none */
    bool notify_now;   /* the notification is sent here, when start has returned. Otherwise at the end
                                           of a work */
    bool needs_target; /* a thread of the target has to help, whatever the path */
    tern_status (*start)(struct tern_op_start *attempt); /* as that of a path. TERN_AGAIN: nothing was started */
    tern_status result;                                  /* of the start, once it has happened */
};

/* Whether this is the handler of a message and may wait for a transfer to the part: not if that needs the target, and
 * neither if it has to follow one that does. */
bool tern_op_handler_may_wait(const struct tern_ctx *ctx, const struct tern_link_part *part);

/* Start it, when the earlier operations of a strict context permit it; flags as in tern_opts. Returns what the start
 * returned, or an error: then nothing was started. */
tern_status tern_op_start(struct tern_op_start *attempt, uint32_t flags);

/* Fill the events of an operation that has started; pending NULL: it is done. */
void tern_op_fill_events(const tern_opts *opts, struct tern_pending *pending);

/* Wait until the event of a blocking operation is done, or give up at the deadline. */
tern_status tern_op_wait(struct tern_ctx *ctx, const struct tern_link_part *part, tern_event *event,
                         tern_deadline deadline);

#endif

/* start.h: starting an operation that may have to wait for space or for earlier operations, and waiting for its
 * completion. */
#ifndef TERN_OP_START_H
#define TERN_OP_START_H

#include <tern/rma.h>

#include "core/context.h"
#include "op/notify/notify.h"

/* An internal flag in addition to those of tern_opts: try once, and make no progress. */
#define TERN_OP_ONCE 0x80000000u

/* An operation that is about to start. */
struct tern_op_start {
    struct tern_ctx                *ctx;
    const struct tern_link_part    *part;
    const char                     *what; /* the public call */
    uint64_t                        len;
    const struct tern_xfer         *xfer;         /* for a contiguous transfer without notification; otherwise NULL */
    const struct tern_notification *notification; /* the notification that follows; NULL: none */
    bool notify_now;   /* send the notification here, after start has returned; otherwise a compound operation sends
                        * it at its end */
    bool needs_target; /* a thread of the target must help, whatever the path */
    tern_status (*start)(struct tern_op_start *attempt); /* same contract as the start of a path. TERN_AGAIN: nothing
                                                          * was started */
    tern_status result;                                  /* return value of start, after it was called */
};

/* Whether the caller is a message handler that may wait for a transfer to the part: not if the transfer needs the
 * target's help, or must follow a transfer that does. Returns false outside of handlers. */
bool tern_op_handler_may_wait(const struct tern_ctx *ctx, const struct tern_link_part *part);

/* Start the operation as soon as the earlier operations of a strict context permit it; flags are as in tern_opts.
 * Returns the result of the start, or an error, in which case nothing was started. */
tern_status tern_op_start(struct tern_op_start *attempt, uint32_t flags);

/* Fill the events of an operation that has started; pending NULL: the operation has completed. */
void tern_op_fill_events(const tern_opts *opts, struct tern_pending *pending);

/* Wait until the event of a blocking operation completes, or give up at the deadline. */
tern_status tern_op_wait(struct tern_ctx *ctx, const struct tern_link_part *part, tern_event *event,
                         tern_deadline deadline);

#endif

/* two_step.h: a transfer that is not done at once, and the notification behind it, as one operation. */
#ifndef TERN_OP_NOTIFY_TWO_STEP_H
#define TERN_OP_NOTIFY_TWO_STEP_H

#include <tern/rma.h>

#include "core/context.h"
#include "op/notify/notify.h"

struct tern_two_step {
    struct tern_compound     compound; /* first; its record is what events point at */
    struct tern_notification notification;
    struct tern_pending     *transfer; /* the record of the transfer. NULL: it has ended */
    tern_status              status;   /* of the transfer */
    bool                     stopped;  /* nobody waits any more */
};

/* Make one, whose transfer is about to start; NULL: no memory. */
struct tern_two_step *tern_op_two_step_new(struct tern_ctx *ctx, const struct tern_notification *note);

/* The start returned st: fill the events and go on, or nothing is left of it. Returns st, or TERN_OK where it is under
 * way. */
tern_status tern_op_two_step_go(struct tern_two_step *noted, const tern_opts *opts, tern_status st);

/* Send the notification of a work whose transfers have ended. TERN_AGAIN: there is no room yet. */
tern_status tern_op_two_step_notify(struct tern_compound *work, const struct tern_notification *note);

#endif

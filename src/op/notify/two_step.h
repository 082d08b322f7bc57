/* two_step.h: a transfer that does not complete immediately and the notification that follows, as one operation. */
#ifndef TERN_OP_NOTIFY_TWO_STEP_H
#define TERN_OP_NOTIFY_TWO_STEP_H

#include <tern/rma.h>

#include "core/context.h"
#include "op/notify/notify.h"

struct tern_two_step {
    struct tern_compound     compound; /* must be first; events point to its record */
    struct tern_notification notification;
    struct tern_pending     *transfer; /* the record of the transfer. NULL: the transfer has completed */
    tern_status              status;   /* of the transfer */
    bool                     stopped;  /* the operation was abandoned: send no notification */
};

/* Create an operation whose transfer is about to start. Returns NULL if there is no memory. */
struct tern_two_step *tern_op_two_step_new(struct tern_ctx *ctx, const struct tern_notification *notification);

/* Continue after the start of the transfer returned st: fill the events of opts if the transfer is outstanding, or free
 * the operation. Returns st, or TERN_OK if the operation is outstanding. */
tern_status tern_op_two_step_go(struct tern_two_step *two_step, const tern_opts *opts, tern_status st);

/* Send the notification of a compound operation whose transfers have completed. Returns TERN_AGAIN if there is no space
 * yet. */
tern_status tern_op_two_step_notify(struct tern_compound *compound, const struct tern_notification *notification);

#endif

/* noted.h: a transfer that is not done at once, and the notification behind it, as one operation. */
#ifndef TERN_OP_NOTED_H
#define TERN_OP_NOTED_H

#include <tern/rma.h>

#include "core/context.h"
#include "op/note.h"

struct tern_noted {
    struct tern_work     work; /* first; its record is what events point at */
    struct tern_note     note;
    struct tern_pending *transfer; /* the record of the transfer. NULL: it has ended */
    tern_status          status;   /* of the transfer */
    bool                 stopped;  /* nobody waits any more */
};

/* Make one, whose transfer is about to start; NULL: no memory. */
struct tern_noted *tern_op_noted_new(struct tern_ctx *ctx, const struct tern_note *note);

/* The start returned st: fill the events and go on, or nothing is left of it. Returns st, or TERN_OK where it is under
 * way. */
tern_status tern_op_noted_end(struct tern_noted *noted, const tern_opts *opts, tern_status st);

/* Send the notification of a work whose transfers have ended. TERN_AGAIN: there is no room yet. */
tern_status tern_op_noted_tell(struct tern_work *work, const struct tern_note *note);

#endif

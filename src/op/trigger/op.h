/* op.h: a triggered operation: an operation that is stored, with everything it needs, until it may start.
 *
 * The operation starts on the context that the engine has for this purpose (engine.h). It never waits there, and learns
 * of its completion. Lists that the program passed as descriptions are copied; the data that the operation reads or
 * writes is not.
 */
#ifndef TERN_OP_TRIGGER_OP_H
#define TERN_OP_TRIGGER_OP_H

#include <tern/am.h>
#include <tern/counter.h>

#include "op/trigger/threshold.h"
#include "op/atomic/atomic.h"
#include "op/shape/shape.h"

enum tern_trigger_state {
    TERN_TRIGGER_ARMED, /* waits for its counter */
    TERN_TRIGGER_READY, /* ready to start */
    TERN_TRIGGER_STARTED,
};

struct tern_trigger_op {
    struct tern_threshold   armed; /* must be first */
    struct tern_engine     *engine;
    enum tern_trigger_state state;
    struct tern_counter    *when;          /* the counter that it waits for; NULL: it does not wait any more */
    struct tern_counter    *counter;       /* the counter that is updated on completion; NULL: none */
    struct tern_counter    *target;        /* of a counter addition: the counter to add to */
    struct tern_trigger_op *next;          /* in the list of operations that are ready to start */
    struct tern_trigger_op *older, **link; /* in the list of all operations of the engine */
    struct tern_pending    *record;        /* in the program's context, for events; NULL: there are no events */
    bool                    silent;        /* an event reports its error, not tern_quiet */
    bool                    watch;         /* the operation does nothing: it is only an event of the counter */
    uint32_t                flags;         /* of tern_opts */
    uint32_t                tag;
    uint64_t                bytes; /* added to the counter with TERN_COUNT_BYTES */
    int                     rank;  /* in the job; -1: none */
    const char             *what;  /* the public call */
    /* Start the operation on the context. event is as in tern_opts. Returns TERN_AGAIN if there is no space. */
    tern_status (*start)(struct tern_trigger_op *op, struct tern_ctx *ctx, tern_event *event);
    bool placed; /* of a long message: the payload has been or is being transferred; the message must be sent
                  * afterwards */
    union {
        struct {
            struct tern_xfer      xfer;
            struct tern_op_atomic atomic; /* with a transfer: the signal */
        };
        struct tern_shape shape;
        struct {
            tern_am  am;
            uint32_t args[TERN_AM_ARGS];
        };
        uint64_t value; /* of a counter addition */
    };
    struct tern_notification notification; /* with TERN_NOTIFY */
};

/* Create a triggered operation from a checked operation. Returns NULL if there is no memory. The caller must pass the
 * result to tern_op_engine_submit or free it. */
struct tern_trigger_op *tern_op_trigger_contig(const struct tern_xfer *xfer, const tern_opts *opts, const char *what);
struct tern_trigger_op *tern_op_trigger_shape(const struct tern_shape *shape, bool adds, const tern_opts *opts,
                                              const char *what);
struct tern_trigger_op *tern_op_trigger_atomic(const struct tern_op_atomic *atomic, const tern_opts *opts,
                                               const char *what);
struct tern_trigger_op *tern_op_trigger_signal(const struct tern_xfer *xfer, const struct tern_op_atomic *word,
                                               const tern_opts *opts, const char *what);
struct tern_trigger_op *tern_op_trigger_am(int peer, const tern_am *am, const tern_opts *opts);
struct tern_trigger_op *tern_op_trigger_add(struct tern_counter *target, uint64_t value, const tern_opts *opts);
struct tern_trigger_op *tern_op_trigger_watch(const tern_opts *opts); /* only an event of the counter */

/* Called when the operation has completed. Returns true if another step must start: the message of a long message whose
 * payload is transferred. */
bool tern_op_trigger_continues(struct tern_trigger_op *op, tern_status status);

#endif

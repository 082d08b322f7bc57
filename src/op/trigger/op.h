/* op.h: an operation that is kept until it may start, with everything that it needs.
 *
 * It is started on a context that its engine has for that purpose (engine.h), never waits there, and is told when it
 * has ended. What the program described by lists is copied; what is read and written stays where it is.
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
    TERN_TRIGGER_READY, /* is to start */
    TERN_TRIGGER_STARTED,
};

struct tern_trigger_op {
    struct tern_threshold   armed; /* first */
    struct tern_engine     *engine;
    enum tern_trigger_state state;
    struct tern_counter    *when;          /* for which it waits; NULL: it does not any more */
    struct tern_counter    *counter;       /* that counts it; NULL: none */
    struct tern_counter    *target;        /* an addition: to which counter */
    struct tern_trigger_op *next;          /* of those that are to start */
    struct tern_trigger_op *older, **link; /* all of the engine */
    struct tern_pending    *record;        /* of the program's context, for events; NULL: there are none */
    bool                    silent;        /* its error is in an event, not in tern_quiet */
    bool                    watch;         /* it is nothing but an event of the counter */
    uint32_t                flags;         /* of tern_opts */
    uint32_t                tag;
    uint64_t                bytes; /* that it counts as */
    int                     rank;  /* in the job; -1: none */
    const char             *what;  /* the public call */
    /* Start it on the context, or find no room (TERN_AGAIN). event: as in tern_opts. */
    tern_status (*start)(struct tern_trigger_op *later, struct tern_ctx *ctx, tern_event *event);
    bool placed; /* a long message: its payload is in its place, or on its way; the message is to be sent then */
    union {
        struct {
            struct tern_xfer      xfer;
            struct tern_op_atomic atomic; /* with a transfer: its signal */
        };
        struct tern_shape shape;
        struct {
            tern_am  am;
            uint32_t args[TERN_AM_ARGS];
        };
        uint64_t value; /* an addition */
    };
    struct tern_notification notification; /* with TERN_NOTIFY */
};

/* Make one of a checked operation; NULL: no memory. It is handed to tern_op_engine_submit, or freed. */
struct tern_trigger_op *tern_op_trigger_contig(const struct tern_xfer *xfer, const tern_opts *opts, const char *what);
struct tern_trigger_op *tern_op_trigger_shape(const struct tern_shape *shape, bool adds, const tern_opts *opts,
                                              const char *what);
struct tern_trigger_op *tern_op_trigger_atomic(const struct tern_op_atomic *atomic, const tern_opts *opts,
                                               const char *what);
struct tern_trigger_op *tern_op_trigger_signal(const struct tern_xfer *xfer, const struct tern_op_atomic *word,
                                               const tern_opts *opts, const char *what);
struct tern_trigger_op *tern_op_trigger_am(int peer, const tern_am *am, const tern_opts *opts);
struct tern_trigger_op *tern_op_trigger_add(struct tern_counter *target, uint64_t value, const tern_opts *opts);
struct tern_trigger_op *tern_op_trigger_watch(const tern_opts *opts); /* an event of the counter, and nothing else */

/* It has ended. True: there is more to start, its message. */
bool tern_op_trigger_continues(struct tern_trigger_op *later, tern_status status);

#endif

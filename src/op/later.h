/* later.h: an operation that is kept until it may start, with everything that it needs.
 *
 * It is started on a context that its engine has for that purpose (engine.h), never waits there, and is told when it
 * has ended. What the program described by lists is copied; what is read and written stays where it is.
 */
#ifndef TERN_OP_LATER_H
#define TERN_OP_LATER_H

#include <tern/am.h>
#include <tern/counter.h>

#include "op/armed.h"
#include "op/atomic.h"
#include "op/shape.h"

enum tern_later_state {
    TERN_LATER_ARMED, /* waits for its counter */
    TERN_LATER_READY, /* is to start */
    TERN_LATER_BEGUN,
};

struct tern_later {
    struct tern_armed     armed; /* first */
    struct tern_engine   *engine;
    enum tern_later_state state;
    struct tern_counter  *when;          /* for which it waits; NULL: it does not any more */
    struct tern_counter  *counter;       /* that counts it; NULL: none */
    struct tern_counter  *target;        /* an addition: to which counter */
    struct tern_later    *next;          /* of those that are to start */
    struct tern_later    *older, **link; /* all of the engine */
    struct tern_pending  *record;        /* of the program's context, for events; NULL: there are none */
    bool                  silent;        /* its error is in an event, not in tern_quiet */
    bool                  watch;         /* it is nothing but an event of the counter */
    uint32_t              flags;         /* of tern_opts */
    uint32_t              tag;
    uint64_t              bytes; /* that it counts as */
    int                   rank;  /* in the job; -1: none */
    const char           *what;  /* the public call */
    /* Start it on the context, or find no room (TERN_AGAIN). event: as in tern_opts. */
    tern_status (*start)(struct tern_later *later, struct tern_ctx *ctx, tern_event *event);
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
    struct tern_note note; /* with TERN_NOTIFY */
};

/* Make one of a checked operation; NULL: no memory. It is handed to tern_op_engine_take, or freed. */
struct tern_later *tern_op_later_contig(const struct tern_xfer *xfer, const tern_opts *opts, const char *what);
struct tern_later *tern_op_later_shape(const struct tern_shape *shape, bool adds, const tern_opts *opts,
                                       const char *what);
struct tern_later *tern_op_later_atomic(const struct tern_op_atomic *atomic, const tern_opts *opts, const char *what);
struct tern_later *tern_op_later_signal(const struct tern_xfer *xfer, const struct tern_op_atomic *word,
                                        const tern_opts *opts, const char *what);
struct tern_later *tern_op_later_am(int peer, const tern_am *am, const tern_opts *opts);
struct tern_later *tern_op_later_add(struct tern_counter *target, uint64_t value, const tern_opts *opts);
struct tern_later *tern_op_later_watch(const tern_opts *opts); /* an event of the counter, and nothing else */

/* It has ended. True: there is more to start, its message. */
bool tern_op_later_goes_on(struct tern_later *later, tern_status status);

#endif

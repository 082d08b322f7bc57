/* trigger.h: what the engine adds to an operation that updates a counter or waits for one.
 *
 * Such an operation is parked with the engine (engine.h) until it may start on the engine's context. It never waits
 * there, and the engine learns of its completion. An operation that is not a transfer, such as an active message, has
 * no part, and is complete when it has started.
 */
#pragma once

#include <tern/am.h>
#include <tern/counter.h>

#include "base/list.h"
#include "core/op.h"
#include "op/trigger/threshold.h"

enum tern_trigger_state {
    TERN_TRIGGER_ARMED, /* waits for its counter */
    TERN_TRIGGER_READY, /* ready to start */
    TERN_TRIGGER_STARTED,
    TERN_TRIGGER_DONE,
};

struct tern_trigger {
    struct tern_threshold armed; /* must be first */
    struct tern_op       *op;
    struct tern_engine   *engine;
    uint32_t              state;   /* enum tern_trigger_state. Written under the engine's lock, read by reports */
    uint32_t              flags;   /* of tern_opts */
    struct tern_counter  *when;    /* the counter that it waits for; NULL: it does not wait any more */
    struct tern_counter  *counter; /* the counter that is updated on completion; NULL: none */
    struct tern_counter  *target;  /* of a counter addition: the counter to add to */
    struct tern_list      ready;   /* in the list of operations that are ready to start */
    struct tern_list      all;     /* in the list of all operations of the engine */
    uint64_t              bytes;   /* added to the counter with TERN_COUNT_BYTES */
    int                   rank;    /* in the job; -1: none */
    bool                  silent;  /* an event reports the error, not tern_quiet */
    bool                  watch;   /* the operation does nothing: it is only an event of the counter */
};

/* Park an active message, the addition to a counter, or an event of a counter. The caller has checked the arguments. */
tern_status tern_op_trigger_am(struct tern_ctx *ctx, int peer, const tern_am *am, const tern_opts *opts);
tern_status tern_op_trigger_add(struct tern_counter *target, uint64_t value, const tern_opts *opts);
tern_status tern_op_trigger_watch(struct tern_counter *counter, const tern_opts *opts);

/* engine.h: the trigger engine, which starts operations when counters reach thresholds.
 *
 * A context that has counters has an engine, and the engine has a context of its own. All operations that update a
 * counter or wait for one start on that context. A thread must hold the engine's lock to use that context: the
 * program's thread takes the lock whenever it makes progress, and the helper thread takes it while the program computes
 * (helper.h). The program's own context therefore needs no lock, and its operations cost the same as without counters.
 *
 * A counter whose value reaches a threshold is put on a list (moved), and operations whose threshold is reached are put
 * on another list (ready). One loop processes both lists, and the processing of an entry only adds further entries, so
 * that chains of operations of any length do not need a deep stack.
 */
#pragma once

#include <pthread.h>
#include <tern/am.h>
#include <tern/counter.h>

#include "base/list.h"
#include "boot/helper.h"
#include "core/context.h"
#include "op/trigger/threshold.h"

enum tern_trigger_state {
    TERN_TRIGGER_ARMED, /* waits for its counter */
    TERN_TRIGGER_READY, /* ready to start */
    TERN_TRIGGER_STARTED,
    TERN_TRIGGER_DONE,
};

/* The state that the engine adds to an operation that updates a counter or waits for one, behind the operation in the
 * same memory. Such an operation is parked until it may start on the engine's context. Its start never waits, and the
 * engine is told of its completion. An operation that is not a transfer, such as an active message, has no part, and is
 * complete when it has started. */
struct tern_trigger {
    struct tern_threshold armed; /* must be first */
    struct tern_op       *op;
    struct tern_engine   *engine;
    uint32_t              state;   /* enum tern_trigger_state. Written under the engine's lock, read by reports */
    uint32_t              flags;   /* of tern_opts */
    struct tern_counter  *when;    /* the counter that the operation waits for; NULL: it does not wait any more */
    struct tern_counter  *counter; /* the counter that is updated on completion; NULL: none */
    struct tern_counter  *target;  /* the counter to which a counter addition adds; NULL: none */
    struct tern_list      ready;   /* in the list of operations that are ready to start */
    struct tern_list      all;     /* in the list of all operations of the engine */
    uint64_t              bytes;   /* added to the counter with TERN_COUNT_BYTES */
    int                   rank;    /* rank of the job that the operation concerns; -1: none */
    uint32_t              epoch;   /* the engine's epoch when the operation became ready to start */
    bool                  silent;  /* an event reports the error, so tern_quiet does not */
    bool                  watch;   /* the operation only completes an event of the counter */
};

struct tern_counter {
    struct tern_engine         *engine;          /* NULL: the counter is freed */
    _Atomic uint64_t            value, failures; /* written under the lock, read by any thread */
    tern_status                 error;           /* of the first failure */
    struct tern_threshold_queue armed;           /* triggered operations that wait for the counter */
    uint32_t                    users;           /* operations, started or not, that update the counter when they
                                                  * complete or add to it */
    struct tern_list            moved;           /* in the engine's list of moved counters, or in none */
    struct tern_list            node;            /* in the list of all counters of the engine */
    struct tern_roster_node     ever;            /* must be last; it outlives the counter */
};

struct tern_engine {
    pthread_mutex_t             lock;  /* guards all fields except activity and helped */
    struct tern_ctx            *owner; /* the program's context */
    struct tern_ctx            *ctx;   /* the context on which the engine starts operations */
    struct tern_list            counters, moved;
    struct tern_list            all;         /* the triggers of all operations, newest first */
    struct tern_list            ready;       /* triggers that are ready to start, in this order */
    _Atomic uint32_t            ready_count; /* read without the lock by threads that check for space */
    uint32_t                    epoch;       /* incremented when the program starts to wait for all operations */
    tern_status                 failed;      /* the first error of an operation without an event */
    const char                 *failed_what;
    int                         failed_rank;
    bool                        failed_several; /* operations to other ranks have failed since */
    char                        failed_why[sizeof(((struct tern_ctx *)0)->failed_why)];
    struct tern_tagged *_Atomic tagged;   /* tagged state whose matched receives fetch their data on this engine
                                         * (op/tagged/tagged.h); NULL: none */
    struct tern_activity        activity; /* whether the program polls, and thus makes progress itself */
    struct tern_list            helped;   /* in the list of engines that the helper thread polls */
};

/* Counters. */
tern_status tern_op_counter_new(struct tern_ctx *ctx, struct tern_counter **out);
bool        tern_op_counter_free(struct tern_counter *counter); /* false: operations use it */
/* Mark a counter that no operation uses as freed. Its memory stays valid for a while (base/retired.h). */
void        tern_op_counter_retire(struct tern_counter *counter);
void        tern_op_counter_set(struct tern_counter *counter, uint64_t value);
tern_status tern_op_counter_add(struct tern_counter *counter, uint64_t value);
size_t      tern_op_counter_cancel(struct tern_counter *counter);
tern_status tern_op_counter_error(struct tern_counter *counter); /* of the first failure; TERN_OK: no failure */

/* Announce that an operation that does not belong to the engine will update the counter when it ends (use), and report
 * that it has ended (used). The caller does not hold the lock. */
void tern_op_counter_use(struct tern_counter *counter);
void tern_op_counter_used(struct tern_counter *counter, tern_status status);

static inline uint64_t tern_op_counter_value(const struct tern_counter *counter)
{
    /* acquire: the effects of the counted operations. Pairs with the release in tern_op_engine_add(). */
    return atomic_load_explicit(&counter->value, memory_order_acquire);
}

static inline uint64_t tern_op_counter_failures(const struct tern_counter *counter)
{
    return atomic_load_explicit(&counter->failures, memory_order_acquire); /* pairs with count_failure() */
}

/* Create an operation that is to be parked, and its trigger. bytes is the size of the operation's object without the
 * trigger. Returns NULL if there is no memory. */
void *tern_op_parked_alloc(struct tern_engine *engine, size_t bytes, const struct tern_op_kind *kind, const char *call);

/* Take ownership of an operation that is to start now or when its counter reaches its threshold, and fill in the events
 * of opts. The operation was created by tern_op_parked_alloc. Returns TERN_AGAIN or an error if the operation is not
 * accepted; then it has been freed. rank is the rank of the job that the operation concerns, or -1, and target the
 * counter that it adds to, or NULL. */
tern_status tern_op_engine_park(struct tern_op *op, const tern_opts *opts, int rank, struct tern_counter *target);

/* Park an active message, the addition to a counter, or an event of a counter. The caller has checked the arguments. */
tern_status tern_op_trigger_am(struct tern_ctx *ctx, int peer, const tern_am *am, const tern_opts *opts);
tern_status tern_op_trigger_add(struct tern_counter *target, uint64_t value, const tern_opts *opts);
tern_status tern_op_trigger_watch(struct tern_counter *counter, const tern_opts *opts);

/* Add to a counter on behalf of an operation. The caller holds the lock. Returns TERN_ERR_RANGE if the sum would
 * overflow. */
tern_status tern_op_engine_add(struct tern_counter *counter, uint64_t value);

/* Cancel the operation that belongs to an event of the engine. Returns TERN_ERR_STATE if the operation has started, and
 * TERN_ERR_ARG if the event does not belong to an engine. */
tern_status tern_op_engine_cancel(tern_event *event);

/* ---- within the engine; the caller holds the lock ---- */

/* Add 1 to the counter, or count a failure. */
void tern_op_engine_count(struct tern_counter *counter, tern_status status);

tern_status tern_op_engine_open(struct tern_ctx *owner);

/* Make progress on all operations of the engine. Returns whether any operation has started or completed. */
bool tern_op_engine_progress(struct tern_engine *engine);
/* Make progress on all operations of the engine, but start no operation if the caller is a message handler: a handler
 * must not wait, and its thread may be using another context. In a handler, operations whose threshold is reached only
 * become ready to start. */
void tern_op_engine_progress_in_handler(struct tern_engine *engine);

/* Put the counter on the list of moved counters if an operation may have to start. The caller has changed the value of
 * the counter. */
void tern_op_engine_moved(struct tern_counter *counter);
/* Put an operation, which is counted in engine_busy, on the list of operations that are ready to start. */
void tern_op_engine_ready(struct tern_trigger *trigger);
/* Complete an operation, with the status for its events, without an update of its counter. An operation without events
 * is freed. */
void tern_op_engine_end(struct tern_trigger *trigger, tern_status status);
/* Free an operation that has ended, or is dropped. */
void tern_op_engine_free(struct tern_trigger *trigger);

static inline void tern_op_trigger_set_state(struct tern_trigger *trigger, enum tern_trigger_state state)
{
    __atomic_store_n(&trigger->state, (uint32_t)state, __ATOMIC_RELAXED); /* read without the lock for reports only */
}

/* Return the number of operations that are ready to start or have started, and have not completed, plus the number of
 * moved counters. Readers that only ask whether the context is busy need no lock. */
static inline uint32_t tern_op_engine_busy(const struct tern_engine *engine)
{
    return atomic_load_explicit(&engine->owner->engine_busy, memory_order_relaxed);
}

/* Return the number of operations that are ready to start; without the lock, it is only a hint. */
static inline uint32_t tern_op_engine_waiting(const struct tern_engine *engine)
{
    return atomic_load_explicit(&engine->ready_count, memory_order_relaxed);
}

static inline void tern_op_engine_busy_inc(struct tern_engine *engine)
{
    atomic_store_explicit(&engine->owner->engine_busy, tern_op_engine_busy(engine) + 1, memory_order_relaxed);
}

static inline void tern_op_engine_busy_dec(struct tern_engine *engine)
{
    /* release: the effects of the operation. Pairs with tern_core_ctx_has_outstanding(). */
    atomic_store_explicit(&engine->owner->engine_busy, tern_op_engine_busy(engine) - 1, memory_order_release);
}

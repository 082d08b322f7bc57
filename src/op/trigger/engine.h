/* engine.h: what starts operations when counters say so.
 *
 * A context that has counters has an engine, and the engine a context of its own, on which everything starts that
 * counts or waits for a counter. Whoever holds the engine's lock may use that context: the program's thread, whenever
 * it makes progress, and a thread beside it while the program computes (thread.h). So the program's own context stays
 * without a lock, and its operations cost what they cost without counters.
 *
 * A counter that moves far enough for something to start is put on a list; those whose turn has come are put on
 * another. Both are worked off in a loop, never from within each other, so that chains of any length need no stack.
 */
#ifndef TERN_OP_TRIGGER_ENGINE_H
#define TERN_OP_TRIGGER_ENGINE_H

#include <pthread.h>

#include "core/context.h"
#include "op/trigger/op.h"

struct tern_counter {
    struct tern_engine         *engine;
    _Atomic uint64_t            value, failures; /* written with the lock, read by any thread */
    tern_status                 error;           /* of the first failure */
    struct tern_threshold_queue armed;           /* what waits */
    uint32_t                    users;           /* operations, begun or not, that count on it or add to it */
    bool                        moved;           /* on the list of those: */
    struct tern_counter        *next_moved;
    struct tern_counter        *next, **link; /* all of the engine */
};

struct tern_engine {
    struct tern_ctx_engine  base;  /* first */
    pthread_mutex_t         lock;  /* guards everything but polls */
    struct tern_ctx        *owner; /* the program's context */
    struct tern_ctx        *ctx;   /* for operations */
    struct tern_counter    *counters, *moved;
    struct tern_trigger_op *all;
    struct tern_trigger_op *ready, **ready_end; /* are to start, in this order */
    _Atomic uint32_t        ready_count;        /* read without the lock by who looks for room */
    tern_status             failed;             /* the first error of an operation without an event */
    const char             *failed_what;
    int                     failed_rank;
    struct tern_tagged
        *_Atomic        tagged; /* receives that are to be fetched here: op/tagged/tagged.h; NULL: there are none */
    _Atomic uint32_t    polls;  /* of the program: whether it makes progress by itself */
    uint32_t            polls_seen;
    struct tern_engine *next, **link; /* for the thread beside the program */
};

/* Counters. */
tern_status tern_op_counter_new(struct tern_ctx *ctx, struct tern_counter **out);
bool        tern_op_counter_free(struct tern_counter *counter); /* false: operations count on it */
void        tern_op_counter_set(struct tern_counter *counter, uint64_t value);
tern_status tern_op_counter_add(struct tern_counter *counter, uint64_t value);
size_t      tern_op_counter_cancel(struct tern_counter *counter);
tern_status tern_op_counter_error(struct tern_counter *counter); /* the first; TERN_OK: none */

static inline uint64_t tern_op_counter_value(const struct tern_counter *counter)
{
    /* acquire: what was counted. Pairs with the release in tern_op_engine_add(). */
    return atomic_load_explicit(&counter->value, memory_order_acquire);
}

static inline uint64_t tern_op_counter_failures(const struct tern_counter *counter)
{
    return atomic_load_explicit(&counter->failures, memory_order_acquire); /* pairs with count_failure() */
}

/* Take over an operation, which is to start now or when its counter says so, and fill the events of opts. After
 * TERN_AGAIN and after an error nothing is left of it. later NULL: there was no memory for it. */
tern_status tern_op_engine_submit(struct tern_ctx *ctx, struct tern_trigger_op *later, const tern_opts *opts);

/* For one that adds, with the lock: TERN_ERR_RANGE: the sum would not fit. */
tern_status tern_op_engine_add(struct tern_counter *counter, uint64_t value);

/* Cancel the operation of an event of the engine. TERN_ERR_STATE: it has begun. TERN_ERR_ARG: it is of no engine. */
tern_status tern_op_engine_cancel(tern_event *event);

/* ---- within the engine, with the lock ---- */

tern_status tern_op_engine_open(struct tern_ctx *owner);

/* Move on what there is. Returns whether anything has ended or started. */
bool tern_op_engine_progress(struct tern_engine *engine);
/* The same but in a handler, which starts nothing: it must not wait, and the thread may be using another context. What
 * is to start is made ready there. */
void tern_op_engine_progress_in_handler(struct tern_engine *engine);

/* The value has changed: something may have to start. */
void tern_op_engine_moved(struct tern_counter *counter);
/* Something is to start, which is counted in busy. */
void tern_op_engine_ready(struct tern_trigger_op *later);
/* Nothing is left of it but its events; nobody counts it. */
void tern_op_engine_end(struct tern_trigger_op *later, tern_status status);

/* How much there is to do: read without the lock by who asks whether the context is busy. */
static inline uint32_t tern_op_engine_busy(const struct tern_engine *engine)
{
    return atomic_load_explicit(&engine->base.busy, memory_order_relaxed);
}

/* How many are to start; without the lock a hint. */
static inline uint32_t tern_op_engine_waiting(const struct tern_engine *engine)
{
    return atomic_load_explicit(&engine->ready_count, memory_order_relaxed);
}

static inline void tern_op_engine_busy_inc(struct tern_engine *engine)
{
    atomic_store_explicit(&engine->base.busy, tern_op_engine_busy(engine) + 1, memory_order_relaxed);
}

static inline void tern_op_engine_busy_dec(struct tern_engine *engine)
{
    /* release: what the operation did. Pairs with tern_core_ctx_has_outstanding(). */
    atomic_store_explicit(&engine->base.busy, tern_op_engine_busy(engine) - 1, memory_order_release);
}

#endif

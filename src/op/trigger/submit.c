/* submit.c: accepting operations that update a counter or wait for one, and creating their events. See engine.h. */
#include <stdio.h>
#include <stdlib.h>

#include "core/wait.h"
#include "op/trigger/thread.h"
#include "op/trigger/engine.h"

/* The maximum number of operations without a trigger that may wait for space; beyond it, submitting waits. */
#define MOST_READY 256

static void record_describe(const struct tern_pending *record, char *text, size_t size)
{
    const char *what = (const char *)(uintptr_t)record->scratch[1];

    if (!record->done && __atomic_load_n(&record->scratch[2], __ATOMIC_RELAXED) == TERN_TRIGGER_ARMED)
        snprintf(text, size, "%s that waits for its counter to reach %llu", what,
                 (unsigned long long)record->scratch[0]);
    else
        snprintf(text, size, "%s that counts or was triggered", what);
}

/* Create the record that the events point to. It completes when the operation completes on the engine's context. */
static bool add_record(struct tern_trigger_op *op, const tern_opts *opts)
{
    struct tern_pending *record;

    if (!opts->event && !opts->local)
        return true;
    if (!(record = tern_core_pending_new(op->engine->owner)))
        return false;
    record->describe = record_describe;
    record->op.xfer.get = true;
    record->scratch[0] = op->armed.threshold;
    record->scratch[1] = (uint64_t)(uintptr_t)op->what;
    record->stage = op;
    op->record = record;
    return true;
}

static bool is_full(const struct tern_engine *engine)
{
    return TERN_UNLIKELY(tern_op_engine_waiting(engine) >= MOST_READY);
}

static tern_status room_poll(void *arg)
{
    const struct tern_engine *engine = arg;

    tern_core_ctx_progress(engine->owner);
    return is_full(engine) ? TERN_PENDING : TERN_OK;
}

static void room_describe(void *arg, char *text, size_t size)
{
    (void)arg;
    snprintf(text, size, "an operation that counts waits for room on the way of those before it");
}

/* Apply back-pressure: an operation that only updates a counter waits for space, as every operation does. A triggered
 * operation is stored instead, which costs memory. */
static tern_status wait_for_room(struct tern_engine *engine, uint32_t flags)
{
    struct tern_wait wait = {
        .poll = room_poll, .describe = room_describe, .arg = engine, .deadline = tern_core_ctx_deadline(engine->owner)
    };

    if (!is_full(engine))
        return TERN_OK;
    if (flags & TERN_IMMEDIATE)
        return room_poll(engine) == TERN_OK ? TERN_OK : TERN_AGAIN;
    return tern_core_wait(&wait);
}

/* Add the operation to its counter's queue or to the ready list. Returns false if there is no memory. */
static bool enqueue(struct tern_engine *engine, struct tern_trigger_op *op)
{
    struct tern_counter *when = op->when;

    if (when && tern_op_counter_value(when) < op->armed.threshold) {
        if (!tern_op_threshold_add(&when->armed, &op->armed))
            return false;
        op->state = TERN_TRIGGER_ARMED;
    } else {
        tern_op_engine_busy_inc(engine);
        tern_op_engine_ready(op);
    }
    if (op->counter)
        op->counter->users++;
    if (op->target)
        op->target->users++;
    op->older = engine->all;
    op->link = &engine->all;
    if (op->older)
        op->older->link = &op->older;
    engine->all = op;
    return true;
}

/* Fill the events. An operation that has already succeeded needs no record. */
static void fill(struct tern_pending *record, const tern_opts *opts)
{
    if (!record)
        return;
    /* acquire: pairs with tern_op_engine_end(). */
    if (__atomic_load_n(&record->done, __ATOMIC_ACQUIRE) && record->status == TERN_OK) {
        tern_core_pending_drop(record);
        record = NULL;
    }
    if (opts->event)
        *opts->event = record ? tern_core_event_make(record, false) : TERN_EVENT_INIT;
    if (opts->local)
        *opts->local = record ? tern_core_event_make(record, true) : TERN_EVENT_INIT;
}

static tern_status refuse(struct tern_trigger_op *op, tern_status status)
{
    if (op && op->record)
        tern_core_pending_drop(op->record);
    free(op);
    return status;
}

static tern_status no_memory(struct tern_trigger_op *op)
{
    refuse(op, TERN_ERR_NOMEM);
    return tern_base_fail(TERN_ERR_NOMEM, "no memory for one more operation that counts or waits for a counter");
}

tern_status tern_op_engine_submit(struct tern_ctx *ctx, struct tern_trigger_op *op, const tern_opts *opts)
{
    struct tern_engine  *engine = (struct tern_engine *)ctx->engine;
    struct tern_pending *record;
    tern_status          st;
    bool                 left;

    if (!op)
        return no_memory(op);
    op->engine = engine;
    if (!op->when && (st = wait_for_room(engine, op->flags)) != TERN_OK)
        return refuse(op, st);
    if (op->when && !op->watch && (st = tern_op_helper_start()) < 0)
        return refuse(op, st);
    if (!add_record(op, opts))
        return no_memory(op);
    record = op->record;
    pthread_mutex_lock(&engine->lock);
    if (!enqueue(engine, op)) {
        pthread_mutex_unlock(&engine->lock);
        return no_memory(op);
    }
    if (op->watch && op->state == TERN_TRIGGER_ARMED && opts->when->error < 0) {
        tern_op_threshold_remove(&opts->when->armed, &op->armed);
        tern_op_engine_end(op, opts->when->error);
    }
    if (tern_op_engine_busy(engine) > 0)
        tern_op_engine_progress_in_handler(engine);
    left = tern_op_engine_busy(engine) > 0;
    pthread_mutex_unlock(&engine->lock);
    fill(record, opts);
    if (left)
        tern_op_helper_wake();
    return TERN_OK;
}

tern_status tern_op_engine_cancel(tern_event *event)
{
    struct tern_pending    *record = tern_core_event_record(event);
    struct tern_engine     *engine;
    struct tern_trigger_op *op;

    if (record->describe != record_describe)
        return tern_base_fail(TERN_ERR_ARG, "tern_triggered_cancel: the event is not that of a triggered operation");
    engine = (struct tern_engine *)record->ctx->engine;
    pthread_mutex_lock(&engine->lock);
    op = record->stage;
    if (!op || op->state != TERN_TRIGGER_ARMED) {
        pthread_mutex_unlock(&engine->lock);
        return tern_base_fail(TERN_ERR_STATE, "tern_triggered_cancel: the operation has started");
    }
    tern_op_threshold_remove(&op->when->armed, &op->armed);
    tern_op_engine_end(op, TERN_ERR_CANCELLED);
    pthread_mutex_unlock(&engine->lock);
    return TERN_OK;
}

/* submit.c: accepting operations that update a counter or wait for one, and creating their events. See engine.h. */
#include <stdio.h>
#include <stdlib.h>

#include "core/wait.h"
#include "op/start.h"
#include "op/trigger/helper.h"
#include "op/trigger/engine.h"

/* The maximum number of operations without a trigger that may wait for space; beyond it, submitting waits. */
#define MOST_READY 256

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
    snprintf(text, size,
             "an operation that counts waits until earlier ones have found space in the queues to their targets");
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
static bool enqueue(struct tern_engine *engine, struct tern_trigger *trigger)
{
    struct tern_counter *when = trigger->when;

    if (when && tern_op_counter_value(when) < trigger->armed.threshold) {
        if (!tern_op_threshold_add(&when->armed, &trigger->armed))
            return false;
        tern_op_trigger_set_state(trigger, TERN_TRIGGER_ARMED);
    } else {
        tern_op_engine_busy_inc(engine);
        tern_op_engine_ready(trigger);
    }
    if (trigger->counter)
        trigger->counter->users++;
    if (trigger->target)
        trigger->target->users++;
    tern_base_list_push(&engine->all, &trigger->all);
    return true;
}

static struct tern_trigger *trigger_new(struct tern_op *op, const tern_opts *opts, int rank,
                                        struct tern_counter *target)
{
    struct tern_trigger *trigger = malloc(sizeof(*trigger));

    if (!trigger)
        return NULL;
    *trigger = (struct tern_trigger){
        .armed = { .threshold = opts->threshold },
        .op = op,
        .engine = target       ? target->engine
                  : opts->when ? opts->when->engine
                               : opts->counter->engine,
        .flags = opts->flags,
        .when = opts->when,
        .counter = opts->counter,
        .target = target,
        .bytes = op->link.xfer.len,
        .rank = rank,
        .silent = opts->event != NULL,
        .watch = op->kind == &tern_op_trigger_watch_kind,
    };
    tern_base_list_init(&trigger->all);
    return trigger;
}

static tern_status refuse(struct tern_op *op, struct tern_trigger *trigger, tern_status status)
{
    free(trigger);
    op->trigger = NULL;
    tern_core_op_drop(op);
    return status;
}

static tern_status no_memory(struct tern_op *op, struct tern_trigger *trigger)
{
    tern_base_fail(TERN_ERR_NOMEM, "%s: out of memory for another operation that counts or waits for a counter",
                   op->call);
    return refuse(op, trigger, TERN_ERR_NOMEM);
}

/* Add the operation to the engine and start what is due. Returns false if there is no memory. */
static bool accept(struct tern_trigger *trigger, const tern_opts *opts)
{
    struct tern_engine *engine = trigger->engine;
    bool                left;

    pthread_mutex_lock(&engine->lock);
    if (!enqueue(engine, trigger)) {
        pthread_mutex_unlock(&engine->lock);
        return false;
    }
    if (trigger->watch && trigger->state == TERN_TRIGGER_ARMED && opts->when->error < 0) {
        tern_op_threshold_remove(&opts->when->armed, &trigger->armed);
        tern_op_engine_end(trigger, opts->when->error);
    }
    if (tern_op_engine_busy(engine) > 0)
        tern_op_engine_progress_in_handler(engine);
    left = tern_op_engine_busy(engine) > 0;
    pthread_mutex_unlock(&engine->lock);
    if (left)
        tern_op_helper_wake();
    return true;
}

/* Fill the events. An operation that has already succeeded needs none. */
static void fill(struct tern_op *op, const tern_opts *opts)
{
    /* acquire: pairs with tern_op_engine_end(). */
    if (__atomic_load_n(&op->done, __ATOMIC_ACQUIRE) && op->status == TERN_OK) {
        tern_core_op_drop(op);
        tern_op_no_events(opts);
        return;
    }
    tern_op_fill_events(opts, op);
}

tern_status tern_op_engine_park(struct tern_op *op, const tern_opts *opts, int rank, struct tern_counter *target)
{
    struct tern_trigger *trigger = trigger_new(op, opts, rank, target);
    bool                 events = tern_op_count_events(opts) > 0;
    tern_status          st;

    if (!trigger)
        return no_memory(op, trigger);
    if (!opts->when && (st = wait_for_room(trigger->engine, opts->flags)) != TERN_OK)
        return refuse(op, trigger, st);
    if (opts->when && !trigger->watch && (st = tern_op_helper_start()) < 0)
        return refuse(op, trigger, st);
    op->trigger = trigger;
    op->progress = trigger->engine->owner;
    op->events = tern_op_count_events(opts);
    if (!accept(trigger, opts))
        return no_memory(op, trigger);
    if (events)
        fill(op, opts);
    return TERN_OK;
}

tern_status tern_op_engine_cancel(tern_event *event)
{
    struct tern_op      *op = tern_core_event_op(event);
    struct tern_trigger *trigger = op->trigger;
    bool                 armed;

    if (!trigger)
        return tern_base_fail(TERN_ERR_ARG, "tern_triggered_cancel: the event is not that of a triggered operation");
    pthread_mutex_lock(&trigger->engine->lock);
    armed = trigger->state == TERN_TRIGGER_ARMED;
    if (armed) {
        tern_op_threshold_remove(&trigger->when->armed, &trigger->armed);
        tern_op_engine_end(trigger, TERN_ERR_CANCELLED);
    }
    pthread_mutex_unlock(&trigger->engine->lock);
    return armed ? TERN_OK : tern_base_fail(TERN_ERR_STATE, "tern_triggered_cancel: the operation has started");
}

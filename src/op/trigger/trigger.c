/* trigger.c: the operations of the program on counters, and the parking of operations that update a counter or wait for
 * one. See engine.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot/bell.h"
#include "base/retired.h"
#include "core/job.h"
#include "core/region.h"
#include "core/wait.h"
#include "op/am/am.h"
#include "op/start.h"
#include "op/trigger/engine.h"
#include "op/trigger/helper.h"

/* Start the operations whose threshold is reached, and release the lock of the engine. If operations are left, the
 * helper thread is woken. */
static void progress_and_unlock(struct tern_engine *engine)
{
    bool left;

    if (tern_op_engine_busy(engine) > 0)
        tern_op_engine_progress_in_handler(engine);
    left = tern_op_engine_busy(engine) > 0;
    pthread_mutex_unlock(&engine->lock);
    if (left)
        tern_op_helper_wake();
}

/* ---- counters ---- */

static struct tern_retired freed = TERN_RETIRED_INIT(freed); /* counters */
static struct tern_roster  counters;                         /* the memory of all counters, including freed ones */

static struct tern_counter *counter_new(void)
{
    struct tern_list    *node = tern_base_retired_reuse(&freed);
    struct tern_counter *counter = node ? TERN_LIST_ITEM(node, struct tern_counter, node) : malloc(sizeof(*counter));

    if (!counter)
        return NULL;
    memset(counter, 0, offsetof(struct tern_counter, ever));
    if (!node)
        tern_base_roster_add(&counters, &counter->ever);
    return counter;
}

void tern_op_counters_disable(void)
{
    TERN_ROSTER_EACH(struct tern_counter, counter, &counters, ever)
        counter->engine = NULL;
}

void tern_op_counter_retire(struct tern_counter *counter)
{
    tern_op_threshold_free(&counter->armed);
    counter->engine = NULL;
    tern_base_list_remove(&counter->node);
    tern_base_retire(&freed, &counter->node);
}

tern_status tern_op_counter_new(struct tern_ctx *ctx, struct tern_counter **out)
{
    struct tern_counter *counter;
    struct tern_engine  *engine;
    tern_status          st = ctx->engine ? TERN_OK : tern_op_engine_open(ctx);

    if (st < 0)
        return st;
    if (!(counter = counter_new()))
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a counter");
    engine = ctx->engine;
    counter->engine = engine;
    tern_base_list_init(&counter->moved);
    pthread_mutex_lock(&engine->lock);
    tern_base_list_push(&engine->counters, &counter->node);
    pthread_mutex_unlock(&engine->lock);
    *out = counter;
    return TERN_OK;
}

/* Cancel all operations that wait for the counter. Returns their number. The caller holds the lock. */
static size_t cancel_all(struct tern_counter *counter)
{
    size_t                 n = 0;
    struct tern_threshold *armed;

    for (; (armed = tern_op_threshold_pop(&counter->armed, UINT64_MAX)); n++)
        tern_op_engine_end((struct tern_trigger *)armed, TERN_ERR_CANCELLED);
    return n;
}

/* Return the number of users without the operations that wait for the counter itself, which are no longer users once
 * they are cancelled. */
static uint32_t users_elsewhere(const struct tern_counter *counter)
{
    uint32_t                     users = counter->users;
    const struct tern_threshold *armed = NULL;

    while ((armed = tern_op_threshold_next(&counter->armed, armed))) {
        const struct tern_trigger *trigger = (const struct tern_trigger *)armed;
        users -= (trigger->counter == counter ? 1u : 0u) + (trigger->target == counter ? 1u : 0u);
    }
    return users;
}

bool tern_op_counter_free(struct tern_counter *counter)
{
    struct tern_engine *engine = counter->engine;

    pthread_mutex_lock(&engine->lock);
    tern_op_engine_progress_in_handler(engine); /* operations whose threshold is reached by now are not cancelled */
    if (users_elsewhere(counter) > 0) {
        pthread_mutex_unlock(&engine->lock);
        return false;
    }
    cancel_all(counter);
    if (!tern_base_list_empty(&counter->moved))
        tern_op_engine_busy_dec(engine); /* a moved counter is work to do */
    tern_base_list_remove(&counter->moved);
    tern_op_counter_retire(counter);
    pthread_mutex_unlock(&engine->lock);
    return true;
}

/* Start the operations whose threshold is reached, release the lock, and wake the waiting threads. The caller has
 * changed a counter. */
static void wake_all(struct tern_engine *engine)
{
    progress_and_unlock(engine);
    tern_boot_wake(tern_core_job_slot(tern_job.boot.rank));
}

void tern_op_counter_set(struct tern_counter *counter, uint64_t value)
{
    pthread_mutex_lock(&counter->engine->lock);
    counter->error = TERN_OK;
    atomic_store_explicit(&counter->failures, 0, memory_order_relaxed);  /* relaxed: orders nothing */
    atomic_store_explicit(&counter->value, value, memory_order_release); /* release: as in tern_op_engine_add() */
    tern_op_engine_moved(counter);
    wake_all(counter->engine);
}

tern_status tern_op_counter_add(struct tern_counter *counter, uint64_t value)
{
    tern_status st;

    pthread_mutex_lock(&counter->engine->lock);
    st = tern_op_engine_add(counter, value);
    wake_all(counter->engine);
    return st;
}

void tern_op_counter_use(struct tern_counter *counter)
{
    pthread_mutex_lock(&counter->engine->lock);
    counter->users++;
    pthread_mutex_unlock(&counter->engine->lock);
}

void tern_op_counter_used(struct tern_counter *counter, tern_status status)
{
    struct tern_engine *engine = counter->engine;

    pthread_mutex_lock(&engine->lock);
    counter->users--;
    tern_op_engine_count(counter, status);
    wake_all(engine);
}

size_t tern_op_counter_cancel(struct tern_counter *counter)
{
    struct tern_engine *engine = counter->engine;
    size_t              n;

    pthread_mutex_lock(&engine->lock);
    tern_op_engine_progress_in_handler(engine);
    n = cancel_all(counter);
    pthread_mutex_unlock(&engine->lock);
    return n;
}

tern_status tern_op_counter_error(struct tern_counter *counter)
{
    tern_status st;

    pthread_mutex_lock(&counter->engine->lock);
    st = counter->error;
    pthread_mutex_unlock(&counter->engine->lock);
    return st;
}

/* ---- parking ---- */

/* Start an operation that is only an event of a counter: there is nothing to do. */
static tern_status watch_start(struct tern_op *op)
{
    (void)op;
    return TERN_OK;
}

static const struct tern_op_kind watch_kind = { .start = watch_start };

/* If this many operations are ready to start and wait for space, the start of further operations without a threshold
 * waits, too. */
#define MOST_READY 256

static bool is_full(const struct tern_engine *engine)
{
    return TERN_UNLIKELY(tern_op_engine_waiting(engine) >= MOST_READY);
}

static tern_status space_poll(void *arg)
{
    const struct tern_trigger *trigger = arg;

    tern_core_ctx_progress(trigger->engine->owner->handle);
    return is_full(trigger->engine) ? TERN_PENDING : TERN_OK;
}

static void space_describe(void *arg, char *text, size_t size)
{
    const struct tern_trigger *trigger = arg;

    snprintf(text, size,
             "%s, which counts, waits until earlier operations have found space in the queues to their targets",
             trigger->op->call);
}

/* Apply back-pressure: an operation that updates a counter, but does not wait for one, waits for space like an
 * operation without a counter. A triggered operation does not wait; it is stored, which costs memory. */
static tern_status wait_for_space(struct tern_trigger *trigger)
{
    struct tern_wait wait = { .poll = space_poll,
                              .describe = space_describe,
                              .arg = trigger,
                              .deadline = tern_core_ctx_deadline(trigger->engine->owner) };

    if (!is_full(trigger->engine))
        return TERN_OK;
    if (trigger->flags & TERN_IMMEDIATE)
        return space_poll(trigger) == TERN_OK ? TERN_OK : TERN_AGAIN;
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

void *tern_op_parked_alloc(struct tern_engine *engine, size_t bytes, const struct tern_op_kind *kind, const char *call)
{
    size_t               align = _Alignof(struct tern_trigger), at = (bytes + align - 1) / align * align;
    struct tern_op      *op = tern_core_op_alloc(engine->ctx, at + sizeof(struct tern_trigger), kind, call);
    struct tern_trigger *trigger;

    if (!op)
        return NULL;
    trigger = (struct tern_trigger *)(void *)((unsigned char *)op + at);
    *trigger = (struct tern_trigger){ .op = op, .engine = engine };
    tern_base_list_init(&trigger->all);
    op->trigger = trigger;
    return op;
}

/* Set what the operation waits for, and what it updates. */
static void set_counters(struct tern_trigger *trigger, const tern_opts *opts, int rank, struct tern_counter *target)
{
    const struct tern_op *op = trigger->op;

    trigger->armed.threshold = opts->threshold;
    trigger->flags = opts->flags;
    trigger->when = opts->when;
    trigger->counter = opts->counter;
    trigger->target = target;
    trigger->bytes = op->link.xfer.len;
    trigger->rank = rank;
    trigger->silent = opts->event != NULL;
    trigger->watch = op->kind == &watch_kind;
}

/* Add the operation to the engine, and start the operations whose threshold is reached. */
static tern_status accept(struct tern_trigger *trigger)
{
    struct tern_engine *engine = trigger->engine;

    pthread_mutex_lock(&engine->lock);
    if (!enqueue(engine, trigger)) {
        pthread_mutex_unlock(&engine->lock);
        return tern_base_fail(TERN_ERR_NOMEM,
                              "%s: out of memory for another operation that counts or waits for a counter",
                              trigger->op->call);
    }
    if (trigger->watch && trigger->when && trigger->when->error < 0) { /* the counter has already failed */
        tern_op_threshold_remove(&trigger->when->armed, &trigger->armed);
        tern_op_engine_end(trigger, trigger->when->error);
    }
    progress_and_unlock(engine);
    return TERN_OK;
}

/* Fill in the events. An operation that has already succeeded is dropped, and its events are complete. */
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
    struct tern_trigger *trigger = op->trigger;
    uint8_t              events = tern_op_count_events(opts);
    tern_status          st = TERN_OK;

    set_counters(trigger, opts, rank, target);
    if (!opts->when)
        st = wait_for_space(trigger);
    else if (!trigger->watch)
        st = tern_op_helper_start();
    if (st == TERN_OK) {
        op->progress = trigger->engine->owner->handle;
        op->events = events;
        st = accept(trigger);
    }
    if (st != TERN_OK) {
        op->trigger = NULL; /* the engine does not have the operation */
        tern_core_op_drop(op);
    } else if (events > 0) {
        fill(op, opts);
    }
    return st;
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

/* ---- active messages ---- */

struct message {
    struct tern_op op; /* must be first */
    int            peer;
    tern_am        am;
    uint32_t       args[WIRE_AM_ARGS];
};

static tern_status message_start(struct tern_op *op)
{
    struct message *m = (struct message *)op;

    return tern_op_am_is_client(m->am.handler) ? tern_op_am_send_client(op->ctx, m->peer, &m->am, op->call)
                                               : tern_op_am_send(op->ctx, m->peer, &m->am, op->call);
}

static tern_status placed_start(struct tern_op *op)
{
    struct message *m = (struct message *)op;

    return tern_op_am_send_placed(op->ctx, m->peer, &m->am);
}

static const struct tern_op_kind message_kind = { .start = message_start };

static const struct tern_op_step then_message = { .start = placed_start,
                                                  .blocked = ", whose message waits for space in the target's queue" };

/* Let the message be the second step of the transfer of its payload, which may take long. */
static void transfer_first(struct message *m, const struct tern_link_part *part)
{
    m->op.kind = &tern_op_contig_kind;
    m->op.then = &then_message;
    m->op.link.xfer = (struct tern_xfer){
        .part = part, .offset = m->am.offset, .local = (void *)(uintptr_t)m->am.payload, .len = m->am.len
    };
}

tern_status tern_op_trigger_am(struct tern_ctx *ctx, int peer, const tern_am *am, const tern_opts *opts)
{
    const struct tern_link_part *part = am->kind == TERN_AM_LONG ? &am->region->part[peer] : NULL;
    struct message              *m = tern_op_new(ctx, sizeof(*m), &message_kind, opts, "tern_am_request");

    if (!m)
        return TERN_ERR_NOMEM;
    m->op.link.xfer = (struct tern_xfer){ .len = am->len };
    m->peer = peer;
    m->am = *am;
    m->am.flags = TERN_IMMEDIATE;
    m->am.local = NULL;
    if (am->nargs > 0)
        memcpy(m->args, am->args, am->nargs * sizeof(*am->args));
    m->am.args = m->args;
    if (part && am->len > 0 && !part->path->instant)
        transfer_first(m, part);
    return tern_op_engine_park(&m->op, opts, peer, NULL);
}

/* ---- counter additions and watches ---- */

/* Create an operation on a counter, on the engine's context, although its options may name no counter. */
static struct tern_op *counter_op_new(const struct tern_counter *counter, const struct tern_op_kind *kind,
                                      const char *call)
{
    struct tern_op *op = tern_op_parked_alloc(counter->engine, sizeof(*op), kind, call);

    if (op)
        op->link.xfer = (struct tern_xfer){ .len = 0 };
    else
        tern_base_fail(TERN_ERR_NOMEM, "%s: out of memory for another outstanding operation", call);
    return op;
}

static tern_status add_start(struct tern_op *op)
{
    return tern_op_engine_add(op->trigger->target, op->scratch[0]);
}

static const struct tern_op_kind add_kind = { .start = add_start };

tern_status tern_op_trigger_add(struct tern_counter *target, uint64_t value, const tern_opts *opts)
{
    struct tern_op *op = counter_op_new(target, &add_kind, "tern_counter_add");

    if (!op)
        return TERN_ERR_NOMEM;
    op->scratch[0] = value;
    return tern_op_engine_park(op, opts, -1, target);
}

tern_status tern_op_trigger_watch(struct tern_counter *counter, const tern_opts *opts)
{
    struct tern_op *op = counter_op_new(counter, &watch_kind, "tern_counter_event");

    if (!op)
        return TERN_ERR_NOMEM;
    return tern_op_engine_park(op, opts, -1, NULL);
}

/* engine.c: see engine.h. */
#include "op/trigger/engine.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/job.h"
#include "core/message.h"
#include "op/start.h"
#include "op/trigger/helper.h"

/* Maximum number of starts that find no space in one pass. The next pass begins with the operations behind them. */
#define REFUSALS 16

/* ---- changes of counters ---- */

void tern_op_engine_moved(struct tern_counter *counter)
{
    struct tern_engine *engine = counter->engine;

    if (!tern_base_list_empty(&counter->moved) ||
        !tern_op_threshold_reached(&counter->armed, tern_op_counter_value(counter)))
        return;
    tern_base_list_push(&engine->moved, &counter->moved);
    tern_op_engine_busy_inc(engine);
}

tern_status tern_op_engine_add(struct tern_counter *counter, uint64_t value)
{
    uint64_t sum;

    if (__builtin_add_overflow(tern_op_counter_value(counter), value, &sum))
        return tern_base_fail(TERN_ERR_RANGE, "a counter of %llu cannot count %llu more",
                              (unsigned long long)tern_op_counter_value(counter), (unsigned long long)value);
    /* release: the effects of the counted operations before the value. Pairs with tern_op_counter_value(). */
    atomic_store_explicit(&counter->value, sum, memory_order_release);
    tern_op_engine_moved(counter);
    return TERN_OK;
}

/* ---- completion of an operation ---- */

void tern_op_engine_free(struct tern_trigger *trigger)
{
    struct tern_op *op = trigger->op;

    tern_base_list_remove(&trigger->all);
    op->trigger = NULL;
    tern_core_op_drop(op); /* and the trigger, which is behind the operation */
}

void tern_op_engine_end(struct tern_trigger *trigger, tern_status status)
{
    struct tern_op *op = trigger->op;

    if (trigger->counter)
        trigger->counter->users--;
    if (trigger->target)
        trigger->target->users--;
    tern_op_trigger_set_state(trigger, TERN_TRIGGER_DONE);
    if (op->events == 0) {
        tern_op_engine_free(trigger);
        return;
    }
    op->status = status;
    /* release: the status and the effects of the operation, and the last access by this thread. Pairs with
     * tern_core_event_done(). */
    __atomic_store_n(&op->done, true, __ATOMIC_RELEASE);
}

/* Find the first waiting operation that is only an event of the counter. */
static struct tern_trigger *find_watch(const struct tern_counter *counter)
{
    struct tern_threshold *armed = NULL;

    while ((armed = tern_op_threshold_next(&counter->armed, armed)))
        if (((struct tern_trigger *)armed)->watch)
            break;
    return (struct tern_trigger *)armed;
}

static __attribute__((cold, noinline)) void count_failure(struct tern_counter *counter, tern_status status)
{
    struct tern_trigger *watch;
    bool                 first = counter->error == TERN_OK;

    counter->error = first ? status : counter->error;
    /* release: the error before the count. Pairs with tern_op_counter_failures(). */
    atomic_fetch_add_explicit(&counter->failures, 1, memory_order_release);
    while (first && (watch = find_watch(counter))) { /* later events fail at once: trigger.c, accept() */
        tern_op_threshold_remove(&counter->armed, &watch->armed);
        tern_op_engine_end(watch, status);
    }
}

static void count(struct tern_counter *counter, const struct tern_trigger *trigger, tern_status status)
{
    if (TERN_LIKELY(status == TERN_OK))
        status = tern_op_engine_add(counter, trigger->flags & TERN_COUNT_BYTES ? trigger->bytes : 1);
    if (TERN_UNLIKELY(status < 0))
        count_failure(counter, status);
}

void tern_op_engine_count(struct tern_counter *counter, tern_status status)
{
    if (status == TERN_OK)
        status = tern_op_engine_add(counter, 1);
    if (status < 0)
        count_failure(counter, status);
}

/* Complete an operation that was started, and update its counter. */
static void finish(struct tern_trigger *trigger, tern_status status)
{
    struct tern_engine *engine = trigger->engine;

    if (TERN_UNLIKELY(status < 0 && !trigger->silent && engine->failed < 0)) {
        engine->failed_several |= engine->failed_rank != trigger->rank;
    } else if (TERN_UNLIKELY(status < 0 && !trigger->silent)) {
        engine->failed = status;
        engine->failed_several = false;
        engine->failed_what = trigger->op->call;
        engine->failed_rank = trigger->rank;
        snprintf(engine->failed_why, sizeof(engine->failed_why), "%s%s", trigger->op->explained ? ": " : "",
                 trigger->op->explained ? trigger->op->reason : "");
    }
    if (trigger->counter)
        count(trigger->counter, trigger, status);
    tern_op_engine_end(trigger, status);
    tern_op_engine_busy_dec(engine); /* last, so that busy does not reach 0 before the counter that the operation has
                                      * moved is counted */
}

/* ---- parked operations (core/op.h) ---- */

void tern_op_parked_ended(struct tern_op *op, tern_status status)
{
    finish(op->trigger, status);
}

void tern_op_parked_release(struct tern_op *op)
{
    struct tern_engine *engine = op->trigger->engine;

    pthread_mutex_lock(&engine->lock);
    tern_op_engine_free(op->trigger);
    pthread_mutex_unlock(&engine->lock);
}

void tern_op_parked_describe(const struct tern_op *op, char *text, size_t size)
{
    if (__atomic_load_n(&op->trigger->state, __ATOMIC_RELAXED) == TERN_TRIGGER_ARMED)
        snprintf(text, size, "%s that waits for its counter to reach %llu", op->call,
                 (unsigned long long)op->trigger->armed.threshold);
    else
        snprintf(text, size, "%s that counts or was triggered", op->call);
}

/* ---- starting ---- */

void tern_op_engine_ready(struct tern_trigger *trigger)
{
    struct tern_engine *engine = trigger->engine;

    if (trigger->state != TERN_TRIGGER_STARTED) /* otherwise it has found no space, and keeps its epoch */
        trigger->epoch = engine->epoch;
    tern_op_trigger_set_state(trigger, TERN_TRIGGER_READY);
    trigger->when = NULL;
    tern_base_list_append(&engine->ready, &trigger->ready);
    atomic_store_explicit(&engine->ready_count, tern_op_engine_waiting(engine) + 1, memory_order_relaxed);
}

static struct tern_trigger *take_ready(struct tern_engine *engine)
{
    atomic_store_explicit(&engine->ready_count, tern_op_engine_waiting(engine) - 1, memory_order_relaxed);
    return TERN_LIST_ITEM(tern_base_list_pop(&engine->ready), struct tern_trigger, ready);
}

/* Start an operation. Returns TERN_AGAIN if there is no space now. */
static tern_status start(struct tern_trigger *trigger)
{
    struct tern_op *op = trigger->op;
    int             rank = trigger->rank;
    tern_status     st = TERN_ERR_PEER;

    tern_op_trigger_set_state(trigger, TERN_TRIGGER_STARTED); /* the operation may be freed by its start */
    if (rank >= 0 && tern_core_job_lost(rank)) {
        tern_base_fail(st, "rank %d is gone", rank);
        tern_core_op_keep_reason(op);
    } else {
        st = op->link.xfer.part ? tern_op_try(op) : op->kind->start(op);
        if (TERN_UNLIKELY(st < 0))
            tern_core_op_keep_reason(op);
        if (TERN_UNLIKELY(st == TERN_ERR_PEER))
            tern_core_job_confirm(rank, tern_core_ctx_deadline(op->ctx));
    }
    if (st != TERN_AGAIN && st != TERN_PENDING)
        finish(trigger, st);
    return st;
}

static bool fire(struct tern_engine *engine)
{
    struct tern_list      *first = tern_base_list_pop(&engine->moved);
    struct tern_counter   *counter;
    struct tern_threshold *armed;

    if (!first)
        return false;
    counter = TERN_LIST_ITEM(first, struct tern_counter, moved);
    while ((armed = tern_op_threshold_pop(&counter->armed, tern_op_counter_value(counter)))) {
        tern_op_engine_busy_inc(engine);
        tern_op_engine_ready((struct tern_trigger *)armed);
    }
    tern_op_engine_busy_dec(engine);
    return true;
}

/* Try to start each operation that is ready now. Returns whether an operation was started. */
static bool start_ready(struct tern_engine *engine)
{
    unsigned refused = 0;
    bool     any = false;

    for (uint32_t n = tern_op_engine_waiting(engine); n > 0 && refused < REFUSALS; n--) {
        struct tern_trigger *trigger = take_ready(engine);

        if (start(trigger) == TERN_AGAIN) {
            tern_op_engine_ready(trigger);
            refused++;
        } else {
            any = true;
        }
    }
    return any;
}

bool tern_op_engine_progress(struct tern_engine *engine)
{
    uint32_t before = tern_op_engine_busy(engine);
    bool     any = false;

    if (tern_core_ctx_has_ops(engine->ctx))
        tern_core_ctx_advance(engine->ctx);
    do {
        while (fire(engine))
            any = true;
        any |= start_ready(engine);
    } while (!tern_base_list_empty(&engine->moved));
    return any || tern_op_engine_busy(engine) != before;
}

/* ---- for the program's context ---- */

void tern_op_engine_progress_in_handler(struct tern_engine *engine)
{
    if (tern_core_in_handler())
        while (fire(engine)) /* operations whose threshold was reached start even if the handler sets the counter
                              * back */
            continue;
    else
        tern_op_engine_progress(engine);
}

void tern_op_engine_advance(struct tern_ctx *ctx)
{
    struct tern_engine *engine = ctx->engine;

    tern_boot_activity_mark(&engine->activity);
    if (tern_op_engine_busy(engine) == 0 || pthread_mutex_trylock(&engine->lock) != 0)
        return; /* the thread that holds the lock makes progress */
    tern_op_engine_progress_in_handler(engine);
    pthread_mutex_unlock(&engine->lock);
}

static void describe(const char *what, int rank, char *text, size_t size)
{
    if (rank < 0)
        snprintf(text, size, "triggered %s", what);
    else
        snprintf(text, size, "%s to rank %d of the job, which counts or was triggered,", what, rank);
}

void tern_op_engine_describe(struct tern_ctx *ctx, char *text, size_t size)
{
    struct tern_engine *engine = ctx->engine;
    const char         *what = NULL;
    int                 rank = -1;

    pthread_mutex_lock(&engine->lock);
    TERN_LIST_EACH(const struct tern_trigger, trigger, &engine->all, all) {
        if (trigger->state == TERN_TRIGGER_READY || trigger->state == TERN_TRIGGER_STARTED) {
            what = trigger->op->call;
            rank = trigger->rank;
        }
    }
    if (!what && tern_core_ctx_has_ops(engine->ctx))
        tern_core_op_describe(TERN_LIST_ITEM(engine->ctx->outstanding.next, struct tern_op, node), text, size);
    else
        describe(what ? what : "operation", rank, text, size);
    pthread_mutex_unlock(&engine->lock);
}

tern_status tern_op_engine_failed(struct tern_ctx *ctx)
{
    struct tern_engine *engine = ctx->engine;
    tern_status         st;

    pthread_mutex_lock(&engine->lock);
    st = engine->failed;
    if (st < 0) {
        ctx->failed_rank = engine->failed_several ? -1 : engine->failed_rank;
        describe(engine->failed_what, engine->failed_rank, ctx->failed_op, sizeof(ctx->failed_op));
        memcpy(ctx->failed_why, engine->failed_why, sizeof(ctx->failed_why));
    }
    engine->failed = TERN_OK;
    pthread_mutex_unlock(&engine->lock);
    return st;
}

void tern_op_engine_close(struct tern_ctx *ctx)
{
    struct tern_engine *engine = ctx->engine;

    tern_op_helper_leave(engine);
    tern_core_ctx_close(engine->ctx);
    TERN_LIST_EACH(struct tern_trigger, trigger, &engine->all, all)
        tern_op_engine_free(trigger);
    TERN_LIST_EACH(struct tern_counter, counter, &engine->counters, node) {
        tern_op_counter_retire(counter);
    }
    pthread_mutex_destroy(&engine->lock);
    free(engine);
}

uint32_t tern_op_engine_next_epoch(struct tern_ctx *ctx)
{
    struct tern_engine *engine = ctx->engine;
    uint32_t            epoch;

    pthread_mutex_lock(&engine->lock);
    while (fire(engine)) /* operations that counters have triggered belong to the epoch */
        continue;
    epoch = engine->epoch++;
    pthread_mutex_unlock(&engine->lock);
    return epoch;
}

bool tern_op_engine_has_passed(struct tern_ctx *ctx, uint32_t epoch)
{
    struct tern_engine *engine = ctx->engine;
    bool                left = false;

    if (tern_op_engine_busy(engine) == 0)
        return true;
    pthread_mutex_lock(&engine->lock);
    TERN_LIST_EACH(const struct tern_trigger, trigger, &engine->all, all)
        left |= (trigger->state == TERN_TRIGGER_READY || trigger->state == TERN_TRIGGER_STARTED) &&
                (int32_t)(trigger->epoch - epoch) <= 0;
    pthread_mutex_unlock(&engine->lock);
    return !left;
}

int tern_op_engine_in_region(struct tern_engine *engine, uint32_t number)
{
    int ops = 0;

    if (pthread_mutex_trylock(&engine->lock) != 0)
        return -1;
    TERN_LIST_EACH(struct tern_trigger, trigger, &engine->all, all) {
        const struct tern_link_part *part = trigger->op->link.xfer.part;

        ops += trigger->state != TERN_TRIGGER_DONE && trigger->rank >= 0 && part && part->number == number;
    }
    pthread_mutex_unlock(&engine->lock);
    return ops;
}

tern_status tern_op_engine_open(struct tern_ctx *owner)
{
    struct tern_engine *engine = calloc(1, sizeof(*engine));
    tern_status         st;

    if (!engine)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for the counters of a context");
    if ((st = tern_core_ctx_open(owner->team, TERN_RELAXED, &engine->ctx)) < 0) {
        free(engine);
        return st;
    }
    tern_core_ctx_unlist(engine->ctx);
    engine->owner = owner;
    tern_base_list_init(&engine->all);
    tern_base_list_init(&engine->ready);
    tern_base_list_init(&engine->counters);
    tern_base_list_init(&engine->moved);
    pthread_mutex_init(&engine->lock, NULL);
    tern_op_helper_join(engine);
    owner->engine = engine;
    return TERN_OK;
}

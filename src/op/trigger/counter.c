/* counter.c: the operations of the program on counters. See engine.h. */
#include <stdlib.h>

#include "boot/bell.h"
#include "core/job.h"
#include "op/trigger/helper.h"
#include "op/trigger/engine.h"

tern_status tern_op_counter_new(struct tern_ctx *ctx, struct tern_counter **out)
{
    struct tern_counter *counter;
    struct tern_engine  *engine;
    tern_status          st = ctx->engine ? TERN_OK : tern_op_engine_open(ctx);

    if (st < 0)
        return st;
    if (!(counter = calloc(1, sizeof(*counter))))
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

/* The number of users other than operations that wait for the counter itself; cancelling the latter removes them. */
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
    tern_base_list_remove(&counter->node);
    pthread_mutex_unlock(&engine->lock);
    tern_op_threshold_free(&counter->armed);
    free(counter);
    return true;
}

/* Called after any thread has changed a counter: start the operations that are due, release the lock, and wake the
 * waiting threads. */
static void wake_all(struct tern_engine *engine)
{
    bool left;

    tern_op_engine_progress_in_handler(engine);
    left = tern_op_engine_busy(engine) > 0;
    pthread_mutex_unlock(&engine->lock);
    tern_boot_wake(tern_core_job_slot(tern_job.boot.rank));
    if (left)
        tern_op_helper_wake();
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

/* counter.c: the public calls of tern/counter.h. */
#include <tern/counter.h>

#include <stdio.h>

#include "api/check.h"
#include "api/shared.h"
#include "api/use.h"
#include "core/quiet.h"
#include "core/wait.h"
#include "op/trigger/engine.h"

/* Report that the counter cannot be used: it is NULL, or was freed. */
static __attribute__((cold, noinline)) tern_status no_counter(const tern_counter *counter, const char *what)
{
    return counter ? tern_api_freed(what, "the counter") : tern_api_null(what, "counter");
}

static inline bool is_counter(const tern_counter *counter)
{
    return TERN_LIKELY(counter && counter->engine);
}

/* Return the context of a counter in debug builds; NULL: none. */
static inline struct tern_ctx *ctx_of(const tern_counter *counter)
{
    return TERN_BASE_DEBUG && is_counter(counter) ? counter->engine->owner->handle : NULL;
}

tern_status tern_counter_create(tern_ctx *ctx, tern_counter **out)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_counter_create");

    if (use.status < 0)
        return use.status;

    tern_status st;

    if (!ctx || ctx->gone)
        return tern_core_ctx_check(ctx, "tern_counter_create");
    if (tern_api_is_shared(ctx))
        return TERN_API_LOCKED(inner, ctx, tern_counter_create(inner, out));
    if (!out)
        return tern_api_null("tern_counter_create", "out");
    if (ctx->order == TERN_STRICT)
        return tern_base_fail(TERN_ERR_ARG,
                              "tern_counter_create: a strict context has no counters: what they trigger is "
                              "not in the program's order; make a relaxed context for it");
    /* Operations with counters start on the engine's context, and would not wait for the operations before an earlier
     * fence. */
    if (TERN_UNLIKELY(ctx->ordered == TERN_ORDERED_FENCE) &&
        (st = tern_core_quiet_all(ctx, "tern_counter_create", tern_core_ctx_deadline(ctx))) < 0)
        return st;
    return tern_op_counter_new(ctx, out);
}

tern_status tern_counter_free(tern_counter *counter)
{
    TERN_API_USE use = tern_api_use(ctx_of(counter), "tern_counter_free");

    if (use.status < 0)
        return use.status;

    if (!is_counter(counter))
        return no_counter(counter, "tern_counter_free");
    if (!tern_op_counter_free(counter))
        return tern_base_fail(TERN_ERR_STATE, "tern_counter_free: operations that have not completed count on it; "
                                              "complete or cancel them first");
    return TERN_OK;
}

tern_status tern_counter_set(tern_counter *counter, uint64_t value)
{
    if (!is_counter(counter))
        return no_counter(counter, "tern_counter_set");
    tern_op_counter_set(counter, value);
    return TERN_OK;
}

static tern_status add(tern_counter *counter, uint64_t value, const char *what)
{
    tern_status st = tern_op_counter_add(counter, value);

    return st == TERN_OK
               ? TERN_OK
               : tern_base_fail(st, "%s: a counter of %llu cannot count %llu more", what,
                                (unsigned long long)tern_op_counter_value(counter), (unsigned long long)value);
}

tern_status tern_counter_add(tern_counter *counter, uint64_t value)
{
    return is_counter(counter) ? add(counter, value, "tern_counter_add") : no_counter(counter, "tern_counter_add");
}

tern_status tern_counter_add_with(tern_counter *counter, uint64_t value, const tern_opts *opts)
{
    TERN_API_USE use = tern_api_use(ctx_of(counter), "tern_counter_add_with");

    if (use.status < 0)
        return use.status;

    struct tern_api_opts o;
    tern_status          st;

    if (!is_counter(counter))
        return no_counter(counter, "tern_counter_add_with");
    if (!opts)
        return add(counter, value, "tern_counter_add_with");
    st = tern_api_opts(counter->engine->owner, opts, 0, "tern_counter_add_with", &o);
    return st < 0 ? st : tern_op_trigger_add(counter, value, o.opts);
}

tern_status tern_counter_read(const tern_counter *counter, uint64_t *value, uint64_t *failures)
{
    if (!is_counter(counter))
        return no_counter(counter, "tern_counter_read");
    if (value)
        *value = tern_op_counter_value(counter);
    if (failures)
        *failures = tern_op_counter_failures(counter);
    return TERN_OK;
}

/* A wait for a counter. */
struct await {
    tern_counter *counter;
    uint64_t      threshold;
};

static tern_status await_look(const struct await *a)
{
    if (tern_op_counter_value(a->counter) >= a->threshold)
        return TERN_OK;
    if (TERN_LIKELY(tern_op_counter_failures(a->counter) == 0))
        return TERN_PENDING;
    return tern_base_fail(
        tern_op_counter_error(a->counter),
        "tern_counter_wait: %llu operations that count on the counter failed; it is at %llu, below %llu",
        (unsigned long long)tern_op_counter_failures(a->counter), (unsigned long long)tern_op_counter_value(a->counter),
        (unsigned long long)a->threshold);
}

static tern_status await_poll(void *arg)
{
    const struct await *a = arg;

    tern_core_ctx_progress(a->counter->engine->owner->handle);
    return await_look(a);
}

static void await_describe(void *arg, char *text, size_t size)
{
    const struct await *a = arg;

    snprintf(text, size, "tern_counter_wait waits for a counter at %llu to reach %llu; %u operations are outstanding",
             (unsigned long long)tern_op_counter_value(a->counter), (unsigned long long)a->threshold,
             tern_op_engine_busy(a->counter->engine));
}

tern_status tern_counter_wait(tern_counter *counter, uint64_t threshold, tern_deadline deadline)
{
    TERN_API_USE use = tern_api_use_waiting(ctx_of(counter), "tern_counter_wait");

    if (use.status < 0)
        return use.status;

    struct await     await = { counter, threshold };
    struct tern_wait wait = { .poll = await_poll, .describe = await_describe, .arg = &await, .deadline = deadline };
    tern_status      st;

    if (!is_counter(counter))
        return no_counter(counter, "tern_counter_wait");
    st = await_look(&await);
    return st == TERN_PENDING ? tern_core_wait(&wait) : st;
}

tern_status tern_counter_event(tern_counter *counter, uint64_t threshold, tern_event *event)
{
    TERN_API_USE use = tern_api_use(ctx_of(counter), "tern_counter_event");

    if (use.status < 0)
        return use.status;

    const tern_opts opts = TERN_OPTS(.event = event, .when = counter, .threshold = threshold);

    if (!is_counter(counter))
        return no_counter(counter, "tern_counter_event");
    if (!event)
        return tern_api_null("tern_counter_event", "event");
    return tern_op_trigger_watch(counter, &opts);
}

tern_status tern_counter_cancel(tern_counter *counter, size_t *cancelled)
{
    TERN_API_USE use = tern_api_use(ctx_of(counter), "tern_counter_cancel");

    if (use.status < 0)
        return use.status;

    size_t n;

    if (!is_counter(counter))
        return no_counter(counter, "tern_counter_cancel");
    n = tern_op_counter_cancel(counter);
    if (cancelled)
        *cancelled = n;
    return TERN_OK;
}

tern_status tern_triggered_cancel(tern_event *event)
{
    TERN_API_USE use = tern_api_use(tern_api_event_ctx(event), "tern_triggered_cancel");

    if (use.status < 0)
        return use.status;

    struct tern_ctx *ctx;

    if (!event)
        return tern_api_null("tern_triggered_cancel", "event");
    if (!event->pending)
        return tern_base_fail(TERN_ERR_STATE, "tern_triggered_cancel: the operation is done");
    ctx = tern_core_event_op(event)->progress;
    return ctx->gone ? tern_core_ctx_check(ctx, "tern_triggered_cancel") : tern_op_engine_cancel(event);
}

/* event.c: the public calls of tern/event.h. */
#include <tern/event.h>

#include <stdio.h>

#include "api/check.h"
#include "api/use.h"
#include "core/wait_set.h"

/* Return the context of an entry of an array in debug builds; NULL: none. */
static inline struct tern_ctx *ctx_at(const void *entry)
{
    return tern_api_event_ctx(entry);
}

tern_status tern_inline_event_test(tern_event *event)
{
    TERN_API_USE use = tern_api_use(tern_api_event_ctx(event), "tern_event_test");

    if (use.status < 0)
        return use.status;

    struct tern_ctx *ctx;
    tern_status      st;

    if (!event)
        return tern_api_null("tern_event_test", "event");
    if (!event->pending)
        return TERN_OK;
    ctx = tern_core_event_op(event)->progress;
    tern_core_ctx_progress(ctx);
    st = tern_core_event_test(event);
    return TERN_UNLIKELY(st == TERN_PENDING && ctx->gone) ? tern_core_ctx_check(ctx, "tern_event_test") : st;
}

tern_status tern_event_peek(tern_event *event)
{
    TERN_API_USE use = tern_api_use(tern_api_event_ctx(event), "tern_event_peek");

    if (use.status < 0)
        return use.status;

    struct tern_ctx *ctx;
    tern_status      st;

    if (!event)
        return tern_api_null("tern_event_peek", "event");
    if (!event->pending)
        return TERN_OK;
    ctx = tern_core_event_op(event)->progress;
    st = tern_core_event_test(event);
    return st == TERN_PENDING && ctx->gone ? tern_core_ctx_check(ctx, "tern_event_peek") : st;
}

static enum tern_waitable_state event_state(const void *object)
{
    return tern_core_event_done(object) ? TERN_WAITABLE_DONE : TERN_WAITABLE_PENDING;
}

static struct tern_ctx *event_ctx(const void *object)
{
    return tern_core_event_op(object)->progress;
}

static tern_status event_take(void *object, void *info, const char *what)
{
    (void)info, (void)what;
    return tern_core_event_test(object);
}

static void event_describe(const void *object, char *text, size_t size)
{
    char op[160];

    tern_core_op_describe(tern_core_event_op(object), op, sizeof(op));
    snprintf(text, size, "for a %s", op);
}

static tern_status                events_poll(void *set);
static const struct tern_waitable events_kind = {
    .poll = events_poll, .state = event_state, .ctx = event_ctx, .take = event_take, .describe = event_describe
};
_Static_assert(sizeof(tern_event) == sizeof(void *), "an object of a set has the size of a pointer");

static tern_status events_poll(void *set)
{
    return tern_core_wait_set_poll(set, &events_kind);
}

static tern_status one_poll(void *of)
{
    return tern_inline_event_test(((struct tern_waitables *)of)->objects);
}

tern_status tern_event_wait(tern_event *event, tern_deadline deadline)
{
    TERN_API_USE use = tern_api_use_waiting(tern_api_event_ctx(event), "tern_event_wait");

    if (use.status < 0)
        return use.status;

    struct tern_waitables of = { &events_kind, event, 1, "tern_event_wait" };
    struct tern_wait      wait = {
             .poll = one_poll, .describe = tern_core_waitables_describe, .arg = &of, .deadline = deadline
    };

    if (!event)
        return tern_api_null("tern_event_wait", "event");
    return event->pending ? tern_core_wait(&wait) : TERN_OK;
}

tern_status tern_event_wait_any(tern_event *events, size_t n, tern_deadline deadline, size_t *index)
{
    TERN_API_USE use = tern_api_use_all(events, n, ctx_at, true, "tern_event_wait_any");

    if (use.status < 0)
        return use.status;

    const struct tern_waitables of = { &events_kind, events, n, "tern_event_wait_any" };

    return tern_core_wait_any(&of, &deadline, index, NULL);
}

tern_status tern_event_wait_all(tern_event *events, size_t n, tern_deadline deadline)
{
    TERN_API_USE use = tern_api_use_all(events, n, ctx_at, true, "tern_event_wait_all");

    if (use.status < 0)
        return use.status;

    const struct tern_waitables of = { &events_kind, events, n, "tern_event_wait_all" };

    return tern_core_wait_all(&of, &events_kind, &deadline, NULL, NULL);
}

tern_status tern_event_wait_some(tern_event *events, size_t n, tern_deadline deadline, size_t *count, size_t *indices,
                                 tern_status *statuses)
{
    TERN_API_USE use = tern_api_use_all(events, n, ctx_at, true, "tern_event_wait_some");

    if (use.status < 0)
        return use.status;

    const struct tern_waitables of = { &events_kind, events, n, "tern_event_wait_some" };

    return tern_core_wait_some(&of, deadline, count, indices, NULL, statuses);
}

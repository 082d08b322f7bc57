/* event.c: the public calls of tern/event.h. */
#include <tern/event.h>

#include <stdio.h>

#include "core/context.h"
#include "core/wait.h"

/* A wait for several events. */
struct events_wait {
    tern_event *event;
    size_t      n;
    size_t      index; /* of the completed event, when waiting for any */
    const char *what;
};

tern_status tern_event_poll(tern_event *event)
{
    if (!event)
        return tern_base_fail(TERN_ERR_ARG, "tern_event_test: event is NULL");
    if (!event->pending)
        return TERN_OK;
    tern_core_ctx_progress(tern_core_event_ctx(event));
    return tern_core_event_test(event);
}

/* Make progress on each context that has an incomplete event in the list. Events of one context are usually
 * adjacent. */
static void events_progress(const struct events_wait *b)
{
    struct tern_ctx *last = NULL;

    for (size_t i = 0; i < b->n; i++) {
        if (!b->event[i].pending)
            continue;
        struct tern_ctx *ctx = tern_core_event_ctx(&b->event[i]);
        if (ctx != last)
            tern_core_ctx_progress(ctx);
        last = ctx;
    }
}

static void bunch_describe(void *arg, char *text, size_t size)
{
    const struct events_wait *b = arg;
    char                      op[160] = "";
    size_t                    left = 0;

    for (size_t i = 0; i < b->n; i++) {
        if (!tern_core_event_done(&b->event[i]) && left++ == 0)
            tern_core_event_describe(&b->event[i], op, sizeof(op));
    }
    snprintf(text, size, "%s: %zu of %zu events are not done, the first is a %s", b->what, left, b->n, op);
}

static tern_status any_poll(void *arg)
{
    struct events_wait *b = arg;

    events_progress(b);
    for (b->index = 0; b->index < b->n; b->index++) {
        tern_status st = tern_core_event_test(&b->event[b->index]);
        if (st != TERN_PENDING)
            return st;
    }
    return TERN_PENDING;
}

/* Resets the events only when all are complete, so that a wait that times out loses no error. */
static tern_status all_poll(void *arg)
{
    struct events_wait *b = arg;
    tern_status         first = TERN_OK; /* the error with the lowest index */

    events_progress(b);
    for (size_t i = 0; i < b->n; i++)
        if (!tern_core_event_done(&b->event[i]))
            return TERN_PENDING;
    for (size_t i = b->n; i-- > 0;) {
        tern_status st = tern_core_event_test(&b->event[i]);
        first = st < 0 ? st : first;
    }
    return first;
}

tern_status tern_event_wait(tern_event *event, tern_deadline deadline)
{
    struct events_wait b = { .event = event, .n = 1, .what = "tern_event_wait" };
    struct tern_wait   wait = { .poll = all_poll, .describe = bunch_describe, .arg = &b, .deadline = deadline };

    if (!event)
        return tern_base_fail(TERN_ERR_ARG, "tern_event_wait: event is NULL");
    return event->pending ? tern_core_wait(&wait) : TERN_OK;
}

tern_status tern_event_wait_any(tern_event *events, size_t n, tern_deadline deadline, size_t *index)
{
    struct events_wait b = { .event = events, .n = n, .what = "tern_event_wait_any" };
    struct tern_wait   wait = { .poll = any_poll, .describe = bunch_describe, .arg = &b, .deadline = deadline };
    tern_status        st;

    if (!events || !index || n == 0)
        return tern_base_fail(TERN_ERR_ARG, "tern_event_wait_any: a pointer is NULL or n is 0");
    st = tern_core_wait(&wait);
    if (b.index < n)
        *index = b.index;
    return st;
}

tern_status tern_event_wait_all(tern_event *events, size_t n, tern_deadline deadline)
{
    struct events_wait b = { .event = events, .n = n, .what = "tern_event_wait_all" };
    struct tern_wait   wait = { .poll = all_poll, .describe = bunch_describe, .arg = &b, .deadline = deadline };

    if (!events && n > 0)
        return tern_base_fail(TERN_ERR_ARG, "tern_event_wait_all: events is NULL");
    return tern_core_wait(&wait);
}

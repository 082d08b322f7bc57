/* start.c: starting operations that do not complete immediately.
 *
 * A start may find no space (TERN_AGAIN). Then the context makes progress and tries again, unless the program does not
 * want to wait. In a strict context no operation starts while an earlier operation to the same rank is outstanding,
 * unless the path keeps the order; otherwise the completion of the earlier operation establishes the order.
 */
#include "op/start.h"

#include <stdio.h>

#include "core/job.h"
#include "core/message.h"
#include "core/wait.h"

/* Whether the path keeps the operation behind all outstanding operations to its rank if it starts now. This excludes
 * contexts with compound operations, which may not have started all of their transfers. */
static bool is_behind(const struct tern_op_start *a)
{
    const struct tern_link_path *path = a->part->path;

    return a->xfer && !a->ctx->compounds && path->keeps_order &&
           path->keeps_order(a->ctx->lane[a->part->link], a->xfer);
}

/* Reserve space for the notification first, so that an operation that finds no space has no effect. */
static tern_status start_with_notification(struct tern_op_start *a)
{
    struct tern_link_msg msg;
    tern_status          st;

    if (tern_core_job_lost(a->part->rank))
        return tern_base_fail(TERN_ERR_PEER, "%s: rank %d is gone", a->what, a->part->rank);
    if (!a->notify_now)
        return tern_core_ctx_is_stuck(a->ctx, a->part->rank) ? TERN_AGAIN : a->start(a);
    if ((st = tern_op_notify_reserve(a->part->rank, &msg)) != TERN_OK)
        return st;
    if ((st = a->start(a)) == TERN_OK)
        tern_op_notify_send(&msg, a->notification);
    else
        tern_op_notify_drop(&msg);
    return st;
}

/* Try once. Returns TERN_AGAIN if the operation was not started. */
static tern_status try_start(struct tern_op_start *a)
{
    if (tern_core_ctx_must_follow(a->ctx, a->part->rank) && !is_behind(a))
        return TERN_AGAIN;
    return a->notification ? start_with_notification(a) : a->start(a);
}

static tern_status attempt_poll(void *arg)
{
    struct tern_op_start *a = arg;

    tern_core_ctx_progress(a->ctx);
    a->result = try_start(a);
    return a->result == TERN_AGAIN ? TERN_PENDING : TERN_OK;
}

static void attempt_describe(void *arg, char *text, size_t size)
{
    struct tern_op_start *a = arg;

    snprintf(text, size, "%s of %llu bytes to rank %d waits for %s", a->what, (unsigned long long)a->len, a->part->rank,
             tern_core_ctx_must_follow(a->ctx, a->part->rank) ? "an earlier operation of the strict context"
             : a->notification ? "room on the way there, or for its notification: the target may take none"
                               : "room on the way there");
}

bool tern_op_handler_may_wait(const struct tern_ctx *ctx, const struct tern_link_part *part)
{
    if (TERN_LIKELY(!tern_core_in_handler()))
        return false;
    if (ctx == tern_job.handler_ctx)
        return true;
    for (const struct tern_pending *p = ctx->order == TERN_STRICT ? ctx->outstanding : NULL; p; p = p->next)
        if (p->op.xfer.part->rank == part->rank && !p->op.xfer.part->path->self_progress)
            return false;
    return part->path->instant || part->path->self_progress;
}

/* Wait until the operation can start, and return the result of the start. */
static tern_status start_later(struct tern_op_start *a)
{
    struct tern_wait wait = { attempt_poll, attempt_describe, a, tern_core_ctx_deadline(a->ctx),
                              !a->notification && tern_op_handler_may_wait(a->ctx, a->part) };
    tern_status      st = tern_core_wait(&wait);

    return st < 0 ? st : a->result;
}

/* Whether the caller is a handler, which must not wait for this operation. */
static bool is_forbidden(const struct tern_op_start *a)
{
    const struct tern_link_path *path = a->part->path;

    if (TERN_LIKELY(!tern_core_in_handler()) || !path)
        return false;
    if (a->needs_target && !path->self_progress)
        return true;
    return (a->needs_target || !path->instant) && !tern_op_handler_may_wait(a->ctx, a->part);
}

tern_status tern_op_start(struct tern_op_start *a, uint32_t flags)
{
    tern_status st;

    if (is_forbidden(a))
        return tern_base_fail(TERN_ERR_STATE,
                              "%s: a handler of an active message must not wait; the part of rank %d is "
                              "reached through %s",
                              a->what, a->part->rank, a->part->path->name);
    st = try_start(a);
    if (st == TERN_AGAIN && !(flags & TERN_OP_ONCE)) {
        tern_core_ctx_progress(a->ctx);
        st = (flags & TERN_IMMEDIATE) ? try_start(a) : start_later(a);
    }
    if (TERN_UNLIKELY(st == TERN_ERR_PEER))
        tern_core_job_confirm(a->part->rank, tern_core_ctx_deadline(a->ctx));
    return st;
}

static void fill(tern_event *event, struct tern_pending *pending, bool local)
{
    if (!event)
        return;
    *event = pending ? tern_core_event_make(pending, local) : TERN_EVENT_INIT;
}

void tern_op_fill_events(const tern_opts *opts, struct tern_pending *pending)
{
    if (pending)
        pending->implicit = !opts->event;
    fill(opts->event, pending, false);
    fill(opts->local, pending, true);
}

/* Give up waiting for a blocking transfer. tern_quiet collects the rest of it. */
static tern_status abandon(tern_event *event)
{
    struct tern_pending *pending = event->pending;

    pending->implicit = true;
    pending->holders--;
    tern_core_pending_cancel(pending);
    return TERN_ERR_TIMEOUT;
}

static tern_status finish_poll(void *arg)
{
    tern_event *event = arg;

    tern_core_ctx_progress(event->pending->ctx);
    return tern_core_event_test(event);
}

static void finish_describe(void *arg, char *text, size_t size)
{
    tern_core_pending_describe(((tern_event *)arg)->pending, text, size);
}

tern_status tern_op_wait(struct tern_ctx *ctx, const struct tern_link_part *part, tern_event *event,
                         tern_deadline deadline)
{
    struct tern_wait wait = { finish_poll, finish_describe, event, deadline, tern_op_handler_may_wait(ctx, part) };
    tern_status      st;

    if (!event->pending)
        return TERN_OK;
    st = tern_core_wait(&wait);
    return st == TERN_ERR_TIMEOUT && event->pending ? abandon(event) : st;
}

/* contig.c: one contiguous transfer.
 *
 * The part knows its path. A path that is instant does everything now. Others may need room first (TERN_AGAIN) and time
 * afterwards (TERN_PENDING), for which the context keeps a record. A strict context lets nothing start while an earlier
 * operation to the same rank is under way, unless the path says that the order is kept: otherwise completion makes it.
 */
#include "op/contig.h"

#include <stdio.h>

#include "core/job.h"
#include "core/message.h"
#include "core/wait.h"

/* A transfer that cannot start yet. */
struct attempt {
    struct tern_ctx        *ctx;
    const struct tern_xfer *xfer;
    struct tern_pending    *pending;
    const char             *what;
    tern_status             result; /* of the start, once it has happened */
};

/* TERN_AGAIN: not started. */
static tern_status try_start(struct attempt *a)
{
    const struct tern_link_part *part = a->xfer->part;

    struct tern_lane *lane = a->ctx->lane[part->link];

    if (tern_core_ctx_must_follow(a->ctx, part->rank) && !(part->path->follows && part->path->follows(lane, a->xfer)))
        return TERN_AGAIN;
    return part->path->start(lane, a->xfer, a->pending ? &a->pending->op : NULL);
}

static tern_status attempt_poll(void *arg)
{
    struct attempt *a = arg;

    tern_core_ctx_progress(a->ctx);
    a->result = try_start(a);
    return a->result == TERN_AGAIN ? TERN_PENDING : TERN_OK;
}

static void attempt_describe(void *arg, char *text, size_t size)
{
    struct attempt *a = arg;

    snprintf(text, size, "%s of %zu bytes to rank %d waits for %s", a->what, a->xfer->len, a->xfer->part->rank,
             tern_core_ctx_must_follow(a->ctx, a->xfer->part->rank) ? "an earlier operation of the strict context"
                                                                    : "room on the way there");
}

static void fill(tern_event *event, struct tern_pending *pending, bool local)
{
    if (!event)
        return;
    *event = pending ? tern_core_event_make(pending, local) : TERN_EVENT_INIT;
}

/* Whether this is the handler of a message and may wait for a transfer to the part: not if that needs the target, and
 * neither if it has to follow one that does. */
static bool by_handler(const struct tern_ctx *ctx, const struct tern_link_part *part)
{
    if (TERN_LIKELY(!tern_core_message_handling()))
        return false;
    if (ctx == tern_job.handler_ctx)
        return true;
    for (const struct tern_pending *p = ctx->order == TERN_STRICT ? ctx->under_way : NULL; p; p = p->next)
        if (p->op.xfer.part->rank == part->rank && !p->op.xfer.part->path->unaided)
            return false;
    return part->path->instant || part->path->unaided;
}

/* Wait until the transfer can start, and return what its start returned. */
static tern_status start_later(struct attempt *a)
{
    struct tern_wait wait = { attempt_poll, attempt_describe, a, tern_core_ctx_deadline(a->ctx),
                              by_handler(a->ctx, a->xfer->part) };
    tern_status      st = tern_core_wait(&wait);

    return st < 0 ? st : a->result;
}

tern_status tern_op_contig_start(struct tern_ctx *ctx, const struct tern_xfer *xfer, const tern_opts *opts,
                                 const char *what)
{
    struct attempt a = { .ctx = ctx, .xfer = xfer, .what = what };
    tern_status    st;

    if (!xfer->part->path->instant && tern_core_message_handling() && !by_handler(ctx, xfer->part))
        return tern_base_fail(TERN_ERR_STATE,
                              "%s: a handler of an active message must not wait; the part of rank %d is "
                              "reached through %s",
                              what, xfer->part->rank, xfer->part->path->name);
    if (!xfer->part->path->instant && !(a.pending = tern_core_pending_new(ctx)))
        return tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for one more operation under way", what);
    st = try_start(&a);
    if (st == TERN_AGAIN) {
        tern_core_ctx_progress(ctx);
        st = (opts->flags & TERN_IMMEDIATE) ? try_start(&a) : start_later(&a);
    }
    if (st == TERN_PENDING) {
        a.pending->implicit = !opts->event;
        fill(opts->event, a.pending, false);
        fill(opts->local, a.pending, true);
        tern_core_pending_enlist(a.pending);
        return TERN_OK;
    }
    if (a.pending)
        tern_core_pending_drop(a.pending);
    if (TERN_UNLIKELY(st == TERN_ERR_PEER))
        tern_core_job_confirm(xfer->part->rank, tern_core_ctx_deadline(ctx));
    if (st == TERN_OK) {
        fill(opts->event, NULL, false);
        fill(opts->local, NULL, true);
    }
    return st;
}

/* Give up waiting for a blocking transfer; tern_quiet collects what is left of it. */
static tern_status abandon(tern_event *event)
{
    struct tern_pending *pending = event->pending;
    unsigned             link = pending->op.xfer.part->link;

    pending->implicit = true;
    pending->holders--;
    tern_job.ops[link]->cancel(pending->ctx->lane[link], &pending->op);
    return TERN_ERR_TIMEOUT;
}

static tern_status run_poll(void *arg)
{
    tern_event *event = arg;

    tern_core_ctx_progress(event->pending->ctx);
    return tern_core_event_test(event);
}

static void run_describe(void *arg, char *text, size_t size)
{
    tern_core_pending_describe(((tern_event *)arg)->pending, text, size);
}

tern_status tern_op_contig_run(struct tern_ctx *ctx, const struct tern_xfer *xfer, const char *what)
{
    tern_event       event = TERN_EVENT_INIT;
    tern_opts        opts = { .event = &event };
    struct tern_wait wait = { run_poll, run_describe, &event, tern_core_ctx_deadline(ctx),
                              by_handler(ctx, xfer->part) };
    tern_status      st = tern_op_contig_start(ctx, xfer, &opts, what);

    if (st < 0 || !event.pending)
        return st;
    st = tern_core_wait(&wait);
    return st == TERN_ERR_TIMEOUT && event.pending ? abandon(&event) : st;
}

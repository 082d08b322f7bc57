/* quiet.c: see quiet.h.
 *
 * The operations of a trigger engine are not on the context's list. The engine numbers its operations by epochs instead
 * (op/trigger/engine.h), and a marker waits for those of the epochs up to its own. */
#include "core/quiet.h"

#include <stdio.h>
#include <string.h>

#include "core/shared.h"
#include "core/wait.h"

struct quiet {
    struct tern_op        op; /* must be first */
    enum tern_quiet_scope scope;
    int                   rank;
    uint32_t              epoch;   /* of the engine */
    bool                  reports; /* the event returns the first error of an operation without an event */
    char                  failed_op[sizeof(((struct tern_ctx *)0)->failed_op)];
    tern_quiet_then      *then; /* called at the end; NULL: there is an event */
    void                 *arg;
};

/* ---- the operations that are left ---- */

/* Return an older operation that must complete first; NULL: there is none. The oldest ones are the likeliest, and are
 * examined first. */
static const struct tern_op *older_one(const struct quiet *quiet)
{
    const struct tern_list *node;

    for (node = quiet->op.ctx->outstanding.prev; node != &quiet->op.node; node = node->prev) {
        const struct tern_op *older = TERN_LIST_ITEM(node, const struct tern_op, node);

        if (tern_core_op_is_marker(older))
            continue;
        if (quiet->scope == TERN_QUIET_ALL ||
            (quiet->scope == TERN_QUIET_RANK ? older->link.xfer.part->rank == quiet->rank
                                             : !older->link.xfer.get && !tern_core_op_is_source_free(older)))
            return older;
    }
    return NULL;
}

static bool is_passed(const struct quiet *quiet)
{
    struct tern_ctx *ctx = quiet->op.ctx;

    if (older_one(quiet))
        return false;
    if (ctx->engine && !tern_op_engine_has_passed(ctx, quiet->epoch))
        return false;
    return quiet->scope == TERN_QUIET_LOCAL || tern_core_ctx_is_placed(ctx, true);
}

/* ---- the operation ---- */

static void quiet_advance(struct tern_op *op)
{
    struct quiet    *quiet = (struct quiet *)op;
    struct tern_ctx *ctx = op->ctx;
    tern_status      st = TERN_OK;

    if (!is_passed(quiet))
        return;
    /* seq_cst: as in tern_quiet() */
    atomic_thread_fence(memory_order_seq_cst);
    if (quiet->reports && (st = tern_core_ctx_take_failure(ctx)) < 0) {
        memcpy(quiet->failed_op, ctx->failed_op, sizeof(quiet->failed_op));
        tern_base_fail(st, "%s", ctx->failed_why[0] ? ctx->failed_why + strlen(": ") : ""); /* the marker keeps it */
    }
    if (quiet->then) {
        tern_quiet_then *then = quiet->then;

        quiet->then = NULL;
        then(quiet->arg, st, quiet->failed_op);
        st = TERN_OK;
    }
    tern_core_op_complete(op, st);
}

/* A thread that waits for the event of a shared context does not hold its lock, and the older operations are those of
 * all threads. */
static void quiet_describe(const struct tern_op *op, char *text, size_t size)
{
    const struct quiet   *quiet = (const struct quiet *)op;
    const char           *of = quiet->scope == TERN_QUIET_LOCAL ? " whose source is in use" : "";
    const struct tern_op *older;

    if (op->ctx->shared)
        tern_core_shared_lock(op->ctx);
    older = op->done ? NULL : older_one(quiet);
    if (quiet->failed_op[0] != '\0')
        snprintf(text, size, "%s, or rather an earlier %s,", op->call, quiet->failed_op);
    else if (older)
        snprintf(text, size, "%s, which waits for earlier operations%s, such as %s to rank %d of the job", op->call, of,
                 older->call, older->link.xfer.part->rank);
    else
        snprintf(text, size, "%s", op->call);
    if (op->ctx->shared)
        tern_core_shared_unlock(op->ctx);
}

static void quiet_cancel(struct tern_op *op)
{
    (void)op; /* a marker accesses no memory of the program */
}

static void quiet_release(struct tern_op *op)
{
    struct quiet *quiet = (struct quiet *)op;

    if (quiet->then)
        quiet->then(quiet->arg, TERN_ERR_CANCELLED, "");
}

static const struct tern_op_kind quiet_kind = {
    .advance = quiet_advance, .cancel = quiet_cancel, .describe = quiet_describe, .release = quiet_release
};

/* ---- starting and waiting ---- */

/* Create a marker. NULL, with a detail: no memory. */
static struct quiet *create(struct tern_ctx *ctx, enum tern_quiet_scope scope, int rank, const char *call)
{
    struct quiet *quiet = tern_core_op_alloc(ctx, sizeof(*quiet), &quiet_kind, call);

    if (!quiet) {
        tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for %zu bytes", call, sizeof(*quiet));
        return NULL;
    }
    quiet->op.link.xfer = (struct tern_xfer){ .part = &tern_core_op_nowhere };
    quiet->scope = scope;
    quiet->rank = rank;
    quiet->epoch = ctx->engine ? tern_op_engine_next_epoch(ctx) : 0;
    quiet->reports = true;
    quiet->failed_op[0] = '\0';
    quiet->then = NULL;
    return quiet;
}

/* Start a marker, if there is anything to wait for. */
static tern_status start(struct tern_ctx *ctx, enum tern_quiet_scope scope, int rank, bool reports, const char *call,
                         tern_event *event)
{
    struct quiet *quiet;

    *event = TERN_EVENT_INIT;
    if (!tern_core_ctx_is_busy(ctx))
        return TERN_OK;
    if (!(quiet = create(ctx, scope, rank, call)))
        return TERN_ERR_NOMEM;
    quiet->op.events = 1;
    quiet->reports = reports;
    *event = tern_core_event_make(&quiet->op, false);
    tern_core_op_enlist(&quiet->op);
    return TERN_OK;
}

tern_status tern_core_quiet_start(struct tern_ctx *ctx, const char *call, tern_event *event)
{
    return start(ctx, TERN_QUIET_ALL, -1, true, call, event);
}

tern_status tern_core_quiet_then(struct tern_ctx *ctx, const char *call, tern_quiet_then *then, void *arg)
{
    struct quiet *quiet;
    tern_status   st;

    if (!tern_core_ctx_is_busy(ctx)) {
        /* seq_cst: as in tern_quiet() */
        atomic_thread_fence(memory_order_seq_cst);
        st = tern_core_ctx_take_failure(ctx);
        then(arg, st, ctx->failed_op);
        return TERN_OK;
    }
    if (!(quiet = create(ctx, TERN_QUIET_ALL, -1, call)))
        return TERN_ERR_NOMEM;
    quiet->op.events = 0;
    quiet->then = then;
    quiet->arg = arg;
    tern_core_op_enlist(&quiet->op);
    return TERN_OK;
}

static tern_status wait_poll(void *arg)
{
    tern_core_ctx_progress(tern_core_event_op(arg)->progress);
    return tern_core_event_test(arg);
}

static void wait_describe(void *arg, char *text, size_t size)
{
    tern_core_op_describe(tern_core_event_op(arg), text, size);
}

tern_status tern_core_quiet_wait(struct tern_ctx *ctx, enum tern_quiet_scope scope, int rank, const char *call,
                                 tern_deadline deadline)
{
    tern_event       event;
    struct tern_wait wait = { .poll = wait_poll, .describe = wait_describe, .arg = &event, .deadline = deadline };
    tern_status      st = start(ctx, scope, rank, false, call, &event);

    if (st < 0 || !event.pending)
        return st;
    st = tern_core_wait(&wait);
    if (event.pending && tern_core_event_test(&event) == TERN_PENDING) { /* nobody waits for the marker any more */
        tern_core_event_op(&event)->events = 0;
        tern_core_op_complete(tern_core_event_op(&event), TERN_OK);
    }
    return st;
}

tern_status tern_core_quiet_all(struct tern_ctx *ctx, const char *call, tern_deadline deadline)
{
    if (TERN_LIKELY(!ctx->shared))
        return tern_core_ctx_drain(ctx, deadline, call);
    tern_core_shared_take_unflushed(ctx);
    return tern_core_quiet_wait(ctx, TERN_QUIET_ALL, -1, call, deadline);
}

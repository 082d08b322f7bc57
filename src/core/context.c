/* context.c: contexts. The progress of their operations is in op.c. */
#include "core/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/debug.h"
#include "base/options.h"
#include "base/retired.h"
#include "core/job.h"
#include "core/wire.h"
#include "core/links.h"
#include "core/message.h"
#include "core/shared.h"
#include "core/wait.h"

#define SLAB 64     /* number of operations by which the memory of a context grows */
#define PATIENCE 32 /* polls, of some ten nanoseconds each */

tern_ctx *tern_world;

static struct tern_retired freed = TERN_RETIRED_INIT(freed); /* contexts */
struct tern_roster         tern_core_ctxs;

/* ---- memory ---- */

static struct tern_ctx *ctx_new(void)
{
    struct tern_list *node = tern_base_retired_reuse(&freed);
    struct tern_ctx  *ctx = node ? TERN_LIST_ITEM(node, struct tern_ctx, node) : malloc(sizeof(*ctx));

    if (!ctx)
        return NULL;
    if (node)
        tern_op_tagged_forget_requests(ctx);
    memset(ctx, 0, offsetof(struct tern_ctx, ever));
    if (!node)
        tern_base_roster_add(&tern_core_ctxs, &ctx->ever);
    return ctx;
}

void tern_core_ctx_disable(struct tern_ctx *ctx, const char *why)
{
    static struct tern_team nobody;

    ctx->gone = why;
    tern_core_ctx_set_ranks(ctx, 0);
    ctx->team = &nobody;
    ctx->ranks = 0;
    ctx->inner = NULL;
    ctx->inline_unflushed = true; /* so that calls that complete the outstanding operations check the context */
}

tern_status tern_core_ctx_check(const struct tern_ctx *ctx, const char *what)
{
    tern_status st = tern_core_job_running(what);

    if (st < 0)
        return st;
    if (!ctx)
        return tern_base_fail(TERN_ERR_ARG, "%s: ctx is NULL", what);
    return ctx->gone ? tern_base_fail(TERN_ERR_STATE, "%s: the context %s", what, ctx->gone) : TERN_OK;
}

/* ---- use by several threads ---- */

static _Thread_local char this_thread; /* its address identifies the thread */

bool tern_core_ctx_is_entered(const struct tern_ctx *ctx)
{
    /* relaxed: only this thread writes this value */
    return atomic_load_explicit(&ctx->user, memory_order_relaxed) == (uintptr_t)&this_thread;
}

tern_status tern_core_ctx_enter(struct tern_ctx *ctx, bool waits, const char *what)
{
    uintptr_t   me = (uintptr_t)&this_thread, other = 0;
    const char *call;

    if (tern_core_ctx_is_entered(ctx)) {
        ctx->uses++;
        return TERN_OK;
    }
    /* relaxed: the program orders the uses of a context by several threads; this only detects that it does not */
    if (!atomic_compare_exchange_strong_explicit(&ctx->user, &other, me, memory_order_relaxed, memory_order_relaxed)) {
        call = atomic_load_explicit(&ctx->user_call, memory_order_relaxed);
        return tern_base_fail(
            TERN_ERR_STATE,
            "%s: another thread of this rank is in %s on the same context; give each thread a context "
            "of its own",
            what, call ? call : "a call");
    }
    atomic_store_explicit(&ctx->user_call, what, memory_order_relaxed);
    ctx->uses = 1;
    ctx->waits = waits;
    if (waits)
        tern_core_ctx_set_direct(ctx);
    return TERN_OK;
}

void tern_core_ctx_leave(struct tern_ctx *ctx)
{
    if (--ctx->uses > 0)
        return;
    if (ctx->waits && !ctx->gone) {
        ctx->waits = false;
        tern_core_ctx_set_direct(ctx);
    }
    atomic_store_explicit(&ctx->user_call, NULL, memory_order_relaxed);
    atomic_store_explicit(&ctx->user, 0, memory_order_relaxed);
}

/* ---- opening and closing ---- */

/* Fill in what a context and the handle of a shared one have in common. */
static void ctx_init(struct tern_ctx *ctx, struct tern_team *team, tern_order order)
{
    ctx->head = (struct tern_ctx_head){ .world_rank = team->world_rank };
    tern_core_ctx_set_ranks(ctx, (uint32_t)team->size);
    ctx->team = team;
    ctx->handle = ctx;
    ctx->am_team = (team->id < TERN_TEAM_FIRST ? team->id : CORE_WIRE_TEAM_NAMED) << CORE_WIRE_TEAM_SHIFT;
    ctx->am_short = team->id < TERN_TEAM_FIRST ? (int)TERN_LINK_SHORT_ARGS : -1;
    ctx->order = order;
    ctx->timeout = tern_opt.timeout;
    tern_base_list_init(&ctx->outstanding);
    tern_base_list_init(&ctx->active);
    tern_base_list_init(&ctx->held);
    tern_base_list_init(&ctx->node);
    tern_base_pool_open(&ctx->ops, sizeof(struct tern_op), SLAB);
}

static void lanes_close(struct tern_ctx *ctx, unsigned count)
{
    while (count-- > 0)
        tern_job.ops[count]->lane_close(ctx->lane[count]);
}

tern_status tern_core_ctx_open(struct tern_team *team, tern_order order, struct tern_ctx **out)
{
    static uint32_t  opened;
    struct tern_ctx *ctx = ctx_new();
    tern_status      st;

    if (!ctx)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a context of %zu bytes", sizeof(*ctx));
    ctx_init(ctx, team, order);
    ctx->ranks = (uint32_t)team->size;
    ctx->ordered = order == TERN_STRICT ? TERN_ORDERED_ALL : TERN_ORDERED_NONE;
    for (unsigned i = 0; i < tern_job.links; i++) {
        if ((st = tern_job.ops[i]->lane_open(tern_job.link[i], &ctx->lane[i])) < 0) {
            lanes_close(ctx, i);
            tern_core_ctx_disable(ctx, "was not created");
            tern_base_retire(&freed, &ctx->node);
            return st;
        }
    }
    pthread_mutex_lock(&tern_job.lock);
    ctx->number = opened++;
    tern_base_list_push(&tern_job.contexts, &ctx->node);
    pthread_mutex_unlock(&tern_job.lock);
    *out = ctx;
    return TERN_OK;
}

/* Free the operations of a list. Parked ones belong to their engine, and only leave the list. */
static void release_ops(struct tern_list *list)
{
    TERN_LIST_EACH(struct tern_op, op, list, node) {
        tern_base_list_remove(&op->node);
        if (!op->trigger)
            tern_core_op_drop(op);
    }
}

/* The handle is not on the job's list; the inner context is. */
tern_status tern_core_ctx_open_shared(struct tern_team *team, tern_order order, struct tern_ctx **out)
{
    struct tern_ctx *handle = ctx_new(), *inner;
    tern_status      st;

    if (!handle)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a context of %zu bytes", sizeof(*handle));
    ctx_init(handle, team, order);
    handle->inline_unflushed = TERN_UNFLUSHED_NONE;
    atomic_store_explicit(&handle->attention, true, memory_order_relaxed); /* the program passes the context on */
    if ((st = tern_core_ctx_open(team, order, &inner)) < 0 || (st = tern_core_shared_make(inner)) < 0) {
        tern_core_ctx_disable(handle, "was not created");
        tern_base_retire(&freed, &handle->node);
        return st;
    }
    inner->ordered = order == TERN_STRICT ? TERN_ORDERED_ALL_SHARED : TERN_ORDERED_NONE;
    inner->handle = handle;
    handle->inner = inner;
    *out = handle;
    return TERN_OK;
}

/* Close the handle of a shared context, whose inner context has been closed. */
static void handle_close(struct tern_ctx *handle)
{
    tern_op_notify_release(handle);
    release_ops(&handle->held);
    tern_base_pool_close(&handle->ops);
    tern_core_ctx_disable(handle, "was freed");
    tern_base_retire(&freed, &handle->node);
}

void tern_core_ctx_unlist(struct tern_ctx *ctx)
{
    pthread_mutex_lock(&tern_job.lock);
    tern_base_list_remove(&ctx->node);
    pthread_mutex_unlock(&tern_job.lock);
}

void tern_core_ctx_close(struct tern_ctx *ctx)
{
    struct tern_ctx *handle = ctx->handle;

    tern_core_ctx_unlist(ctx);
    tern_op_notify_release(ctx);
    if (ctx->engine)
        tern_op_engine_close(ctx);
    ctx->engine = NULL;
    lanes_close(ctx, tern_job.links);
    release_ops(&ctx->outstanding);
    release_ops(&ctx->held);
    if (ctx->tagged)
        tern_op_tagged_release(ctx);
    tern_base_pool_close(&ctx->ops);
    free((void *)ctx->in_region);
    ctx->in_region = NULL;
    ctx->in_regions = 0;
    tern_core_shared_free(ctx);
    tern_core_ctx_disable(ctx, "was freed");
    tern_base_retire(&freed, &ctx->node);
    if (handle != ctx)
        handle_close(handle);
}

/* Return whether collective operations of the context have started and have not ended. */
static bool has_colls(const struct tern_ctx *ctx)
{
    return atomic_load_explicit(&ctx->colls, memory_order_acquire) > 0; /* pairs with the end of an operation */
}

void tern_core_ctx_attend(struct tern_ctx *ctx)
{
    if (ctx->inner)
        tern_core_shared_progress(ctx);
    else if (ctx->tagged)
        tern_op_tagged_advance(ctx);
    else
        /* acquire: deaths. Pairs with tern_core_job_mark_dead(). */
        (void)atomic_exchange_explicit(&ctx->attention, false, memory_order_acquire);
    if (has_colls(ctx)) {
        tern_op_coll_advance(ctx);
        if (has_colls(ctx))
            atomic_store_explicit(&ctx->attention, true, memory_order_relaxed); /* this thread reads it */
    }
    if (atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) > 0 && tern_op_notify_find_hopeless(ctx))
        atomic_store_explicit(&ctx->attention, true, memory_order_relaxed); /* this thread reads it */
}

#define AHEAD 256 /* operations to one rank, each of which may notify the rank when it ends */

bool tern_core_ctx_is_stuck(const struct tern_ctx *ctx, int rank)
{
    int64_t n = 0;

    TERN_LIST_EACH(const struct tern_op, op, &ctx->active, active)
        if (op->link.xfer.part->rank == rank && (op->blocked || ++n >= AHEAD || n >= tern_opt.notify_queue))
            return true;
    return false;
}

tern_status tern_core_ctx_take_failure(struct tern_ctx *ctx)
{
    tern_status st = ctx->failed;

    if (TERN_UNLIKELY(ctx->engine != NULL) && st == TERN_OK)
        st = tern_op_engine_failed(ctx);
    if (st < 0) /* a handle has no error, and is not written */
        ctx->failed = TERN_OK;
    return st;
}

tern_status tern_core_ctx_failed(struct tern_ctx *ctx, const char *what)
{
    tern_status st = tern_core_ctx_take_failure(ctx);

    if (st == TERN_OK)
        return TERN_OK;
    return tern_base_fail(st, "%s: an earlier %s failed%s", what, ctx->failed_op, ctx->failed_why);
}

tern_status tern_core_ctx_failed_to(struct tern_ctx *ctx, int rank, const char *what)
{
    tern_status st;

    if (TERN_UNLIKELY(ctx->engine != NULL) && ctx->failed == TERN_OK && (st = tern_op_engine_failed(ctx)) < 0)
        ctx->failed = st;
    st = ctx->failed;
    if (st == TERN_OK || (ctx->failed_rank >= 0 && ctx->failed_rank != rank))
        return TERN_OK;
    if (ctx->failed_rank == rank)
        ctx->failed = TERN_OK;
    return tern_base_fail(st, "%s: an earlier %s failed%s", what, ctx->failed_op, ctx->failed_why);
}

bool tern_core_ctx_is_placed(struct tern_ctx *ctx, bool help)
{
    if (ctx->inline_unflushed && tern_core_links_notify_flushed(help))
        ctx->inline_unflushed = false;
    return !ctx->inline_unflushed; /* never that of a handle */
}

bool tern_core_ctx_flush(struct tern_ctx *ctx)
{
    tern_core_ctx_progress(ctx);
    return !tern_core_ctx_has_outstanding(ctx) && tern_core_ctx_is_placed(ctx, true);
}

struct drain {
    struct tern_ctx *ctx;
    const char      *what;
    unsigned         patience; /* polls before payload is copied on behalf of the target */
    bool             retires;  /* the context is about to be closed */
};

static tern_status tagged_retire(struct tern_ctx *ctx)
{
    if (has_colls(ctx))
        return TERN_PENDING;
    return ctx->tagged ? tern_op_tagged_retire(ctx) : TERN_OK;
}

static tern_status drain_poll(void *arg)
{
    struct drain *drain = arg;

    tern_core_ctx_progress(drain->ctx);
    if (tern_core_ctx_has_outstanding(drain->ctx))
        return TERN_PENDING;
    if (tern_core_ctx_is_placed(drain->ctx, drain->patience == 0))
        return drain->retires ? tagged_retire(drain->ctx) : TERN_OK;
    drain->patience -= drain->patience > 0;
    return TERN_PENDING;
}

static void drain_describe(void *arg, char *text, size_t size)
{
    struct drain *drain = arg;
    char          op[220] = "target to copy the inline data of a notification";
    bool          tagged = false;

    if (tern_core_ctx_has_ops(drain->ctx)) /* the oldest one, which is no fence */
        tern_core_op_describe(TERN_LIST_ITEM(drain->ctx->outstanding.prev, struct tern_op, node), op, sizeof(op));
    else if (tern_core_ctx_has_outstanding(drain->ctx))
        tern_op_engine_describe(drain->ctx, op, sizeof(op));
    else if ((tagged = drain->retires && drain->ctx->tagged && !drain->ctx->inline_unflushed && !has_colls(drain->ctx)))
        tern_op_tagged_describe(drain->ctx, op, sizeof(op));
    else if (drain->retires && has_colls(drain->ctx))
        snprintf(op, sizeof(op), "collective operation that other ranks have not completed");
    snprintf(text, size, "%s waits %s%s", drain->what, tagged ? "" : "for a ", op);
}

static tern_status wait_idle(struct tern_ctx *ctx, tern_deadline deadline, const char *what, bool retires)
{
    struct drain     drain = { ctx, what, tern_job.spin_ns > 0 ? PATIENCE : 0, retires };
    struct tern_wait wait = { .poll = drain_poll, .describe = drain_describe, .arg = &drain, .deadline = deadline };

    return tern_core_wait(&wait);
}

tern_status tern_core_ctx_drain(struct tern_ctx *ctx, tern_deadline deadline, const char *what)
{
    return tern_core_ctx_is_busy(ctx) ? wait_idle(ctx, deadline, what, false) : TERN_OK;
}

tern_status tern_core_ctx_retire(struct tern_ctx *ctx, tern_deadline deadline, const char *what)
{
    tern_status st = tern_core_ctx_is_busy(ctx) ? TERN_PENDING : tagged_retire(ctx);

    return st == TERN_PENDING ? wait_idle(ctx, deadline, what, true) : st;
}

/* ---- order ---- */

bool tern_core_ctx_has_earlier(const struct tern_ctx *ctx, int rank)
{
    const struct tern_list *node;

    if (ctx->ordered == TERN_ORDERED_NONE)
        return false;
    node = ctx->ordered == TERN_ORDERED_FENCE ? ctx->fence->node.next : ctx->outstanding.next;
    for (; node != &ctx->outstanding; node = node->next)
        if (TERN_LIST_ITEM(node, const struct tern_op, node)->link.xfer.part->rank == rank)
            return true;
    return false;
}

bool tern_core_ctx_holds(struct tern_ctx *ctx)
{
    bool holds =
        ctx->ordered == TERN_ORDERED_FENCE ? ctx->fence->node.next != &ctx->outstanding : tern_core_ctx_has_ops(ctx);

    if (!holds && ctx->ordered == TERN_ORDERED_FENCE) {
        tern_base_list_remove(&ctx->fence->node);
        ctx->ordered = TERN_ORDERED_NONE;
    }
    if (ctx->handle != ctx)
        tern_core_ctx_set_ranks(ctx->handle, holds ? 0 : ctx->ranks);
    return holds;
}

static void fence_describe(const struct tern_op *op, char *text, size_t size)
{
    snprintf(text, size, "%s", op->call);
}

static const struct tern_op_kind fence_kind = { .describe = fence_describe };

/* Put the marker in front of all outstanding operations. Returns false if there is no memory for it. */
static bool fence_mark(struct tern_ctx *ctx)
{
    if (!ctx->fence) {
        if (!(ctx->fence = tern_core_op_new(ctx, &fence_kind, "tern_fence")))
            return false;
        ctx->fence->link.xfer = (struct tern_xfer){ .part = &tern_core_op_nowhere };
        tern_base_list_init(&ctx->fence->node);
    }
    tern_base_list_remove(&ctx->fence->node);
    tern_base_list_push(&ctx->outstanding, &ctx->fence->node);
    ctx->ordered = TERN_ORDERED_FENCE;
    tern_core_ctx_set_direct(ctx);
    return true;
}

static tern_status placed_poll(void *arg)
{
    return tern_core_ctx_is_placed(arg, true) ? TERN_OK : TERN_PENDING;
}

static void placed_describe(void *arg, char *text, size_t size)
{
    (void)arg;
    snprintf(text, size, "tern_fence waits for a target to copy the inline data of a notification");
}

tern_status tern_core_ctx_fence(struct tern_ctx *ctx, tern_deadline deadline, const char *what)
{
    struct tern_wait wait = {
        .poll = placed_poll, .describe = placed_describe, .arg = ctx, .deadline = deadline, .by_handler = true
    };
    tern_status st = TERN_OK;

    if (ctx->order == TERN_STRICT)
        return TERN_OK;
    if (ctx->engine)
        return tern_core_ctx_drain(ctx, deadline, what);
    if (!tern_core_ctx_is_placed(ctx, true))
        st = tern_core_wait(&wait);
    if (st == TERN_OK && tern_core_ctx_has_ops(ctx) && !fence_mark(ctx))
        st = tern_core_ctx_drain(ctx, deadline, what);
    return st;
}

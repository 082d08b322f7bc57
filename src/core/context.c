/* context.c: contexts, their pending records, and the upcalls of the links.
 *
 * Records are allocated in slabs that the context keeps until it is closed, so that an operation allocates memory only
 * when more operations are outstanding than ever before. */
#include "core/context.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/options.h"
#include "core/job.h"
#include "core/links.h"
#include "core/message.h"
#include "core/wait.h"

#define SLAB 64
#define PATIENCE 32 /* polls, of some ten nanoseconds each */

tern_ctx *tern_world;

struct pending_slab {
    struct pending_slab *next;
    struct tern_pending  record[SLAB];
};

static void lanes_close(struct tern_ctx *ctx, unsigned count)
{
    while (count-- > 0)
        tern_job.ops[count]->lane_close(ctx->lane[count]);
}

tern_status tern_core_ctx_open(struct tern_team *team, tern_order order, struct tern_ctx **out)
{
    static uint32_t  opened;
    struct tern_ctx *ctx = calloc(1, sizeof(*ctx));
    tern_status      st;

    if (!ctx)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a context of %zu bytes", sizeof(*ctx));
    ctx->head = (struct tern_ctx_head){ .direct_ranks = (uint32_t)team->size, .world_rank = team->world_rank };
    ctx->team = team;
    ctx->order = order;
    ctx->timeout = tern_opt.timeout;
    ctx->compounds_end = &ctx->compounds;
    for (unsigned i = 0; i < tern_job.links; i++) {
        if ((st = tern_job.ops[i]->lane_open(tern_job.link[i], &ctx->lane[i])) < 0) {
            lanes_close(ctx, i);
            free(ctx);
            return st;
        }
    }
    pthread_mutex_lock(&tern_job.lock);
    ctx->number = opened++;
    ctx->next = tern_job.contexts;
    ctx->link = &tern_job.contexts;
    if (ctx->next)
        ctx->next->link = &ctx->next;
    tern_job.contexts = ctx;
    pthread_mutex_unlock(&tern_job.lock);
    *out = ctx;
    return TERN_OK;
}

void tern_core_ctx_unlist(struct tern_ctx *ctx)
{
    pthread_mutex_lock(&tern_job.lock);
    *ctx->link = ctx->next;
    if (ctx->next)
        ctx->next->link = ctx->link;
    ctx->next = NULL;
    ctx->link = &ctx->next;
    pthread_mutex_unlock(&tern_job.lock);
}

void tern_core_ctx_close(struct tern_ctx *ctx)
{
    tern_core_ctx_unlist(ctx);
    if (ctx->engine)
        ctx->engine->close(ctx->engine);
    lanes_close(ctx, tern_job.links);
    while (ctx->compounds) {
        struct tern_compound *compound = ctx->compounds;
        ctx->compounds = compound->next;
        compound->release(compound);
    }
    if (ctx->tagged)
        ctx->tagged->close(ctx);
    while (ctx->slabs) {
        struct pending_slab *slab = ctx->slabs;
        ctx->slabs = slab->next;
        free(slab);
    }
    free(ctx);
}

tern_deadline tern_core_ctx_deadline(const struct tern_ctx *ctx)
{
    return ctx->timeout > 0 ? tern_base_deadline_in(ctx->timeout) : TERN_FOREVER;
}

void tern_core_ctx_advance(struct tern_ctx *ctx)
{
    for (unsigned i = 0; ctx->outstanding && i < tern_job.links; i++)
        tern_job.ops[i]->progress(ctx->lane[i]);
    for (struct tern_compound *compound = ctx->compounds, *next; compound; compound = next) {
        next = compound->next; /* the compound may end */
        compound->advance(compound);
    }
}

bool (*tern_core_ctx_on_death)(struct tern_ctx *ctx);

void tern_core_ctx_attend(struct tern_ctx *ctx)
{
    bool again;

    if (ctx->tagged)
        ctx->tagged->advance(ctx);
    else
        /* acquire: deaths. Pairs with tern_core_job_mark_dead(). */
        (void)atomic_exchange_explicit(&ctx->attention, false, memory_order_acquire);
    again = atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) > 0 && tern_core_ctx_on_death &&
            tern_core_ctx_on_death(ctx);
    if (again)
        atomic_store_explicit(&ctx->attention, true, memory_order_relaxed); /* this thread reads it */
}

/* While a strict context has outstanding operations, inlined calls must take the path through the library. */
static void keep_order(struct tern_ctx *ctx)
{
    bool hold = ctx->order == TERN_STRICT && ctx->outstanding != NULL;

    ctx->head.direct_ranks = hold ? 0 : (uint32_t)ctx->team->size;
}

static bool slab_add(struct tern_ctx *ctx)
{
    struct pending_slab *slab = malloc(sizeof(*slab));

    if (!slab)
        return false;
    slab->next = ctx->slabs;
    ctx->slabs = slab;
    for (int i = 0; i < SLAB; i++) {
        slab->record[i].next = ctx->unused;
        ctx->unused = &slab->record[i];
    }
    return true;
}

struct tern_pending *tern_core_pending_new(struct tern_ctx *ctx)
{
    struct tern_pending *pending;

    if (!ctx->unused && !slab_add(ctx))
        return NULL;
    pending = ctx->unused;
    ctx->unused = pending->next;
    *pending = (struct tern_pending){ .ctx = ctx };
    return pending;
}

void tern_core_pending_drop(struct tern_pending *pending)
{
    pending->next = pending->ctx->unused;
    pending->ctx->unused = pending;
}

void tern_core_pending_enlist(struct tern_pending *pending)
{
    struct tern_ctx *ctx = pending->ctx;

    pending->next = ctx->outstanding;
    pending->link = &ctx->outstanding;
    if (pending->next)
        pending->next->link = &pending->next;
    ctx->outstanding = pending;
    keep_order(ctx);
}

static void pending_end(struct tern_pending *pending, tern_status status)
{
    struct tern_ctx *ctx = pending->ctx;

    if (TERN_UNLIKELY(status == TERN_ERR_PEER && !pending->describe))
        /* The launcher must know of a death before the program does. */
        tern_core_job_is_gone(pending->op.xfer.part->rank);
    *pending->link = pending->next;
    if (pending->next)
        pending->next->link = pending->link;
    pending->done = true;
    pending->status = status;
    pending->compound = NULL;
    if (pending->implicit && status < 0 && ctx->failed == TERN_OK) {
        ctx->failed = status;
        tern_core_pending_describe(pending, ctx->failed_op, sizeof(ctx->failed_op));
    }
    if (TERN_UNLIKELY(pending->on_end != NULL)) {
        pending->holders--;
        pending->on_end(pending->on_end_arg, status);
    }
    if (pending->holders == 0)
        tern_core_pending_drop(pending);
    keep_order(ctx);
}

static void pending_done(struct tern_link_op *op, tern_status status)
{
    struct tern_pending *pending = (struct tern_pending *)op;

    if (TERN_LIKELY(!pending->owner)) {
        pending_end(pending, status);
        return;
    }
    pending->owner->ended(pending->owner, pending, status);
    tern_core_pending_drop(pending);
}

void tern_core_pending_cancel(struct tern_pending *pending)
{
    unsigned link = pending->op.xfer.part->link;

    if (pending->compound)
        pending->compound->cancel(pending->compound);
    else
        tern_job.ops[link]->cancel(pending->ctx->lane[link], &pending->op);
}

void tern_core_compound_enlist(struct tern_compound *compound)
{
    struct tern_ctx *ctx = compound->pending->ctx;

    compound->pending->compound = compound;
    compound->next = NULL;
    compound->link = ctx->compounds_end;
    *ctx->compounds_end = compound;
    ctx->compounds_end = &compound->next;
    tern_core_pending_enlist(compound->pending);
}

void tern_core_compound_end(struct tern_compound *compound, tern_status status)
{
    struct tern_ctx *ctx = compound->pending->ctx;

    *compound->link = compound->next;
    if (compound->next)
        compound->next->link = compound->link;
    else
        ctx->compounds_end = compound->link;
    pending_end(compound->pending, status);
    compound->release(compound);
}

struct tern_link_up tern_core_up = { .done = pending_done,
                                     .watch = tern_core_message_watch,
                                     .gone = tern_core_job_gone };

void tern_core_pending_describe(const struct tern_pending *pending, char *text, size_t size)
{
    const struct tern_xfer *xfer = &pending->op.xfer;
    bool                    stuck = pending->compound && pending->compound->notify_blocked;

    if (pending->describe) {
        pending->describe(pending, text, size);
        return;
    }
    snprintf(text, size, "%s of %zu bytes at offset %llu of rank %d, by %s%s",
             xfer->what ? xfer->what : (xfer->get ? "get" : "put"), xfer->len, (unsigned long long)xfer->offset,
             xfer->part->rank, xfer->part->path->name,
             stuck ? ", whose notification waits until the target has room (TERN_NOTIFY_QUEUE, TERN_NOTIFY_KEEP)" : "");
}

#define COMPOUNDS_AHEAD 256 /* compounds to one rank, each of which may notify the rank when it ends */

bool tern_core_ctx_is_stuck(const struct tern_ctx *ctx, int rank)
{
    int64_t n = 0;

    for (const struct tern_compound *compound = ctx->compounds; compound; compound = compound->next)
        if (compound->pending->op.xfer.part->rank == rank &&
            (compound->notify_blocked || ++n >= COMPOUNDS_AHEAD || n >= tern_opt.notify_queue))
            return true;
    return false;
}

tern_status tern_core_ctx_failed(struct tern_ctx *ctx, const char *what)
{
    tern_status st = ctx->failed;

    if (TERN_UNLIKELY(ctx->engine != NULL) && st == TERN_OK)
        st = ctx->engine->failed(ctx->engine, ctx->failed_op, sizeof(ctx->failed_op));
    ctx->failed = TERN_OK;
    return st < 0 ? tern_base_fail(st, "%s: an earlier %s failed", what, ctx->failed_op) : TERN_OK;
}

/* Return whether all inline payload is in its destination. help: copy it there on behalf of the target. Usually the
 * target is about to do so itself, which costs less. */
static bool is_placed(struct tern_ctx *ctx, bool help)
{
    if (ctx->inline_unflushed && tern_core_links_notify_flushed(help))
        ctx->inline_unflushed = false;
    return !ctx->inline_unflushed;
}

bool tern_core_ctx_flush(struct tern_ctx *ctx)
{
    tern_core_ctx_progress(ctx);
    return !tern_core_ctx_has_outstanding(ctx) && is_placed(ctx, true);
}

struct drain {
    struct tern_ctx *ctx;
    const char      *what;
    unsigned         patience; /* polls before payload is copied on behalf of the target */
    bool             retires;  /* the context is about to be closed */
};

static tern_status tagged_retire(struct tern_ctx *ctx)
{
    return ctx->tagged ? ctx->tagged->retire(ctx) : TERN_OK;
}

static tern_status drain_poll(void *arg)
{
    struct drain *drain = arg;

    tern_core_ctx_progress(drain->ctx);
    if (tern_core_ctx_has_outstanding(drain->ctx))
        return TERN_PENDING;
    if (is_placed(drain->ctx, drain->patience == 0))
        return drain->retires ? tagged_retire(drain->ctx) : TERN_OK;
    drain->patience -= drain->patience > 0;
    return TERN_PENDING;
}

static void drain_describe(void *arg, char *text, size_t size)
{
    struct drain *drain = arg;
    char          op[220] = "target to put in place what came with a notification";
    bool          tagged = false;

    if (drain->ctx->outstanding)
        tern_core_pending_describe(drain->ctx->outstanding, op, sizeof(op));
    else if (tern_core_ctx_has_outstanding(drain->ctx))
        drain->ctx->engine->describe(drain->ctx->engine, op, sizeof(op));
    else if ((tagged = drain->retires && drain->ctx->tagged && !drain->ctx->inline_unflushed))
        drain->ctx->tagged->describe(drain->ctx, op, sizeof(op));
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

bool tern_core_ctx_has_earlier(const struct tern_ctx *ctx, int rank)
{
    if (ctx->order != TERN_STRICT)
        return false;
    for (const struct tern_pending *p = ctx->outstanding; p; p = p->next)
        if (p->op.xfer.part->rank == rank)
            return true;
    return false;
}

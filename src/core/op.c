/* op.c: the life of an operation after its start, and events, which are tagged pointers to operations. See op.h.
 *
 * Operations of the usual size come from a pool that the context keeps until it is closed, so that an operation
 * allocates memory only when more operations are outstanding than ever before. */
#include "core/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "core/context.h"
#include "core/job.h"
#include "core/shared.h"

const struct tern_link_part tern_core_op_nowhere = { .rank = -1 };

/* ---- memory ---- */

void tern_core_op_init(struct tern_op *op, struct tern_ctx *ctx, const struct tern_op_kind *kind, const char *call)
{
    memset((char *)op + sizeof(op->link), 0, sizeof(*op) - sizeof(op->link));
    op->link.copied = 0;
    op->kind = kind;
    op->ctx = ctx;
    op->progress = ctx->handle;
    op->call = call;
    op->memory = TERN_OP_ON_STACK;
}

struct tern_op *tern_core_op_new(struct tern_ctx *ctx, const struct tern_op_kind *kind, const char *call)
{
    struct tern_op *op = tern_base_pool_get(&ctx->ops);

    if (!op)
        return NULL;
    tern_core_op_init(op, ctx, kind, call);
    op->memory = TERN_OP_POOLED;
    return op;
}

void *tern_core_op_alloc(struct tern_ctx *ctx, size_t bytes, const struct tern_op_kind *kind, const char *call)
{
    struct tern_op *op = malloc(bytes);

    if (!op)
        return NULL;
    tern_core_op_init(op, ctx, kind, call);
    tern_base_list_init(&op->node);
    op->memory = TERN_OP_HEAP;
    return op;
}

/* Free the text of the error of an operation, which may be on the list of held operations. */
static __attribute__((cold, noinline)) void forget_reason(struct tern_op *op)
{
    free(op->reason);
    op->explained = false;
    tern_base_list_remove(&op->node);
}

void tern_core_op_drop(struct tern_op *op)
{
    if (TERN_UNLIKELY(op->trigger != NULL)) {
        tern_op_parked_release(op);
        return;
    }
    if (op->kind->release)
        op->kind->release(op);
    if (TERN_UNLIKELY(op->explained))
        forget_reason(op);
    if (TERN_LIKELY(op->memory == TERN_OP_POOLED)) {
        tern_base_pool_put(&op->ctx->ops, op);
    } else if (op->memory == TERN_OP_HEAP) {
        tern_base_list_remove(&op->node); /* of the held ones, if it is there */
        free(op);
    }
}

/* ---- outstanding ---- */

/* ---- outstanding operations of each region ----
 *
 * A context counts its outstanding operations by region, so that a region with outstanding operations is not freed. The
 * thread that uses the context writes the counters; tern_region_free reads them in any thread. */

/* Make space for the counter of a region. Without memory, its operations are counted as those of no region (0). */
static __attribute__((cold, noinline)) void count_more(struct tern_ctx *ctx, uint32_t number)
{
    uint32_t          capacity = (uint32_t)tern_base_round_up(number + 1, 16);
    _Atomic uint32_t *wider = calloc(capacity, sizeof(*wider));

    pthread_mutex_lock(&tern_job.lock); /* readers hold it */
    for (uint32_t i = 0; wider && i < ctx->in_regions; i++)
        atomic_init(&wider[i], atomic_load_explicit(&ctx->in_region[i], memory_order_relaxed));
    if (wider) {
        free((void *)ctx->in_region);
        ctx->in_region = wider;
        ctx->in_regions = capacity;
    }
    pthread_mutex_unlock(&tern_job.lock);
}

static inline void count_add(struct tern_ctx *ctx, uint32_t number, uint32_t add)
{
    /* relaxed: one writer; a reader that must not miss an operation synchronizes with the writer otherwise */
    atomic_store_explicit(&ctx->in_region[number],
                          atomic_load_explicit(&ctx->in_region[number], memory_order_relaxed) + add,
                          memory_order_relaxed);
}

/* Count one more operation. Returns the number of the region for which it is counted. */
static inline uint32_t count_in(struct tern_ctx *ctx, uint32_t number)
{
    if (TERN_UNLIKELY(number >= ctx->in_regions))
        count_more(ctx, number);
    if (TERN_UNLIKELY(number == 0 || number >= ctx->in_regions))
        return 0;
    count_add(ctx, number, 1);
    return number;
}

uint32_t tern_core_ctx_in_region(const struct tern_ctx *ctx, uint32_t number)
{
    return number < ctx->in_regions ? atomic_load_explicit(&ctx->in_region[number], memory_order_relaxed) : 0;
}

void tern_core_op_enlist(struct tern_op *op)
{
    struct tern_ctx *ctx = op->ctx;

    op->region[0] = count_in(ctx, op->link.xfer.part->number);
    if (TERN_UNLIKELY(op->region[1] != 0))
        op->region[1] = count_in(ctx, op->region[1]);
    tern_base_list_push(&ctx->outstanding, &op->node);
    tern_core_ctx_set_direct(ctx);
    if (TERN_UNLIKELY(tern_core_op_is_compound(op))) {
        tern_base_list_append(&op->ctx->active, &op->active);
        tern_core_op_advance(op);
    }
}

__attribute__((cold, noinline)) void tern_core_op_keep_reason(struct tern_op *op)
{
    const char *text = tern_base_detail();

    if (!op->explained && text[0] != '\0' && (op->reason = strdup(text)))
        op->explained = true;
}

/* Remember the first error of an operation without an event, and whether only one rank is concerned. */
static __attribute__((cold, noinline)) void note_failure(const struct tern_op *op, tern_status status)
{
    struct tern_ctx *ctx = op->ctx;
    int              rank = op->link.xfer.part->rank;

    if (ctx->failed == TERN_OK) {
        ctx->failed = status;
        ctx->failed_rank = rank;
        tern_core_op_describe(op, ctx->failed_op, sizeof(ctx->failed_op));
        snprintf(ctx->failed_why, sizeof(ctx->failed_why), "%s%s", op->explained ? ": " : "",
                 op->explained ? op->reason : "");
    } else if (ctx->failed_rank != rank) {
        ctx->failed_rank = -1;
    }
}

/* End an outstanding operation. */
static void op_end(struct tern_op *op, tern_status status)
{
    struct tern_ctx *ctx = op->ctx;

    if (TERN_UNLIKELY(status < 0) && !op->kind->explain)
        tern_core_op_keep_reason(op);
    if (TERN_UNLIKELY(status == TERN_ERR_PEER) && !tern_core_op_is_marker(op)) /* a marker has no rank */
        /* The launcher must know of a death before the program does. */
        tern_core_job_is_gone(op->link.xfer.part->rank);
    tern_base_list_remove(&op->node);
    for (unsigned i = 0; i < 2; i++)
        if (op->region[i] != 0)
            count_add(ctx, op->region[i], UINT32_MAX);
    if (tern_core_op_is_compound(op))
        tern_base_list_remove(&op->active);
    tern_core_ctx_set_direct(ctx);
    ctx->ended++;
    if (TERN_UNLIKELY(op->trigger != NULL)) {
        tern_op_parked_ended(op, status);
        return;
    }
    op->status = status;
    if (TERN_UNLIKELY(op->implicit && status < 0))
        note_failure(op, status);
    if (op->events > 0 && (op->memory == TERN_OP_HEAP || TERN_UNLIKELY(op->explained)))
        tern_base_list_push(&ctx->held, &op->node);
    /* release: the status, and the last accesses but one. Pairs with tern_core_event_done() in a thread that shares the
     * context. */
    __atomic_store_n(&op->done, true, __ATOMIC_RELEASE);
    if (op->events == 0)
        tern_core_op_drop(op);
}

/* The second step has ended. */
static void step_end(struct tern_op *op, tern_status status)
{
    if (op->then->ended)
        op->then->ended(op);
    op_end(op, status);
}

/* Start the second step, unless the program has given up. */
static void step_start(struct tern_op *op)
{
    tern_status st = op->cancelled ? TERN_OK : op->then->start(op);

    op->blocked = st == TERN_AGAIN;
    op->step_started = st == TERN_PENDING;
    if (op->cancelled)
        op_end(op, TERN_OK);
    else if (st != TERN_AGAIN && st != TERN_PENDING)
        step_end(op, st);
}

void tern_core_op_advance(struct tern_op *op)
{
    if (op->transferred && !op->step_started)
        step_start(op);
    else if (!op->transferred && op->kind->advance)
        op->kind->advance(op);
}

/* The transfers have completed. Returns true if the second step is to be started. */
static bool is_step_next(struct tern_op *op, tern_status status)
{
    if (TERN_LIKELY(!op->then) || status < 0 || op->cancelled) {
        op_end(op, status);
        return false;
    }
    op->transferred = true;
    return true;
}

void tern_core_op_complete(struct tern_op *op, tern_status status)
{
    if (is_step_next(op, status))
        step_start(op);
}

void tern_core_op_done(struct tern_link_op *link, tern_status status)
{
    struct tern_op *op = (struct tern_op *)link;

    if (TERN_UNLIKELY(op->parent != NULL)) {
        op->parent->kind->ended(op->parent, op, status);
        tern_core_op_drop(op);
    } else if (op->step_started) {
        step_end(op, status);
    } else {
        is_step_next(op, status); /* the context starts it after the progress of the links */
    }
}

void tern_core_op_cancel_transfer(struct tern_op *op)
{
    unsigned link = op->link.xfer.part->link;

    tern_job.ops[link]->cancel(op->ctx->lane[link], &op->link);
}

void tern_core_op_cancel(struct tern_op *op)
{
    op->cancelled = true;
    if (op->transferred && !op->step_started)
        return;
    if (op->kind->cancel && !op->transferred)
        op->kind->cancel(op);
    else
        tern_core_op_cancel_transfer(op);
}

void tern_core_op_describe(const struct tern_op *op, char *text, size_t size)
{
    const struct tern_xfer *xfer = &op->link.xfer;

    if (op->trigger)
        tern_op_parked_describe(op, text, size);
    else if (op->kind->describe)
        op->kind->describe(op, text, size);
    else
        snprintf(text, size, "%s of %zu bytes at offset %llu of rank %d, by %s%s",
                 xfer->what ? xfer->what : (xfer->get ? "get" : "put"), xfer->len, (unsigned long long)xfer->offset,
                 xfer->part->rank, xfer->part->path->name, op->blocked ? op->then->blocked : "");
}

/* ---- progress ---- */

void tern_core_ctx_advance(struct tern_ctx *ctx)
{
    for (unsigned i = 0; tern_core_ctx_has_ops(ctx) && i < tern_job.links; i++)
        tern_job.ops[i]->progress(ctx->lane[i]);
    TERN_LIST_EACH(struct tern_op, op, &ctx->active, active)
        tern_core_op_advance(op);
}

/* ---- events ---- */

#define LOCAL_BIT ((uintptr_t)1)

struct tern_op *tern_core_event_op(const tern_event *event)
{
    return (struct tern_op *)((uintptr_t)event->pending & ~LOCAL_BIT);
}

tern_event tern_core_event_make(struct tern_op *op, bool local)
{
    return (tern_event){ (struct tern_pending *)((uintptr_t)op | (local ? LOCAL_BIT : 0)) };
}

bool tern_core_op_is_source_free(const struct tern_op *op)
{
    /* Of a parked operation only the end is known. */
    return !op->trigger && !op->link.xfer.get && (op->transferred || op->link.copied == op->link.xfer.len);
}

/* Return whether the source of an operation is free, whichever thread advances the operation. */
static bool is_locally_complete(const struct tern_op *op)
{
    bool is_free;

    if (TERN_LIKELY(!op->progress->inner))
        return tern_core_op_is_source_free(op);
    tern_core_shared_lock(op->progress->inner);
    is_free = op->done || tern_core_op_is_source_free(op);
    tern_core_shared_unlock(op->progress->inner);
    return is_free;
}

bool tern_core_event_done(const tern_event *event)
{
    struct tern_op *op = tern_core_event_op(event);
    bool            local = ((uintptr_t)event->pending & LOCAL_BIT) != 0;

    /* acquire: the status, if another thread set it. Pairs with the release in op/notify/notify.c, end_event(), and in
     * op_end(). */
    if (!op || __atomic_load_n(&op->done, __ATOMIC_ACQUIRE) || (local && is_locally_complete(op)))
        return true;
    if (TERN_LIKELY(op->kind->look == NULL))
        return false;
    op->done = op->kind->look(op);
    return op->done;
}

static tern_status event_take(tern_event *event);

/* Take an event of a shared context: other threads may end the operation, or take its other event. */
static __attribute__((cold, noinline)) tern_status event_take_shared(tern_event *event, struct tern_ctx *inner)
{
    tern_status st;

    tern_core_shared_lock(inner);
    st = event_take(event);
    tern_core_shared_unlock(inner);
    return st;
}

tern_status tern_core_event_test(tern_event *event)
{
    struct tern_op *op = tern_core_event_op(event);

    if (!tern_core_event_done(event))
        return TERN_PENDING;
    if (!op)
        return TERN_OK;
    return TERN_LIKELY(!op->progress->inner) ? event_take(event) : event_take_shared(event, op->progress->inner);
}

/* Empty a complete event, and return the status of its operation. */
static tern_status event_take(tern_event *event)
{
    struct tern_op *op = tern_core_event_op(event);
    tern_status     st;

    st = op->done ? op->status : TERN_OK;
    if (TERN_UNLIKELY(st < 0)) {
        char text[160];

        if (!op->kind->explain)
            tern_core_op_describe(op, text, sizeof(text));
        op->kind->explain
            ? tern_base_fail(st, "%s", op->kind->explain(op))
            : tern_base_fail(st, "the %s failed%s%s", text, op->explained ? ": " : "", op->explained ? op->reason : "");
    }
    event->pending = NULL;
    if (--op->events == 0 && op->done)
        tern_core_op_drop(op);
    return st;
}

/* tagged.c: the tagged state of a context, and leaving the job. */
#include "op/tagged/tagged.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wait.h"

#define PER_SLAB 32u

struct tern_tagged_slab {
    struct tern_tagged_slab *next;
    struct tern_request      request[PER_SLAB];
};

/* Iterate over all requests of a context, used and unused. */
#define EACH_REQUEST(request, tagged)                                                  \
    for (struct tern_tagged_slab *slab_ = (tagged)->slabs; slab_; slab_ = slab_->next) \
        for (struct tern_request *request = slab_->request; request < slab_->request + PER_SLAB; request++)

static void want_attention(struct tern_ctx *ctx)
{
    /* relaxed: the context's own thread reads the flag, or the lock orders it */
    atomic_store_explicit(&ctx->attention, true, memory_order_relaxed);
}

static bool tagged_make(struct tern_ctx *ctx)
{
    size_t              ranks = (size_t)tern_job.boot.ranks;
    struct tern_tagged *tagged = calloc(1, sizeof(*tagged) + ranks * sizeof(tagged->peer[0]));

    if (!tagged)
        return false;
    tern_base_list_init(&tagged->queue);
    tern_base_list_init(&tagged->matched);
    /* release: the tagged state before the pointer. Pairs with the read in a child that fork creates now
     * (core/fork.c). */
    __atomic_store_n(&ctx->tagged, tagged, __ATOMIC_RELEASE);
    return true;
}

bool tern_op_request_make(struct tern_ctx *ctx)
{
    struct tern_tagged_slab *slab;

    if (ctx->gone || ctx->inner || (!ctx->tagged && !tagged_make(ctx)))
        return false;
    EACH_REQUEST(request, ctx->tagged)
    {
        if (tern_op_request_state(request) == TERN_REQUEST_DONE && request->watch & TERN_REQUEST_ORPHAN)
            tern_op_request_drop(request);
    }
    if (ctx->tagged->unused)
        return true;
    if (!(slab = aligned_alloc(_Alignof(struct tern_tagged_slab), sizeof(*slab))))
        return false;
    memset(slab, 0, sizeof(*slab));
    slab->next = ctx->tagged->slabs;
    /* release: the slab before the list shows it. Pairs with the walk in a child that fork creates now. */
    __atomic_store_n(&ctx->tagged->slabs, slab, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < PER_SLAB; i++) {
        slab->request[i].ctx = ctx;
        tern_op_request_drop(&slab->request[i]);
    }
    return true;
}

/* ---- deaths ---- */

/* Return whether only dead ranks could complete the request, possibly with a message that was sent before the death. */
static bool is_doomed(const struct tern_request *request)
{
    struct tern_match_name name = tern_op_request_name(request);

    if (tern_op_request_state(request) != TERN_REQUEST_ACTIVE)
        return false;
    return request->kind == TERN_REQUEST_RECV ? tern_op_tagged_senders_dead(request->ctx, &name)
                                              : tern_core_job_lost(request->peer);
}

void tern_op_request_doomed(struct tern_request *request)
{
    request->ctx->tagged->doomed = true;
    want_attention(request->ctx);
}

/* Complete the requests that wait for dead ranks. Returns true if a message in flight from a dead rank may still
 * complete one of them, so that the requests must be checked again. */
static bool end_doomed(struct tern_tagged *tagged)
{
    bool again = false;

    EACH_REQUEST(request, tagged)
    {
        again |= is_doomed(request) && !tern_op_request_hopeless(request);
    }
    return again;
}

/* ---- the context ---- */

/* Return whether matched receives are waiting to be started. */
static bool has_matched(const struct tern_tagged *tagged)
{
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock), some = !tern_base_list_empty(&tagged->matched);

    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return some;
}

void tern_op_tagged_advance(struct tern_ctx *ctx)
{
    struct tern_tagged *tagged = ctx->tagged;
    uint32_t            losses;

    /* Clear the flag before taking the work that it announces. acquire: deaths; pairs with tern_core_job_mark_dead().
     * The lock orders everything else. */
    (void)atomic_exchange_explicit(&ctx->attention, false, memory_order_acquire);
    if (has_matched(tagged))
        tern_op_tagged_rndv_start(ctx);
    if (!tern_base_list_empty(&tagged->queue))
        tern_op_tagged_progress_sends(tagged);
    if (TERN_UNLIKELY(atomic_load_explicit(&tagged->assists, memory_order_relaxed) > 0)) /* a hint */
        tern_op_tagged_help(ctx);
    losses = atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed);
    if (TERN_UNLIKELY(losses != tagged->losses || tagged->doomed)) {
        tagged->losses = losses;
        tagged->doomed = end_doomed(tagged);
    }
    if (!tern_base_list_empty(&tagged->queue) || tagged->doomed ||
        atomic_load_explicit(&tagged->assists, memory_order_relaxed) > 0)
        want_attention(ctx);
}

/* Describe a finished send or receive, which may have matched no message. */
static void describe_ended(const struct tern_request *request, char *text, size_t size)
{
    struct tern_match_name name = tern_op_request_name(request);
    bool                   recv = request->kind == TERN_REQUEST_RECV, matched = request->source >= 0;
    char                   peer[32] = "any rank";

    if (matched || !tern_op_match_any_source(&name))
        snprintf(peer, sizeof(peer), "rank %d of the job", matched ? request->source : request->peer);
    snprintf(text, size, "%s of %s%" PRIu64 " bytes %s %s", recv ? "receive" : "send", matched ? "" : "at most ",
             matched ? request->len : request->size, recv ? "from" : "to", peer);
}

/* If no message of the context is outstanding, withdraw the receives that are not matched, and record the first failure
 * that was not reported to the program. */
tern_status tern_op_tagged_retire(struct tern_ctx *ctx)
{
    bool alone, idle;

    if (tern_op_tagged_has_probed(ctx))
        return tern_base_fail(TERN_ERR_STATE, "tern_ctx_free: a message that a matched probe of the context has found "
                                              "was not received; receive it with tern_mrecv first");
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    if ((idle = ctx->tagged->ops == 0)) {
        EACH_REQUEST(request, ctx->tagged)
        {
            if (!tern_op_request_take_back(request, TERN_ERR_CANCELLED) &&
                tern_op_request_state(request) == TERN_REQUEST_DONE && request->status < 0 &&
                !(request->watch & TERN_REQUEST_ORPHAN) && ctx->failed == TERN_OK) {
                ctx->failed = request->status;
                describe_ended(request, ctx->failed_op, sizeof(ctx->failed_op));
                ctx->failed_why[0] = '\0';
            }
        }
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return idle ? TERN_OK : TERN_PENDING;
}

/* Describe an operation that delays the closing of a context: the first active send, or else a fetch. */
void tern_op_tagged_describe(const struct tern_ctx *ctx, char *text, size_t size)
{
    EACH_REQUEST(request, ctx->tagged)
    {
        if (tern_op_request_state(request) == TERN_REQUEST_ACTIVE && request->kind != TERN_REQUEST_RECV) {
            tern_op_request_describe(request, text, size);
            return;
        }
    }
    snprintf(text, size, "to fetch the data of a tagged message");
}

/* Clean up a request of a context that is closed without having retired, because tern_finalize gave up. */
static void request_close(struct tern_request *request)
{
    bool     alone = tern_base_biased_lock(&tern_op_tagged_lock);
    uint64_t unfetched = 0;

    if (request->op && request->kind != TERN_REQUEST_RECV) {
        tern_op_tagged_unsend(request->op);
    } else if (request->op) {
        unfetched = request->op->id;
        tern_op_tagged_op_free(request->op);
    }
    tern_op_tagged_unpost(request);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    if (unfetched != 0)
        (void)tern_op_tagged_send_fin(request, unfetched, TERN_ERR_PEER); /* the sender waits for a FIN */
}

void tern_op_tagged_disable(struct tern_ctx *ctx)
{
    EACH_REQUEST(request, ctx->tagged)
    {
        tern_op_request_set(request, TERN_REQUEST_IDLE); /* a call that finds an idle request checks the context */
        request->persistent = false;
    }
    ctx->tagged->unused = NULL;
}

void tern_op_tagged_release(struct tern_ctx *ctx)
{
    struct tern_tagged *tagged = ctx->tagged;

    EACH_REQUEST(request, tagged)
    {
        request_close(request);
    }
    tern_op_tagged_disable(ctx);
    ctx->requests = tagged->slabs;
    ctx->tagged = NULL;
    atomic_signal_fence(memory_order_seq_cst); /* a child that fork creates now finds no pointer to freed memory */
    free(tagged);
}

void tern_op_tagged_forget_requests(struct tern_ctx *ctx)
{
    while (ctx->requests) {
        struct tern_tagged_slab *slab = ctx->requests;

        ctx->requests = slab->next;
        free(slab);
    }
}

/* ---- leaving the job ---- */

static tern_status leave_poll(void *arg)
{
    bool left = tern_op_tagged_forget();

    (void)arg;
    TERN_LIST_EACH(struct tern_ctx, ctx, &tern_job.contexts, node) {
        tern_core_ctx_progress(ctx);
        left &= !ctx->tagged || (tern_base_list_empty(&ctx->tagged->queue) && !has_matched(ctx->tagged));
    }
    return left ? TERN_OK : TERN_PENDING;
}

static void leave_describe(void *arg, char *text, size_t size)
{
    (void)arg;
    snprintf(
        text, size,
        "tern_finalize waits for room for tagged messages that have not left, or to fetch those that were matched");
}

tern_status tern_op_tagged_leave(void)
{
    struct tern_wait wait = { .poll = leave_poll, .describe = leave_describe, .deadline = tern_core_job_deadline() };

    return tern_core_wait(&wait);
}

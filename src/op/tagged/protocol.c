/* protocol.c: the choice of the protocol of each message, and the receiver's part of a protocol.
 *
 * A matched receive whose sender waits for a FIN is an operation (core/op.h) on the engine's context until the FIN has
 * been sent. It therefore makes progress like a triggered operation: in any thread that makes progress for
 * the receive's context, and in the helper thread while the program computes. The caller of every function here holds
 * the engine's lock, except for the functions that choose a protocol, tern_op_tagged_matched(),
 * tern_op_tagged_rndv_start() and tern_op_tagged_has_helper().
 */
#include <stdio.h>

#include "base/options.h"
#include "op/tagged/tagged.h"
#include "op/trigger/helper.h"

/* ---- the choice ---- */

uint64_t tern_op_tagged_eager_max;

size_t tern_op_tagged_longest(int rank)
{
    return tern_core_ops_to(rank)->msg->max_data(tern_core_link_to(rank), rank, TERN_CHANNEL_TAGGED) -
           sizeof(struct tern_mem_handle);
}

/* The eager limit for messages to the rank. The link's queue holds several messages of this size, so that one can be
 * copied in while others are copied out. */
static size_t eager_most(int rank)
{
    size_t most = tern_op_tagged_longest(rank) / 8 * 3;

    return tern_opt.msg_eager < most ? tern_opt.msg_eager : most;
}

void tern_op_tagged_joined(void)
{
    tern_op_tagged_eager_max = tern_opt.msg_eager;
    for (int rank = 0; rank < tern_job.boot.ranks; rank++)
        if (eager_most(rank) < tern_op_tagged_eager_max)
            tern_op_tagged_eager_max = eager_most(rank);
}

const struct tern_tagged_protocol *tern_op_tagged_choose(int rank, size_t len, bool sync)
{
    if (TERN_LIKELY(len <= wire_tagged_room(sync)))
        return &tern_tagged_inline;
    return len <= eager_most(rank) ? &tern_tagged_eager : &tern_tagged_rndv;
}

/* Choose how the receiver gets the rest of a message, and prepare it. */
static const struct tern_tagged_protocol *choose_fetch(struct tern_tagged_op *op)
{
    if (op->fetched >= op->want)
        return &tern_tagged_eager;
    tern_op_tagged_fail(op, tern_op_tagged_attach(op));
    return tern_op_tagged_split(op) ? &tern_tagged_assist : &tern_tagged_rndv;
}

/* ---- the receiver's operation ---- */

void tern_op_tagged_matched(struct tern_tagged_op *op)
{
    struct tern_ctx *ctx = op->request->ctx;

    tern_base_list_append(&ctx->tagged->matched, &op->node);
    atomic_store_explicit(&ctx->attention, true, memory_order_relaxed); /* the lock orders it */
    if (op->request->watch & TERN_REQUEST_WISHED &&
        atomic_load_explicit(&tern_bias.revoked, memory_order_relaxed)) /* a hint */
        tern_op_helper_wake(); /* the delivering thread may not be the context's thread, which may be computing */
}

/* Send the FIN after the data was fetched. Returns false if it must be retried later. */
static bool send_fin(struct tern_tagged_op *op)
{
    tern_status status = tern_op_tagged_has_failed(op) ? op->request->status : TERN_OK;

    return tern_op_tagged_send_fin(op->request->source, op->id, status) != TERN_AGAIN;
}

/* Complete a receive whose FIN has been sent. */
static void end(struct tern_tagged_op *op)
{
    bool                 alone = tern_base_biased_lock(&tern_op_tagged_lock); /* the request may be an orphan */
    struct tern_request *request = op->request;

    tern_op_tagged_op_free(op);
    tern_op_request_end(request, request->status);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

static void fetch_advance(struct tern_op *fetch)
{
    struct tern_tagged_op *op = fetch->data;

    if (!op->protocol->fetch(op))
        return;
    op->protocol->stop(op);
    if (!send_fin(op))
        return;
    tern_core_op_complete(fetch, TERN_OK); /* the request has its own status */
    tern_op_engine_busy_dec(op->request->ctx->engine);
    end(op);
}

static void fetch_ended(struct tern_op *fetch, struct tern_op *transfer, tern_status status)
{
    struct tern_tagged_op *op = fetch->data;

    (void)transfer;
    op->in_flight--;
    tern_op_tagged_fail(op, status);
}

/* The fetch has ended, or the context is closed. */
static void fetch_release(struct tern_op *fetch)
{
    struct tern_tagged_op *op = fetch->data;

    op->protocol->stop(op);
}

static void fetch_describe(const struct tern_op *fetch, char *text, size_t size)
{
    const struct tern_tagged_op *op = fetch->data;

    snprintf(text, size, "receive of a tagged message of rank %d by %s", op->part.rank, op->protocol->name);
}

static const struct tern_op_kind fetch_kind = {
    .advance = fetch_advance, .ended = fetch_ended, .describe = fetch_describe, .release = fetch_release
};

/* End a receive whose data cannot be fetched, and send the FIN. If the FIN cannot be sent now, the receive returns to
 * the list of matched receives, and this function is called again when its context makes progress. */
static void give_up(struct tern_tagged_op *op, tern_status st)
{
    bool alone;

    tern_op_tagged_fail(op, st);
    if (send_fin(op)) {
        end(op);
        return;
    }
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    tern_op_tagged_matched(op);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

static void start(struct tern_engine *engine, struct tern_tagged_op *op)
{
    const struct tern_request *request = op->request;

    op->want = request->len < request->size ? request->len : request->size;
    op->part = (struct tern_link_part){ .rank = request->source, .link = tern_job.peer_link[request->source] };
    op->protocol = choose_fetch(op);
    tern_core_op_init(&op->fetch, engine->ctx, &fetch_kind, "tern_recv");
    op->fetch.data = op;
    op->fetch.link.xfer = (struct tern_xfer){ .part = &op->part, .len = op->want, .get = true };
    tern_op_engine_busy_inc(engine);
    tern_core_op_enlist(&op->fetch);
}

/* Take the matched receives of a context. */
static void take_matched(struct tern_tagged *tagged, struct tern_list *out)
{
    bool              alone = tern_base_biased_lock(&tern_op_tagged_lock);
    struct tern_list *node;

    tern_base_list_init(out);
    while ((node = tern_base_list_pop(&tagged->matched))) {
        tern_op_request_wish(TERN_LIST_ITEM(node, struct tern_tagged_op, node)->request, false);
        tern_base_list_append(out, node);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

/* Start the matched receives of a context, or give them up if there is no engine. */
static bool start_all(struct tern_engine *engine, struct tern_tagged *tagged, tern_status st)
{
    struct tern_list matched, *node;
    bool             any = false;

    take_matched(tagged, &matched);
    for (; (node = tern_base_list_pop(&matched)); any = true) {
        struct tern_tagged_op *op = TERN_LIST_ITEM(node, struct tern_tagged_op, node);

        if (TERN_LIKELY(engine && !tern_op_tagged_has_failed(op)))
            start(engine, op);
        else
            give_up(op, st);
    }
    return any;
}

bool tern_op_tagged_rndv_start_for(struct tern_engine *engine, struct tern_tagged *tagged)
{
    return start_all(engine, tagged, TERN_OK);
}

/* Make sure that the context has an engine. */
static tern_status need_engine(struct tern_ctx *ctx)
{
    tern_status st = ctx->engine ? TERN_OK : tern_op_engine_open(ctx);

    if (st == TERN_OK)
        /* release: the context's tagged state. Pairs with the helper thread. */
        atomic_store_explicit(&ctx->engine->tagged, ctx->tagged, memory_order_release);
    return st;
}

void tern_op_tagged_rndv_start(struct tern_ctx *ctx)
{
    tern_status         st = need_engine(ctx);
    struct tern_engine *engine = ctx->engine;

    if (engine)
        pthread_mutex_lock(&engine->lock);
    start_all(engine, ctx->tagged, st);
    if (engine)
        pthread_mutex_unlock(&engine->lock);
}

bool tern_op_tagged_has_helper(struct tern_ctx *ctx)
{
    return need_engine(ctx) == TERN_OK && tern_op_helper_start() == TERN_OK;
}

/* rndv.c: the receiver's part of a message whose sender waits for a FIN: fetching the data, and the FIN.
 *
 * Such a receive is an operation (core/op.h) on the engine's context, from its match until the FIN has been sent. It
 * therefore makes progress like a triggered operation: in any thread that makes progress for the receive's context, and
 * in the helper thread while the program computes.
 *
 * The sender's memory is a part of a region that both ranks have, or the receiver of an RTS attaches it like a part.
 * The receiver fetches up to TERN_MSG_CHUNKED bytes with one get, and more bytes with gets of TERN_MSG_CHUNK bytes, of
 * which at most TERN_MSG_WINDOW are in flight. A message therefore uses the network only as fast as the receiver's
 * memory takes the data. Chunks may land in any order. On a path whose gets complete immediately, at most one window of
 * gets is made before other work is polled. If the sender can help, both ranks copy instead (rndv_assist.c).
 *
 * The callers of all functions in this file hold the engine's lock, except for tern_op_tagged_reach(),
 * tern_op_tagged_matched(), tern_op_tagged_rndv_start() and tern_op_tagged_has_helper(). */
#include <stdio.h>

#include "base/bits.h"
#include "base/options.h"
#include "core/links.h"
#include "core/region.h"
#include "op/tagged/tagged.h"
#include "op/trigger/helper.h"

/* ---- the sender's memory ---- */

/* Find the part of a region that both ranks have. */
static tern_status find_part(struct tern_tagged_op *op)
{
    const struct tern_mem_handle *handle = &op->handle;
    int                           source = op->request->source;

    if (!tern_core_region_named(handle->region, source, &op->part) || !op->part.path ||
        !tern_base_covers(op->part.size, handle->offset, handle->size))
        return tern_base_fail(TERN_ERR_LINK, "rank %d offered a message in a region that this rank has not", source);
    op->begin = handle->offset;
    return TERN_OK;
}

tern_status tern_op_tagged_reach(int rank, const struct tern_mem_handle *handle, struct tern_link_part *part)
{
    *part = (struct tern_link_part){ .rank = rank,
                                     .link = tern_job.peer_link[rank],
                                     .size = handle->size,
                                     .addr = handle->addr,
                                     .offset = handle->offset,
                                     .mem_kind = handle->mem_kind,
                                     .region = handle->region,
                                     .pid = handle->pid };
    return tern_core_links_attach(part->link, handle, "", part);
}

bool tern_op_tagged_rndv_attach(struct tern_tagged_op *op)
{
    uint64_t    left = op->want - op->fetched;
    tern_status st;

    op->chunk = left > tern_opt.msg_chunked ? tern_opt.msg_chunk : left;
    if (op->handle.region & WIRE_TAGGED_OWN) {
        st = tern_op_tagged_reach(op->request->source, &op->handle, &op->part);
        op->attached = st == TERN_OK;
    } else {
        st = find_part(op);
    }
    tern_op_tagged_fail(op, st);
    return st == TERN_OK;
}

void tern_op_tagged_rndv_stop(struct tern_tagged_op *op)
{
    if (op->attached)
        tern_job.ops[op->part.link]->detach(tern_job.link[op->part.link], &op->part);
    op->attached = false;
}

/* ---- gets ---- */

static const struct tern_op_kind chunk_kind = { .start = NULL }; /* the kind of one get, whose parent is the fetch */

tern_status tern_op_tagged_get(struct tern_tagged_op *op, uint64_t at, uint64_t len)
{
    const struct tern_link_path *path = op->part.path;
    struct tern_ctx             *ctx = op->request->ctx->engine->ctx;
    struct tern_xfer             xfer = { .part = &op->part,
                                          .offset = op->begin + at,
                                          .local = (unsigned char *)op->request->buffer + at,
                                          .len = len,
                                          .get = true,
                                          .what = "get of a tagged message" };
    struct tern_op              *transfer = NULL;
    tern_status                  st;

    if (!path->instant) {
        if (!(transfer = tern_core_op_new(ctx, &chunk_kind, "tern_recv")))
            return TERN_ERR_NOMEM;
        transfer->parent = &op->fetch;
        transfer->link.xfer = xfer;
    }
    st = path->start(ctx->lane[op->part.link], &xfer, transfer ? &transfer->link : NULL);
    if (transfer && st != TERN_PENDING)
        tern_core_op_drop(transfer);
    op->in_flight += st == TERN_PENDING;
    return st;
}

/* Start as many gets as flow control permits. There are none if all data came with the RTS. */
bool tern_op_tagged_rndv_fetch(struct tern_tagged_op *op)
{
    uint32_t now = 0, window = (uint32_t)tern_opt.msg_window; /* now: gets that completed immediately */

    while (op->fetched < op->want && !tern_op_tagged_has_failed(op)) {
        uint64_t    left = op->want - op->fetched, len = left < op->chunk ? left : op->chunk;
        tern_status st;

        if (op->in_flight >= window)
            return false;
        if (now == window) {
            tern_core_message_keep_awake(); /* no bell will ring for the remaining gets */
            return false;
        }
        if ((st = tern_op_tagged_get(op, op->fetched, len)) == TERN_AGAIN)
            return false;
        tern_op_tagged_fail(op, st);
        op->fetched += len;
        now += st == TERN_OK;
    }
    return op->in_flight == 0;
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

    return tern_op_tagged_send_fin(op->request, op->id, status) != TERN_AGAIN;
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

/* Release the fetch, which has ended, or whose context is closed. */
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
    op->protocol = tern_op_tagged_choose_fetch(op);
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

bool tern_op_tagged_start_matched(struct tern_engine *engine, struct tern_tagged *tagged, tern_status st)
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
    tern_op_tagged_start_matched(engine, ctx->tagged, st);
    if (engine)
        pthread_mutex_unlock(&engine->lock);
}

bool tern_op_tagged_has_helper(struct tern_ctx *ctx)
{
    return need_engine(ctx) == TERN_OK && tern_op_helper_start() == TERN_OK;
}

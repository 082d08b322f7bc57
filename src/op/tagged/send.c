/* send.c: sends: the three kinds of messages, their order, the queue of sends that have found no space, and the FINs of
 * receivers.
 *
 *   inline   up to 32 bytes: the data is in the head of a link message, which is one cache line
 *   eager    up to TERN_MSG_EAGER bytes: the data is copied into the data area of the link's queue
 *   RTS      longer: the sender exposes its buffer to the receiver's link and sends an RTS, which contains the memory
 *            handle and the first bytes; the receiver fetches the rest (rndv.c). The buffer stays exposed until the FIN
 *            arrives.
 *
 * An inline or eager send is complete when it was handed to the link. A longer send, and a synchronous send of any
 * length, waits for a FIN, which the receiver sends when it has the data. A FIN is an internal active message on the
 * reply channel, whose messages are always delivered. On the channel of tagged messages, a FIN behind messages that no
 * receive matches yet might never arrive. */
#include <string.h>

#include "base/options.h"
#include "core/helper.h"
#include "core/links.h"
#include "core/message.h"
#include "core/region.h"
#include "op/tagged/tagged.h"

/* ---- the choice of the kind of a message ---- */

uint64_t tern_op_tagged_eager_max;

/* Return the maximum length of the data behind a memory handle in one link message to the rank. */
static size_t longest(int rank)
{
    return tern_core_ops_to(rank)->msg->max_data(tern_core_link_to(rank), rank, TERN_CHANNEL_TAGGED) -
           sizeof(struct tern_mem_handle);
}

/* The link's queue holds several messages of this size, so that one can be copied in while others are copied out. */
size_t tern_op_tagged_eager_to(int rank)
{
    size_t most = longest(rank) / 8 * 3;

    return tern_opt.msg_eager < most ? tern_opt.msg_eager : most;
}

void tern_op_tagged_joined(void)
{
    tern_op_tagged_eager_max = tern_opt.msg_eager;
    for (int rank = 0; rank < tern_job.boot.ranks; rank++)
        if (tern_op_tagged_eager_to(rank) < tern_op_tagged_eager_max)
            tern_op_tagged_eager_max = tern_op_tagged_eager_to(rank);
}

/* Choose the kind of a message. sync: the sender waits for a FIN. */
static enum wire_tagged_kind choose(int rank, size_t len, bool sync)
{
    if (TERN_LIKELY(len <= wire_tagged_room(sync)))
        return WIRE_TAGGED_INLINE;
    return len <= tern_op_tagged_eager_to(rank) ? WIRE_TAGGED_EAGER : WIRE_TAGGED_RTS;
}

/* ---- inline ---- */

tern_status tern_op_tagged_inject_bytes(const struct tern_tagged_peer *flow, uint32_t scope, uint64_t tag,
                                        const void *buf, size_t len)
{
    return tern_op_tagged_push(flow, scope, tag, buf, len);
}

tern_status tern_op_tagged_ring(struct tern_slot *slot)
{
    tern_link_ring(slot);
    return TERN_OK;
}

/* Look up the direct-injection handle for the next short messages to the rank, if the link has such a handle. Called
 * after a short message was sent. */
static void find_inject(struct tern_ctx *ctx, int rank)
{
    struct tern_inject_tagged *inject;

    if (TERN_LIKELY(!tern_core_ops_to(rank)->inject) || (!ctx->tagged && !tern_op_request_make(ctx)))
        return;
    inject = &ctx->tagged->peer[rank].inject;
    if (!inject->producer)
        /* on failure the next message tries again */
        (void)tern_core_ops_to(rank)->inject->tagged(tern_core_link_to(rank), rank, inject);
}

static tern_status send_inline(struct tern_ctx *ctx, int rank, uint64_t tag, const void *data, size_t len,
                               struct tern_tagged_op *op)
{
    uint64_t    id = op ? op->id : 0;
    uint32_t    words[TERN_LINK_SHORT_ARGS];
    size_t      at = wire_tagged_at(id != 0) / sizeof(uint32_t) - 2; /* index after the first word */
    uint64_t    first = wire_tagged_first(WIRE_TAGGED_INLINE, len, id != 0, ctx->team->group->id);
    unsigned    used = (unsigned)(at + (len + 3) / sizeof(uint32_t));
    tern_status st;

    memcpy(words, &tag, sizeof(tag));
    memcpy(words + 2, &id, sizeof(id));
    if (len % sizeof(uint32_t) != 0)
        words[used - 1] = 0;
    tern_base_ring_copy_words((unsigned char *)(words + at), data, len);
    tern_base_order_before(
        &tern_op_tagged_lock); /* the FIN may arrive in any thread: pairs with tern_op_tagged_on_fin() */
    st =
        tern_core_ops_to(rank)->msg->send_short(tern_core_link_to(rank), rank, TERN_CHANNEL_TAGGED, first, words, used);
    if (st == TERN_OK)
        find_inject(ctx, rank);
    return st;
}

/* ---- eager, and RTS ---- */

/* Send a message with data: an eager message, or an RTS with the operation's memory handle. */
static tern_status send_data(struct tern_ctx *ctx, int rank, uint64_t tag, const void *data, size_t len,
                             const struct tern_tagged_op *op, enum wire_tagged_kind kind)
{
    const struct tern_link_ops *ops = tern_core_ops_to(rank);
    struct tern_link           *link = tern_core_link_to(rank);
    size_t                      before = kind == WIRE_TAGGED_RTS ? tern_link_handle_bytes(&op->handle) : 0;
    struct tern_link_msg        msg = { .peer = rank, .channel = TERN_CHANNEL_TAGGED };
    tern_status                 st = ops->msg->open(link, &msg, before + len, before + len);
    uint64_t                   *head;

    if (st != TERN_OK)
        return st;
    if (before > 0)
        memcpy(msg.data, &op->handle, before);
    if (len > 0)
        memcpy(msg.data + before, data, len);
    head = (uint64_t *)(void *)msg.head;
    head[0] = wire_tagged_first(kind, 0, op && op->id != 0, ctx->team->group->id);
    head[1] = tag;
    head[2] = op ? op->id : 0;
    head[3] = before > 0 ? op->request->size : 0;
    tern_base_order_before(&tern_op_tagged_lock); /* pairs with tern_op_tagged_on_fin() */
    ops->msg->send(link, &msg, before + len);
    return TERN_OK;
}

/* Fill in the memory handle if the buffer is in a region that the receiver has, too, so that the receiver already
 * reaches the buffer, on the same node by loads. Returns false if there is no such region. */
static bool handle_of_region(struct tern_tagged_op *op)
{
    const struct tern_request *request = op->request;
    uint64_t                   addr = (uint64_t)(uintptr_t)request->buffer;
    const struct tern_region *region = tern_core_region_covering(request->ctx, tern_job.boot.rank, addr, request->size);
    const struct tern_link_part *part = region ? &region->part[tern_job.boot.rank] : NULL;

    if (!region || region->part[request->peer].region == 0)
        return false;
    op->handle = (struct tern_mem_handle){
        .region = part->region, .size = request->size, .offset = addr - part->addr, .mem_kind = part->mem_kind
    };
    return true;
}

static tern_status expose(struct tern_tagged_op *op)
{
    static _Atomic uint64_t    offers;
    const struct tern_request *request = op->request;
    unsigned                   link = tern_job.peer_link[request->peer];
    tern_status                st;

    if (handle_of_region(op))
        return TERN_OK;
    op->handle = (struct tern_mem_handle){
        .region = WIRE_TAGGED_OWN | (uint64_t)tern_job.boot.rank << 40 | (atomic_fetch_add(&offers, 1) & 0xffffffffff),
        .addr = (uint64_t)(uintptr_t)request->buffer,
        .size = request->size,
        .probe = (uint64_t)(uintptr_t)&tern_link_probe,
        .mem_kind = TERN_MEM_PRIVATE,
        .pid = atomic_load(&tern_core_job_slot(tern_job.boot.rank)->pid),
    };
    st = tern_core_links_expose(link, &op->handle);
    /* The kernel may forbid a receiver on this node to read the memory itself. */
    if (st == TERN_OK && tern_job.ops[link]->maps && request->peer != tern_job.boot.rank)
        st = tern_core_service_start();
    if (st < 0)
        op->handle.size = 0;
    return st;
}

/* Revoke access to the send buffer, because the FIN has arrived or the send was withdrawn. */
static void conceal(struct tern_tagged_op *op)
{
    int peer = op->request->peer;

    if (op->handle.size > 0 && op->handle.region & WIRE_TAGGED_OWN)
        tern_core_ops_to(peer)->unexpose(tern_core_link_to(peer), op->handle.region);
    op->handle.size = 0;
}

static tern_status send_rts(struct tern_ctx *ctx, int rank, uint64_t tag, const void *data, size_t len,
                            struct tern_tagged_op *op)
{
    tern_status st = op->handle.size > 0 ? TERN_OK : expose(op);

    if (st < 0)
        return st;
    if (len > tern_opt.msg_first)
        len = tern_opt.msg_first;
    if (len > longest(rank))
        len = longest(rank);
    return send_data(ctx, rank, tag, data, len, op, WIRE_TAGGED_RTS);
}

/* Hand a message to the link. op is NULL for a message that completes with this call. Returns TERN_AGAIN if there is no
 * space. */
static inline tern_status transmit(struct tern_ctx *ctx, int rank, uint64_t tag, const void *data, size_t len,
                                   struct tern_tagged_op *op, enum wire_tagged_kind kind)
{
    if (TERN_LIKELY(kind == WIRE_TAGGED_INLINE))
        return send_inline(ctx, rank, tag, data, len, op);
    if (kind == WIRE_TAGGED_EAGER)
        return send_data(ctx, rank, tag, data, len, op, kind);
    return send_rts(ctx, rank, tag, data, len, op);
}

/* ---- starting and queueing ---- */

tern_status tern_op_tagged_send_now(struct tern_ctx *ctx, int rank, uint64_t tag, const void *buf, size_t len)
{
    enum wire_tagged_kind kind;

    if (TERN_UNLIKELY(ctx->tagged && ctx->tagged->peer[rank].queued > 0) || tern_core_ctx_must_follow(ctx, rank))
        return TERN_AGAIN;
    kind = choose(rank, len, false);
    return kind != WIRE_TAGGED_RTS ? transmit(ctx, rank, tag, buf, len, NULL, kind) : TERN_AGAIN;
}

/* Try to send the message of an operation now. Returns TERN_AGAIN if there is no space. After TERN_OK the FIN may have
 * freed the operation. */
static tern_status try_send(struct tern_tagged_op *op)
{
    const struct tern_request *request = op->request;

    if (TERN_UNLIKELY(tern_core_job_lost(request->peer)))
        return tern_base_fail(TERN_ERR_PEER, "rank %d is gone", request->peer);
    if (TERN_UNLIKELY(tern_core_ctx_must_follow(request->ctx, request->peer)))
        return TERN_AGAIN;
    return transmit(request->ctx, request->peer, request->match.tag, request->buffer, request->size, op, op->kind);
}

void tern_op_tagged_unsend(struct tern_tagged_op *op)
{
    if (op->queued)
        op->request->ctx->tagged->peer[op->request->peer].queued--;
    tern_op_tagged_help_end(op->request);
    conceal(op);
    tern_op_tagged_op_free(op);
}

/* Try to send the message of a queued operation. Returns TERN_AGAIN if there is no space; then the operation stays in
 * the queue. Otherwise the operation leaves the queue, and the request is complete unless a FIN completes it. */
static tern_status attempt(struct tern_tagged_op *op)
{
    struct tern_request *request = op->request;
    struct tern_list    *before = op->node.prev;
    bool                 wants_fin = op->id != 0, alone;
    tern_status          st;

    tern_base_list_remove(&op->node); /* the FIN, which frees the operation, may arrive at once */
    op->queued = false;
    if ((st = try_send(op)) == TERN_AGAIN) {
        op->queued = true;
        tern_base_list_insert(&op->node, before, before->next);
        return st;
    }
    request->ctx->tagged->peer[request->peer].queued--;
    if (st == TERN_OK && wants_fin)
        return st;
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    tern_op_tagged_unsend(op);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    tern_op_request_end(request, st);
    return st;
}

/* Start a send that cannot be sent immediately or waits for a FIN. */
static __attribute__((noinline)) tern_status start_slowly(struct tern_request *request)
{
    struct tern_tagged    *tagged = request->ctx->tagged;
    bool                   sync = request->kind == TERN_REQUEST_SSEND, alone;
    enum wire_tagged_kind  kind = choose(request->peer, request->size, sync);
    struct tern_tagged_op *op;
    tern_status            st = TERN_AGAIN;

    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    op = tern_op_tagged_op_new(request, sync || kind == WIRE_TAGGED_RTS);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    if (!op)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for one more message that waits for its receiver");
    op->kind = (uint8_t)kind;
    op->queued = true;
    tern_base_list_append(&tagged->queue, &op->node);
    tern_op_request_set(request, TERN_REQUEST_ACTIVE);
    if (++tagged->peer[request->peer].queued > 1 || (st = attempt(op)) == TERN_AGAIN)
        atomic_store_explicit(&request->ctx->attention, true, memory_order_relaxed); /* this thread reads it */
    else if (st < 0)
        tern_op_request_set(request, TERN_REQUEST_IDLE);
    return st < 0 ? st : TERN_OK;
}

tern_status tern_op_tagged_start_send(struct tern_request *request)
{
    tern_status st = TERN_AGAIN;

    request->source = request->peer;
    request->tag_len = (tern_v64){ request->match.tag, request->size };
    if (TERN_LIKELY(request->kind == TERN_REQUEST_SEND && !tern_core_job_lost(request->peer)))
        st = tern_op_tagged_send_now(request->ctx, request->peer, request->match.tag, request->buffer, request->size);
    if (TERN_LIKELY(st == TERN_OK))
        tern_op_request_end(request, TERN_OK);
    return TERN_LIKELY(st != TERN_AGAIN) ? st : start_slowly(request);
}

/* A send that finds no space blocks only the sends behind it to the same rank. */
void tern_op_tagged_progress_sends(struct tern_tagged *tagged)
{
    tagged->pass++;
    TERN_LIST_EACH(struct tern_tagged_op, op, &tagged->queue, node) {
        struct tern_tagged_peer *flow = &tagged->peer[op->request->peer];

        if (flow->pass != tagged->pass && attempt(op) == TERN_AGAIN)
            flow->pass = tagged->pass;
    }
}

/* ---- FIN ---- */

/* Handle a FIN: two halves of the id, and a status. A FIN for a send that was withdrawn in the meantime is ignored. */
void tern_op_tagged_on_fin(const tern_am_event *event, void *user)
{
    struct tern_tagged_op *op;
    bool                   alone;

    (void)user;
    if (event->nargs != 3 || event->request)
        tern_core_message_protocol_error(event->source, "the FIN of a tagged message");
    tern_base_order_after(&tern_op_tagged_lock); /* pairs with tern_base_order_before() in the sending thread */
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    if ((op = tern_op_tagged_op_find(event->source, event->args[0] | (uint64_t)event->args[1] << 32))) {
        struct tern_request *request = op->request;
        tern_status          status = (tern_status)(int32_t)event->args[2];

        tern_op_tagged_unsend(op);
        tern_op_request_end(request, status < 0 ? status : TERN_OK);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

tern_status tern_op_tagged_send_fin_now(int rank, uint64_t id, tern_status status)
{
    const uint32_t args[3] = { (uint32_t)id, (uint32_t)(id >> 32), (uint32_t)status };

    if (tern_core_job_lost(rank))
        return TERN_OK; /* a dead sender needs no FIN */
    return tern_op_am_reply_own(rank, TERN_OP_AM_FIN, args, 3);
}

tern_status tern_op_tagged_send_fin(int rank, uint64_t id, tern_status status)
{
    tern_status st;

    if (!tern_core_message_hold())
        return TERN_AGAIN;
    st = tern_op_tagged_send_fin_now(rank, id, status);
    tern_core_message_release();
    return st;
}

/* protocol.c: the four protocols of tagged messages, as const tables, and the choice among them.
 *
 *   inline   up to 32 bytes: the data is in the head of a link message, which is one cache line
 *   eager    up to TERN_MSG_EAGER bytes: the data is copied into the data area of the link's queue
 *   rendezvous
 *            longer: the sender exposes its buffer to the receiver's link and sends an RTS, which contains the memory
 *            handle and the first bytes; the receiver fetches the rest (rndv.c). The buffer stays exposed until the FIN
 *            arrives.
 *   rendezvous with the sender's assistance
 *            the same, but both ranks copy (rndv_assist.c). The receiver of an RTS chooses this protocol, and tells the
 *            sender with an ASSIST.
 *
 * An inline or eager send is complete when it was handed to the link. A rendezvous, and a synchronous send of any
 * length, waits for a FIN, which the receiver sends when it has the data. This file contains the sender's part until
 * the message is handed to the link, and the operations with the state of messages that did not complete at once. The
 * queue of sends that have found no space, and the handler of FINs, are in send.c. */
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "core/helper.h"
#include "core/links.h"
#include "core/region.h"
#include "op/tagged/tagged.h"

/* ---- the eager limit ---- */

uint64_t tern_op_tagged_eager_max;

/* Return the maximum length of the data behind a memory handle in one link message to the rank. */
static size_t longest(int rank)
{
    return tern_core_ops_to(rank)->msg->max_data(tern_core_link_to(rank), rank, TERN_CHANNEL_TAGGED) -
           sizeof(struct tern_mem_handle);
}

/* Return the eager limit for messages to the rank. The link's queue holds several messages of this size, so that one
 * can be copied in while others are copied out. */
static size_t eager_most(int rank)
{
    size_t most = longest(rank) / 8 * 3;

    return tern_opt.msg_eager < most ? tern_opt.msg_eager : most;
}

void tern_op_tagged_joined(void)
{
    tern_op_tagged_eager_max = tern_opt.msg_eager;
    for (int rank = 0; rank < tern_job.boot.ranks; rank++)
        if (eager_most(rank) < tern_op_tagged_eager_max)
            tern_op_tagged_eager_max = eager_most(rank);
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

static tern_status send_eager(struct tern_ctx *ctx, int rank, uint64_t tag, const void *data, size_t len,
                              struct tern_tagged_op *op)
{
    return send_data(ctx, rank, tag, data, len, op, WIRE_TAGGED_EAGER);
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

/* ---- the protocols ---- */

/* For protocols in which all data comes with the message: the sender has exposed nothing, and the receiver fetches
 * nothing. */
static void unsend_nothing(struct tern_tagged_op *op)
{
    (void)op;
}

static bool fetch_nothing(struct tern_tagged_op *op)
{
    (void)op;
    return true;
}

static void stop_nothing(struct tern_tagged_op *op)
{
    (void)op;
}

/* A send with assistance ends like every rendezvous, but the assistance ends first. */
static void unsend_assisted(struct tern_tagged_op *op)
{
    tern_op_tagged_help_end(op->request);
    conceal(op);
}

const struct tern_tagged_protocol tern_op_protocol_inline = {
    .name = "inline",
    .exposes = false,
    .send = send_inline,
    .unsend = unsend_nothing,
    .fetch = fetch_nothing,
    .stop = stop_nothing,
};

const struct tern_tagged_protocol tern_op_protocol_eager = {
    .name = "eager",
    .exposes = false,
    .send = send_eager,
    .unsend = unsend_nothing,
    .fetch = fetch_nothing,
    .stop = stop_nothing,
};

const struct tern_tagged_protocol tern_op_protocol_rndv = {
    .name = "rendezvous",
    .exposes = true,
    .send = send_rts,
    .unsend = conceal,
    .fetch = tern_op_tagged_rndv_fetch,
    .stop = tern_op_tagged_rndv_stop,
};

const struct tern_tagged_protocol tern_op_protocol_rndv_assist = {
    .name = "rendezvous with the sender's assistance",
    .exposes = true,
    .send = send_rts,
    .unsend = unsend_assisted,
    .fetch = tern_op_tagged_assist_fetch,
    .stop = tern_op_tagged_assist_stop,
};

/* ---- the choice ---- */

const struct tern_tagged_protocol *tern_op_tagged_choose_send(int rank, size_t len, bool sync)
{
    if (TERN_LIKELY(len <= wire_tagged_room(sync)))
        return &tern_op_protocol_inline;
    return len <= eager_most(rank) ? &tern_op_protocol_eager : &tern_op_protocol_rndv;
}

const struct tern_tagged_protocol *tern_op_tagged_choose_fetch(struct tern_tagged_op *op)
{
    if (op->handle.size == 0)
        return op->request->len <= wire_tagged_room(true) ? &tern_op_protocol_inline : &tern_op_protocol_eager;
    if (op->fetched >= op->want || !tern_op_tagged_rndv_attach(op) || !tern_op_tagged_assist_begin(op))
        return &tern_op_protocol_rndv;
    return &tern_op_protocol_rndv_assist;
}

tern_status tern_op_tagged_send_now(struct tern_ctx *ctx, int rank, uint64_t tag, const void *buf, size_t len)
{
    const struct tern_tagged_protocol *protocol;

    if (TERN_UNLIKELY(ctx->tagged && ctx->tagged->peer[rank].queued > 0) || tern_core_ctx_must_follow(ctx, rank))
        return TERN_AGAIN;
    protocol = tern_op_tagged_choose_send(rank, len, false);
    if (TERN_LIKELY(protocol == &tern_op_protocol_inline))
        return send_inline(ctx, rank, tag, buf, len, NULL); /* a direct call, because short messages are frequent */
    return protocol->exposes ? TERN_AGAIN : protocol->send(ctx, rank, tag, buf, len, NULL);
}

/* ---- the operations of messages that did not complete at once ---- */

_Atomic uint32_t tern_op_tagged_awaiting_fin;

/* All operations; guarded by the lock. The lower half of the id of an operation is its index here; the upper half
 * distinguishes successive uses. */
static struct tern_tagged_op **table;
static uint32_t                count;
static struct tern_list        unused = TERN_LIST_INIT(unused);

static void set_awaiting_fin(uint32_t sends)
{
    /* relaxed: a hint for readers without the lock */
    atomic_store_explicit(&tern_op_tagged_awaiting_fin, sends, memory_order_relaxed);
}

/* Add one more operation to the table, whose capacity is a power of two. Returns NULL if there is no memory. */
static struct tern_list *op_make(void)
{
    struct tern_tagged_op **wider = table, *op = calloc(1, sizeof(*op));

    if (op && (count & (count - 1)) == 0)
        wider = realloc(table, (count > 0 ? 2 * count : 1) * sizeof(struct tern_tagged_op *));
    if (!op || !wider) {
        free(op);
        return NULL;
    }
    table = wider;
    op->index = count;
    table[count++] = op;
    return &op->node;
}

struct tern_tagged_op *tern_op_tagged_op_new(struct tern_request *request, bool wants_fin)
{
    struct tern_list      *node = tern_base_list_pop(&unused);
    struct tern_tagged_op *op;

    if (!node && !(node = op_make()))
        return NULL;
    op = TERN_LIST_ITEM(node, struct tern_tagged_op, node);
    *op = (struct tern_tagged_op){ .request = request, .index = op->index, .use = op->use + 1 };
    op->use += op->use == 0; /* 0 is not a valid id */
    tern_base_list_init(&op->node);
    if (wants_fin) {
        op->id = (uint64_t)op->use << 32 | op->index;
        set_awaiting_fin(tern_op_tagged_awaiting_fin + 1);
    }
    request->op = op;
    request->ctx->tagged->ops++;
    return op;
}

void tern_op_tagged_op_free(struct tern_tagged_op *op)
{
    if (op->request->kind != TERN_REQUEST_RECV && op->id != 0)
        set_awaiting_fin(tern_op_tagged_awaiting_fin - 1);
    op->request->ctx->tagged->ops--;
    op->request->op = NULL;
    op->request = NULL;
    tern_base_list_remove(&op->node);
    tern_base_list_push(&unused, &op->node);
}

struct tern_tagged_op *tern_op_tagged_op_find(int rank, uint64_t id)
{
    struct tern_tagged_op *op = (uint32_t)id < count ? table[(uint32_t)id] : NULL;

    return op && op->request && op->id == id && !op->queued && op->request->kind != TERN_REQUEST_RECV &&
                   op->request->peer == rank
               ? op
               : NULL;
}

void tern_op_tagged_op_close(void)
{
    tern_base_list_init(&unused);
    while (count > 0)
        free(table[--count]);
    free(table);
    table = NULL;
    set_awaiting_fin(0);
}

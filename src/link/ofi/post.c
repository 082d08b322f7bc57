/* post.c: everything that is posted to the provider: puts and gets, divided into work requests, and the verbs of
 * link/net.
 *
 * The process has TERN_NET_WINDOW work requests, each with a bounce buffer for a small transfer, which is registered
 * if the provider requires that. A peer that does not respond keeps its work requests, and may come to hold the
 * whole window. So each peer is guaranteed a share in addition: a peer that has fewer work requests than the share
 * gets another one, allocated if necessary, and no peer waits because of another.
 *
 * A small transfer uses the bounce buffer: the caller may reuse the source of a put at once, and an abandoned get
 * writes to no memory of the program. A large transfer is divided into work requests that access the program's memory
 * directly. Several of them are in flight at a time, so that (where the provider needs registration) the memory of the
 * next one is registered while the previous one is transferred. An operation needs one work request to start, and keeps
 * it until it ends; more are added as long as they are available. A work request that has completed is posted again for
 * the next part of the transfer.
 *
 * A put with notification is one write with remote completion data, and one work request. The notification is in the
 * completion data.
 *
 * A put is complete when its data are visible at the target. Either the provider reports delivery
 * (FI_DELIVERY_COMPLETE), or a read that follows the last write returns.
 *
 * The thread that polls the completion queue (progress.c) advances the operations, whose state is in the core's record
 * (link/net/lane.c).
 */
#include <stdlib.h>
#include <string.h>

#include "link/none.h"
#include "link/ofi/ofi.h"

/* ---- work requests ---- */

#define SHARE 4 /* work requests guaranteed to a peer: the default pipeline depth of one transfer */

struct ofi_wr_slab {
    struct ofi_wr_slab *next;
    struct net_mr       mr; /* the bounce buffers */
    size_t              count;
    struct ofi_wr       wr[];
};

/* Memory that the provider may use until it is closed. */
struct ofi_kept {
    struct ofi_kept *next;
    void            *memory;
};

static tern_status wrs_add(struct ofi_link *ofi, size_t count)
{
    struct ofi_wr_slab *slab = calloc(1, sizeof(*slab) + count * sizeof(slab->wr[0]));
    tern_status         st;

    if (!slab)
        return tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for %zu transfers (TERN_NET_WINDOW)", count);
    if ((st = tern_net_memory_make(&ofi->net, count * ofi->bounce, 0, &slab->mr)) < 0) {
        free(slab);
        return st;
    }
    slab->count = count;
    for (size_t i = 0; i < count; i++) {
        slab->wr[i].bounce = slab->mr.bytes + i * ofi->bounce;
        slab->wr[i].desc = tern_ofi_desc(&slab->mr);
        tern_base_list_push(&ofi->free_wrs, &slab->wr[i].ctx.node);
    }
    slab->next = ofi->wr_slabs;
    ofi->wr_slabs = slab;
    return TERN_OK;
}

/* The size of a work request is at most what the provider accepts and, if a flushing read follows a put, at most the
 * length up to which the read cannot overtake the write. */
tern_status tern_ofi_wr_pool_open(struct ofi_link *ofi)
{
    const struct fi_ep_attr *ep = ofi->endpoint.info->ep_attr;
    size_t                   chunk = ep->max_msg_size < tern_opt.net_chunk ? ep->max_msg_size : tern_opt.net_chunk;

    ofi->chunk = ofi->endpoint.fabric.delivers || ep->max_order_raw_size > chunk ? chunk : ep->max_order_raw_size;
    tern_base_list_init(&ofi->free_wrs);
    ofi->window = (unsigned)tern_opt.net_window;
    ofi->share = ofi->window < SHARE ? ofi->window : SHARE;
    ofi->bounce = tern_base_round_up(tern_opt.ofi_bounce, TERN_CACHE_LINE); /* at least NET_INJECT */
    return wrs_add(ofi, ofi->window);
}

void tern_ofi_wr_pool_close(struct ofi_link *ofi)
{
    struct ofi_wr_slab *slab;
    struct ofi_kept    *kept;

    while ((slab = ofi->wr_slabs)) {
        ofi->wr_slabs = slab->next;
        tern_net_memory_free(&ofi->net, &slab->mr);
        free(slab);
    }
    while ((kept = ofi->kept)) {
        ofi->kept = kept->next;
        free(kept->memory);
        free(kept);
    }
}

/* Returns a work request for the peer, or NULL if none is available; in that case this rank's bell rings when one is
 * freed. op is the operation that it is for, or NULL. */
static struct ofi_wr *wr_alloc(struct ofi_link *ofi, struct net_peer *peer, struct tern_link_op *op, net_post_fn *post,
                               net_ended_fn *ended)
{
    bool           may = ofi->wrs_taken < ofi->window || peer->wrs < ofi->share;
    struct ofi_wr *wr;

    if (TERN_UNLIKELY(may && tern_base_list_empty(&ofi->free_wrs)))
        may = wrs_add(ofi, ofi->share) == TERN_OK;
    if (TERN_UNLIKELY(!may)) {
        atomic_store_explicit(&ofi->wr_wanted, true, memory_order_relaxed); /* ordered by the lock */
        return NULL;
    }
    wr = TERN_LIST_ITEM(tern_base_list_pop(&ofi->free_wrs), struct ofi_wr, ctx.node);
    wr->ctx.peer = peer;
    wr->ctx.post = post;
    wr->ctx.ended = ended;
    wr->op = op;
    wr->flush = false;
    peer->wrs++;
    ofi->wrs_taken++;
    return wr;
}

void tern_ofi_wr_end(struct ofi_link *ofi, struct ofi_wr *wr)
{
    struct tern_link_op *op = wr->op;

    wr->op = NULL;
    wr->ctx.peer->wrs--;
    ofi->wrs_taken--;
    tern_base_list_push(&ofi->free_wrs, &wr->ctx.node);
    if (TERN_UNLIKELY(atomic_load_explicit(&ofi->wr_wanted, memory_order_relaxed))) { /* ordered by the lock */
        atomic_store_explicit(&ofi->wr_wanted, false, memory_order_relaxed);
        tern_net_ring(&ofi->net); /* a thread may sleep until a work request is free */
    }
    if (op && --op->net.in_flight == 0)
        tern_net_op_finish(&ofi->net, op);
}

/* ---- puts and gets ---- */

/* Post a read or a write of remote->len bytes. The write carries the completion data, unless data is NULL. */
static int rma_post(struct ofi_link *ofi, struct net_ctx *ctx, bool get, void *local, void *desc,
                    const struct net_remote *remote, const uint64_t *data)
{
    struct iovec      here = { local, remote->len };
    struct fi_rma_iov there = { .addr = remote->addr, .len = remote->len, .key = remote->key };
    struct fi_msg_rma msg = { .msg_iov = &here,
                              .desc = &desc,
                              .iov_count = 1,
                              .addr = ctx->peer->addr,
                              .rma_iov = &there,
                              .rma_iov_count = 1,
                              .context = ctx,
                              .data = data ? *data : 0 };
    uint64_t          flags = FI_COMPLETION;

    if (get)
        return (int)fi_readmsg(ofi->endpoint.ep, &msg, flags);
    flags |= (ofi->net.delivers ? FI_DELIVERY_COMPLETE : 0) | (data ? FI_REMOTE_CQ_DATA : 0) |
             (remote->len <= ofi->endpoint.rma ? FI_INJECT : 0);
    return (int)fi_writemsg(ofi->endpoint.ep, &msg, flags);
}

/* Returns the local memory of the work request and its descriptor: the bounce buffer, or the program's memory. May
 * shorten wr->len if the program's memory cannot be registered. */
static void *wr_memory(struct ofi_link *ofi, struct ofi_wr *wr, void **desc)
{
    const struct tern_xfer *xfer = &wr->op->xfer;
    unsigned char          *local = (unsigned char *)xfer->local + wr->offset;
    const struct net_mr    *mr = NULL;

    wr->bounced = xfer->len <= ofi->bounce;
    if (!wr->bounced && ofi->endpoint.mr_local && !(mr = tern_ofi_mr_cache_get(ofi, &wr->ctx, local, wr->len))) {
        wr->bounced = true; /* no more memory can be registered */
        wr->len = wr->len < ofi->bounce ? wr->len : ofi->bounce;
    }
    *desc = wr->bounced ? wr->desc : tern_ofi_desc(mr);
    if (!wr->bounced)
        return local;
    if (!xfer->get)
        memcpy(wr->bounce, local, wr->len);
    return wr->bounce;
}

/* Returns true if a part of the transfer must be posted. */
static bool has_more(const struct tern_link_op *op)
{
    return op->net.started < op->xfer.len && op->net.error == 0 && !op->net.cancelled;
}

static void wr_next(struct ofi_link *ofi, struct ofi_wr *wr);

/* Post the next part of the transfer, or the read that flushes a put: it reads the last byte of the put. */
static int wr_post(struct net_link *net, struct net_ctx *ctx)
{
    struct ofi_link        *ofi = tern_ofi(net);
    struct ofi_wr          *wr = (struct ofi_wr *)ctx;
    struct tern_link_op    *op = wr->op;
    const struct tern_xfer *xfer;
    struct net_remote       remote;
    void                   *memory, *desc;
    int                     rc;

    if (!op || (!wr->flush && !has_more(op))) { /* another work request has posted the rest, or nobody waits */
        wr_next(ofi, wr);
        return 0;
    }
    xfer = &op->xfer;
    remote = (struct net_remote){ .key = tern_link_part_key(xfer->part), .addr = xfer->part->remote + xfer->offset };
    if (wr->flush) {
        remote.addr += xfer->len - 1;
        remote.len = 1;
        return rma_post(ofi, ctx, true, wr->bounce, wr->desc, &remote, NULL);
    }
    wr->offset = op->net.started;
    wr->len = xfer->len - wr->offset < ofi->chunk ? xfer->len - wr->offset : ofi->chunk;
    memory = wr_memory(ofi, wr, &desc);
    remote.addr += wr->offset;
    remote.len = wr->len;
    rc = rma_post(ofi, ctx, xfer->get, memory, desc, &remote, xfer->notify ? &xfer->notify_data : NULL);
    if (rc == 0)
        op->net.started += wr->len;
    else
        tern_ofi_mr_release(ofi, ctx);
    return rc;
}

static void wr_ended(struct net_link *net, struct net_ctx *ctx, int error)
{
    struct ofi_wr       *wr = (struct ofi_wr *)ctx;
    struct tern_link_op *op = wr->op;

    if (op && TERN_UNLIKELY(error != 0))
        tern_net_op_fail(op, error);
    else if (op && op->xfer.get && wr->bounced && !op->net.cancelled)
        memcpy((unsigned char *)op->xfer.local + wr->offset, wr->bounce, wr->len);
    wr_next(tern_ofi(net), wr);
}

/* Post a work request of the operation, and more as long as parts are left and work requests are available. */
static void wr_start(struct ofi_link *ofi, struct tern_link_op *op, struct ofi_wr *wr)
{
    while (tern_net_post(&ofi->net, &wr->ctx) == 0 && has_more(op) &&
           op->net.in_flight < (unsigned)tern_opt.net_pipeline &&
           (wr = wr_alloc(ofi, op->net.peer, op, wr_post, wr_ended)))
        op->net.in_flight++;
}

/* Use the work request for what is left to do, or free it. */
static void wr_next(struct ofi_link *ofi, struct ofi_wr *wr)
{
    struct tern_link_op *op = wr->op;

    if (op && has_more(op)) {
        wr_start(ofi, op, wr);
    } else if (op && !wr->flush && op->net.in_flight == 1 && !op->xfer.get && !ofi->net.delivers &&
               op->net.error == 0 && !op->net.cancelled) {
        wr->flush = true;
        tern_net_post(&ofi->net, &wr->ctx);
    } else {
        tern_ofi_wr_end(ofi, wr);
    }
}

struct ofi_wr *tern_ofi_op_begin(struct net_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op,
                                 net_post_fn *post, net_ended_fn *ended, tern_status *st)
{
    struct net_link *net = lane->net;
    struct ofi_link *ofi = tern_ofi(net);
    struct net_peer *peer = tern_net_peer(net, xfer->part->rank);
    struct ofi_wr   *wr;

    *st = TERN_ERR_NOMEM;
    if (!peer || (!peer->known && (*st = tern_ofi_resolve(net, peer)) < 0))
        return NULL;
    *st = TERN_AGAIN;
    if (xfer->notify && !tern_net_notify_credit_take(net, peer)) {
        tern_ofi_drain(net);
        return NULL;
    }
    wr = wr_alloc(ofi, peer, op, post, ended);
    if (!wr && tern_ofi_drain(net) > 0)
        wr = wr_alloc(ofi, peer, op, post, ended);
    if (!wr) {
        if (xfer->notify)
            tern_net_notify_credit_return(peer);
        return NULL;
    }
    tern_net_op_init(op, xfer, lane, peer);
    tern_base_list_push(&lane->ops, &op->node);
    op->net.in_flight = 1;
    return wr;
}

static tern_status ofi_start(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    struct net_link *net = ((struct net_lane *)lane)->net;
    struct ofi_link *ofi = tern_ofi(net);
    struct ofi_wr   *wr;
    tern_status      st;

    if (xfer->len == 0)
        return TERN_OK;
    if (tern_boot_gone(net->boot, xfer->part->rank))
        return tern_net_peer_gone(xfer->part->rank);
    pthread_mutex_lock(&net->lock);
    if ((wr = tern_ofi_op_begin((struct net_lane *)lane, xfer, op, wr_post, wr_ended, &st))) {
        wr_start(ofi, op, wr);
        if (!xfer->get && xfer->len <= ofi->bounce && op->net.started == xfer->len)
            op->copied = xfer->len; /* the data are in the bounce buffer */
        st = TERN_PENDING;          /* even after an error: the peer may be dying */
    }
    pthread_mutex_unlock(&net->lock);
    return st;
}

/* Returns true if xfer, posted now, cannot overtake op: op is posted completely, and the provider keeps the two in
 * order. */
static bool is_behind(const struct ofi_link *ofi, const struct tern_link_op *op, const struct tern_xfer *xfer)
{
    size_t longer = op->xfer.len > xfer->len ? op->xfer.len : xfer->len;

    return !op->link_data && !op->net.atomic && op->net.started == op->xfer.len &&
           longer <= ofi->endpoint.ordered[op->xfer.get][xfer->get];
}

static bool ofi_keeps_order(struct tern_lane *lane, const struct tern_xfer *xfer)
{
    struct net_lane *l = (struct net_lane *)lane;
    bool             follows = true;

    pthread_mutex_lock(&l->net->lock);
    TERN_LIST_EACH(const struct tern_link_op, op, &l->ops, node)
        follows = follows && (op->xfer.part->rank != xfer->part->rank || is_behind(tern_ofi(l->net), op, xfer));
    pthread_mutex_unlock(&l->net->lock);
    return follows;
}

/* A put can carry its notification only if it is one work request: the completion of one write says nothing about
 * the other writes. Where local memory must be registered, a put that is longer than the bounce buffer may be
 * divided when registration fails. The notification must fit into the completion data. */
static bool ofi_can_notify(struct tern_lane *lane, struct tern_xfer *xfer)
{
    const struct ofi_link      *ofi = tern_ofi(((struct net_lane *)lane)->net);
    const struct net_put_notify written = { .from = (uint32_t)ofi->net.rank,
                                            .tag = xfer->tag,
                                            .region = tern_link_region_of(xfer->part->rank, xfer->part->scope),
                                            .bytes = xfer->len };

    return !xfer->get && xfer->len > 0 && xfer->len <= (ofi->endpoint.mr_local ? ofi->bounce : ofi->chunk) &&
           tern_net_wire_pack((uint32_t)ofi->net.ranks, ofi->endpoint.data_bits, &written, &xfer->notify_data);
}

const struct tern_link_path tern_ofi_path = { .name = "ofi",
                                              .self_progress = true,
                                              .rpc = true,
                                              .prefers_packing = true,
                                              .start = ofi_start,
                                              .keeps_order = ofi_keeps_order,
                                              .can_notify = ofi_can_notify,
                                              .start_iov = tern_link_no_iov };

/* ---- the verbs of link/net ---- */

static int verb_rma(struct net_link *net, struct net_ctx *ctx, bool get, void *local, const struct net_mr *mr,
                    const struct net_remote *remote)
{
    struct ofi_link *ofi = tern_ofi(net);
    int              rc;

    if (!mr && ofi->endpoint.mr_local && !(mr = tern_ofi_mr_cache_get(ofi, ctx, local, remote->len)))
        return -FI_EAGAIN;
    if ((rc = rma_post(ofi, ctx, get, local, tern_ofi_desc(mr), remote, NULL)) != 0)
        tern_ofi_mr_release(ofi, ctx);
    return rc;
}

static int verb_send(struct net_link *net, struct net_ctx *ctx, const void *bytes, size_t len, const struct net_mr *mr)
{
    return (int)fi_send(tern_ofi(net)->endpoint.ep, bytes, len, tern_ofi_desc(mr), ctx->peer->addr, ctx);
}

/* The send of a copy has completed. */
static void copy_ended(struct net_link *net, struct net_ctx *ctx, int error)
{
    if (error != 0)
        tern_net_break_off(net, ctx->peer, tern_ofi_why(net, error));
    tern_ofi_wr_end(tern_ofi(net), (struct ofi_wr *)ctx);
}

/* Short messages need no completion, because the provider copies them. A longer message is sent from the bounce buffer
 * of a work request. */
static int verb_inject(struct net_link *net, struct net_peer *peer, const void *bytes, size_t len)
{
    struct ofi_link *ofi = tern_ofi(net);
    struct ofi_wr   *wr;
    int              rc;

    if (TERN_LIKELY(len <= net->inject))
        return (int)fi_inject(ofi->endpoint.ep, bytes, len, peer->addr);
    if (!(wr = wr_alloc(ofi, peer, NULL, NULL, copy_ended)))
        return -FI_EAGAIN;
    memcpy(wr->bounce, bytes, len);
    rc = (int)fi_send(ofi->endpoint.ep, wr->bounce, len, wr->desc, peer->addr, &wr->ctx);
    if (rc != 0)
        tern_ofi_wr_end(ofi, wr);
    return rc;
}

static void verb_abandon(struct net_link *net, const struct tern_link_op *op)
{
    struct ofi_link *ofi = tern_ofi(net);
    struct ofi_kept *kept;

    for (struct ofi_wr_slab *slab = ofi->wr_slabs; slab; slab = slab->next)
        for (size_t i = 0; i < slab->count; i++)
            if (slab->wr[i].op == op)
                slab->wr[i].op = NULL;
    if (op->buffer_in_use && (kept = malloc(sizeof(*kept)))) { /* without memory for the record, the buffer is lost */
        *kept = (struct ofi_kept){ .next = ofi->kept, .memory = op->xfer.local };
        ofi->kept = kept;
    }
}

const struct net_verbs tern_ofi_verbs = { .resolve = tern_ofi_resolve,
                                          .send = verb_send,
                                          .inject = verb_inject,
                                          .rma = verb_rma,
                                          .reg = tern_ofi_register,
                                          .dereg = tern_ofi_unregister,
                                          .poll = tern_ofi_poll,
                                          .drain = tern_ofi_drain,
                                          .why = tern_ofi_why,
                                          .abandon = verb_abandon };

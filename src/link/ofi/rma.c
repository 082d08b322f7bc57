/* rma.c: puts and gets as RMA writes and reads of the provider.
 *
 * A small transfer uses a preregistered bounce buffer: the caller may reuse the source of a put at once, and an
 * abandoned get writes to no memory of the program. A large transfer is divided into work requests that access the
 * program's memory directly. Several of them are in flight at a time, so that (where the provider needs
 * registration) the memory of the next one is registered while the previous one is transferred. An operation needs
 * one work request to start (work_request.c), and keeps it until it ends; more are added as long as they are available.
 * A work request that has completed is posted again for the next part of the transfer.
 *
 * A put with notification is one write with remote completion data, and one work request. The notification is in the
 * completion data.
 *
 * A put is complete when its data are visible at the target. Either the provider reports delivery
 * (FI_DELIVERY_COMPLETE), or a read that follows the last write returns.
 *
 * The thread that polls the completion queue advances the operations, whose state is in the core's record
 * (link/net/lane.c).
 */
#include <string.h>

#include "link/none.h"
#include "link/ofi/ofi.h"

/* Determine the size of a work request: at most what the provider accepts and, if a flushing read follows a put, at
 * most the length up to which the read cannot overtake the write. */
void tern_ofi_rma_open(struct ofi_link *ofi)
{
    const struct fi_ep_attr *ep = ofi->endpoint.info->ep_attr;
    size_t                   chunk = ep->max_msg_size < tern_opt.ofi_chunk ? ep->max_msg_size : tern_opt.ofi_chunk;

    ofi->chunk = ofi->endpoint.fabric.delivers || ep->max_order_raw_size > chunk ? chunk : ep->max_order_raw_size;
}

/* ---- posting work requests ---- */

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
    struct ofi_link        *ofi = tern_ofi_of(net);
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
    remote = (struct net_remote){ .key = xfer->part->key, .addr = xfer->part->remote + xfer->offset };
    if (wr->flush) {
        remote.addr += xfer->len - 1;
        remote.len = 1;
        return tern_ofi_post(ofi, ctx, true, wr->bounce, wr->desc, &remote, NULL);
    }
    wr->offset = op->net.started;
    wr->len = xfer->len - wr->offset < ofi->chunk ? xfer->len - wr->offset : ofi->chunk;
    memory = wr_memory(ofi, wr, &desc);
    remote.addr += wr->offset;
    remote.len = wr->len;
    rc = tern_ofi_post(ofi, ctx, xfer->get, memory, desc, &remote, xfer->notify ? &xfer->notify_data : NULL);
    if (rc == 0)
        op->net.started += wr->len;
    else
        tern_ofi_mr_cache_put(ofi, ctx);
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
    wr_next(tern_ofi_of(net), wr);
}

/* Post a work request of the operation, and more as long as parts are left and work requests are available. */
static void wr_start(struct ofi_link *ofi, struct tern_link_op *op, struct ofi_wr *wr)
{
    while (tern_net_post(&ofi->net, &wr->ctx) == 0 && has_more(op) &&
           op->net.in_flight < (unsigned)tern_opt.ofi_pipeline && (wr = tern_ofi_wr_alloc(ofi, op->net.peer))) {
        wr->op = op;
        wr->ctx.post = wr_post;
        wr->ctx.ended = wr_ended;
        op->net.in_flight++;
    }
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

/* ---- starting ---- */

struct ofi_wr *tern_ofi_op_begin(struct net_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op,
                                 tern_status *st)
{
    struct net_link *net = lane->net;
    struct ofi_link *ofi = tern_ofi_of(net);
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
    wr = tern_ofi_wr_alloc(ofi, peer);
    if (!wr && tern_ofi_drain(net) > 0)
        wr = tern_ofi_wr_alloc(ofi, peer);
    if (!wr) {
        if (xfer->notify)
            tern_net_notify_credit_return(peer);
        return NULL;
    }
    tern_net_op_init(op, xfer, lane, peer);
    tern_net_op_enlist(op);
    wr->op = op;
    op->net.in_flight = 1;
    return wr;
}

static tern_status ofi_start(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    struct net_link *net = ((struct net_lane *)lane)->net;
    struct ofi_link *ofi = tern_ofi_of(net);
    struct ofi_wr   *wr;
    tern_status      st;

    if (xfer->len == 0)
        return TERN_OK;
    if (tern_net_gone(net, xfer->part->rank))
        return tern_net_peer_gone(xfer->part->rank);
    pthread_mutex_lock(&net->lock);
    if ((wr = tern_ofi_op_begin((struct net_lane *)lane, xfer, op, &st))) {
        wr->ctx.post = wr_post;
        wr->ctx.ended = wr_ended;
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
        follows = follows && (op->xfer.part->rank != xfer->part->rank || is_behind(tern_ofi_of(l->net), op, xfer));
    pthread_mutex_unlock(&l->net->lock);
    return follows;
}

/* A put can carry its notification only if it is one work request: the completion of one write says nothing about
 * the other writes. Where local memory must be registered, a put that is longer than the bounce buffer may be
 * divided when registration fails. The notification must fit into the completion data. */
static bool ofi_can_notify(struct tern_lane *lane, struct tern_xfer *xfer)
{
    const struct ofi_link      *ofi = tern_ofi_of(((struct net_lane *)lane)->net);
    const struct net_put_notify written = { .from = (uint32_t)ofi->net.rank,
                                            .tag = xfer->tag,
                                            .region = tern_link_region_of(xfer->part->rank, xfer->part->region),
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

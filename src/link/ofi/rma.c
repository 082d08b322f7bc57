/* rma.c: puts and gets as RMA writes and reads of the provider.
 *
 * A small transfer uses a preregistered bounce buffer: the caller may reuse the source of a put at once, and an
 * abandoned get writes to no memory of the program. A large transfer is divided into work requests that access the
 * program's memory directly. Several of them are in flight at a time, so that (where the provider needs
 * registration) the memory of the next one is registered while the previous one is transferred. An operation needs
 * one work request to start (work_request.c).
 *
 * A put with notification is one write with remote completion data, and one work request. The notification is in the
 * completion data.
 *
 * A put is complete when its data are visible at the target. Either the provider reports delivery
 * (FI_DELIVERY_COMPLETE), or a read that follows the last write returns.
 *
 * The thread that polls the completion queue advances the operations. It pushes a finished operation onto the stack
 * of the operation's lane (completion.c).
 */
#include <stdlib.h>
#include <string.h>

#include "link/none.h"
#include "link/ofi/ofi.h"

#define SLAB 64
#define WAITING_TRIED 8 /* waiting operations that one pump retries */

struct ofi_op_slab {
    struct ofi_op_slab *next;
    struct ofi_op       op[SLAB];
};

/* Returns the size of a work request: at most what the provider accepts and, if a flushing read follows a put, at
 * most the length up to which the read cannot overtake the write. */
static size_t chunk_of(const struct ofi_endpoint *endpoint)
{
    const struct fi_ep_attr *ep = endpoint->info->ep_attr;
    size_t                   chunk = ep->max_msg_size < tern_opt.ofi_chunk ? ep->max_msg_size : tern_opt.ofi_chunk;

    return endpoint->fabric.delivers || ep->max_order_raw_size > chunk ? chunk : ep->max_order_raw_size;
}

tern_status tern_ofi_rma_open(struct ofi_link *ofi)
{
    ofi->waiting_end = &ofi->waiting;
    ofi->chunk = chunk_of(&ofi->endpoint);
    return tern_ofi_wr_pool_open(ofi);
}

/* Free the transfer's memory, if the operation owns it. The provider must not use the memory any more. */
static void release_memory(struct ofi_op *op)
{
    if (op->keeps)
        free(op->xfer.local);
    op->keeps = false;
}

void tern_ofi_rma_close(struct ofi_link *ofi)
{
    tern_ofi_wr_pool_close(ofi);
    while (ofi->op_slabs) {
        struct ofi_op_slab *slab = ofi->op_slabs;
        ofi->op_slabs = slab->next;
        for (int i = 0; i < SLAB; i++)
            release_memory(&slab->op[i]); /* the provider is closed and reports no more completions */
        free(slab);
    }
}

/* ---- operations ---- */

static struct ofi_op *op_new(struct ofi_link *ofi)
{
    struct ofi_op *op = ofi->free_ops;

    if (TERN_UNLIKELY(!op)) {
        struct ofi_op_slab *slab = calloc(1, sizeof(*slab));
        if (!slab)
            return NULL;
        slab->next = ofi->op_slabs;
        ofi->op_slabs = slab;
        for (int i = 0; i < SLAB; i++) {
            slab->op[i].waiting = ofi->free_ops;
            ofi->free_ops = &slab->op[i];
        }
        op = ofi->free_ops;
    }
    ofi->free_ops = op->waiting;
    return op;
}

void tern_ofi_op_free(struct ofi_link *ofi, struct ofi_op *op)
{
    if (op->rpc_buf) {
        tern_ofi_rpc_buf_free(ofi, op->rpc_buf);
        return;
    }
    op->waiting = ofi->free_ops;
    ofi->free_ops = op;
}

void tern_ofi_op_enlist(struct ofi_op *op)
{
    op->next = op->lane->first;
    op->link = &op->lane->first;
    if (op->next)
        op->next->link = &op->next;
    op->lane->first = op;
}

void tern_ofi_op_unlist(struct ofi_op *op)
{
    *op->link = op->next;
    if (op->next)
        op->next->link = op->link;
}

/* Pack the notification of a put into completion data. Returns false if it does not fit. */
static bool pack_notification(const struct ofi_link *ofi, const struct tern_xfer *xfer, uint64_t *data)
{
    const struct ofi_put_notify written = { .from = (uint32_t)ofi->rank,
                                            .tag = xfer->tag,
                                            .region = tern_link_region_of(xfer->part->rank, xfer->part->region),
                                            .bytes = xfer->len };

    return tern_ofi_wire_pack((uint32_t)ofi->ranks, ofi->endpoint.data_bits, &written, data);
}

/* If the operation ends without having sent its notification, return the credit. */
static void return_credit(const struct ofi_op *op)
{
    if (op->xfer.notify && op->started == 0)
        tern_ofi_notify_credit_return(op->peer);
}

/* Pass a finished operation to its lane, or free the operation if the core no longer waits for it. */
static void op_finish(struct ofi_link *ofi, struct ofi_op *op)
{
    struct ofi_lane *lane = op->lane;

    if (op->next_wr)
        tern_ofi_wr_free(ofi, op->next_wr);
    return_credit(op);
    if (!op->op) {
        release_memory(op);
        tern_ofi_op_free(ofi, op);
        return;
    }
    tern_ofi_op_unlist(op);
    op->finished = atomic_load_explicit(&lane->finished, memory_order_relaxed);
    /* release: publishes the result of the operation to the lane's thread. Pairs with the acquire in
     * take_finished(). */
    while (!atomic_compare_exchange_weak_explicit(&lane->finished, &op->finished, op, memory_order_release,
                                                  memory_order_relaxed))
        ;
    tern_ofi_ring(ofi);
}

void tern_ofi_op_fail(struct ofi_op *op, int error, const char *why)
{
    if (op->error == 0) {
        op->error = error;
        strncpy(op->why, why, sizeof(op->why) - 1);
        op->why[sizeof(op->why) - 1] = '\0';
    }
}

static void op_wait(struct ofi_link *ofi, struct ofi_op *op)
{
    if (op->waits)
        return;
    op->waits = true;
    op->waiting = NULL;
    *ofi->waiting_end = op;
    ofi->waiting_end = &op->waiting;
}

/* ---- posting work requests ---- */

static void wr_ended(struct ofi_link *ofi, struct ofi_comp_ctx *comp_ctx, const struct ofi_comp *comp);

/* Returns the local memory of the work request and its descriptor: the bounce buffer, or the program's memory. May
 * shorten wr->len if the program's memory cannot be registered. */
static void *wr_memory(struct ofi_link *ofi, struct ofi_op *op, struct ofi_wr *wr, void **desc)
{
    unsigned char *local = (unsigned char *)op->xfer.local + wr->offset;
    struct fid_mr *mr;

    *desc = NULL;
    wr->bounced = op->xfer.len <= ofi->bounce;
    if (!wr->bounced && ofi->endpoint.mr_local) {
        mr = tern_ofi_mr_cache_get(ofi, local, wr->len, &wr->cached);
        if (mr) {
            *desc = fi_mr_desc(mr);
        } else { /* no more memory can be registered */
            wr->bounced = true;
            wr->len = wr->len < ofi->bounce ? wr->len : ofi->bounce;
        }
    }
    if (!wr->bounced)
        return local;
    *desc = wr->desc;
    if (!op->xfer.get)
        memcpy(wr->bounce, local, wr->len);
    return wr->bounce;
}

static ssize_t wr_post(struct ofi_link *ofi, struct ofi_op *op, struct ofi_wr *wr)
{
    const struct tern_link_part *part = op->xfer.part;
    void                        *desc;
    void                        *memory = wr_memory(ofi, op, wr, &desc);
    uint64_t                     remote = part->remote + op->xfer.offset + wr->offset;
    struct iovec                 local = { memory, wr->len };
    struct fi_rma_iov            there = { .addr = remote, .len = wr->len, .key = part->key };
    struct fi_msg_rma            msg = { .msg_iov = &local,
                                         .desc = &desc,
                                         .iov_count = 1,
                                         .addr = op->peer->addr,
                                         .rma_iov = &there,
                                         .rma_iov_count = 1,
                                         .context = &wr->comp_ctx.context };
    uint64_t                     flags = FI_COMPLETION | (ofi->endpoint.delivers ? FI_DELIVERY_COMPLETE : 0);

    if (op->xfer.get)
        return fi_readmsg(ofi->endpoint.ep, &msg, FI_COMPLETION);
    if (wr->len <= ofi->endpoint.rma)
        flags |= FI_INJECT;
    if (op->xfer.notify && pack_notification(ofi, &op->xfer, &msg.data))
        flags |= FI_REMOTE_CQ_DATA;
    return fi_writemsg(ofi->endpoint.ep, &msg, flags);
}

/* Post the read that flushes a put: it reads the last byte of the put. */
static ssize_t flush_post(struct ofi_link *ofi, struct ofi_op *op, struct ofi_wr *wr)
{
    const struct tern_link_part *part = op->xfer.part;

    wr->len = 1;
    wr->bounced = false;
    return fi_read(ofi->endpoint.ep, wr->bounce, 1, wr->desc, op->peer->addr,
                   part->remote + op->xfer.offset + op->xfer.len - 1, part->key, &wr->comp_ctx.context);
}

/* Returns true if the operation has something to post now. */
static bool op_has_more(const struct ofi_link *ofi, const struct ofi_op *op)
{
    if (op->error != 0 || op->cancelled)
        return false;
    if (op->rpc_buf)
        return !op->rpc_buf->posted;
    if (op->atomic.op)
        return op->started == 0;
    if (op->started < op->xfer.len)
        return op->in_flight < (unsigned)tern_opt.ofi_pipeline;
    return op->in_flight == 0 && !op->xfer.get && !ofi->endpoint.delivers && !op->flushing;
}

/* Post one work request of the operation. Returns libfabric's return code. */
static ssize_t op_post(struct ofi_link *ofi, struct ofi_op *op, struct ofi_wr *wr)
{
    size_t  left = op->xfer.len - op->started;
    ssize_t rc;

    wr->comp_ctx.ended = wr_ended;
    wr->op = op;
    wr->offset = op->started;
    wr->len = left < ofi->chunk ? left : ofi->chunk;
    rc = op->atomic.op ? tern_ofi_atomic_post(ofi, op, wr) : left > 0 ? wr_post(ofi, op, wr) : flush_post(ofi, op, wr);
    if (rc != 0)
        return rc;
    op->in_flight++;
    if (left > 0)
        op->started += wr->len;
    else
        op->flushing = true;
    return 0;
}

/* Post the next work request. If the post fails, the operation keeps the work request for the next attempt. */
static ssize_t op_post_next(struct ofi_link *ofi, struct ofi_op *op)
{
    struct ofi_wr *wr;
    ssize_t        rc;

    if (op->rpc_buf)
        return tern_ofi_rpc_post(ofi, op);
    wr = op->next_wr ? op->next_wr : tern_ofi_wr_alloc(ofi, op->peer);
    rc = wr ? op_post(ofi, op, wr) : -FI_EAGAIN;

    op->next_wr = rc == 0 ? NULL : wr;
    if (rc != 0 && wr && wr->cached) {
        tern_ofi_mr_cache_put(ofi, wr->cached);
        wr->cached = NULL;
    }
    return rc;
}

/* Post as much as the provider accepts. If the provider is busy, the operation waits on the waiting list. */
void tern_ofi_op_pump(struct ofi_link *ofi, struct ofi_op *op)
{
    tern_status st = tern_ofi_address(ofi, op->peer);
    ssize_t     rc = st == TERN_AGAIN ? -FI_EAGAIN : 0;

    if (st < 0)
        tern_ofi_op_fail(op, FI_EADDRNOTAVAIL, tern_base_detail());
    while (op_has_more(ofi, op) && rc == 0)
        rc = op_post_next(ofi, op);
    if (rc == -FI_EAGAIN) {
        op_wait(ofi, op);
        return;
    }
    if (rc != 0)
        tern_ofi_op_fail(op, (int)-rc, tern_ofi_why(ofi, (int)-rc));
    if (op->next_wr)
        tern_ofi_wr_free(ofi, op->next_wr);
    op->next_wr = NULL;
}

void tern_ofi_op_settle(struct ofi_link *ofi, struct ofi_op *op)
{
    if (op->in_flight == 0 && !op->waits && !op_has_more(ofi, op))
        op_finish(ofi, op);
}

static void wr_ended(struct ofi_link *ofi, struct ofi_comp_ctx *comp_ctx, const struct ofi_comp *comp)
{
    struct ofi_wr *wr = (struct ofi_wr *)comp_ctx;
    struct ofi_op *op = wr->op;

    op->in_flight--;
    if (TERN_UNLIKELY(comp->error != 0))
        tern_ofi_op_fail(op, comp->error, comp->why);
    else if (op->atomic.op)
        tern_ofi_atomic_answer(op, wr);
    else if (op->xfer.get && wr->bounced && op->op && !op->cancelled)
        memcpy((unsigned char *)op->xfer.local + wr->offset, wr->bounce, wr->len);
    tern_ofi_wr_free(ofi, wr);
    if (!op->waits)
        tern_ofi_op_pump(ofi, op);
    tern_ofi_op_settle(ofi, op);
}

void tern_ofi_rma_pump(struct ofi_link *ofi)
{
    for (int i = 0; i < WAITING_TRIED && ofi->waiting; i++) {
        struct ofi_op *op = ofi->waiting;

        ofi->waiting = op->waiting;
        if (!ofi->waiting)
            ofi->waiting_end = &ofi->waiting;
        op->waits = false;
        tern_ofi_op_pump(ofi, op); /* may append the operation to the waiting list again */
        tern_ofi_op_settle(ofi, op);
    }
}

/* ---- starting ---- */

tern_status tern_ofi_peer_gone(int rank)
{
    return tern_base_fail(TERN_ERR_PEER, "rank %d is gone", rank);
}

/* Create the record of a transfer, with its first work request. Returns NULL with TERN_AGAIN in *st if no work
 * request is available, or with TERN_ERR_NOMEM. */
static struct ofi_op *op_make(struct ofi_lane *lane, struct ofi_peer *peer, const struct tern_xfer *xfer,
                              struct tern_link_op *op, tern_status *st)
{
    struct ofi_link *ofi = lane->ofi;
    struct ofi_wr   *wr = tern_ofi_wr_alloc(ofi, peer);
    struct ofi_op   *made;

    if (!wr && tern_ofi_poll_locked(ofi) > 0)
        wr = tern_ofi_wr_alloc(ofi, peer);
    *st = TERN_AGAIN;
    if (!wr)
        return NULL;
    made = op_new(ofi);
    if (!made) {
        tern_ofi_wr_free(ofi, wr);
        *st = tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for one more transfer");
        return NULL;
    }
    *made = (struct ofi_op){ .op = op, .xfer = *xfer, .lane = lane, .peer = peer, .next_wr = wr };
    *op = (struct tern_link_op){ .xfer = *xfer, .link_data = made, .status = TERN_OK };
    return made;
}

tern_status tern_ofi_op_start(struct ofi_lane *lane, const struct tern_xfer *xfer,
                              const struct tern_link_atomic *atomic, struct tern_link_op *op)
{
    struct ofi_link *ofi = lane->ofi;
    struct ofi_peer *peer = tern_ofi_peer(ofi, xfer->part->rank);
    struct ofi_op   *made;
    tern_status      st;

    if (!peer)
        return tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for rank %d", xfer->part->rank);
    if ((st = tern_ofi_address(ofi, peer)) < 0)
        return st;
    if (xfer->notify && !tern_ofi_notify_credit_take(ofi, peer)) {
        tern_ofi_poll_locked(ofi);
        return TERN_AGAIN;
    }
    if (!(made = op_make(lane, peer, xfer, op, &st))) {
        if (xfer->notify)
            tern_ofi_notify_credit_return(peer);
        return st;
    }
    if (atomic) {
        made->atomic = *atomic;
        op->on_response = atomic->on_result;
    }
    tern_ofi_op_enlist(made);
    tern_ofi_op_pump(ofi, made);
    if (made->error == 0 || made->in_flight > 0) {
        if (!xfer->get && xfer->len <= ofi->bounce && made->started == xfer->len)
            op->copied = xfer->len; /* the data are in the bounce buffer */
        return TERN_PENDING;
    }
    if (peer->known) { /* the peer may be dying: report the error as that of an operation that fails later */
        op_finish(ofi, made);
        return TERN_PENDING;
    }
    tern_ofi_op_unlist(made);
    return_credit(made);
    st = tern_base_fail(TERN_ERR_LINK, "link ofi, provider %s: %s of %zu bytes %s rank %d cannot start: %s",
                        ofi->endpoint.info->fabric_attr->prov_name,
                        xfer->what  ? xfer->what
                        : xfer->get ? "a get"
                                    : "a put",
                        xfer->len, xfer->get ? "from" : "to", peer->rank, made->why);
    tern_ofi_op_free(ofi, made);
    return st;
}

static tern_status ofi_start(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    struct ofi_lane *l = (struct ofi_lane *)lane;
    tern_status      st;

    if (xfer->len == 0)
        return TERN_OK;
    if (tern_ofi_gone(l->ofi, xfer->part->rank))
        return tern_ofi_peer_gone(xfer->part->rank);
    pthread_mutex_lock(&l->ofi->lock);
    st = tern_ofi_op_start(l, xfer, NULL, op);
    pthread_mutex_unlock(&l->ofi->lock);
    return st;
}

/* Returns true if xfer, posted now, cannot overtake op: op is posted completely, and the provider keeps the two in
 * order. */
static bool is_behind(const struct ofi_link *ofi, const struct ofi_op *op, const struct tern_xfer *xfer)
{
    size_t longer = op->xfer.len > xfer->len ? op->xfer.len : xfer->len;

    return !op->waits && !op->atomic.op && op->started == op->xfer.len &&
           longer <= ofi->endpoint.ordered[op->xfer.get][xfer->get];
}

static bool ofi_keeps_order(struct tern_lane *lane, const struct tern_xfer *xfer)
{
    struct ofi_lane *l = (struct ofi_lane *)lane;
    bool             follows = true;

    pthread_mutex_lock(&l->ofi->lock);
    for (const struct ofi_op *op = l->first; op && follows; op = op->next)
        follows = op->peer->rank != xfer->part->rank || is_behind(l->ofi, op, xfer);
    pthread_mutex_unlock(&l->ofi->lock);
    return follows;
}

/* A put can carry its notification only if it is one work request: the completion of one write says nothing about
 * the other writes. Where local memory must be registered, a put that is longer than the bounce buffer may be
 * divided when registration fails. */
static bool ofi_can_notify(struct tern_lane *lane, const struct tern_xfer *xfer)
{
    const struct ofi_link *ofi = ((struct ofi_lane *)lane)->ofi;
    uint64_t               data;

    return !xfer->get && xfer->len > 0 && xfer->len <= (ofi->endpoint.mr_local ? ofi->bounce : ofi->chunk) &&
           pack_notification(ofi, xfer, &data);
}

const struct tern_link_path tern_ofi_path = { .name = "ofi",
                                              .self_progress = true,
                                              .rpc = true,
                                              .prefers_packing = true,
                                              .start = ofi_start,
                                              .keeps_order = ofi_keeps_order,
                                              .can_notify = ofi_can_notify,
                                              .start_iov = tern_link_no_iov };

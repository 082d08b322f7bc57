/* rma.c: put and get as writes and reads of the provider.
 *
 * A small transfer goes through a room that was registered beforehand: the source may be overwritten at once, and a
 * get that nobody waits for any more harms nobody. A large one goes in pieces straight from and to the program's
 * memory, several at a time, so that the memory of the next is registered (where the provider needs that) while the
 * one before travels. An operation starts when it has a piece (work_request.c).
 *
 * A put that notifies its target is one write that brings remote completion data, which say so: where the provider
 * has them, they hold what is to be said, and the put is one piece.
 *
 * A put is complete when its data is at the target: the provider says so (FI_DELIVERY_COMPLETE), or a read behind
 * the last piece brings the answer.
 *
 * Whoever reads the completion queue takes an operation further. When it has ended it is pushed onto its lane
 * (completion.c).
 * */
#include <stdlib.h>
#include <string.h>

#include "link/ofi/ofi.h"

#define SLAB 64
#define WAITING_TRIED 8 /* operations that the provider had no room for, tried again in one go */

struct ofi_op_slab {
    struct ofi_op_slab *next;
    struct ofi_op       op[SLAB];
};

/* Bytes of a piece: no more than the provider takes at once, and where a read follows a put, no more than the read
 * cannot overtake. */
static size_t chunk_of(const struct ofi_endpoint *net)
{
    const struct fi_ep_attr *ep = net->info->ep_attr;
    size_t                   chunk = ep->max_msg_size < tern_opt.ofi_chunk ? ep->max_msg_size : tern_opt.ofi_chunk;

    return net->fabric.delivers || ep->max_order_raw_size > chunk ? chunk : ep->max_order_raw_size;
}

tern_status tern_ofi_rma_open(struct ofi_link *ofi)
{
    ofi->waiting_end = &ofi->waiting;
    ofi->chunk = chunk_of(&ofi->endpoint);
    return tern_ofi_wr_pool_open(ofi);
}

/* The provider has done with memory that outlived the operation. */
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
            release_memory(&slab->op[i]); /* the provider has ended without a word */
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

/* What the write of a put that notifies brings; false: it does not fit. */
static bool pack_note(const struct ofi_link *ofi, const struct tern_xfer *xfer, uint64_t *data)
{
    const struct ofi_put_notify written = { .from = (uint32_t)ofi->rank,
                                            .tag = xfer->tag,
                                            .region = tern_link_region_of(xfer->part->rank, xfer->part->region),
                                            .bytes = xfer->len };

    return tern_ofi_wire_pack((uint32_t)ofi->ranks, ofi->endpoint.data_bits, &written, data);
}

/* It ends without having told its target: what was taken for that is free. */
static void give_note(const struct ofi_op *op)
{
    if (op->xfer.notify && op->started == 0)
        tern_ofi_notify_credit_return(op->peer);
}

/* Hand the operation to its lane, or forget it where nobody waits. */
static void op_finish(struct ofi_link *ofi, struct ofi_op *op)
{
    struct ofi_lane *lane = op->lane;

    if (op->next_wr)
        tern_ofi_wr_free(ofi, op->next_wr);
    give_note(op);
    if (!op->op) {
        release_memory(op);
        tern_ofi_op_free(ofi, op);
        return;
    }
    tern_ofi_op_unlist(op);
    op->finished = atomic_load_explicit(&lane->finished, memory_order_relaxed);
    /* release: what the operation brought and how it ended, before the lane's thread takes it. Pairs with the acquire
     * in report(). */
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

/* ---- handing pieces to the provider ---- */

static void piece_ended(struct ofi_link *ofi, struct ofi_comp_ctx *token, const struct ofi_comp *news);

/* Where the piece's local bytes are, and their descriptor: in its room, or in the program's memory. */
static void *piece_memory(struct ofi_link *ofi, struct ofi_op *op, struct ofi_wr *piece, void **desc)
{
    unsigned char *local = (unsigned char *)op->xfer.local + piece->offset;
    struct fid_mr *mr;

    *desc = NULL;
    piece->bounced = op->xfer.len <= ofi->bounce;
    if (!piece->bounced && ofi->endpoint.mr_local) {
        mr = tern_ofi_mr_cache_get(ofi, local, piece->len, &piece->cached);
        if (mr) {
            *desc = fi_mr_desc(mr);
        } else { /* no more can be registered */
            piece->bounced = true;
            piece->len = piece->len < ofi->bounce ? piece->len : ofi->bounce;
        }
    }
    if (!piece->bounced)
        return local;
    *desc = piece->desc;
    if (!op->xfer.get)
        memcpy(piece->bounce, local, piece->len);
    return piece->bounce;
}

static ssize_t piece_post(struct ofi_link *ofi, struct ofi_op *op, struct ofi_wr *piece)
{
    const struct tern_link_part *part = op->xfer.part;
    void                        *desc;
    void                        *memory = piece_memory(ofi, op, piece, &desc);
    uint64_t                     remote = part->remote + op->xfer.offset + piece->offset;
    struct iovec                 local = { memory, piece->len };
    struct fi_rma_iov            there = { .addr = remote, .len = piece->len, .key = part->key };
    struct fi_msg_rma            msg = { .msg_iov = &local,
                                         .desc = &desc,
                                         .iov_count = 1,
                                         .addr = op->peer->addr,
                                         .rma_iov = &there,
                                         .rma_iov_count = 1,
                                         .context = &piece->comp_ctx.context };
    uint64_t                     flags = FI_COMPLETION | (ofi->endpoint.delivers ? FI_DELIVERY_COMPLETE : 0);

    if (op->xfer.get)
        return fi_readmsg(ofi->endpoint.ep, &msg, FI_COMPLETION);
    if (piece->len <= ofi->endpoint.rma)
        flags |= FI_INJECT;
    if (op->xfer.notify && pack_note(ofi, &op->xfer, &msg.data))
        flags |= FI_REMOTE_CQ_DATA;
    return fi_writemsg(ofi->endpoint.ep, &msg, flags);
}

/* The read behind a put: of its last byte. */
static ssize_t flush_post(struct ofi_link *ofi, struct ofi_op *op, struct ofi_wr *piece)
{
    const struct tern_link_part *part = op->xfer.part;

    piece->len = 1;
    piece->bounced = false;
    return fi_read(ofi->endpoint.ep, piece->bounce, 1, piece->desc, op->peer->addr,
                   part->remote + op->xfer.offset + op->xfer.len - 1, part->key, &piece->comp_ctx.context);
}

/* Whether there is something to hand over. */
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

/* One more piece. */
static ssize_t op_post(struct ofi_link *ofi, struct ofi_op *op, struct ofi_wr *piece)
{
    size_t  left = op->xfer.len - op->started;
    ssize_t rc;

    piece->comp_ctx.ended = piece_ended;
    piece->op = op;
    piece->offset = op->started;
    piece->len = left < ofi->chunk ? left : ofi->chunk;
    rc = op->atomic.op ? tern_ofi_atomic_post(ofi, op, piece)
         : left > 0    ? piece_post(ofi, op, piece)
                       : flush_post(ofi, op, piece);
    if (rc != 0)
        return rc;
    op->in_flight++;
    if (left > 0)
        op->started += piece->len;
    else
        op->flushing = true;
    return 0;
}

/* Take a piece, or the one that is held, and hand it over. */
static ssize_t op_post_next(struct ofi_link *ofi, struct ofi_op *op)
{
    struct ofi_wr *piece;
    ssize_t        rc;

    if (op->rpc_buf)
        return tern_ofi_rpc_post(ofi, op);
    piece = op->next_wr ? op->next_wr : tern_ofi_wr_alloc(ofi, op->peer);
    rc = piece ? op_post(ofi, op, piece) : -FI_EAGAIN;

    op->next_wr = rc == 0 ? NULL : piece;
    if (rc != 0 && piece && piece->cached) {
        tern_ofi_mr_cache_put(ofi, piece->cached);
        piece->cached = NULL;
    }
    return rc;
}

/* Hand over what there is room for; the rest waits. */
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

static void piece_ended(struct ofi_link *ofi, struct ofi_comp_ctx *token, const struct ofi_comp *news)
{
    struct ofi_wr *piece = (struct ofi_wr *)token;
    struct ofi_op *op = piece->op;

    op->in_flight--;
    if (TERN_UNLIKELY(news->error != 0))
        tern_ofi_op_fail(op, news->error, news->why);
    else if (op->atomic.op)
        tern_ofi_atomic_answer(op, piece);
    else if (op->xfer.get && piece->bounced && op->op && !op->cancelled)
        memcpy((unsigned char *)op->xfer.local + piece->offset, piece->bounce, piece->len);
    tern_ofi_wr_free(ofi, piece);
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
        tern_ofi_op_pump(ofi, op); /* may wait again, as the last */
        tern_ofi_op_settle(ofi, op);
    }
}

/* ---- starting ---- */

tern_status tern_ofi_peer_gone(int rank)
{
    return tern_base_fail(TERN_ERR_PEER, "rank %d is gone", rank);
}

/* The record of a transfer with its first piece; NULL: there is none now (TERN_AGAIN), or no memory. */
static struct ofi_op *op_make(struct ofi_lane *lane, struct ofi_peer *peer, const struct tern_xfer *xfer,
                              struct tern_link_op *op, tern_status *st)
{
    struct ofi_link *ofi = lane->ofi;
    struct ofi_wr   *piece = tern_ofi_wr_alloc(ofi, peer);
    struct ofi_op   *made;

    if (!piece && tern_ofi_poll_locked(ofi) > 0)
        piece = tern_ofi_wr_alloc(ofi, peer);
    *st = TERN_AGAIN;
    if (!piece)
        return NULL;
    made = op_new(ofi);
    if (!made) {
        tern_ofi_wr_free(ofi, piece);
        *st = tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for one more transfer");
        return NULL;
    }
    *made = (struct ofi_op){ .op = op, .xfer = *xfer, .lane = lane, .peer = peer, .next_wr = piece };
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
            op->copied = xfer->len; /* it is in the piece's room */
        return TERN_PENDING;
    }
    if (peer->known) { /* it may be dying: the same as an operation that fails later */
        op_finish(ofi, made);
        return TERN_PENDING;
    }
    tern_ofi_op_unlist(made);
    give_note(made);
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

/* Whether the transfer, handed over now, cannot overtake this one: all of it has been handed over, and the provider
 * keeps the order of the two. */
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

/* What is cut into several pieces, or may be where no more memory can be registered, is not known to be there when the
 * last of them is. */
static bool ofi_can_notify(struct tern_lane *lane, const struct tern_xfer *xfer)
{
    const struct ofi_link *ofi = ((struct ofi_lane *)lane)->ofi;
    uint64_t               data;

    return !xfer->get && xfer->len > 0 && xfer->len <= (ofi->endpoint.mr_local ? ofi->bounce : ofi->chunk) &&
           pack_note(ofi, xfer, &data);
}

const struct tern_link_path tern_ofi_path = { .name = "ofi",
                                              .self_progress = true,
                                              .rpc = true,
                                              .prefers_packing = true,
                                              .start = ofi_start,
                                              .keeps_order = ofi_keeps_order,
                                              .can_notify = ofi_can_notify };

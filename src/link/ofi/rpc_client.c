/* rpc_client.c: the initiator's side of RPCs.
 *
 * A process has TERN_OFI_ROOMS RPC buffers, which its peers may read and write remotely. RPCs to one peer may occupy
 * half of them. A peer for which no buffer is in use always gets one, so that a slow peer does not block RPCs to
 * another. The caller writes its request into a buffer. A short request is sent from the buffer. For a long request
 * only its location is sent, and the peer reads the request when it has a free server slot. So the peer's memory
 * limits the rate, and requests need no intermediate copy. The peer writes a long response into the same buffer,
 * behind the request, and then sends a message; a short response is in the message. A buffer is reused after its
 * response has arrived. A response names the buffer and its use count, so that a late response is not taken for that
 * of another RPC.
 *
 * Small RPCs use small buffers, of which there are many and which no peer accesses: request and response travel in
 * the messages.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "link/ofi/ofi.h"

#define FRONT 64 /* bytes of a buffer in front of the request, which end with ofi_header and ofi_rpc_request */
_Static_assert(OFI_WIRE_RPC <= FRONT, "the headers fit in front of the request");
#define ASK_NS 1000000000ll
#define BUF_ACCESS (FI_SEND | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define SMALL_BUF_BYTES (2 * TERN_LINK_SMALL) /* size of a small buffer: request and response */
#define SLAB 32                               /* small buffers allocated together, and the most that one peer may use */
#define SMALL_BUFS 128                        /* limit for all peers together; a peer that uses none may exceed it */
_Static_assert(TERN_LINK_SMALL % 64 == 0, "a response is aligned to 64 bytes");

struct ofi_slab {
    struct ofi_slab   *next;
    unsigned char     *bytes;
    struct fid_mr     *mr; /* NULL: the provider needs none */
    struct ofi_rpc_buf room[SLAB];
};

/* ---- buffers ---- */

static size_t buf_size(const struct ofi_link *ofi)
{
    return FRONT + ofi->rpc.buf_bytes;
}

static void buf_free(struct ofi_link *ofi, struct ofi_rpc_buf *buf)
{
    tern_ofi_unregister(&buf->mr);
    if (buf->bytes != MAP_FAILED)
        munmap(buf->bytes, buf_size(ofi));
    free(buf);
}

static struct ofi_rpc_buf *buf_make(struct ofi_link *ofi, tern_status *st)
{
    struct ofi_rpc      *e = &ofi->rpc;
    struct ofi_rpc_buf **table = realloc(e->buf, (e->bufs + 1) * sizeof(*table)), *buf = calloc(1, sizeof(*buf));

    e->buf = table ? table : e->buf;
    *st = TERN_ERR_NOMEM;
    if (table && buf) {
        buf->number = (uint16_t)e->bufs;
        buf->bytes = mmap(NULL, buf_size(ofi), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (buf->bytes != MAP_FAILED)
            *st = tern_ofi_register(ofi, buf->bytes, buf_size(ofi), BUF_ACCESS, &buf->mr);
        if (*st == TERN_OK) {
            e->buf[e->bufs++] = buf;
            return buf;
        }
        buf_free(ofi, buf);
    } else {
        free(buf);
    }
    if (*st == TERN_ERR_NOMEM)
        tern_base_fail(TERN_ERR_NOMEM, "link ofi: out of memory for another RPC buffer of %zu bytes (TERN_OFI_ROOM)",
                       e->buf_bytes);
    return NULL;
}

static void slab_free(struct ofi_slab *slab)
{
    tern_ofi_unregister(&slab->mr);
    free(slab->bytes);
    free(slab);
}

static struct ofi_slab *slab_make(struct ofi_link *ofi, tern_status *st)
{
    struct ofi_slab *slab = calloc(1, sizeof(*slab));
    size_t           bytes = SLAB * (FRONT + SMALL_BUF_BYTES);

    *st = TERN_ERR_NOMEM;
    if (slab && (slab->bytes = aligned_alloc(64, bytes))) {
        *st = ofi->endpoint.mr_local ? tern_ofi_register(ofi, slab->bytes, bytes, FI_SEND, &slab->mr) : TERN_OK;
        if (*st == TERN_OK)
            return slab;
        slab_free(slab);
        return NULL;
    }
    free(slab);
    tern_base_fail(TERN_ERR_NOMEM, "link ofi: out of memory for %d small RPCs", SLAB);
    return NULL;
}

/* Allocate another slab of small buffers. */
static tern_status small_bufs_add(struct ofi_link *ofi)
{
    struct ofi_rpc      *e = &ofi->rpc;
    struct ofi_rpc_buf **table = realloc(e->buf, (e->bufs + SLAB) * sizeof(*table));
    tern_status          st = TERN_ERR_NOMEM;
    struct ofi_slab     *slab;

    if (!table)
        return tern_base_fail(TERN_ERR_NOMEM, "link ofi: out of memory for %d small RPCs", SLAB);
    e->buf = table;
    if (!(slab = slab_make(ofi, &st)))
        return st;
    for (unsigned i = 0; i < SLAB; i++) {
        slab->room[i] = (struct ofi_rpc_buf){ .number = (uint16_t)e->bufs,
                                              .bytes = slab->bytes + i * (FRONT + SMALL_BUF_BYTES),
                                              .mr = slab->mr,
                                              .small = true,
                                              .next = e->free_small_bufs };
        e->free_small_bufs = e->buf[e->bufs++] = &slab->room[i];
    }
    e->small_bufs += SLAB;
    slab->next = e->slabs;
    e->slabs = slab;
    return TERN_OK;
}

void tern_ofi_rpc_client_unregister(struct ofi_link *ofi)
{
    struct ofi_rpc *e = &ofi->rpc;

    for (unsigned i = 0; i < e->bufs; i++)
        if (!e->buf[i]->small)
            tern_ofi_unregister(&e->buf[i]->mr);
    for (struct ofi_slab *slab = e->slabs; slab; slab = slab->next)
        tern_ofi_unregister(&slab->mr);
}

void tern_ofi_rpc_client_close(struct ofi_link *ofi)
{
    struct ofi_rpc *e = &ofi->rpc;

    for (unsigned i = 0; i < e->bufs; i++)
        if (!e->buf[i]->small)
            buf_free(ofi, e->buf[i]);
    while (e->slabs) {
        struct ofi_slab *slab = e->slabs;
        e->slabs = slab->next;
        slab_free(slab);
    }
    free(e->buf);
}

static struct ofi_rpc_buf *small_buf_take(struct ofi_link *ofi, struct ofi_peer *peer, tern_status *st)
{
    struct ofi_rpc     *e = &ofi->rpc;
    struct ofi_rpc_buf *buf;

    *st = TERN_AGAIN;
    if (peer->small_rpc_bufs >= SLAB || (!e->free_small_bufs && e->small_bufs >= SMALL_BUFS))
        tern_ofi_poll_locked(ofi); /* may free some */
    if (peer->small_rpc_bufs < SLAB && !e->free_small_bufs && e->bufs < UINT16_MAX - SLAB &&
        (e->small_bufs < SMALL_BUFS || peer->small_rpc_bufs == 0) && (*st = small_bufs_add(ofi)) < 0)
        return NULL;
    if (peer->small_rpc_bufs >= SLAB || !(buf = e->free_small_bufs)) {
        *st = TERN_AGAIN;
        atomic_store_explicit(&e->wanted, true, memory_order_relaxed); /* ordered by the lock */
        return NULL;
    }
    e->free_small_bufs = buf->next;
    peer->small_rpc_bufs++;
    return buf;
}

/* Returns a buffer for an RPC to the peer, or NULL with the reason in *st. */
static struct ofi_rpc_buf *buf_take(struct ofi_link *ofi, struct ofi_peer *peer, tern_status *st)
{
    struct ofi_rpc     *e = &ofi->rpc;
    unsigned            most = (unsigned)tern_opt.ofi_rooms, large = e->bufs - e->small_bufs;
    struct ofi_rpc_buf *buf = NULL;

    *st = TERN_AGAIN;
    if (peer->rpc_bufs >= most / 2 || (!e->free_bufs && large >= most))
        tern_ofi_poll_locked(ofi); /* may free some */
    if (peer->rpc_bufs < most / 2 && (buf = e->free_bufs))
        e->free_bufs = buf->next;
    else if (peer->rpc_bufs < most / 2 && e->bufs < UINT16_MAX && (large < most || peer->rpc_bufs == 0))
        buf = buf_make(ofi, st);
    if (buf)
        peer->rpc_bufs++;
    else
        atomic_store_explicit(&e->wanted, true, memory_order_relaxed); /* ordered by the lock */
    return buf;
}

void tern_ofi_rpc_buf_free(struct ofi_link *ofi, struct ofi_rpc_buf *buf)
{
    struct ofi_rpc      *e = &ofi->rpc;
    struct ofi_rpc_buf **list = buf->small ? &e->free_small_bufs : &e->free_bufs;

    if (buf->small)
        buf->op.peer->small_rpc_bufs--;
    else
        buf->op.peer->rpc_bufs--;
    buf->uses++;
    buf->next = *list;
    *list = buf;
    if (atomic_exchange_explicit(&e->wanted, false, memory_order_relaxed))
        tern_ofi_ring(ofi);
}

/* ---- sending requests ---- */

tern_status tern_ofi_rpc_open(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    struct ofi_lane    *l = (struct ofi_lane *)lane;
    struct ofi_link    *ofi = l->ofi;
    struct ofi_rpc_buf *buf = NULL;
    struct ofi_peer    *peer;
    tern_status         st;

    if (tern_ofi_gone(ofi, xfer->part->rank))
        return tern_ofi_peer_gone(xfer->part->rank);
    pthread_mutex_lock(&ofi->lock);
    if (!(peer = tern_ofi_peer(ofi, xfer->part->rank)))
        st = tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for rank %d", xfer->part->rank);
    else
        buf = (xfer->small_rpc ? small_buf_take : buf_take)(ofi, peer, &st);
    pthread_mutex_unlock(&ofi->lock);
    if (!buf)
        return st;
    buf->posted = buf->awaits_response = false;
    buf->op = (struct ofi_op){ .op = op, .xfer = *xfer, .lane = l, .peer = peer, .rpc_buf = buf };
    *op = (struct tern_link_op){ .xfer = *xfer, .link_data = &buf->op, .status = TERN_OK };
    op->rpc_buf = buf->bytes + FRONT;
    op->rpc_bytes = buf->small ? SMALL_BUF_BYTES : ofi->rpc.buf_bytes;
    return TERN_OK;
}

/* The provider has completed the send of the request. */
static void sent_ended(struct ofi_link *ofi, struct ofi_comp_ctx *comp_ctx, const struct ofi_comp *comp)
{
    struct ofi_rpc_buf *buf = (struct ofi_rpc_buf *)comp_ctx;
    struct ofi_op      *op = &buf->op;

    op->in_flight--;
    if (comp->error != 0) {
        tern_ofi_op_fail(op, comp->error, comp->why);
        op->in_flight -= buf->awaits_response; /* no response will arrive */
        buf->awaits_response = false;
    }
    tern_ofi_op_settle(ofi, op);
}

static struct ofi_rpc_request request_head_of(const struct ofi_link *ofi, const struct ofi_rpc_buf *buf, size_t request,
                                              size_t expect)
{
    bool by_address = ofi->endpoint.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;

    if (buf->small) /* the peer does not access a small buffer */
        return (struct ofi_rpc_request){ .region = buf->op.xfer.part->region,
                                         .len = (uint32_t)request,
                                         .expect = (uint32_t)expect };
    return (struct ofi_rpc_request){ .region = buf->op.xfer.part->region,
                                     .key = fi_mr_key(buf->mr),
                                     .addr = by_address ? (uint64_t)(uintptr_t)(buf->bytes + FRONT) : FRONT,
                                     .len = (uint32_t)request,
                                     .expect = (uint32_t)expect };
}

void tern_ofi_rpc_send(struct tern_lane *lane, struct tern_link_op *op, size_t request, size_t expect)
{
    struct ofi_link       *ofi = ((struct ofi_lane *)lane)->ofi;
    struct ofi_op         *made = op->link_data;
    struct ofi_rpc_buf    *buf = made->rpc_buf;
    struct ofi_rpc_request request_head = request_head_of(ofi, buf, request, expect);
    struct ofi_header      header = { .token = made->peer->token_out,
                                      .from_kind = (uint32_t)ofi->rank << 8 |
                                                   (request <= OFI_WIRE_INLINE_MAX ? OFI_RPC : OFI_FETCH_RPC),
                                      .seq = buf->number,
                                      .ack = buf->uses };

    memcpy(buf->bytes + FRONT - OFI_WIRE_RPC, &header, sizeof(header));
    memcpy(buf->bytes + FRONT - sizeof(request_head), &request_head, sizeof(request_head));
    op->request_len = buf->request = request;
    op->response_max = expect;
    op->copied = op->xfer.len;
    made->xfer = op->xfer;
    pthread_mutex_lock(&ofi->lock);
    if (atomic_load_explicit(&made->lane->roll_at, memory_order_relaxed) == OFI_NEVER) /* ordered by the lock */
        atomic_store_explicit(&made->lane->roll_at, tern_base_now() + ASK_NS, memory_order_relaxed);
    tern_ofi_op_enlist(made);
    tern_ofi_op_pump(ofi, made);
    tern_ofi_op_settle(ofi, made);
    pthread_mutex_unlock(&ofi->lock);
}

ssize_t tern_ofi_rpc_post(struct ofi_link *ofi, struct ofi_op *op)
{
    struct ofi_rpc_buf  *buf = op->rpc_buf;
    const unsigned char *bytes = buf->bytes + FRONT - OFI_WIRE_RPC;
    size_t               len = OFI_WIRE_RPC + (buf->request <= OFI_WIRE_INLINE_MAX ? buf->request : 0);
    bool                 inject = len <= ofi->endpoint.inject;
    ssize_t              rc;

    buf->comp_ctx.ended = sent_ended;
    rc = inject ? fi_inject(ofi->endpoint.ep, bytes, len, op->peer->addr)
                : fi_send(ofi->endpoint.ep, bytes, len, buf->mr ? fi_mr_desc(buf->mr) : NULL, op->peer->addr,
                          &buf->comp_ctx.context);
    if (rc != 0)
        return rc;
    buf->posted = buf->awaits_response = true;
    buf->asked = tern_base_now();
    op->in_flight = inject ? 1 : 2; /* the response, and the completion of the send */
    return 0;
}

/* ---- receiving responses ---- */

void tern_ofi_rpc_response(struct ofi_link *ofi, struct ofi_peer *peer, const struct ofi_decoded *decoded,
                           const unsigned char *bytes)
{
    struct ofi_rpc      *e = &ofi->rpc;
    struct ofi_rpc_buf  *buf = decoded->header.seq < e->bufs ? e->buf[decoded->header.seq] : NULL;
    struct tern_link_op *op;

    if (!buf || !buf->awaits_response || buf->uses != decoded->header.ack || buf->op.peer != peer)
        return; /* nobody waits for the response any more */
    op = buf->op.op;
    if (decoded->rpc_response.status != TERN_OK || (op && decoded->rpc_response.len > op->response_max))
        tern_ofi_op_fail(&buf->op, FI_EREMOTEIO, "the target refused it");
    else if (op && op->on_response && !buf->op.cancelled)
        op->on_response(op, decoded->len > 0 ? bytes : op->rpc_buf + tern_link_response_at(op->request_len),
                        decoded->rpc_response.len);
    buf->awaits_response = false;
    buf->op.in_flight--;
    tern_ofi_op_settle(ofi, &buf->op);
}

void tern_ofi_rpc_forget(struct ofi_link *ofi, struct ofi_op *op)
{
    struct ofi_rpc_buf *buf = op->rpc_buf;

    op->cancelled = true;
    if (op->waits)
        return; /* not posted: tern_ofi_rma_pump() ends the operation */
    op->in_flight -= buf->awaits_response;
    buf->awaits_response = false;
    if (op->in_flight == 0)
        tern_ofi_rpc_buf_free(ofi, buf);
}

int64_t tern_ofi_rpc_due(const struct ofi_op *op)
{
    if (!op->rpc_buf->awaits_response)
        return OFI_NEVER; /* the request is not posted yet, or only its send is outstanding */
    return op->peer->broken ? 0 : op->rpc_buf->asked + ASK_NS;
}

/* Providers report a broken connection when the connection is used, so send a message now and then while a response
 * is outstanding. */
void tern_ofi_rpc_check(struct ofi_link *ofi, struct ofi_op *op, int64_t now)
{
    struct ofi_rpc_buf *buf = op->rpc_buf;

    if (!buf->awaits_response)
        return;
    if (op->peer->broken) {
        tern_ofi_op_fail(op, FI_ENOTCONN, "the connection broke");
        op->in_flight--;
        buf->awaits_response = false;
        tern_ofi_op_settle(ofi, op);
    } else if (now - buf->asked >= ASK_NS) {
        buf->asked = now;
        tern_ofi_tx_due(ofi, op->peer, OFI_DUE_CREDIT_REQUEST);
    }
}

/* rpc_client.c: the initiator's side of RPCs.
 *
 * A process has TERN_NET_RPC_BUFFERS RPC buffers, which its peers may read and write remotely. RPCs to one peer may
 * occupy half of them. A peer for which no buffer is in use always gets one, so that a slow peer does not block RPCs to
 * another. The caller writes its request into a buffer. A short request is sent from the buffer. For a long request
 * only its location is sent, and the peer reads the request when it has a free server slot. So the peer's memory limits
 * the rate, and requests need no intermediate copy. The peer writes a long response into the same buffer, behind the
 * request, and then sends a message; a short response is in the message. A buffer is reused after its response has
 * arrived. A response names the buffer and its use count, so that a late response is not matched with a later RPC.
 *
 * Small RPCs use small buffers, of which there are many and which no peer accesses: request and response travel in
 * the messages.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "link/net/net.h"

#define FRONT 64 /* bytes of a buffer in front of the request, which end with net_header and net_rpc_request */
_Static_assert(NET_WIRE_RPC <= FRONT, "the headers fit in front of the request");
#define ASK_NS 1000000000ll
#define SMALL_BUF_BYTES ((size_t)2 * TERN_LINK_SMALL) /* size of a small buffer: request and response */
#define SLAB 32                                       /* small buffers allocated together, and the limit for one peer */
#define SMALL_BUFS 128                                /* limit for all peers; a peer that uses none may exceed it */
_Static_assert(TERN_LINK_SMALL % 64 == 0, "a response is aligned to 64 bytes");

/* Buffers that are allocated and registered together. */
struct net_rpc_slab {
    struct net_rpc_slab *next;
    struct net_mr        mr;
    struct net_rpc_buf   buf[];
};

/* ---- buffers ---- */

/* Allocate a large buffer, or a slab of small ones. */
static tern_status bufs_add(struct net_link *net, bool small)
{
    struct net_rpc      *e = &net->rpc;
    unsigned             count = small ? SLAB : 1;
    size_t               each = FRONT + (small ? SMALL_BUF_BYTES : e->buf_bytes);
    struct net_rpc_buf **table = realloc(e->buf, (e->bufs + count) * sizeof(*table));
    struct net_rpc_slab *slab = calloc(1, sizeof(*slab) + count * sizeof(slab->buf[0]));
    tern_status          st = TERN_ERR_NOMEM;

    e->buf = table ? table : e->buf;
    if (!table || !slab)
        tern_base_fail(TERN_ERR_NOMEM, "link %s: no memory for %u more RPC buffers", net->name, count);
    else
        st = tern_net_memory_make(net, count * each, small ? 0 : NET_REMOTE_READ | NET_REMOTE_WRITE, &slab->mr);
    if (st < 0) {
        free(slab);
        return st;
    }
    for (unsigned i = 0; i < count; i++) {
        slab->buf[i] = (struct net_rpc_buf){ .number = (uint16_t)e->bufs,
                                             .bytes = slab->mr.bytes + i * each,
                                             .mr = &slab->mr,
                                             .small = small,
                                             .next = e->free_bufs[small] };
        e->free_bufs[small] = e->buf[e->bufs++] = &slab->buf[i];
    }
    e->small_bufs += small ? count : 0;
    slab->next = e->slabs;
    e->slabs = slab;
    return TERN_OK;
}

void tern_net_rpc_client_close(struct net_link *net)
{
    struct net_rpc_slab *slab;

    while ((slab = net->rpc.slabs)) {
        net->rpc.slabs = slab->next;
        tern_net_memory_free(net, &slab->mr);
        free(slab);
    }
    free(net->rpc.buf);
}

/* Returns a buffer for an RPC to the peer, or NULL with the reason in *st. */
static struct net_rpc_buf *buf_take(struct net_link *net, struct net_peer *peer, bool small, tern_status *st)
{
    struct net_rpc     *e = &net->rpc;
    unsigned            most = small ? SMALL_BUFS : (unsigned)tern_opt.net_rpc_buffers, share = small ? SLAB : most / 2;
    unsigned           *used = &peer->rpc_bufs[small], made = small ? e->small_bufs : e->bufs - e->small_bufs;
    struct net_rpc_buf *buf;

    *st = TERN_AGAIN;
    if (*used >= share || (!e->free_bufs[small] && made >= most))
        net->verbs->drain(net); /* may free some */
    if (*used < share && !e->free_bufs[small] && e->bufs < UINT16_MAX - SLAB && (made < most || *used == 0) &&
        (*st = bufs_add(net, small)) < 0)
        return NULL;
    buf = *used < share ? e->free_bufs[small] : NULL;
    if (!buf) {
        atomic_store_explicit(&e->wanted, true, memory_order_relaxed); /* ordered by the lock */
        return NULL;
    }
    e->free_bufs[small] = buf->next;
    ++*used;
    return buf;
}

static void buf_free(struct net_link *net, struct net_rpc_buf *buf)
{
    struct net_rpc *e = &net->rpc;

    buf->ctx.peer->rpc_bufs[buf->small]--;
    buf->uses++;
    buf->next = e->free_bufs[buf->small];
    e->free_bufs[buf->small] = buf;
    if (atomic_exchange_explicit(&e->wanted, false, memory_order_relaxed))
        tern_net_ring(net);
}

/* ---- sending requests ---- */

static int  request_post(struct net_link *net, struct net_ctx *ctx);
static void sent_ended(struct net_link *net, struct net_ctx *ctx, int error);

tern_status tern_net_rpc_open(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    struct net_lane    *l = (struct net_lane *)lane;
    struct net_link    *net = l->net;
    struct net_rpc_buf *buf;
    struct net_peer    *peer;
    tern_status         st = TERN_ERR_NOMEM;

    if (tern_boot_gone(net->boot, xfer->part->rank))
        return tern_net_peer_gone(xfer->part->rank);
    pthread_mutex_lock(&net->lock);
    peer = tern_net_peer(net, xfer->part->rank);
    buf = peer ? buf_take(net, peer, xfer->small_rpc, &st) : NULL;
    pthread_mutex_unlock(&net->lock);
    if (!buf)
        return st;
    tern_net_ctx_init(&buf->ctx, peer, request_post, sent_ended);
    buf->awaits_response = false;
    buf->in_flight = 0;
    buf->op = op;
    tern_net_op_init(op, xfer, l, peer);
    op->link_data = buf;
    op->rpc_buf = buf->bytes + FRONT;
    op->rpc_bytes = buf->small ? SMALL_BUF_BYTES : net->rpc.buf_bytes;
    return TERN_OK;
}

/* Finish the RPC if its send has completed and its response has arrived. */
static void settle(struct net_link *net, struct net_rpc_buf *buf)
{
    if (buf->in_flight > 0)
        return;
    if (buf->op)
        tern_net_op_finish(net, buf->op);
    buf_free(net, buf);
}

/* The RPC has failed, and no response will arrive. */
static void no_response(struct net_rpc_buf *buf, int error)
{
    if (buf->op)
        tern_net_op_fail(buf->op, error);
    buf->in_flight -= buf->awaits_response;
    buf->awaits_response = false;
}

/* The request has been sent, or could not be sent. */
static void sent_ended(struct net_link *net, struct net_ctx *ctx, int error)
{
    struct net_rpc_buf *buf = (struct net_rpc_buf *)ctx;

    buf->in_flight--;
    if (error != 0)
        no_response(buf, error);
    settle(net, buf);
}

void tern_net_rpc_send(struct tern_lane *lane, struct tern_link_op *op, size_t request, size_t expect)
{
    struct net_link       *net = ((struct net_lane *)lane)->net;
    struct net_rpc_buf    *buf = op->link_data;
    unsigned               kind = request <= NET_WIRE_INLINE_MAX ? NET_RPC : NET_FETCH_RPC;
    struct net_header      header = tern_net_header(net, buf->ctx.peer, kind, buf->number, buf->uses);
    struct net_rpc_request head = { .region = op->xfer.part->region,
                                    .len = (uint32_t)request,
                                    .expect = (uint32_t)expect };

    if (!buf->small) { /* the peer does not access a small buffer */
        head.key = buf->mr->key;
        head.addr = buf->mr->base + FRONT;
    }
    memcpy(buf->bytes + FRONT - NET_WIRE_RPC, &header, sizeof(header));
    memcpy(buf->bytes + FRONT - sizeof(head), &head, sizeof(head));
    op->request_len = buf->request = request;
    op->response_max = expect;
    op->copied = op->xfer.len;
    pthread_mutex_lock(&net->lock);
    if (atomic_load_explicit(&op->net.lane->roll_at, memory_order_relaxed) == NET_NEVER) /* ordered by the lock */
        atomic_store_explicit(&op->net.lane->roll_at, tern_base_now() + ASK_NS, memory_order_relaxed);
    tern_base_list_push(&op->net.lane->ops, &op->node);
    buf->in_flight = 1;
    tern_net_post(net, &buf->ctx);
    pthread_mutex_unlock(&net->lock);
}

static int request_post(struct net_link *net, struct net_ctx *ctx)
{
    struct net_rpc_buf  *buf = (struct net_rpc_buf *)ctx;
    const unsigned char *bytes = buf->bytes + FRONT - NET_WIRE_RPC;
    size_t               len = NET_WIRE_RPC + (buf->request <= NET_WIRE_INLINE_MAX ? buf->request : 0);
    bool                 inject = len <= net->inject;
    int                  rc;

    if (!buf->op || buf->op->net.cancelled) {
        sent_ended(net, ctx, 0);
        return 0;
    }
    rc = inject ? net->verbs->inject(net, ctx->peer, bytes, len) : net->verbs->send(net, ctx, bytes, len, buf->mr);
    if (rc != 0)
        return rc;
    buf->awaits_response = true;
    buf->asked = tern_base_now();
    buf->in_flight += !inject; /* the response, and the completion of the send */
    return 0;
}

/* ---- receiving responses ---- */

void tern_net_rpc_response(struct net_link *net, struct net_peer *peer, const struct net_decoded *decoded,
                           const unsigned char *bytes)
{
    struct net_rpc      *e = &net->rpc;
    struct net_rpc_buf  *buf = decoded->header.seq < e->bufs ? e->buf[decoded->header.seq] : NULL;
    struct tern_link_op *op;

    if (!buf || !buf->awaits_response || buf->uses != decoded->header.ack || buf->ctx.peer != peer)
        return; /* nobody waits for the response any more */
    op = buf->op;
    if (decoded->rpc_response.status != TERN_OK || decoded->rpc_response.len > op->response_max)
        tern_net_op_fail(op, EREMOTEIO);
    else if (op->on_response && !op->net.cancelled)
        op->on_response(op, decoded->len > 0 ? bytes : op->rpc_buf + tern_link_response_at(op->request_len),
                        decoded->rpc_response.len);
    buf->awaits_response = false;
    buf->in_flight--;
    settle(net, buf);
}

void tern_net_rpc_abandon(struct net_link *net, struct tern_link_op *op)
{
    struct net_rpc_buf *buf = op->link_data;

    buf->op = NULL;
    no_response(buf, 0);
    settle(net, buf);
}

int64_t tern_net_rpc_due(const struct tern_link_op *op)
{
    const struct net_rpc_buf *buf = op->link_data;

    if (!buf->awaits_response)
        return NET_NEVER; /* the request is not posted yet, or only its send is outstanding */
    return op->net.peer->broken ? 0 : buf->asked + ASK_NS;
}

/* Networks report a broken connection when the connection is used, so send a message now and then while a response is
 * outstanding. */
void tern_net_rpc_check(struct net_link *net, struct tern_link_op *op, int64_t now)
{
    struct net_rpc_buf *buf = op->link_data;

    if (!buf->awaits_response)
        return;
    if (op->net.peer->broken) {
        no_response(buf, ENOTCONN);
        settle(net, buf);
    } else if (now - buf->asked >= ASK_NS) {
        buf->asked = now;
        tern_net_tx_due(net, op->net.peer, NET_DUE_CREDIT_REQUEST);
    }
}

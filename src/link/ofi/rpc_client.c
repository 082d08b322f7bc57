/* rpc_client.c: errands to peers.
 *
 * A process has TERN_OFI_ROOMS rooms, open to reading and writing by its peers, half of which may hold errands to one
 * of them; a peer to which there are none always gets one, so that nobody waits for another's sake. The caller writes
 * its request into one. A short request is sent from there; of a long one only the place is sent, and the peer reads it
 * when it has a desk for it. So the peer's memory sets the pace, and no request is copied on its way. A long answer the
 * peer writes into the same room, behind the request, and then says so; a short one comes with the message. A room is
 * used again when its answer has come; an answer names the room and how often it was used, so that one that comes too
 * late is not taken for another.
 *
 * Errands that are brief have rooms of their own, small and many, which no peer reads or writes: request and answer go
 * with the messages.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "link/ofi/ofi.h"

#define FRONT 64 /* bytes of a room before its request, which end with header and errand */
_Static_assert(OFI_WIRE_RPC <= FRONT, "header and errand lie in front of the request");
#define ASK_NS 1000000000ll
#define ROOM_ACCESS (FI_SEND | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define BRIEF_BYTES (2 * TERN_LINK_SMALL) /* of a small room: request and answer */
#define SLAB 32                           /* small rooms that are made together, and that one peer may have */
#define BRIEFS 128                        /* of all peers, but for those that have none */
_Static_assert(TERN_LINK_SMALL % 64 == 0, "an answer lies at a multiple of 64");

struct ofi_slab {
    struct ofi_slab   *next;
    unsigned char     *bytes;
    struct fid_mr     *mr; /* NULL: the provider needs none */
    struct ofi_rpc_buf room[SLAB];
};

/* ---- rooms ---- */

static size_t room_size(const struct ofi_link *ofi)
{
    return FRONT + ofi->rpc.buf_bytes;
}

static void room_free(struct ofi_link *ofi, struct ofi_rpc_buf *room)
{
    tern_ofi_unregister(&room->mr);
    if (room->bytes != MAP_FAILED)
        munmap(room->bytes, room_size(ofi));
    free(room);
}

static struct ofi_rpc_buf *room_make(struct ofi_link *ofi, tern_status *st)
{
    struct ofi_rpc      *e = &ofi->rpc;
    struct ofi_rpc_buf **table = realloc(e->buf, (e->bufs + 1) * sizeof(*table)), *room = calloc(1, sizeof(*room));

    e->buf = table ? table : e->buf;
    *st = TERN_ERR_NOMEM;
    if (table && room) {
        room->number = (uint16_t)e->bufs;
        room->bytes = mmap(NULL, room_size(ofi), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room->bytes != MAP_FAILED)
            *st = tern_ofi_register(ofi, room->bytes, room_size(ofi), ROOM_ACCESS, &room->mr);
        if (*st == TERN_OK) {
            e->buf[e->bufs++] = room;
            return room;
        }
        room_free(ofi, room);
    } else {
        free(room);
    }
    if (*st == TERN_ERR_NOMEM)
        tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for one more room of %zu bytes (TERN_OFI_ROOM)",
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
    size_t           bytes = SLAB * (FRONT + BRIEF_BYTES);

    *st = TERN_ERR_NOMEM;
    if (slab && (slab->bytes = aligned_alloc(64, bytes))) {
        *st = ofi->endpoint.mr_local ? tern_ofi_register(ofi, slab->bytes, bytes, FI_SEND, &slab->mr) : TERN_OK;
        if (*st == TERN_OK)
            return slab;
        slab_free(slab);
        return NULL;
    }
    free(slab);
    tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for %d small errands", SLAB);
    return NULL;
}

/* More small rooms. */
static tern_status briefs_add(struct ofi_link *ofi)
{
    struct ofi_rpc      *e = &ofi->rpc;
    struct ofi_rpc_buf **table = realloc(e->buf, (e->bufs + SLAB) * sizeof(*table));
    tern_status          st = TERN_ERR_NOMEM;
    struct ofi_slab     *slab;

    if (!table)
        return tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for %d small errands", SLAB);
    e->buf = table;
    if (!(slab = slab_make(ofi, &st)))
        return st;
    for (unsigned i = 0; i < SLAB; i++) {
        slab->room[i] = (struct ofi_rpc_buf){ .number = (uint16_t)e->bufs,
                                              .bytes = slab->bytes + i * (FRONT + BRIEF_BYTES),
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
            room_free(ofi, e->buf[i]);
    while (e->slabs) {
        struct ofi_slab *slab = e->slabs;
        e->slabs = slab->next;
        slab_free(slab);
    }
    free(e->buf);
}

static struct ofi_rpc_buf *brief_take(struct ofi_link *ofi, struct ofi_peer *peer, tern_status *st)
{
    struct ofi_rpc     *e = &ofi->rpc;
    struct ofi_rpc_buf *room;

    *st = TERN_AGAIN;
    if (peer->small_rpc_bufs >= SLAB || (!e->free_small_bufs && e->small_bufs >= BRIEFS))
        tern_ofi_poll_locked(ofi); /* may give some back */
    if (peer->small_rpc_bufs < SLAB && !e->free_small_bufs && e->bufs < UINT16_MAX - SLAB &&
        (e->small_bufs < BRIEFS || peer->small_rpc_bufs == 0) && (*st = briefs_add(ofi)) < 0)
        return NULL;
    if (peer->small_rpc_bufs >= SLAB || !(room = e->free_small_bufs)) {
        *st = TERN_AGAIN;
        atomic_store_explicit(&e->wanted, true, memory_order_relaxed); /* the lock orders */
        return NULL;
    }
    e->free_small_bufs = room->next;
    peer->small_rpc_bufs++;
    return room;
}

/* A room for the peer; NULL: *st tells why not. */
static struct ofi_rpc_buf *room_take(struct ofi_link *ofi, struct ofi_peer *peer, tern_status *st)
{
    struct ofi_rpc     *e = &ofi->rpc;
    unsigned            most = (unsigned)tern_opt.ofi_rooms, large = e->bufs - e->small_bufs;
    struct ofi_rpc_buf *room = NULL;

    *st = TERN_AGAIN;
    if (peer->rpc_bufs >= most / 2 || (!e->free_bufs && large >= most))
        tern_ofi_poll_locked(ofi); /* may give some back */
    if (peer->rpc_bufs < most / 2 && (room = e->free_bufs))
        e->free_bufs = room->next;
    else if (peer->rpc_bufs < most / 2 && e->bufs < UINT16_MAX && (large < most || peer->rpc_bufs == 0))
        room = room_make(ofi, st);
    if (room)
        peer->rpc_bufs++;
    else
        atomic_store_explicit(&e->wanted, true, memory_order_relaxed); /* the lock orders */
    return room;
}

void tern_ofi_rpc_buf_free(struct ofi_link *ofi, struct ofi_rpc_buf *room)
{
    struct ofi_rpc      *e = &ofi->rpc;
    struct ofi_rpc_buf **list = room->small ? &e->free_small_bufs : &e->free_bufs;

    if (room->small)
        room->op.peer->small_rpc_bufs--;
    else
        room->op.peer->rpc_bufs--;
    room->uses++;
    room->next = *list;
    *list = room;
    if (atomic_exchange_explicit(&e->wanted, false, memory_order_relaxed))
        tern_ofi_ring(ofi);
}

/* ---- going out ---- */

tern_status tern_ofi_rpc_open(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    struct ofi_lane    *l = (struct ofi_lane *)lane;
    struct ofi_link    *ofi = l->ofi;
    struct ofi_rpc_buf *room = NULL;
    struct ofi_peer    *peer;
    tern_status         st;

    if (tern_ofi_gone(ofi, xfer->part->rank))
        return tern_ofi_peer_gone(xfer->part->rank);
    pthread_mutex_lock(&ofi->lock);
    if (!(peer = tern_ofi_peer(ofi, xfer->part->rank)))
        st = tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for rank %d", xfer->part->rank);
    else
        room = (xfer->small_rpc ? brief_take : room_take)(ofi, peer, &st);
    pthread_mutex_unlock(&ofi->lock);
    if (!room)
        return st;
    room->posted = room->awaits_response = false;
    room->op = (struct ofi_op){ .op = op, .xfer = *xfer, .lane = l, .peer = peer, .rpc_buf = room };
    *op = (struct tern_link_op){ .xfer = *xfer, .link_data = &room->op, .status = TERN_OK };
    op->rpc_buf = room->bytes + FRONT;
    op->rpc_bytes = room->small ? BRIEF_BYTES : ofi->rpc.buf_bytes;
    return TERN_OK;
}

/* The message is out of the provider's hands. */
static void sent_ended(struct ofi_link *ofi, struct ofi_comp_ctx *token, const struct ofi_comp *news)
{
    struct ofi_rpc_buf *room = (struct ofi_rpc_buf *)token;
    struct ofi_op      *op = &room->op;

    op->in_flight--;
    if (news->error != 0) {
        tern_ofi_op_fail(op, news->error, news->why);
        op->in_flight -= room->awaits_response; /* there will be no answer */
        room->awaits_response = false;
    }
    tern_ofi_op_settle(ofi, op);
}

static struct ofi_rpc_request errand_of(const struct ofi_link *ofi, const struct ofi_rpc_buf *room, size_t request,
                                        size_t expect)
{
    bool by_address = ofi->endpoint.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;

    if (room->small) /* nobody reads or writes it */
        return (struct ofi_rpc_request){ .region = room->op.xfer.part->region,
                                         .len = (uint32_t)request,
                                         .expect = (uint32_t)expect };
    return (struct ofi_rpc_request){ .region = room->op.xfer.part->region,
                                     .key = fi_mr_key(room->mr),
                                     .addr = by_address ? (uint64_t)(uintptr_t)(room->bytes + FRONT) : FRONT,
                                     .len = (uint32_t)request,
                                     .expect = (uint32_t)expect };
}

void tern_ofi_rpc_send(struct tern_lane *lane, struct tern_link_op *op, size_t request, size_t expect)
{
    struct ofi_link       *ofi = ((struct ofi_lane *)lane)->ofi;
    struct ofi_op         *made = op->link_data;
    struct ofi_rpc_buf    *room = made->rpc_buf;
    struct ofi_rpc_request errand = errand_of(ofi, room, request, expect);
    struct ofi_header      header = { .token = made->peer->token_out,
                                      .from_kind = (uint32_t)ofi->rank << 8 |
                                                   (request <= OFI_WIRE_INLINE_MAX ? OFI_RPC : OFI_FETCH_RPC),
                                      .seq = room->number,
                                      .ack = room->uses };

    memcpy(room->bytes + FRONT - OFI_WIRE_RPC, &header, sizeof(header));
    memcpy(room->bytes + FRONT - sizeof(errand), &errand, sizeof(errand));
    op->request_len = room->request = request;
    op->response_max = expect;
    op->copied = op->xfer.len;
    made->xfer = op->xfer;
    pthread_mutex_lock(&ofi->lock);
    if (atomic_load_explicit(&made->lane->roll_at, memory_order_relaxed) == OFI_NEVER) /* the lock orders */
        atomic_store_explicit(&made->lane->roll_at, tern_base_now() + ASK_NS, memory_order_relaxed);
    tern_ofi_op_enlist(made);
    tern_ofi_op_pump(ofi, made);
    tern_ofi_op_settle(ofi, made);
    pthread_mutex_unlock(&ofi->lock);
}

ssize_t tern_ofi_rpc_post(struct ofi_link *ofi, struct ofi_op *op)
{
    struct ofi_rpc_buf  *room = op->rpc_buf;
    const unsigned char *bytes = room->bytes + FRONT - OFI_WIRE_RPC;
    size_t               len = OFI_WIRE_RPC + (room->request <= OFI_WIRE_INLINE_MAX ? room->request : 0);
    bool                 inject = len <= ofi->endpoint.inject;
    ssize_t              rc;

    room->comp_ctx.ended = sent_ended;
    rc = inject ? fi_inject(ofi->endpoint.ep, bytes, len, op->peer->addr)
                : fi_send(ofi->endpoint.ep, bytes, len, room->mr ? fi_mr_desc(room->mr) : NULL, op->peer->addr,
                          &room->comp_ctx.context);
    if (rc != 0)
        return rc;
    room->posted = room->awaits_response = true;
    room->asked = tern_base_now();
    op->in_flight = inject ? 1 : 2; /* the answer, and the end of the sending */
    return 0;
}

/* ---- coming back ---- */

void tern_ofi_rpc_response(struct ofi_link *ofi, struct ofi_peer *peer, const struct ofi_decoded *mail,
                           const unsigned char *bytes)
{
    struct ofi_rpc      *e = &ofi->rpc;
    struct ofi_rpc_buf  *room = mail->header.seq < e->bufs ? e->buf[mail->header.seq] : NULL;
    struct tern_link_op *op;

    if (!room || !room->awaits_response || room->uses != mail->header.ack || room->op.peer != peer)
        return; /* nobody waits for it any more */
    op = room->op.op;
    if (mail->rpc_response.status != TERN_OK || (op && mail->rpc_response.len > op->response_max))
        tern_ofi_op_fail(&room->op, FI_EREMOTEIO, "the target refused it");
    else if (op && op->on_response && !room->op.cancelled)
        op->on_response(op, mail->len > 0 ? bytes : op->rpc_buf + tern_link_response_at(op->request_len),
                        mail->rpc_response.len);
    room->awaits_response = false;
    room->op.in_flight--;
    tern_ofi_op_settle(ofi, &room->op);
}

void tern_ofi_rpc_forget(struct ofi_link *ofi, struct ofi_op *op)
{
    struct ofi_rpc_buf *room = op->rpc_buf;

    op->cancelled = true;
    if (op->waits)
        return; /* not with the provider: it ends when its turn comes */
    op->in_flight -= room->awaits_response;
    room->awaits_response = false;
    if (op->in_flight == 0)
        tern_ofi_rpc_buf_free(ofi, room);
}

int64_t tern_ofi_rpc_due(const struct ofi_op *op)
{
    if (!op->rpc_buf->awaits_response)
        return OFI_NEVER; /* the provider has it, or has had no room for it so far */
    return op->peer->broken ? 0 : op->rpc_buf->asked + ASK_NS;
}

/* The provider tells of a broken connection when it is used: use it now and then while an answer is waited for. */
void tern_ofi_rpc_check(struct ofi_link *ofi, struct ofi_op *op, int64_t now)
{
    struct ofi_rpc_buf *room = op->rpc_buf;

    if (!room->awaits_response)
        return;
    if (op->peer->broken) {
        tern_ofi_op_fail(op, FI_ENOTCONN, "the connection broke");
        op->in_flight--;
        room->awaits_response = false;
        tern_ofi_op_settle(ofi, op);
    } else if (now - room->asked >= ASK_NS) {
        room->asked = now;
        tern_ofi_tx_due(ofi, op->peer, OFI_DUE_CREDIT_REQUEST);
    }
}

/* msg_send.c: sending messages.
 *
 * What is published in a ring is handed to the provider in order. A message without data is copied while it is sent;
 * one with data goes from the ring; one with much data stays there, and only its head and where it is go out. Its cell
 * is free again when the provider has done with it and the peer has told that the message was handled.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "link/ofi/ofi.h"

/* ---- rings ---- */

void tern_ofi_tx_unregister(struct ofi_peer *peer)
{
    peer->rings_mr[TERN_CHANNEL_REPLY] = NULL; /* it is that of the requests */
    for (unsigned c = 0; c < TERN_CHANNELS; c++)
        tern_ofi_unregister(&peer->rings_mr[c]);
}

void tern_ofi_tx_drop(struct ofi_peer *peer)
{
    tern_ofi_tx_unregister(peer);
    for (unsigned c = 0; c < TERN_CHANNELS; c++) {
        free(peer->rings[c]);
        free(peer->out[c].sent);
        peer->rings[c] = NULL;
        peer->out[c] = (struct ofi_tx_channel){ .sent = NULL };
    }
}

static void outlet_make(struct ofi_tx_channel *out, unsigned char *memory, struct tern_ring_shape shape)
{
    memset(memory, 0, sizeof(struct tern_ring) + shape.cells * sizeof(struct tern_ring_cell));
    tern_base_ring_producer_init(&out->ring.producer, memory, shape);
    tern_base_ring_consumer_init(&out->cells, memory, shape);
}

/* An outlet of a channel that has data, from which the provider sends. */
static bool rings_make(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel, unsigned char *memory)
{
    struct tern_ring_shape shape = ofi->msg.shape[channel];

    outlet_make(&peer->out[channel], memory, shape);
    return (peer->out[channel].sent = calloc(shape.cells, sizeof(*peer->out[channel].sent))) != NULL;
}

/* The outlets that are made together with that of a channel: first to last. */
static unsigned first_of(unsigned channel)
{
    return channel < TERN_CHANNELS_PAIR ? 0 : channel;
}

static unsigned last_of(unsigned channel)
{
    return channel < TERN_CHANNELS_PAIR ? TERN_CHANNELS_PAIR - 1 : channel;
}

/* Their memory, and what is in it. */
static bool outlets_make(struct ofi_link *ofi, struct ofi_peer *peer, unsigned first, unsigned last)
{
    size_t bytes = ofi->msg.ring_bytes[first];
    bool   made = (peer->rings[first] = aligned_alloc(TERN_RING_LINE, (last - first + 1) * bytes)) != NULL;

    if (made && first == TERN_CHANNEL_NOTIFY) { /* these are copied */
        outlet_make(&peer->out[first], peer->rings[first], ofi->msg.shape[first]);
        return true;
    }
    for (unsigned c = first; c <= last && made; c++)
        made = rings_make(ofi, peer, c, peer->rings[first] + (c - first) * bytes);
    return made;
}

static void outlets_drop(struct ofi_peer *peer, unsigned first, unsigned last)
{
    free(peer->rings[first]);
    peer->rings[first] = NULL;
    for (unsigned c = first; c <= last; c++) {
        free(peer->out[c].sent);
        peer->out[c] = (struct ofi_tx_channel){ .sent = NULL };
    }
}

tern_status tern_ofi_tx_make(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel)
{
    unsigned    first = first_of(channel), last = last_of(channel);
    size_t      bytes = (last - first + 1) * ofi->msg.ring_bytes[first];
    tern_status st = TERN_OK;

    if (!outlets_make(ofi, peer, first, last))
        st = tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for a message queue to rank %d", peer->rank);
    else if (channel != TERN_CHANNEL_NOTIFY)
        st = tern_ofi_register(ofi, peer->rings[first], bytes, FI_SEND | FI_REMOTE_READ, &peer->rings_mr[first]);
    if (st < 0) {
        outlets_drop(peer, first, last);
        return st;
    }
    for (unsigned c = first; c <= last; c++) {
        peer->rings_mr[c] = peer->rings_mr[first];
        /* release: the rings before the mark. Pairs with the acquire in tern_ofi_msg_open(). */
        atomic_store_explicit(&peer->ready[c], true, memory_order_release);
    }
    return TERN_OK;
}

/* ---- who has something to send ---- */

static void work_add(struct ofi_link *ofi, struct ofi_peer *peer)
{
    if (peer->queued)
        return;
    peer->queued = true;
    peer->next = NULL;
    *ofi->msg.work_end = peer;
    ofi->msg.work_end = &peer->next;
}

void tern_ofi_tx_due(struct ofi_link *ofi, struct ofi_peer *peer, unsigned what)
{
    peer->due |= (uint8_t)what;
    work_add(ofi, peer);
}

/* Messages to the peer are lost, or it cannot be reached. */
static void break_off(struct ofi_link *ofi, struct ofi_peer *peer, const char *why)
{
    if (!peer->broken)
        snprintf(peer->why, sizeof(peer->why), "%s", why);
    if (!peer->broken && !tern_ofi_gone(ofi, peer->rank))
        tern_base_log(TERN_LOG_DEBUG, "link ofi: messages to rank %d cannot be sent: %s", peer->rank, why);
    peer->broken = true;
    peer->due = 0;
    tern_ofi_ring(ofi); /* someone may wait for room */
}

/* ---- cells that come free ---- */

/* Free the oldest cells whose messages have been handled, and those that were given up. */
static void free_cells(struct ofi_link *ofi, struct ofi_tx_channel *out)
{
    bool any = false;

    while (out->cells.next < out->next) {
        uint32_t                     index = (uint32_t)out->cells.next & (out->cells.shape.cells - 1);
        const struct tern_ring_cell *cell = &out->cells.ring->cell[index];

        if (cell->len != TERN_RING_SKIP) {
            if (out->freed == out->acked || (out->sent && out->sent[index].in_flight))
                break;
            out->freed++;
        }
        tern_base_ring_consume(&out->cells, tern_base_ring_cell_span(cell));
        any = true;
    }
    if (any && tern_base_ring_producer_waits(&out->cells))
        tern_ofi_ring(ofi);
}

static void sent_ended(struct ofi_link *ofi, struct ofi_comp_ctx *token, const struct ofi_comp *news)
{
    struct ofi_tx_cell *sent = (struct ofi_tx_cell *)token;

    sent->in_flight = false;
    if (news->error != 0)
        break_off(ofi, sent->peer, news->why);
    for (unsigned c = 0; c < TERN_CHANNELS; c++)
        if (sent->peer->out[c].sent)
            free_cells(ofi, &sent->peer->out[c]);
}

bool tern_ofi_tx_ack(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel, uint32_t number)
{
    struct ofi_tx_channel *out = &peer->out[channel];
    int32_t                more = (int32_t)(number - (uint32_t)out->acked);

    if (more <= 0)
        return true; /* it has told more meanwhile */
    if ((uint64_t)more > out->transmitted - out->acked)
        return false;
    out->acked += (uint64_t)more;
    out->credit_requested = false;
    if (channel == OFI_PUT_NOTIFY)
        tern_ofi_ring(ofi); /* a thread may sleep until there is room */
    else
        free_cells(ofi, out);
    return true;
}

/* ---- messages ---- */

static struct ofi_header header_of(const struct ofi_link *ofi, const struct ofi_peer *peer, unsigned kind)
{
    return (struct ofi_header){ .token = peer->token_out, .from_kind = (uint32_t)ofi->rank << 8 | kind };
}

/* Bytes that lie nowhere else: copied by the provider while they are sent, or by us into a piece's room where it does
 * not copy so many. */
static void room_ended(struct ofi_link *ofi, struct ofi_comp_ctx *token, const struct ofi_comp *news)
{
    struct ofi_wr *piece = (struct ofi_wr *)token;

    if (news->error != 0)
        break_off(ofi, piece->peer, news->why);
    tern_ofi_wr_free(ofi, piece);
}

ssize_t tern_ofi_send_copy(struct ofi_link *ofi, struct ofi_peer *peer, const void *bytes, size_t len)
{
    struct ofi_wr *piece;
    ssize_t        rc;

    if (len <= ofi->endpoint.inject)
        return fi_inject(ofi->endpoint.ep, bytes, len, peer->addr);
    if (!(piece = tern_ofi_wr_alloc(ofi, peer)))
        return -FI_EAGAIN;
    memcpy(piece->bounce, bytes, len);
    piece->comp_ctx.ended = room_ended;
    rc = fi_send(ofi->endpoint.ep, piece->bounce, len, piece->desc, peer->addr, &piece->comp_ctx.context);
    if (rc != 0)
        tern_ofi_wr_free(ofi, piece);
    return rc;
}

static ssize_t send_run(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel, const void *bytes, size_t len)
{
    const struct ofi_tx_channel *out = &peer->out[channel];
    struct ofi_tx_cell          *sent = &out->sent[out->next & (out->cells.shape.cells - 1)];
    ssize_t                      rc;

    if (len <= ofi->endpoint.inject)
        return fi_inject(ofi->endpoint.ep, bytes, len, peer->addr);
    sent->comp_ctx.ended = sent_ended;
    sent->peer = peer;
    rc =
        fi_send(ofi->endpoint.ep, bytes, len, fi_mr_desc(peer->rings_mr[channel]), peer->addr, &sent->comp_ctx.context);
    sent->in_flight = rc == 0;
    return rc;
}

/* Head and place of a message whose data stay in the ring. */
static ssize_t send_far(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel, const unsigned char *run,
                        size_t len)
{
    bool                   by_address = ofi->endpoint.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
    struct ofi_remote_data far = { .key = fi_mr_key(peer->rings_mr[channel]), .len = len - OFI_WIRE_HEAD };
    unsigned char          bytes[OFI_WIRE_HEAD + sizeof(far)];

    far.addr = (uintptr_t)run + OFI_WIRE_HEAD - (by_address ? 0 : (uintptr_t)peer->rings[first_of(channel)]);
    memcpy(bytes, run, OFI_WIRE_HEAD);
    memcpy(bytes + OFI_WIRE_HEAD, &far, sizeof(far));
    return tern_ofi_send_copy(ofi, peer, bytes, sizeof(bytes));
}

static enum ofi_kind kind_of(unsigned channel, bool far)
{
    if (channel == TERN_CHANNEL_NOTIFY)
        return OFI_NOTIFY;
    if (channel == TERN_CHANNEL_TAGGED)
        return far ? OFI_FETCH_TAGGED : OFI_TAGGED;
    return (enum ofi_kind)(channel + (far ? OFI_FETCH_REQUEST : OFI_REQUEST));
}

/* One message of a ring. One without data lies in its cell; others have header and head before their data. */
static ssize_t send_cell(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel, struct tern_ring_cell *cell)
{
    struct ofi_tx_channel *out = &peer->out[channel];
    uint32_t               len = tern_base_ring_cell_len(cell);
    bool                   far = len > OFI_WIRE_HEAD + OFI_WIRE_INLINE_MAX;
    struct ofi_header      header = header_of(ofi, peer, kind_of(channel, far));
    unsigned char          small[OFI_WIRE_HEAD], *run;

    header.seq = (uint16_t)out->transmitted;
    header.ack = (uint16_t)peer->in[tern_ofi_wire_partner(channel)].consumed;
    if (len == 0) {
        memcpy(small, &header, sizeof(header));
        memcpy(small + sizeof(header), cell->head, TERN_LINK_HEAD);
        return tern_ofi_send_copy(ofi, peer, small, sizeof(small));
    }
    run = out->cells.data + cell->at;
    memcpy(run, &header, sizeof(header));
    return far ? send_far(ofi, peer, channel, run, len) : send_run(ofi, peer, channel, run, len);
}

/* Everything that is published on a channel, in order. */
static ssize_t send_cells(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel)
{
    struct ofi_tx_channel *out = &peer->out[channel];
    struct ofi_rx_channel *partner = &peer->in[tern_ofi_wire_partner(channel)];
    struct tern_ring_shape shape = out->cells.shape;
    bool                   tells = tern_ofi_wire_acks(shape.cells); /* the partner has as many */
    ssize_t                rc = 0;

    while (rc == 0 && out->next - out->cells.next < shape.cells) {
        struct tern_ring_cell *cell = &out->cells.ring->cell[out->next & (shape.cells - 1)];

        /* acquire: the message after its mark. Pairs with the release in tern_base_ring_publish(). */
        if (atomic_load_explicit(&cell->mark, memory_order_acquire) != tern_base_ring_lap(out->next, shape))
            break;
        if (cell->len != TERN_RING_SKIP && (rc = send_cell(ofi, peer, channel, cell)) == 0) {
            out->transmitted++;
            if (tells) {
                partner->credited = partner->consumed;
                partner->uncredited_bytes = 0;
            }
        }
        out->next += rc == 0;
    }
    free_cells(ofi, out);
    return rc;
}

/* ---- control ---- */

static ssize_t send_credit(struct ofi_link *ofi, struct ofi_peer *peer)
{
    struct ofi_header header = header_of(ofi, peer, OFI_CREDIT);
    struct ofi_credit credit;
    unsigned char     bytes[sizeof(header) + sizeof(credit)];
    ssize_t           rc;

    for (unsigned c = 0; c < OFI_COUNTED; c++)
        credit.consumed[c] = (uint32_t)peer->in[c].consumed;
    memcpy(bytes, &header, sizeof(header));
    memcpy(bytes + sizeof(header), &credit, sizeof(credit));
    rc = tern_ofi_send_copy(ofi, peer, bytes, sizeof(bytes));
    for (unsigned c = 0; c < OFI_COUNTED && rc == 0; c++) {
        peer->in[c].credited = peer->in[c].consumed;
        peer->in[c].uncredited_bytes = 0;
    }
    return rc;
}

static ssize_t send_want(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel)
{
    struct ofi_header header = header_of(ofi, peer, OFI_CREDIT_REQUEST);

    header.seq = (uint16_t)channel;
    return tern_ofi_send_copy(ofi, peer, &header, sizeof(header));
}

static ssize_t send_due(struct ofi_link *ofi, struct ofi_peer *peer)
{
    ssize_t rc = 0;

    while (peer->due && rc == 0) {
        unsigned what = peer->due & -(unsigned)peer->due;

        rc = what == OFI_DUE_CREDIT ? send_credit(ofi, peer)
                                    : send_want(ofi, peer, (unsigned)__builtin_ctz(what / OFI_DUE_CREDIT_REQUEST));
        if (rc == 0)
            peer->due &= (uint8_t)~what;
    }
    return rc;
}

/* ---- pumping ---- */

/* Send what there is for a peer; what the provider has no room for stays on the list. */
static void peer_pump(struct ofi_link *ofi, struct ofi_peer *peer)
{
    static const unsigned urgent[TERN_CHANNELS] = { TERN_CHANNEL_REPLY, TERN_CHANNEL_REQUEST, TERN_CHANNEL_TAGGED,
                                                    TERN_CHANNEL_NOTIFY };

    tern_status st = tern_ofi_address(ofi, peer);
    ssize_t     rc = st == TERN_AGAIN ? -FI_EAGAIN : 0;

    if (st < 0)
        break_off(ofi, peer, tern_base_detail());
    if (peer->broken)
        return;
    if (rc == 0)
        rc = send_due(ofi, peer);
    for (unsigned i = 0; i < TERN_CHANNELS && rc == 0; i++)
        if (atomic_load_explicit(&peer->ready[urgent[i]], memory_order_relaxed)) /* written under the lock */
            rc = send_cells(ofi, peer, urgent[i]);
    if (rc == -FI_EAGAIN)
        work_add(ofi, peer);
    else if (rc != 0)
        break_off(ofi, peer, tern_ofi_why(ofi, (int)-rc));
}

void tern_ofi_tx_kick(struct ofi_link *ofi, struct ofi_peer *peer)
{
    if (!peer->queued)
        peer_pump(ofi, peer);
}

void tern_ofi_tx_pump(struct ofi_link *ofi)
{
    struct ofi_msg  *m = &ofi->msg;
    struct ofi_peer *peer = m->work, *next;

    m->work = NULL;
    m->work_end = &m->work;
    for (; peer; peer = next) {
        next = peer->next;
        peer->queued = false;
        peer_pump(ofi, peer);
    }
}

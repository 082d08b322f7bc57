/* msg_send.c: sending messages.
 *
 * The messages that are published in a ring are sent in order. A message without data is copied and sent (inject). A
 * message with data is sent directly from the ring. The data of a long message stay in the ring: only the head and
 * the location of the data are sent, and the receiver reads the data. A cell is free again when the provider has
 * completed its send and the peer has acknowledged the message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "link/ofi/ofi.h"

/* ---- rings ---- */

void tern_ofi_tx_unregister(struct ofi_peer *peer)
{
    peer->rings_mr[TERN_CHANNEL_REPLY] = NULL; /* the reply ring shares the registration of the request ring */
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

static void tx_ring_make(struct ofi_tx_channel *out, unsigned char *memory, struct tern_ring_shape shape)
{
    memset(memory, 0, sizeof(struct tern_ring) + shape.cells * sizeof(struct tern_ring_cell));
    tern_base_ring_producer_init(&out->ring.producer, memory, shape);
    tern_base_ring_consumer_init(&out->cells, memory, shape);
}

/* Create the ring of a channel that carries data. The provider sends from the ring. Returns false if there is no
 * memory. */
static bool tx_data_ring_make(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel, unsigned char *memory)
{
    struct tern_ring_shape shape = ofi->msg.shape[channel];

    tx_ring_make(&peer->out[channel], memory, shape);
    return (peer->out[channel].sent = calloc(shape.cells, sizeof(*peer->out[channel].sent))) != NULL;
}

/* The rings first_of(channel) to last_of(channel) are created together: requests and replies share one allocation. */
static unsigned first_of(unsigned channel)
{
    return channel < TERN_CHANNELS_PAIR ? 0 : channel;
}

static unsigned last_of(unsigned channel)
{
    return channel < TERN_CHANNELS_PAIR ? TERN_CHANNELS_PAIR - 1 : channel;
}

/* Allocate and initialize the rings first to last. Returns false if there is no memory. */
static bool tx_rings_make(struct ofi_link *ofi, struct ofi_peer *peer, unsigned first, unsigned last)
{
    size_t bytes = ofi->msg.ring_bytes[first];
    bool   made = (peer->rings[first] = aligned_alloc(TERN_RING_LINE, (last - first + 1) * bytes)) != NULL;

    if (made && first == TERN_CHANNEL_NOTIFY) { /* notifications are copied when they are sent */
        tx_ring_make(&peer->out[first], peer->rings[first], ofi->msg.shape[first]);
        return true;
    }
    for (unsigned c = first; c <= last && made; c++)
        made = tx_data_ring_make(ofi, peer, c, peer->rings[first] + (c - first) * bytes);
    return made;
}

static void tx_rings_drop(struct ofi_peer *peer, unsigned first, unsigned last)
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

    if (!tx_rings_make(ofi, peer, first, last))
        st = tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for a message queue to rank %d", peer->rank);
    else if (channel != TERN_CHANNEL_NOTIFY)
        st = tern_ofi_register(ofi, peer->rings[first], bytes, FI_SEND | FI_REMOTE_READ, &peer->rings_mr[first]);
    if (st < 0) {
        tx_rings_drop(peer, first, last);
        return st;
    }
    for (unsigned c = first; c <= last; c++) {
        peer->rings_mr[c] = peer->rings_mr[first];
        /* release: the rings before the flag. Pairs with the acquire in target() of message.c. */
        atomic_store_explicit(&peer->ready[c], true, memory_order_release);
    }
    return TERN_OK;
}

/* ---- peers to which something must be sent ---- */

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

/* Stop sending to the peer, because messages to it were lost or it is not reachable. */
static void break_off(struct ofi_link *ofi, struct ofi_peer *peer, const char *why)
{
    if (!peer->broken)
        snprintf(peer->why, sizeof(peer->why), "%s", why);
    if (!peer->broken && !tern_ofi_gone(ofi, peer->rank))
        tern_base_log(TERN_LOG_DEBUG, "link ofi: messages to rank %d cannot be sent: %s", peer->rank, why);
    peer->broken = true;
    peer->due = 0;
    tern_ofi_ring(ofi); /* a thread may wait for space in the ring */
}

/* ---- freeing cells ---- */

/* Free the oldest cells whose messages are acknowledged and no longer in flight, and the cells that were skipped. */
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

static void sent_ended(struct ofi_link *ofi, struct ofi_comp_ctx *comp_ctx, const struct ofi_comp *comp)
{
    struct ofi_tx_cell *sent = (struct ofi_tx_cell *)comp_ctx;

    sent->in_flight = false;
    if (comp->error != 0)
        break_off(ofi, sent->peer, comp->why);
    for (unsigned c = 0; c < TERN_CHANNELS; c++)
        if (sent->peer->out[c].sent)
            free_cells(ofi, &sent->peer->out[c]);
}

bool tern_ofi_tx_ack(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel, uint32_t number)
{
    struct ofi_tx_channel *out = &peer->out[channel];
    int32_t                more = (int32_t)(number - (uint32_t)out->acked);

    if (more <= 0)
        return true; /* an older acknowledgement that was overtaken */
    if ((uint64_t)more > out->transmitted - out->acked)
        return false;
    out->acked += (uint64_t)more;
    out->credit_requested = false;
    if (channel == OFI_PUT_NOTIFY)
        tern_ofi_ring(ofi); /* a thread may sleep until it gets a credit */
    else
        free_cells(ofi, out);
    return true;
}

/* ---- messages ---- */

static struct ofi_header header_of(const struct ofi_link *ofi, const struct ofi_peer *peer, unsigned kind)
{
    return (struct ofi_header){ .token = peer->token_out, .from_kind = (uint32_t)ofi->rank << 8 | kind };
}

/* The send of tern_ofi_send_copy() has completed. Short messages need no completion, because the provider copies
 * them (inject); a longer message is sent from the bounce buffer of a work request. */
static void copy_ended(struct ofi_link *ofi, struct ofi_comp_ctx *comp_ctx, const struct ofi_comp *comp)
{
    struct ofi_wr *wr = (struct ofi_wr *)comp_ctx;

    if (comp->error != 0)
        break_off(ofi, wr->peer, comp->why);
    tern_ofi_wr_free(ofi, wr);
}

ssize_t tern_ofi_send_copy(struct ofi_link *ofi, struct ofi_peer *peer, const void *bytes, size_t len)
{
    struct ofi_wr *wr;
    ssize_t        rc;

    if (len <= ofi->endpoint.inject)
        return fi_inject(ofi->endpoint.ep, bytes, len, peer->addr);
    if (!(wr = tern_ofi_wr_alloc(ofi, peer)))
        return -FI_EAGAIN;
    memcpy(wr->bounce, bytes, len);
    wr->comp_ctx.ended = copy_ended;
    rc = fi_send(ofi->endpoint.ep, wr->bounce, len, wr->desc, peer->addr, &wr->comp_ctx.context);
    if (rc != 0)
        tern_ofi_wr_free(ofi, wr);
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

/* Send the head of a message and the location of its data, which stay in the ring. */
static ssize_t send_remote(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel, const unsigned char *run,
                           size_t len)
{
    bool                   by_address = ofi->endpoint.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
    struct ofi_remote_data remote = { .key = fi_mr_key(peer->rings_mr[channel]), .len = len - OFI_WIRE_HEAD };
    unsigned char          bytes[OFI_WIRE_HEAD + sizeof(remote)];

    remote.addr = (uintptr_t)run + OFI_WIRE_HEAD - (by_address ? 0 : (uintptr_t)peer->rings[first_of(channel)]);
    memcpy(bytes, run, OFI_WIRE_HEAD);
    memcpy(bytes + OFI_WIRE_HEAD, &remote, sizeof(remote));
    return tern_ofi_send_copy(ofi, peer, bytes, sizeof(bytes));
}

static enum ofi_kind kind_of(unsigned channel, bool remote)
{
    if (channel == TERN_CHANNEL_NOTIFY)
        return OFI_NOTIFY;
    if (channel == TERN_CHANNEL_TAGGED)
        return remote ? OFI_FETCH_TAGGED : OFI_TAGGED;
    return (enum ofi_kind)(channel + (remote ? OFI_FETCH_REQUEST : OFI_REQUEST));
}

/* Send the message of one cell. The head of a message without data is in the cell itself. Other messages have their
 * header and head in the ring, in front of the data. */
static ssize_t send_cell(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel, struct tern_ring_cell *cell)
{
    struct ofi_tx_channel *out = &peer->out[channel];
    uint32_t               len = tern_base_ring_cell_len(cell);
    bool                   remote = len > OFI_WIRE_HEAD + OFI_WIRE_INLINE_MAX;
    struct ofi_header      header = header_of(ofi, peer, kind_of(channel, remote));
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
    return remote ? send_remote(ofi, peer, channel, run, len) : send_run(ofi, peer, channel, run, len);
}

/* Send all published messages of a channel, in order. */
static ssize_t send_cells(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel)
{
    struct ofi_tx_channel *out = &peer->out[channel];
    struct ofi_rx_channel *partner = &peer->in[tern_ofi_wire_partner(channel)];
    struct tern_ring_shape shape = out->cells.shape;
    bool                   acks = tern_ofi_wire_acks(shape.cells); /* the partner channel has as many cells */
    ssize_t                rc = 0;

    while (rc == 0 && out->next - out->cells.next < shape.cells) {
        struct tern_ring_cell *cell = &out->cells.ring->cell[out->next & (shape.cells - 1)];

        /* acquire: the message after its mark. Pairs with the release in tern_base_ring_publish(). */
        if (atomic_load_explicit(&cell->mark, memory_order_acquire) != tern_base_ring_lap(out->next, shape))
            break;
        if (cell->len != TERN_RING_SKIP && (rc = send_cell(ofi, peer, channel, cell)) == 0) {
            out->transmitted++;
            if (acks) {
                partner->credited = partner->consumed;
                partner->uncredited_bytes = 0;
            }
        }
        out->next += rc == 0;
    }
    free_cells(ofi, out);
    return rc;
}

/* ---- control messages ---- */

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

static ssize_t send_credit_request(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel)
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

        rc = what == OFI_DUE_CREDIT
                 ? send_credit(ofi, peer)
                 : send_credit_request(ofi, peer, (unsigned)__builtin_ctz(what / OFI_DUE_CREDIT_REQUEST));
        if (rc == 0)
            peer->due &= (uint8_t)~what;
    }
    return rc;
}

/* ---- pumping ---- */

/* Send everything that is pending for a peer. If the provider is busy, the peer goes onto the work list. */
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

/* message.c: messages between nodes, the message functions of the link interface.
 *
 * For each peer to which it sends, a rank has rings in private memory (base/spsc_ring.h): one for requests and one
 * for replies, and one each for notifications and for tagged messages, created at the first use. A sender reserves
 * space in a ring, writes the message and publishes it; messages may be published in any order. msg_send.c sends the
 * messages in the order of their reservation, and frees their space when the peer has consumed them. So the rings
 * implement flow control: the messages that are in flight to a peer, or wait there to be consumed, never exceed the
 * ring, and a reply never waits behind requests. Received messages wait in ofi_rx_msg records (msg_recv.c) until
 * they are delivered here.
 *
 * Credits return in the headers of messages in the opposite direction. They are sent in a message of their own when
 * a quarter of a ring is to be reported, or when the sender asks because its ring is full. Every message carries a
 * token that only ranks of the job can make. A message without a valid token is dropped.
 */
#include <stdlib.h>

#include "base/sanitize.h"
#include "link/none.h"
#include "link/ofi/ofi.h"

#define SMALLEST_RING 8192u
#define LARGEST_RING (256u << 10)
#define BATCH 16

void tern_ofi_messages_close(struct ofi_link *ofi)
{
    for (int rank = 0; ofi->peer && rank < ofi->ranks; rank++) {
        struct ofi_peer *peer = atomic_load(&ofi->peer[rank]);

        if (!peer)
            continue;
        tern_ofi_rx_drop(peer);
        tern_ofi_tx_drop(peer);
        free(peer);
    }
    tern_ofi_rx_close(ofi);
}

size_t tern_ofi_msg_max_data(struct tern_link *link, int peer, unsigned channel)
{
    (void)peer, (void)channel;
    return tern_base_ring_max_data(tern_ofi(link)->msg.shape[TERN_CHANNEL_REQUEST]) - OFI_WIRE_HEAD;
}

/* ---- sending ---- */

static __attribute__((noinline, cold)) tern_status first_message(struct ofi_link *ofi, int rank, unsigned channel)
{
    struct ofi_peer *peer;
    tern_status      st = TERN_OK;

    pthread_mutex_lock(&ofi->lock);
    peer = tern_ofi_peer(ofi, rank);
    if (!peer)
        st = tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for rank %d", rank);
    else if (!atomic_load_explicit(&peer->ready[channel], memory_order_relaxed))
        st = tern_ofi_tx_make(ofi, peer, channel);
    pthread_mutex_unlock(&ofi->lock);
    return st;
}

/* Request a credit from the peer, unless everything is acknowledged or a request is outstanding. */
static void request_credit(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel)
{
    struct ofi_tx_channel *out = &peer->out[channel];

    if (out->transmitted == out->acked || out->credit_requested)
        return;
    out->credit_requested = true;
    tern_ofi_tx_due(ofi, peer, (unsigned)OFI_DUE_CREDIT_REQUEST << channel);
}

/* The number of unconsumed notifications that were sent with puts is limited to the size of the peer's notification
 * queue. */
bool tern_ofi_notify_credit_take(struct ofi_link *ofi, struct ofi_peer *peer)
{
    struct ofi_tx_channel *out = &peer->out[OFI_PUT_NOTIFY];

    if (TERN_LIKELY(out->transmitted - out->acked < ofi->msg.shape[OFI_PUT_NOTIFY].cells)) {
        out->transmitted++;
        return true;
    }
    request_credit(ofi, peer, OFI_PUT_NOTIFY);
    return false;
}

void tern_ofi_notify_credit_return(struct ofi_peer *peer)
{
    peer->out[OFI_PUT_NOTIFY].transmitted--;
}

static __attribute__((noinline, cold)) tern_status ring_full(struct ofi_link *ofi, struct ofi_peer *peer,
                                                             unsigned channel)
{
    bool broken;

    pthread_mutex_lock(&ofi->lock);
    request_credit(ofi, peer, channel);
    tern_ofi_poll_locked(ofi);
    broken = peer->broken;
    pthread_mutex_unlock(&ofi->lock);
    if (!broken)
        return TERN_AGAIN;
    return tern_base_fail(TERN_ERR_PEER, "messages to rank %d were lost: the connection to it broke: %s", peer->rank,
                          peer->why); /* written once */
}

/* Set the pointers of msg to the reserved space: the cell, or space in the data ring with header and head in front
 * of the data. */
static void set_pointers(struct tern_link_msg *msg, const struct tern_ring_reservation *reservation, size_t max)
{
    msg->place = reservation->claim;
    msg->head = reservation->claim.cell->head;
    msg->data = NULL;
    msg->data_max = 0;
    if (!reservation->data)
        return;
    msg->head = reservation->data + sizeof(struct ofi_header);
    msg->data = reservation->data + OFI_WIRE_HEAD;
    msg->data_max = reservation->len - OFI_WIRE_HEAD < max ? reservation->len - OFI_WIRE_HEAD : max;
}

/* Returns the peer of a rank with its ring for the channel, both created if necessary. Returns NULL with the error
 * in *st. */
static struct ofi_peer *target(struct ofi_link *ofi, int rank, unsigned channel, tern_status *st)
{
    struct ofi_peer *peer;

    /* acquire: the peer and its rings. Pair with the releases in tern_ofi_peer() and tern_ofi_tx_make(). */
    while (!(peer = atomic_load_explicit(&ofi->peer[rank], memory_order_acquire)) ||
           !atomic_load_explicit(&peer->ready[channel], memory_order_acquire))
        if ((*st = first_message(ofi, rank, channel)) < 0)
            return NULL;
    return peer;
}

tern_status tern_ofi_msg_open(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max)
{
    struct ofi_link              *ofi = tern_ofi(link);
    tern_status                   st = TERN_OK;
    struct ofi_peer              *peer = target(ofi, msg->peer, msg->channel, &st);
    size_t                        most = max < SIZE_MAX - OFI_WIRE_HEAD ? max + OFI_WIRE_HEAD : SIZE_MAX;
    struct tern_ring_mp_producer *ring;
    struct tern_ring_reservation  reservation;
    bool                          biased, taken;

    if (!peer)
        return st;
    ring = &peer->out[msg->channel].ring;
    biased = tern_base_biased_lock(&ring->lock);
    if (max == 0)
        taken = tern_base_ring_reserve(&ring->producer, 0, 0, &reservation);
    else
        taken = min <= ofi->msg.shape[msg->channel].data &&
                tern_base_ring_reserve(&ring->producer, min + OFI_WIRE_HEAD, most, &reservation);
    tern_base_biased_unlock(&ring->lock, biased);
    if (!taken)
        return ring_full(ofi, peer, msg->channel);
    set_pointers(msg, &reservation, max);
    return TERN_OK;
}

/* Send what was published for the rank. */
static void kick(struct ofi_link *ofi, int rank)
{
    struct ofi_peer *peer = atomic_load_explicit(&ofi->peer[rank], memory_order_relaxed); /* set by target() */

    pthread_mutex_lock(&ofi->lock);
    tern_ofi_tx_kick(ofi, peer);
    pthread_mutex_unlock(&ofi->lock);
}

tern_status tern_ofi_msg_short(struct tern_link *link, int peer, unsigned channel, uint64_t first, const uint32_t *rest,
                               unsigned count)
{
    struct ofi_link              *ofi = tern_ofi(link);
    tern_status                   st = TERN_OK;
    struct ofi_peer              *to = target(ofi, peer, channel, &st);
    struct tern_ring_mp_producer *ring;
    bool                          biased, pushed;

    if (!to)
        return st;
    ring = &to->out[channel].ring;
    biased = tern_base_biased_lock(&ring->lock);
    pushed = tern_base_ring_push(&ring->producer, first, rest, count, false);
    tern_base_biased_unlock(&ring->lock, biased);
    if (!pushed)
        return ring_full(ofi, to, channel);
    kick(ofi, peer);
    return TERN_OK;
}

void tern_ofi_msg_send(struct tern_link *link, const struct tern_link_msg *msg, size_t len)
{
    tern_base_order_before_peers(); /* for the thread that serves a peer which this message causes to act */
    tern_base_ring_publish(&msg->place, msg->data ? OFI_WIRE_HEAD + len : 0);
    kick(tern_ofi(link), msg->peer);
}

void tern_ofi_msg_drop(struct tern_link *link, const struct tern_link_msg *msg)
{
    tern_base_ring_skip(&msg->place);
    kick(tern_ofi(link), msg->peer);
}

/* Returns true if the peer has consumed all messages of the channel. Requests a credit otherwise. */
static bool is_settled(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel)
{
    const struct ofi_tx_channel *out = &peer->out[channel];

    if (channel != OFI_PUT_NOTIFY &&
        !atomic_load_explicit(&peer->ready[channel], memory_order_relaxed)) /* written under the lock */
        return true;
    request_credit(ofi, peer, channel);
    return out->transmitted == out->acked && !peer->queued;
}

bool tern_ofi_msg_flushed(struct tern_link *link)
{
    struct ofi_link *ofi = tern_ofi(link);
    bool             settled = true;

    pthread_mutex_lock(&ofi->lock);
    for (int rank = 0; rank < ofi->ranks; rank++) {
        struct ofi_peer *peer =
            atomic_load_explicit(&ofi->peer[rank], memory_order_relaxed); /* written under the lock */

        if (!peer || peer->broken || tern_ofi_gone(ofi, rank))
            continue;
        for (unsigned c = 0; c < OFI_COUNTED; c++)
            settled &= is_settled(ofi, peer, c);
    }
    tern_ofi_tx_pump(ofi);
    pthread_mutex_unlock(&ofi->lock);
    return settled;
}

/* ---- delivering ---- */

void tern_ofi_msg_poll(struct tern_link *link)
{
    struct ofi_link *ofi = tern_ofi(link);

    if (atomic_load_explicit(&ofi->fresh, memory_order_relaxed)) /* fresh is a hint */
        atomic_store_explicit(&ofi->fresh, false, memory_order_relaxed);
    else
        tern_ofi_poll(ofi);
}

static tern_status deliver(struct tern_link_watch *watch)
{
    struct ofi_link   *ofi = tern_ofi(watch->link);
    struct ofi_rx_msg *msg = NULL;
    tern_status        st = TERN_OK;

    for (int i = 0; i <= BATCH; i++) {
        pthread_mutex_lock(&ofi->lock);
        if (msg)
            tern_ofi_rx_done(ofi, msg);
        msg = i < BATCH ? tern_ofi_rx_next(ofi, watch->channel) : NULL;
        if (!msg && ofi->msg.work)
            tern_ofi_tx_pump(ofi);
        st = ofi->msg.damage;
        pthread_mutex_unlock(&ofi->lock);
        if (!msg)
            break;
        ofi->up->message(msg->from->rank, watch->channel, msg->bytes + sizeof(struct ofi_header),
                         msg->len > 0 ? msg->bytes + OFI_WIRE_HEAD : NULL, msg->len);
    }
    return st < 0 ? tern_base_fail(st, "%s", ofi->msg.why) : TERN_OK;
}

/* Pass a notification or tagged message to the core. Returns false if the core cannot accept it now. */
static bool hand_over(const struct ofi_link *ofi, const struct ofi_rx_msg *msg)
{
    const unsigned char *head = msg->bytes + sizeof(struct ofi_header);

    if (msg->channel != TERN_CHANNEL_TAGGED)
        return ofi->up->notify(msg->from->rank, head, false) != TERN_LINK_REFUSED;
    return ofi->up->tagged(msg->from->rank, head, msg->len > 0 ? msg->bytes + OFI_WIRE_HEAD : NULL, msg->len);
}

/* Deliver notifications and tagged messages. A message leaves the queue when the core has accepted it. A message
 * that is refused delays the messages of its own sender only. */
static tern_status deliver_if_taken(struct tern_link_watch *watch)
{
    struct ofi_link   *ofi = tern_ofi(watch->link);
    uint32_t           pass = ++ofi->msg.pass[watch->channel];
    struct ofi_rx_msg *msg;

    tern_base_order_after_peers(); /* what was done for the peers whose messages are delivered now */
    for (int taken = 0; taken < BATCH; taken++) {
        pthread_mutex_lock(&ofi->lock);
        msg = tern_ofi_rx_peek(ofi, watch->channel);
        pthread_mutex_unlock(&ofi->lock);
        if (!msg)
            break;
        if (!hand_over(ofi, msg)) {
            msg->from->passed[watch->channel] = pass;
            taken--; /* refused messages do not count, so that other senders are served */
            continue;
        }
        pthread_mutex_lock(&ofi->lock);
        tern_ofi_rx_taken(ofi, msg);
        if (ofi->msg.work)
            tern_ofi_tx_pump(ofi);
        pthread_mutex_unlock(&ofi->lock);
    }
    return TERN_OK;
}

bool tern_ofi_msg_pending(struct tern_link *link, int peer, unsigned channel)
{
    struct ofi_link         *ofi = tern_ofi(link);
    const struct ofi_rx_msg *msg;

    pthread_mutex_lock(&ofi->lock);
    msg = ofi->msg.queue[channel].first;
    while (msg && msg->from->rank != peer)
        msg = msg->next;
    pthread_mutex_unlock(&ofi->lock);
    return msg != NULL;
}

/* Register a watch for each channel, on the number of received messages. */
static tern_status watches_open(struct ofi_link *ofi)
{
    tern_status st = TERN_OK;

    for (unsigned c = 0; c < TERN_CHANNELS && st == TERN_OK; c++) {
        struct ofi_queue *queue = &ofi->msg.queue[c];

        queue->watch = (struct tern_link_watch){ .word = &queue->count,
                                                 .channel = c,
                                                 .deliver = c < TERN_CHANNELS_PAIR ? deliver : deliver_if_taken,
                                                 .expect = tern_link_no_expect,
                                                 .link = (struct tern_link *)ofi };
        queue->last = &queue->first;
        st = ofi->up->watch(&queue->watch);
    }
    return st;
}

tern_status tern_ofi_messages_open(struct ofi_link *ofi)
{
    struct ofi_msg *m = &ofi->msg;
    uint64_t        share = tern_opt.am_queue / (TERN_CHANNELS_PAIR * (uint64_t)ofi->ranks);
    tern_status     st = watches_open(ofi);

    if (st < 0)
        return st;
    share = share < SMALLEST_RING ? SMALLEST_RING : share > LARGEST_RING ? LARGEST_RING : share;
    for (unsigned c = 0; c < TERN_CHANNELS_PAIR; c++) {
        m->ring_bytes[c] = share & ~(size_t)(TERN_RING_LINE - 1);
        m->shape[c] = tern_base_ring_shape(m->ring_bytes[c]);
    }
    m->ring_bytes[TERN_CHANNEL_TAGGED] = m->ring_bytes[TERN_CHANNEL_REQUEST];
    m->shape[TERN_CHANNEL_TAGGED] = m->shape[TERN_CHANNEL_REQUEST];
    m->ring_bytes[TERN_CHANNEL_NOTIFY] = tern_base_ring_cells_bytes((size_t)tern_opt.notify_queue);
    m->shape[TERN_CHANNEL_NOTIFY] = m->shape[OFI_PUT_NOTIFY] =
        tern_base_ring_shape_cells(m->ring_bytes[TERN_CHANNEL_NOTIFY]);
    m->work_end = &m->work;
    return tern_ofi_rx_open(ofi);
}

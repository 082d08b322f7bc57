/* message.c: messages between nodes: the slots of the contract.
 *
 * To each peer that it sends to a rank has rings in private memory (base/spsc_ring.h), one for requests and one for
 * replies, and from the first notification and the first tagged message on one for those: room for a message is
 * taken, written and published there, in any order; msg_send.c sends it in the order in which it was taken, and
 * frees it when the peer has handled it. So the rings are the credit: what is under way to a peer, or waits there to
 * be handled, is never more than they hold, and a reply never waits behind requests. What has come waits in letters
 * (msg_recv.c) until it is polled here.
 *
 * How far a peer has come is told with the messages that go the other way; when a quarter of a ring is to be told,
 * or when the sender asks because it finds no room, in a message of its own. Every message carries a token that only
 * ranks of the job can make; what has none is dropped.
 * */
#include <stdlib.h>

#include "base/sanitize.h"
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

/* Have the peer asked how far it is, unless that is known or asked already. */
static void ask(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel)
{
    struct ofi_tx_channel *out = &peer->out[channel];

    if (out->transmitted == out->acked || out->credit_requested)
        return;
    out->credit_requested = true;
    tern_ofi_tx_due(ofi, peer, (unsigned)OFI_DUE_CREDIT_REQUEST << channel);
}

/* As many notes may be with a peer that came with puts as its queue of notes holds. */
bool tern_ofi_notify_credit_take(struct ofi_link *ofi, struct ofi_peer *peer)
{
    struct ofi_tx_channel *out = &peer->out[OFI_PUT_NOTIFY];

    if (TERN_LIKELY(out->transmitted - out->acked < ofi->msg.shape[OFI_PUT_NOTIFY].cells)) {
        out->transmitted++;
        return true;
    }
    ask(ofi, peer, OFI_PUT_NOTIFY);
    return false;
}

void tern_ofi_notify_credit_return(struct ofi_peer *peer)
{
    peer->out[OFI_PUT_NOTIFY].transmitted--;
}

static __attribute__((noinline, cold)) tern_status no_room(struct ofi_link *ofi, struct ofi_peer *peer,
                                                           unsigned channel)
{
    bool broken;

    pthread_mutex_lock(&ofi->lock);
    ask(ofi, peer, channel);
    tern_ofi_poll_locked(ofi);
    broken = peer->broken;
    pthread_mutex_unlock(&ofi->lock);
    if (!broken)
        return TERN_AGAIN;
    return tern_base_fail(TERN_ERR_PEER, "messages to rank %d were lost: the connection to it broke: %s", peer->rank,
                          peer->why); /* written once */
}

/* Where the message is written: its cell, or a run of data with header and head before the data. */
static void find_places(struct tern_link_msg *msg, const struct tern_ring_reservation *room, size_t max)
{
    msg->place = room->claim;
    msg->head = room->claim.cell->head;
    msg->data = NULL;
    msg->data_max = 0;
    if (!room->data)
        return;
    msg->head = room->data + sizeof(struct ofi_header);
    msg->data = room->data + OFI_WIRE_HEAD;
    msg->data_max = room->len - OFI_WIRE_HEAD < max ? room->len - OFI_WIRE_HEAD : max;
}

/* The rank as a target of messages; NULL: *st tells why not. */
static struct ofi_peer *target(struct ofi_link *ofi, int rank, unsigned channel, tern_status *st)
{
    struct ofi_peer *peer;

    /* acquire: the peer and its rings. Pair with tern_ofi_peer() and tern_ofi_tx_make(). */
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
    struct tern_ring_reservation  room;
    bool                          alone, taken;

    if (!peer)
        return st;
    ring = &peer->out[msg->channel].ring;
    alone = tern_base_biased_lock(&ring->lock);
    if (max == 0)
        taken = tern_base_ring_reserve(&ring->producer, 0, 0, &room);
    else
        taken = min <= ofi->msg.shape[msg->channel].data &&
                tern_base_ring_reserve(&ring->producer, min + OFI_WIRE_HEAD, most, &room);
    tern_base_biased_unlock(&ring->lock, alone);
    if (!taken)
        return no_room(ofi, peer, msg->channel);
    find_places(msg, &room, max);
    return TERN_OK;
}

/* Something was published. */
static void kick(struct ofi_link *ofi, int rank)
{
    struct ofi_peer *peer = atomic_load_explicit(&ofi->peer[rank], memory_order_relaxed); /* the one of target() */

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
    bool                          alone, put;

    if (!to)
        return st;
    ring = &to->out[channel].ring;
    alone = tern_base_biased_lock(&ring->lock);
    put = tern_base_ring_push(&ring->producer, first, rest, count, false);
    tern_base_biased_unlock(&ring->lock, alone);
    if (!put)
        return no_room(ofi, to, channel);
    kick(ofi, peer);
    return TERN_OK;
}

void tern_ofi_msg_send(struct tern_link *link, const struct tern_link_msg *msg, size_t len)
{
    tern_base_order_before_peers(); /* whoever serves the peer that was told to come */
    tern_base_ring_publish(&msg->place, msg->data ? OFI_WIRE_HEAD + len : 0);
    kick(tern_ofi(link), msg->peer);
}

void tern_ofi_msg_drop(struct tern_link *link, const struct tern_link_msg *msg)
{
    tern_base_ring_skip(&msg->place);
    kick(tern_ofi(link), msg->peer);
}

/* Whether everything on the channel was handled; if not, the peer is asked. */
static bool is_settled(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel)
{
    const struct ofi_tx_channel *out = &peer->out[channel];

    if (channel != OFI_PUT_NOTIFY && !atomic_load_explicit(&peer->ready[channel], memory_order_relaxed)) /* the lock */
        return true;
    ask(ofi, peer, channel);
    return out->transmitted == out->acked && !peer->queued;
}

bool tern_ofi_msg_flushed(struct tern_link *link)
{
    struct ofi_link *ofi = tern_ofi(link);
    bool             settled = true;

    pthread_mutex_lock(&ofi->lock);
    for (int rank = 0; rank < ofi->ranks; rank++) {
        struct ofi_peer *peer = atomic_load_explicit(&ofi->peer[rank], memory_order_relaxed); /* under the lock */

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

    if (atomic_load_explicit(&ofi->fresh, memory_order_relaxed)) /* hints */
        atomic_store_explicit(&ofi->fresh, false, memory_order_relaxed);
    else
        tern_ofi_poll(ofi);
}

static tern_status deliver(struct tern_link_watch *watch)
{
    struct ofi_link   *ofi = tern_ofi(watch->link);
    struct ofi_rx_msg *letter = NULL;
    tern_status        st = TERN_OK;

    for (int i = 0; i <= BATCH; i++) {
        pthread_mutex_lock(&ofi->lock);
        if (letter)
            tern_ofi_rx_done(ofi, letter);
        letter = i < BATCH ? tern_ofi_rx_next(ofi, watch->channel) : NULL;
        if (!letter && ofi->msg.work)
            tern_ofi_tx_pump(ofi);
        st = ofi->msg.damage;
        pthread_mutex_unlock(&ofi->lock);
        if (!letter)
            break;
        ofi->up->message(letter->from->rank, watch->channel, letter->bytes + sizeof(struct ofi_header),
                         letter->len > 0 ? letter->bytes + OFI_WIRE_HEAD : NULL, letter->len);
    }
    return st < 0 ? tern_base_fail(st, "%s", ofi->msg.why) : TERN_OK;
}

/* Hand a note or tagged message to the target. False: it cannot take it now. */
static bool hand_over(const struct ofi_link *ofi, const struct ofi_rx_msg *letter)
{
    const unsigned char *head = letter->bytes + sizeof(struct ofi_header);

    if (letter->channel != TERN_CHANNEL_TAGGED)
        return ofi->up->notify(letter->from->rank, head, false) != TERN_LINK_REFUSED;
    return ofi->up->tagged(letter->from->rank, head, letter->len > 0 ? letter->bytes + OFI_WIRE_HEAD : NULL,
                           letter->len);
}

/* Of notes and tagged messages: they leave the queue when the target has taken them. One that cannot be taken now holds
 * up those of its sender, and no others. */
static tern_status deliver_if_taken(struct tern_link_watch *watch)
{
    struct ofi_link   *ofi = tern_ofi(watch->link);
    uint32_t           pass = ++ofi->msg.pass[watch->channel];
    struct ofi_rx_msg *letter;

    tern_base_order_after_peers(); /* what was done for peers that tell of it now */
    for (int taken = 0; taken < BATCH; taken++) {
        pthread_mutex_lock(&ofi->lock);
        letter = tern_ofi_rx_peek(ofi, watch->channel);
        pthread_mutex_unlock(&ofi->lock);
        if (!letter)
            break;
        if (!hand_over(ofi, letter)) {
            letter->from->passed[watch->channel] = pass;
            taken--; /* however many senders are held up, the others have their turn */
            continue;
        }
        pthread_mutex_lock(&ofi->lock);
        tern_ofi_rx_taken(ofi, letter);
        if (ofi->msg.work)
            tern_ofi_tx_pump(ofi);
        pthread_mutex_unlock(&ofi->lock);
    }
    return TERN_OK;
}

bool tern_ofi_msg_pending(struct tern_link *link, int peer, unsigned channel)
{
    struct ofi_link         *ofi = tern_ofi(link);
    const struct ofi_rx_msg *letter;

    pthread_mutex_lock(&ofi->lock);
    letter = ofi->msg.queue[channel].first;
    while (letter && letter->from->rank != peer)
        letter = letter->next;
    pthread_mutex_unlock(&ofi->lock);
    return letter != NULL;
}

/* Watches show the number of letters. */
static tern_status watches_open(struct ofi_link *ofi)
{
    tern_status st = TERN_OK;

    for (unsigned c = 0; c < TERN_CHANNELS && st == TERN_OK; c++) {
        struct ofi_queue *queue = &ofi->msg.queue[c];

        queue->watch = (struct tern_link_watch){ .word = &queue->count,
                                                 .channel = c,
                                                 .deliver = c < TERN_CHANNELS_PAIR ? deliver : deliver_if_taken,
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

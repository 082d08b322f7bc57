/* message.c: messages between nodes, the message functions of the link interface.
 *
 * For each peer to which it sends, a rank has a ring in private memory (base/spsc_ring.h) for each channel, created at
 * the first use: requests, replies, notifications and tagged messages. A sender reserves space in a ring, writes the
 * message and publishes it; messages may be published in any order. msg_send.c sends the messages in the order of their
 * reservation, and frees their space when the peer has consumed them. So the rings implement flow control: the messages
 * that are in flight to a peer, or wait there to be consumed, never exceed the ring, and a reply never waits behind
 * requests. Received messages wait in net_rx_msg records (msg_recv.c) until they are delivered here.
 *
 * Credits return in the headers of messages in the opposite direction. They are sent in a message of their own when
 * a quarter of a ring is to be reported, or when the sender asks because its ring is full. Every message carries a
 * token that only ranks of the job can make. A message without a valid token is dropped.
 */
#include <stdlib.h>

#include "base/sanitize.h"
#include "link/none.h"
#include "link/net/net.h"

#define SMALLEST_RING 8192u
#define LARGEST_RING (256u << 10)
#define BATCH 16

size_t tern_net_msg_max_data(struct tern_link *link, int peer, unsigned channel)
{
    (void)peer, (void)channel;
    return tern_base_ring_max_data(tern_net(link)->msg.shape[TERN_CHANNEL_REQUEST]) - NET_WIRE_HEAD;
}

/* ---- sending ---- */

static __attribute__((noinline, cold)) tern_status first_message(struct net_link *net, int rank, unsigned channel)
{
    struct net_peer *peer;
    tern_status      st = TERN_OK;

    pthread_mutex_lock(&net->lock);
    peer = tern_net_peer(net, rank);
    if (!peer)
        st = TERN_ERR_NOMEM;
    else if (!atomic_load_explicit(&peer->out[channel].ready, memory_order_relaxed))
        st = tern_net_tx_make(net, peer, channel);
    pthread_mutex_unlock(&net->lock);
    return st;
}

/* Request a credit from the peer, unless everything is acknowledged or a request is outstanding. */
static void request_credit(struct net_link *net, struct net_peer *peer, unsigned channel)
{
    struct net_tx_channel *out = &peer->out[channel];

    if (out->transmitted == out->acked || out->credit_requested)
        return;
    out->credit_requested = true;
    tern_net_tx_due(net, peer, (unsigned)NET_DUE_CREDIT_REQUEST << channel);
}

/* The number of unconsumed notifications that were sent with puts is limited to the size of the peer's notification
 * queue. */
bool tern_net_notify_credit_take(struct net_link *net, struct net_peer *peer)
{
    struct net_tx_channel *out = &peer->out[NET_PUT_NOTIFY];

    if (TERN_LIKELY(out->transmitted - out->acked < net->msg.shape[NET_PUT_NOTIFY].cells)) {
        out->transmitted++;
        return true;
    }
    request_credit(net, peer, NET_PUT_NOTIFY);
    return false;
}

void tern_net_notify_credit_return(struct net_peer *peer)
{
    peer->out[NET_PUT_NOTIFY].transmitted--;
}

static __attribute__((noinline, cold)) tern_status ring_full(struct net_link *net, struct net_peer *peer,
                                                             unsigned channel)
{
    bool broken;

    pthread_mutex_lock(&net->lock);
    request_credit(net, peer, channel);
    net->verbs->drain(net);
    broken = peer->broken;
    pthread_mutex_unlock(&net->lock);
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
    msg->head = reservation->data + sizeof(struct net_header);
    msg->data = reservation->data + NET_WIRE_HEAD;
    msg->data_max = reservation->len - NET_WIRE_HEAD < max ? reservation->len - NET_WIRE_HEAD : max;
}

/* Returns the peer of a rank with its ring for the channel, both created if necessary. Returns NULL with the error
 * in *st. */
static struct net_peer *target(struct net_link *net, int rank, unsigned channel, tern_status *st)
{
    struct net_peer *peer;

    /* acquire: the peer and its ring. Pair with the releases in tern_net_peer() and tern_net_tx_make(). */
    while (!(peer = atomic_load_explicit(&net->peer[rank], memory_order_acquire)) ||
           !atomic_load_explicit(&peer->out[channel].ready, memory_order_acquire))
        if ((*st = first_message(net, rank, channel)) < 0)
            return NULL;
    return peer;
}

tern_status tern_net_msg_open(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max)
{
    struct net_link              *net = tern_net(link);
    tern_status                   st = TERN_OK;
    struct net_peer              *peer = target(net, msg->peer, msg->channel, &st);
    size_t                        most = max < SIZE_MAX - NET_WIRE_HEAD ? max + NET_WIRE_HEAD : SIZE_MAX;
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
        taken = min <= net->msg.shape[msg->channel].data &&
                tern_base_ring_reserve(&ring->producer, min + NET_WIRE_HEAD, most, &reservation);
    tern_base_biased_unlock(&ring->lock, biased);
    if (!taken)
        return ring_full(net, peer, msg->channel);
    set_pointers(msg, &reservation, max);
    return TERN_OK;
}

/* Send what was published for the rank. */
static void kick(struct net_link *net, int rank)
{
    struct net_peer *peer = atomic_load_explicit(&net->peer[rank], memory_order_relaxed); /* set by target() */

    pthread_mutex_lock(&net->lock);
    if (!tern_net_is_waiting(&peer->tx))
        tern_net_post(net, &peer->tx);
    pthread_mutex_unlock(&net->lock);
}

tern_status tern_net_msg_short(struct tern_link *link, int peer, unsigned channel, uint64_t first, const uint32_t *rest,
                               unsigned count)
{
    struct net_link              *net = tern_net(link);
    tern_status                   st = TERN_OK;
    struct net_peer              *to = target(net, peer, channel, &st);
    struct tern_ring_mp_producer *ring;
    bool                          biased, pushed;

    if (!to)
        return st;
    ring = &to->out[channel].ring;
    biased = tern_base_biased_lock(&ring->lock);
    pushed = tern_base_ring_push(&ring->producer, first, rest, count, false);
    tern_base_biased_unlock(&ring->lock, biased);
    if (!pushed)
        return ring_full(net, to, channel);
    kick(net, peer);
    return TERN_OK;
}

void tern_net_msg_send(struct tern_link *link, const struct tern_link_msg *msg, size_t len)
{
    tern_base_order_before_peers(); /* for the thread that serves a peer which this message causes to act */
    tern_base_ring_publish(&msg->place, msg->data ? NET_WIRE_HEAD + len : 0);
    kick(tern_net(link), msg->peer);
}

void tern_net_msg_drop(struct tern_link *link, const struct tern_link_msg *msg)
{
    tern_base_ring_skip(&msg->place);
    kick(tern_net(link), msg->peer);
}

/* Returns true if the peer has consumed all messages of the channel. Requests a credit otherwise. */
static bool is_settled(struct net_link *net, struct net_peer *peer, unsigned channel)
{
    const struct net_tx_channel *out = &peer->out[channel];

    if (channel != NET_PUT_NOTIFY &&
        !atomic_load_explicit(&out->ready, memory_order_relaxed)) /* written under the lock */
        return true;
    request_credit(net, peer, channel);
    return out->transmitted == out->acked && !tern_net_is_waiting(&peer->tx);
}

bool tern_net_msg_flushed(struct tern_link *link)
{
    struct net_link *net = tern_net(link);
    bool             settled = true;

    pthread_mutex_lock(&net->lock);
    for (int rank = 0; rank < net->ranks; rank++) {
        struct net_peer *peer =
            atomic_load_explicit(&net->peer[rank], memory_order_relaxed); /* written under the lock */

        if (!peer || peer->broken || tern_net_gone(net, rank))
            continue;
        for (unsigned c = 0; c < NET_COUNTED; c++)
            settled &= is_settled(net, peer, c);
    }
    tern_net_retry(net);
    pthread_mutex_unlock(&net->lock);
    return settled;
}

/* ---- delivering ---- */

void tern_net_msg_poll(struct tern_link *link)
{
    struct net_link *net = tern_net(link);

    if (atomic_load_explicit(&net->fresh, memory_order_relaxed)) /* fresh is a hint */
        atomic_store_explicit(&net->fresh, false, memory_order_relaxed);
    else
        net->verbs->poll(net);
}

/* Pass a message to the core. Returns false if the core cannot accept a notification or tagged message now. */
static bool hand_over(const struct net_link *net, const struct net_rx_msg *msg)
{
    const unsigned char *head = msg->bytes + sizeof(struct net_header);
    const unsigned char *data = msg->len > 0 ? msg->bytes + NET_WIRE_HEAD : NULL;
    int                  from = msg->ctx.peer->rank;

    if (msg->channel < TERN_CHANNELS_PAIR) {
        net->up->message(from, msg->channel, head, data, msg->len);
        return true;
    }
    if (msg->channel != TERN_CHANNEL_TAGGED)
        return net->up->notify(from, head, false) != TERN_LINK_REFUSED;
    return net->up->tagged(from, head, data, msg->len);
}

/* Deliver the messages of a channel. A request or reply is consumed before it is handled, so that the reply carries the
 * acknowledgement. A notification or tagged message is consumed when the core has accepted it. A message that is
 * refused delays the messages of its own sender only. */
static tern_status deliver(struct tern_link_watch *watch)
{
    struct net_link   *net = tern_net(watch->link);
    uint32_t           pass = ++net->msg.pass[watch->channel];
    bool               pair = watch->channel < TERN_CHANNELS_PAIR, accepted = false;
    struct net_rx_msg *msg = NULL;
    tern_status        st;

    if (!pair)
        tern_base_order_after_peers();        /* what was done for the peers whose messages are delivered now */
    for (int taken = 0;; taken += accepted) { /* refused messages do not count, so that other senders are served */
        pthread_mutex_lock(&net->lock);
        if (accepted && !pair)
            tern_net_rx_consume(net, msg);
        if (accepted)
            tern_net_rx_free(net, msg);
        msg = taken < BATCH ? tern_net_rx_peek(net, watch->channel) : NULL;
        if (msg && pair)
            tern_net_rx_consume(net, msg);
        else if (!msg)
            tern_net_retry(net); /* credits are due */
        st = net->msg.damage;
        pthread_mutex_unlock(&net->lock);
        if (!msg)
            return st < 0 ? tern_base_fail(st, "%s", net->msg.why) : TERN_OK;
        accepted = hand_over(net, msg);
        if (!accepted)
            msg->ctx.peer->passed[watch->channel] = pass;
    }
}

bool tern_net_msg_pending(struct tern_link *link, int peer, unsigned channel)
{
    struct net_link *net = tern_net(link);
    bool             pending = false;

    pthread_mutex_lock(&net->lock);
    TERN_LIST_EACH(struct net_rx_msg, msg, &net->msg.queue[channel].msgs, node)
        pending |= msg->ctx.peer->rank == peer;
    pthread_mutex_unlock(&net->lock);
    return pending;
}

/* Register a watch for each channel, on the number of received messages. */
static tern_status watches_open(struct net_link *net)
{
    tern_status st = TERN_OK;

    for (unsigned c = 0; c < TERN_CHANNELS && st == TERN_OK; c++) {
        struct net_queue *queue = &net->msg.queue[c];

        queue->watch = (struct tern_link_watch){ .word = &queue->count,
                                                 .channel = c,
                                                 .deliver = deliver,
                                                 .expect = tern_link_no_expect,
                                                 .link = (struct tern_link *)net };
        st = net->up->watch(&queue->watch);
    }
    return st;
}

tern_status tern_net_messages_open(struct net_link *net)
{
    struct net_msg *m = &net->msg;
    uint64_t        share = tern_opt.am_queue / (TERN_CHANNELS_PAIR * (uint64_t)net->ranks);
    tern_status     st = watches_open(net);

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
    m->shape[TERN_CHANNEL_NOTIFY] = m->shape[NET_PUT_NOTIFY] =
        tern_base_ring_shape_cells(m->ring_bytes[TERN_CHANNEL_NOTIFY]);
    return TERN_OK;
}

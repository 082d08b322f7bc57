/* msg_send.c: messages to other nodes: the functions of the link interface that send.
 *
 * For each peer to which it sends, a rank has a ring in private memory (base/spsc_ring.h) for each channel, created at
 * the first use: requests, replies, notifications and tagged messages. A sender reserves space in a ring, writes the
 * message and publishes it; messages may be published in any order. They are sent in the order of their reservation,
 * and their space is freed when the peer has consumed them. So the rings implement flow control: the messages that are
 * in flight to a peer, or wait there to be consumed, never exceed the ring, and a reply never waits behind requests.
 *
 * A message without data is copied and sent (inject). A message with data is sent directly from the ring. The data of a
 * long message stay in the ring: only the head and the location of the data are sent, and the receiver reads the data.
 * A cell is free again when the provider has completed its send and the peer has acknowledged the message.
 *
 * Credits return in the headers of messages in the opposite direction. They are sent in a message of their own when
 * a quarter of a ring has been consumed, or when the sender requests them because its ring is full. Every message
 * carries a token that only ranks of the job can make. A message without a valid token is dropped.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sanitize.h"
#include "base/wake_request.h"
#include "link/net/net.h"
#include "link/ring.h"

/* ---- rings ---- */

void tern_net_tx_drop(struct net_link *net, struct net_peer *peer)
{
    for (unsigned c = 0; c < TERN_CHANNELS; c++) {
        tern_net_memory_free(net, &peer->out[c].mr);
        free(peer->out[c].sent);
    }
}

static tern_status ring_make(struct net_link *net, struct net_peer *peer, unsigned channel)
{
    struct net_tx_channel *out = &peer->out[channel];
    struct tern_ring_shape shape = net->msg.shape[channel];
    bool                   data = channel != TERN_CHANNEL_NOTIFY; /* notifications are copied when they are sent */
    tern_status            st;

    if (data && !out->sent && !(out->sent = calloc(shape.cells, sizeof(*out->sent))))
        return tern_base_fail(TERN_ERR_NOMEM, "link %s: no memory for messages to rank %d", net->name, peer->rank);
    if ((st = tern_net_memory_make(net, net->msg.ring_bytes[channel], data ? NET_REMOTE_READ : 0, &out->mr)) < 0)
        return st;
    tern_base_ring_producer_init(&out->ring.producer, out->mr.bytes, shape);
    tern_base_ring_consumer_init(&out->cells, out->mr.bytes, shape);
    /* release: the ring before the flag. Pairs with the acquire in target(). */
    atomic_store_explicit(&out->ready, true, memory_order_release);
    return TERN_OK;
}

void tern_net_tx_due(struct net_link *net, struct net_peer *peer, unsigned what)
{
    peer->due |= (uint8_t)what;
    tern_net_later(net, &peer->tx);
}

/* ---- freeing cells ---- */

/* Free the oldest cells whose messages are acknowledged and no longer in flight, and the cells that were skipped. */
static void free_cells(struct net_link *net, struct net_tx_channel *out)
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
    if (any && tern_base_wake_requested(&out->cells.ring->producer_waits))
        tern_net_ring(net);
}

static void sent_ended(struct net_link *net, struct net_ctx *ctx, int error)
{
    ((struct net_tx_cell *)ctx)->in_flight = false;
    if (error != 0)
        tern_net_break_off(net, ctx->peer, net->verbs->why(net, error));
    for (unsigned c = 0; c < TERN_CHANNELS; c++)
        if (ctx->peer->out[c].sent)
            free_cells(net, &ctx->peer->out[c]);
}

bool tern_net_tx_ack(struct net_link *net, struct net_peer *peer, unsigned channel, uint32_t number)
{
    struct net_tx_channel *out = &peer->out[channel];
    int32_t                more = (int32_t)(number - (uint32_t)out->acked);

    if (more <= 0)
        return true; /* an older acknowledgement that was overtaken */
    if ((uint64_t)more > out->transmitted - out->acked)
        return false;
    out->acked += (uint64_t)more;
    out->credit_requested = false;
    if (channel == NET_PUT_NOTIFY)
        tern_net_ring(net); /* a thread may sleep until it gets a credit */
    else
        free_cells(net, out);
    return true;
}

/* ---- messages ---- */

static int send_run(struct net_link *net, struct net_peer *peer, struct net_tx_channel *out, const void *bytes,
                    size_t len)
{
    struct net_tx_cell *sent = &out->sent[out->next & (out->cells.shape.cells - 1)];
    int                 rc;

    if (len <= net->inject)
        return net->verbs->inject(net, peer, bytes, len);
    tern_net_ctx_init(&sent->ctx, peer, NULL, sent_ended);
    rc = net->verbs->send(net, &sent->ctx, bytes, len, &out->mr);
    sent->in_flight = rc == 0;
    return rc;
}

/* Send the head of a message and the location of its data, which stay in the ring. */
static int send_remote(struct net_link *net, struct net_peer *peer, const struct net_tx_channel *out,
                       const unsigned char *run, size_t len)
{
    struct net_remote remote = { .key = out->mr.key,
                                 .addr = out->mr.base + (uint64_t)(run + NET_WIRE_HEAD - out->mr.bytes),
                                 .len = len - NET_WIRE_HEAD };
    unsigned char     bytes[NET_WIRE_HEAD + sizeof(remote)];

    _Static_assert(sizeof(bytes) <= NET_INJECT, "the message can be injected");
    memcpy(bytes, run, NET_WIRE_HEAD);
    memcpy(bytes + NET_WIRE_HEAD, &remote, sizeof(remote));
    return net->verbs->inject(net, peer, bytes, sizeof(bytes));
}

/* The kind of a message, by channel: the second kind is for a message whose data stay in the ring. */
static const enum net_kind kind_of[TERN_CHANNELS][2] = {
    [TERN_CHANNEL_REQUEST] = { NET_REQUEST, NET_FETCH_REQUEST },
    [TERN_CHANNEL_REPLY] = { NET_REPLY, NET_FETCH_REPLY },
    [TERN_CHANNEL_NOTIFY] = { NET_NOTIFY, NET_NOTIFY },
    [TERN_CHANNEL_TAGGED] = { NET_TAGGED, NET_FETCH_TAGGED },
    [TERN_CHANNEL_HELPER_REQUEST] = { NET_HELPER_REQUEST, NET_FETCH_HELPER_REQUEST },
    [TERN_CHANNEL_HELPER_REPLY] = { NET_HELPER_REPLY, NET_FETCH_HELPER_REPLY }
};

/* Send the message of one cell. The head of a message without data is in the cell itself. Other messages have their
 * header and head in the ring, in front of the data. */
static int send_cell(struct net_link *net, struct net_peer *peer, unsigned channel, struct tern_ring_cell *cell)
{
    struct net_tx_channel *out = &peer->out[channel];
    uint32_t               len = tern_base_ring_cell_len(cell);
    bool                   remote = len > NET_WIRE_HEAD + NET_WIRE_INLINE_MAX;
    struct net_header      header = tern_net_header(net, peer, kind_of[channel][remote], (uint16_t)out->transmitted,
                                                    (uint16_t)peer->in[tern_net_wire_partner(channel)].consumed);
    unsigned char          small[NET_WIRE_HEAD], *run;

    if (len == 0) {
        memcpy(small, &header, sizeof(header));
        memcpy(small + sizeof(header), cell->head, TERN_LINK_HEAD);
        return net->verbs->inject(net, peer, small, sizeof(small));
    }
    run = out->cells.data + cell->at;
    memcpy(run, &header, sizeof(header));
    return remote ? send_remote(net, peer, out, run, len) : send_run(net, peer, out, run, len);
}

/* Send all published messages of a channel, in order. */
static int send_cells(struct net_link *net, struct net_peer *peer, unsigned channel)
{
    struct net_tx_channel *out = &peer->out[channel];
    struct net_rx_channel *partner = &peer->in[tern_net_wire_partner(channel)];
    struct tern_ring_shape shape = out->cells.shape;
    bool                   acks = tern_net_wire_acks(shape.cells); /* the partner channel has as many cells */
    int                    rc = 0;

    while (rc == 0 && out->next - out->cells.next < shape.cells) {
        struct tern_ring_cell *cell = &out->cells.ring->cell[out->next & (shape.cells - 1)];

        /* acquire: the message after its mark. Pairs with the release in tern_base_ring_publish(). */
        if (atomic_load_explicit(&cell->mark, memory_order_acquire) != tern_base_ring_lap(out->next, shape))
            break;
        if (cell->len != TERN_RING_SKIP && (rc = send_cell(net, peer, channel, cell)) == 0) {
            out->transmitted++;
            if (acks) {
                partner->credited = partner->consumed;
                partner->uncredited_bytes = 0;
            }
        }
        out->next += rc == 0;
    }
    free_cells(net, out);
    return rc;
}

/* ---- control messages ---- */

static int send_credit(struct net_link *net, struct net_peer *peer)
{
    struct {
        struct net_header header;
        struct net_credit credit;
    } message = { .header = tern_net_header(net, peer, NET_CREDIT, 0, 0) };
    int rc;

    for (unsigned c = 0; c < NET_COUNTED; c++)
        message.credit.consumed[c] = (uint32_t)peer->in[c].consumed;
    rc = net->verbs->inject(net, peer, &message, sizeof(message.header) + sizeof(message.credit));
    for (unsigned c = 0; c < NET_COUNTED && rc == 0; c++) {
        peer->in[c].credited = peer->in[c].consumed;
        peer->in[c].uncredited_bytes = 0;
    }
    return rc;
}

static int send_credit_request(struct net_link *net, struct net_peer *peer, unsigned channel)
{
    struct net_header header = tern_net_header(net, peer, NET_CREDIT_REQUEST, (uint16_t)channel, 0);

    return net->verbs->inject(net, peer, &header, sizeof(header));
}

static int send_due(struct net_link *net, struct net_peer *peer)
{
    int rc = 0;

    while (peer->due && rc == 0) {
        unsigned what = peer->due & -(unsigned)peer->due;

        rc = what == NET_DUE_CREDIT
                 ? send_credit(net, peer)
                 : send_credit_request(net, peer, (unsigned)__builtin_ctz(what / NET_DUE_CREDIT_REQUEST));
        if (rc == 0)
            peer->due &= (uint8_t)~what;
    }
    return rc;
}

/* ---- everything that is pending for a peer ---- */

int tern_net_tx_post(struct net_link *net, struct net_ctx *ctx)
{
    static const unsigned urgent[TERN_CHANNELS] = { TERN_CHANNEL_REPLY,        TERN_CHANNEL_REQUEST,
                                                    TERN_CHANNEL_TAGGED,       TERN_CHANNEL_NOTIFY,
                                                    TERN_CHANNEL_HELPER_REPLY, TERN_CHANNEL_HELPER_REQUEST };
    struct net_peer      *peer = ctx->peer;
    int                   rc = peer->broken ? 0 : send_due(net, peer);

    for (unsigned i = 0; i < TERN_CHANNELS && rc == 0 && !peer->broken; i++)
        if (atomic_load_explicit(&peer->out[urgent[i]].ready, memory_order_relaxed)) /* written under the lock */
            rc = send_cells(net, peer, urgent[i]);
    return rc;
}

void tern_net_tx_ended(struct net_link *net, struct net_ctx *ctx, int error)
{
    tern_net_break_off(net, ctx->peer, net->verbs->why(net, error));
}

/* ---- requesting credits ---- */

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

/* ---- the link interface ---- */

size_t tern_net_msg_max_data(struct tern_link *link, int peer, unsigned channel)
{
    (void)peer, (void)channel;
    return tern_base_ring_max_data(tern_net(link)->msg.shape[TERN_CHANNEL_REQUEST]) - NET_WIRE_HEAD;
}

static __attribute__((noinline, cold)) tern_status first_message(struct net_link *net, int rank, unsigned channel)
{
    struct net_peer *peer;
    tern_status      st = TERN_OK;

    pthread_mutex_lock(&net->lock);
    peer = tern_net_peer(net, rank);
    if (!peer)
        st = TERN_ERR_NOMEM;
    else if (!atomic_load_explicit(&peer->out[channel].ready, memory_order_relaxed))
        st = ring_make(net, peer, channel);
    pthread_mutex_unlock(&net->lock);
    return st;
}

static __attribute__((noinline, cold)) tern_status ring_full(struct net_link *net, struct net_peer *peer,
                                                             unsigned channel)
{
    bool broken;

    pthread_mutex_lock(&net->lock);
    request_credit(net, peer, channel);
    net->verbs->drain(net);
    broken = peer->broken && tern_base_list_empty(&peer->lost); /* on the list: the peer may be dying */
    pthread_mutex_unlock(&net->lock);
    if (!broken)
        return TERN_AGAIN;
    return tern_base_fail(TERN_ERR_PEER, "messages to rank %d were lost: the connection to it broke: %s", peer->rank,
                          peer->why); /* written once */
}

/* Returns the peer of a rank with its ring for the channel, both created if necessary. Returns NULL with the error
 * in *st. */
static struct net_peer *target(struct net_link *net, int rank, unsigned channel, tern_status *st)
{
    struct net_peer *peer;

    /* acquire: the peer and its ring. Pair with the releases in tern_net_peer_make() and ring_make(). */
    while (!(peer = atomic_load_explicit(&net->peer[rank], memory_order_acquire)) ||
           !atomic_load_explicit(&peer->out[channel].ready, memory_order_acquire))
        if ((*st = first_message(net, rank, channel)) < 0)
            return NULL;
    return peer;
}

/* A message without data is a cell. Any other message has space in the data ring, with header and head in front of the
 * data. */
tern_status tern_net_msg_open(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max)
{
    struct net_link *net = tern_net(link);
    tern_status      st = TERN_OK;
    struct net_peer *peer = target(net, msg->peer, msg->channel, &st);
    size_t           front = max > 0 ? NET_WIRE_HEAD : 0, most = max < SIZE_MAX - front ? max + front : SIZE_MAX;

    if (!peer)
        return st;
    if (min > net->msg.shape[msg->channel].data ||
        tern_link_ring_open(&peer->out[msg->channel].ring, msg, min + front, most) != TERN_OK)
        return ring_full(net, peer, msg->channel);
    if (msg->data) {
        msg->head = msg->data + sizeof(struct net_header);
        msg->data += front;
        msg->data_max = msg->data_max - front < max ? msg->data_max - front : max;
    }
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
    struct net_link *net = tern_net(link);
    tern_status      st = TERN_OK;
    struct net_peer *to = target(net, peer, channel, &st);

    if (!to)
        return st;
    if (!tern_link_ring_push(&to->out[channel].ring, channel, first, rest, count, false))
        return ring_full(net, to, channel);
    kick(net, peer);
    return TERN_OK;
}

void tern_net_msg_send(struct tern_link *link, const struct tern_link_msg *msg, size_t len)
{
    tern_base_order_before_peers(); /* before the thread that serves a peer which acts on this message */
    tern_base_ring_publish(&msg->claim, msg->data ? NET_WIRE_HEAD + len : 0);
    kick(tern_net(link), msg->peer);
}

void tern_net_msg_drop(struct tern_link *link, const struct tern_link_msg *msg)
{
    tern_base_ring_skip(&msg->claim);
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

        if (!peer || peer->broken || tern_boot_gone(net->boot, rank))
            continue;
        for (unsigned c = 0; c < NET_COUNTED; c++)
            settled &= is_settled(net, peer, c);
    }
    tern_net_retry(net);
    pthread_mutex_unlock(&net->lock);
    return settled;
}

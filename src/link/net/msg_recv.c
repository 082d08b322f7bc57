/* msg_recv.c: messages from other nodes: receiving them, and passing them to the core.
 *
 * The network passes each message that has arrived to tern_net_receive(), which checks the message and copies it into a
 * net_rx_msg at once, so that the network's buffers are always available. Data that remain in the sender's ring are
 * fetched with a read. There is one queue of received messages for each channel, from which they are delivered. The
 * messages of one sender are in the order in which they were sent.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sanitize.h"
#include "link/net/net.h"
#include "link/none.h"

#define SMALL 256u /* largest data size of the messages whose memory is kept for reuse */
#define SPARES 64
#define BATCH 16
#define LOST_NS 5000000000ll /* then a lost connection is an error, unless the peer is known to be dead */

/* Record a fatal error of the link. Only the first error is recorded, and the next delivery returns its status.
 * Incrementing the count of the queue makes a thread deliver. The caller must hold the lock. */
static __attribute__((format(printf, 3, 4))) void fail(struct net_link *net, tern_status status, const char *format,
                                                       ...)
{
    struct net_msg *m = &net->msg;
    va_list         args;

    if (m->damage != TERN_OK)
        return;
    va_start(args, format);
    vsnprintf(m->why, sizeof(m->why), format, args);
    va_end(args);
    m->damage = status;
    /* relaxed: ordered by the lock. */
    atomic_fetch_add_explicit(&m->queue[TERN_CHANNEL_REQUEST].count, 1, memory_order_relaxed);
    tern_net_ring(net);
}

static void damage(struct net_link *net, int from, const char *what)
{
    fail(net, TERN_ERR_LINK, "link %s: rank %d sent an invalid message: %s", net->name, from, what);
}

static void no_memory(struct net_link *net, int from)
{
    fail(net, TERN_ERR_NOMEM, "link %s: out of memory while receiving a message from rank %d", net->name, from);
}

void tern_net_rx_fail(struct net_link *net, tern_status status, const char *what, const char *why)
{
    fail(net, status, "link %s: %s: %s", net->name, what, why);
}

/* ---- received messages ---- */

/* Returns the number of bytes of the sender's ring that a message with len bytes of data occupies. */
static size_t run_of(size_t len)
{
    return len > 0 ? NET_WIRE_HEAD + len : 0;
}

static struct net_rx_msg *msg_of(struct tern_list *node)
{
    return TERN_LIST_ITEM(node, struct net_rx_msg, node);
}

static struct net_rx_msg *msg_new(struct net_msg *m, size_t len)
{
    struct net_rx_msg *msg;

    if (TERN_LIKELY(len <= SMALL && m->spares > 0)) {
        m->spares--;
        return msg_of(tern_base_list_pop(&m->spare));
    }
    len = len < SMALL ? SMALL : len;
    msg = aligned_alloc(64, tern_base_round_up(sizeof(*msg) + NET_WIRE_HEAD + len, 64));
    if (msg)
        msg->capacity = len;
    return msg;
}

static void msg_free(struct net_link *net, struct net_rx_msg *msg)
{
    if (msg->capacity > SMALL || net->msg.spares == SPARES) {
        free(msg);
        return;
    }
    tern_base_list_push(&net->msg.spare, &msg->node);
    net->msg.spares++;
}

static void msgs_free(struct tern_list *list)
{
    struct tern_list *node;

    while ((node = tern_base_list_pop(list)))
        free(msg_of(node));
}

static struct net_queue *queue_of(struct net_link *net, const struct net_rx_msg *msg)
{
    return &net->msg.queue[msg->channel == NET_PUT_NOTIFY ? TERN_CHANNEL_NOTIFY : msg->channel];
}

static void enqueue(struct net_link *net, struct net_rx_msg *msg)
{
    struct net_queue *queue = queue_of(net, msg);

    tern_base_list_append(&queue->msgs, &msg->node);
    atomic_fetch_add_explicit(&queue->count, 1, memory_order_relaxed); /* a hint; ordered by the lock */
}

/* Returns the oldest message of a channel whose sender was not refused in the current pass, or NULL. */
static struct net_rx_msg *msg_peek(const struct net_link *net, unsigned channel)
{
    TERN_LIST_EACH(struct net_rx_msg, msg, &net->msg.queue[channel].msgs, node)
        if (msg->ctx.peer->passed[channel] != net->msg.pass[channel])
            return msg;
    return NULL;
}

/* Count a message with len bytes of data as consumed. A credit for the sender is due if the sender waits for one, or if
 * a quarter of its ring has been consumed. */
static void count_consumed(struct net_link *net, struct net_peer *peer, unsigned channel, size_t len)
{
    struct net_rx_channel *in = &peer->in[channel];
    struct tern_ring_shape shape = net->msg.shape[channel];

    in->consumed++;
    in->uncredited_bytes += run_of(len);
    if (in->credit_requested || in->consumed - in->credited >= shape.cells / 4 ||
        (in->uncredited_bytes > 0 && in->uncredited_bytes >= shape.data / 4)) {
        in->credit_requested = false;
        tern_net_tx_due(net, peer, NET_DUE_CREDIT);
    }
}

/* Remove a message from its queue. */
static void msg_consume(struct net_link *net, struct net_rx_msg *msg)
{
    tern_base_list_remove(&msg->node);
    atomic_fetch_sub_explicit(&queue_of(net, msg)->count, 1, memory_order_relaxed); /* a hint; ordered by the lock */
    msg->ctx.peer->in[msg->channel].bytes -= run_of(msg->len);
    count_consumed(net, msg->ctx.peer, msg->channel, msg->len);
}

/* ---- order ---- */

/* Returns true if the sender's ring can hold the message, and the message has not been received before. */
static bool is_expected(struct tern_ring_shape shape, const struct net_rx_channel *in, uint16_t seq, size_t run)
{
    uint16_t ahead = (uint16_t)(seq - (uint16_t)in->received);

    TERN_LIST_EACH(const struct net_rx_msg, msg, &in->early, node)
        if (msg->seq == seq)
            return false;
    return ahead + (in->received - in->consumed) < shape.cells && run <= shape.data - in->bytes;
}

/* Insert the message into the list of early messages, by sequence number. Networks keep the order of messages, but
 * may complete them in another order, and fetched data arrive later. */
static void file_early(struct net_rx_channel *in, struct net_rx_msg *msg)
{
    struct tern_list *at = in->early.next;

    while (at != &in->early && (int16_t)(msg_of(at)->seq - msg->seq) < 0)
        at = at->next;
    tern_base_list_insert(&msg->node, at->prev, at);
}

/* Move the complete messages that are next in sequence to the queue of their channel. */
static void enqueue_in_order(struct net_link *net, struct net_rx_channel *in)
{
    TERN_LIST_EACH(struct net_rx_msg, msg, &in->early, node) {
        if (!msg->whole || msg->seq != (uint16_t)in->received)
            break;
        tern_base_list_remove(&msg->node);
        in->received++;
        enqueue(net, msg);
    }
    tern_net_ring(net);
}

/* ---- fetching remote data ---- */

/* A rank that is leaving closes its connections when all others are leaving, too. */
static bool is_leaving(const struct net_link *net, int rank)
{
    const struct tern_slot *slot = &net->boot->segment->slot[rank];

    return tern_boot_gone(net->boot, rank) ||
           atomic_load_explicit(&slot->life, memory_order_relaxed) >= TERN_LIFE_LEAVING; /* orders nothing */
}

/* Report an error for a peer that is still alive some time after its connection was lost. */
static void judge_lost(struct net_link *net, int64_t now)
{
    TERN_LIST_EACH(struct net_peer, peer, &net->msg.lost, lost) {
        bool leaving = is_leaving(net, peer->rank);

        if (!leaving && now < peer->judge_at)
            continue;
        tern_base_list_remove(&peer->lost);
        if (!leaving)
            fail(net, TERN_ERR_LINK, "link %s: the connection to rank %d broke: %s", net->name, peer->rank, peer->why);
    }
}

void tern_net_rx_lost(struct net_link *net, struct net_peer *peer)
{
    if (!tern_base_list_empty(&peer->lost))
        return;
    peer->judge_at = tern_base_now() + LOST_NS;
    tern_base_list_append(&net->msg.lost, &peer->lost);
    tern_net_ring(net); /* a sleeping thread must recompute its timeout */
}

/* Forget failed reads from senders that are gone, and report an error for a sender that is still alive at judge_at. */
void tern_net_rx_judge(struct net_link *net)
{
    int64_t now = tern_base_now();

    judge_lost(net, now);
    TERN_LIST_EACH(struct net_rx_msg, msg, &net->msg.failed, ctx.node) {
        int rank = msg->ctx.peer->rank;

        if (!tern_boot_gone(net->boot, rank) && now < msg->judge_at)
            continue;
        tern_base_list_remove(&msg->ctx.node);
        if (!tern_boot_gone(net->boot, rank))
            fail(net, tern_net_status(msg->error), "link %s: could not read the data of a message from rank %d: %s",
                 net->name, rank, net->verbs->why(net, msg->error));
    }
}

int64_t tern_net_rx_due(const struct net_link *net)
{
    const struct tern_list *failed = &net->msg.failed, *lost = &net->msg.lost;
    int64_t                 due = NET_NEVER;

    if (!tern_base_list_empty(failed))
        due = TERN_LIST_ITEM(failed->next, struct net_rx_msg, ctx.node)->judge_at;
    if (!tern_base_list_empty(lost) && TERN_LIST_ITEM(lost->next, struct net_peer, lost)->judge_at < due)
        due = TERN_LIST_ITEM(lost->next, struct net_peer, lost)->judge_at;
    return due;
}

/* Handle the end of a read. If the read has failed, the sender may have died a moment ago, which the launcher reports
 * within NET_NOTICE_NS. The failure is an error of the link only if the sender is alive after that time. A message that
 * a dead sender had not delivered completely is never delivered. */
static void fetch_ended(struct net_link *net, struct net_ctx *ctx, int error)
{
    struct net_rx_msg *msg = (struct net_rx_msg *)ctx;

    if (error == 0) {
        msg->whole = true;
        enqueue_in_order(net, &ctx->peer->in[msg->channel]);
        return;
    }
    msg->error = error;
    msg->judge_at = tern_base_now() + NET_NOTICE_NS;
    tern_base_list_append(&net->msg.failed, &ctx->node);
    tern_net_ring(net); /* a sleeping thread must recompute its timeout */
}

/* Read the data of a message. If the sender is gone, the data never arrive. */
static int fetch_post(struct net_link *net, struct net_ctx *ctx)
{
    struct net_rx_msg *msg = (struct net_rx_msg *)ctx;

    if (tern_boot_gone(net->boot, ctx->peer->rank))
        return 0;
    return net->verbs->rma(net, ctx, true, msg->bytes + NET_WIRE_HEAD, NULL, &msg->remote);
}

/* ---- incoming messages ---- */

/* Receive a message on a channel: check it against the sender's flow control, and store it. */
static void take_message(struct net_link *net, struct net_peer *peer, const struct net_decoded *decoded,
                         const void *bytes)
{
    struct net_msg        *m = &net->msg;
    struct net_rx_channel *in = &peer->in[decoded->channel];
    bool                   remote = decoded->remote.len > 0;
    struct net_rx_msg     *msg;

    if (decoded->len > m->shape[decoded->channel].data ||
        !is_expected(m->shape[decoded->channel], in, decoded->header.seq, run_of(decoded->len))) {
        damage(net, peer->rank,
               "more messages than its queue holds, or some are missing; the connection to it may have "
               "broken");
        return;
    }
    if (!(msg = msg_new(m, decoded->len))) {
        no_memory(net, peer->rank);
        return;
    }
    tern_net_ctx_init(&msg->ctx, peer, fetch_post, fetch_ended);
    msg->remote = decoded->remote;
    msg->len = decoded->len;
    msg->seq = decoded->header.seq;
    msg->channel = (uint8_t)decoded->channel;
    msg->whole = !remote;
    memcpy(msg->bytes, bytes, NET_WIRE_HEAD + (remote ? 0 : decoded->len));
    in->bytes += run_of(decoded->len);
    file_early(in, msg);
    if (remote)
        tern_net_post(net, &msg->ctx);
    else
        enqueue_in_order(net, in);
}

/* Handle the sender's request for a credit: send one as soon as there is something to report. */
static void take_credit_request(struct net_link *net, struct net_peer *peer, unsigned channel)
{
    if (peer->in[channel].consumed != peer->in[channel].credited)
        tern_net_tx_due(net, peer, NET_DUE_CREDIT);
    else
        peer->in[channel].credit_requested = true;
}

static void take_ack(struct net_link *net, struct net_peer *peer, unsigned channel, uint32_t number)
{
    if (!tern_net_tx_ack(net, peer, channel, number))
        damage(net, peer->rank, "it has handled more messages than were sent");
}

/* Handle the 16-bit acknowledgement in the header of a message. */
static void take_short_ack(struct net_link *net, struct net_peer *peer, unsigned channel, uint16_t number)
{
    uint32_t known = (uint32_t)peer->out[channel].acked;
    int32_t  more = (int16_t)(number - (uint16_t)known);

    if (tern_net_wire_acks(net->msg.shape[channel].cells))
        take_ack(net, peer, channel, known + (uint32_t)more);
}

static void take_rpc(struct net_link *net, struct net_peer *peer, const struct net_decoded *decoded,
                     const unsigned char *request)
{
    tern_status st = tern_net_rpc_serve(net, peer, decoded, request);

    if (st == TERN_ERR_NOMEM)
        no_memory(net, peer->rank);
    else if (st < 0)
        damage(net, peer->rank, "an RPC is longer than an RPC buffer, or there are more RPCs than it has buffers");
}

static bool drop_stranger(struct net_link *net, size_t len)
{
    if (net->msg.strangers++ == 0)
        tern_base_log(TERN_LOG_WARN, "a message of %zu bytes that is not of this job was dropped, and others will be",
                      len);
    return false;
}

/* Returns true if the message carries the token of its sender. The token of a rank that is not a peer yet is computed
 * here: only a message with a valid token creates the record of a peer. */
static bool is_of_this_job(const struct net_link *net, const struct net_decoded *decoded)
{
    const struct net_peer *peer;

    if (decoded->from >= (uint32_t)net->ranks)
        return false;
    peer = atomic_load_explicit(&net->peer[decoded->from], memory_order_relaxed); /* written under the lock */
    return decoded->header.token ==
           (peer ? peer->token_in : tern_net_wire_token(net->boot->segment->job, decoded->from, (uint32_t)net->rank));
}

bool tern_net_receive(struct net_link *net, const struct net_peer *sender, const void *bytes, size_t len)
{
    struct net_decoded decoded;
    struct net_peer   *peer;

    if (!tern_net_wire_decode(bytes, len, &decoded) || !is_of_this_job(net, &decoded) ||
        (sender && decoded.from != (uint32_t)sender->rank))
        return drop_stranger(net, len);
    if (!(peer = tern_net_peer(net, (int)decoded.from))) {
        no_memory(net, (int)decoded.from);
        return true;
    }
    switch (decoded.kind) {
    case NET_CREDIT_REQUEST: take_credit_request(net, peer, decoded.header.seq); break;
    case NET_CREDIT:
        for (unsigned c = 0; c < NET_COUNTED; c++)
            take_ack(net, peer, c, decoded.credit.consumed[c]);
        break;
    case NET_RPC:
    case NET_FETCH_RPC: take_rpc(net, peer, &decoded, (const unsigned char *)bytes + NET_WIRE_RPC); break;
    case NET_RPC_RESPONSE:
        tern_net_rpc_response(net, peer, &decoded, (const unsigned char *)bytes + NET_WIRE_RPC_RESPONSE);
        break;
    default:
        take_message(net, peer, &decoded, bytes);
        take_short_ack(net, peer, tern_net_wire_partner(decoded.channel), decoded.header.ack);
    }
    return true;
}

/* Receive a notification that was sent with a put, whose data are in place. The sender must have credit for it. */
bool tern_net_rx_notified(struct net_link *net, const struct net_put_notify *written)
{
    struct net_msg        *m = &net->msg;
    struct net_peer       *peer;
    struct net_rx_channel *in;
    struct net_rx_msg     *msg;

    if (!(peer = tern_net_peer(net, (int)written->from)) || !(msg = msg_new(m, 0))) {
        no_memory(net, (int)written->from);
        return true;
    }
    in = &peer->in[NET_PUT_NOTIFY];
    if (in->received - in->consumed >= m->shape[NET_PUT_NOTIFY].cells) {
        msg_free(net, msg);
        return drop_stranger(net, sizeof(uint64_t));
    }
    msg->ctx.peer = peer;
    msg->len = 0;
    msg->channel = NET_PUT_NOTIFY;
    net->up->notify_head(msg->bytes + sizeof(struct net_header), tern_link_region_of(net->rank, written->region),
                         written->tag, written->bytes);
    in->received++;
    enqueue(net, msg);
    tern_net_ring(net);
    return true;
}

void tern_net_rx_notify_refused(struct net_link *net, struct net_peer *peer)
{
    peer->in[NET_PUT_NOTIFY].received++;
    count_consumed(net, peer, NET_PUT_NOTIFY, 0);
}

/* The completion data carry no token that shows that the sender belongs to this job; the only check is that the source
 * has credit for the notification. */
void tern_net_rx_put_notify(struct net_link *net, uint64_t data)
{
    struct net_put_notify written;

    if (tern_net_wire_unpack((uint32_t)net->ranks, data, &written))
        tern_net_rx_notified(net, &written);
    else
        drop_stranger(net, sizeof(data));
}

/* ---- delivering ---- */

/* Deliver the messages of a channel. A request or reply is consumed before it is handled, so that the reply carries the
 * acknowledgement. A notification or tagged message is consumed when the core has accepted it. A message that is
 * refused delays the messages of its own sender only. */
static tern_status deliver(struct tern_link_watch *watch)
{
    struct net_link   *net = tern_net(watch->link);
    uint32_t           pass = ++net->msg.pass[watch->channel];
    bool               pair = tern_channel_is_pair(watch->channel);
    struct net_rx_msg *msg = NULL;
    tern_status        st;

    enum tern_link_delivered delivered = TERN_LINK_REFUSED;

    if (!pair)
        tern_base_order_after_peers(); /* after the copies that were made for the senders */
    for (int taken = 0;;) {
        pthread_mutex_lock(&net->lock);
        if (delivered != TERN_LINK_REFUSED && !pair)
            msg_consume(net, msg);
        if (delivered != TERN_LINK_REFUSED) {
            msg_free(net, msg);
            taken++; /* refused messages do not count, so that other senders are served */
        }
        msg = taken < BATCH && delivered != TERN_LINK_TAKEN_LAST ? msg_peek(net, watch->channel) : NULL;
        if (msg && pair)
            msg_consume(net, msg);
        else if (!msg)
            tern_net_retry(net); /* credits are due */
        st = net->msg.damage;
        pthread_mutex_unlock(&net->lock);
        if (!msg)
            return st < 0 ? tern_base_fail(st, "%s", net->msg.why) : TERN_OK;
        delivered =
            tern_link_deliver(net->up, msg->ctx.peer->rank, watch->channel, msg->bytes + sizeof(struct net_header),
                              msg->len > 0 ? msg->bytes + NET_WIRE_HEAD : NULL, msg->len);
        if (delivered == TERN_LINK_REFUSED)
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

/* Each channel has a watch on the number of its received messages. */
tern_status tern_net_messages_open(struct net_link *net)
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

/* ---- closing ---- */

void tern_net_rx_close(struct net_link *net)
{
    struct net_msg *m = &net->msg;

    for (unsigned c = 0; c < TERN_CHANNELS; c++)
        msgs_free(&m->queue[c].msgs);
    msgs_free(&m->spare);
}

void tern_net_rx_drop(struct net_peer *peer)
{
    for (unsigned c = 0; c < TERN_CHANNELS; c++)
        msgs_free(&peer->in[c].early);
}

/* msg_recv.c: receiving messages.
 *
 * The provider places messages into receive buffers that hold many messages each (FI_MULTI_RECV). Each message is
 * checked and copied into an ofi_rx_msg at once, so that the buffers are always available. Data that remain in the
 * sender's ring are fetched with a read. There is one queue of received messages for each channel. The messages of
 * one sender are in the order in which they were sent.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/log.h"
#include "link/ofi/ofi.h"

#define RX_BYTES (64u << 10)
#define LARGEST (OFI_WIRE_HEAD + OFI_WIRE_INLINE_MAX)
#define SMALL 256u /* largest data size of records that are kept for reuse */
#define SPARES 64

/* Record a fatal error of the link. Only the first one is recorded, and the next delivery returns it. Incrementing
 * the count of the queue makes a thread deliver. The caller must hold the lock. */
static __attribute__((format(printf, 3, 4))) void fail(struct ofi_link *ofi, tern_status status, const char *format,
                                                       ...)
{
    struct ofi_msg *m = &ofi->msg;
    va_list         args;

    if (m->damage != TERN_OK)
        return;
    va_start(args, format);
    vsnprintf(m->why, sizeof(m->why), format, args);
    va_end(args);
    m->damage = status;
    /* relaxed: ordered by the lock. */
    atomic_fetch_add_explicit(&m->queue[TERN_CHANNEL_REQUEST].count, 1, memory_order_relaxed);
    tern_ofi_ring(ofi);
}

static void damage(struct ofi_link *ofi, int from, const char *what)
{
    fail(ofi, TERN_ERR_LINK, "link ofi: rank %d sent an invalid message: %s", from, what);
}

static void no_memory(struct ofi_link *ofi, int from)
{
    fail(ofi, TERN_ERR_NOMEM, "link ofi: out of memory while receiving a message from rank %d", from);
}

void tern_ofi_rx_fail(struct ofi_link *ofi, const char *what, const char *why)
{
    fail(ofi, TERN_ERR_LINK, "link ofi, provider %s: %s: %s", ofi->endpoint.info->fabric_attr->prov_name, what, why);
}

/* ---- received messages ---- */

/* Returns the number of bytes of the sender's ring that a message with len bytes of data occupies. */
static size_t run_of(size_t len)
{
    return len > 0 ? OFI_WIRE_HEAD + len : 0;
}

static struct ofi_rx_msg *letter_new(struct ofi_msg *m, size_t len)
{
    struct ofi_rx_msg *msg = m->spare;

    if (TERN_LIKELY(len <= SMALL && msg)) {
        m->spare = msg->next;
        m->spares--;
        return msg;
    }
    len = len < SMALL ? SMALL : len;
    msg = aligned_alloc(64, tern_base_round_up(sizeof(*msg) + OFI_WIRE_HEAD + len, 64));
    if (msg)
        msg->capacity = len;
    return msg;
}

static void msg_free(struct ofi_msg *m, struct ofi_rx_msg *msg)
{
    if (msg->capacity > SMALL || m->spares == SPARES) {
        free(msg);
        return;
    }
    msg->next = m->spare;
    m->spare = msg;
    m->spares++;
}

static void msgs_free(struct ofi_rx_msg *msg)
{
    while (msg) {
        struct ofi_rx_msg *next = msg->next;
        free(msg);
        msg = next;
    }
}

static void enqueue(struct ofi_queue *queue, struct ofi_rx_msg *msg)
{
    msg->next = NULL;
    *queue->last = msg;
    queue->last = &msg->next;
    atomic_fetch_add_explicit(&queue->count, 1, memory_order_relaxed); /* a hint; ordered by the lock */
}

/* A message was consumed. Schedule a credit for its sender if the sender waits for one, or if a quarter of its ring
 * has been consumed. */
static void consumed(struct ofi_link *ofi, const struct ofi_rx_msg *msg)
{
    struct ofi_msg        *m = &ofi->msg;
    struct ofi_rx_channel *in = &msg->from->in[msg->channel];
    struct tern_ring_shape shape = m->shape[msg->channel];

    in->consumed++;
    in->bytes -= run_of(msg->len);
    in->uncredited_bytes += run_of(msg->len);
    if (in->credit_requested || in->consumed - in->credited >= shape.cells / 4 ||
        (in->uncredited_bytes > 0 && in->uncredited_bytes >= shape.data / 4)) {
        in->credit_requested = false;
        tern_ofi_tx_due(ofi, msg->from, OFI_DUE_CREDIT);
    }
}

static void dequeue(struct ofi_queue *queue, struct ofi_rx_msg **at)
{
    struct ofi_rx_msg *msg = *at;

    *at = msg->next;
    if (!*at)
        queue->last = at;
    atomic_fetch_sub_explicit(&queue->count, 1, memory_order_relaxed); /* a hint; ordered by the lock */
}

struct ofi_rx_msg *tern_ofi_rx_next(struct ofi_link *ofi, unsigned channel)
{
    struct ofi_queue  *queue = &ofi->msg.queue[channel];
    struct ofi_rx_msg *msg = queue->first;

    if (!msg)
        return NULL;
    dequeue(queue, &queue->first);
    consumed(ofi, msg); /* before the message is handled, so that the reply carries the acknowledgement */
    return msg;
}

struct ofi_rx_msg *tern_ofi_rx_peek(const struct ofi_link *ofi, unsigned channel)
{
    struct ofi_rx_msg *msg = ofi->msg.queue[channel].first;

    while (msg && msg->from->passed[channel] == ofi->msg.pass[channel])
        msg = msg->next;
    return msg;
}

void tern_ofi_rx_taken(struct ofi_link *ofi, struct ofi_rx_msg *msg)
{
    unsigned            channel = msg->channel == OFI_PUT_NOTIFY ? TERN_CHANNEL_NOTIFY : msg->channel;
    struct ofi_queue   *queue = &ofi->msg.queue[channel];
    struct ofi_rx_msg **at = &queue->first;

    while (*at != msg)
        at = &(*at)->next;
    dequeue(queue, at);
    consumed(ofi, msg);
    msg_free(&ofi->msg, msg);
}

void tern_ofi_rx_done(struct ofi_link *ofi, struct ofi_rx_msg *msg)
{
    msg_free(&ofi->msg, msg);
}

/* ---- order ---- */

/* Returns true if the sender's ring can hold the message, and the message has not been received before. */
static bool is_expected(struct tern_ring_shape shape, const struct ofi_rx_channel *in, uint16_t seq, size_t run)
{
    uint16_t ahead = (uint16_t)(seq - (uint16_t)in->received);

    for (const struct ofi_rx_msg *msg = in->early; msg; msg = msg->next)
        if (msg->seq == seq)
            return false;
    return ahead + (in->received - in->consumed) < shape.cells && run <= shape.data - in->bytes;
}

/* Insert the message into the list of early messages, by sequence number. Providers keep the order of messages, but
 * may complete them in another order, and fetched data arrive later. */
static void file_early(struct ofi_rx_channel *in, struct ofi_rx_msg *msg)
{
    struct ofi_rx_msg **at = &in->early;

    while (*at && (int16_t)((*at)->seq - msg->seq) < 0)
        at = &(*at)->next;
    msg->next = *at;
    *at = msg;
}

/* Move the complete messages that are next in sequence to the queue of their channel. */
static void enqueue_in_order(struct ofi_link *ofi, struct ofi_rx_channel *in)
{
    struct ofi_rx_msg *msg;

    while ((msg = in->early) && msg->whole && msg->seq == (uint16_t)in->received) {
        in->early = msg->next;
        in->received++;
        enqueue(&ofi->msg.queue[msg->channel], msg);
    }
    tern_ofi_ring(ofi);
}

/* ---- fetching remote data ---- */

/* A read has failed. The sender may have died a moment ago, which the launcher reports within OFI_NOTICE_NS. The
 * failure is an error of the link only if the sender is alive after that time. A message that a dead sender had not
 * delivered completely is never delivered. */
static void fetch_failed(struct ofi_link *ofi, struct ofi_rx_msg *msg, const char *why)
{
    snprintf((char *)msg->bytes + OFI_WIRE_HEAD, msg->len, "%.100s", why); /* store the reason in the data area */
    msg->judge_at = tern_base_now() + OFI_NOTICE_NS;
    msg->next_fetch = ofi->msg.failed;
    ofi->msg.failed = msg;
    tern_ofi_ring(ofi); /* a sleeping thread must recompute its timeout */
}

/* Forget failed reads from senders that are gone, and report an error for a sender that is still alive at judge_at. */
static void judge_failed(struct ofi_link *ofi)
{
    struct ofi_rx_msg **at = &ofi->msg.failed, *msg;
    int64_t             now = tern_base_now();

    while ((msg = *at) != NULL) {
        if (!tern_ofi_gone(ofi, msg->from->rank) && now < msg->judge_at) {
            at = &msg->next_fetch;
            continue;
        }
        *at = msg->next_fetch;
        if (!tern_ofi_gone(ofi, msg->from->rank))
            fail(ofi, TERN_ERR_LINK, "link ofi: could not read the data of a message from rank %d: %s", msg->from->rank,
                 (const char *)msg->bytes + OFI_WIRE_HEAD);
    }
}

int64_t tern_ofi_rx_due(const struct ofi_link *ofi)
{
    int64_t first = OFI_NEVER;

    for (const struct ofi_rx_msg *msg = ofi->msg.failed; msg; msg = msg->next_fetch)
        first = msg->judge_at < first ? msg->judge_at : first;
    return first;
}

static void fetch_ended(struct ofi_link *ofi, struct ofi_comp_ctx *comp_ctx, const struct ofi_comp *comp)
{
    struct ofi_rx_msg *msg = (struct ofi_rx_msg *)comp_ctx;

    if (msg->cached)
        tern_ofi_mr_cache_put(ofi, msg->cached);
    msg->cached = NULL;
    if (comp->error == 0) {
        msg->whole = true;
        enqueue_in_order(ofi, &msg->from->in[msg->channel]);
    } else {
        fetch_failed(ofi, msg, tern_ofi_why(ofi, comp->error));
    }
}

/* Start to read the data of a message. Returns false if the caller must try again later. If the sender is gone, the
 * data never arrive. */
static bool fetch_start(struct ofi_link *ofi, struct ofi_rx_msg *msg)
{
    void          *data = msg->bytes + OFI_WIRE_HEAD;
    struct fid_mr *mr = NULL;
    tern_status    st;
    ssize_t        rc;

    if (tern_ofi_gone(ofi, msg->from->rank))
        return true;
    st = tern_ofi_address(ofi, msg->from);
    if (st == TERN_AGAIN)
        return false;
    if (st < 0) {
        fetch_failed(ofi, msg, tern_base_detail());
        return true;
    }
    if (ofi->endpoint.mr_local && !(mr = tern_ofi_mr_cache_get(ofi, data, msg->len, &msg->cached)))
        return false;
    msg->comp_ctx.ended = fetch_ended;
    rc = fi_read(ofi->endpoint.ep, data, msg->len, mr ? fi_mr_desc(mr) : NULL, msg->from->addr, msg->remote.addr,
                 msg->remote.key, &msg->comp_ctx.context);
    if (rc == 0)
        return true;
    if (msg->cached)
        tern_ofi_mr_cache_put(ofi, msg->cached);
    msg->cached = NULL;
    if (rc == -FI_EAGAIN)
        return false;
    fetch_failed(ofi, msg, tern_ofi_why(ofi, (int)-rc));
    return true;
}

static void pull(struct ofi_link *ofi, struct ofi_rx_msg *msg)
{
    struct ofi_rx_msg **end = &ofi->msg.fetches;

    if (*end == NULL && fetch_start(ofi, msg))
        return;
    while (*end)
        end = &(*end)->next_fetch;
    *end = msg;
    msg->next_fetch = NULL;
}

/* Start the reads that the provider refused before. A sender that is not reachable delays only its own messages. */
static void start_fetches(struct ofi_link *ofi)
{
    struct ofi_rx_msg    **at = &ofi->msg.fetches, *msg;
    const struct ofi_peer *refused = NULL;

    while ((msg = *at) != NULL) {
        struct ofi_rx_msg *next = msg->next_fetch;

        *at = next; /* fetch_start() may put the message on the failed list */
        if (msg->from != refused && fetch_start(ofi, msg))
            continue;
        refused = msg->from;
        msg->next_fetch = next;
        *at = msg;
        at = &msg->next_fetch;
    }
}

/* ---- incoming messages ---- */

/* Receive a message on a channel: check it against the sender's flow control, and store it. */
static void take_message(struct ofi_link *ofi, struct ofi_peer *peer, const struct ofi_decoded *decoded,
                         const void *bytes)
{
    struct ofi_msg        *m = &ofi->msg;
    struct ofi_rx_channel *in = &peer->in[decoded->channel];
    bool                   remote = decoded->remote.len > 0;
    struct ofi_rx_msg     *msg;

    if (decoded->len > m->shape[decoded->channel].data ||
        !is_expected(m->shape[decoded->channel], in, decoded->header.seq, run_of(decoded->len))) {
        damage(ofi, peer->rank,
               "more messages than its queue holds, or some are missing; the connection to it may have "
               "broken");
        return;
    }
    if (!(msg = letter_new(m, decoded->len))) {
        no_memory(ofi, peer->rank);
        return;
    }
    msg->from = peer;
    msg->remote = decoded->remote;
    msg->cached = NULL;
    msg->len = decoded->len;
    msg->seq = decoded->header.seq;
    msg->channel = (uint8_t)decoded->channel;
    msg->whole = !remote;
    memcpy(msg->bytes, bytes, OFI_WIRE_HEAD + (remote ? 0 : decoded->len));
    in->bytes += run_of(decoded->len);
    file_early(in, msg);
    if (remote)
        pull(ofi, msg);
    else
        enqueue_in_order(ofi, in);
}

/* The sender asks for a credit: send one as soon as there is something to report. */
static void take_credit_request(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel)
{
    if (peer->in[channel].consumed != peer->in[channel].credited)
        tern_ofi_tx_due(ofi, peer, OFI_DUE_CREDIT);
    else
        peer->in[channel].credit_requested = true;
}

static void take_ack(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel, uint32_t number)
{
    if (!tern_ofi_tx_ack(ofi, peer, channel, number))
        damage(ofi, peer->rank, "it has handled more messages than were sent");
}

/* Handle the 16-bit acknowledgement in the header of a message. */
static void take_short_ack(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel, uint16_t number)
{
    uint32_t known = (uint32_t)peer->out[channel].acked;
    int32_t  more = (int16_t)(number - (uint16_t)known);

    if (tern_ofi_wire_acks(ofi->msg.shape[channel].cells))
        take_ack(ofi, peer, channel, known + (uint32_t)more);
}

static void drop_stranger(struct ofi_link *ofi, size_t len)
{
    if (ofi->msg.strangers++ == 0)
        tern_base_log(TERN_LOG_WARN, "a message of %zu bytes that is not of this job was dropped, and others will be",
                      len);
}

/* Returns true if the message carries the token of its sender. The token of a rank that is not a peer yet is computed
 * here: only a message with a valid token creates the record of a peer. */
static bool is_of_this_job(const struct ofi_link *ofi, const struct ofi_decoded *decoded)
{
    const struct ofi_peer *peer;

    if (decoded->from >= (uint32_t)ofi->ranks)
        return false;
    peer = atomic_load_explicit(&ofi->peer[decoded->from], memory_order_relaxed); /* written under the lock */
    return decoded->header.token ==
           (peer ? peer->token_in : tern_ofi_wire_token(ofi->boot->segment->job, decoded->from, (uint32_t)ofi->rank));
}

static void receive(struct ofi_link *ofi, const void *bytes, size_t len)
{
    struct ofi_decoded decoded;
    struct ofi_peer   *peer;

    if (!tern_ofi_wire_decode(bytes, len, &decoded) || !is_of_this_job(ofi, &decoded)) {
        drop_stranger(ofi, len);
        return;
    }
    if (!(peer = tern_ofi_peer(ofi, (int)decoded.from))) {
        no_memory(ofi, (int)decoded.from);
        return;
    }
    switch (decoded.kind) {
    case OFI_CREDIT_REQUEST: take_credit_request(ofi, peer, decoded.header.seq); break;
    case OFI_CREDIT:
        for (unsigned c = 0; c < OFI_COUNTED; c++)
            take_ack(ofi, peer, c, decoded.credit.consumed[c]);
        break;
    case OFI_RPC:
    case OFI_FETCH_RPC:
        if (!tern_ofi_rpc_serve(ofi, peer, &decoded, (const unsigned char *)bytes + OFI_WIRE_RPC))
            damage(ofi, peer->rank, "it has more outstanding RPCs than RPC buffers, or this rank is out of memory");
        break;
    case OFI_RPC_RESPONSE:
        tern_ofi_rpc_response(ofi, peer, &decoded, (const unsigned char *)bytes + OFI_WIRE_RPC_RESPONSE);
        break;
    default:
        take_message(ofi, peer, &decoded, bytes);
        take_short_ack(ofi, peer, tern_ofi_wire_partner(decoded.channel), decoded.header.ack);
    }
}

/* Receive a notification that was sent with a put, whose data are in place. The completion data carry no token that
 * shows that the sender belongs to this job; the only check is that the source has credit for the notification. */
void tern_ofi_rx_put_notify(struct ofi_link *ofi, uint64_t data)
{
    struct ofi_msg        *m = &ofi->msg;
    struct ofi_put_notify  written;
    struct ofi_peer       *peer;
    struct ofi_rx_channel *in;
    struct ofi_rx_msg     *msg;

    if (!tern_ofi_wire_unpack((uint32_t)ofi->ranks, data, &written)) {
        drop_stranger(ofi, sizeof(data));
        return;
    }
    if (!(peer = tern_ofi_peer(ofi, (int)written.from)) || !(msg = letter_new(m, 0))) {
        no_memory(ofi, (int)written.from);
        return;
    }
    in = &peer->in[OFI_PUT_NOTIFY];
    if (in->received - in->consumed >= m->shape[OFI_PUT_NOTIFY].cells) {
        msg_free(m, msg);
        drop_stranger(ofi, sizeof(data));
        return;
    }
    msg->from = peer;
    msg->len = 0;
    msg->channel = OFI_PUT_NOTIFY;
    ofi->up->notify_head(msg->bytes + sizeof(struct ofi_header), tern_link_region_of(ofi->rank, written.region),
                         written.tag, written.bytes);
    in->received++;
    enqueue(&m->queue[TERN_CHANNEL_NOTIFY], msg);
    tern_ofi_ring(ofi);
}

/* ---- receive buffers ---- */

static void rx_idle(struct ofi_link *ofi, struct ofi_rx *rx)
{
    rx->idle = true;
    ofi->msg.idle++;
}

/* A receive failed, and the provider does not say whether it still owns the buffer. So the buffer is not posted
 * again, unless the provider reports later that it is full, and a new buffer replaces it. */
static void rx_replace(struct ofi_link *ofi, const char *why)
{
    struct ofi_msg *m = &ofi->msg;

    if (m->rx_used < OFI_RX_MOST)
        rx_idle(ofi, &m->rx[m->rx_used++]);
    else
        tern_ofi_rx_fail(ofi, "receiving messages failed too often", why);
}

static void rx_ended(struct ofi_link *ofi, struct ofi_comp_ctx *comp_ctx, const struct ofi_comp *comp)
{
    struct ofi_rx *rx = (struct ofi_rx *)comp_ctx;

    if (comp->error == 0 && (comp->flags & FI_RECV) && comp->len > 0)
        receive(ofi, comp->buffer, comp->len);
    if (comp->flags & FI_MULTI_RECV)
        rx_idle(ofi, rx); /* the buffer is full, and all its messages have been copied */
    else if (comp->error != 0)
        rx_replace(ofi, comp->why);
}

/* Post an idle buffer. */
static ssize_t rx_post(struct ofi_link *ofi, struct ofi_rx *rx)
{
    struct iovec  iov = { rx->bytes, RX_BYTES };
    void         *desc = ofi->msg.rx_mr ? fi_mr_desc(ofi->msg.rx_mr) : NULL;
    struct fi_msg msg = {
        .msg_iov = &iov, .desc = &desc, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &rx->comp_ctx.context
    };
    ssize_t rc;

    rx->comp_ctx.ended = rx_ended;
    rc = fi_recvmsg(ofi->endpoint.ep, &msg, FI_MULTI_RECV | FI_COMPLETION);
    if (rc == 0) {
        rx->idle = false;
        ofi->msg.idle--;
    }
    return rc;
}

void tern_ofi_rx_pump(struct ofi_link *ofi)
{
    struct ofi_msg *m = &ofi->msg;

    for (unsigned i = 0; i < m->rx_used && m->idle > 0; i++)
        if (m->rx[i].idle)
            rx_post(ofi, &m->rx[i]); /* if the provider is busy, the next pump tries again */
    if (m->failed)
        judge_failed(ofi);
    start_fetches(ofi);
}

tern_status tern_ofi_rx_open(struct ofi_link *ofi)
{
    struct ofi_msg *m = &ofi->msg;
    size_t          least = LARGEST;
    void   *memory = mmap(NULL, OFI_RX_MOST * RX_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ssize_t rc;

    if (memory == MAP_FAILED)
        return tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for %u bytes of message buffers",
                              OFI_RX_MOST * RX_BYTES);
    for (unsigned i = 0; i < OFI_RX_MOST; i++)
        m->rx[i] = (struct ofi_rx){ .bytes = (unsigned char *)memory + i * RX_BYTES, .idle = i < OFI_RX };
    m->idle = m->rx_used = OFI_RX;
    if ((rc = fi_setopt(&ofi->endpoint.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least))) != 0)
        return tern_ofi_fail(ofi, rc, "fi_setopt(FI_OPT_MIN_MULTI_RECV)");
    if (ofi->endpoint.mr_local && tern_ofi_register(ofi, memory, OFI_RX_MOST * RX_BYTES, FI_RECV, &m->rx_mr) < 0)
        return TERN_ERR_LINK;
    for (int i = 0; i < OFI_RX; i++)
        if ((rc = rx_post(ofi, &m->rx[i])) != 0 && rc != -FI_EAGAIN)
            return tern_ofi_fail(ofi, rc, "fi_recvmsg");
    return TERN_OK;
}

void tern_ofi_rx_close(struct ofi_link *ofi)
{
    struct ofi_msg *m = &ofi->msg;

    for (unsigned c = 0; c < TERN_CHANNELS; c++)
        msgs_free(m->queue[c].first);
    msgs_free(m->spare);
    tern_ofi_unregister(&m->rx_mr);
    if (m->rx[0].bytes)
        munmap(m->rx[0].bytes, OFI_RX_MOST * RX_BYTES);
}

void tern_ofi_rx_drop(struct ofi_peer *peer)
{
    for (unsigned c = 0; c < TERN_CHANNELS; c++)
        msgs_free(peer->in[c].early);
}

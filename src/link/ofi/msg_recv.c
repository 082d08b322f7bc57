/* msg_recv.c: receiving messages.
 *
 * What comes lands in buffers that take many messages each (FI_MULTI_RECV). It is checked, and copied out at once into
 * letters, so that the buffers are always there; data that were left in the sender's ring are fetched by a read. The
 * letters of a sender are queued in the order in which it sent them, those of all senders by channel.
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
#define SMALL 256u /* bytes of data of letters that are kept for the next message */
#define SPARES 64

/* The link can go on no more. The first reason is kept, and whoever delivers next returns it; the count makes somebody
 * do so. The lock is held. */
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
    /* relaxed: the lock orders. */
    atomic_fetch_add_explicit(&m->queue[TERN_CHANNEL_REQUEST].count, 1, memory_order_relaxed);
    tern_ofi_ring(ofi);
}

static void damage(struct ofi_link *ofi, int from, const char *what)
{
    fail(ofi, TERN_ERR_LINK, "what rank %d sent over the network makes no sense: %s", from, what);
}

static void no_memory(struct ofi_link *ofi, int from)
{
    fail(ofi, TERN_ERR_NOMEM, "link ofi: out of memory while receiving a message from rank %d", from);
}

void tern_ofi_rx_fail(struct ofi_link *ofi, const char *what, const char *why)
{
    fail(ofi, TERN_ERR_LINK, "link ofi, provider %s: %s: %s", ofi->endpoint.info->fabric_attr->prov_name, what, why);
}

/* ---- letters ---- */

/* Bytes of the sender's ring that a message with so much data has. */
static size_t run_of(size_t len)
{
    return len > 0 ? OFI_WIRE_HEAD + len : 0;
}

static struct ofi_rx_msg *letter_new(struct ofi_msg *m, size_t len)
{
    struct ofi_rx_msg *letter = m->spare;

    if (TERN_LIKELY(len <= SMALL && letter)) {
        m->spare = letter->next;
        m->spares--;
        return letter;
    }
    len = len < SMALL ? SMALL : len;
    letter = aligned_alloc(64, tern_base_round_up(sizeof(*letter) + OFI_WIRE_HEAD + len, 64));
    if (letter)
        letter->capacity = len;
    return letter;
}

static void letter_free(struct ofi_msg *m, struct ofi_rx_msg *letter)
{
    if (letter->capacity > SMALL || m->spares == SPARES) {
        free(letter);
        return;
    }
    letter->next = m->spare;
    m->spare = letter;
    m->spares++;
}

static void letters_free(struct ofi_rx_msg *letter)
{
    while (letter) {
        struct ofi_rx_msg *next = letter->next;
        free(letter);
        letter = next;
    }
}

static void enqueue(struct ofi_queue *queue, struct ofi_rx_msg *letter)
{
    letter->next = NULL;
    *queue->last = letter;
    queue->last = &letter->next;
    atomic_fetch_add_explicit(&queue->count, 1, memory_order_relaxed); /* a hint; the lock orders */
}

/* The sender of a letter gets back the room, when there is enough to tell or it waits. */
static void consumed(struct ofi_link *ofi, const struct ofi_rx_msg *letter)
{
    struct ofi_msg        *m = &ofi->msg;
    struct ofi_rx_channel *in = &letter->from->in[letter->channel];
    struct tern_ring_shape shape = m->shape[letter->channel];

    in->consumed++;
    in->bytes -= run_of(letter->len);
    in->uncredited_bytes += run_of(letter->len);
    if (in->credit_requested || in->consumed - in->credited >= shape.cells / 4 ||
        (in->uncredited_bytes > 0 && in->uncredited_bytes >= shape.data / 4)) {
        in->credit_requested = false;
        tern_ofi_tx_due(ofi, letter->from, OFI_DUE_CREDIT);
    }
}

static void dequeue(struct ofi_queue *queue, struct ofi_rx_msg **at)
{
    struct ofi_rx_msg *letter = *at;

    *at = letter->next;
    if (!*at)
        queue->last = at;
    atomic_fetch_sub_explicit(&queue->count, 1, memory_order_relaxed); /* a hint; the lock orders */
}

struct ofi_rx_msg *tern_ofi_rx_next(struct ofi_link *ofi, unsigned channel)
{
    struct ofi_queue  *queue = &ofi->msg.queue[channel];
    struct ofi_rx_msg *letter = queue->first;

    if (!letter)
        return NULL;
    dequeue(queue, &queue->first);
    consumed(ofi, letter); /* before it is handled, so that a reply to it tells the sender */
    return letter;
}

struct ofi_rx_msg *tern_ofi_rx_peek(const struct ofi_link *ofi, unsigned channel)
{
    struct ofi_rx_msg *letter = ofi->msg.queue[channel].first;

    while (letter && letter->from->passed[channel] == ofi->msg.pass[channel])
        letter = letter->next;
    return letter;
}

void tern_ofi_rx_taken(struct ofi_link *ofi, struct ofi_rx_msg *letter)
{
    unsigned            channel = letter->channel == OFI_PUT_NOTIFY ? TERN_CHANNEL_NOTIFY : letter->channel;
    struct ofi_queue   *queue = &ofi->msg.queue[channel];
    struct ofi_rx_msg **at = &queue->first;

    while (*at != letter)
        at = &(*at)->next;
    dequeue(queue, at);
    consumed(ofi, letter);
    letter_free(&ofi->msg, letter);
}

void tern_ofi_rx_done(struct ofi_link *ofi, struct ofi_rx_msg *letter)
{
    letter_free(&ofi->msg, letter);
}

/* ---- order ---- */

/* Whether it is one of those that the sender's ring may hold, and did not come before. */
static bool is_expected(struct tern_ring_shape shape, const struct ofi_rx_channel *in, uint16_t seq, size_t run)
{
    uint16_t ahead = (uint16_t)(seq - (uint16_t)in->received);

    for (const struct ofi_rx_msg *letter = in->early; letter; letter = letter->next)
        if (letter->seq == seq)
            return false;
    return ahead + (in->received - in->consumed) < shape.cells && run <= shape.data - in->bytes;
}

/* Providers keep the order of messages, but may complete them in another; and data that are fetched come later. */
static void file_early(struct ofi_rx_channel *in, struct ofi_rx_msg *letter)
{
    struct ofi_rx_msg **at = &in->early;

    while (*at && (int16_t)((*at)->seq - letter->seq) < 0)
        at = &(*at)->next;
    letter->next = *at;
    *at = letter;
}

/* Queue those whose turn it is. */
static void enqueue_in_order(struct ofi_link *ofi, struct ofi_rx_channel *in)
{
    struct ofi_rx_msg *letter;

    while ((letter = in->early) && letter->whole && letter->seq == (uint16_t)in->received) {
        in->early = letter->next;
        in->received++;
        enqueue(&ofi->msg.queue[letter->channel], letter);
    }
    tern_ofi_ring(ofi);
}

/* ---- data that are fetched ---- */

/* A fetch has failed. The sender may have died a moment ago, and the launcher tells of that within OFI_NOTICE_NS; only
 * a sender that is alive then makes this an error of the link. What a dead sender had not delivered never becomes
 * complete. */
static void pull_failed(struct ofi_link *ofi, struct ofi_rx_msg *letter, const char *why)
{
    snprintf((char *)letter->bytes + OFI_WIRE_HEAD, letter->len, "%.100s", why); /* in the place of the data */
    letter->judge_at = tern_base_now() + OFI_NOTICE_NS;
    letter->next_fetch = ofi->msg.failed;
    ofi->msg.failed = letter;
    tern_ofi_ring(ofi); /* a thread that sleeps learns for how long it may */
}

/* Forget failed fetches from senders that are gone, and give up when the sender of another is alive after all. */
static void judge_failed(struct ofi_link *ofi)
{
    struct ofi_rx_msg **at = &ofi->msg.failed, *letter;
    int64_t             now = tern_base_now();

    while ((letter = *at) != NULL) {
        if (!tern_ofi_gone(ofi, letter->from->rank) && now < letter->judge_at) {
            at = &letter->next_fetch;
            continue;
        }
        *at = letter->next_fetch;
        if (!tern_ofi_gone(ofi, letter->from->rank))
            fail(ofi, TERN_ERR_LINK, "link ofi: could not read the data of a message from rank %d: %s",
                 letter->from->rank, (const char *)letter->bytes + OFI_WIRE_HEAD);
    }
}

int64_t tern_ofi_rx_due(const struct ofi_link *ofi)
{
    int64_t first = OFI_NEVER;

    for (const struct ofi_rx_msg *letter = ofi->msg.failed; letter; letter = letter->next_fetch)
        first = letter->judge_at < first ? letter->judge_at : first;
    return first;
}

static void pull_ended(struct ofi_link *ofi, struct ofi_comp_ctx *token, const struct ofi_comp *news)
{
    struct ofi_rx_msg *letter = (struct ofi_rx_msg *)token;

    if (letter->cached)
        tern_ofi_mr_cache_put(ofi, letter->cached);
    letter->cached = NULL;
    if (news->error == 0) {
        letter->whole = true;
        enqueue_in_order(ofi, &letter->from->in[letter->channel]);
    } else {
        pull_failed(ofi, letter, tern_ofi_why(ofi, news->error));
    }
}

/* Begin to fetch; false: later. The data of a sender that is gone never come. */
static bool pull_start(struct ofi_link *ofi, struct ofi_rx_msg *letter)
{
    void          *data = letter->bytes + OFI_WIRE_HEAD;
    struct fid_mr *mr = NULL;
    tern_status    st;
    ssize_t        rc;

    if (tern_ofi_gone(ofi, letter->from->rank))
        return true;
    st = tern_ofi_address(ofi, letter->from);
    if (st == TERN_AGAIN)
        return false;
    if (st < 0) {
        pull_failed(ofi, letter, tern_base_detail());
        return true;
    }
    if (ofi->endpoint.mr_local && !(mr = tern_ofi_mr_cache_get(ofi, data, letter->len, &letter->cached)))
        return false;
    letter->comp_ctx.ended = pull_ended;
    rc = fi_read(ofi->endpoint.ep, data, letter->len, mr ? fi_mr_desc(mr) : NULL, letter->from->addr,
                 letter->remote.addr, letter->remote.key, &letter->comp_ctx.context);
    if (rc == 0)
        return true;
    if (letter->cached)
        tern_ofi_mr_cache_put(ofi, letter->cached);
    letter->cached = NULL;
    if (rc == -FI_EAGAIN)
        return false;
    pull_failed(ofi, letter, tern_ofi_why(ofi, (int)-rc));
    return true;
}

static void pull(struct ofi_link *ofi, struct ofi_rx_msg *letter)
{
    struct ofi_rx_msg **end = &ofi->msg.fetches;

    if (*end == NULL && pull_start(ofi, letter))
        return;
    while (*end)
        end = &(*end)->next_fetch;
    *end = letter;
    letter->next_fetch = NULL;
}

/* Start the fetches that the provider has refused until now. A sender that cannot be reached holds up its own messages
 * only. */
static void start_pulls(struct ofi_link *ofi)
{
    struct ofi_rx_msg    **at = &ofi->msg.fetches, *letter;
    const struct ofi_peer *refused = NULL;

    while ((letter = *at) != NULL) {
        struct ofi_rx_msg *next = letter->next_fetch;

        *at = next; /* pull_start() may put the letter on the list of those that have failed */
        if (letter->from != refused && pull_start(ofi, letter))
            continue;
        refused = letter->from;
        letter->next_fetch = next;
        *at = letter;
        at = &letter->next_fetch;
    }
}

/* ---- what comes ---- */

/* A message for a handler. */
static void take_message(struct ofi_link *ofi, struct ofi_peer *peer, const struct ofi_decoded *mail, const void *bytes)
{
    struct ofi_msg        *m = &ofi->msg;
    struct ofi_rx_channel *in = &peer->in[mail->channel];
    bool                   far = mail->remote.len > 0;
    struct ofi_rx_msg     *letter;

    if (mail->len > m->shape[mail->channel].data ||
        !is_expected(m->shape[mail->channel], in, mail->header.seq, run_of(mail->len))) {
        damage(ofi, peer->rank,
               "more messages than its queue holds, or some are missing; the connection to it may have "
               "broken");
        return;
    }
    if (!(letter = letter_new(m, mail->len))) {
        no_memory(ofi, peer->rank);
        return;
    }
    letter->from = peer;
    letter->remote = mail->remote;
    letter->cached = NULL;
    letter->len = mail->len;
    letter->seq = mail->header.seq;
    letter->channel = (uint8_t)mail->channel;
    letter->whole = !far;
    memcpy(letter->bytes, bytes, OFI_WIRE_HEAD + (far ? 0 : mail->len));
    in->bytes += run_of(mail->len);
    file_early(in, letter);
    if (far)
        pull(ofi, letter);
    else
        enqueue_in_order(ofi, in);
}

/* The sender waits: tell it how far we are as soon as there is something to tell. */
static void take_want(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel)
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

/* The same from the header of a message, which has the lower half of the number. */
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

static void take_mail(struct ofi_link *ofi, const void *bytes, size_t len)
{
    struct ofi_decoded mail;
    struct ofi_peer   *peer;

    if (!tern_ofi_wire_decode(bytes, len, &mail) || mail.from >= (uint32_t)ofi->ranks ||
        mail.header.token != tern_ofi_wire_token(ofi->boot->segment->job, mail.from, (uint32_t)ofi->rank)) {
        drop_stranger(ofi, len);
        return;
    }
    if (!(peer = tern_ofi_peer(ofi, (int)mail.from))) {
        no_memory(ofi, (int)mail.from);
        return;
    }
    switch (mail.kind) {
    case OFI_CREDIT_REQUEST: take_want(ofi, peer, mail.header.seq); break;
    case OFI_CREDIT:
        for (unsigned c = 0; c < OFI_COUNTED; c++)
            take_ack(ofi, peer, c, mail.credit.consumed[c]);
        break;
    case OFI_RPC:
    case OFI_FETCH_RPC:
        if (!tern_ofi_rpc_serve(ofi, peer, &mail, (const unsigned char *)bytes + OFI_WIRE_RPC))
            damage(ofi, peer->rank, "more errands than it has rooms, or there is no memory for them");
        break;
    case OFI_RPC_RESPONSE:
        tern_ofi_rpc_response(ofi, peer, &mail, (const unsigned char *)bytes + OFI_WIRE_RPC_RESPONSE);
        break;
    default:
        take_message(ofi, peer, &mail, bytes);
        take_short_ack(ofi, peer, tern_ofi_wire_partner(mail.channel), mail.header.ack);
    }
}

/* A note that came with a put, whose bytes are in place. Nothing shows that it is of this job but that its source may
 * send it. */
void tern_ofi_rx_put_notify(struct ofi_link *ofi, uint64_t data)
{
    struct ofi_msg        *m = &ofi->msg;
    struct ofi_put_notify  written;
    struct ofi_peer       *peer;
    struct ofi_rx_channel *in;
    struct ofi_rx_msg     *letter;

    if (!tern_ofi_wire_unpack((uint32_t)ofi->ranks, data, &written)) {
        drop_stranger(ofi, sizeof(data));
        return;
    }
    if (!(peer = tern_ofi_peer(ofi, (int)written.from)) || !(letter = letter_new(m, 0))) {
        no_memory(ofi, (int)written.from);
        return;
    }
    in = &peer->in[OFI_PUT_NOTIFY];
    if (in->received - in->consumed >= m->shape[OFI_PUT_NOTIFY].cells) {
        letter_free(m, letter);
        drop_stranger(ofi, sizeof(data));
        return;
    }
    letter->from = peer;
    letter->len = 0;
    letter->channel = OFI_PUT_NOTIFY;
    ofi->up->notify_head(letter->bytes + sizeof(struct ofi_header), tern_link_region_of(ofi->rank, written.region),
                         written.tag, written.bytes);
    in->received++;
    enqueue(&m->queue[TERN_CHANNEL_NOTIFY], letter);
    tern_ofi_ring(ofi);
}

/* ---- buffers ---- */

static void rx_idle(struct ofi_link *ofi, struct ofi_rx *rx)
{
    rx->idle = true;
    ofi->msg.idle++;
}

/* A receive failed, and the provider does not say whether it still has the buffer. So the buffer is not posted again,
 * unless the provider says later that it is full, and another takes its place. */
static void rx_replace(struct ofi_link *ofi, const char *why)
{
    struct ofi_msg *m = &ofi->msg;

    if (m->rx_used < OFI_RX_MOST)
        rx_idle(ofi, &m->rx[m->rx_used++]);
    else
        tern_ofi_rx_fail(ofi, "receiving messages failed too often", why);
}

static void rx_ended(struct ofi_link *ofi, struct ofi_comp_ctx *token, const struct ofi_comp *news)
{
    struct ofi_rx *rx = (struct ofi_rx *)token;

    if (news->error == 0 && (news->flags & FI_RECV) && news->len > 0)
        take_mail(ofi, news->buffer, news->len);
    if (news->flags & FI_MULTI_RECV)
        rx_idle(ofi, rx); /* it is full; everything has been copied out */
    else if (news->error != 0)
        rx_replace(ofi, news->why);
}

/* Give an idle buffer to the provider. */
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
            rx_post(ofi, &m->rx[i]); /* where there is no room, the next pump tries again */
    if (m->failed)
        judge_failed(ofi);
    start_pulls(ofi);
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
        letters_free(m->queue[c].first);
    letters_free(m->spare);
    tern_ofi_unregister(&m->rx_mr);
    if (m->rx[0].bytes)
        munmap(m->rx[0].bytes, OFI_RX_MOST * RX_BYTES);
}

void tern_ofi_rx_drop(struct ofi_peer *peer)
{
    for (unsigned c = 0; c < TERN_CHANNELS; c++)
        letters_free(peer->in[c].early);
}

/* receive.c: reading frames from a connection, and executing them.
 *
 * Bytes are read into a buffer. The data of a frame that are in the buffer are copied to their destination; the rest of
 * the data is read to the destination directly, together with the head of the next frame. After a frame with much data,
 * no more than a head is read in advance, so that nearly all data of a sequence of large transfers are read directly.
 *
 * A frame that no rank of this job sends in this state of the connection closes the connection, with a text that names
 * the sender. A WRITE or READ that does not fit the memory of this rank is refused, and its data are dropped. The
 * remaining WRITEs of the same put are refused, too: the last one may announce the data of all of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/log.h"
#include "base/sanitize.h"
#include "link/tcp/tcp.h"

#define ROUNDS 4        /* system calls for one connection in one poll */
#define HEADS 256u      /* bytes that are read in advance after much data */
#define MUCH 4096u      /* data that make the next read short */
#define DROP (1u << 20) /* bytes that are dropped with one system call */

/* ---- frames ---- */

static bool give_up(struct tcp_link *tcp, struct tcp_conn *conn, int error, const char *text)
{
    char what[64];

    snprintf(what, sizeof(what), "the connection to rank %d is closed", conn->peer->rank);
    tern_net_rx_fail(&tcp->net, tern_net_status(error), what, text);
    tern_tcp_lose(tcp, conn, error, text);
    return false;
}

/* Close the connection because the peer has sent a frame that no rank of this job sends, and record an error of the
 * link, as for an invalid message. Returns false. */
static bool damaged(struct tcp_link *tcp, struct tcp_conn *conn, const char *text)
{
    return give_up(tcp, conn, EPROTO, text);
}

/* ---- puts of which a WRITE was refused ----
 *
 * conn->refused has a bit for each number of a put. A bit is cleared by the first WRITE of the next put with the
 * number, because the sender may have given up the put before its last WRITE. */

static bool is_put_refused(const struct tcp_conn *conn, uint64_t put)
{
    return TERN_UNLIKELY(put / 8 < conn->refused_bytes) && conn->refused[put / 8] & 1u << put % 8;
}

/* Remember that a WRITE of the put was refused. Returns false if there is no memory for that. */
static bool refuse_put(struct tcp_conn *conn, uint64_t put)
{
    if (put / 8 >= conn->refused_bytes) {
        size_t         bytes = tern_base_round_up(put / 8 + 1, 64);
        unsigned char *wider = realloc(conn->refused, bytes);

        if (!wider)
            return false;
        memset(wider + conn->refused_bytes, 0, bytes - conn->refused_bytes);
        conn->refused = wider;
        conn->refused_bytes = bytes;
    }
    conn->refused[put / 8] |= (unsigned char)(1u << put % 8);
    return true;
}

/* Prepare for the data of a WRITE. */
static void begin_write(struct tcp_link *tcp, struct tcp_conn *conn)
{
    struct tcp_body         *body = &conn->body;
    const struct tcp_remote *remote = &body->frame.remote;
    const struct tcp_mem    *mem = tern_tcp_mem_find(tcp, remote->key, NET_REMOTE_WRITE);
    uint64_t                 put = body->frame.head.number & ~TCP_WIRE_CONTINUES;

    if (is_put_refused(conn, put) && !(body->frame.head.number & TCP_WIRE_CONTINUES))
        conn->refused[put / 8] &= (unsigned char)~(1u << put % 8);
    body->refused = !mem || !tern_base_covers(mem->size, remote->offset, body->frame.data) || is_put_refused(conn, put);
    body->to = body->refused ? NULL : mem->base + remote->offset;
    tern_base_order_after_peers();
}

/* Prepare for the data that the oldest READ asked for. */
static bool begin_data(struct tcp_link *tcp, struct tcp_conn *conn)
{
    struct tern_list *node = conn->unread.next;
    struct tcp_wr    *wr = node == &conn->unread ? NULL : TERN_LIST_ITEM(node, struct tcp_wr, node);

    if (!wr || wr->len != conn->body.frame.data)
        return damaged(tcp, conn, "it sent data that nobody had asked for");
    tern_base_list_remove(&wr->node);
    conn->body.wr = wr;
    conn->body.to = wr->local;
    return true;
}

/* Serve the RPC behind the data of a WRITE. Returns false if it is refused. */
static bool serve_rpc(struct tcp_link *tcp, const struct tcp_rpc *rpc)
{
    const struct tern_link_exposed *entry = tern_link_exposed_find(&tcp->net.exposed, rpc->region);
    unsigned char                   response[TERN_LINK_SMALL];
    size_t                          len = 0;

    return entry && tcp->net.up->serve(&entry->mem, rpc->request, rpc->len, response, 0, &len) == TERN_OK;
}

static void end_write(struct tcp_link *tcp, struct tcp_conn *conn)
{
    struct tcp_body *body = &conn->body;
    struct tcp_head  refused = { .kind = TCP_REFUSED_WRITE, .number = body->frame.head.number & ~TCP_WIRE_CONTINUES };

    if (body->frame.head.kind == TCP_WRITE_RPC && !body->refused)
        body->refused = !serve_rpc(tcp, &body->frame.rpc);
    tern_base_order_before_peers();
    conn->writes_done++;
    if (body->refused) {
        if (!refuse_put(conn, refused.number)) {
            give_up(tcp, conn, ENOMEM, "out of memory while refusing a put");
            return;
        }
        if (tern_tcp_queue(conn, &refused, sizeof(refused), NULL, 0, true) != 0) {
            damaged(tcp, conn, "it writes to no memory of this rank, again and again");
            return;
        }
        if (body->frame.head.kind == TCP_WRITE_NOTIFY)
            tern_net_rx_notify_refused(&tcp->net, conn->peer);
    } else if (body->frame.head.kind == TCP_WRITE_NOTIFY) {
        const struct tcp_notify *notify = &body->frame.notify;

        if (!tern_net_rx_notified(&tcp->net, &(struct net_put_notify){ .from = (uint32_t)conn->peer->rank,
                                                                       .tag = notify->tag,
                                                                       .region = notify->region,
                                                                       .bytes = notify->bytes })) {
            damaged(tcp, conn, "it sent more notifications than its queue holds");
            return;
        }
    } else {
        tern_boot_written(&tcp->net.boot->segment->slot[tcp->net.rank]); /* a thread may wait for the value */
    }
    tern_tcp_push(tcp, conn);
}

/* Send the data that a READ requests. Small data are copied now, so that a WRITE behind the READ does not change them.
 * Returns false if the connection is closed. */
static bool answer_read(struct tcp_link *tcp, struct tcp_conn *conn, const struct tcp_decoded *frame)
{
    const struct tcp_mem *mem = tern_tcp_mem_find(tcp, frame->remote.key, NET_REMOTE_READ);
    bool                  sound = mem && tern_base_covers(mem->size, frame->remote.offset, frame->head.len);
    struct tcp_head       head = { .kind = sound ? TCP_DATA : TCP_REFUSED_READ, .len = sound ? frame->head.len : 0 };
    struct tcp_segment    reply = { .len = head.len, .reply = true };
    bool                  small = sound && head.len <= TCP_COPIED, queued;

    if (small) {
        tern_base_copy_for_peer_begin();
        queued = tern_tcp_queue(conn, &head, sizeof(head), mem->base + frame->remote.offset, head.len, false) == 0;
        tern_base_copy_for_peer_end();
        if (queued)
            return true;
    }
    if (conn->replies == TCP_READS || !tern_tcp_has_space(conn, sizeof(head), 4))
        return damaged(tcp, conn, "it reads more at a time than it may");
    tern_tcp_queue(conn, &head, sizeof(head), NULL, 0, true); /* there is space */
    if (!sound)
        return true;
    reply.bytes = mem->base + frame->remote.offset;
    if (small && !(reply.heap = malloc(head.len)))
        return give_up(tcp, conn, ENOMEM, "out of memory while answering a get");
    if (small) {
        tern_base_copy_for_peer_begin();
        reply.bytes = memcpy(reply.heap, reply.bytes, head.len);
        tern_base_copy_for_peer_end();
    }
    tern_tcp_refer(conn, &reply);
    conn->replies++;
    return true;
}

/* Complete the WRITEs that the peer has executed. */
static bool take_ack(struct tcp_link *tcp, struct tcp_conn *conn, uint64_t number)
{
    if (number < conn->writes_acked || number > conn->writes_sent)
        return damaged(tcp, conn, "it acknowledges puts that were not sent");
    conn->writes_acked = number;
    while (!tern_base_list_empty(&conn->unacked)) {
        struct tcp_wr *wr = TERN_LIST_ITEM(conn->unacked.next, struct tcp_wr, node);

        if (wr->number > number)
            break;
        if (wr->unsent)
            return damaged(tcp, conn, "it acknowledges puts that were not sent");
        tern_base_list_remove(&wr->node);
        tern_tcp_wr_done(tcp, wr, wr->error);
    }
    return true;
}

static bool take_refused_read(struct tcp_link *tcp, struct tcp_conn *conn)
{
    struct tern_list *node = tern_base_list_pop(&conn->unread);

    if (!node)
        return damaged(tcp, conn, "it refuses a get that was not sent");
    conn->reads--;
    tern_tcp_wr_done(tcp, TERN_LIST_ITEM(node, struct tcp_wr, node), EREMOTEIO);
    return true;
}

static bool take_refused_write(struct tcp_link *tcp, struct tcp_conn *conn, uint64_t index)
{
    struct tcp_wr *wr = index < tcp->wrs ? tcp->wr[index] : NULL;

    if (!wr || wr->get || wr->ctx.peer != conn->peer)
        return damaged(tcp, conn, "it refuses a put that was not sent");
    wr->error = EREMOTEIO;
    if (wr->op)
        tern_net_op_fail(wr->op, EREMOTEIO); /* its remaining pieces would be refused, too, and are not sent */
    return true;
}

/* Begin a frame whose data must be received. Returns false if the connection is closed. */
static bool begin(struct tcp_link *tcp, struct tcp_conn *conn)
{
    struct tcp_body *body = &conn->body;

    body->left = body->frame.data;
    body->wr = NULL;
    body->refused = false;
    if (body->frame.head.kind == TCP_DATA)
        return begin_data(tcp, conn);
    begin_write(tcp, conn);
    return true;
}

/* All data of a frame have been received. */
static void end(struct tcp_link *tcp, struct tcp_conn *conn)
{
    struct tcp_wr *wr = conn->body.wr;

    conn->bulk = conn->body.frame.data > MUCH;
    if (conn->body.frame.head.kind != TCP_DATA) {
        end_write(tcp, conn);
        return;
    }
    conn->body.wr = NULL;
    conn->reads--;
    tern_tcp_wr_done(tcp, wr, conn->body.refused ? EFAULT : 0);
}

/* Execute a frame without data. Returns false if the connection is closed. */
static bool execute(struct tcp_link *tcp, struct tcp_conn *conn, const struct tcp_decoded *frame)
{
    switch (frame->head.kind) {
    case TCP_READ:
        if (!answer_read(tcp, conn, frame))
            return false;
        tern_tcp_push(tcp, conn);
        return true;
    case TCP_REFUSED_READ: return take_refused_read(tcp, conn);
    case TCP_ACK: return take_ack(tcp, conn, frame->head.number);
    default: return take_refused_write(tcp, conn, frame->head.number);
    }
}

/* ---- the buffer ---- */

/* Move received bytes of the current frame from the buffer to their place. */
static void move_data(struct tcp_conn *conn)
{
    struct tcp_body *body = &conn->body;
    size_t           have = conn->in_to - conn->in_from, part = have < body->left ? have : body->left;

    if (body->to) {
        tern_base_copy_for_peer_begin();
        memcpy(body->to, conn->in + conn->in_from, part);
        tern_base_copy_for_peer_end();
        body->to += part;
    }
    conn->in_from += part;
    body->left -= part;
}

/* Execute the frames in the buffer, as far as they are complete. Returns their number. */
static unsigned handle(struct tcp_link *tcp, struct tcp_conn *conn)
{
    unsigned count = 0;

    while (conn->state == TCP_UP && conn->in_from < conn->in_to) {
        struct tcp_decoded    *frame = &conn->body.frame;
        const unsigned char   *at = conn->in + conn->in_from;
        size_t                 have = conn->in_to - conn->in_from;
        enum tcp_decode_result result = tern_tcp_wire_decode(at, have, frame);

        if (result == TCP_INVALID)
            damaged(tcp, conn, "it sent an invalid frame");
        if (result != TCP_DECODED || (frame->head.kind == TCP_MESSAGE && have - frame->bytes < frame->data))
            break;
        count++;
        conn->in_from += frame->bytes;
        if (frame->head.kind == TCP_MESSAGE) {
            conn->in_from += frame->data;
            conn->bulk = false;
            if (!tern_net_receive(&tcp->net, conn->peer, at + frame->bytes, frame->data))
                damaged(tcp, conn, "it sent a message that is not its own");
            tern_net_ring(&tcp->net); /* also for credits, for which a thread may wait until all is flushed */
        } else if (frame->data == 0) {
            execute(tcp, conn, frame);
        } else if (begin(tcp, conn)) {
            move_data(conn);
            if (conn->body.left > 0)
                break;
            end(tcp, conn);
        }
    }
    return count;
}

/* Move the incomplete frame at the end of the buffer to its start. */
static void compact(struct tcp_conn *conn)
{
    if (conn->in_from > 0 && conn->in_from < conn->in_to)
        memmove(conn->in, conn->in + conn->in_from, conn->in_to - conn->in_from);
    conn->in_to -= conn->in_from;
    conn->in_from = 0;
}

/* ---- reading ---- */

/* Read the data of the current frame, and what follows. The buffer is empty. */
static ssize_t read_data(struct tcp_conn *conn)
{
    struct tcp_body *body = &conn->body;
    struct iovec     iov[2] = { { body->to, body->left }, { conn->in, HEADS } };
    ssize_t          got;
    size_t           part;

    if (!body->to) {
        got = recv(conn->fd, NULL, body->left < DROP ? body->left : DROP, MSG_DONTWAIT | MSG_TRUNC);
        body->left -= got > 0 ? (size_t)got : 0;
        return got;
    }
    got = readv(conn->fd, iov, 2);
    if (got < 0 && errno == EFAULT) { /* the program has unmapped the memory */
        body->to = NULL;
        body->refused = true;
        errno = EINTR;
    }
    if (got <= 0)
        return got;
    part = (size_t)got < body->left ? (size_t)got : body->left;
    body->to += part;
    body->left -= part;
    conn->in_to = (size_t)got - part;
    return got;
}

/* Read once. Returns false if nothing more has arrived. */
static bool read_some(struct tcp_link *tcp, struct tcp_conn *conn, unsigned *count)
{
    bool    data = conn->body.left > 0;
    size_t  most = (conn->bulk && conn->in_to < HEADS / 2 ? HEADS : TCP_IN) - conn->in_to;
    ssize_t got = data ? read_data(conn) : recv(conn->fd, conn->in + conn->in_to, most, MSG_DONTWAIT);

    if (got == 0) {
        tern_tcp_lose(tcp, conn, conn->mute ? conn->mute : ECONNRESET, conn->mute ? NULL : "the peer has closed it");
        return false;
    }
    if (got < 0) {
        if (errno != EAGAIN && errno != EINTR)
            tern_tcp_lose(tcp, conn, errno, NULL);
        return errno == EINTR && conn->state == TCP_UP;
    }
    ++*count;
    if (!data)
        conn->in_to += (size_t)got;
    else if (conn->body.left == 0)
        end(tcp, conn);
    if (conn->state == TCP_UP && conn->body.left == 0) {
        *count += handle(tcp, conn);
        compact(conn);
    }
    return conn->state == TCP_UP && (data || (size_t)got == most);
}

unsigned tern_tcp_receive(struct tcp_link *tcp, struct tcp_conn *conn)
{
    unsigned count = 0;

    for (int round = 0; round < ROUNDS && read_some(tcp, conn, &count); round++)
        ;
    return count;
}

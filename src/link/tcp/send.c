/* send.c: the queue of outgoing bytes of a connection.
 *
 * The queue is a sequence of segments. Heads of frames, messages and the data of small transfers are copied into a
 * ring; neighbouring copies are one segment. The data of large transfers stay where they are. One system call sends as
 * many segments as possible.
 *
 * A frame that a thread of the program queues is sent at once. Frames that are queued while the sockets are polled are
 * sent together at the end of the poll, so that several acknowledgements and responses need one system call.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>

#include "base/sanitize.h"
#include "link/tcp/tcp.h"

#define VECTOR 64             /* segments that are sent with one system call */
#define SOON (64u << 10)      /* an ACK waits for the next WRITE if so few of its bytes are missing */
#define MANY 4u               /* an ACK does not wait if it acknowledges so many WRITEs */
#define TOGETHER (256u << 10) /* a put does not wait for others if so many bytes are queued */
#define BUDGET (1u << 20)     /* bytes after which a flush leaves the rest to the next poll */

static struct tcp_segment *segment_at(struct tcp_conn *conn, uint64_t number)
{
    return &conn->segment[number & (TCP_SEGMENTS - 1)];
}

bool tern_tcp_has_space(const struct tcp_conn *conn, size_t bytes, unsigned segments)
{
    return TCP_OUT - (conn->out_tail - conn->out_head) >= bytes &&
           TCP_SEGMENTS - (conn->last - conn->first) >= segments;
}

void tern_tcp_refer(struct tcp_conn *conn, const struct tcp_segment *segment)
{
    *segment_at(conn, conn->last++) = *segment;
    conn->queued += segment->len;
}

/* Copy bytes to the end of the ring. There is space for them. */
static void copy(struct tcp_conn *conn, const unsigned char *bytes, size_t len)
{
    while (len > 0) {
        size_t              at = conn->out_tail & (TCP_OUT - 1), part = len < TCP_OUT - at ? len : TCP_OUT - at;
        struct tcp_segment *last = conn->last > conn->first ? segment_at(conn, conn->last - 1) : NULL;

        memcpy(conn->out + at, bytes, part);
        if (last && last->copy && last->bytes + last->len == conn->out + at)
            last->len += part, conn->queued += part;
        else
            tern_tcp_refer(conn, &(struct tcp_segment){ .bytes = conn->out + at, .len = part, .copy = true });
        conn->out_tail += part;
        bytes += part;
        len -= part;
    }
}

int tern_tcp_queue(struct tcp_conn *conn, const void *head, size_t head_len, const void *data, size_t len, bool urgent)
{
    if (!tern_tcp_has_space(conn, head_len + len + (urgent ? 0 : TCP_SPARE_OUT),
                            3 + (urgent ? 0 : TCP_SPARE_SEGMENTS))) /* the ring may wrap around */
        return -EAGAIN;
    copy(conn, head, head_len);
    if (len > 0)
        copy(conn, data, len);
    return 0;
}

/* Queue an ACK, unless the peer knows how many of its WRITEs are executed. If a short rest of the next WRITE is about
 * to arrive, one ACK serves for both. The queue has one ACK at most, so that ACKs leave space for other answers. */
static void queue_ack(struct tcp_conn *conn)
{
    struct tcp_head head = { .kind = TCP_ACK, .number = conn->writes_done };
    bool            soon = conn->body.left > 0 && conn->body.left <= SOON && !conn->body.wr;

    if (conn->writes_told == conn->writes_done || conn->ack_end > conn->out_head ||
        (soon && conn->writes_done - conn->writes_told < MANY) ||
        tern_tcp_queue(conn, &head, sizeof(head), NULL, 0, true) != 0)
        return;
    conn->writes_told = conn->writes_done;
    conn->ack_end = conn->out_tail;
}

/* Remove the first len bytes, which are sent, from the queue. */
static void consume(struct tcp_link *tcp, struct tcp_conn *conn, size_t len)
{
    conn->queued -= len;
    while (len > 0 || (conn->first < conn->last && segment_at(conn, conn->first)->len == 0)) {
        struct tcp_segment *segment = segment_at(conn, conn->first), done;
        size_t              part = len < segment->len ? len : segment->len;

        segment->bytes += part;
        segment->len -= part;
        conn->out_head += segment->copy ? part : 0;
        len -= part;
        if (segment->len > 0)
            return;
        done = *segment;
        conn->first++;
        conn->replies -= done.reply;
        free(done.heap);
        if (done.wr)
            tern_tcp_wr_sent(tcp, done.wr); /* may append segments */
    }
}

/* Ask for an event when the kernel accepts bytes again, or no longer. */
static void set_blocked(struct tcp_link *tcp, struct tcp_conn *conn, bool blocked)
{
    if (conn->blocked == blocked)
        return;
    conn->blocked = blocked;
    tern_tcp_watch(tcp, conn->fd, conn, EPOLLIN | (blocked ? (uint32_t)EPOLLOUT : 0u), true);
}

/* Send as many segments as one system call can. Returns the number of bytes, or -1 with errno. */
static ssize_t send_segments(struct tcp_conn *conn)
{
    struct iovec  iov[VECTOR];
    struct msghdr msg = { .msg_iov = iov };
    size_t        len = 0;

    if (conn->last - conn->first == 1)
        return send(conn->fd, segment_at(conn, conn->first)->bytes, segment_at(conn, conn->first)->len,
                    MSG_DONTWAIT | MSG_NOSIGNAL);
    for (uint64_t i = conn->first; i < conn->last && msg.msg_iovlen < VECTOR && len < BUDGET; i++, msg.msg_iovlen++) {
        len += segment_at(conn, i)->len;
        iov[msg.msg_iovlen] = (struct iovec){ (void *)(uintptr_t)segment_at(conn, i)->bytes, segment_at(conn, i)->len };
    }
    return sendmsg(conn->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static ssize_t send_some(struct tcp_conn *conn)
{
    bool    reply = conn->replies > 0; /* some segments may be memory that the peer reads */
    ssize_t sent;

    if (reply)
        tern_base_copy_for_peer_begin();
    sent = send_segments(conn);
    if (reply)
        tern_base_copy_for_peer_end();
    return sent;
}

void tern_tcp_flush(struct tcp_link *tcp, struct tcp_conn *conn)
{
    ssize_t sent;
    size_t  total = 0;

    if (conn->flushing || conn->mute || conn->state != TCP_UP)
        return;
    conn->flushing = true;
    tern_base_list_remove(&conn->dirty);
    do {
        queue_ack(conn);
        sent = conn->first < conn->last ? send_some(conn) : 0;
        if (sent > 0)
            consume(tcp, conn, (size_t)sent);
        total += sent > 0 ? (size_t)sent : 0;
        /* An empty queue causes no later flush, so that an ACK that is due must be queued now, despite the budget. */
    } while (sent > 0 && conn->state == TCP_UP && (total < BUDGET || conn->first == conn->last));
    conn->flushing = false;
    tcp->bytes_sent += total;
    if (conn->state != TCP_UP)
        return; /* the end of a work request has closed the connection */
    if (conn->out_head == conn->out_tail)
        conn->out_head = conn->out_tail = conn->ack_end = 0; /* stay in the memory that is in the cache */
    if (sent >= 0 || errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ENOMEM)
        set_blocked(tcp, conn, conn->first < conn->last);
    else if (errno == EFAULT)
        tern_tcp_lose(tcp, conn, EIO, "memory that is being sent was unmapped");
    else
        conn->mute = errno;
}

static void push_later(struct tcp_link *tcp, struct tcp_conn *conn)
{
    if (tern_base_list_empty(&conn->dirty))
        tern_base_list_append(&tcp->dirty, &conn->dirty);
}

void tern_tcp_push(struct tcp_link *tcp, struct tcp_conn *conn)
{
    if (conn->blocked || conn->flushing)
        return; /* sent when the kernel accepts bytes again, or by the flush that is running */
    if (tcp->draining)
        push_later(tcp, conn);
    else
        tern_tcp_flush(tcp, conn);
}

/* The acknowledgement for which the put waits causes a poll, by the program or by the progress thread. */
void tern_tcp_push_put(struct tcp_link *tcp, struct tcp_conn *conn)
{
    if (conn->writes_sent - conn->writes_acked > 1 && conn->queued < TOGETHER && !conn->blocked && !conn->flushing)
        push_later(tcp, conn);
    else
        tern_tcp_push(tcp, conn);
}

/* Return whether a segment refers to the memory in question. */
static bool refers(const struct tcp_segment *segment, const struct tcp_wr *wr, const struct tcp_mem *mem)
{
    if (segment->copy || segment->heap)
        return false;
    return wr ? segment->wr == wr
              : segment->reply && segment->bytes >= mem->base && segment->bytes < mem->base + mem->size;
}

void tern_tcp_detach(struct tcp_link *tcp, struct tcp_conn *conn, const struct tcp_wr *wr, const struct tcp_mem *mem)
{
    for (uint64_t i = conn->first; i < conn->last; i++) {
        struct tcp_segment *segment = segment_at(conn, i);

        if (!refers(segment, wr, mem))
            continue;
        if (!(segment->heap = malloc(segment->len))) {
            tern_tcp_lose(tcp, conn, ENOMEM, NULL);
            return;
        }
        segment->bytes = memcpy(segment->heap, segment->bytes, segment->len);
    }
}

/* tcp.h: the link between nodes over TCP sockets.
 *
 * Channels, RPCs, lanes and the retry queue come from link/net. This folder contains the connections, one for each pair
 * of ranks that communicate (address.c, connect.c, keepalive.c), the queue of outgoing frames (send.c), the receiver of
 * frames (receive.c), puts and gets (rma.c), the memory that peers may access (region.c), and the thread that serves
 * the sockets while the program computes (progress.c). wire.h describes the frames.
 *
 * Every request of a peer is executed by the thread that reads its frame: a thread that waits in Tern, or the progress
 * thread, which sleeps while nothing happens. The data of large transfers pass between the socket and the program's
 * memory without a copy.
 *
 * The lock of link/net protects everything here.
 */
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "boot/handshake.h"
#include "link/net/net.h"
#include "link/tcp/wire.h"

#define TCP_ADDRESSES 8         /* published addresses of a rank, at most */
#define TCP_SEGMENTS 256u       /* parts of the queue of outgoing bytes; a power of two */
#define TCP_OUT (64u << 10)     /* size of the ring of copied bytes of the queue; a power of two */
#define TCP_IN (32u << 10)      /* bytes that are received together, at most */
#define TCP_COPIED 4096u        /* transfers up to this many bytes are copied when they are sent */
#define TCP_READS 64u           /* unanswered READs of one connection, at most */
#define TCP_SPARE_OUT 8192u     /* bytes of TCP_OUT that are reserved for frames that answer others */
#define TCP_SPARE_SEGMENTS 160u /* segments that are reserved for such frames: two for each READ, and some more */

struct tcp_link;
struct tcp_conn;

/* A work request: a transfer, or a piece of one. ctx has the functions of rma.c; for a verb of link/net it is not
 * posted, and owner is the context of the verb. */
struct tcp_wr {
    struct net_ctx       ctx;    /* must be first; in the retry queue */
    struct tern_list     node;   /* on the list of free work requests, of its connection, or of sent messages */
    struct net_ctx      *owner;  /* for a verb of link/net: its context; NULL: the work request is one of op */
    struct tern_link_op *op;     /* NULL: none, or the core no longer waits for it */
    unsigned char       *local;  /* READ: destination of the data; NULL: the data are dropped */
    size_t               len;    /* READ */
    uint64_t             number; /* the last WRITE: complete when the peer has executed so many */
    uint32_t             index;  /* index in tcp_link.wr */
    int                  error;
    bool                 get;
    bool                 unsent; /* a segment of the queue refers to it */
};

/* A part of the outgoing bytes, in order. */
struct tcp_segment {
    const unsigned char *bytes;
    size_t               len;
    struct tcp_wr       *wr;    /* the work request whose last segment this is; NULL: none */
    void                *heap;  /* memory that is freed when the segment is sent; NULL: none */
    bool                 copy;  /* the bytes are in the ring of copies */
    bool                 reply; /* the bytes answer a READ */
};

enum tcp_state {
    TCP_CONNECTS, /* the kernel connects */
    TCP_GREETS,   /* HELLO was sent, WELCOME is expected */
    TCP_CONFIRMS, /* CONFIRM was sent, ACCEPTED is expected */
    TCP_LISTENS,  /* accepted, HELLO is expected */
    TCP_WELCOMES, /* WELCOME was sent, CONFIRM is expected */
    TCP_UP,       /* carries frames */
    TCP_CLOSED
};

/* The data of the frame that is being received. */
struct tcp_body {
    struct tcp_decoded frame;
    unsigned char     *to;   /* NULL: the data are dropped */
    size_t             left; /* bytes that are missing; 0: no frame is being received */
    struct tcp_wr     *wr;   /* DATA: the work request of the READ */
    bool               refused;
};

struct tcp_conn {
    struct tern_list      node;  /* on the list of connections, of handshakes, or of closed connections */
    struct tern_list      dirty; /* on the list of connections with something to send */
    struct net_peer      *peer;  /* NULL: not known yet */
    int                   fd;
    enum tcp_state        state;
    bool                  blocked, flushing; /* the kernel accepts no more bytes now; tern_tcp_flush() is running */
    int                   mute; /* error of a send; the connection ends when all that the peer has sent is received */
    bool                  bulk; /* the previous frame had much data: read no more than a head in advance */
    struct tern_handshake greet;

    unsigned char     *out; /* ring of copies */
    uint64_t           out_head, out_tail;
    uint64_t           ack_end; /* the end of the last ACK in the ring */
    struct tcp_segment segment[TCP_SEGMENTS];
    uint64_t           first, last; /* segments from first up to, not including, last */
    size_t             queued;      /* bytes of all segments */
    struct tern_list   unacked;     /* tcp_wr whose WRITEs are in the queue or sent, by number */
    struct tern_list   unread;      /* tcp_wr whose READs are in the queue or sent, oldest first */
    uint64_t           writes_sent, writes_acked;
    unsigned           reads; /* work requests on unread and in body.wr */

    unsigned char  *in; /* buffer of received bytes that are not handled yet */
    size_t          in_from, in_to;
    struct tcp_body body;
    uint64_t        writes_done, writes_told; /* executed WRITEs of the peer; their number in the last ACK */
    unsigned        replies;                  /* number of segments in the queue with reply set */
    unsigned char  *refused; /* a bit for each put of the peer: one of its WRITEs was refused (receive.c) */
    size_t          refused_bytes;
};

/* The way to a peer: its addresses, the attempt to connect, and the connection. Allocated at the first use. */
struct tcp_route {
    struct tcp_conn        *up, *attempt;
    struct sockaddr_storage name[TCP_ADDRESSES];
    unsigned                names, at, pass; /* at: index of the tried one; pass: completed passes over all of them */
    unsigned                refusals;        /* attempts that the peer has closed */
    bool                    accepted;        /* the peer's machine has accepted a connection in this pass */
    int64_t                 until;           /* end of the attempt, or of the pause before the next one */
    int                     error;           /* of the last attempt */
};

/* Memory that peers may access. Its key is random, except for the bits that contain the index in the table. */
struct tcp_mem {
    uint64_t       key; /* 0: not in use */
    unsigned char *base;
    uint64_t       size;
    unsigned       access; /* NET_REMOTE_* */
};

/* The progress thread. */
struct tcp_progress_thread {
    struct net_progress_thread base;   /* must be first */
    int64_t                    worked; /* when the thread last found something to do */
};

struct tcp_link {
    struct net_link            net; /* must be first */
    uint8_t                    key[TERN_SIPHASH_KEY];
    int                        port, epoll;
    struct tern_list           conns, handshakes, closed, dirty;
    unsigned                   ups, strangers;
    uint32_t                   polls;
    uint64_t                   bytes_sent;
    int64_t                    check_at; /* time of the next check by keepalive.c */
    bool                       draining, warned;
    bool                       deaf; /* the port is not polled, because a connection could not be accepted */
    struct tern_list           sent; /* tcp_wr of sent messages whose owners do not know yet */
    struct tcp_wr            **wr;   /* all work requests, by index */
    unsigned                   wrs, wrs_taken, window, share;
    struct tern_list           free_wrs;
    bool                       wr_wanted;
    size_t                     chunk;
    struct tcp_mem            *mem;
    uint32_t                   mems;
    struct tcp_progress_thread progress_thread;
};

extern const struct tern_link_path tern_tcp_path;
extern const struct net_verbs      tern_tcp_verbs;

/* Convert a struct tern_link or a struct net_link. */
static inline struct tcp_link *tern_tcp(void *link)
{
    return link;
}

static inline struct tcp_route *tern_tcp_route(const struct net_peer *peer)
{
    return (struct tcp_route *)(uintptr_t)peer->addr;
}

/* Return the connection to a peer; NULL: there is none yet, or it is closed. */
static inline struct tcp_conn *tern_tcp_conn(const struct net_peer *peer)
{
    const struct tcp_route *route = tern_tcp_route(peer);

    return route ? route->up : NULL;
}

/* address.c. listen opens the port. publish publishes its addresses, once, after the options of link/net are known.
 * addresses reads the addresses of a peer into its route. */
tern_status tern_tcp_listen(struct tcp_link *tcp);
tern_status tern_tcp_publish(struct tcp_link *tcp);
tern_status tern_tcp_addresses(struct tcp_link *tcp, const struct net_peer *peer, struct tcp_route *route);

/* connect.c. resolve is the verb: it makes one step towards a connection to the peer, and returns TERN_AGAIN until the
 * connection exists. accept handles an event of the port, and shake an event of a connection in a handshake. lose
 * closes a connection and fails the operations that are outstanding on it; error is an error number, and text says
 * more, or is NULL. conn_free frees a closed connection. */
tern_status tern_tcp_resolve(struct net_link *net, struct net_peer *peer);
void        tern_tcp_accept(struct tcp_link *tcp);
void        tern_tcp_shake(struct tcp_link *tcp, struct tcp_conn *conn);
void        tern_tcp_lose(struct tcp_link *tcp, struct tcp_conn *conn, int error, const char *text);
void        tern_tcp_conn_free(struct tcp_conn *conn);
void        tern_tcp_connections_close(struct tcp_link *tcp);

/* keepalive.c. set lets the kernel probe an idle connection. check, if it is time, loses the connections whose peers do
 * not answer any more, and returns the time in ns after which it must be called again. is_silent decides by the
 * kernel's data on a connection: the number of segments that are not acknowledged, how often they were retransmitted,
 * and how long ago the last acknowledgement and the last data arrived. */
void    tern_tcp_keepalive_set(int fd);
int64_t tern_tcp_keepalive_check(struct tcp_link *tcp);
bool    tern_tcp_is_silent(uint32_t unacked, uint32_t retransmits, uint32_t ack_ms, uint32_t data_ms);

/* send.c. queue appends a frame without data, or with data that are copied. Returns 0, or -EAGAIN without effect if
 * there is no space; unless urgent, some space is left for answers. has_space returns whether the queue has space for
 * so many bytes and segments. refer appends bytes that stay where they are; the queue must have space for a segment.
 * push sends what is in the queue now, or at the end of the poll that is running. push_put does so for a put: while the
 * peer owes an acknowledgement, the put waits for others to be sent together, until the next poll. flush sends the
 * queue now. */
int tern_tcp_queue(struct tcp_conn *conn, const void *head, size_t head_len, const void *data, size_t len, bool urgent);
bool tern_tcp_has_space(const struct tcp_conn *conn, size_t bytes, unsigned segments);
void tern_tcp_refer(struct tcp_conn *conn, const struct tcp_segment *segment);
void tern_tcp_push(struct tcp_link *tcp, struct tcp_conn *conn);
void tern_tcp_push_put(struct tcp_link *tcp, struct tcp_conn *conn);
void tern_tcp_flush(struct tcp_link *tcp, struct tcp_conn *conn);
/* send.c. Copy the bytes to which segments refer, because their memory is about to vanish: the segments of wr or, if wr
 * is NULL, the answers to READs of mem. */
void tern_tcp_detach(struct tcp_link *tcp, struct tcp_conn *conn, const struct tcp_wr *wr, const struct tcp_mem *mem);

/* receive.c. Read and execute frames. Returns the number of reads and frames. */
unsigned tern_tcp_receive(struct tcp_link *tcp, struct tcp_conn *conn);

/* rma.c. wr_sent: all bytes of a segment with the work request are sent. wr_done: the work request has ended. tell_sent
 * calls `ended` of the owners of messages that were sent. cancel is the function of the link interface. */
void        tern_tcp_wr_sent(struct tcp_link *tcp, struct tcp_wr *wr);
void        tern_tcp_wr_done(struct tcp_link *tcp, struct tcp_wr *wr, int error);
void        tern_tcp_tell_sent(struct tcp_link *tcp);
void        tern_tcp_cancel(struct tern_lane *lane, struct tern_link_op *op);
tern_status tern_tcp_wr_pool_open(struct tcp_link *tcp);
void        tern_tcp_wr_pool_close(struct tcp_link *tcp);

/* region.c. find returns the memory of a key that permits the access, or NULL. The others are functions of the link
 * interface and of the verbs. */
const struct tcp_mem *tern_tcp_mem_find(const struct tcp_link *tcp, uint64_t key, unsigned access);
tern_status tern_tcp_register(struct net_link *net, const void *addr, size_t len, unsigned access, struct net_mr *mr);
void        tern_tcp_unregister(struct net_mr *mr);
tern_status tern_tcp_attach(struct tern_link *link, const struct tern_mem_handle *handle, const char *path_name,
                            struct tern_link_part *part);
tern_status tern_tcp_expose(struct tern_link *link, struct tern_mem_handle *handle);
void        tern_tcp_regions_close(struct tcp_link *tcp);

/* progress.c. drain and poll are the verbs: read the sockets and retry what was refused. watch adds a descriptor to
 * those that are polled, or changes the events for which it is polled (change). */
unsigned    tern_tcp_drain(struct net_link *net);
void        tern_tcp_poll(struct net_link *net);
bool        tern_tcp_watch(struct tcp_link *tcp, int fd, void *data, uint32_t events, bool change);
tern_status tern_tcp_epoll_open(struct tcp_link *tcp);
tern_status tern_tcp_progress_thread_start(struct tcp_link *tcp);
void        tern_tcp_progress_thread_stop(struct tcp_link *tcp);
void        tern_tcp_progress_thread_wake(struct tcp_link *tcp);
int64_t     tern_tcp_may_sleep(struct tern_link *link, bool memory);

/* net.h: what every link over a network needs, independent of the network.
 *
 * Messages travel on ordered channels with credits, from rings at the sender (msg_send.c) to records at the receiver
 * (msg_recv.c). RPCs are executed at the target by the thread that polls there (rpc_client.c, rpc_server.c). The data
 * of long messages and requests stay at the sender, and the receiver reads them. Lanes learn the completion of their
 * operations. An operation that the network refuses because it is busy waits in one retry queue (lane.c). A peer takes
 * no resources until its first use.
 *
 * All of this works over the verbs of a network: struct net_verbs. The link of the network begins with a struct
 * net_link and fills the verbs, starts transfers and atomic operations itself, and reads its completion queue, in which
 * it finds the completion contexts (struct net_ctx) of all posted operations.
 *
 * One lock, net->lock, protects the state of the link and every call of the network's library. Providers serialize
 * calls with such a lock anyway, and a single lock keeps the rest simple: a field that is protected by the lock may be
 * accessed by any thread that holds it. "The lock" below always means net->lock.
 *
 * Errors of the network are error numbers as in errno.h, or numbers of the network's own; verbs->why() returns their
 * texts. Functions that return int return 0, -EAGAIN if the network is busy, or another negative error number.
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/bits.h"
#include "base/list.h"
#include "base/options.h"
#include "base/spsc_ring.h"
#include "boot/bell.h"
#include "boot/helper.h"
#include "link/link.h"
#include "link/net/wire.h"

struct net_link;
struct net_peer;

#define NET_NEVER INT64_MAX
#define NET_NOTICE_NS 1000000000ll /* the launcher reports a death within this time */

/* Completion context: identifies an operation that is posted to the network, or that waits in the retry queue. post
 * posts the operation; ended is called when it has completed, or could not be posted, with 0 or a positive error
 * number. Both are called under the lock. */
struct net_ctx;
typedef int  net_post_fn(struct net_link *net, struct net_ctx *ctx);
typedef void net_ended_fn(struct net_link *net, struct net_ctx *ctx, int error);

struct net_ctx {
    void            *space[8]; /* owned by the network while the operation is posted */
    void            *local;    /* for the network: its registration of the local memory, while posted; NULL: none */
    struct tern_list node;     /* in the retry queue */
    struct net_peer *peer;     /* the target; NULL: none */
    net_post_fn     *post;
    net_ended_fn    *ended;
};

/* Registered memory. The struct must not move while the memory is registered. */
struct net_mr {
    struct tern_list node;      /* for the network */
    void            *handle;    /* the network's registration; NULL: none */
    uint64_t         key, base; /* for remote access: the key, and the network's address of the first byte */
    unsigned char   *bytes;     /* memory of tern_net_memory_make(), and its size; NULL: not allocated by it */
    size_t           size;
};

enum { NET_REMOTE_READ = 1, NET_REMOTE_WRITE = 2 }; /* access that peers have to registered memory; 0: none */

#define NET_INJECT 256u /* bytes that every network can inject */

/* The verbs of a network. The caller holds the lock, except for poll and while the link is opened or closed. The target
 * of a posted operation is ctx->peer, whose address is known. If mr of a read or write is NULL, the local memory is not
 * registered; the network registers it for the time of the operation if it must. */
struct net_verbs {
    /* Make the address of the peer known. Returns TERN_AGAIN if the peer has not published it yet. */
    tern_status (*resolve)(struct net_link *net, struct net_peer *peer);
    int (*send)(struct net_link *net, struct net_ctx *ctx, const void *bytes, size_t len, const struct net_mr *mr);
    /* Send a copy of at most NET_INJECT bytes, or of at most net->inject bytes; the caller may overwrite the bytes
     * immediately. There is no completion context: if the network notices that the message is lost, it calls
     * tern_net_break_off(). */
    int (*inject)(struct net_link *net, struct net_peer *peer, const void *bytes, size_t len);
    /* Read from remote memory (get), or write to it. */
    int (*rma)(struct net_link *net, struct net_ctx *ctx, bool get, void *local, const struct net_mr *mr,
               const struct net_remote *remote);
    tern_status (*reg)(struct net_link *net, const void *addr, size_t len, unsigned access, struct net_mr *mr);
    void (*dereg)(struct net_mr *mr);        /* does nothing if the memory is not registered */
    void (*poll)(struct net_link *net);      /* poll the completion queue, unless another thread does */
    unsigned (*drain)(struct net_link *net); /* poll the completion queue; returns the number of completions */
    const char *(*why)(const struct net_link *net, int error);
    /* Make the work requests of an operation forget it, because the core no longer waits for the operation. */
    void (*abandon)(struct net_link *net, const struct tern_link_op *op);
};

/* ---- lanes ---- */

#define NET_CALLED INT64_MIN /* the lane's thread was woken, and has not polled yet */

struct net_lane {
    struct net_link               *net;
    struct tern_list               node;     /* on the link's list of lanes; protected by the lock */
    struct tern_list               ops;      /* outstanding operations; protected by the lock */
    _Atomic(struct tern_link_op *) finished; /* pushed by the thread that polls, popped by the lane's thread */
    struct tern_link_op           *kept;     /* popped, but not reported yet; accessed by the lane's thread only */
    uint32_t                       losses;   /* value of the segment's losses at the last check of the peers */
    uint32_t                       looks;
    /* Time of the next check of the peers: NET_NEVER, NET_CALLED, or a time. Written under the lock. */
    _Atomic int64_t                roll_at;
    /* When the first operation in kept must be reported at the latest; NET_NEVER: kept is empty. */
    _Atomic int64_t                judge_at;
};

/* ---- messages ---- */

/* The send of one cell of a tx channel. */
struct net_tx_cell {
    struct net_ctx ctx;       /* must be first */
    bool           in_flight; /* the network may still read from the cell */
};

/* One channel of messages to a peer: a ring whose cells are freed when the peer has consumed their messages. */
struct net_tx_channel {
    struct tern_ring_mp_producer ring;                      /* any thread reserves space */
    struct tern_ring_consumer    cells;                     /* cells.next: the oldest cell that is in use */
    uint64_t                     next;                      /* the first cell that is not sent */
    uint64_t                     transmitted, acked, freed; /* messages sent, acknowledged by the peer, and freed */
    struct net_tx_cell          *sent;                      /* [cells]; NULL: the channel's messages carry no data */
    struct net_mr                mr;                        /* memory of the ring */
    _Atomic bool                 ready;                     /* the ring exists */
    bool                         credit_requested;          /* a CREDIT_REQUEST is outstanding */
};

/* One channel of messages from a peer. credited is the value of consumed that was last sent to the peer. */
struct net_rx_channel {
    uint64_t         received, consumed, credited; /* numbers of messages */
    uint64_t         bytes;                        /* bytes of received messages that are not consumed */
    uint64_t         uncredited_bytes;             /* bytes consumed since the last credit */
    bool             credit_requested;             /* the peer waits for a credit */
    struct tern_list early;                        /* messages that wait for an earlier one; by sequence number */
};

enum { NET_DUE_CREDIT = 1, NET_DUE_CREDIT_REQUEST = 2 }; /* CREDIT_REQUEST is shifted left by the channel */
_Static_assert(NET_DUE_CREDIT_REQUEST << (NET_COUNTED - 1) <= UINT8_MAX, "net_peer.due has a bit for each");

struct net_peer {
    struct net_ctx        tx; /* must be first; in the retry queue while something must be sent to the peer */
    int                   rank;
    bool                  known;    /* the network knows the peer's address */
    bool                  broken;   /* messages were lost; no more are sent */
    uint8_t               due;      /* control messages that must be sent: NET_DUE_* */
    char                  why[200]; /* why the connection broke */
    uint64_t              addr;     /* for the network */
    uint64_t              token_out, token_in;
    struct tern_list      lost;             /* on msg.lost of the link while the peer may be dying */
    int64_t               judge_at;         /* when a lost connection becomes an error of the link */
    unsigned              wrs;              /* for the network: work requests that are allocated for this peer */
    unsigned              rpc_bufs[2];      /* RPC buffers that hold RPCs to this peer: [small] */
    unsigned              rpc_calls;        /* calls from this peer that are not answered */
    unsigned              rpc_slots;        /* calls from this peer that have a slot */
    struct net_tx_channel out[NET_COUNTED]; /* the last one has no ring */
    struct net_rx_channel in[NET_COUNTED];
    /* The last pass over each channel in which the core refused a message of this peer. Accessed by the delivering
     * thread only. */
    uint32_t              passed[TERN_CHANNELS];
};

/* A received message. The first 64 bytes of bytes[] are laid out as on the wire, so that head and data are aligned. */
struct net_rx_msg {
    struct net_ctx    ctx;      /* must be first; of the read that fetches the data. ctx.peer is the sender */
    struct tern_list  node;     /* in the queue of its channel, or among the early messages */
    int64_t           judge_at; /* when a failed read becomes an error of the link, if the sender is alive */
    int               error;    /* of the failed read */
    struct net_remote remote;
    size_t            len; /* length of the data */
    size_t            capacity;
    uint16_t          seq;
    uint8_t           channel;
    bool              whole; /* all data have arrived */
    uint32_t          unused;
    unsigned char     bytes[]; /* at a multiple of 64 */
};
_Static_assert(offsetof(struct net_rx_msg, bytes) % 64 == 0, "messages are allocated at multiples of 64");

/* The received messages of one channel, from all senders. */
struct net_queue {
    struct tern_link_watch watch; /* must be first; watches count */
    struct tern_list       msgs;
    _Atomic uint32_t       count;
};

struct net_msg {
    size_t                 ring_bytes[TERN_CHANNELS];
    struct tern_ring_shape shape[NET_COUNTED];
    struct net_queue       queue[TERN_CHANNELS];
    /* Number of the delivery pass over notifications and tagged messages. Accessed by the delivering thread only. */
    uint32_t               pass[TERN_CHANNELS];
    struct tern_list       spare; /* free small messages */
    unsigned               spares;
    struct tern_list       failed; /* messages whose read failed, until it is known whether the sender is dead */
    struct tern_list       lost;   /* peers whose connection is lost, until it is known whether they are dead */
    tern_status            damage; /* the first fatal error, which the next delivery returns */
    char                   why[288];
    uint64_t               strangers; /* number of messages dropped because they are not of this job */
};

/* ---- RPCs ---- */

/* The initiator's buffer of an RPC. The request is written into the buffer and sent from it, and the target writes a
 * long response into the buffer. */
struct net_rpc_buf {
    struct net_ctx       ctx;   /* must be first; of the request's send */
    struct tern_link_op *op;    /* NULL: the core no longer waits for the RPC */
    struct net_rpc_buf  *next;  /* on the free list */
    unsigned char       *bytes; /* the request message: net_header, net_rpc_request, request */
    struct net_mr       *mr;
    uint16_t             number;          /* index of the buffer in net_rpc.buf */
    uint16_t             uses;            /* how many times the buffer was used, modulo 2^16 */
    bool                 small;           /* the buffer is a small one */
    bool                 awaits_response; /* the response has not arrived */
    unsigned             in_flight;       /* outstanding send and response */
    size_t               request;
    int64_t              asked; /* when the request was sent, or the peer was last probed */
};

/* A server slot: registered memory in which a call is executed. */
struct net_rpc_slot {
    struct net_rpc_slot *next; /* on the free list */
    struct net_mr        mr;   /* the request, followed by the response with space for its message header */
};

/* rpc_client.c and rpc_server.c. Buffers and slots are allocated on demand. */
struct net_rpc {
    size_t               buf_bytes; /* maximum size of a request and its response together */
    struct net_rpc_buf **buf;       /* [bufs] */
    unsigned             bufs, small_bufs;
    struct net_rpc_buf  *free_bufs[2]; /* [small] */
    struct net_rpc_slab *slabs;        /* memory of all buffers */
    _Atomic bool         wanted;       /* a thread may sleep until a buffer is free */
    unsigned             slots;        /* number of all slots */
    struct net_rpc_slot *free_slots;
    struct tern_list     calls; /* of all peers */
};

/* Memory of this rank that peers may access. */
struct net_exposed {
    struct tern_link_exposed base; /* must be first */
    struct net_mr            mr;
    uint64_t                 registered; /* bytes; at least base.mem.size */
};

/* ---- the progress thread ---- */

/* An instance of boot/helper.h that sleeps on file descriptors. */
struct net_progress_thread {
    struct tern_helper        helper; /* must be first */
    struct tern_helper_poller poller;
    int                       wake;       /* eventfd: helper.wake was called. The sleep waits for it, too */
    struct tern_activity      activity;   /* polls by the program */
    _Atomic uint32_t          bell, naps; /* an eventcount that ends a nap */
};

/* ---- the link ---- */

struct net_link {
    const struct net_verbs     *verbs;
    char                        name[64]; /* in error texts: "ofi", and the provider */
    const struct tern_boot     *boot;
    const struct tern_link_up  *up;
    int                         rank, ranks;
    size_t                      inject; /* longest message that the network copies without a buffer of Tern, in bytes */
    bool                        delivers; /* a completed write is visible at the target; otherwise a read flushes it */
    pthread_mutex_t             lock;
    _Atomic(struct net_peer *) *peer;  /* [ranks]; NULL: not used yet. Written under the lock */
    struct tern_list            retry; /* net_ctx of operations that the network refused, and of peers to send to */
    struct tern_list            lanes;
    struct tern_list            exposed; /* struct net_exposed */
    struct net_msg              msg;
    struct net_rpc              rpc;
    /* A lane has just polled the completion queue; its thread polls for messages next, which needs no second poll. */
    _Atomic bool                fresh;
};

static inline struct net_link *tern_net(struct tern_link *link)
{
    return (struct net_link *)link;
}

/* When the rings of a thread take place. While a progress thread holds the lock of the link, its rings are delayed: a
 * thread that they wake polls the link, and would only find the lock taken. */
enum net_rings { NET_RINGS_NOW, NET_RINGS_DELAYED, NET_RINGS_DUE };
extern _Thread_local uint8_t tern_net_rings __attribute__((tls_model("initial-exec"))); /* enum net_rings */

/* Ring this rank's own bell. */
static inline void tern_net_ring(const struct net_link *net)
{
    if (TERN_UNLIKELY(tern_net_rings != NET_RINGS_NOW))
        tern_net_rings = NET_RINGS_DUE;
    else
        tern_boot_wake(&net->boot->segment->slot[net->rank]);
}

/* The first function delays the rings of the calling thread. The second one ends the delay, and rings the bell if the
 * thread has asked for a ring meanwhile. */
static inline void tern_net_rings_delay(void)
{
    tern_net_rings = NET_RINGS_DELAYED;
}

static inline void tern_net_rings_make_up(const struct net_link *net)
{
    bool due = tern_net_rings == NET_RINGS_DUE;

    tern_net_rings = NET_RINGS_NOW;
    if (due)
        tern_net_ring(net);
}

/* Return whether threads of the program sleep. */
static inline bool tern_net_has_sleepers(const struct net_link *net)
{
    /* relaxed: a hint */
    return atomic_load_explicit(&net->boot->segment->slot[net->rank].sleepers, memory_order_relaxed) != 0;
}

static inline struct net_header tern_net_header(const struct net_link *net, const struct net_peer *to, unsigned kind,
                                                uint16_t seq, uint16_t ack)
{
    return (struct net_header){ to->token_out, (uint32_t)net->rank << 8 | kind, seq, ack };
}

static inline bool tern_net_is_waiting(const struct net_ctx *ctx)
{
    return !tern_base_list_empty(&ctx->node);
}

/* net.c. tern_net_open() initializes the state of a new link, whose bytes are 0. tern_net_close() frees everything but
 * the link itself; the network must not use any of that memory any more. */
tern_status tern_net_open(struct net_link *net, const struct net_verbs *verbs, const struct tern_boot *boot,
                          const struct tern_link_up *up);
void        tern_net_close(struct net_link *net);
tern_status tern_net_peer_gone(int rank); /* sets the error text and returns TERN_ERR_PEER */

/* net.c. Return whether a rank that published these values uses the same format of messages and the same sizes.
 * disagrees sets the error text and returns TERN_ERR_LINK. */
bool        tern_net_agrees(const struct net_link *net, uint32_t wire, uint32_t ring, uint64_t rpc_bytes,
                            uint32_t notify_cells);
tern_status tern_net_disagrees(int rank);

/* Return the status for an error of the network, except for an error of a transfer. A lack of memory is no fault of the
 * network or of the peer. A transfer that fails in the network always gets TERN_ERR_LINK, because it may have had a
 * part of its effect, and the contracts of the calls permit that only with TERN_ERR_LINK. */
static inline tern_status tern_net_status(int error)
{
    return error == ENOMEM ? TERN_ERR_NOMEM : TERN_ERR_LINK;
}

/* net.c. Report that a rank has published no address for the link. Returns TERN_AGAIN if the rank may still publish
 * one. Returns TERN_ERR_LINK, with an error text, if the rank has published an address for the other link instead. */
tern_status tern_net_no_address(const struct net_link *net, int rank, uint16_t other, const char *other_name);

/* net.c. tern_net_memory_make() allocates memory that is filled with 0, in whole pages, and registers it. access is
 * that of the verb reg. free does nothing if mr is filled with 0. */
tern_status tern_net_memory_make(struct net_link *net, size_t size, unsigned access, struct net_mr *mr);
void        tern_net_memory_free(struct net_link *net, struct net_mr *mr);

/* net.c. Revoke the access to a part, or to one of its registrations. The caller of drop must hold the lock, unless no
 * other thread uses the link. */
void tern_net_unexpose(struct tern_link *link, uint64_t region);
void tern_net_exposed_drop(struct net_link *net, struct net_exposed *entry);

/* net.c. start fills in the thread, except wake, which the caller has opened, and starts it. poll and sleep are those
 * of boot/helper.h. is_woken: return whether helper.wake was called, and forget the call: otherwise the thread would
 * never sleep again. The work for the thread was published before the call. */
tern_status tern_net_thread_start(struct net_progress_thread *thread,
                                  int64_t (*poll)(struct tern_helper_poller *poller, bool again),
                                  void (*sleep)(struct tern_helper *helper, int64_t ns));
bool        tern_net_thread_is_woken(const struct net_progress_thread *thread);

/* net.c: the tables of messages and RPCs. */
extern const struct tern_msg_ops tern_net_msg_ops;
extern const struct tern_rpc_ops tern_net_rpc_ops;

/* net.c. tern_net_peer() returns the record of a peer, which it creates at the first use, or NULL with an error text if
 * there is no memory. tern_net_break_off() stops sending to the peer, because messages to it were lost or it is not
 * reachable. The caller must hold the lock. */
struct net_peer *tern_net_peer_make(struct net_link *net, int rank);
void             tern_net_break_off(struct net_link *net, struct net_peer *peer, const char *why);

static inline struct net_peer *tern_net_peer(struct net_link *net, int rank)
{
    struct net_peer *peer = atomic_load_explicit(&net->peer[rank], memory_order_relaxed); /* written under the lock */

    return TERN_LIKELY(peer != NULL) ? peer : tern_net_peer_make(net, rank);
}

/* lane.c. tern_net_post() posts an operation. Returns 0 if it was posted, -EAGAIN if it waits in the retry queue, or
 * another error number after ctx->ended was called. tern_net_later() puts an operation into the retry queue, unless it
 * is there. tern_net_retry() posts the waiting operations. The caller must hold the lock. */
void tern_net_ctx_init(struct net_ctx *ctx, struct net_peer *peer, net_post_fn *post, net_ended_fn *ended);
int  tern_net_post(struct net_link *net, struct net_ctx *ctx);
void tern_net_later(struct net_link *net, struct net_ctx *ctx);
void tern_net_retry(struct net_link *net);

/* lane.c: the lane functions of the link interface, and the function that polls for messages. */
tern_status tern_net_lane_open(struct tern_link *link, struct tern_lane **out);
void        tern_net_lane_close(struct tern_lane *lane);
void        tern_net_lane_progress(struct tern_lane *lane);
void        tern_net_lane_cancel(struct tern_lane *lane, struct tern_link_op *op);
void        tern_net_msg_poll(struct tern_link *link);

/* lane.c, for operations. init fills op for a transfer or an RPC. fail records the first error. finish passes the
 * operation to the thread of its lane. The caller must hold the lock, except for init. */
void tern_net_op_init(struct tern_link_op *op, const struct tern_xfer *xfer, struct net_lane *lane,
                      struct net_peer *peer);
void tern_net_op_fail(struct tern_link_op *op, int error);
void tern_net_op_finish(struct net_link *net, struct tern_link_op *op);

/* lane.c. Returns the number of nanoseconds until a lane or msg_recv.c must do something on its own, because no
 * completion will report it, or NET_NEVER if there is nothing. Rings the bell if a lane must do so now. The caller must
 * hold the lock. */
int64_t tern_net_due(struct net_link *net);

/* msg_send.c: the message functions of the link interface that send. */
size_t      tern_net_msg_max_data(struct tern_link *link, int peer, unsigned channel);
tern_status tern_net_msg_open(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max);
void        tern_net_msg_send(struct tern_link *link, const struct tern_link_msg *msg, size_t len);
void        tern_net_msg_drop(struct tern_link *link, const struct tern_link_msg *msg);
tern_status tern_net_msg_short(struct tern_link *link, int peer, unsigned channel, uint64_t first, const uint32_t *rest,
                               unsigned count);
bool        tern_net_msg_flushed(struct tern_link *link);

/* msg_send.c: flow control of notifications that are sent with a put. take returns false if the peer's queue has no
 * space for another notification. return gives back the credit of a notification that was not sent. The caller must
 * hold the lock. */
bool tern_net_notify_credit_take(struct net_link *net, struct net_peer *peer);
void tern_net_notify_credit_return(struct net_peer *peer);

/* msg_send.c. post and ended are those of a peer's tx: send everything that is pending for the peer. due schedules a
 * control message: NET_DUE_CREDIT, or NET_DUE_CREDIT_REQUEST shifted left by the channel. ack: the peer has consumed
 * the given number of messages of the channel, modulo 2^32; returns false if so many were not sent. The caller must
 * hold the lock, except for drop, which runs when no other thread uses the link. */
net_post_fn  tern_net_tx_post;
net_ended_fn tern_net_tx_ended;
void         tern_net_tx_due(struct net_link *net, struct net_peer *peer, unsigned what);
bool         tern_net_tx_ack(struct net_link *net, struct net_peer *peer, unsigned channel, uint32_t number);
void         tern_net_tx_drop(struct net_link *net, struct net_peer *peer);

/* msg_recv.c: the message functions of the link interface that receive. tern_net_messages_open() registers the
 * watches. */
tern_status tern_net_messages_open(struct net_link *net);
bool        tern_net_msg_pending(struct tern_link *link, int peer, unsigned channel);

/* msg_recv.c: the receiving side of messages. receive handles a message that the network has received. put_notify
 * decodes and handles the completion data of a put with a notification, and notified handles a notification that is
 * decoded already. receive and notified return false if they have dropped the message or notification, because it is
 * not of this job, or its sender has no credit. notify_refused: a put with a notification was refused; the core does
 * not learn of the notification, and its credit returns to the sender. lost: messages of the peer are lost, which
 * becomes an error of the link if the peer is alive some seconds later. The caller must hold the lock, except for close
 * and drop, which run when no other thread uses the link. */
bool    tern_net_receive(struct net_link *net, const struct net_peer *sender, const void *bytes, size_t len);
void    tern_net_rx_put_notify(struct net_link *net, uint64_t data);
bool    tern_net_rx_notified(struct net_link *net, const struct net_put_notify *written);
void    tern_net_rx_notify_refused(struct net_link *net, struct net_peer *peer);
void    tern_net_rx_lost(struct net_link *net, struct net_peer *peer);
void    tern_net_rx_close(struct net_link *net);
void    tern_net_rx_drop(struct net_peer *peer);
void    tern_net_rx_judge(struct net_link *net);     /* decide about msg.failed and msg.lost */
int64_t tern_net_rx_due(const struct net_link *net); /* when to call judge; NET_NEVER: no need */
/* Record a failure of the network that affects all peers. The next delivery of messages returns its status. Only the
 * first failure is recorded. */
void    tern_net_rx_fail(struct net_link *net, tern_status status, const char *what, const char *why);

/* rpc_client.c: the initiator's side of RPCs. The first two functions are those of the link interface. The caller of
 * the others must hold the lock, except for close, which runs when no other thread uses the link. */
tern_status tern_net_rpc_open(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op);
void        tern_net_rpc_send(struct tern_lane *lane, struct tern_link_op *op, size_t request, size_t expect);
void        tern_net_rpc_response(struct net_link *net, struct net_peer *peer, const struct net_decoded *decoded,
                                  const unsigned char *bytes);
void        tern_net_rpc_abandon(struct net_link *net, struct tern_link_op *op); /* the core no longer waits for op */
void        tern_net_rpc_check(struct net_link *net, struct tern_link_op *op, int64_t now); /* probe a silent peer */
int64_t     tern_net_rpc_due(const struct tern_link_op *op); /* when to call check; NET_NEVER: no need */
void        tern_net_rpc_client_close(struct net_link *net);

/* rpc_server.c: the target's side of RPCs. tern_net_rpc_serve() returns TERN_ERR_LINK if the request is invalid, or
 * TERN_ERR_NOMEM. The caller must hold the lock, except for close, which runs when no other thread uses the link. */
tern_status tern_net_rpc_serve(struct net_link *net, struct net_peer *peer, const struct net_decoded *decoded,
                               const unsigned char *request);
void        tern_net_rpc_server_close(struct net_link *net);

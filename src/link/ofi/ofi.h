/* ofi.h: the link between nodes, over libfabric.
 *
 * A process has one endpoint (endpoint.c) for everything. Regions are registered once (region.c); puts and gets are
 * writes and reads of the provider, cut into pieces (rma.c, work_request.c); messages are copied out of a ring of
 * the sender into letters of the receiver (message.c); errands are served where they come in (rpc_client.c,
 * rpc_server.c). What has ended comes out of one completion queue, which whoever has time reads: a thread that
 * waits, or the progress thread (progress.c), which sleeps while nothing happens. Peers cost nothing until they are
 * used.
 *
 * One lock guards the link and every call of libfabric. Providers have a lock of that kind anyway, and it makes the
 * rest simple: what is said below to be guarded may be touched by any thread that has it.
 * */
#ifndef TERN_LINK_OFI_OFI_H
#define TERN_LINK_OFI_OFI_H

#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdatomic.h>

#include "base/bits.h"
#include "base/options.h"
#include "base/spsc_ring.h"
#include "boot/fabric.h"
#include "link/link.h"
#include "link/ofi/wire.h"

struct ofi_link;

/* What the completion queue said of an operation that has ended. */
struct ofi_comp {
    uint64_t    flags;
    size_t      len;
    const void *buffer; /* of a receive */
    int         error;  /* 0, or libfabric's positive number */
    char        why[80];
};

/* What every operation of the provider is known by. Its first bytes are the provider's while it is under way. */
struct ofi_comp_ctx {
    struct fi_context2 context;
    void (*ended)(struct ofi_link *ofi, struct ofi_comp_ctx *token, const struct ofi_comp *news);
};

/* endpoint.c: what was opened, and what it can do. */
struct ofi_endpoint {
    struct tern_fabric fabric;
    struct fi_info    *info;
    struct fid_fabric *fid;
    struct fid_domain *domain;
    struct fid_av     *av;
    struct fid_cq     *cq;
    struct fid_ep     *ep;
    int                wait_fd;   /* on which the completion queue can be slept on; -1: none */
    bool               mr_local;  /* the provider wants descriptors of local memory */
    bool               delivers;  /* a write is completed by its delivery */
    size_t             inject;    /* bytes of messages that are copied while they are sent, */
    size_t             rma;       /* and of writes */
    uint64_t           key_mask;  /* of keys that we choose */
    unsigned           data_bits; /* of completion data that a write may bring; 0: none */
    size_t ordered[2][2]; /* [first is a get][second is a get]: lengths up to which the second does not overtake */
};

/* A piece of a transfer that the provider works on, with room for a small one. */
struct ofi_wr {
    struct ofi_comp_ctx  comp_ctx; /* first */
    struct ofi_wr       *next;     /* free */
    struct ofi_op       *op;
    struct ofi_peer     *peer;   /* to which it goes */
    unsigned char       *bounce; /* ofi->bounce bytes */
    void                *desc;   /* of the room's registration; NULL: none is needed */
    size_t               offset, len;
    bool                 bounced;
    struct ofi_mr_entry *cached; /* registration of the local memory; NULL: none */
};

/* A transfer under way. Lives until the last piece has ended, whether or not the core still waits for it. */
struct ofi_op {
    struct tern_link_op    *op; /* NULL: nobody waits any more */
    struct tern_xfer        xfer;
    struct ofi_lane        *lane;
    struct ofi_peer        *peer;
    struct ofi_rpc_buf     *rpc_buf; /* an errand's; NULL: it is none */
    struct tern_link_atomic atomic;  /* op 0: it is a put or get */
    struct ofi_wr          *next_wr; /* taken for the next piece */
    size_t                  started;
    unsigned                in_flight; /* pieces that the provider has; of an errand, what has to end */
    bool                    flushing;  /* a put without delivery: the read behind it was sent */
    bool                    cancelled; /* start no more */
    bool                    keeps;     /* memory of the transfer, until the last piece has ended */
    bool                    waits;     /* on the list of those that the provider had no room for */
    int                     error;     /* the first, as in ofi_comp */
    char                    why[80];
    int64_t                 give_up_at;   /* when it is given up: the peer is gone or the connection broke; 0: no */
    struct ofi_op          *next, **link; /* on its lane's list */
    struct ofi_op          *waiting;      /* on the list of those that wait, or free */
    struct ofi_op          *finished;     /* on the lane's stack of those that have ended */
};

/* Where the request of an errand is written and sent from, and where a long answer is written. */
struct ofi_rpc_buf {
    struct ofi_comp_ctx comp_ctx; /* first: of the message that is sent from it */
    struct ofi_op       op;
    struct ofi_rpc_buf *next;  /* free */
    unsigned char      *bytes; /* the message: header and errand in front of the request */
    struct fid_mr      *mr;
    uint16_t            number;          /* which room, */
    uint16_t            uses;            /* and how often it was used */
    bool                small;           /* it is a small one */
    bool                posted;          /* the message is with the provider, or gone */
    bool                awaits_response; /* the answer */
    size_t              request;
    int64_t             asked; /* when the peer was last sent something */
};

/* An errand of a peer that has come. */
struct ofi_rpc_call {
    struct ofi_rpc_call    *next;
    struct ofi_peer        *peer;
    struct ofi_rpc_request  request_head;
    uint16_t                number, uses; /* of the peer's room */
    bool                    fetch;        /* the request is there */
    struct ofi_rpc_response response;
    unsigned char           request[]; /* that came along */
};

/* Where one is served. */
struct ofi_rpc_slot {
    struct ofi_comp_ctx  comp_ctx; /* first: of the read, write or send that is under way */
    struct ofi_rpc_slot *next;     /* free, or waits for the provider */
    struct ofi_rpc_slot *made;     /* the one made before it */
    struct ofi_rpc_call *call;     /* NULL: none */
    unsigned char       *bytes;    /* the request, and behind it the answer with room for its message's head */
    struct fid_mr       *mr;
    bool                 telling;
    ssize_t (*step)(struct ofi_link *ofi, struct ofi_rpc_slot *desk); /* what is done next */
};

/* rpc_client.c and rpc_server.c: rooms and desks are made when they are needed. */
struct ofi_rpc {
    size_t               buf_bytes; /* that a request and its answer may have */
    struct ofi_rpc_buf **buf;       /* [rooms] */
    unsigned             bufs;
    struct ofi_rpc_buf  *free_bufs;
    struct ofi_slab     *slabs; /* of small rooms, which are in the same table */
    unsigned             small_bufs;
    struct ofi_rpc_buf  *free_small_bufs;
    _Atomic bool         wanted;      /* a thread may sleep until there is one */
    struct ofi_rpc_slot *newest_slot; /* the one made last */
    unsigned             slots;
    struct ofi_rpc_slot *free_slots;
    struct ofi_rpc_slot *stuck;                      /* that the provider had no room for */
    struct ofi_rpc_call *calls, **calls_end;         /* that wait for a desk */
    struct ofi_rpc_call *responses, **responses_end; /* served, whose answer the provider had no room for */
};

#define OFI_NEVER INT64_MAX
#define OFI_NOTICE_NS 1000000000ll /* within this time the launcher knows of a death */
#define OFI_CALLED INT64_MIN       /* a lane's thread has been rung, and has not come yet */

struct ofi_lane {
    struct ofi_link         *ofi;
    struct ofi_lane         *next, **link; /* on the link's list of lanes; guarded by the link's lock */
    struct ofi_op           *first;        /* under way; guarded by the link's lock */
    _Atomic(struct ofi_op *) finished;     /* pushed by whoever read the completion, taken by the lane's thread */
    struct ofi_op           *kept;         /* taken, not reported yet */
    uint32_t                 losses;       /* of the job, when the peers were last looked at */
    uint32_t                 looks;
    _Atomic int64_t          roll_at;  /* when that is to be done again: OFI_NEVER, OFI_CALLED, or a time. Written under
                                        * the link's lock */
    _Atomic int64_t          judge_at; /* when the first of those kept is reported at the latest; OFI_NEVER: none is */
};

/* Registered memory of this rank. */
struct ofi_exposed {
    struct ofi_exposed *next;
    uint64_t            region, addr, size, origin;
    struct fid_mr      *mr;
};

/* mr_cache.c: local memory that is registered for transfers. */
struct ofi_mr_entry {
    struct ofi_mr_entry *next, **link; /* the one used last comes first */
    uintptr_t            from, to;
    unsigned             uses;  /* pieces that need it now */
    bool                 stale; /* not to be used again */
    struct fid_mr       *mr;
};

struct ofi_mr_cache {
    struct ofi_mr_entry *first;
    size_t               bytes; /* registered, all together */
};

/* One channel of messages to a peer: a ring whose cells are freed when the peer has done with them. */
struct ofi_tx_cell {
    struct ofi_comp_ctx comp_ctx; /* first */
    struct ofi_peer    *peer;
    _Bool               in_flight; /* the provider still needs the cell */
};

struct ofi_tx_channel {
    struct tern_ring_mp_producer ring;                      /* any thread takes room */
    struct tern_ring_consumer    cells;                     /* next: the oldest cell not free */
    uint64_t                     next;                      /* first cell not sent */
    uint64_t                     transmitted, acked, freed; /* messages */
    struct ofi_tx_cell          *sent;                      /* [cells]; NULL: its messages have no data */
    bool                         credit_requested;          /* for news of what the peer has done with */
};

/* One channel of messages from a peer. */
struct ofi_rx_channel {
    uint64_t           received, consumed, credited; /* messages; told: what the peer knows of consumed */
    uint64_t           bytes;                        /* of letters that are not consumed */
    uint64_t           uncredited_bytes;             /* bytes consumed since */
    bool               credit_requested;             /* the peer waits for news */
    struct ofi_rx_msg *early;                        /* that came before one in front of them, in order */
};

enum { OFI_DUE_CREDIT = 1, OFI_DUE_CREDIT_REQUEST = 2 }; /* the last one shifted by the channel */

struct ofi_peer {
    int            rank;
    bool           known;   /* addr is */
    bool           broken;  /* messages were lost: no more of them */
    bool           queued;  /* on the list of those that have something to send */
    uint8_t        due;     /* control messages to send */
    char           why[80]; /* it broke */
    fi_addr_t      addr;
    uint64_t       token_out, token_in;
    unsigned       wrs;                     /* of transfers to it that are taken */
    unsigned       rpc_bufs;                /* that hold errands to it, */
    unsigned       small_rpc_bufs;          /* and small ones that do */
    unsigned       rpc_calls;               /* errands of it that are not answered, */
    unsigned       rpc_slots;               /* and those that have a desk */
    unsigned char *rings[TERN_CHANNELS];    /* memory of the outlets, replies' with requests'; NULL: nothing sent yet */
    struct fid_mr *rings_mr[TERN_CHANNELS]; /* of those with data, for each of them */
    _Atomic bool   ready[TERN_CHANNELS];    /* the outlet is made */
    struct ofi_tx_channel out[OFI_COUNTED]; /* the last one has no ring */
    struct ofi_rx_channel in[OFI_COUNTED];
    uint32_t         passed[TERN_CHANNELS]; /* the pass in which the target could not take its message. Who delivers */
    struct ofi_peer *next;                  /* on that list */
};

/* A message that has come. The first 64 bytes are as on the wire, so that head and data are aligned. */
struct ofi_rx_msg {
    struct ofi_comp_ctx    comp_ctx; /* first: of the read that fetches far data */
    struct ofi_rx_msg     *next;
    struct ofi_rx_msg     *next_fetch; /* on the list of those whose read could not start, or has failed */
    int64_t                judge_at;   /* when a failed read is an error of the link, unless the sender is gone */
    struct ofi_peer       *from;
    struct ofi_remote_data remote;
    struct ofi_mr_entry   *cached; /* registration of the letter's memory; NULL: none */
    size_t                 len;    /* of the data */
    size_t                 capacity;
    uint16_t               seq;
    uint8_t                channel;
    bool                   whole; /* the data are here */
    _Alignas(64) unsigned char bytes[];
};

struct ofi_queue {
    struct tern_link_watch watch; /* first; shows count */
    struct ofi_rx_msg     *first, **last;
    _Atomic uint32_t       count;
};

/* A buffer that the provider fills with messages. */
struct ofi_rx {
    struct ofi_comp_ctx comp_ctx; /* first */
    unsigned char      *bytes;
    bool                idle; /* has to be posted */
};

#define OFI_RX 4       /* that the provider has */
#define OFI_RX_MOST 16 /* with those that take the place of others */

struct ofi_msg {
    size_t                 ring_bytes[TERN_CHANNELS];
    struct tern_ring_shape shape[OFI_COUNTED];
    struct ofi_rx          rx[OFI_RX_MOST];
    unsigned               rx_used; /* of rx: the rest were never posted */
    size_t                 rx_bytes;
    unsigned               idle; /* of rx */
    struct fid_mr         *rx_mr;
    struct ofi_queue       queue[TERN_CHANNELS];
    uint32_t               pass[TERN_CHANNELS]; /* along the queues of notes and tagged messages. Who delivers */
    struct ofi_rx_msg     *spare;               /* small ones */
    unsigned               spares;
    struct ofi_rx_msg     *fetches;          /* whose data have to be fetched */
    struct ofi_rx_msg     *failed;           /* whose data could not be fetched, while it is not known who is dead */
    struct ofi_peer       *work, **work_end; /* peers to which something has to be sent */
    tern_status            damage;           /* what a peer sent makes no sense: told by the next poll */
    char                   why[160];
    uint64_t               strangers; /* messages that were dropped */
};

/* The thread that helps. */
struct ofi_progress_thread {
    bool             running;
    pthread_t        thread;
    int              wake;  /* eventfd */
    int              edges; /* epoll on the queue's descriptor, which tells what has come since it was asked last */
    _Atomic bool     stop;
    _Atomic bool     watching;   /* it sleeps on the descriptor */
    _Atomic int64_t  polled;     /* when another thread read the queue last */
    _Atomic uint32_t bell, naps; /* to end a nap */
};

struct ofi_link {
    const struct tern_boot     *boot;
    const struct tern_link_up  *up;
    int                         rank, ranks;
    struct ofi_endpoint         endpoint;
    pthread_mutex_t             lock; /* guards all that follows but what is atomic, and every call of libfabric */
    _Atomic(struct ofi_peer *) *peer; /* [ranks] NULL: not used yet; written under the lock */
    struct ofi_lane            *lanes;
    struct ofi_exposed         *exposed;
    size_t                      bounce; /* bytes of transfers that go through a piece's room */
    size_t                      chunk;  /* bytes of a piece of those that do not */
    struct ofi_wr_slab         *wr_slabs;
    struct ofi_wr              *free_wrs;
    unsigned                    window, share; /* pieces that may be taken by all together, and by a peer in any case */
    unsigned                    wrs_taken;
    _Atomic bool                wr_wanted;
    struct ofi_op              *free_ops, *waiting, **waiting_end;
    struct ofi_op_slab         *op_slabs;
    struct ofi_mr_cache         mr_cache;
    struct ofi_msg              msg;
    struct ofi_rpc              rpc;
    struct ofi_progress_thread  progress_thread;
    _Atomic bool                fresh; /* the queue was read just now, by the lane of the same thread */
};

extern const struct tern_link_ops  tern_ofi_ops;
extern const struct tern_link_path tern_ofi_path;

static inline struct ofi_link *tern_ofi(struct tern_link *link)
{
    return (struct ofi_link *)link;
}

static inline struct tern_slot *tern_ofi_slot(const struct ofi_link *ofi, int rank)
{
    return &ofi->boot->segment->slot[rank];
}

/* Whether the rank serves no more: it has left, or it is dead and the job goes on without it. */
static inline bool tern_ofi_gone(const struct ofi_link *ofi, int rank)
{
    struct tern_slot *slot = tern_ofi_slot(ofi, rank);
    uint32_t          fate = atomic_load_explicit(&slot->fate, memory_order_relaxed);

    return (fate == TERN_FATE_LOST && ofi->boot->segment->on_failure == TERN_ON_FAILURE_RETURN) ||
           fate == TERN_FATE_ENDED || atomic_load_explicit(&slot->life, memory_order_relaxed) == TERN_LIFE_LEFT;
}

/* endpoint.c: open, tell the others where, and close; libfabric's errors become ours. */
tern_status tern_ofi_endpoint_open(struct ofi_link *ofi);
tern_status tern_ofi_publish(struct ofi_link *ofi);
void        tern_ofi_endpoint_close(struct ofi_link *ofi);
tern_status tern_ofi_fail(const struct ofi_link *ofi, int64_t rc, const char *call);
const char *tern_ofi_why(const struct ofi_link *ofi, int error); /* a positive number of libfabric, in words */

/* endpoint.c: the peer of a rank, made at its first use; NULL: no memory. Its address: TERN_AGAIN where the rank has
 * not yet told it. */
struct ofi_peer *tern_ofi_peer(struct ofi_link *ofi, int rank);
tern_status      tern_ofi_address(struct ofi_link *ofi, struct ofi_peer *peer);

/* region.c. Register memory for the access given; *mr is NULL where the provider needs no registration for it. */
tern_status tern_ofi_register(struct ofi_link *ofi, const void *addr, size_t len, uint64_t access, struct fid_mr **mr);
void        tern_ofi_unregister(struct fid_mr **mr); /* leaves NULL; of NULL does nothing */
tern_status tern_ofi_attach(struct tern_link *link, const struct tern_mem_handle *card, const char *path_name,
                            struct tern_link_part *part);
void        tern_ofi_detach(struct tern_link *link, struct tern_link_part *part);
tern_status tern_ofi_expose(struct tern_link *link, struct tern_mem_handle *card);
void        tern_ofi_unexpose(struct tern_link *link, uint64_t region);
void        tern_ofi_regions_close(struct ofi_link *ofi);

/* work_request.c. A piece for the peer; NULL: there is none now, and this rank's bell rings when one is given back.
 * The lock is held in take and give. */
struct ofi_wr *tern_ofi_wr_alloc(struct ofi_link *ofi, struct ofi_peer *peer);
void           tern_ofi_wr_free(struct ofi_link *ofi, struct ofi_wr *piece);
tern_status    tern_ofi_wr_pool_open(struct ofi_link *ofi);
void           tern_ofi_wr_pool_unregister(struct ofi_link *ofi); /* nothing is under way any more */
void           tern_ofi_wr_pool_close(struct ofi_link *ofi);

/* rma.c and completion.c. The lock is held in pump and in those of operations. */
tern_status tern_ofi_rma_open(struct ofi_link *ofi);
void        tern_ofi_rma_close(struct ofi_link *ofi);
void        tern_ofi_rma_pump(struct ofi_link *ofi);
void        tern_ofi_op_free(struct ofi_link *ofi, struct ofi_op *op);
void        tern_ofi_op_unlist(struct ofi_op *op); /* it is none of its lane's any more */
void        tern_ofi_op_fail(struct ofi_op *op, int error, const char *why);
tern_status tern_ofi_peer_gone(int rank);
tern_status tern_ofi_lane_open(struct tern_link *link, struct tern_lane **out);
void        tern_ofi_lane_close(struct tern_lane *lane);
void        tern_ofi_lane_progress(struct tern_lane *lane);
void        tern_ofi_lane_cancel(struct tern_lane *lane, struct tern_link_op *op);
/* The nanoseconds until a lane has to see to an operation of its own accord, because no completion will tell of it;
 * OFI_NEVER: none has to. Rings where that is now. The lock is held. */
int64_t     tern_ofi_lanes_due(struct ofi_link *ofi);

/* rma.c, for errands: the lock is held in all of them. The operation is under way; hand what it has to the provider,
 * or wait for that; see whether it has ended. */
void tern_ofi_op_enlist(struct ofi_op *op);
void tern_ofi_op_pump(struct ofi_link *ofi, struct ofi_op *op);
void tern_ofi_op_settle(struct ofi_link *ofi, struct ofi_op *op);

/* atomic.c: the slots of the contract; and, for rma.c, under the lock: hand one to the provider, and its answer to
 * whoever waits. */
bool        tern_ofi_atomics(struct tern_link *link, unsigned type, uint32_t ops, char *why, size_t size);
tern_status tern_ofi_atomic_start(struct tern_lane *lane, const struct tern_link_atomic *atomic,
                                  struct tern_link_op *op);
ssize_t     tern_ofi_atomic_post(struct ofi_link *ofi, struct ofi_op *op, struct ofi_wr *piece);
void        tern_ofi_atomic_answer(struct ofi_op *op, const struct ofi_wr *piece);

/* rma.c: start a transfer or, if it is not NULL, an atomic operation; the lock is held. */
tern_status tern_ofi_op_start(struct ofi_lane *lane, const struct tern_xfer *xfer,
                              const struct tern_link_atomic *atomic, struct tern_link_op *op);

/* rpc_client.c: as initiator. The lock is held in all but the first two. */
tern_status tern_ofi_rpc_open(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op);
void        tern_ofi_rpc_send(struct tern_lane *lane, struct tern_link_op *op, size_t request, size_t expect);
ssize_t     tern_ofi_rpc_post(struct ofi_link *ofi, struct ofi_op *op); /* hand it to the provider */
void        tern_ofi_rpc_response(struct ofi_link *ofi, struct ofi_peer *peer, const struct ofi_decoded *mail,
                                  const unsigned char *bytes);
void        tern_ofi_rpc_forget(struct ofi_link *ofi, struct ofi_op *op);             /* the peer is gone */
void        tern_ofi_rpc_check(struct ofi_link *ofi, struct ofi_op *op, int64_t now); /* it may be */
int64_t     tern_ofi_rpc_due(const struct ofi_op *op); /* when to check it; OFI_NEVER: no need */
void        tern_ofi_rpc_buf_free(struct ofi_link *ofi, struct ofi_rpc_buf *room);
void        tern_ofi_rpc_client_unregister(struct ofi_link *ofi); /* nothing is under way any more */
void        tern_ofi_rpc_client_close(struct ofi_link *ofi);

/* rpc_server.c: as target. The lock is held. False: it cannot be, or there is no memory. */
bool tern_ofi_rpc_serve(struct ofi_link *ofi, struct ofi_peer *peer, const struct ofi_decoded *mail,
                        const unsigned char *request);
void tern_ofi_rpc_server_pump(struct ofi_link *ofi);
bool tern_ofi_rpc_server_waits(const struct ofi_link *ofi);
void tern_ofi_rpc_server_unregister(struct ofi_link *ofi); /* nothing is under way any more */
void tern_ofi_rpc_server_close(struct ofi_link *ofi);

/* mr_cache.c. The registration that covers the range, made now if need be; NULL: it cannot be registered. *cached is
 * to be given back, unless it is NULL. The lock is held. */
struct fid_mr *tern_ofi_mr_cache_get(struct ofi_link *ofi, const void *addr, size_t len, struct ofi_mr_entry **cached);
void           tern_ofi_mr_cache_put(struct ofi_link *ofi, struct ofi_mr_entry *cached);
void           tern_ofi_mr_cache_invalidate(struct ofi_link *ofi, const void *addr, size_t len);
void           tern_ofi_mr_cache_close(struct ofi_link *ofi);

/* message.c: a note that is to come with a put; false: there is no room for it. And one that was not sent. The lock is
 * held. */
bool tern_ofi_notify_credit_take(struct ofi_link *ofi, struct ofi_peer *peer);
void tern_ofi_notify_credit_return(struct ofi_peer *peer);

/* msg_send.c: what is sent. The lock is held in all of them. */
tern_status tern_ofi_tx_make(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel);
void        tern_ofi_tx_unregister(struct ofi_peer *peer);
void        tern_ofi_tx_drop(struct ofi_peer *peer);
void        tern_ofi_tx_pump(struct ofi_link *ofi);
/* Send bytes that may be overwritten at once, at most TERN_OFI_BOUNCE of them. Returns what libfabric returned;
 * -FI_EAGAIN where nothing is free to copy them into. */
ssize_t     tern_ofi_send_copy(struct ofi_link *ofi, struct ofi_peer *peer, const void *bytes, size_t len);
void        tern_ofi_tx_kick(struct ofi_link *ofi, struct ofi_peer *peer);
/* Have a control message sent: OFI_DUE_CREDIT, or OFI_DUE_CREDIT_REQUEST shifted by the channel. */
void        tern_ofi_tx_due(struct ofi_link *ofi, struct ofi_peer *peer, unsigned what);
/* The peer has handled so many messages of a channel, modulo 2^32. False: that cannot be. */
bool        tern_ofi_tx_ack(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel, uint32_t number);

/* msg_recv.c: what comes. The lock is held in all of them. */
tern_status        tern_ofi_rx_open(struct ofi_link *ofi);
void               tern_ofi_rx_close(struct ofi_link *ofi);
void               tern_ofi_rx_drop(struct ofi_peer *peer);
void               tern_ofi_rx_pump(struct ofi_link *ofi);
int64_t            tern_ofi_rx_due(const struct ofi_link *ofi); /* when it is to be pumped; OFI_NEVER. Locked */
struct ofi_rx_msg *tern_ofi_rx_next(struct ofi_link *ofi, unsigned channel); /* NULL: none */
/* The oldest note or tagged message of a sender that was not passed over in this pass, which stays; and the target has
 * taken it. */
struct ofi_rx_msg *tern_ofi_rx_peek(const struct ofi_link *ofi, unsigned channel);
void               tern_ofi_rx_taken(struct ofi_link *ofi, struct ofi_rx_msg *letter);
void               tern_ofi_rx_done(struct ofi_link *ofi, struct ofi_rx_msg *letter);
/* The network fails for all peers: whoever delivers messages next tells. The first failure counts. */
void               tern_ofi_rx_fail(struct ofi_link *ofi, const char *what, const char *why);
/* Completion data of a put have come. */
void               tern_ofi_rx_put_notify(struct ofi_link *ofi, uint64_t data);

/* message.c: the slots of the contract. */
tern_status tern_ofi_messages_open(struct ofi_link *ofi);
void        tern_ofi_messages_close(struct ofi_link *ofi);
size_t      tern_ofi_msg_max_data(struct tern_link *link, int peer, unsigned channel);
tern_status tern_ofi_msg_open(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max);
void        tern_ofi_msg_send(struct tern_link *link, const struct tern_link_msg *msg, size_t len);
void        tern_ofi_msg_drop(struct tern_link *link, const struct tern_link_msg *msg);
tern_status tern_ofi_msg_short(struct tern_link *link, int peer, unsigned channel, uint64_t first, const uint32_t *rest,
                               unsigned count);
void        tern_ofi_msg_poll(struct tern_link *link);
bool        tern_ofi_msg_flushed(struct tern_link *link);
bool        tern_ofi_msg_pending(struct tern_link *link, int peer, unsigned channel);

/* progress.c. Read the completion queue and send what waits, if no other thread is doing so. */
void        tern_ofi_poll(struct ofi_link *ofi);
/* The same with the lock held; returns the number of completions. */
unsigned    tern_ofi_poll_locked(struct ofi_link *ofi);
void        tern_ofi_ring(struct ofi_link *ofi); /* this rank's own bell */
tern_status tern_ofi_progress_thread_start(struct ofi_link *ofi);
void        tern_ofi_progress_thread_stop(struct ofi_link *ofi);
int64_t     tern_ofi_may_sleep(struct tern_link *link);

#endif

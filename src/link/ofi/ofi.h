/* ofi.h: the link between nodes, implemented over libfabric.
 *
 * Each process has one endpoint for all traffic (endpoint.c). Regions are registered once (region.c). Puts and gets
 * become RMA writes and reads, divided into work requests (rma.c, work_request.c). Messages are sent from a ring at
 * the sender and copied into ofi_rx_msg records at the receiver (message.c). RPCs are executed at the target by the
 * thread that polls there (rpc_client.c, rpc_server.c). All completions arrive in one completion queue, which any
 * thread may poll: a thread that waits, or the progress thread (progress.c), which sleeps while nothing happens. A
 * peer takes no resources until its first use.
 *
 * One lock, ofi->lock, protects the state of the link and every call of libfabric. Providers serialize calls with
 * such a lock anyway, and a single lock keeps the rest simple: a field that is protected by the
 * lock may be accessed by any thread that holds it. "The lock" below always means ofi->lock.
 */
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
#include "base/list.h"
#include "base/options.h"
#include "base/spsc_ring.h"
#include "boot/fabric.h"
#include "boot/helper.h"
#include "link/link.h"
#include "link/ofi/wire.h"

struct ofi_link;

/* What the completion queue reports about a finished operation. */
struct ofi_comp {
    uint64_t    flags;
    size_t      len;
    const void *buffer; /* the received message */
    int         error;  /* 0, or a positive libfabric error number */
    char        why[80];
};

/* Identifies an operation that is posted to the provider. The provider owns context until the operation completes. */
struct ofi_comp_ctx {
    struct fi_context2 context;
    void (*ended)(struct ofi_link *ofi, struct ofi_comp_ctx *comp_ctx, const struct ofi_comp *comp);
};

/* endpoint.c: the opened libfabric objects, and the capabilities of the provider. */
struct ofi_endpoint {
    struct tern_fabric fabric;
    struct fi_info    *info;
    struct fid_fabric *fid;
    struct fid_domain *domain;
    struct fid_av     *av;
    struct fid_cq     *cq;
    struct fid_ep     *ep;
    int                wait_fd;   /* descriptor for sleeping until a completion arrives; -1: none */
    bool               mr_local;  /* the provider requires descriptors of local memory */
    bool               delivers;  /* writes are posted with FI_DELIVERY_COMPLETE */
    size_t             inject;    /* longest message that is sent with fi_inject(), in bytes */
    size_t             rma;       /* longest write that is posted with FI_INJECT, in bytes */
    uint64_t           key_mask;  /* bits that a key chosen by us may have */
    unsigned           data_bits; /* bits of remote completion data that a write can carry; 0: none */
    size_t ordered[2][2]; /* [first is a get][second is a get]: lengths up to which the second cannot overtake */
};

/* A work request: the part of a transfer that is covered by one operation of the provider. It has a bounce buffer
 * for small transfers. */
struct ofi_wr {
    struct ofi_comp_ctx  comp_ctx; /* must be first */
    struct ofi_wr       *next;     /* on the free list */
    struct ofi_op       *op;
    struct ofi_peer     *peer;   /* the target */
    unsigned char       *bounce; /* buffer of ofi->bounce bytes */
    void                *desc;   /* descriptor of the bounce buffer; NULL: not needed */
    size_t               offset, len;
    bool                 bounced;
    struct ofi_mr_entry *cached; /* MR cache entry of the local memory; NULL: none */
};

/* An outstanding transfer, atomic operation or RPC. The record lives until its last work request completes, even if
 * the core no longer waits for the operation. */
struct ofi_op {
    struct tern_link_op    *op; /* NULL: the core no longer waits for the operation */
    struct tern_xfer        xfer;
    struct ofi_lane        *lane;
    struct ofi_peer        *peer;
    struct ofi_rpc_buf     *rpc_buf; /* buffer of an RPC; NULL: the operation is not an RPC */
    struct tern_link_atomic atomic;  /* atomic.op is 0 for puts and gets */
    struct ofi_wr          *next_wr; /* allocated for the next post; NULL: none */
    size_t                  started;
    unsigned                in_flight; /* posted work requests; of an RPC: outstanding send and response */
    bool                    flushing;  /* a put without delivery completion: the flushing read is posted */
    bool                    cancelled; /* post no further work requests */
    bool                    keeps;     /* owns xfer.local, which is freed after the last completion */
    bool                    waits;     /* on the link's waiting list, because the provider was busy */
    int                     error;     /* the first error, as in ofi_comp */
    char                    why[80];
    int64_t                 give_up_at;   /* time to give up, after the peer is gone or an error occurred; 0: not set */
    struct ofi_op          *next, **link; /* on the lane's list of outstanding operations */
    struct ofi_op          *waiting;      /* on the link's waiting list, or on the free list */
    struct ofi_op          *finished;     /* on the lane's stack of finished operations */
};

/* The initiator's buffer of an RPC. The request is written into the buffer and sent from it, and the target writes a
 * long response into the buffer. */
struct ofi_rpc_buf {
    struct ofi_comp_ctx comp_ctx; /* must be first; context of the request's send */
    struct ofi_op       op;
    struct ofi_rpc_buf *next;  /* on the free list */
    unsigned char      *bytes; /* the request message: ofi_header, ofi_rpc_request, request */
    struct fid_mr      *mr;
    uint16_t            number;          /* index of the buffer in ofi_rpc.buf */
    uint16_t            uses;            /* how many times the buffer was used, modulo 2^16 */
    bool                small;           /* the buffer is a small one */
    bool                posted;          /* the request is with the provider, or was sent */
    bool                awaits_response; /* the response has not arrived */
    size_t              request;
    int64_t             asked; /* when the request was sent, or the peer was last probed */
};

/* An RPC that a peer has sent to this rank. */
struct ofi_rpc_call {
    struct ofi_rpc_call    *next;
    struct ofi_peer        *peer;
    struct ofi_rpc_request  request_head;
    uint16_t                number, uses; /* of the peer's buffer */
    bool                    fetch;        /* the request must be read from the peer's buffer */
    struct ofi_rpc_response response;
    unsigned char           request[]; /* the request, if the message carried it; later a small response */
};

/* A server slot, in which a call is executed. */
struct ofi_rpc_slot {
    struct ofi_comp_ctx  comp_ctx; /* must be first; context of the outstanding read, write or send */
    struct ofi_rpc_slot *next;     /* on the free list, or on the list of stuck slots */
    struct ofi_rpc_slot *made;     /* the slot that was created before this one */
    struct ofi_rpc_call *call;     /* NULL: the slot is free */
    unsigned char       *bytes;    /* the request, followed by the response with space for its message header */
    struct fid_mr       *mr;
    bool                 telling;
    ssize_t (*step)(struct ofi_link *ofi, struct ofi_rpc_slot *slot); /* the next step of the call */
};

/* rpc_client.c and rpc_server.c. Buffers and slots are allocated on demand. */
struct ofi_rpc {
    size_t               buf_bytes; /* maximum size of a request and its response together */
    struct ofi_rpc_buf **buf;       /* [bufs] */
    unsigned             bufs;
    struct ofi_rpc_buf  *free_bufs;
    struct ofi_slab     *slabs; /* memory of the small buffers, which are also in buf */
    unsigned             small_bufs;
    struct ofi_rpc_buf  *free_small_bufs;
    _Atomic bool         wanted;      /* a thread may sleep until a buffer is free */
    struct ofi_rpc_slot *newest_slot; /* head of the list of all slots */
    unsigned             slots;
    struct ofi_rpc_slot *free_slots;
    struct ofi_rpc_slot *stuck;                      /* slots whose post the provider refused */
    struct ofi_rpc_call *calls, **calls_end;         /* calls that wait for a slot */
    struct ofi_rpc_call *responses, **responses_end; /* executed calls whose response the provider refused */
};

#define OFI_NEVER INT64_MAX
#define OFI_NOTICE_NS 1000000000ll /* the launcher reports a death within this time */
#define OFI_CALLED INT64_MIN       /* the lane's thread was woken, and has not polled yet */

struct ofi_lane {
    struct ofi_link         *ofi;
    struct ofi_lane         *next, **link; /* on the link's list of lanes; protected by the lock */
    struct ofi_op           *first;        /* outstanding operations; protected by the lock */
    _Atomic(struct ofi_op *) finished;     /* pushed by the thread that polls the CQ, popped by the lane's thread */
    struct ofi_op           *kept;         /* popped, but not reported yet; accessed by the lane's thread only */
    uint32_t                 losses;       /* value of the segment's losses at the last check of the peers */
    uint32_t                 looks;
    /* Time of the next check of the peers: OFI_NEVER, OFI_CALLED, or a time. Written under the lock. */
    _Atomic int64_t          roll_at;
    /* When the first operation in kept must be reported at the latest; OFI_NEVER: kept is empty. */
    _Atomic int64_t          judge_at;
};

/* Memory of this rank that is registered for remote access. */
struct ofi_exposed {
    struct ofi_exposed *next;
    uint64_t            region, addr, size, origin;
    struct fid_mr      *mr;
};

/* mr_cache.c: local memory that is registered for transfers. */
struct ofi_mr_entry {
    struct ofi_mr_entry *next, **link; /* in order of use, the most recent first */
    uintptr_t            from, to;
    unsigned             uses;  /* work requests and reads that use the entry */
    bool                 stale; /* the entry must not be used for new transfers */
    struct fid_mr       *mr;
};

struct ofi_mr_cache {
    struct ofi_mr_entry *first;
    size_t               bytes; /* total size of the registered memory */
};

/* The send of one cell of a tx channel. */
struct ofi_tx_cell {
    struct ofi_comp_ctx comp_ctx; /* must be first */
    struct ofi_peer    *peer;
    _Bool               in_flight; /* the provider still reads from the cell */
};

/* One channel of messages to a peer: a ring whose cells are freed when the peer has consumed their messages. */
struct ofi_tx_channel {
    struct tern_ring_mp_producer ring;                      /* any thread reserves space */
    struct tern_ring_consumer    cells;                     /* cells.next: the oldest cell that is in use */
    uint64_t                     next;                      /* the first cell that is not sent */
    uint64_t                     transmitted, acked, freed; /* messages sent, acknowledged by the peer, and freed */
    struct ofi_tx_cell          *sent;                      /* [cells]; NULL: the channel's messages carry no data */
    bool                         credit_requested;          /* a CREDIT_REQUEST is outstanding */
};

/* One channel of messages from a peer. credited is the value of consumed that was last sent to the peer. */
struct ofi_rx_channel {
    uint64_t           received, consumed, credited; /* numbers of messages */
    uint64_t           bytes;                        /* bytes of received messages that are not consumed */
    uint64_t           uncredited_bytes;             /* bytes consumed since the last credit */
    bool               credit_requested;             /* the peer waits for a credit */
    struct ofi_rx_msg *early;                        /* must wait for an earlier message; by sequence number */
};

enum { OFI_DUE_CREDIT = 1, OFI_DUE_CREDIT_REQUEST = 2 }; /* CREDIT_REQUEST is shifted left by the channel */

struct ofi_peer {
    int                   rank;
    bool                  known;   /* addr is valid */
    bool                  broken;  /* messages were lost; no more are sent */
    bool                  queued;  /* on the work list of peers to which something must be sent */
    uint8_t               due;     /* control messages that must be sent: OFI_DUE_* */
    char                  why[80]; /* why the connection broke */
    fi_addr_t             addr;
    uint64_t              token_out, token_in;
    unsigned              wrs;            /* work requests that are allocated for this peer */
    unsigned              rpc_bufs;       /* large RPC buffers that hold RPCs to this peer */
    unsigned              small_rpc_bufs; /* small RPC buffers that hold RPCs to this peer */
    unsigned              rpc_calls;      /* calls from this peer that are not answered */
    unsigned              rpc_slots;      /* calls from this peer that have a slot */
    /* Memory of the tx rings; NULL: nothing sent yet. The reply ring is in the memory of the request ring. */
    unsigned char        *rings[TERN_CHANNELS];
    struct fid_mr        *rings_mr[TERN_CHANNELS]; /* registrations of the rings that hold data */
    _Atomic bool          ready[TERN_CHANNELS];    /* the tx ring exists */
    struct ofi_tx_channel out[OFI_COUNTED];        /* the last one has no ring */
    struct ofi_rx_channel in[OFI_COUNTED];
    /* The last pass in which the core refused a message of this peer. Accessed by the delivering thread only. */
    uint32_t              passed[TERN_CHANNELS];
    struct ofi_peer      *next; /* on the work list */
};

/* A received message. The first 64 bytes of bytes[] are laid out as on the wire, so that head and data are aligned. */
struct ofi_rx_msg {
    struct ofi_comp_ctx    comp_ctx; /* must be first; context of the read that fetches the data */
    struct ofi_rx_msg     *next;
    struct ofi_rx_msg     *next_fetch; /* on the fetches list or on the failed list */
    int64_t                judge_at;   /* when a failed read becomes an error of the link, if the sender is alive */
    struct ofi_peer       *from;
    struct ofi_remote_data remote;
    struct ofi_mr_entry   *cached; /* MR cache entry of the message's memory; NULL: none */
    size_t                 len;    /* length of the data */
    size_t                 capacity;
    uint16_t               seq;
    uint8_t                channel;
    bool                   whole; /* all data have arrived */
    _Alignas(64) unsigned char bytes[];
};

/* The received messages of one channel, from all senders. */
struct ofi_queue {
    struct tern_link_watch watch; /* must be first; watches count */
    struct ofi_rx_msg     *first, **last;
    _Atomic uint32_t       count;
};

/* A buffer that the provider fills with messages. */
struct ofi_rx {
    struct ofi_comp_ctx comp_ctx; /* must be first */
    unsigned char      *bytes;
    bool                idle; /* must be posted */
};

#define OFI_RX 4       /* receive buffers that are posted */
#define OFI_RX_MOST 16 /* maximum, including replacements after failed receives */

struct ofi_msg {
    size_t                 ring_bytes[TERN_CHANNELS];
    struct tern_ring_shape shape[OFI_COUNTED];
    struct ofi_rx          rx[OFI_RX_MOST];
    unsigned               rx_used; /* elements of rx in use; the others were never posted */
    size_t                 rx_bytes;
    unsigned               idle; /* number of idle buffers */
    struct fid_mr         *rx_mr;
    struct ofi_queue       queue[TERN_CHANNELS];
    /* Number of the delivery pass over notifications and tagged messages. Accessed by the delivering thread only. */
    uint32_t               pass[TERN_CHANNELS];
    struct ofi_rx_msg     *spare; /* free small messages */
    unsigned               spares;
    struct ofi_rx_msg     *fetches; /* messages whose read must be started */
    struct ofi_rx_msg     *failed;  /* messages whose read failed, until it is known whether the sender is dead */
    struct ofi_peer       *work, **work_end; /* peers to which something must be sent */
    tern_status            damage;           /* the first fatal error, which the next delivery returns */
    char                   why[160];
    uint64_t               strangers; /* number of messages dropped because they are not of this job */
};

/* The progress thread. */
struct ofi_progress_thread {
    struct tern_helper        helper; /* must be first */
    struct tern_helper_poller poller;
    int                       wake;  /* eventfd */
    int                       edges; /* edge-triggered epoll on the CQ's descriptor: readable since the last call? */
    bool                      arrived, more; /* data have arrived, or the CQ had more entries, before the next poll */
    _Atomic bool              watching;      /* the thread sleeps on the descriptor */
    struct tern_activity      activity;      /* polls of the CQ by the program */
    _Atomic uint32_t          bell, naps;    /* an eventcount that ends a nap */
};

struct ofi_link {
    const struct tern_boot     *boot;
    const struct tern_link_up  *up;
    int                         rank, ranks;
    struct ofi_endpoint         endpoint;
    pthread_mutex_t             lock; /* protects all fields below that are not atomic, and every call of libfabric */
    _Atomic(struct ofi_peer *) *peer; /* [ranks]; NULL: not used yet. Written under the lock */
    struct ofi_lane            *lanes;
    struct ofi_exposed         *exposed;
    size_t                      bounce; /* longest transfer that uses a bounce buffer, in bytes */
    size_t                      chunk;  /* size of a work request of longer transfers, in bytes */
    struct ofi_wr_slab         *wr_slabs;
    struct ofi_wr              *free_wrs;
    /* Work requests that may be allocated in total, and that are guaranteed to each peer. */
    unsigned                    window, share;
    unsigned                    wrs_taken;
    _Atomic bool                wr_wanted;
    struct ofi_op              *free_ops, *waiting, **waiting_end;
    struct ofi_op_slab         *op_slabs;
    struct ofi_mr_cache         mr_cache;
    struct ofi_msg              msg;
    struct ofi_rpc              rpc;
    struct ofi_progress_thread  progress_thread;
    /* A lane has just polled the CQ, and its thread polls for messages next, which needs no second poll. */
    _Atomic bool                fresh;
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

/* Returns true if the rank serves no more requests: it has left, or it is dead and the job continues without it. */
static inline bool tern_ofi_gone(const struct ofi_link *ofi, int rank)
{
    return tern_boot_gone(ofi->boot, rank);
}

/* endpoint.c: open the endpoint, publish its address to the other ranks, and close it. tern_ofi_fail() converts a
 * libfabric return code into a tern_status and sets the error text. */
tern_status tern_ofi_endpoint_open(struct ofi_link *ofi);
tern_status tern_ofi_publish(struct ofi_link *ofi);
void        tern_ofi_endpoint_close(struct ofi_link *ofi);
tern_status tern_ofi_fail(const struct ofi_link *ofi, int64_t rc, const char *call);
const char *tern_ofi_why(const struct ofi_link *ofi, int error); /* text of a positive libfabric error number */

/* endpoint.c. tern_ofi_peer() returns the record of a peer, which it creates at the first use, or NULL if there is
 * no memory. tern_ofi_address() makes peer->addr valid; it returns TERN_AGAIN if the rank has not published its
 * address yet, or an error. The caller must hold the lock. */
struct ofi_peer *tern_ofi_peer(struct ofi_link *ofi, int rank);
tern_status      tern_ofi_address(struct ofi_link *ofi, struct ofi_peer *peer);

/* region.c. tern_ofi_register() registers memory for the given access, and sets *mr to NULL on error. The other
 * functions but the last are those of the link interface. */
tern_status tern_ofi_register(struct ofi_link *ofi, const void *addr, size_t len, uint64_t access, struct fid_mr **mr);
void        tern_ofi_unregister(struct fid_mr **mr); /* sets *mr to NULL; *mr may be NULL */
tern_status tern_ofi_attach(struct tern_link *link, const struct tern_mem_handle *handle, const char *path_name,
                            struct tern_link_part *part);
tern_status tern_ofi_expose(struct tern_link *link, struct tern_mem_handle *handle);
void        tern_ofi_unexpose(struct tern_link *link, uint64_t region);
void        tern_ofi_regions_close(struct ofi_link *ofi);

/* work_request.c. tern_ofi_wr_alloc() returns a work request for the peer, or NULL if none is available; in that
 * case this rank's bell rings when one is freed. tern_ofi_wr_free() also releases the MR cache entry of the work
 * request. The caller of alloc and free must hold the lock. */
struct ofi_wr *tern_ofi_wr_alloc(struct ofi_link *ofi, struct ofi_peer *peer);
void           tern_ofi_wr_free(struct ofi_link *ofi, struct ofi_wr *wr);
tern_status    tern_ofi_wr_pool_open(struct ofi_link *ofi);
void           tern_ofi_wr_pool_unregister(struct ofi_link *ofi); /* nothing may be in flight */
void           tern_ofi_wr_pool_close(struct ofi_link *ofi);

/* rma.c and completion.c. The caller of tern_ofi_rma_pump(), which retries waiting operations, and of the tern_ofi_op
 * functions must hold the lock. The lane functions are those of the link interface. */
tern_status tern_ofi_rma_open(struct ofi_link *ofi);
void        tern_ofi_rma_close(struct ofi_link *ofi);
void        tern_ofi_rma_pump(struct ofi_link *ofi);
void        tern_ofi_op_free(struct ofi_link *ofi, struct ofi_op *op);
void        tern_ofi_op_unlist(struct ofi_op *op);                           /* remove op from its lane */
void        tern_ofi_op_fail(struct ofi_op *op, int error, const char *why); /* record the first error */
tern_status tern_ofi_peer_gone(int rank); /* sets the error text and returns TERN_ERR_PEER */
tern_status tern_ofi_lane_open(struct tern_link *link, struct tern_lane **out);
void        tern_ofi_lane_close(struct tern_lane *lane);
void        tern_ofi_lane_progress(struct tern_lane *lane);
void        tern_ofi_lane_cancel(struct tern_lane *lane, struct tern_link_op *op);
/* Returns the number of nanoseconds until a lane must check an operation on its own, because no completion will
 * report it, or OFI_NEVER if there is no such operation. Rings the bell if a lane must do so now. The caller must
 * hold the lock. */
int64_t     tern_ofi_lanes_due(struct ofi_link *ofi);

/* rma.c, for RPCs. enlist adds the operation to its lane's list of outstanding operations. pump posts as much of the
 * operation as the provider accepts, and puts the rest on the waiting list. settle finishes the operation if nothing
 * is left to do. The caller must hold the lock. */
void tern_ofi_op_enlist(struct ofi_op *op);
void tern_ofi_op_pump(struct ofi_link *ofi, struct ofi_op *op);
void tern_ofi_op_settle(struct ofi_link *ofi, struct ofi_op *op);

/* atomic.c: the atomic functions of the link interface. For rma.c: tern_ofi_atomic_post() posts an atomic operation,
 * and tern_ofi_atomic_answer() passes its result to the core; the caller of these two must hold the lock. */
bool        tern_ofi_atomics(struct tern_link *link, unsigned type, uint32_t ops, char *why, size_t size);
tern_status tern_ofi_atomic_start(struct tern_lane *lane, const struct tern_link_atomic *atomic,
                                  struct tern_link_op *op);
ssize_t     tern_ofi_atomic_post(struct ofi_link *ofi, struct ofi_op *op, struct ofi_wr *wr);
void        tern_ofi_atomic_answer(struct ofi_op *op, const struct ofi_wr *wr);

/* rma.c: start a transfer, or an atomic operation if atomic is not NULL. Returns TERN_PENDING if the operation is
 * outstanding, TERN_AGAIN if resources are exhausted, or an error. The caller must hold the lock. */
tern_status tern_ofi_op_start(struct ofi_lane *lane, const struct tern_xfer *xfer,
                              const struct tern_link_atomic *atomic, struct tern_link_op *op);

/* rpc_client.c: the initiator's side of RPCs. The first two functions are those of the link interface. The caller of
 * the others must hold the lock, except for unregister and close, which run when no other thread uses the link. */
tern_status tern_ofi_rpc_open(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op);
void        tern_ofi_rpc_send(struct tern_lane *lane, struct tern_link_op *op, size_t request, size_t expect);
ssize_t     tern_ofi_rpc_post(struct ofi_link *ofi, struct ofi_op *op); /* post the request; returns libfabric's code */
void        tern_ofi_rpc_response(struct ofi_link *ofi, struct ofi_peer *peer, const struct ofi_decoded *decoded,
                                  const unsigned char *bytes);
void        tern_ofi_rpc_forget(struct ofi_link *ofi, struct ofi_op *op);             /* give up op: its peer is gone */
void        tern_ofi_rpc_check(struct ofi_link *ofi, struct ofi_op *op, int64_t now); /* probe a silent peer */
int64_t     tern_ofi_rpc_due(const struct ofi_op *op); /* when to call check; OFI_NEVER: no need */
void        tern_ofi_rpc_buf_free(struct ofi_link *ofi, struct ofi_rpc_buf *buf);
void        tern_ofi_rpc_client_unregister(struct ofi_link *ofi); /* nothing may be in flight */
void        tern_ofi_rpc_client_close(struct ofi_link *ofi);

/* rpc_server.c: the target's side of RPCs. tern_ofi_rpc_serve() returns false if the request is invalid or there is
 * no memory. pump retries what the provider refused, and waits says whether there is something to retry. The caller
 * must hold the lock, except for unregister and close, which run when no other thread uses the link. */
bool tern_ofi_rpc_serve(struct ofi_link *ofi, struct ofi_peer *peer, const struct ofi_decoded *decoded,
                        const unsigned char *request);
void tern_ofi_rpc_server_pump(struct ofi_link *ofi);
bool tern_ofi_rpc_server_waits(const struct ofi_link *ofi);
void tern_ofi_rpc_server_unregister(struct ofi_link *ofi); /* nothing may be in flight */
void tern_ofi_rpc_server_close(struct ofi_link *ofi);

/* mr_cache.c. tern_ofi_mr_cache_get() returns a registration that covers the range, and creates one if necessary. It
 * returns NULL if the range cannot be registered. The caller must release *cached with tern_ofi_mr_cache_put(),
 * unless it is NULL. invalidate excludes the range's registrations from further use. The caller must hold the lock,
 * except for close. */
struct fid_mr *tern_ofi_mr_cache_get(struct ofi_link *ofi, const void *addr, size_t len, struct ofi_mr_entry **cached);
void           tern_ofi_mr_cache_put(struct ofi_link *ofi, struct ofi_mr_entry *cached);
void           tern_ofi_mr_cache_invalidate(struct ofi_link *ofi, const void *addr, size_t len);
void           tern_ofi_mr_cache_close(struct ofi_link *ofi);

/* message.c: flow control of notifications that are sent with a put. take returns false if the peer's queue has no
 * space for another notification. return gives back the credit of a notification that was not sent. The caller must
 * hold the lock. */
bool tern_ofi_notify_credit_take(struct ofi_link *ofi, struct ofi_peer *peer);
void tern_ofi_notify_credit_return(struct ofi_peer *peer);

/* msg_send.c: the sending side of messages. tern_ofi_tx_make() creates the rings of a channel. The caller must hold
 * the lock, except for unregister and drop, which run when no other thread uses the link. */
tern_status tern_ofi_tx_make(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel);
void        tern_ofi_tx_unregister(struct ofi_peer *peer);
void        tern_ofi_tx_drop(struct ofi_peer *peer);
void        tern_ofi_tx_pump(struct ofi_link *ofi);
/* Send a copy of at most TERN_OFI_BOUNCE bytes; the caller may overwrite the bytes immediately. Returns libfabric's
 * return code, or -FI_EAGAIN if no work request is available to hold the copy. */
ssize_t     tern_ofi_send_copy(struct ofi_link *ofi, struct ofi_peer *peer, const void *bytes, size_t len);
/* Send what is pending for the peer, unless the peer waits on the work list. tern_ofi_tx_pump() sends to the peers on
 * that list. */
void        tern_ofi_tx_kick(struct ofi_link *ofi, struct ofi_peer *peer);
/* Schedule a control message: OFI_DUE_CREDIT, or OFI_DUE_CREDIT_REQUEST shifted left by the channel. */
void        tern_ofi_tx_due(struct ofi_link *ofi, struct ofi_peer *peer, unsigned what);
/* The peer has consumed the given number of messages of the channel, modulo 2^32. Returns false if so many were not
 * sent. */
bool        tern_ofi_tx_ack(struct ofi_link *ofi, struct ofi_peer *peer, unsigned channel, uint32_t number);

/* msg_recv.c: the receiving side of messages. The caller must hold the lock, except for open, close and drop, which
 * run when no other thread uses the link. */
tern_status        tern_ofi_rx_open(struct ofi_link *ofi);
void               tern_ofi_rx_close(struct ofi_link *ofi);
void               tern_ofi_rx_drop(struct ofi_peer *peer);
void               tern_ofi_rx_pump(struct ofi_link *ofi);
int64_t            tern_ofi_rx_due(const struct ofi_link *ofi); /* when to call pump; OFI_NEVER: no need */
/* Remove the oldest message of a channel from its queue, and return it or NULL. The caller must free the message with
 * tern_ofi_rx_done(). */
struct ofi_rx_msg *tern_ofi_rx_next(struct ofi_link *ofi, unsigned channel);
/* tern_ofi_rx_peek() returns the oldest notification or tagged message from a sender that was not refused in the
 * current pass, or NULL. The message stays in the queue until tern_ofi_rx_taken() removes and frees it. */
struct ofi_rx_msg *tern_ofi_rx_peek(const struct ofi_link *ofi, unsigned channel);
void               tern_ofi_rx_taken(struct ofi_link *ofi, struct ofi_rx_msg *msg);
void               tern_ofi_rx_done(struct ofi_link *ofi, struct ofi_rx_msg *msg);
/* Record a failure of the network that affects all peers. The next delivery of messages returns it. Only the first
 * failure is recorded. */
void               tern_ofi_rx_fail(struct ofi_link *ofi, const char *what, const char *why);
/* Handle the remote completion data of a put. */
void               tern_ofi_rx_put_notify(struct ofi_link *ofi, uint64_t data);

/* message.c: the message functions of the link interface. */
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

/* progress.c and cq.c. Poll the completion queue and send what is pending, unless another thread is doing so. */
void        tern_ofi_poll(struct ofi_link *ofi);
/* Poll the completion queue and send what is pending. Returns the number of completions. The caller must hold the
 * lock. */
unsigned    tern_ofi_poll_locked(struct ofi_link *ofi);
void        tern_ofi_ring(struct ofi_link *ofi); /* ring this rank's own bell */
tern_status tern_ofi_progress_thread_start(struct ofi_link *ofi);
void        tern_ofi_progress_thread_stop(struct ofi_link *ofi);
/* A thread is about to sleep on the rank's bell. Returns for how many ns it may sleep before it must poll again. */
int64_t     tern_ofi_may_sleep(struct tern_link *link);

#endif

/* ofi.h: the link between nodes, implemented over libfabric.
 *
 * Channels, RPCs, lanes and the retry queue come from link/net. This folder contains the endpoint, which a process uses
 * for all traffic (endpoint.c), registered memory (region.c), puts, gets and atomic operations, divided into work
 * requests, and the verbs of link/net (post.c, atomic.c), and the receive buffers and the completion queue
 * (progress.c). Any thread may poll the completion queue: a thread that waits, or the progress thread, which sleeps
 * while nothing happens.
 */
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "boot/fabric.h"
#include "link/net/net.h"
#include "link/ofi/rx_extent.h"

_Static_assert(sizeof(struct fi_context2) <= sizeof(((struct net_ctx *)NULL)->space),
               "the provider's space is in the completion context");

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
    size_t             rma;       /* longest write that is posted with FI_INJECT, in bytes */
    uint64_t           key_mask;  /* bits that a key chosen by Tern may have */
    unsigned           data_bits; /* bits of remote completion data that a write can carry; 0: none */
    size_t ordered[2][2]; /* [first is a get][second is a get]: lengths up to which the second cannot overtake */
};

/* A work request: a transfer, or the part of it, that is covered by one operation of the provider. It has a bounce
 * buffer for small transfers. */
struct ofi_wr {
    struct net_ctx       ctx;    /* must be first; ctx.node is also on the list of free work requests */
    struct tern_link_op *op;     /* NULL: the core no longer waits for the operation, or the send of a message */
    unsigned char       *bounce; /* buffer of ofi->bounce bytes */
    void                *desc;   /* descriptor of the bounce buffer; NULL: not needed */
    size_t               offset, len;
    bool                 bounced;
    bool                 flush;        /* the read that follows a put, if the provider does not report delivery */
    uint8_t              type, action; /* of an atomic operation: enum fi_datatype, enum fi_op */
};

/* region.c: local memory that is registered for transfers. */
struct ofi_mr_entry {
    struct tern_list node; /* in order of use, the most recent first */
    uintptr_t        from, to;
    unsigned         uses;  /* posted operations that use the entry */
    bool             stale; /* the entry must not be used for new transfers */
    struct net_mr    mr;
};

#define OFI_RX 4       /* number of receive buffers that are posted */
#define OFI_RX_MOST 16 /* number of all receive buffers: spare ones replace buffers that cannot be posted again */

/* A buffer for received messages. The provider places the messages one behind the other. */
struct ofi_rx {
    struct net_ctx       ctx;    /* must be first */
    struct ofi_rx_extent extent; /* of the messages that have arrived since the buffer was posted */
    enum { OFI_RX_IDLE, OFI_RX_POSTED, OFI_RX_FULL, OFI_RX_FAILED } state;
};

/* The progress thread. */
struct ofi_progress_thread {
    struct net_progress_thread base;  /* must be first */
    int                        edges; /* edge-triggered epoll on the CQ's descriptor: readable since the last call? */
    bool                       arrived, more; /* data have arrived, or the CQ had more entries, before the next poll */
    _Atomic bool               watching;      /* the thread sleeps on the descriptor */
    uint32_t polls;  /* number of polls of the CQ by the program. Guarded by the lock of the link, like relied */
    bool     relied; /* a thread of the program sleeps until this one rings */
};

struct ofi_link {
    struct net_link            net; /* must be first */
    struct ofi_endpoint        endpoint;
    struct tern_list           mrs;    /* all registered memory */
    size_t                     bounce; /* longest transfer that uses a bounce buffer, in bytes */
    size_t                     chunk;  /* size of a work request of longer transfers, in bytes */
    struct ofi_wr_slab        *wr_slabs;
    struct tern_list           free_wrs;
    /* Work requests that may be allocated in total, and that are guaranteed to each peer. */
    unsigned                   window, share;
    unsigned                   wrs_taken;
    _Atomic bool               wr_wanted;
    struct ofi_kept           *kept;            /* memory of abandoned transfers */
    struct tern_list           mr_cache;        /* struct ofi_mr_entry */
    size_t                     mr_cache_bytes;  /* total size of the cached memory */
    struct ofi_rx              rx[OFI_RX_MOST]; /* their memory is in rx_mr */
    size_t                     rx_offsets;      /* all bits of the offsets of messages in these buffers */
    struct net_mr              rx_mr;
    struct ofi_progress_thread progress_thread;
};

extern const struct tern_link_path tern_ofi_path;
extern const struct net_verbs      tern_ofi_verbs;

/* Convert a struct tern_link or a struct net_link. */
static inline struct ofi_link *tern_ofi(void *link)
{
    return link;
}

/* endpoint.c: open the endpoint, publish its address to the other ranks, and close it. tern_ofi_fail() converts a
 * libfabric return code into a tern_status and sets the error text. resolve makes peer->addr valid; it returns
 * TERN_AGAIN if the rank has not published its address yet, or an error. Its caller must hold the lock. */
tern_status tern_ofi_endpoint_open(struct ofi_link *ofi);
tern_status tern_ofi_publish(struct ofi_link *ofi);
void        tern_ofi_endpoint_close(struct ofi_link *ofi);
tern_status tern_ofi_fail(const struct ofi_link *ofi, int64_t rc, const char *call);
const char *tern_ofi_why(const struct net_link *net, int error); /* text of a positive libfabric error number */
tern_status tern_ofi_resolve(struct net_link *net, struct net_peer *peer);

/* limits.c. raise raises the soft limit on open files as far as necessary and permitted. check warns, on the first rank
 * of each node, of limits that may be too low. describe writes which limit may have made a registration of memory fail,
 * or an empty text. */
void tern_ofi_limits_raise(const struct ofi_link *ofi);
void tern_ofi_limits_check(const struct ofi_link *ofi);
void tern_ofi_limits_describe(const struct ofi_link *ofi, char *text, size_t size);

/* region.c. register and unregister are the verbs reg and dereg. The others, but for close, are functions of the link
 * interface. */
tern_status tern_ofi_register(struct net_link *net, const void *addr, size_t len, unsigned access, struct net_mr *mr);
void        tern_ofi_unregister(struct net_mr *mr);
tern_status tern_ofi_attach(struct tern_link *link, const struct tern_mem_handle *handle, const char *path_name,
                            struct tern_link_part *part);
tern_status tern_ofi_grown(struct tern_link *link, const struct tern_mem_handle *handle, struct tern_link_part *part);
tern_status tern_ofi_expose(struct tern_link *link, struct tern_mem_handle *handle);
void        tern_ofi_invalidate(struct tern_link *link, const void *addr, size_t len);
void        tern_ofi_regions_close(struct ofi_link *ofi);

static inline void *tern_ofi_desc(const struct net_mr *mr)
{
    return mr && mr->handle ? fi_mr_desc(mr->handle) : NULL;
}

/* region.c. tern_ofi_mr_cache_get() returns a registration that covers the range, and creates one if necessary. It
 * returns NULL if the range cannot be registered. tern_ofi_mr_release() releases the registration; it is called for
 * every context when its operation ends, or is refused. The caller must hold the lock. */
const struct net_mr *tern_ofi_mr_cache_get(struct ofi_link *ofi, struct net_ctx *ctx, const void *addr, size_t len);
void                 tern_ofi_mr_cache_put(struct ofi_link *ofi, struct net_ctx *ctx);

static inline void tern_ofi_mr_release(struct ofi_link *ofi, struct net_ctx *ctx)
{
    if (TERN_UNLIKELY(ctx->local))
        tern_ofi_mr_cache_put(ofi, ctx);
}

/* post.c. tern_ofi_op_begin() creates an outstanding operation, and returns its first work request. It returns NULL
 * with TERN_AGAIN in *st if resources are exhausted, or with an error. tern_ofi_wr_end() frees a work request, and
 * finishes its operation if it was the last one. The caller of these two must hold the lock. */
struct ofi_wr *tern_ofi_op_begin(struct net_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op,
                                 net_post_fn *post, net_ended_fn *ended, tern_status *st);
void           tern_ofi_wr_end(struct ofi_link *ofi, struct ofi_wr *wr);
tern_status    tern_ofi_wr_pool_open(struct ofi_link *ofi);
void           tern_ofi_wr_pool_close(struct ofi_link *ofi);

/* atomic.c: the atomic functions of the link interface. */
bool        tern_ofi_atomics(struct tern_link *link, unsigned type, uint32_t ops, char *why, size_t size);
tern_status tern_ofi_atomic_start(struct tern_lane *lane, const struct tern_link_atomic *atomic,
                                  struct tern_link_op *op);

/* progress.c. rx_open starts to receive messages. drain and poll are the verbs: poll the completion queue and retry
 * what was refused. drain returns the number of completions, and its caller must hold the lock. */
tern_status tern_ofi_rx_open(struct ofi_link *ofi);
unsigned    tern_ofi_drain(struct net_link *net);
void        tern_ofi_poll(struct net_link *net);
tern_status tern_ofi_progress_thread_start(struct ofi_link *ofi);
void        tern_ofi_progress_thread_stop(struct ofi_link *ofi);
/* A thread is about to sleep on the rank's bell. Returns the number of ns for which it may sleep before it must poll
 * again. */
int64_t     tern_ofi_may_sleep(struct tern_link *link, bool memory);

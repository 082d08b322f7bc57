/* rma.h: puts, gets and network atomics: the parts of a region, the transfers, and the paths that execute them. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"
#include "boot/bell.h"

struct tern_link;
struct tern_lane;
struct tern_link_op;
struct tern_inject_notify;
struct net_lane;
struct net_peer;

/* One rank's part of a region, as an initiator needs it. */
struct tern_link_part {
    const struct tern_link_path       *path;     /* NULL: no part */
    unsigned char                     *base;     /* address for loads and stores, if tern_link_loads() permits them */
    uint64_t                           size;     /* rises when the part grows: read it by tern_link_part_size() */
    uint64_t                           reserve;  /* bytes that the part can grow to; at least size */
    uint64_t                           mapped;   /* bytes that the link mapped at base; 0: none */
    uint64_t                           offset;   /* ARENA, HUGE: offset in the file */
    uint32_t                           mem_kind; /* enum tern_mem_kind */
    uint64_t                           addr;     /* in the owner's address space */
    uint64_t                           origin;   /* tern_link_origin() */
    uint64_t                           region;   /* copied from the memory handle */
    uint64_t                           scope;    /* names the region in notifications: region of the rank's part */
    uint64_t                           key;      /* for the link: key on its network; may change when the part grows */
    uint64_t                           remote;   /* for the link: base address of the memory on its network */
    int32_t                            rank;     /* in the job */
    int32_t                            pid;
    struct tern_slot                  *slot;   /* of the rank, if the rank is on this node; NULL: on another node */
    uint32_t                           link;   /* index among the links that the job has opened */
    uint32_t                           number; /* of the region, unique in the process; 0: the part is of no region */
    /* Notifications to this part may carry inline payload: see struct tern_inject_ops. */
    bool                               inline_notify;
    struct tern_inject_notify *_Atomic inject; /* injection handle for such notifications; NULL: not requested yet */
};

/* Return whether loads and stores of this process reach the memory of a part. Every use of base checks this first:
 * memory of other kinds, such as that of a device, has no such address. */
static inline bool tern_link_loads(const struct tern_link_part *part)
{
    return part->base != NULL;
}

/* Return the length, or the key, of a part. Another thread may let the part grow meanwhile. */
static inline uint64_t tern_link_part_size(const struct tern_link_part *part)
{
    return __atomic_load_n(&part->size, __ATOMIC_RELAXED);
}

static inline uint64_t tern_link_part_key(const struct tern_link_part *part)
{
    return __atomic_load_n(&part->key, __ATOMIC_RELAXED);
}

/* Wake the threads of a part's rank that wait for a change of its memory, after writing to the part from this node. */
static inline void tern_link_written(const struct tern_link_part *part)
{
    if (part->slot)
        tern_boot_written(part->slot);
}

#define TERN_LINK_PUT_RPC_MAX 32 /* bytes of a request, at most */

/* An RPC that the target serves when the data of a put are in place, on memory of any region. */
struct tern_link_put_rpc {
    uint64_t      region; /* the owner's name for the part that the RPC accesses */
    uint32_t      len;
    unsigned char request[TERN_LINK_PUT_RPC_MAX];
};

/* One contiguous transfer whose arguments have been checked. It passes unchanged from the api to the path. */
struct tern_xfer {
    const struct tern_link_part *part;
    uint64_t                     offset;
    void                        *local; /* source of a put (never written), destination of a get */
    size_t                       len;
    bool                         get;
    /* An RPC whose request and response have at most TERN_LINK_SMALL bytes each. */
    bool                         small_rpc;
    bool        heap; /* local was allocated by malloc() for this transfer: see buffer_in_use in struct tern_link_op */
    bool        notify; /* a put that delivers its own notification; set only if the path's can_notify permits it */
    uint32_t    tag;    /* tag of that notification */
    uint64_t    notify_data; /* the notification as the path sends it; filled by can_notify */
    const char *what;        /* name of the operation in reports; NULL: put or get */
    /* A put that is complete when the target has also served this RPC; only if path->put_rpc is true. NULL: none. Valid
     * until the transfer is complete. */
    const struct tern_link_put_rpc *put_rpc;
    /* If the part has a base: called once, with the target address, instead of a copy. NULL: copy. */
    void (*visit)(const struct tern_xfer *xfer, unsigned char *there);
};

/* An outstanding transfer. The link owns it from a start that returned TERN_PENDING until it calls up->done. */
struct tern_link_op {
    struct tern_xfer xfer;
    struct tern_list node;   /* for the link's list of outstanding operations */
    size_t           copied; /* bytes of a put's source that the caller may overwrite */
    union {                  /* private to the link */
        uint64_t chunks;     /* shm: number of chunks in flight */
        uint64_t due;        /* chaos: time at which the transfer is released */
    };
    void *link_data;               /* a network: the buffer of an RPC */
    struct {                       /* a network: link/net/lane.c */
        struct tern_link_op *next; /* on the lane's stack of finished operations */
        struct net_lane     *lane;
        struct net_peer     *peer;
        size_t               started;    /* bytes that are posted */
        int64_t              give_up_at; /* time to give up, after the peer is gone or an error occurred; 0: not set */
        unsigned             in_flight;  /* work requests */
        int                  error;      /* the first error, as an error number of the network */
        bool                 atomic;     /* an atomic operation */
        bool                 cancelled;  /* post no further work requests */
    } net;
    /* Set before done, for a transfer with xfer.heap: the network may still use xfer.local. The link frees xfer.local
     * when the network no longer uses it, at the latest when the link is closed. */
    bool           buffer_in_use;
    tern_status    status; /* the first error */
    /* RPC: the buffer for the request, the size of that buffer, the length of the request, and the maximum length of
     * the response. */
    unsigned char *rpc_buf;
    size_t         rpc_bytes, request_len, response_max;
    /* Receives the response; len <= response_max. Called once, before done, by any thread, while the link is locked;
     * never called after cancel. */
    void (*on_response)(struct tern_link_op *op, const unsigned char *bytes, size_t len);
};

/* An operation that the network's own atomics execute. */
struct tern_link_atomic {
    struct tern_xfer xfer;             /* len is the size of the type */
    unsigned         type;             /* tern_type */
    uint32_t         op;               /* tern_atomic_op */
    uint64_t         operand, compare; /* as bits; a 4-byte value is in the lower half */
    /* Receives the previous value, under the same rules as on_response of struct tern_link_op. NULL: the value is not
     * needed. */
    void (*on_result)(struct tern_link_op *op, const unsigned char *bytes, size_t len);
};

/* One element of a list of transfers, all of which go to, or come from, the same part. */
struct tern_link_iov {
    uint64_t offset;
    void    *local;
    size_t   len;
};

#define TERN_LINK_IOV_MAX 128 /* elements in one list */

/* How a part is reached. start returns TERN_OK: the transfer is complete. TERN_PENDING: it is outstanding. TERN_AGAIN:
 * the link has no resources now, and nothing was started. An error: nothing was started. */
struct tern_link_path {
    const char *name;
    /* The start function never returns TERN_PENDING or TERN_AGAIN, and op may be NULL. If the part has a base, loads
     * and stores there are equivalent. */
    bool        instant;
    bool        self_progress;   /* transfers complete by the lane's progress alone: a handler may wait for them */
    bool        rpc;             /* the rank serves RPCs for the part independently of what its program does */
    bool        put_rpc;         /* puts may carry an RPC that the target serves after the data */
    bool        prefers_packing; /* packing many small blocks into RPCs is faster than transferring them one by one */
    /* The path is instant, and a list of blocks of up to 64 KiB each (start_iov) costs less than single transfers. */
    bool        iov;
    tern_status (*start)(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op);
    /* Returns whether the transfer, if started now, reaches its rank after every transfer that the lane has outstanding
     * to that rank; otherwise the initiator must wait for the outstanding transfers. A path may return true only if the
     * link reaches all parts of a rank by this path. */
    bool (*keeps_order)(struct tern_lane *lane, const struct tern_xfer *xfer);
    /* Returns whether the put can deliver its own notification, and fills xfer->notify_data if the path needs it:
     * up->notify then notifies the target when the bytes are in place, and no message is needed. Such notifications are
     * not ordered with others. */
    bool (*can_notify)(struct tern_lane *lane, struct tern_xfer *xfer);
    /* Starts a list of transfers. Only called if iov is set. */
    tern_status (*start_iov)(struct tern_lane *lane, const struct tern_link_part *part, const struct tern_link_iov *iov,
                             unsigned count, bool get);
};

/* Execute a transfer to a part that has a base, for an instant path. */
tern_status tern_link_mapped_start(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op);

/* The atomics of a network. */
struct tern_atomic_ops {
    /* Returns whether the network executes a whole set of operations (tern_type; tern_atomic_op) for every rank that
     * the link reaches, including this one; writes the reason for the answer to why. */
    bool (*offers)(struct tern_link *link, unsigned type, uint32_t ops, char *why, size_t size);
    /* Starts one operation of such a set; returns the same codes as start of a path. */
    tern_status (*start)(struct tern_lane *lane, const struct tern_link_atomic *atomic, struct tern_link_op *op);
};

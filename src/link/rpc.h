/* rpc.h: remote procedure calls: a request that the target's process serves independently of its program, and its
 * response. An RPC is an operation of a lane, like a transfer. The core serves requests: up->serve in link.h. */
#pragma once

#include "link/rma.h"

#define TERN_LINK_SMALL 64 /* bytes of the request, and of the response, of an RPC with small_rpc */

/* Return the offset of the response in an RPC buffer whose request has the given length. */
static inline size_t tern_link_response_at(size_t request)
{
    return (request + 63) & ~(size_t)63;
}

/* Memory of this rank that an RPC accesses. */
struct tern_target_mem {
    unsigned char *base;
    uint64_t       size;
    /* Returns whether the bytes can be read, or written: the program may have unmapped them. NULL: they always can. */
    bool (*is_mapped)(const void *addr, size_t len, bool write);
    uint64_t origin; /* tern_link_origin() */
};

/* RPCs to the rank of a part whose path has rpc set. open fills op from xfer and allocates a buffer for the request
 * (TERN_AGAIN: none is free now; op is unchanged). After success the caller must write the request and call send, with
 * the maximum length of the response: tern_link_response_at(request) + expect <= op->rpc_bytes. The RPC completes like
 * a transfer. */
struct tern_rpc_ops {
    tern_status (*open)(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op);
    void (*send)(struct tern_lane *lane, struct tern_link_op *op, size_t request, size_t expect);
};

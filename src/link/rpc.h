/* rpc.h: remote procedure calls: a request that the target's process serves independently of its program, and its
 * response. An RPC is an operation of a lane, like a transfer. The core serves requests: up->serve in link.h. */
#pragma once

#include "link/memory.h"
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

/* Memory of this rank that peers access by RPCs. */
struct tern_link_exposed {
    struct tern_list       node;
    uint64_t               region;
    struct tern_target_mem mem;
};

/* Return the description of exposed memory. RPCs are refused if they access memory of a kind without loads and stores:
 * its size is 0 here. */
static inline struct tern_link_exposed tern_link_exposed_of(const struct tern_mem_handle *handle, int rank)
{
    bool loads = tern_link_kind_loads(handle->mem_kind);

    return (struct tern_link_exposed){ .region = handle->region,
                                       .mem = { .base = loads ? (unsigned char *)(uintptr_t)handle->addr : NULL,
                                                .size = loads ? handle->size : 0,
                                                .origin = tern_link_origin(handle, rank) } };
}

/* Return the exposed memory of a region; NULL: there is none. */
static inline struct tern_link_exposed *tern_link_exposed_find(const struct tern_list *list, uint64_t region)
{
    TERN_LIST_EACH(struct tern_link_exposed, entry, list, node)
        if (entry->region == region)
            return entry;
    return NULL;
}

/* RPCs to the rank of a part whose path has rpc set. open fills op from xfer and allocates a buffer for the request
 * (TERN_AGAIN: none is free now; op is unchanged). After success the caller must write the request and call send, with
 * the maximum length of the response: tern_link_response_at(request) + expect <= op->rpc_bytes. The RPC completes like
 * a transfer. */
struct tern_rpc_ops {
    tern_status (*open)(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op);
    void (*send)(struct tern_lane *lane, struct tern_link_op *op, size_t request, size_t expect);
};

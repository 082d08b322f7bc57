/* path.c: put and get on mapped memory: one copy. The inlined calls of the public header copy directly; this path
 * serves the cases that they leave to the library. */
#include <string.h>

#include "link/shm/shm.h"

static tern_status shm_start(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    unsigned char *there = xfer->part->base + xfer->offset;

    (void)lane, (void)op;
    /* release: this thread's earlier stores before the data. Pairs with the acquire fence after a peer's get. */
    atomic_thread_fence(memory_order_release);
    if (xfer->visit)
        xfer->visit(xfer, there);
    else
        memmove(xfer->get ? xfer->local : there, xfer->get ? there : xfer->local, xfer->len);
    /* acq_rel: the data before this thread's later loads and stores. Pairs with the same fences in the peer. */
    atomic_thread_fence(memory_order_acq_rel);
    return TERN_OK;
}

const struct tern_link_path tern_shm_path = { .name = "shm", .instant = true, .start = shm_start };

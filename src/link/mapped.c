/* mapped.c: transfers to memory that this process maps: one copy. The inlined calls of the public header copy directly;
 * the paths of mapped memory serve the cases that they leave to the library. */
#include <string.h>

#include "link/rma.h"

tern_status tern_link_mapped_start(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    unsigned char *there = xfer->part->base + xfer->offset;

    (void)lane, (void)op;
    /* release: this thread's earlier stores before the data. Pairs with the acquire fence after a peer's get. */
    atomic_thread_fence(memory_order_release);
    if (xfer->visit)
        xfer->visit(xfer, there);
    else if (xfer->len > 0)
        memmove(xfer->get ? xfer->local : there, xfer->get ? there : xfer->local, xfer->len);
    /* acq_rel: the data before this thread's later loads and stores. Pairs with the same fences in the peer. */
    atomic_thread_fence(memory_order_acq_rel);
    tern_link_written(xfer->part);
    return TERN_OK;
}

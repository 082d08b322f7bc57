/* path.c: put and get to memory that is mapped here: one copy. The inlined calls of the public header do the same
 * without coming here; this is for the cases that they leave to the library. */
#include <string.h>

#include "link/shm/shm.h"

static tern_status shm_start(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    unsigned char *there = xfer->part->base + xfer->offset;

    (void)lane, (void)op;
    /* release: what this thread wrote before, before the data. Pairs with the acquire fence after a peer's get. */
    atomic_thread_fence(memory_order_release);
    if (xfer->visit)
        xfer->visit(xfer, there);
    else
        memmove(xfer->get ? xfer->local : there, xfer->get ? there : xfer->local, xfer->len);
    /* acq_rel: the data before whatever this thread reads or writes next. Pairs with the same fences in the peer. */
    atomic_thread_fence(memory_order_acq_rel);
    return TERN_OK;
}

const struct tern_link_path tern_shm_path = { .name = "shm", .instant = true, .start = shm_start };

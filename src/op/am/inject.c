/* inject.c: see inject.h. */
#include "op/am/inject.h"

#include "op/am/am.h"

void tern_op_am_find_inject(int peer)
{
    const struct tern_link_ops *ops = tern_core_ops_to(peer);
    struct tern_inject_pair    *pair;

    if (!ops->inject || atomic_load_explicit(&tern_job.pair[peer], memory_order_relaxed)) /* a hint */
        return;
    if (ops->inject->pair(tern_core_link_to(peer), peer, &pair) == TERN_OK) /* otherwise the next message tries again */
        /* release: the contents of the handle. Pairs with tern_op_am_lock(). */
        atomic_store_explicit(&tern_job.pair[peer], pair, memory_order_release);
}

tern_status tern_op_am_ring(struct tern_slot *slot)
{
    tern_link_ring(slot);
    return TERN_OK;
}

tern_status tern_op_am_reply_own(int peer, unsigned channel, unsigned handler, const uint32_t *args, unsigned nargs)
{
    return tern_core_ops_to(peer)->msg->send_short(tern_core_link_to(peer), peer, channel, wire_first(handler, nargs),
                                                   args, nargs);
}

/* inject.h: send notifications to a rank of the same node without a call to the link.
 *
 * A link that keeps notifications in cells (base/notify_queue.h) returns an injection handle for a rank
 * (struct tern_inject_ops). The holder of the handle pushes notifications to the rank's queue directly.
 */
#pragma once

#include "base/notify_queue.h"
#include "base/biased_lock.h"
#include "boot/bell.h"
#include "boot/segment.h"
#include "link/link.h"

struct tern_inject_notify {
    struct tern_biased_lock lock;
    struct tern_nq_producer queue;     /* guarded by lock */
    _Atomic bool            unflushed; /* inline payload may not be in its destination yet. Written under lock */
    struct tern_slot       *slot;      /* slot of the rank */
};

/* Return true if the rank is known to be awake, so that a new message needs no wake-up. This is only known if no fence
 * is needed to find out. */
static inline bool tern_link_is_awake(const struct tern_slot *slot)
{
    atomic_signal_fence(memory_order_seq_cst); /* see tern_boot_wake_lightly() */
    return tern_boot_bell_joined && atomic_load_explicit(&slot->uses_membarrier, memory_order_relaxed) != 0 &&
           !tern_boot_may_sleep(slot);
}

/* Return whether a consumer needs a fence before it checks whether its producer, the rank, wants to be woken: the rank
 * does not run a membarrier before it sleeps (base/wake_request.h). Call this once, after the rank has sent
 * something. */
static inline bool tern_link_needs_fence(const struct tern_slot *slot)
{
    return !tern_boot_bell_joined || atomic_load_explicit(&slot->uses_membarrier, memory_order_relaxed) == 0;
}

/* Order the consumption of cells before the load of `wanted`. Pairs with the fence of tern_boot_bell_announce(). */
static inline void tern_link_before_wake_check(bool needs_fence)
{
    if (TERN_UNLIKELY(needs_fence))
        atomic_thread_fence(memory_order_seq_cst);
}

/* Wake the rank if it sleeps, after something was sent to it. */
static inline void tern_link_ring(struct tern_slot *slot)
{
    if (TERN_LIKELY(tern_boot_bell_joined && atomic_load_explicit(&slot->uses_membarrier, memory_order_relaxed) != 0))
        tern_boot_wake_lightly(slot);
    else
        tern_boot_wake(slot);
}

/* Send a notification with inline payload. Its head is the words first, the part's region and the offset, followed by 1
 * to TERN_LINK_INLINE bytes for that offset, whose address here is to. The bytes are in their destination when the
 * target has accepted the notification. Returns false if the queue is full. */
bool tern_inject_inline(struct tern_inject_notify *handle, const uint64_t word[TERN_NQ_WORDS], void *to,
                        const void *src, size_t len);

/* Send a notification with one word of inline payload. Returns false, without sending anything, unless the calling
 * thread holds the bias of the lock and knows that primary cells are free; then the caller uses tern_inject_inline. */
static inline bool tern_inject_word(struct tern_inject_notify *handle, const uint64_t word[TERN_NQ_WORDS], void *to,
                                    const void *src)
{
    if (TERN_UNLIKELY(!tern_base_bias_enter(&handle->lock.biased)))
        return false;
    if (TERN_UNLIKELY(!tern_base_nq_has_primary_cells(&handle->queue))) {
        tern_base_biased_unlock(&handle->lock, true);
        return false;
    }
    tern_base_nq_push_word(&handle->queue, word, to, src);
    atomic_store_explicit(&handle->unflushed, true, memory_order_relaxed); /* ordered by the lock */
    tern_base_biased_unlock(&handle->lock, true);
    return true;
}

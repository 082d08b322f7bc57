/* inject.h: where notes leave to a rank of the same node, without a call to the link.
 *
 * A link that keeps notes in cells (base/notify_queue.h) hands out its port to a rank (notify_inject); who has it
 * puts notes there without asking the link each time.
 * */
#ifndef TERN_LINK_INJECT_H
#define TERN_LINK_INJECT_H

#include "base/notify_queue.h"
#include "base/biased_lock.h"
#include "boot/bell.h"
#include "boot/segment.h"
#include "link/link.h"

struct tern_inject_notify {
    struct tern_biased_lock lock;
    struct tern_nq_producer queue;     /* guarded by it */
    _Atomic bool            unflushed; /* what some carry may not be in place. Written under it */
    struct tern_slot       *slot;      /* of the rank */
};

/* Whether there is nothing to be done for a rank that has news, which is known where no fence is needed. */
static inline bool tern_link_is_awake(const struct tern_slot *slot)
{
    atomic_signal_fence(memory_order_seq_cst); /* see tern_boot_bell_ring_lightly() */
    return tern_boot_bell_joined && atomic_load_explicit(&slot->uses_membarrier, memory_order_relaxed) != 0 &&
           atomic_load_explicit(&slot->sleepers, memory_order_relaxed) == 0;
}

/* Whether a consumer needs a fence before it looks whether its producer, the rank, wants to be woken: the rank runs no
 * barrier before it sleeps (base/wake_request.h). To be asked once, when the rank has sent something. */
static inline bool tern_link_needs_fence(const struct tern_slot *slot)
{
    return !tern_boot_bell_joined || atomic_load_explicit(&slot->uses_membarrier, memory_order_relaxed) == 0;
}

/* Order what was consumed before the look at `wanted`. Pairs with the fence of tern_boot_bell_announce(). */
static inline void tern_link_before_wake_check(bool needs_fence)
{
    if (TERN_UNLIKELY(needs_fence))
        atomic_thread_fence(memory_order_seq_cst);
}

/* Wake the rank if it sleeps: there is news for it. */
static inline void tern_link_ring(struct tern_slot *slot)
{
    if (TERN_LIKELY(tern_boot_bell_joined && atomic_load_explicit(&slot->uses_membarrier, memory_order_relaxed) != 0))
        tern_boot_bell_ring_lightly(&slot->bell, &slot->sleepers);
    else
        tern_boot_bell_ring(&slot->bell, &slot->sleepers);
}

/* Send a note whose head is the words first, the part's region and offset, and then 1 to TERN_LINK_INLINE bytes for
 * that offset, which is at to; they are in place when the target has taken it. False: there is no room now. */
bool tern_inject_inline(struct tern_inject_notify *port, const uint64_t word[TERN_NQ_WORDS], void *to, const void *src,
                        size_t len);

/* The same for one word, by the thread that is alone and where there is room. False: otherwise. */
static inline bool tern_inject_word(struct tern_inject_notify *port, const uint64_t word[TERN_NQ_WORDS], void *to,
                                    const void *src)
{
    if (TERN_UNLIKELY(!tern_base_bias_enter(&port->lock.biased)))
        return false;
    if (TERN_UNLIKELY(!tern_base_nq_has_primary_cell(&port->queue))) {
        tern_base_biased_unlock(&port->lock, true);
        return false;
    }
    tern_base_nq_push_word(&port->queue, word, to, src);
    atomic_store_explicit(&port->unflushed, true, memory_order_relaxed); /* the lock orders */
    tern_base_biased_unlock(&port->lock, true);
    return true;
}

#endif

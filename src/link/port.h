/* port.h: where notes leave to a rank of the same node, without a call to the link.
 *
 * A link that keeps notes in cells (base/cells.h) hands out its port to a rank (note_port); who has it puts notes there
 * without asking the link each time.
 */
#ifndef TERN_LINK_PORT_H
#define TERN_LINK_PORT_H

#include "base/cells.h"
#include "base/lone.h"
#include "boot/bell.h"
#include "boot/segment.h"
#include "link/link.h"

struct tern_link_port {
    struct tern_lone_lock      lock;
    struct tern_cells_producer cells;    /* guarded by it */
    _Atomic bool               carrying; /* what some carry may not be in place. Written under it */
    struct tern_slot          *slot;     /* of the rank */
};

/* Whether there is nothing to be done for a rank that has news, which is known where no fence is needed. */
static inline bool tern_link_is_awake(const struct tern_slot *slot)
{
    atomic_signal_fence(memory_order_seq_cst); /* see tern_boot_bell_ring_lightly() */
    return tern_boot_bell_joined && atomic_load_explicit(&slot->barriers, memory_order_relaxed) != 0 &&
           atomic_load_explicit(&slot->sleepers, memory_order_relaxed) == 0;
}

/* Whether a consumer needs a fence before it looks whether its producer, the rank, wants to be woken: the rank runs no
 * barrier before it sleeps (base/want.h). To be asked once, when the rank has sent something. */
static inline bool tern_link_needs_fence(const struct tern_slot *slot)
{
    return !tern_boot_bell_joined || atomic_load_explicit(&slot->barriers, memory_order_relaxed) == 0;
}

/* Order what was consumed before the look at `wanted`. Pairs with the fence of tern_boot_bell_announce(). */
static inline void tern_link_before_wanted(bool needs_fence)
{
    if (TERN_UNLIKELY(needs_fence))
        atomic_thread_fence(memory_order_seq_cst);
}

/* Wake the rank if it sleeps: there is news for it. */
static inline void tern_link_ring(struct tern_slot *slot)
{
    if (TERN_LIKELY(tern_boot_bell_joined && atomic_load_explicit(&slot->barriers, memory_order_relaxed) != 0))
        tern_boot_bell_ring_lightly(&slot->bell, &slot->sleepers);
    else
        tern_boot_bell_ring(&slot->bell, &slot->sleepers);
}

/* Send a note whose head is the words first, the part's region and offset, and then 1 to TERN_LINK_CARRY bytes for that
 * offset, which is at to; they are in place when the target has taken it. False: there is no room now. */
bool tern_link_carry(struct tern_link_port *port, const uint64_t word[TERN_CELL_WORDS], void *to, const void *src,
                     size_t len);

/* The same for one word, by the thread that is alone and where there is room. False: otherwise. */
static inline bool tern_link_carry_word(struct tern_link_port *port, const uint64_t word[TERN_CELL_WORDS], void *to,
                                        const void *src)
{
    if (TERN_UNLIKELY(!tern_base_lone_enter(&port->lock.inside)))
        return false;
    if (TERN_UNLIKELY(!tern_base_cells_easy(&port->cells))) {
        tern_base_lone_unlock(&port->lock, true);
        return false;
    }
    tern_base_cells_carry_word(&port->cells, word, to, src);
    atomic_store_explicit(&port->carrying, true, memory_order_relaxed); /* the lock orders */
    tern_base_lone_unlock(&port->lock, true);
    return true;
}

#endif

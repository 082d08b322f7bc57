/* port.h: where messages leave to a rank of the same node, and notes that carry data without a call to the link.
 *
 * A link that keeps messages in rings hands out its port to a rank (note_port); who has it puts notes into the ring
 * without asking the link each time.
 */
#ifndef TERN_LINK_PORT_H
#define TERN_LINK_PORT_H

#include "base/carry.h"
#include "boot/bell.h"
#include "boot/segment.h"
#include "link/link.h"

struct tern_link_port {
    struct tern_ring_outlet outlet[TERN_CHANNELS_PAIR]; /* by channel; notes leave by the first */
    struct tern_carry       carry;                      /* of notes; guarded by the lock of the outlet */
    _Atomic bool            carrying;                   /* some may not be in place. Written under that lock */
    struct tern_slot       *slot;                       /* of the rank */
};

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
bool tern_link_carry(struct tern_link_port *port, const uint64_t word[TERN_CARRY_WORDS], void *to, const void *src,
                     size_t len);

/* The same for one word, by the thread that is alone and where there is room. False: otherwise. Each store before the
 * one that publishes it holds it up, so there are few. */
static inline bool tern_link_carry_word(struct tern_link_port *port, const uint64_t word[TERN_CARRY_WORDS], void *to,
                                        const void *src)
{
    struct tern_ring_outlet *outlet = &port->outlet[0];

    if (TERN_UNLIKELY(!tern_base_lone_enter(&outlet->lock.inside)))
        return false;
    if (TERN_UNLIKELY(!tern_base_ring_has_cell(&outlet->producer))) {
        tern_base_lone_unlock(&outlet->lock, true);
        return false;
    }
    tern_base_carry_send(&outlet->producer, &port->carry, word, to, src, sizeof(uint64_t));
    atomic_store_explicit(&port->carrying, true, memory_order_relaxed); /* the lock orders */
    tern_base_lone_unlock(&outlet->lock, true);
    return true;
}

#endif

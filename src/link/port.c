/* port.c: see port.h. */
#include "link/port.h"

bool tern_link_carry(struct tern_link_port *port, const uint64_t word[TERN_CARRY_WORDS], void *to, const void *src,
                     size_t len)
{
    struct tern_ring_outlet *outlet = &port->outlet[0];
    bool                     alone = tern_base_lone_lock(&outlet->lock);
    bool                     sent = tern_base_carry_put(&outlet->producer, &port->carry, word, to, src, len);

    if (sent)
        atomic_store_explicit(&port->carrying, true, memory_order_relaxed); /* the lock orders */
    tern_base_lone_unlock(&outlet->lock, alone);
    return sent;
}

/* port.c: see port.h. */
#include "link/port.h"

bool tern_link_carry(struct tern_link_port *port, const uint64_t word[TERN_CELL_WORDS], void *to, const void *src,
                     size_t len)
{
    bool alone = tern_base_lone_lock(&port->lock);
    bool sent = tern_base_cells_carry(&port->cells, word, to, src, len);

    if (sent)
        atomic_store_explicit(&port->carrying, true, memory_order_relaxed); /* the lock orders */
    tern_base_lone_unlock(&port->lock, alone);
    return sent;
}

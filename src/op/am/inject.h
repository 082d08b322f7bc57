/* inject.h: sending requests and replies of one cache line to a rank of the same node without a call to the link.
 *
 * A link that keeps the messages of a pair of ranks in rings returns an injection handle for a rank (link/msg.h). The
 * handles are in a table of the job. The functions here succeed only in the usual case: the handle is known, the
 * calling thread holds the bias of the lock, and the ring has a free cell. Otherwise the caller calls the link.
 */
#pragma once

#include <tern/am.h>

#include "core/job.h"
#include "link/inject.h"
#include "op/wire.h"

/* Look up the injection handle of a rank after a message was sent to the rank, for later messages. */
void tern_op_am_find_inject(int peer) __attribute__((cold, noinline));

/* Wake a rank that may sleep. Returns TERN_OK. */
tern_status tern_op_am_ring(struct tern_slot *slot) __attribute__((cold, noinline));

/* Lock the ring of a channel (TERN_CHANNEL_REQUEST or TERN_CHANNEL_REPLY) to a rank. Only one thread at a time sends
 * replies, so the ring of replies needs no lock. Returns the handle, whose ring then has a free cell, or NULL. */
static inline __attribute__((always_inline)) struct tern_inject_pair *tern_op_am_lock(int peer, unsigned channel)
{
    /* acquire: the contents of the handle. Pairs with tern_op_am_find_inject(). */
    struct tern_inject_pair      *pair = atomic_load_explicit(&tern_job.pair[peer], memory_order_acquire);
    struct tern_ring_mp_producer *ring;

    if (TERN_UNLIKELY(!pair))
        return NULL;
    ring = &pair->producer[channel];
    if (channel == TERN_CHANNEL_REQUEST && TERN_UNLIKELY(!tern_base_biased_trylock(&ring->lock)))
        return NULL;
    if (TERN_LIKELY(tern_base_ring_has_cell(&ring->producer)))
        return pair;
    if (channel == TERN_CHANNEL_REQUEST)
        tern_base_biased_unlock(&ring->lock, true);
    return NULL;
}

/* Publish the message in the cell, unlock the ring, and wake the rank if it sleeps. Returns TERN_OK. */
static inline __attribute__((always_inline)) tern_status tern_op_am_unlock(struct tern_inject_pair *pair,
                                                                           unsigned                 channel,
                                                                           struct tern_ring_cell   *cell)
{
    struct tern_ring_mp_producer *ring = &pair->producer[channel];

    tern_base_ring_push_written(&ring->producer, cell);
    if (channel == TERN_CHANNEL_REQUEST)
        tern_base_biased_unlock(&ring->lock, true);
    return TERN_LIKELY(tern_link_is_awake(pair->slot)) ? TERN_OK : tern_op_am_ring(pair->slot);
}

/* Send a message whose arguments and payload are in the head. m is checked, and handler contains the team. Returns
 * TERN_AGAIN if the caller must call the link. */
static inline __attribute__((always_inline)) tern_status tern_op_am_inject(int peer, unsigned channel, const tern_am *m,
                                                                           unsigned handler)
{
    bool                     empty = m->kind == TERN_AM_SHORT;
    unsigned                 nargs = m->nargs;
    unsigned                 location = empty ? WIRE_IN_DATA : wire_location(nargs, m->len);
    struct tern_inject_pair *pair;
    struct tern_ring_cell   *cell;
    uint32_t                *args;

    if (TERN_UNLIKELY(empty ? nargs > WIRE_ARGS : !wire_in_head(location)) || !(pair = tern_op_am_lock(peer, channel)))
        return TERN_AGAIN;
    cell = tern_base_ring_next_cell(&pair->producer[channel].producer);
    *(uint64_t *)(void *)cell->head = wire_word(
        (struct wire_am){ (uint16_t)handler, (uint8_t)nargs, wire_shape(m->kind, location), (uint32_t)m->len });
    args = (uint32_t *)(void *)(cell->head + sizeof(struct wire_am));
    for (unsigned i = 0; i < nargs; i++)
        args[i] = m->args[i];
    if (!empty)
        tern_base_ring_copy_words(cell->head + location * sizeof(uint32_t), m->payload, m->len);
    return tern_op_am_unlock(pair, channel, cell);
}

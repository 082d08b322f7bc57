/* ring.h: what links share that keep the messages of a channel in a ring (base/spsc_ring.h). */
#pragma once

#include "base/wake_request.h"
#include "link/inject.h"

/* The receiving side of a channel. */
struct tern_link_rx {
    struct tern_link_watch    watch; /* must be first */
    struct tern_ring_consumer ring;
    int                       from;
    bool                      needs_fence; /* tern_link_needs_fence() of the sender */
    bool                      many;        /* the last delivery stopped at its batch limit, with messages left */
    struct tern_slot         *slot;        /* the sender's slot */
};

/* Return the size of a ring, within limits. */
static inline size_t tern_link_ring_bytes(uint64_t wanted, size_t least, size_t most)
{
    size_t bytes = wanted < least ? least : wanted > most ? most : (size_t)wanted;

    return bytes & ~(size_t)(TERN_RING_LINE - 1);
}

/* Lock the producer of a channel. Replies need no lock: only one thread at a time sends them. */
static inline bool tern_link_producer_lock(struct tern_ring_mp_producer *producer, unsigned channel)
{
    return channel == TERN_CHANNEL_REPLY || tern_base_biased_lock(&producer->lock);
}

static inline void tern_link_producer_unlock(struct tern_ring_mp_producer *producer, unsigned channel, bool biased)
{
    if (channel != TERN_CHANNEL_REPLY)
        tern_base_biased_unlock(&producer->lock, biased);
}

/* Reserve space for a message in a ring: open of struct tern_msg_ops. */
static inline tern_status tern_link_ring_open(struct tern_ring_mp_producer *producer, struct tern_link_msg *msg,
                                              size_t min, size_t max)
{
    struct tern_ring_reservation reservation;
    bool                         biased = tern_link_producer_lock(producer, msg->channel);
    bool                         reserved = tern_base_ring_reserve(&producer->producer, min, max, &reservation);

    tern_link_producer_unlock(producer, msg->channel, biased);
    if (!reserved)
        return TERN_AGAIN;
    msg->place = reservation.claim;
    msg->head = reservation.claim.cell->head;
    msg->data = reservation.data;
    msg->data_max = reservation.len;
    return TERN_OK;
}

/* Send a message without data; pairs as in tern_base_ring_push(). Returns false if there is no space. */
static inline __attribute__((always_inline)) bool tern_link_ring_push(struct tern_ring_mp_producer *producer,
                                                                      unsigned channel, uint64_t first,
                                                                      const uint32_t *rest, unsigned count, bool pairs)
{
    bool biased = tern_link_producer_lock(producer, channel);
    bool sent = tern_base_ring_push(&producer->producer, first, rest, count, pairs);

    tern_link_producer_unlock(producer, channel, biased);
    return sent;
}

/* Watch the cell at a position of the ring. */
static inline void tern_link_rx_watch(struct tern_link_rx *rx, uint64_t position)
{
    uint32_t                idle;
    const _Atomic uint32_t *mark = tern_base_ring_mark(&rx->ring, position, &idle);

    tern_link_watch_move(&rx->watch, mark, idle);
}

/* End a delivery: watch the next cell, wake the sender, which may be asleep until there is space, and report a damaged
 * ring. */
static inline tern_status tern_link_rx_delivered(struct tern_link_rx *rx, int found)
{
    tern_link_rx_watch(rx, rx->ring.next);
    tern_link_before_wake_check(rx->needs_fence);
    if (TERN_UNLIKELY(tern_base_wake_requested(&rx->ring.ring->producer_waits)))
        tern_link_ring(rx->slot);
    if (TERN_LIKELY(found >= 0))
        return TERN_OK;
    return tern_base_fail(TERN_ERR_LINK, "the message queue from rank %d is damaged", rx->from);
}

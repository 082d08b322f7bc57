/* ring.h: code shared by the links that keep the messages of a channel in a ring (base/spsc_ring.h). */
#pragma once

#include "base/sanitize.h"
#include "base/wake_request.h"
#include "link/inject.h"

#define TERN_LINK_BATCH 16 /* messages from one queue in one delivery, at most */

/* The receiving side of a channel. The link sets from, slot, and the watch except for word and idle. */
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
    msg->claim = reservation.claim;
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

/* Set the error text for a queue that contains invalid values. */
static inline tern_status tern_link_damaged(int from)
{
    return tern_base_fail(TERN_ERR_LINK, "the message queue from rank %d is damaged", from);
}

/* Start to receive from a ring. */
static inline tern_status tern_link_rx_open(struct tern_link_rx *rx, const struct tern_link_up *up, void *memory,
                                            struct tern_ring_shape shape)
{
    rx->needs_fence = tern_link_needs_fence(rx->slot);
    tern_base_ring_consumer_init(&rx->ring, memory, shape);
    tern_link_rx_watch(rx, 0);
    return up->watch(&rx->watch);
}

/* Deliver the messages of a channel: deliver of struct tern_link_watch. A message that the target refuses stays in the
 * ring, and so do those behind the last tagged message that a receive was posted for. At the end, wake the sender,
 * which may be asleep until there is space, and report a damaged ring. If the caller passes a constant channel, the
 * compiler specializes the function. */
static inline __attribute__((always_inline)) tern_status tern_link_rx_deliver(struct tern_link_rx       *rx,
                                                                              const struct tern_link_up *up,
                                                                              unsigned                   channel)
{
    struct tern_ring_item    item;
    enum tern_link_delivered delivered = TERN_LINK_TAKEN;
    bool                     many = channel == TERN_CHANNEL_TAGGED && rx->many;
    int                      found = 0, i;

    for (i = 0; i < TERN_LINK_BATCH && (found = tern_base_ring_peek(&rx->ring, &item)) > 0; i++) {
        tern_base_order_after_peers(); /* after the copies that the helper thread made for the peer before it sent
                                          this message */
        if (many)
            tern_base_ring_prefetch(&rx->ring);
        delivered = tern_link_deliver(up, rx->from, channel, item.head, item.data, item.len);
        if (TERN_UNLIKELY(delivered == TERN_LINK_REFUSED))
            break;
        tern_base_ring_consume(&rx->ring, item.span);
        if (channel == TERN_CHANNEL_TAGGED && delivered == TERN_LINK_TAKEN_LAST)
            break;
    }
    if (channel == TERN_CHANNEL_TAGGED)
        rx->many = i == TERN_LINK_BATCH;
    tern_link_rx_watch(rx, rx->ring.next);
    tern_link_before_wake_check(rx->needs_fence);
    if (TERN_UNLIKELY(tern_base_wake_requested(&rx->ring.ring->producer_waits)))
        tern_link_ring(rx->slot);
    return TERN_LIKELY(found >= 0) ? TERN_OK : tern_link_damaged(rx->from);
}

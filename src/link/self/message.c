/* message.c: messages of a rank to itself, through rings in private memory. Each channel has a ring. The rings of
 * requests and replies are created when the link is opened, and the ring of any other channel with its first
 * message. */
#include <sys/mman.h>

#include "base/options.h"
#include "boot/bell.h"
#include "link/none.h"
#include "link/self/self.h"

#define LARGEST_RING (1u << 20)
#define MAX_NOTIFICATIONS 256 /* notifications in the queue: the rank itself takes them out when it polls */

/* Wake the threads of the process: a message has been sent, or space for one has been freed. */
static void ring_own(struct tern_link *link)
{
    tern_boot_wake(tern_self(link)->slot);
}

static tern_status deliver(struct tern_link_watch *watch)
{
    return tern_link_rx_deliver((struct tern_link_rx *)watch, tern_self(watch->link)->up, watch->channel);
}

static size_t ring_bytes(unsigned channel)
{
    if (channel == TERN_CHANNEL_NOTIFY)
        return tern_base_ring_cells_bytes(tern_opt.notify_queue < MAX_NOTIFICATIONS ? (size_t)tern_opt.notify_queue
                                                                                    : MAX_NOTIFICATIONS);
    return tern_link_ring_bytes(tern_opt.am_queue / TERN_CHANNELS_PAIR, 0, LARGEST_RING);
}

static tern_status ring_make(struct self_link *self, unsigned channel)
{
    struct tern_link_rx   *rx = &self->rx[channel];
    size_t                 bytes = ring_bytes(channel);
    struct tern_ring_shape shape =
        channel == TERN_CHANNEL_NOTIFY ? tern_base_ring_shape_cells(bytes) : tern_base_ring_shape(bytes);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* no page yet */
    tern_status st;

    if (memory == MAP_FAILED)
        return tern_base_fail(TERN_ERR_NOMEM, "link self: no memory for a message queue of %zu bytes", bytes);
    tern_base_ring_producer_init(&self->producer[channel].producer, memory, shape);
    *rx = (struct tern_link_rx){ .watch = { .channel = channel,
                                            .deliver = deliver,
                                            .expect = tern_link_no_expect,
                                            .link = (struct tern_link *)self,
                                            .lasts = true },
                                 .from = self->rank,
                                 .slot = self->slot };
    if ((st = tern_link_rx_open(rx, self->up, memory, shape)) == TERN_OK)
        /* release: the ring. Pairs with ready(). */
        atomic_store_explicit(&self->ready[channel], true, memory_order_release);
    return st;
}

tern_status tern_self_messages_open(struct self_link *self)
{
    tern_status st = TERN_OK;

    pthread_mutex_init(&self->lock, NULL);
    for (unsigned c = 0; c < TERN_CHANNELS_PAIR && st == TERN_OK; c++)
        st = ring_make(self, c);
    return st;
}

void tern_self_messages_close(struct self_link *self)
{
    pthread_mutex_destroy(&self->lock);
    for (unsigned c = 0; c < TERN_CHANNELS; c++)
        if (self->rx[c].ring.ring)
            munmap(self->rx[c].ring.ring, ring_bytes(c));
}

static __attribute__((noinline, cold)) tern_status first_message(struct self_link *self, unsigned channel)
{
    tern_status st = TERN_OK;

    pthread_mutex_lock(&self->lock);
    if (!atomic_load_explicit(&self->ready[channel], memory_order_relaxed)) /* written under the lock */
        st = ring_make(self, channel);
    pthread_mutex_unlock(&self->lock);
    return st;
}

/* Ensure that the channel has a ring. Returns TERN_OK, or the error of creating it. */
static inline tern_status ready(struct self_link *self, unsigned channel)
{
    /* acquire: the ring. Pairs with ring_make(). */
    if (TERN_LIKELY(atomic_load_explicit(&self->ready[channel], memory_order_acquire)))
        return TERN_OK;
    return first_message(self, channel);
}

static size_t self_msg_max_data(struct tern_link *link, int peer, unsigned channel)
{
    (void)peer, (void)channel;
    return tern_base_ring_max_data(tern_self(link)->rx[0].ring.shape);
}

static tern_status self_msg_open(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max)
{
    tern_status st = ready(tern_self(link), msg->channel);

    return st < 0 ? st : tern_link_ring_open(&tern_self(link)->producer[msg->channel], msg, min, max);
}

static void self_msg_send(struct tern_link *link, const struct tern_link_msg *msg, size_t len)
{
    tern_base_ring_publish(&msg->claim, len);
    ring_own(link);
}

static void self_msg_drop(struct tern_link *link, const struct tern_link_msg *msg)
{
    tern_base_ring_skip(&msg->claim);
    ring_own(link);
}

static tern_status self_msg_send_short(struct tern_link *link, int peer, unsigned channel, uint64_t first,
                                       const uint32_t *rest, unsigned count)
{
    tern_status st = ready(tern_self(link), channel);

    (void)peer;
    if (st < 0)
        return st;
    if (!tern_link_ring_push(&tern_self(link)->producer[channel], channel, first, rest, count, false))
        return TERN_AGAIN;
    ring_own(link);
    return TERN_OK;
}

static bool self_msg_pending(struct tern_link *link, int peer, unsigned channel)
{
    struct self_link *self = tern_self(link);

    (void)peer;
    /* acquire: the ring. Pairs with ring_make(). */
    return atomic_load_explicit(&self->ready[channel], memory_order_acquire) &&
           tern_link_watch_ready(&self->rx[channel].watch);
}

const struct tern_msg_ops tern_self_msg = {
    .max_data = self_msg_max_data,
    .open = self_msg_open,
    .send = self_msg_send,
    .drop = self_msg_drop,
    .send_short = self_msg_send_short,
    .poll = tern_link_no_poll,
    .flushed = tern_link_no_unflushed,
    .pending = self_msg_pending,
};

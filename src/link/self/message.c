/* message.c: messages to oneself, through two rings in private memory. */
#include <sys/mman.h>

#include "base/options.h"
#include "boot/bell.h"
#include "link/self/self.h"

#define LARGEST_RING (1u << 20)
#define BATCH 16

static void watch_next(struct self_inlet *inlet)
{
    uint32_t                idle;
    const _Atomic uint32_t *mark = tern_base_ring_mark(&inlet->ring, &idle);

    tern_link_watch_move(&inlet->watch, mark, idle);
}

static tern_status deliver(struct tern_link_watch *watch)
{
    struct self_inlet    *inlet = (struct self_inlet *)watch;
    struct self_link     *self = tern_self(watch->link);
    struct tern_ring_item item;
    int                   found = 0;

    for (int i = 0; i < BATCH && (found = tern_base_ring_peek(&inlet->ring, &item)) > 0; i++) {
        self->up->message(self->rank, watch->channel, item.head, item.data, item.len);
        tern_base_ring_consume(&inlet->ring, item.span);
    }
    watch_next(inlet);
    return found >= 0 ? TERN_OK : tern_base_fail(TERN_ERR_LINK, "the message queue to oneself is damaged");
}

static size_t ring_bytes(void)
{
    uint64_t share = tern_opt.am_queue / TERN_CHANNELS;

    return (size_t)(share < LARGEST_RING ? share : LARGEST_RING) & ~(size_t)(TERN_RING_LINE - 1);
}

tern_status tern_self_messages_open(struct self_link *self)
{
    size_t                 bytes = ring_bytes();
    struct tern_ring_shape shape = tern_base_ring_shape(bytes);
    tern_status            st = TERN_OK;

    for (unsigned c = 0; c < TERN_CHANNELS && st == TERN_OK; c++) {
        struct self_inlet *inlet = &self->inlet[c];
        void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* no page yet */

        if (memory == MAP_FAILED)
            return tern_base_fail(TERN_ERR_NOMEM, "link self: no memory for a message queue of %zu bytes", bytes);
        tern_base_ring_produce(&self->outlet[c].producer, memory, shape);
        tern_base_ring_consume_from(&inlet->ring, memory, shape);
        inlet->watch = (struct tern_link_watch){ .channel = c, .deliver = deliver, .link = (struct tern_link *)self };
        watch_next(inlet);
        st = self->up->watch(&inlet->watch);
    }
    return st;
}

void tern_self_messages_close(struct self_link *self)
{
    for (unsigned c = 0; c < TERN_CHANNELS; c++)
        if (self->inlet[c].ring.ring)
            munmap(self->inlet[c].ring.ring, ring_bytes());
}

size_t tern_self_msg_longest(struct tern_link *link, int peer)
{
    (void)peer;
    return tern_base_ring_longest(tern_self(link)->inlet[0].ring.shape);
}

tern_status tern_self_msg_open(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max)
{
    struct tern_ring_outlet *outlet = &tern_self(link)->outlet[msg->channel];
    struct tern_ring_room    room;
    bool                     alone = tern_base_lone_lock(&outlet->lock);
    bool                     taken = tern_base_ring_take(&outlet->producer, min, max, &room);

    tern_base_lone_unlock(&outlet->lock, alone);
    if (!taken)
        return TERN_AGAIN;
    msg->place = room.place;
    msg->head = room.place.cell->head;
    msg->data = room.data;
    msg->room = room.len;
    return TERN_OK;
}

/* Another thread of the process may sleep until a message comes. */
static void ring_own(struct tern_link *link)
{
    struct tern_slot *slot = &tern_self(link)->boot->segment->slot[tern_self(link)->rank];

    tern_boot_bell_ring(&slot->bell, &slot->sleepers);
}

void tern_self_msg_send(struct tern_link *link, const struct tern_link_msg *msg, size_t len)
{
    tern_base_ring_publish(&msg->place, len);
    ring_own(link);
}

void tern_self_msg_drop(struct tern_link *link, const struct tern_link_msg *msg)
{
    tern_base_ring_skip(&msg->place);
    ring_own(link);
}

tern_status tern_self_msg_brief(struct tern_link *link, int peer, unsigned channel, uint64_t first,
                                const uint32_t *rest, unsigned count)
{
    struct tern_ring_outlet *outlet = &tern_self(link)->outlet[channel];
    bool                     alone = tern_base_lone_lock(&outlet->lock);
    bool                     sent = tern_base_ring_put(&outlet->producer, first, rest, count);

    (void)peer;
    tern_base_lone_unlock(&outlet->lock, alone);
    if (!sent)
        return TERN_AGAIN;
    ring_own(link);
    return TERN_OK;
}

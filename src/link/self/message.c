/* message.c: messages to oneself, through two rings in private memory. */
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "boot/bell.h"
#include "link/self/self.h"

#define LARGEST_RING (1u << 20)
#define BATCH 16

tern_status tern_self_messages_open(struct self_link *self)
{
    uint64_t share = tern_opt.am_queue / TERN_CHANNELS;
    size_t   bytes = (size_t)(share < LARGEST_RING ? share : LARGEST_RING) & ~(size_t)(TERN_RING_LINE - 1);

    for (unsigned c = 0; c < TERN_CHANNELS; c++) {
        struct tern_ring_shape shape = tern_base_ring_shape(bytes);
        void                  *memory = aligned_alloc(TERN_RING_LINE, bytes);
        if (!memory)
            return tern_base_fail(TERN_ERR_NOMEM, "link self: no memory for a message queue of %zu bytes", bytes);
        memset(memory, 0, sizeof(struct tern_ring) + shape.cells * sizeof(struct tern_ring_cell));
        tern_base_ring_produce(&self->outlet[c].producer, memory, shape);
        tern_base_ring_consume_from(&self->inlet[c], memory, shape);
    }
    return TERN_OK;
}

void tern_self_messages_close(struct self_link *self)
{
    for (unsigned c = 0; c < TERN_CHANNELS; c++)
        free(self->inlet[c].ring);
}

size_t tern_self_msg_longest(struct tern_link *link, int peer)
{
    (void)peer;
    return tern_base_ring_longest(tern_self(link)->inlet[0].shape);
}

tern_status tern_self_msg_open(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max)
{
    struct tern_ring_room room;

    if (!tern_base_ring_outlet_take(&tern_self(link)->outlet[msg->channel], min, max, &room))
        return TERN_AGAIN;
    msg->place = room.cell;
    msg->head = room.cell->head;
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
    tern_base_ring_publish(msg->place, len);
    ring_own(link);
}

void tern_self_msg_drop(struct tern_link *link, const struct tern_link_msg *msg)
{
    tern_base_ring_skip(msg->place);
    ring_own(link);
}

unsigned tern_self_msg_ready(struct tern_link *link)
{
    const struct tern_ring_consumer *inlet = tern_self(link)->inlet;

    return (unsigned)tern_base_ring_ready(&inlet[0]) | (unsigned)tern_base_ring_ready(&inlet[1]) << 1;
}

tern_status tern_self_msg_poll(struct tern_link *link, unsigned channel)
{
    struct self_link            *self = tern_self(link);
    bool                         damaged = false;
    const struct tern_ring_cell *cell;
    const unsigned char         *data;

    for (int i = 0; i < BATCH && (cell = tern_base_ring_peek(&self->inlet[channel], &data, &damaged)); i++) {
        self->up->message(self->rank, channel, cell->head, data, cell->len);
        tern_base_ring_consume(&self->inlet[channel], cell);
    }
    return damaged ? tern_base_fail(TERN_ERR_LINK, "the message queue to oneself is damaged") : TERN_OK;
}

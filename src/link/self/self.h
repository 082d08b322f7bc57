/* self.h: the link of a rank to itself. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "link/ring.h"

struct self_link {
    int                          rank;
    struct tern_slot            *slot; /* slot of this rank */
    const struct tern_link_up   *up;
    struct tern_ring_mp_producer producer[TERN_CHANNELS];
    struct tern_link_rx          rx[TERN_CHANNELS];
    pthread_mutex_t              lock;                 /* held to create the ring of a channel with its first message */
    _Atomic bool                 ready[TERN_CHANNELS]; /* the ring exists */
};

static inline struct self_link *tern_self(struct tern_link *link)
{
    return (struct self_link *)link;
}

extern const struct tern_msg_ops   tern_self_msg;
extern const struct tern_group_ops tern_self_group;

tern_status tern_self_attach(struct tern_link *link, const struct tern_mem_handle *handle, const char *path_name,
                             struct tern_link_part *part);

tern_status tern_self_messages_open(struct self_link *self);
void        tern_self_messages_close(struct self_link *self);

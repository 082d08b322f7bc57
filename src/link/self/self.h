/* self.h: the link of a rank to itself. */
#ifndef TERN_LINK_SELF_SELF_H
#define TERN_LINK_SELF_SELF_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/spsc_ring.h"
#include "link/link.h"

/* The receiving side of a channel. */
struct self_rx_channel {
    struct tern_link_watch    watch;
    struct tern_ring_consumer ring;
};

struct self_link {
    int                          rank;
    const struct tern_boot      *boot;
    const struct tern_link_up   *up;
    struct tern_ring_mp_producer producer[TERN_CHANNELS];
    struct self_rx_channel       rx[TERN_CHANNELS];
    pthread_mutex_t              lock;                 /* held to create the ring of a channel with its first message */
    _Atomic bool                 ready[TERN_CHANNELS]; /* the ring exists */
};

static inline struct self_link *tern_self(struct tern_link *link)
{
    return (struct self_link *)link;
}

extern const struct tern_link_ops  tern_self_ops;
extern const struct tern_link_path tern_self_path;

tern_status tern_self_attach(struct tern_link *link, const struct tern_mem_handle *handle, const char *path_name,
                             struct tern_link_part *part);
void        tern_self_detach(struct tern_link *link, struct tern_link_part *part);

tern_status tern_self_group_open(struct tern_link *link, const struct tern_link_group *as,
                                 struct tern_link_group **out);
void        tern_self_group_close(struct tern_link_group *group);
void        tern_self_arrive(struct tern_link_group *group);
bool        tern_self_arrived(struct tern_link_group *group);
bool        tern_self_has_arrived(const struct tern_link_group *group, uint32_t member);
void        tern_self_depart(struct tern_link_group *group, uint64_t object);
bool        tern_self_departed(const struct tern_link_group *group, uint32_t member, uint64_t *object);
void        tern_self_contribute(struct tern_link_group *group, const void *data, size_t len);
const void *tern_self_contribution(const struct tern_link_group *group, uint32_t member);

tern_status tern_self_messages_open(struct self_link *self);
void        tern_self_messages_close(struct self_link *self);
size_t      tern_self_msg_max_data(struct tern_link *link, int peer, unsigned channel);
tern_status tern_self_msg_open(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max);
void        tern_self_msg_send(struct tern_link *link, const struct tern_link_msg *msg, size_t len);
void        tern_self_msg_drop(struct tern_link *link, const struct tern_link_msg *msg);
bool        tern_self_msg_pending(struct tern_link *link, int peer, unsigned channel);
tern_status tern_self_msg_short(struct tern_link *link, int peer, unsigned channel, uint64_t first,
                                const uint32_t *rest, unsigned count);

#endif

/* chaos.h: a link in front of another one, which does on purpose what networks do by chance.
 *
 * It holds back transfers and messages, lets them overtake each other where the ordering mode permits it, answers
 * TERN_AGAIN although there is room, lets progress stand still for a while, and kills a rank at a given operation: as
 * the option TERN_CHAOS says (base/chaos.h). Nothing that a correct program relies on changes.
 *
 * Time is counted in looks: calls that make progress. So what chaos does follows from the seed, the rank and the calls
 * that the rank makes, and not from how fast anything is. Every decision is drawn from a stream; a lane has one of its
 * own, and so has each channel.
 *
 *   schedule.c  the decisions: when something is due, and whom it may overtake
 *   path.c      transfers: those held back lie in a lane, in the core's own records; a lane holds CHAOS_HELD of them
 *   message.c   messages: taken out of the link behind and kept here until they are due, CHAOS_HELD and
 *               CHAOS_HELD_BYTES of each channel at most
 *   group.c     barriers that a rank leaves late
 *   region.c    a path in front of each path of the link behind
 *   link.c      the table, made at run time for the link behind
 *
 * A part keeps its address, so that tern_region_ptr works; but the path in front of it is not instant, so the core lets
 * no inlined call touch it.
 */
#ifndef TERN_LINK_CHAOS_CHAOS_H
#define TERN_LINK_CHAOS_CHAOS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/chaos.h"
#include "boot/bell.h"
#include "link/link.h"

#define CHAOS_HELD 64
#define CHAOS_HELD_BYTES (1u << 20)
#define CHAOS_STALLS 64 /* one look of so many begins a stall */

/* ---- schedule.c ---- */

/* A stream of decisions with a time of its own. One thread at a time, except where said. */
struct chaos_stream {
    const struct tern_chaos *chaos;
    uint64_t                 key;         /* what tells this stream's decisions from others' */
    _Atomic uint64_t         drawn;       /* decisions so far */
    uint64_t                 now;         /* looks so far */
    uint64_t                 still_until; /* the look at which progress goes on */
};

/* What a stream belongs to. */
enum chaos_use { CHAOS_LANE, CHAOS_OPEN, CHAOS_SERVE, CHAOS_GROUP, CHAOS_CHANNEL };

void tern_chaos_stream_begin(struct chaos_stream *stream, const struct tern_chaos *chaos, int rank, enum chaos_use use,
                             uint64_t number);

/* Count a look. False: progress stands still. */
bool tern_chaos_look(struct chaos_stream *stream);

/* Whether to answer TERN_AGAIN. Any thread. */
bool tern_chaos_refuses(struct chaos_stream *stream);

/* The look at which something that comes now is due; now or before: at once. must is when the last thing that it has
 * to follow is due, may the same for what it may overtake; 0: there is nothing. Things are let go in the order in
 * which they are due, and those that are due together in the order in which they came. */
uint64_t tern_chaos_due(struct chaos_stream *stream, uint64_t must, uint64_t may);

/* ---- the link ---- */

/* In front of a path of the link behind. */
struct chaos_path {
    struct tern_link_path        base; /* first: parts point here */
    const struct tern_link_path *behind;
    struct chaos_path           *next;
};

/* A message that was taken out of the link behind. */
struct chaos_message {
    struct chaos_message *next;
    uint64_t              due;
    int                   from;
    bool                  refused; /* by the target, when it was due last */
    size_t                len;
    unsigned char        *data; /* in the same piece of memory; NULL: there is none */
    _Alignas(64) unsigned char head[TERN_LINK_HEAD];
};

/* In front of a watch of the link behind. */
struct chaos_watch {
    struct tern_link_watch  base;
    struct tern_link_watch *behind;
    struct chaos_watch     *next;
};

/* The messages of one channel. One thread at a time; count is read by any. */
struct chaos_inbox {
    struct tern_link_watch watch; /* shows what is held back */
    struct chaos_stream    stream;
    struct chaos_message  *first, **last; /* in the order in which they came */
    _Atomic uint32_t       count;
    size_t                 bytes;
};

struct chaos_link {
    const struct tern_link_ops *ops; /* of the link behind */
    struct tern_link           *behind;
    const struct tern_link_ops *front; /* the table of this one */
    unsigned                    place; /* in the registry */
    const struct tern_chaos    *chaos;
    const struct tern_boot     *boot;
    const struct tern_link_up  *up;
    struct tern_link_up         news;          /* what the link behind reports to: done goes straight up */
    _Atomic uint64_t            lanes, groups; /* that were opened */
    struct chaos_stream         open;          /* of messages. Any thread */
    struct chaos_stream         serve;
    struct chaos_path          *paths;
    struct chaos_watch         *watches;
    struct chaos_link          *next; /* of those that are open */
    struct chaos_inbox          inbox[TERN_CHANNELS];
};

struct chaos_lane {
    struct chaos_link   *link;
    struct tern_lane    *behind;
    struct chaos_stream  stream;
    struct tern_link_op *first, **last; /* held back, in the order in which they came */
    unsigned             count;
};

static inline struct chaos_link *tern_chaos_link(struct tern_link *link)
{
    return (struct chaos_link *)link;
}

/* Something is held back and nobody will ring for it: let no thread of this rank sleep. */
static inline void tern_chaos_stay_awake(const struct chaos_link *link)
{
    struct tern_slot *slot = &link->boot->segment->slot[link->boot->rank];

    tern_boot_bell_ring(&slot->bell, &slot->sleepers);
}

/* The table of a link in front of the one given, which does what chaos says; NULL: there are too many. One thread.
 * Called again for the same link it changes what is done, and gives the same table. */
const struct tern_link_ops *tern_chaos_wrap(const struct tern_link_ops *behind, const struct tern_chaos *chaos);

/* Begin a stream of the link, the number-th for that use. */
void tern_chaos_stream(const struct chaos_link *link, struct chaos_stream *stream, enum chaos_use use, uint64_t number);

/* Count an operation of this rank, and die if it is the one to die at. Any thread. */
void tern_chaos_operation(const struct chaos_link *link);

tern_status tern_chaos_attach(struct tern_link *link, const struct tern_mem_handle *card, const char *path_name,
                              struct tern_link_part *part);
void        tern_chaos_detach(struct tern_link *link, struct tern_link_part *part);
void        tern_chaos_paths_free(struct chaos_link *link);

tern_status tern_chaos_start(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op);
bool        tern_chaos_brings(struct tern_lane *lane, const struct tern_xfer *xfer);
void        tern_chaos_progress(struct tern_lane *lane);
void        tern_chaos_cancel(struct tern_lane *lane, struct tern_link_op *op);
tern_status tern_chaos_errand_open(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op);
void        tern_chaos_errand_send(struct tern_lane *lane, struct tern_link_op *op, size_t request, size_t expect);

tern_status tern_chaos_group_open(struct tern_link *link, const struct tern_link_group *as,
                                  struct tern_link_group **out);
void        tern_chaos_group_close(struct tern_link_group *group);
void        tern_chaos_arrive(struct tern_link_group *group);
bool        tern_chaos_arrived(struct tern_link_group *group);
bool        tern_chaos_came(const struct tern_link_group *group, uint32_t member);
void        tern_chaos_depart(struct tern_link_group *group, uint64_t object);
bool        tern_chaos_departed(const struct tern_link_group *group, uint32_t member, uint64_t *object);
void        tern_chaos_post(struct tern_link_group *group, const void *note, size_t len);
const void *tern_chaos_peek(const struct tern_link_group *group, uint32_t member);

tern_status              tern_chaos_messages_open(struct chaos_link *link);
tern_status              tern_chaos_watch(struct tern_link_watch *behind);
void                     tern_chaos_messages_close(struct chaos_link *link);
enum tern_link_delivered tern_chaos_note(int from, const unsigned char *head, bool place);
bool                     tern_chaos_tagged(int from, const unsigned char *head, const unsigned char *data, size_t len);
void   tern_chaos_message(int from, unsigned channel, const unsigned char *head, const unsigned char *data, size_t len);
size_t tern_chaos_msg_longest(struct tern_link *link, int peer, unsigned channel);
tern_status tern_chaos_msg_open(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max);
void        tern_chaos_msg_send(struct tern_link *link, const struct tern_link_msg *msg, size_t len);
void        tern_chaos_msg_drop(struct tern_link *link, const struct tern_link_msg *msg);
tern_status tern_chaos_msg_brief(struct tern_link *link, int peer, unsigned channel, uint64_t first,
                                 const uint32_t *rest, unsigned count);
void        tern_chaos_msg_look(struct tern_link *link);
bool        tern_chaos_msg_settled(struct tern_link *link);
bool        tern_chaos_msg_left(struct tern_link *link, int peer, unsigned channel);

#endif

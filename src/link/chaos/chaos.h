/* chaos.h: a link that wraps another link and deliberately does what networks do by chance.
 *
 * Chaos delays transfers and messages, lets them overtake each other where the ordering mode permits it, returns
 * TERN_AGAIN although there is space, stops progress for a while, and kills a rank at a given operation, as the
 * option TERN_CHAOS says (base/chaos.h). Everything that a correct program may rely on still holds.
 *
 * Time is counted in polls, that is, in calls that make progress. So the behavior of chaos depends on the seed, the
 * rank and the calls that the rank makes, and not on the speed of anything. Every decision is drawn from a stream of
 * pseudo-random numbers. Each lane and each channel has a stream of its own.
 *
 *   schedule.c  the decisions: when an item is due, and what it may overtake
 *   path.c      transfers: delayed ones stay in a lane, in records of the core, up to CHAOS_HELD of them; and a path in
 *               front of each path of the wrapped link
 *   message.c   messages: taken out of the wrapped link and stored until they are due, up to CHAOS_HELD messages and
 *               CHAOS_HELD_BYTES bytes for each channel
 *   group.c     barriers that a rank leaves late
 *   link.c      the operation table, built at run time for the wrapped link
 *
 * The core uses the wrapped link itself, through a copy of its table in which the functions of this folder replace
 * those that chaos changes. So the functions that chaos does not change need no code here.
 *
 * A part keeps its address, so that tern_region_ptr works. But the path in front of the part is not instant, so the
 * core does not let inlined calls access the part.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/chaos.h"
#include "boot/bell.h"
#include "link/link.h"

#define CHAOS_HELD 64
#define CHAOS_HELD_BYTES (1u << 20)
#define CHAOS_STALLS 64 /* one poll in this many starts a stall */

/* ---- schedule.c ---- */

/* A stream of decisions with a clock of its own. One thread at a time may use a stream, except where stated. */
struct chaos_stream {
    const struct tern_chaos *chaos;
    uint64_t                 key;         /* distinguishes this stream's decisions from those of other streams */
    _Atomic uint64_t         drawn;       /* number of decisions so far */
    uint64_t                 now;         /* number of polls so far */
    uint64_t                 still_until; /* the poll at which progress resumes */
};

/* The kind of object that a stream belongs to. */
enum chaos_use { CHAOS_LANE, CHAOS_OPEN, CHAOS_SERVE, CHAOS_GROUP, CHAOS_CHANNEL };

void tern_chaos_stream_begin(struct chaos_stream *stream, const struct tern_chaos *chaos, int rank, enum chaos_use use,
                             uint64_t number);

/* Count a poll. Returns false if progress is stalled. */
bool tern_chaos_look(struct chaos_stream *stream);

/* Return whether to return TERN_AGAIN for an operation. Any thread may call this. */
bool tern_chaos_refuses(struct chaos_stream *stream);

/* Return the poll at which a new item is due; an item is due at once if that is not later than `now`. `must` is the due
 * time of the last item that the new one has to follow, `may` is the due time of the last item that the new one may
 * overtake; 0 means that there is no such item. Items are released in the order of their due times, and items with the
 * same due time in the order of their arrival. */
uint64_t tern_chaos_due(struct chaos_stream *stream, uint64_t must, uint64_t may);

/* ---- the link ---- */

/* A path in front of a path of the wrapped link. */
struct chaos_path {
    struct tern_link_path        base; /* must be first: parts point here */
    const struct tern_link_path *behind;
    struct chaos_path           *next;
};

/* A message that was taken out of the wrapped link. */
struct chaos_message {
    struct tern_list node;
    uint64_t         due;
    int              from;
    bool             refused; /* the target refused the message when it was last due */
    size_t           len;
    unsigned char   *data; /* in the same allocation; NULL: no data */
    _Alignas(64) unsigned char head[TERN_LINK_HEAD];
};

/* A watch in front of a watch of the wrapped link. */
struct chaos_watch {
    struct tern_link_watch  base;
    struct tern_link_watch *behind;
    struct tern_list        node;
};

/* The delayed messages of one channel. One thread at a time uses an inbox; any thread may read count. */
struct chaos_inbox {
    struct tern_link_watch watch; /* ready while messages are delayed */
    struct chaos_stream    stream;
    struct tern_list       messages; /* in order of arrival */
    _Atomic uint32_t       count;
    size_t                 bytes;
};

struct chaos_link {
    const struct tern_link_ops *ops;    /* operation table of the wrapped link */
    struct tern_link           *behind; /* the wrapped link; the core knows the chaos link by this pointer, too */
    unsigned                    index;  /* index in the registry */
    const struct tern_chaos    *chaos;
    const struct tern_boot     *boot;
    const struct tern_link_up  *up;
    struct tern_link_up         upcalls;       /* for the wrapped link */
    _Atomic uint64_t            lanes, groups; /* numbers of lanes and groups opened so far */
    struct chaos_stream         open;          /* decides about opening messages; used by any thread */
    struct chaos_stream         serve;
    struct chaos_path          *paths;
    struct tern_list            watches;
    struct chaos_link *_Atomic  next; /* on the list of open links */
    struct chaos_inbox          inbox[TERN_CHANNELS];
};

struct chaos_lane {
    struct chaos_link  *link;
    struct tern_lane   *behind;
    struct chaos_stream stream;
    struct tern_list    ops; /* delayed operations, in order of arrival */
    unsigned            count;
};

/* Return the chaos link in front of a link; NULL: none is open. Any thread may call this. */
struct chaos_link *tern_chaos_link(const struct tern_link *behind);

/* Keep the threads of this rank awake: an item is delayed, and nobody will ring the bell for it. */
static inline void tern_chaos_stay_awake(const struct chaos_link *link)
{
    tern_boot_wake(&link->boot->segment->slot[link->boot->rank]);
}

/* Return whether to refuse an operation or message of the stream. full: there is no space for it. */
static inline bool tern_chaos_turns_away(const struct chaos_link *link, struct chaos_stream *stream, bool full)
{
    bool refused = full || tern_chaos_refuses(stream);

    if (refused)
        tern_chaos_stay_awake(link);
    return refused;
}

/* Return the operation table of a chaos link in front of the given link. Returns NULL if there are too many. A
 * second call for the same link changes the behavior and returns the same table. Only one thread may call this. */
const struct tern_link_ops *tern_chaos_wrap(const struct tern_link_ops *behind, const struct tern_chaos *chaos);

/* Start a stream of the link. `number` distinguishes the streams with the same use. */
void tern_chaos_stream(const struct chaos_link *link, struct chaos_stream *stream, enum chaos_use use, uint64_t number);

/* Count an operation of this rank, and kill the process if this is the operation to die at. Any thread may call
 * this. */
void tern_chaos_operation(const struct chaos_link *link);

/* The functions that replace those of the wrapped link. */
tern_status tern_chaos_attach(struct tern_link *behind, const struct tern_mem_handle *handle, const char *path_name,
                              struct tern_link_part *part);
void        tern_chaos_detach(struct tern_link *behind, struct tern_link_part *part);
void        tern_chaos_progress(struct tern_lane *lane);
void        tern_chaos_cancel(struct tern_lane *lane, struct tern_link_op *op);
tern_status tern_chaos_group_open(struct tern_link *behind, const struct tern_link_group *as,
                                  struct tern_link_group **out);
tern_status tern_chaos_msg_open(struct tern_link *behind, struct tern_link_msg *msg, size_t min, size_t max);
tern_status tern_chaos_msg_send_short(struct tern_link *behind, int peer, unsigned channel, uint64_t first,
                                      const uint32_t *rest, unsigned count);
bool        tern_chaos_msg_pending(struct tern_link *behind, int peer, unsigned channel);
extern const struct tern_rpc_ops tern_chaos_rpc;

/* tern_chaos_paths_free() frees the paths. tern_chaos_open_behind() opens the wrapped link. tern_chaos_messages_open()
 * registers the watches of the stored messages, and tern_chaos_messages_close() frees the watches and the messages. */
void        tern_chaos_paths_free(struct chaos_link *link);
tern_status tern_chaos_open_behind(struct chaos_link *link);
tern_status tern_chaos_messages_open(struct chaos_link *link);
void        tern_chaos_messages_close(struct chaos_link *link);

/* The upcalls for the wrapped link. */
tern_status              tern_chaos_watch(struct tern_link_watch *behind);
enum tern_link_delivered tern_chaos_notify(int from, const unsigned char *head, bool copy);
enum tern_link_delivered tern_chaos_tagged(int from, const unsigned char *head, const unsigned char *data, size_t len);
void tern_chaos_message(int from, unsigned channel, const unsigned char *head, const unsigned char *data, size_t len);

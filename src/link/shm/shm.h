/* shm.h: the link between ranks of one node.
 *
 * Parts of regions that Tern made are mapped here: their path is a copy. Memory that a program registered is reached by
 * cross-memory attach (cma.c) or, where the kernel forbids that, through chunks that the target's service thread
 * copies (bounce.c). The ranks' control memory lies in the arena behind the boot segment:
 *
 *   desk[locals]             requests for bounced transfers
 *   hall 0, hall 1           the places where the world (of a job on one node) and the node team meet
 *   post[locals * locals][]  where each rank's messages to each other rank are
 *
 * Everything in it has fixed widths and a stated writer. It is laid out by the ranks of this node, by their local
 * numbers; everywhere else ranks count in the job.
 */
#ifndef TERN_LINK_SHM_SHM_H
#define TERN_LINK_SHM_SHM_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/bits.h"
#include "link/inject.h"
#include "base/options.h"
#include "base/spsc_ring.h"
#include "boot/space.h"
#include "link/link.h"

#define SHM_CHUNKS 64 /* chunks of a rank; one bit each in a word */
#define SHM_GROUPS 2
#define SHM_ROUNDS 12 /* of a barrier: TERN_MAX_NODE_RANKS is 2^12 */

/* What the target does: copy from the chunk, copy to it, or serve the request in it and write the answer behind. */
enum shm_verb { SHM_PUT, SHM_GET, SHM_RPC };

enum shm_chunk_state { SHM_CHUNK_MINE, SHM_CHUNK_POSTED, SHM_CHUNK_DONE };

/* A piece of a bounced transfer. The initiator owns and writes it, but between POSTED and DONE, when the target does.
 * Neither believes what it reads here but for what the other one had to say. */
struct shm_chunk {
    _Alignas(64) _Atomic uint32_t state; /* enum shm_chunk_state */
    uint32_t next;                       /* in the target's inbox: number of the next chunk + 1, 0 at the end */
    uint32_t verb;                       /* enum shm_verb */
    int32_t  status;                     /* tern_status of what the target did */
    uint64_t region, offset, len;        /* which bytes of the target. ERRAND: len is the request's; offset is the most
                                            that the answer may have, and then what it has */
    uint64_t data;                       /* where in the arena the chunk's bytes are */
};
_Static_assert(sizeof(struct shm_chunk) == 64, "one chunk head is one cache line");

struct shm_bounce_ctl {
    _Alignas(64) _Atomic uint32_t inbox; /* requests to this rank: number of the newest chunk + 1. Pushed by peers,
                                            taken whole by this rank's service thread */
    _Atomic uint32_t service_needed;     /* 1: a peer needs this rank's service. Writers: peers */
    _Atomic uint32_t senders;            /* peers that have made a post for this rank. Writers: peers, after the post */
    _Atomic uint32_t inline_notify;      /* 1: it takes notes that carry data. Writer: this rank, before it joins */
    _Alignas(64) _Atomic uint64_t data; /* the arena offset of this rank's chunk data; 0: none yet. Writer: this rank */
    _Atomic uint64_t data_bytes;
    struct shm_chunk chunk[SHM_CHUNKS];
    struct tern_work_split
        split[TERN_LINK_SPLITS]; /* messages to this rank that both ends copy. Writers: base/work_split.h */
};
_Static_assert(sizeof(struct shm_bounce_ctl) == 128 + 64 * SHM_CHUNKS + 128 * TERN_LINK_SPLITS,
               "desks lie side by side");

/* One member of a team. A hall is an array of seats, one for each. */
struct shm_barrier_slot {
    struct {
        _Alignas(64) _Atomic uint32_t count; /* barriers for which the partner of this round has come. Writer: it */
    } round[SHM_ROUNDS];
    _Alignas(64) _Atomic uint32_t arrived; /* barriers that the member has entered. Writer: the member */
    _Atomic uint32_t departures;           /* things that it has given up. Writer: the member */
    _Atomic uint64_t object[2];            /* which, the last two. Writer: the member */
    _Alignas(64) unsigned char contribution[2][TERN_LINK_CONTRIBUTION]; /* Writer: the member */
};

/* Where a rank's messages to another lie: the rings of requests and replies, made together, that of tagged messages,
 * and the cells of notes. */
enum shm_queue_kind { SHM_QUEUE_PAIR, SHM_QUEUE_TAGGED, SHM_RINGS, SHM_QUEUE_NOTIFY = SHM_RINGS, SHM_QUEUES };

/* Writer: the sender, once. */
struct shm_queue_ref {
    _Atomic uint64_t offset; /* in the arena; 0: it has sent none yet */
    _Atomic uint64_t bytes;  /* of each ring, or of the cells */
};

/* The sender's side of one post of rings. */
struct shm_tx {
    struct tern_space            space;
    unsigned char               *map;
    struct tern_slot            *slot;                         /* of the peer */
    struct tern_ring_mp_producer producer[TERN_CHANNELS_PAIR]; /* by channel; of posts with one ring the first */
};

/* The same of notes: near cells, and far ones from when they were needed on. */
struct shm_notify_tx {
    struct tern_inject_notify inject;
    struct shm_link          *shm;
    int                       peer;
    struct shm_notify_cells {
        struct tern_space       space;
        unsigned char          *map; /* NULL: none yet */
        struct tern_nq_payload *load;
    } cells[TERN_NQ_ROWS];
};

/* The receiver's side of one channel from one peer, and of one post. */
struct shm_rx_channel {
    struct tern_link_watch    watch;
    struct tern_ring_consumer ring;
    int                       from;
    bool                      needs_fence; /* tern_link_needs_fence() of the sender */
    bool                      many;        /* the last delivery ended before the messages did */
};

struct shm_rx {
    int                   from;
    enum shm_queue_kind   kind;
    unsigned char        *map;
    size_t                bytes;
    struct shm_rx_channel channel[TERN_CHANNELS_PAIR];
};

struct shm_notify_rx {
    struct tern_link_watch  watch;
    struct tern_nq_consumer queue;
    int                     from;
    bool                    needs_fence;       /* tern_link_needs_fence() of the sender */
    unsigned char          *map[TERN_NQ_ROWS]; /* NULL: not yet */
    size_t                  bytes[TERN_NQ_ROWS];
};

enum shm_cma { SHM_CMA_UNKNOWN, SHM_CMA_YES, SHM_CMA_NO };

/* A PRIVATE part of this rank that peers may ask the service thread to copy. */
struct shm_exposed {
    struct shm_exposed *next;
    uint64_t            region, addr, size, origin;
};

/* message.c */
struct shm_msg {
    struct shm_queue_ref     *queue_ref;     /* shared; see tern_shm_queue_ref_between() */
    _Atomic(struct shm_tx *) *tx[SHM_RINGS]; /* [ranks of the job] NULL: nothing sent there yet */
    pthread_mutex_t           tx_lock;       /* guards the making of those, and of notes */
    struct shm_rx            *rx;            /* [locals * SHM_RINGS] those known, in the order in which they came */
    uint32_t                  rx_count;
    struct tern_link_watch    directory;        /* shows that there are new ones */
    struct tern_ring_shape    shape[SHM_RINGS]; /* of the rings that this rank makes */
    size_t                    ring_bytes[SHM_RINGS];
};

/* notify.c */
struct shm_notify {
    _Atomic(struct shm_notify_tx *) *tx;                /* [ranks of the job] NULL: nothing sent there yet */
    struct shm_notify_rx           **rx;                /* [locals] NULL: nothing has come */
    uint32_t                         primary, overflow; /* cells that this rank makes */
    bool                             inline_notify;     /* this rank sends and takes notes that carry data */
};

/* The data of a peer's chunks as the service thread has mapped it. Kept here, because what the peer says may change. */
struct shm_peer_data {
    unsigned char *map;           /* NULL: not yet */
    uint64_t       offset, bytes; /* in the arena */
};

/* What a chunk of this rank is for: bytes of its transfer. Kept here, because what the chunk says may change. */
struct shm_chunk_range {
    uint64_t at, len; /* at: from the begin of the transfer */
};

struct shm_link {
    const struct tern_boot    *boot;
    const struct tern_link_up *up;
    int                        ranks;         /* of the job */
    int                        local, locals; /* this rank among those of its node */
    int32_t                   *local_of;      /* [ranks] -1: on another node */
    int32_t                   *rank_of;       /* [locals] */
    unsigned char             *control;       /* mapped control memory */
    size_t                     control_bytes;
    struct shm_bounce_ctl     *bounce_ctl; /* [locals] */
    uint8_t                   *cma;        /* [locals] enum shm_cma */
    /* bounce.c, as initiator; the masks are shared by all threads of the process */
    _Atomic uint64_t           free_chunks; /* that no transfer uses */
    _Atomic uint64_t           lane_chunks; /* that no lane has beside those */
    pthread_mutex_t            lanes_lock;  /* guards the list of lanes; taken before the lock of one */
    struct shm_lane           *lanes;
    struct tern_space          data_space;
    unsigned char             *data; /* mapped data of this rank's chunks; NULL: none yet */
    uint64_t                   chunk_bytes;
    struct shm_chunk_range     range[SHM_CHUNKS]; /* of each chunk that a put or get uses. Writer: who took the chunk */
    /* bounce.c, as target */
    pthread_mutex_t            exposed_lock;
    pthread_mutex_t            chunks_lock; /* guards the making of data */
    struct shm_exposed        *exposed;
    struct shm_peer_data      *peer_data; /* [locals] used by the service thread */
    struct shm_msg             msg;
    struct shm_notify          notify;
};

struct shm_lane {
    struct shm_link     *link;
    struct tern_link_op *first, **last; /* under way, oldest first */
    int                  own;           /* the chunk that is no shared one; -1: none */
    unsigned             held;          /* chunks that the lane has, of both kinds */
    pthread_mutex_t      lock;          /* guards all that was named, and of transfers chunks, status and answer: other
                                           threads collect for this lane where they find no chunk. The list is changed
                                           by the thread that uses the lane only, which reads it without the lock */
    struct shm_lane     *next, **prev;  /* among all lanes of the link: its lanes_lock */
};

tern_status tern_shm_messages_open(struct shm_link *shm);
void        tern_shm_messages_close(struct shm_link *shm);
bool        tern_shm_msg_pending(struct tern_link *link, int peer, unsigned channel);
size_t      tern_shm_msg_max_data(struct tern_link *link, int peer, unsigned channel);
tern_status tern_shm_msg_open(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max);
void        tern_shm_msg_send(struct tern_link *link, const struct tern_link_msg *msg, size_t len);
void        tern_shm_msg_drop(struct tern_link *link, const struct tern_link_msg *msg);
tern_status tern_shm_msg_short(struct tern_link *link, int peer, unsigned channel, uint64_t first, const uint32_t *rest,
                               unsigned count);

tern_status tern_shm_tagged_inject(struct tern_link *link, int peer, struct tern_inject_tagged *out);

/* For message.c and notify.c: memory for queues to a peer; word of it; and that of a peer, where it is all there. */
tern_status tern_shm_space_map(struct shm_link *shm, int peer, size_t bytes, struct tern_space *space,
                               unsigned char **map);
void tern_shm_announce(struct shm_link *shm, int peer, enum shm_queue_kind kind, uint64_t offset, uint64_t bytes);
tern_status tern_shm_queue_map(struct shm_link *shm, int from, uint64_t offset, uint64_t bytes, unsigned char **map);

bool        tern_shm_notify_open(struct shm_link *shm);
void        tern_shm_notify_close(struct shm_link *shm);
tern_status tern_shm_notify_attach(struct shm_link *shm, int local);
tern_status tern_shm_notify_reserve(struct shm_link *shm, struct tern_link_msg *msg);
tern_status tern_shm_notify_short(struct shm_link *shm, int peer, uint64_t first, const uint32_t *rest, unsigned count);
tern_status tern_shm_notify_inject(struct tern_link *link, int peer, struct tern_inject_notify **out);
bool        tern_shm_notify_flushed(struct tern_link *link, bool help);

extern const struct tern_link_ops  tern_shm_ops;
extern const struct tern_link_path tern_shm_path, tern_shm_cma_path, tern_shm_bounce_path;

static inline struct shm_link *tern_shm(struct tern_link *link)
{
    return (struct shm_link *)link;
}

static inline struct tern_slot *tern_shm_slot(const struct shm_link *shm, int rank)
{
    return &shm->boot->segment->slot[rank];
}

/* Whether the rank serves no more: it has left, or it is dead and the job goes on without it. */
static inline bool tern_shm_gone(const struct shm_link *shm, int rank)
{
    struct tern_slot *slot = tern_shm_slot(shm, rank);
    uint32_t          fate = atomic_load_explicit(&slot->fate, memory_order_relaxed);

    return (fate == TERN_FATE_LOST && shm->boot->segment->on_failure == TERN_ON_FAILURE_RETURN) ||
           fate == TERN_FATE_ENDED || atomic_load_explicit(&slot->life, memory_order_relaxed) == TERN_LIFE_LEFT;
}

/* Where hall id begins in the control memory, and how long the control memory is. */
size_t tern_shm_barrier_block_offset(int locals, uint32_t id);

/* The post of a kind, between two ranks of the node by their local numbers. */
static inline struct shm_queue_ref *tern_shm_queue_ref_between(const struct shm_link *shm, int to, int from,
                                                               enum shm_queue_kind kind)
{
    return &shm->msg.queue_ref[((size_t)to * (size_t)shm->locals + (size_t)from) * SHM_QUEUES + kind];
}

tern_status tern_shm_attach(struct tern_link *link, const struct tern_mem_handle *card, const char *path_name,
                            struct tern_link_part *part);
void        tern_shm_detach(struct tern_link *link, struct tern_link_part *part);

bool tern_shm_cma_works(struct shm_link *shm, const struct tern_mem_handle *card, int peer);

tern_status tern_shm_bounce_open(struct shm_link *shm);
void        tern_shm_bounce_close(struct shm_link *shm);
tern_status tern_shm_expose(struct tern_link *link, struct tern_mem_handle *card);
void        tern_shm_unexpose(struct tern_link *link, uint64_t region);
bool        tern_shm_serve(struct tern_link *link);
bool        tern_shm_service_needed(const struct tern_link *link);
void        tern_shm_bounce_progress(struct shm_lane *lane);
void        tern_shm_bounce_cancel(struct tern_lane *lane, struct tern_link_op *op);
void        tern_shm_bounce_enter(struct shm_lane *lane);
void        tern_shm_bounce_leave(struct shm_lane *lane);
tern_status tern_shm_rpc_open(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op);
void        tern_shm_rpc_send(struct tern_lane *lane, struct tern_link_op *op, size_t request, size_t expect);

tern_status tern_shm_group_open(struct tern_link *link, const struct tern_link_group *as, struct tern_link_group **out);
void        tern_shm_group_close(struct tern_link_group *group);
void        tern_shm_arrive(struct tern_link_group *group);
bool        tern_shm_arrived(struct tern_link_group *group);
bool        tern_shm_has_arrived(const struct tern_link_group *group, uint32_t member);
void        tern_shm_depart(struct tern_link_group *group, uint64_t object);
bool        tern_shm_departed(const struct tern_link_group *group, uint32_t member, uint64_t *object);
void        tern_shm_contribute(struct tern_link_group *group, const void *note, size_t len);
const void *tern_shm_contribution(const struct tern_link_group *group, uint32_t member);

#endif

/* shm.h: the link between the ranks of one node.
 *
 * Regions that Tern allocated are mapped by every rank of the node, and a transfer to them is a copy. Memory that
 * the application registered is reached by cross-memory attach (cma.c) or, where the kernel forbids that, through
 * bounce chunks that the target's helper thread copies (bounce.c). The control memory of the ranks lies in the
 * arena behind the boot segment:
 *
 *   bounce_ctl[locals]            requests for bounced transfers and RPCs
 *   barrier block 0, 1            barrier slots of the world (of a job on one node) and of the node team
 *   queue_ref[locals * locals][]  where the queues from each rank to each other rank are
 *
 * Every field of the control memory has a fixed width and a stated writer. The control memory is indexed by local
 * ranks (the numbers of the ranks within this node); all other code uses ranks of the job.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/bits.h"
#include "base/options.h"
#include "base/spsc_ring.h"
#include "boot/space.h"
#include "link/ring.h"

#define SHM_CHUNKS 64 /* bounce chunks of a rank; a 64-bit mask has one bit for each */
#define SHM_GROUPS 2
#define SHM_ROUNDS 12 /* rounds of a barrier: TERN_MAX_NODE_RANKS is 2^12 */

/* What the target is asked to do: copy from the chunk, copy into the chunk, or execute the RPC request in the chunk and
 * write the response behind the request. */
enum shm_verb { SHM_PUT, SHM_GET, SHM_RPC };

enum shm_chunk_state { SHM_CHUNK_MINE, SHM_CHUNK_POSTED, SHM_CHUNK_DONE };

/* One chunk of a bounced transfer. The initiator owns and writes the chunk, except between POSTED and DONE, when the
 * target does. Neither side trusts the fields that it reads here, except for those whose values only the other side can
 * know. */
struct shm_chunk {
    _Alignas(64) _Atomic uint32_t state; /* enum shm_chunk_state */
    uint32_t next;                       /* next chunk in the target's inbox: its number + 1; 0 at the end */
    uint32_t verb;                       /* enum shm_verb */
    int32_t  status;                     /* tern_status of the target's work */
    uint64_t region, offset, len;        /* the target's bytes. RPC: len is the length of the request; offset is the
                                            maximum length of the response, and after DONE its actual length */
    uint64_t data;                       /* arena offset of the chunk's data */
};
_Static_assert(sizeof(struct shm_chunk) == 64, "one chunk head is one cache line");

struct shm_bounce_ctl {
    _Alignas(64) _Atomic uint32_t inbox; /* newest request to this rank: chunk number + 1. Peers push; this rank's
                                            helper thread takes the whole list */
    _Atomic uint32_t service_needed;     /* 1: a peer needs this rank's helper thread. Writers: peers */
    _Atomic uint32_t senders;            /* number of queues that peers have announced to this rank. Writers: peers,
                                            after the queue_ref */
    _Atomic uint32_t inline_notify;      /* 1: this rank accepts inline payload. Writer: this rank, before it joins */
    _Alignas(64) _Atomic uint64_t data;  /* arena offset of this rank's chunk data; 0: not allocated. Writer: this
                                           rank */
    _Atomic uint64_t data_bytes;
    struct shm_chunk chunk[SHM_CHUNKS];
    struct tern_work_split
        split[TERN_LINK_SPLITS]; /* messages to this rank that both ends copy. Writers: base/work_split.h */
};
_Static_assert(sizeof(struct shm_bounce_ctl) == 128 + 64 * SHM_CHUNKS + 128 * TERN_LINK_SPLITS,
               "bounce control blocks fill whole cache lines");

/* The barrier state of one team member. A barrier block is an array with one slot for each member. The words of barrier
 * n are those with index n & 1: group.c explains them. */
struct shm_barrier_slot {
    struct {
        _Alignas(64) _Atomic uint32_t word[2]; /* the signal of the partner of this round. Writer: the partner */
    } round[SHM_ROUNDS];
    _Alignas(64) _Atomic uint32_t arrived[2]; /* arrivals of the member. Writer: the member */
    struct tern_barrier_slot state;           /* departures, and the calls that contribute. Writer: the member */
    _Alignas(64) unsigned char contribution[2][TERN_LINK_CONTRIBUTION]; /* Writer: the member */
};

/* The queues from one rank to another: the pair of rings for requests and replies, the ring for tagged messages, the
 * pair of rings for requests and replies that the helper thread may take, and the notification queue. */
enum shm_queue_kind {
    SHM_QUEUE_PAIR,
    SHM_QUEUE_TAGGED,
    SHM_QUEUE_HELPER,
    SHM_RINGS,
    SHM_QUEUE_NOTIFY = SHM_RINGS,
    SHM_QUEUES
};

/* Where a queue lies. Writer: the sender, once. */
struct shm_queue_ref {
    _Atomic uint64_t offset; /* arena offset; 0: the sender has not created the queue */
    _Atomic uint64_t bytes;  /* size of each ring, or of the notification queue */
};

/* The sender's side of the rings of one kind to one peer. */
struct shm_tx {
    struct tern_inject_pair inject; /* must be first. A kind with one ring has only the first producer */
    struct tern_space       space;
    unsigned char          *map;
};

/* The sender's side of a notification queue: the primary cells, and the overflow cells once they are needed. */
struct shm_notify_tx {
    struct tern_inject_notify inject;
    struct shm_link          *shm;
    int                       peer;
    struct shm_notify_cells {
        struct tern_space       space;
        unsigned char          *map; /* NULL: not created */
        struct tern_nq_payload *load;
    } cells[TERN_NQ_ROWS];
};

struct shm_rx {
    unsigned char      *map; /* NULL: not mapped */
    size_t              bytes;
    struct tern_link_rx channel[TERN_CHANNELS_PAIR];
};

struct shm_notify_rx {
    struct tern_link_watch  watch;
    struct tern_nq_consumer queue;
    int                     from;
    bool                    needs_fence;       /* tern_link_needs_fence() of the sender */
    unsigned char          *map[TERN_NQ_ROWS]; /* NULL: not mapped */
    size_t                  bytes[TERN_NQ_ROWS];
};

enum shm_cma { SHM_CMA_UNKNOWN, SHM_CMA_YES, SHM_CMA_NO };

/* message.c */
struct shm_msg {
    struct shm_queue_ref  *queue_ref; /* shared; see tern_shm_queue_ref_between() */
    /* [ranks of the job] struct shm_tx, or struct shm_notify_tx for SHM_QUEUE_NOTIFY. NULL: nothing sent to the rank */
    _Atomic(void *)       *tx[SHM_QUEUES];
    pthread_mutex_t        tx_lock;          /* guards the creation of tx entries */
    struct shm_rx         *rx[SHM_RINGS];    /* [locals] the rings of the senders on this node */
    struct tern_link_watch directory;        /* changes when a peer announces a new queue */
    struct tern_ring_shape shape[SHM_RINGS]; /* shape of the rings that this rank creates */
    size_t                 ring_bytes[SHM_RINGS];
};

/* notify.c */
struct shm_notify {
    struct shm_notify_rx **rx;                /* [locals] NULL: nothing received from that rank */
    uint32_t               primary, overflow; /* number of cells in the queues that this rank creates */
    bool                   inline_notify;     /* this rank sends and accepts inline payload */
};

/* The helper thread's mapping of a peer's chunk data. The location is copied here because the peer can change its
 * own record at any time. */
struct shm_peer_data {
    unsigned char *map;           /* NULL: not mapped */
    uint64_t       offset, bytes; /* of the mapped range in the arena */
};

/* The bytes of the transfer that a chunk of this rank carries. They are kept here because the target can change the
 * chunk's header at any time. */
struct shm_chunk_range {
    uint64_t at, len; /* at: offset from the start of the transfer */
};

struct shm_link {
    const struct tern_boot    *boot;
    const struct tern_link_up *up;
    int                        ranks;         /* ranks of the job */
    int                        local, locals; /* local rank of this process; number of ranks on this node */
    int32_t                   *local_of;      /* [ranks] local rank; -1: the rank is on another node */
    int32_t                   *rank_of;       /* [locals] rank in the job */
    unsigned char             *control;       /* mapped control memory */
    size_t                     control_bytes;
    struct shm_bounce_ctl     *bounce_ctl; /* [locals] */
    uint8_t                   *cma;        /* [locals] enum shm_cma */
    /* bounce.c, initiator side. All threads of the process share the masks. */
    _Atomic uint64_t           free_chunks; /* shared chunks that no transfer uses */
    _Atomic uint64_t           lane_chunks; /* chunks reserved for single lanes that no lane holds */
    pthread_mutex_t            lanes_lock;  /* guards the list of lanes; acquired before the lock of a lane */
    struct tern_list           lanes;
    struct tern_space          data_space;
    unsigned char             *data; /* mapped data of this rank's chunks; NULL: not allocated */
    uint64_t                   chunk_bytes;
    struct shm_chunk_range     range[SHM_CHUNKS]; /* of each chunk that a put or get uses. Writer: the thread that
                                                     holds the chunk */
    /* bounce.c, target side */
    pthread_mutex_t            exposed_lock;
    pthread_mutex_t            chunks_lock; /* guards the allocation of data */
    struct tern_list           exposed;   /* PRIVATE parts of this rank. Peers may ask the helper thread to copy them */
    struct shm_peer_data      *peer_data; /* [locals] used by the helper thread only */
    struct shm_msg             msg;
    struct shm_notify          notify;
};

struct shm_lane {
    struct shm_link *link;
    struct tern_list ops;  /* outstanding operations, oldest first */
    int              own;  /* the chunk taken from lane_chunks; -1: none */
    unsigned         held; /* chunks that the lane holds, of both kinds */
    pthread_mutex_t  lock; /* guards the fields above, and chunks, status and response of each
                                           operation: a thread that finds no free chunk collects finished chunks for
                                           all lanes. Only the thread that uses the lane changes the list, and that
                                           thread reads the list without the lock */
    struct tern_list node; /* in the list of all lanes of the link; guarded by lanes_lock */
};

tern_status tern_shm_messages_open(struct shm_link *shm);
void        tern_shm_messages_close(struct shm_link *shm);

/* message.c. tern_shm_space_map() allocates and maps memory for queues to a peer; tern_shm_announce() publishes the
 * location of a queue to the peer; tern_shm_queue_map() maps a queue, or chunks, that a peer announced, after checking
 * that the arena contains all of it; tern_shm_invalid_queue() sets the error text for an announced queue whose size is
 * not possible. */
tern_status tern_shm_space_map(struct shm_link *shm, int peer, size_t bytes, struct tern_space *space,
                               unsigned char **map);
void tern_shm_announce(struct shm_link *shm, int peer, enum shm_queue_kind kind, uint64_t offset, uint64_t bytes);
tern_status tern_shm_queue_map(struct shm_link *shm, int from, uint64_t offset, uint64_t bytes, unsigned char **map);
tern_status tern_shm_invalid_queue(int from, uint64_t offset, uint64_t bytes);

/* message.c: create the sending side of the queue, or queues, of a kind to a peer. */
tern_status tern_shm_tx_first(struct shm_link *shm, int peer, enum shm_queue_kind kind);

/* Return the sending side of the queues of a kind to a peer; the first call creates it. Returns NULL and sets *st on
 * error. */
static inline void *tern_shm_tx(struct shm_link *shm, int peer, enum shm_queue_kind kind, tern_status *st)
{
    void *tx;

    /* acquire: the contents of the object after the pointer. Pairs with tern_shm_tx_first(). */
    while (TERN_UNLIKELY(!(tx = atomic_load_explicit(&shm->msg.tx[kind][peer], memory_order_acquire))))
        if ((*st = tern_shm_tx_first(shm, peer, kind)) < 0)
            return NULL;
    return tx;
}

/* notify.c. tx_make creates the sending side of the queue to a peer, and tx_close unmaps it. attach starts to receive
 * from the queue that a local rank has announced. */
void        tern_shm_notify_open(struct shm_link *shm);
tern_status tern_shm_notify_tx_make(struct shm_link *shm, int peer, struct shm_notify_tx *tx);
void        tern_shm_notify_tx_close(struct shm_notify_tx *tx);
void        tern_shm_notify_rx_close(struct shm_notify_rx *rx);
tern_status tern_shm_notify_attach(struct shm_link *shm, int local, uint64_t offset, uint64_t bytes);
tern_status tern_shm_notify_reserve(struct shm_link *shm, struct tern_link_msg *msg);
bool        tern_shm_notify_flushed(struct tern_link *link, bool help);

extern const struct tern_link_ops   tern_shm_ops;
extern const struct tern_link_path  tern_shm_cma_path, tern_shm_bounce_path;
extern const struct tern_msg_ops    tern_shm_msg;
extern const struct tern_inject_ops tern_shm_inject;
extern const struct tern_rpc_ops    tern_shm_rpc;
extern const struct tern_group_ops  tern_shm_group;

static inline struct shm_link *tern_shm(struct tern_link *link)
{
    return (struct shm_link *)link;
}

static inline struct tern_slot *tern_shm_slot(const struct shm_link *shm, int rank)
{
    return &shm->boot->segment->slot[rank];
}

/* Return the offset of barrier block `id` in the control memory: the slots of the members, then their boards. If id is
 * SHM_GROUPS, return the offset of the queue directory. */
size_t tern_shm_barrier_block_offset(int locals, uint32_t id);

/* Return the queue_ref of the given kind for the queue from one local rank to another. */
static inline struct shm_queue_ref *tern_shm_queue_ref_between(const struct shm_link *shm, int to, int from,
                                                               enum shm_queue_kind kind)
{
    return &shm->msg.queue_ref[((size_t)to * (size_t)shm->locals + (size_t)from) * SHM_QUEUES + kind];
}

tern_status tern_shm_attach(struct tern_link *link, const struct tern_mem_handle *handle, const char *path_name,
                            struct tern_link_part *part);
void        tern_shm_detach(struct tern_link *link, struct tern_link_part *part);

bool tern_shm_cma_works(struct shm_link *shm, const struct tern_mem_handle *handle, int peer);

/* Log once for each peer that the option TERN_CMA forbids cross-memory attach. */
void tern_shm_cma_off(struct shm_link *shm, int peer);

tern_status tern_shm_bounce_open(struct shm_link *shm);
void        tern_shm_bounce_close(struct shm_link *shm);
tern_status tern_shm_expose(struct tern_link *link, struct tern_mem_handle *handle);
void        tern_shm_unexpose(struct tern_link *link, uint64_t region);
bool        tern_shm_serve(struct tern_link *link);
bool        tern_shm_service_needed(const struct tern_link *link);
tern_status tern_shm_lane_open(struct tern_link *link, struct tern_lane **out);
void        tern_shm_lane_close(struct tern_lane *lane);
void        tern_shm_lane_progress(struct tern_lane *lane);
void        tern_shm_lane_cancel(struct tern_lane *lane, struct tern_link_op *op);

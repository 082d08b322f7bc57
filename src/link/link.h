/* link.h: the contract between the core and a transport.
 *
 * Calls go down: the core opens the links of the registry in order until every peer is reached, and assigns each peer
 * to the first link that reaches it. Completions and messages come up only through the table tern_link_up. A link never
 * blocks: a call that cannot finish at once returns TERN_PENDING (the operation completes in progress) or TERN_AGAIN
 * (nothing was started).
 *
 * The objects:
 *   link   one per transport and process
 *   lane   one per link and context: used by one thread at a time, so it needs no lock
 *   part   one rank's part of a region as this process sees it; filled once, when the region is created
 *   path   how puts and gets reach a part: a small const object that attach chooses
 *   op     one outstanding transfer; the core owns the memory
 *   rpc    a request that the target's process serves independently of its program, and its response; an op, like a
 *          transfer
 *   watch  a word in memory that changes when messages arrive
 *   group  one per team: its members synchronize (arrive) and exchange contributions (contribute, contribution)
 *
 * Every implementation has these files: link.c (the table), region.c (attach), path.c (put and get), message.c; links
 * with their own groups have group.c; the larger links have additional files. Read self/ first. chaos/ wraps the other
 * links in order to test a program (TERN_CHAOS).
 */
#ifndef TERN_LINK_LINK_H
#define TERN_LINK_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/notify_queue.h"
#include "base/spsc_ring.h"
#include "base/work_split.h"
#include "base/status.h"
#include "boot/boot.h"

struct tern_link;
struct tern_lane;
struct tern_link_op;
struct tern_inject_notify;

/* Where the memory of a part is located. */
enum tern_mem_kind {
    TERN_MEM_NONE,    /* the rank is not in the region's team, or exposes no memory */
    TERN_MEM_ARENA,   /* at an offset of the arena */
    TERN_MEM_HUGE,    /* at an offset of the arena of huge pages */
    TERN_MEM_FILE,    /* in a file that the program has chosen */
    TERN_MEM_PRIVATE, /* memory that only its process maps */
};

/* Memory handle: what a rank tells the other ranks about its part. It travels between processes: fixed widths, no
 * padding. */
struct tern_mem_handle {
    uint64_t region; /* the owner's name for the part; unique among the parts of the owner */
    uint64_t addr;   /* in the owner's address space */
    uint64_t size;   /* bytes that peers may access */
    uint64_t offset; /* offset in the file that is mapped at addr; PRIVATE: 0 if peers cannot map that file */
    uint64_t device; /* FILE: identity of the file, with inode */
    uint64_t inode;  /* inode of the file; 0: PRIVATE memory that is not in a file that peers can map */
    uint64_t probe;  /* PRIVATE: address of the process's tern_link_probe */
    uint64_t key;    /* network key of the memory, and base: its address on the network. Both are filled by expose */
    uint64_t base;
    uint32_t mem_kind; /* enum tern_mem_kind */
    int32_t  pid;
};
_Static_assert(sizeof(struct tern_mem_handle) == 80, "a card has no padding");

/* Convert the number that an owner uses for its part into the part's name, or the name into the number. A message to
 * the owner carries the number, so that it need not name the owner. */
static inline uint64_t tern_link_region_of(int owner, uint64_t number_or_name)
{
    return number_or_name ^ (uint64_t)owner << 40;
}

/* Return the position of the first byte of a part within all memory of its node. The position depends on the memory
 * alone, not on the address or region through which it is reached: parts that overlap in memory overlap in their
 * positions. The locks of accumulates are chosen by position (op/atomic/acc.h). Parts of different files may happen to
 * have equal positions. */
static inline uint64_t tern_link_origin(const struct tern_mem_handle *handle, int rank)
{
    uint64_t owner = handle->inode != 0 ? handle->inode : ~(uint64_t)rank;

    return (owner * 0x9e3779b97f4a7c15ull << 20) + (handle->inode != 0 ? handle->offset : handle->addr);
}

/* Words that a peer reads and writes to find out whether the kernel permits access. Both hold the job's number. */
struct tern_link_probe {
    uint64_t readable, writable;
};
extern struct tern_link_probe tern_link_probe;

/* One rank's part of a region, as an initiator needs it. */
struct tern_link_part {
    const struct tern_link_path       *path; /* NULL: no part */
    unsigned char                     *base; /* address for loads and stores; NULL: the memory is not mapped */
    uint64_t                           size;
    uint64_t                           mapped;   /* bytes that the link mapped at base; 0: none */
    uint64_t                           offset;   /* ARENA, HUGE: offset in the file */
    uint32_t                           mem_kind; /* enum tern_mem_kind */
    uint64_t                           addr;     /* in the owner's address space */
    uint64_t                           origin;   /* tern_link_origin() */
    uint64_t                           region;   /* copied from the memory handle */
    uint64_t                           key;      /* ofi: key of the remote memory, and remote: its base address */
    uint64_t                           remote;
    int32_t                            rank; /* in the job */
    int32_t                            pid;
    uint32_t                           link; /* index among the links that the job has opened */
    /* Notifications to this part may carry inline payload: see notify_inject. */
    bool                               inline_notify;
    struct tern_inject_notify *_Atomic inject; /* injection handle for such notifications; NULL: not requested yet */
};

/* One contiguous transfer whose arguments have been checked. It passes unchanged from the api to the path. */
struct tern_xfer {
    const struct tern_link_part *part;
    uint64_t                     offset;
    void                        *local; /* source of a put (never written), destination of a get */
    size_t                       len;
    bool                         get;
    /* An RPC whose request and response have at most TERN_LINK_SMALL bytes each. */
    bool                         small_rpc;
    bool        heap; /* local was allocated by malloc() for this transfer: see buffer_in_use in struct tern_link_op */
    bool        notify; /* a put that delivers its own notification; set only if the path's can_notify permits it */
    uint32_t    tag;    /* tag of that notification */
    const char *what;   /* name of the operation in reports; NULL: put or get */
    /* If the part has a base: called once, with the target address, instead of a copy. NULL: copy. */
    void (*visit)(const struct tern_xfer *xfer, unsigned char *there);
};

#define TERN_LINK_SMALL 64
#define TERN_LINK_SPLITS 32 /* at most the number of bits in a word */

/* An outstanding transfer. The link owns it from a start that returned TERN_PENDING until it calls up->done. */
struct tern_link_op {
    struct tern_xfer     xfer;
    struct tern_link_op *next;   /* for the link's list */
    size_t               copied; /* bytes of a put's source that the caller may overwrite */
    union {                      /* private to the link */
        uint64_t chunks;         /* shm: number of chunks in flight */
        uint64_t due;            /* chaos: time at which the transfer is released */
    };
    void          *link_data; /* ofi: its record of the operation */
    /* Set before done, for a transfer with xfer.heap: the network may still use xfer.local. The link frees xfer.local
     * when the network no longer uses it. */
    bool           buffer_in_use;
    tern_status    status; /* the first error */
    /* RPC: the buffer for the request, the size of that buffer, the length of the request, and the maximum length of
     * the response. */
    unsigned char *rpc_buf;
    size_t         rpc_bytes, request_len, response_max;
    /* Receives the response; len <= response_max. Called once, before done, by any thread, while the link is locked;
     * never called after cancel. */
    void (*on_response)(struct tern_link_op *op, const unsigned char *bytes, size_t len);
};

/* Return the offset of the response in an RPC buffer whose request has the given length. */
static inline size_t tern_link_response_at(size_t request)
{
    return (request + 63) & ~(size_t)63;
}

/* An operation that the network's own atomics execute. */
struct tern_link_atomic {
    struct tern_xfer xfer;             /* len is the size of the type */
    unsigned         type;             /* tern_type */
    uint32_t         op;               /* tern_atomic_op */
    uint64_t         operand, compare; /* as bits; a 4-byte value is in the lower half */
    /* Receives the previous value, under the same rules as on_response of struct tern_link_op. NULL: the value is not
     * needed. */
    void (*on_result)(struct tern_link_op *op, const unsigned char *bytes, size_t len);
};

/* Memory of this rank that an RPC accesses. */
struct tern_target_mem {
    unsigned char *base;
    uint64_t       size;
    /* Returns whether the bytes can be read, or written: the program may have unmapped them. NULL: they always can. */
    bool (*is_mapped)(const void *addr, size_t len, bool write);
    uint64_t origin; /* tern_link_origin() */
};

/* One element of a list of transfers, all of which go to, or come from, the same part. */
struct tern_link_iov {
    uint64_t offset;
    void    *local;
    size_t   len;
};

#define TERN_LINK_IOV_MAX 128 /* elements in one list */

/* How a part is reached. start returns TERN_OK: the transfer is complete. TERN_PENDING: it is outstanding. TERN_AGAIN:
 * the link has no resources now, and nothing was started. An error: nothing was started. */
struct tern_link_path {
    const char *name;
    /* The start function never returns TERN_PENDING or TERN_AGAIN, and op may be NULL. If the part has a base, loads
     * and stores there are equivalent. */
    bool        instant;
    bool        self_progress;   /* transfers complete by the lane's progress alone: a handler may wait for them */
    bool        rpc;             /* the rank serves RPCs for the part independently of what its program does */
    bool        prefers_packing; /* packing many small blocks into RPCs is faster than transferring them one by one */
    tern_status (*start)(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op);
    /* Returns whether the transfer, if started now, reaches its rank after every transfer that the lane has outstanding
     * to that rank. Only set if the link reaches all parts of a rank by this path. NULL: the initiator must wait for
     * the outstanding transfers. */
    bool (*keeps_order)(struct tern_lane *lane, const struct tern_xfer *xfer);
    /* Returns whether the put can deliver its own notification: then up->notify notifies the target when the bytes are
     * in place, and no message is needed. Such notifications are not ordered with others. NULL: it cannot. */
    bool (*can_notify)(struct tern_lane *lane, const struct tern_xfer *xfer);
    /* Starts a list of transfers. Set only if the path is instant and a list of blocks of up to 64 KiB each costs less
     * than single transfers. NULL: it does not. */
    tern_status (*start_iov)(struct tern_lane *lane, const struct tern_link_part *part, const struct tern_link_iov *iov,
                             unsigned count, bool get);
};

/* Messages travel on four channels, so that a reply never waits behind a request, and neither waits behind
 * notifications or tagged messages that the target cannot accept yet. Notifications have no data and are delivered by
 * up->notify; tagged messages are delivered by up->tagged. */
enum tern_channel { TERN_CHANNEL_REQUEST, TERN_CHANNEL_REPLY, TERN_CHANNEL_NOTIFY, TERN_CHANNEL_TAGGED, TERN_CHANNELS };
#define TERN_CHANNEL_DIRECTORY \
    TERN_CHANNELS /* channel of a watch that announces new queues instead of messages: every poll checks it */
/* The first two channels are created together; each of the others with its first message. */
#define TERN_CHANNELS_PAIR 2

#define TERN_LINK_HEAD 48
#define TERN_LINK_DATA_MIN 1024 /* data bytes that a message to any peer may have: msg_max_data never returns less */
#define TERN_LINK_INLINE (TERN_LINK_HEAD - 3 * sizeof(uint64_t)) /* inline payload of a notification, at most */
#define TERN_LINK_SHORT_ARGS ((TERN_LINK_HEAD - sizeof(uint64_t)) / sizeof(uint32_t))

/* A message that is being written in place, where its target will read it. */
struct tern_link_msg {
    unsigned char *head;     /* TERN_LINK_HEAD bytes, which arrive first and fastest */
    unsigned char *data;     /* NULL if no data was requested */
    size_t         data_max; /* bytes that fit into data */
    int32_t        peer;
    uint32_t       channel; /* enum tern_channel */
    union {                 /* for links that keep messages in rings, or notifications in cells */
        struct tern_ring_claim place;
        struct tern_nq_claim   cell;
    };
};

/* The only notification that a waiting thread expects. */
struct tern_link_expected {
    /* Expected first two words of the head; only the bits in mask of the first word are compared. */
    uint64_t       first, region;
    uint64_t       mask; /* bits outside it: in: as in the previous notification; out: as in the accepted one */
    /* Address to which the offset in the third word of the head is added to place the inline payload. */
    unsigned char *base;
    uint64_t       max_offset; /* largest permitted offset */
    uint32_t       len;        /* bytes of inline payload; 0: the notification carries none */
    int32_t        from;       /* sender's rank in the job */
    uint64_t       third;      /* in: the previous third word; out: the actual one */
    unsigned char *to;         /* address that corresponds to third */
};

/* A word by which the core sees that messages have arrived, and the function that delivers them. The link keeps the
 * watch at a fixed address while the link is open. Any thread may read the word, as a hint; the core lets one thread at
 * a time deliver. */
struct tern_link_watch {
    const _Atomic uint32_t *word;
    uint32_t                idle;    /* value of the word while no message is waiting */
    uint32_t                channel; /* on which the messages arrive: enum tern_channel, or TERN_CHANNEL_DIRECTORY */
    tern_status (*deliver)(struct tern_link_watch *watch); /* delivers at most a few messages, by up->message */
    /* Poll for a notification the given number of times, and accept it if it is the expected one. Called by the thread
     * that may deliver. Returns false if no notification was accepted. NULL: there is no fast path, all notifications
     * are delivered. */
    bool (*expect)(struct tern_link_watch *watch, struct tern_link_expected *want, unsigned looks);
    struct tern_link *link;
    /* For notifications: after a delivery that accepted nothing, the target has refused the notification that the word
     * shows, and word and idle do not change until that notification is accepted. Written by the delivering thread. */
    bool              lasts;
    _Atomic uint32_t  refused; /* used by the core */
};

static inline bool tern_link_watch_ready(const struct tern_link_watch *w)
{
    return atomic_load_explicit(__atomic_load_n(&w->word, __ATOMIC_RELAXED), memory_order_relaxed) !=
           __atomic_load_n(&w->idle, __ATOMIC_RELAXED);
}

static inline void tern_link_watch_move(struct tern_link_watch *w, const _Atomic uint32_t *word, uint32_t idle)
{
    __atomic_store_n(&w->word, word, __ATOMIC_RELAXED); /* both are read by tern_link_watch_ready() */
    __atomic_store_n(&w->idle, idle, __ATOMIC_RELAXED);
}

/* What the target does with a notification. REFUSED: the target cannot accept it now; the link keeps the notification,
 * and everything behind it, for the next delivery. TAKEN_LAST: the target accepted the last notification that a thread
 * waits for, so those behind it may be delivered later. */
enum tern_link_delivered { TERN_LINK_REFUSED, TERN_LINK_TAKEN, TERN_LINK_TAKEN_LAST };

/* Upcalls from a link to the core.
 *   done         an op is complete; only called from lane progress, on the thread that uses the lane
 *   message      a request or reply has arrived; only called from a watch's deliver, as are notify and tagged. head and
 *                data may be read until the call returns
 *   notify       a notification has arrived; place: the core must copy the inline payload to its destination
 *   notify_head  write the head of a notification that arrived without one, with a put; any thread
 *   tagged       a tagged message has arrived. Returns false if the target cannot accept it now: the link keeps it, and
 *                everything behind it on the channel, for the next delivery
 *   watch        add a watch; any thread
 *   serve        serve a peer's RPC, no byte of which has been validated; writes at most max bytes of response and
 *                their number; any thread, while the link is locked
 *   gone         the kernel reports that a rank's process is gone, possibly before the launcher does; any thread
 */
struct tern_link_up {
    void (*done)(struct tern_link_op *op, tern_status status); /* complete on both sides, or failed; exactly once */
    void (*message)(int from, unsigned channel, const unsigned char *head, const unsigned char *data, size_t len);
    enum tern_link_delivered (*notify)(int from, const unsigned char *head, bool place);
    void (*notify_head)(unsigned char *head, uint64_t region, uint32_t tag, uint64_t bytes);
    bool (*tagged)(int from, const unsigned char *head, const unsigned char *data, size_t len);
    tern_status (*watch)(struct tern_link_watch *watch);
    tern_status (*serve)(const struct tern_target_mem *target, const unsigned char *request, size_t len,
                         unsigned char *response, size_t max, size_t *response_len);
    void (*gone)(int rank);
};

/* The members of a team as the link knows them. The link's own struct begins with this one. */
struct tern_link_group {
    const struct tern_link_ops *ops;
    uint32_t                    id; /* 0 is the world, 1 the node */
    uint32_t                    size, me;
    const int32_t              *world_rank; /* [size] ranks in the job; NULL: equal to the members' numbers */
};

#define TERN_LINK_CONTRIBUTION 4096 /* bytes of one member's contribution, at most */

/* Injection handle: short tagged messages to a rank are sent through it without a call to the link. */
struct tern_inject_tagged {
    struct tern_ring_mp_producer *producer;
    struct tern_slot             *slot; /* the rank's slot, whose bell the sender rings */
};

/* A transport. Every slot is filled, except those of teams and those whose comment says what NULL means. Threads: open,
 * close, attach, detach and group_* are called by the thread that makes a collective call (attach and expose by one
 * thread at a time, the others by one thread at a time for each team); lane_* and progress by the lane's thread; serve
 * by the service thread; reaches by any thread. */
struct tern_link_ops {
    const char *name;
    bool        maps; /* memory that Tern allocates on the reached ranks is accessible by loads and stores */

    tern_status (*open)(const struct tern_boot *boot, const struct tern_link_up *up, struct tern_link **out);
    void (*close)(struct tern_link *link);
    bool (*reaches)(const struct tern_link *link, int peer);

    /* Fill part from its owner's memory handle; path_name is the file of a FILE part. detach undoes this. */
    tern_status (*attach)(struct tern_link *link, const struct tern_mem_handle *handle, const char *path_name,
                          struct tern_link_part *part);
    void (*detach)(struct tern_link *link, struct tern_link_part *part);
    /* Expose this rank's own part to its peers, or revoke access. expose is called for every part, on every open link,
     * before the memory handle is sent to the peers, and fills in the fields that they need. unexpose of a part that is
     * not exposed does nothing. */
    tern_status (*expose)(struct tern_link *link, struct tern_mem_handle *handle);
    void (*unexpose)(struct tern_link *link, uint64_t region);

    tern_status (*lane_open)(struct tern_link *link, struct tern_lane **out);
    void (*lane_close)(struct tern_lane *lane);
    void (*progress)(struct tern_lane *lane);
    /* The caller no longer waits for the operation: from now on the link must not access the operation's local memory,
     * as far as that can be avoided. The operation still ends by up->done. */
    void (*cancel)(struct tern_lane *lane, struct tern_link_op *op);

    /* RPCs, to the rank of a part whose path has rpc set. rpc_open fills op from xfer and allocates a buffer for the
     * request (TERN_AGAIN: none is free now; op is unchanged). After success the caller must write the request and call
     * rpc_send, with the maximum length of the response: tern_link_response_at(request) + expect <= rpc_bytes. The RPC
     * completes like a transfer. NULL: the link has no such paths. */
    tern_status (*rpc_open)(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op);
    void (*rpc_send)(struct tern_lane *lane, struct tern_link_op *op, size_t request, size_t expect);

    /* Returns whether the network's own atomics execute a whole set of operations (tern_type; tern_atomic_op) for every
     * rank, including this one; writes the reason for the answer to why. NULL: the network has no atomics. */
    bool (*atomics)(struct tern_link *link, unsigned type, uint32_t ops, char *why, size_t size);
    /* Start one atomic operation; returns the same codes as start of a path. */
    tern_status (*atomic_start)(struct tern_lane *lane, const struct tern_link_atomic *atomic, struct tern_link_op *op);

    /* Drop cached registrations of local memory that overlap these bytes. Any thread. NULL: nothing is cached. */
    void (*invalidate)(struct tern_link *link, const void *addr, size_t len);

    /* Messages. msg_max_data returns the longest data, on a channel with data, that is certain to fit eventually.
     * msg_open reserves space for a head and min to max bytes of data (TERN_AGAIN: there is no space now); the caller
     * writes them, and sends or drops the message. Messages to one peer arrive in the order in which they were opened;
     * an open message delays those behind it. Any thread. msg_short does all of this for a message whose head is one
     * word and up to TERN_LINK_SHORT_ARGS half words.
     *
     * Watches show incoming messages. Only the delivering thread sends replies. */
    size_t (*msg_max_data)(struct tern_link *link, int peer, unsigned channel);
    tern_status (*msg_open)(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max);
    void (*msg_send)(struct tern_link *link, const struct tern_link_msg *msg, size_t len);
    void (*msg_drop)(struct tern_link *link, const struct tern_link_msg *msg);
    tern_status (*msg_short)(struct tern_link *link, int peer, unsigned channel, uint64_t first, const uint32_t *rest,
                             unsigned count);
    /* Notifications with inline payload, for parts with inline_notify. notify_inject returns the injection handle
     * (inject.h), which remains valid until the link is closed. notify_flushed returns whether all payload that was
     * sent to live ranks is in its destination; help: copy it there on behalf of a target that has not polled. Any
     * thread. NULL: no part has inline_notify. */
    tern_status (*notify_inject)(struct tern_link *link, int peer, struct tern_inject_notify **out);
    bool (*notify_flushed)(struct tern_link *link, bool help);
    /* Return the injection handle of tagged messages to a peer, which remains valid until the link is closed. Any
     * thread. NULL: there is none. */
    tern_status (*tagged_inject)(struct tern_link *link, int peer, struct tern_inject_tagged *out);
    /* For links whose messages do not arrive in memory by themselves: poll for messages, so that watches show them. Any
     * thread. NULL: messages arrive without polling. */
    void (*msg_poll)(struct tern_link *link);
    /* Returns whether everything that was sent to live ranks has arrived: they deliver it at their next poll. */
    bool (*msg_flushed)(struct tern_link *link);
    /* Returns whether the peer's messages on a channel have arrived and have not been taken from a queue that watches
     * show. Called by the thread that may deliver. */
    bool (*msg_pending)(struct tern_link *link, int peer, unsigned channel);

    /* Return the TERN_LINK_SPLITS work splits that the rank shares with the ranks that the link reaches, for messages
     * to the rank that both sides copy. The rank uses them as it likes. Any thread. NULL: they share no memory. */
    struct tern_work_split *(*work_splits)(struct tern_link *link, int rank);

    /* Serve the requests of peers that need this process. Returns whether there were any. */
    bool (*serve)(struct tern_link *link);
    /* Returns whether a peer may need this process's help; valid after a barrier that follows the peers' attach. */
    bool (*service_needed)(const struct tern_link *link);
    /* A thread that has announced itself is about to sleep on the rank's bell: the link must ring the bell when a
     * message or completion arrives. Returns for how many nanoseconds the thread may sleep; INT64_MAX: until the bell
     * rings. Any thread. */
    int64_t (*may_sleep)(struct tern_link *link);

    /* Teams. group_open NULL: the link has no groups, and the slots that follow are empty too. */
    tern_status (*group_open)(struct tern_link *link, const struct tern_link_group *as, struct tern_link_group **out);
    void (*group_close)(struct tern_link_group *group);
    /* A barrier: call arrive once, then poll arrived until it returns true. has_arrived returns whether a member has
     * arrived; if a death does not end the job, it never becomes true for a member that died before it arrived. */
    void (*arrive)(struct tern_link_group *group);
    bool (*arrived)(struct tern_link_group *group);
    bool (*has_arrived)(const struct tern_link_group *group, uint32_t member);
    /* Give up objects that all members give up in the same order: call depart once for each object; departed returns
     * whether the member has departed as often as this one. Unlike a barrier, departing does not depend on members that
     * have died. */
    void (*depart)(struct tern_link_group *group, uint64_t object);
    bool (*departed)(const struct tern_link_group *group, uint32_t member, uint64_t *object);
    /* Publish a contribution of len <= TERN_LINK_CONTRIBUTION bytes, and read a member's. A barrier must separate
     * contribute from contribution; the contributions of two consecutive barriers exist side by side. */
    void (*contribute)(struct tern_link_group *group, const void *data, size_t len);
    const void *(*contribution)(const struct tern_link_group *group, uint32_t member);
};

/* The registry: every link of this build, best first. */
extern const struct tern_link_ops *const tern_links[];
extern const unsigned                    tern_links_count;
#define TERN_LINKS_MAX 4

/* Store in table[i] the table through which the job uses link i of the registry: the link's own table, or that of a
 * chaos link in front of it if the option TERN_CHAOS is set. Returns TERN_OK, or the error of parsing the option. */
tern_status tern_links_tables(const struct tern_boot *boot, const struct tern_link_ops *table[TERN_LINKS_MAX]);

#endif

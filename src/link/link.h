/* link.h: the contract between the core and a transport.
 *
 * Calls go down: the core opens the links of the registry in turn until every peer is reached, and lets the first that
 * does serve the peer. News comes up through the small table tern_link_up and nothing else. A link never waits: what
 * cannot be finished at once is TERN_PENDING (and moves on in progress) or TERN_AGAIN (and was not started).
 *
 * The objects:
 *   link   one per transport and process
 *   lane   one per link and context: used by one thread at a time, so it needs no lock
 *   part   one rank's part of a region as this process sees it; made once, when the region is made
 *   path   how puts and gets reach a part: a small const object that attach chooses
 *   op     one transfer that is not done at once; the memory is the core's
 *   errand bytes for whoever serves the peers of a rank, beside its program, and an answer; an op like a transfer
 *   watch  a word in memory that shows that messages have come
 *   group  one per team: the members meet (arrive) and leave notes for each other (post, peek)
 *
 * Every implementation has these files: link.c (the table), region.c (attach), path.c (put and get), message.c; those
 * with groups of their own have group.c; the larger ones have more beside them. Read self/ first. chaos/ is put in
 * front of the others where a program is to be tested (TERN_CHAOS).
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

/* Where the memory of a part is. */
enum tern_mem_kind {
    TERN_MEM_NONE,    /* the rank is not in the region's team, or opened nothing */
    TERN_MEM_ARENA,   /* at an offset of the arena */
    TERN_MEM_HUGE,    /* at an offset of the arena of huge pages */
    TERN_MEM_FILE,    /* in a file of the program's choice */
    TERN_MEM_PRIVATE, /* memory that only its process maps */
};

/* What a rank tells the others about its part. Travels between processes: fixed widths, no padding. */
struct tern_mem_handle {
    uint64_t region; /* the rank's own name for its part; no two of its parts have the same */
    uint64_t addr;   /* in the rank's own address space */
    uint64_t size;   /* bytes that others may touch */
    uint64_t offset; /* where in the file that is mapped there; PRIVATE: 0 where that is none that others can map */
    uint64_t device; /* FILE: identity of the file, with inode */
    uint64_t inode;  /* of the file; 0: PRIVATE memory of no file that others can map */
    uint64_t probe;  /* PRIVATE: address of the process's tern_link_probe */
    uint64_t key;    /* what opens it to the network, and where it begins there; filled by expose */
    uint64_t base;
    uint32_t mem_kind; /* enum tern_mem_kind */
    int32_t  pid;
};
_Static_assert(sizeof(struct tern_mem_handle) == 80, "a card has no padding");

/* The name of a region's part from its owner's number for it, or the number from the name: whoever talks to the owner
 * need not say whose it is. */
static inline uint64_t tern_link_region_of(int owner, uint64_t number_or_name)
{
    return number_or_name ^ (uint64_t)owner << 40;
}

/* Where the first byte of a part lies among all memory of its node, as a number that depends on the memory alone,
 * and not on the address at which, or the region through which, it is reached: parts that overlap in memory overlap
 * in these numbers. The guards of accumulates are chosen by them (op/atomic/acc.h). Parts of different files may
 * happen to have the same numbers. */
static inline uint64_t tern_link_origin(const struct tern_mem_handle *card, int rank)
{
    uint64_t owner = card->inode != 0 ? card->inode : ~(uint64_t)rank;

    return (owner * 0x9e3779b97f4a7c15ull << 20) + (card->inode != 0 ? card->offset : card->addr);
}

/* Words that a peer reads and writes to learn whether the kernel lets it. Both hold the job's number. */
struct tern_link_probe {
    uint64_t readable, writable;
};
extern struct tern_link_probe tern_link_probe;

/* One rank's part of a region, as the initiator needs it. */
struct tern_link_part {
    const struct tern_link_path       *path; /* NULL: no part */
    unsigned char                     *base; /* where loads and stores reach it; NULL: nowhere */
    uint64_t                           size;
    uint64_t                           mapped;   /* bytes that the link mapped at base; 0: none */
    uint64_t                           offset;   /* ARENA, HUGE: where in the file */
    uint32_t                           mem_kind; /* enum tern_mem_kind */
    uint64_t                           addr;     /* in the rank's own address space */
    uint64_t                           origin;   /* tern_link_origin() */
    uint64_t                           region;   /* as the card says */
    uint64_t                           key;      /* ofi: of the remote memory, and where it begins */
    uint64_t                           remote;
    int32_t                            rank; /* in the job */
    int32_t                            pid;
    uint32_t                           link;          /* index among the links that the job has opened */
    bool                               inline_notify; /* notes may carry data for it: notify_inject */
    struct tern_inject_notify *_Atomic inject;        /* by which they do; NULL: not asked for yet */
};

/* One contiguous transfer; checked. Passes unchanged from the api to the path. */
struct tern_xfer {
    const struct tern_link_part *part;
    uint64_t                     offset;
    void                        *local; /* source of a put (not written), destination of a get */
    size_t                       len;
    bool                         get;
    bool                         small_rpc; /* an errand: request and answer have TERN_LINK_SMALL bytes at most, each */
    bool        heap;   /* local was made by malloc() for this transfer: see kept in struct tern_link_op */
    bool        notify; /* a put that brings its notification along: only where the path's brings says so */
    uint32_t    tag;    /* of that */
    const char *what;   /* what it is called in reports; NULL: put or get */
    /* Where loads and stores reach the part: called instead of a copy, once, with the place. NULL: a copy. */
    void (*visit)(const struct tern_xfer *xfer, unsigned char *there);
};

#define TERN_LINK_SMALL 64
#define TERN_LINK_SPLITS 32 /* no more than bits of a word */

/* A transfer under way. The link owns it from a start that returned TERN_PENDING until up->done. */
struct tern_link_op {
    struct tern_xfer     xfer;
    struct tern_link_op *next;   /* for the link's list */
    size_t               copied; /* bytes of a put's source that may be overwritten */
    union {                      /* the link's own */
        uint64_t chunks;         /* shm: those in flight */
        uint64_t due;            /* chaos: when it is let go */
    };
    void          *link_data; /* ofi: its record of the operation */
    /* Set before done, of a transfer with xfer.heap: the network may still use xfer.local, and the link frees it when
     * that has ended. */
    bool           buffer_in_use;
    tern_status    status; /* the first error */
    /* An errand: where its request is written, the bytes of that place, and then of the request and the answer. */
    unsigned char *rpc_buf;
    size_t         rpc_bytes, request_len, response_max;
    /* What came back, len <= expect bytes. Called once, before done, by any thread, while the link is locked; not after
     * cancel. */
    void (*on_response)(struct tern_link_op *op, const unsigned char *bytes, size_t len);
};

/* Where in its room the answer of an errand lies. */
static inline size_t tern_link_response_at(size_t request)
{
    return (request + 63) & ~(size_t)63;
}

/* An operation of the network's own atomics. */
struct tern_link_atomic {
    struct tern_xfer xfer;             /* its len is that of the type */
    unsigned         type;             /* tern_type */
    uint32_t         op;               /* tern_atomic_op */
    uint64_t         operand, compare; /* bits; of 4 bytes, in the lower half */
    /* What was there; as the slot of an op. NULL: nobody wants to know. */
    void (*on_result)(struct tern_link_op *op, const unsigned char *bytes, size_t len);
};

/* Memory of this rank that an errand is about. */
struct tern_target_mem {
    unsigned char *base;
    uint64_t       size;
    /* Whether bytes of it are there to be read, or written: the program may have unmapped them. NULL: they are. */
    bool (*is_mapped)(const void *addr, size_t len, bool write);
    uint64_t origin; /* tern_link_origin() */
};

/* One piece of a list, all of which go to or come from one part. */
struct tern_link_iov {
    uint64_t offset;
    void    *local;
    size_t   len;
};

#define TERN_LINK_IOV_MAX 128 /* in one list */

/* How a part is reached. A start returns TERN_OK: done. TERN_PENDING: under way. TERN_AGAIN: no room, nothing started.
 * Errors: nothing started. */
struct tern_link_path {
    const char *name;
    bool        instant; /* never TERN_PENDING, never TERN_AGAIN; op may be NULL. Where the part has a base, loads and
                            stores there do the same */
    bool        self_progress;   /* ends by the lane's progress alone: a handler may wait for it */
    bool        rpc;             /* the rank serves errands about the part, whatever its program is doing */
    bool        prefers_packing; /* and many small pieces get there sooner by errands than one by one */
    tern_status (*start)(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op);
    /* Whether the transfer, started now, comes to its rank behind everything that the lane has under way to it. Only of
     * a path by which the link reaches all parts of a rank. NULL: one has to wait for what is under way. */
    bool (*keeps_order)(struct tern_lane *lane, const struct tern_xfer *xfer);
    /* Whether the put can bring its notification along: then the target is notified when its bytes are in place, by
     * up->note, and needs no message for that. In no order with other notes. NULL: it cannot. */
    bool (*can_notify)(struct tern_lane *lane, const struct tern_xfer *xfer);
    /* Where instant, and many pieces of up to 64 KiB cost less together than one by one; NULL: they do not. */
    tern_status (*start_iov)(struct tern_lane *lane, const struct tern_link_part *part,
                             const struct tern_link_iov *piece, unsigned count, bool get);
};

/* Messages travel on four channels, so that an answer never waits behind a question, and neither behind
 * notifications or tagged messages for which the target has no use yet. Notes have no data, and are taken by
 * up->note; tagged messages by up->tagged. */
enum tern_channel { TERN_CHANNEL_REQUEST, TERN_CHANNEL_REPLY, TERN_CHANNEL_NOTIFY, TERN_CHANNEL_TAGGED, TERN_CHANNELS };
#define TERN_CHANNEL_DIRECTORY \
    TERN_CHANNELS            /* of a watch that brings queues and no message: it is looked at in every case */
#define TERN_CHANNELS_PAIR 2 /* the first two, which are made together; the others with their first message */

#define TERN_LINK_HEAD 48
#define TERN_LINK_DATA_MIN 1024 /* bytes of data that a message to any peer may have: msg_max_data is no less */
#define TERN_LINK_INLINE (TERN_LINK_HEAD - 3 * sizeof(uint64_t)) /* bytes that a note may carry */
#define TERN_LINK_SHORT_ARGS ((TERN_LINK_HEAD - sizeof(uint64_t)) / sizeof(uint32_t))

/* A message that is being written where its target will read it. */
struct tern_link_msg {
    unsigned char *head;     /* TERN_LINK_HEAD bytes, which come first and fastest */
    unsigned char *data;     /* NULL where none was asked for */
    size_t         data_max; /* bytes that data may have */
    int32_t        peer;
    uint32_t       channel; /* enum tern_channel */
    union {                 /* for links that keep messages in rings, or notes in cells */
        struct tern_ring_claim place;
        struct tern_nq_claim   cell;
    };
};

/* A note that someone waits for, and for no other. */
struct tern_link_expected {
    uint64_t       first, region; /* its first two words; of the first */
    uint64_t       mask;          /* only these bits: the others are as they were last; out: as they are */
    unsigned char *base;          /* where the bytes go that it carries: as far behind this as its third word says, */
    uint64_t       max_offset;    /* which is no more than this */
    uint32_t       len;           /* how many; 0: it carries none */
    int32_t        from;          /* rank in the job */
    uint64_t       third;         /* that word as it was last; out: as it is */
    unsigned char *to;            /* where that leads */
};

/* Where the core sees that messages have come, and has them delivered. The link keeps it, at one place, while it is
 * open. May be looked at by any thread, as a hint; the core lets one thread at a time deliver. */
struct tern_link_watch {
    const _Atomic uint32_t *word;
    uint32_t                idle;                          /* what the word is while there is nothing */
    uint32_t                channel;                       /* on which they come; enum tern_channel, or NEWS */
    tern_status (*deliver)(struct tern_link_watch *watch); /* at most a few messages, by up->message */
    /* Look so many times for a note, and take it if it is the one; by who may deliver. False: none was taken. NULL:
     * there is no short way, all are delivered. */
    bool (*expect)(struct tern_link_watch *watch, struct tern_link_expected *want, unsigned looks);
    struct tern_link *link;
    /* Of notes: after a delivery that took nothing, the target has refused the note that the word shows, and word and
     * idle stay as they are until that is taken. Written by who delivers. */
    bool              lasts;
    _Atomic uint32_t  refused; /* the core's */
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

/* What becomes of a note. LEFT: the target cannot take it now; the link keeps it, and what is behind it, for the next
 * delivery. DONE: it was the last that someone waited for, so what is behind it may as well be delivered later. */
enum tern_link_delivered { TERN_LINK_REFUSED, TERN_LINK_TAKEN, TERN_LINK_TAKEN_LAST };

/* What comes up. done: from lane progress only, on the thread that uses the lane. message, note and tagged: from a
 * watch's deliver only; head and data may be read until it returns. note: what the target does with it; place: what it
 * carries is to be put in its place. tagged: false where the target cannot take it now; the link keeps it, and what is
 * behind it on the channel, for the next delivery. notify_head: writes the head of a note that came without one, with a
 * put; any thread. watch: one more; any thread. serve: an errand of a peer, of which not one byte is trusted yet;
 * writes up to room bytes of answer and their number; any thread, and the link is locked. gone: the kernel says that
 * the process of a rank is gone, of which the launcher may tell later; any thread. */
struct tern_link_up {
    void (*done)(struct tern_link_op *op, tern_status status); /* complete at both ends, or failed; exactly once */
    void (*message)(int from, unsigned channel, const unsigned char *head, const unsigned char *data, size_t len);
    enum tern_link_delivered (*notify)(int from, const unsigned char *head, bool place);
    void (*notify_head)(unsigned char *head, uint64_t region, uint32_t tag, uint64_t bytes);
    bool (*tagged)(int from, const unsigned char *head, const unsigned char *data, size_t len);
    tern_status (*watch)(struct tern_link_watch *watch);
    tern_status (*serve)(const struct tern_target_mem *ground, const unsigned char *request, size_t len,
                         unsigned char *answer, size_t room, size_t *answered);
    void (*gone)(int rank);
};

/* The members of a team as the link knows them. The link's own struct begins with this. */
struct tern_link_group {
    const struct tern_link_ops *ops;
    uint32_t                    id; /* 0 is the world, 1 the node */
    uint32_t                    size, me;
    const int32_t              *world_rank; /* [size]; NULL: the same */
};

#define TERN_LINK_CONTRIBUTION 4096 /* bytes that a note may have */

/* By which brief messages leave to a rank without a call to the link. */
struct tern_inject_tagged {
    struct tern_ring_mp_producer *producer;
    struct tern_slot             *slot; /* whose bell is to be rung */
};

/* A transport. Every slot is filled, but for those of teams and those whose comment says what NULL means. Threads:
 * open, close, attach, detach, group_* by the one that makes a collective call (attach and expose by one at a time, the
 * rest of them by one at a time for each team); lane_* and progress by the lane's; serve by the service thread; reaches
 * by any. */
struct tern_link_ops {
    const char *name;
    bool        maps; /* loads and stores reach the memory that Tern makes for the ranks that it reaches */

    tern_status (*open)(const struct tern_boot *boot, const struct tern_link_up *up, struct tern_link **out);
    void (*close)(struct tern_link *link);
    bool (*reaches)(const struct tern_link *link, int peer);

    /* Fill part from the card of its rank; path_name is the file of a FILE part. Undone by detach. */
    tern_status (*attach)(struct tern_link *link, const struct tern_mem_handle *card, const char *path_name,
                          struct tern_link_part *part);
    void (*detach)(struct tern_link *link, struct tern_link_part *part);
    /* Open this rank's own part to its peers, or close it again; called for every part, on every link that is open,
     * before its card is sent to the others. Fills in what they will need. Concealing what is not exposed does no harm.
     */
    tern_status (*expose)(struct tern_link *link, struct tern_mem_handle *card);
    void (*unexpose)(struct tern_link *link, uint64_t region);

    tern_status (*lane_open)(struct tern_link *link, struct tern_lane **out);
    void (*lane_close)(struct tern_lane *lane);
    void (*progress)(struct tern_lane *lane);
    /* Nobody waits for the operation any more: from now on leave its local memory alone where that can be done. It
     * still ends by up->done. */
    void (*cancel)(struct tern_lane *lane, struct tern_link_op *op);

    /* Errands, to the rank of a part whose path has them. rpc_open fills op with xfer and takes room for the request
     * (TERN_AGAIN: there is none now; op is untouched). The caller writes the request, and sends it in every case, with
     * the most bytes that the answer may have: tern_link_response_at(request) + expect <= room_bytes. Ends like a
     * transfer. NULL: the link has no such paths. */
    tern_status (*rpc_open)(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op);
    void (*rpc_send)(struct tern_lane *lane, struct tern_link_op *op, size_t request, size_t expect);

    /* Whether atomic operations of the network itself do a whole set (tern_type; tern_atomic_op), for every rank, this
     * one included; writes why, or why not. NULL: they do none. */
    bool (*atomics)(struct tern_link *link, unsigned type, uint32_t ops, char *why, size_t size);
    /* Start one; returns as the start of a path. */
    tern_status (*atomic_start)(struct tern_lane *lane, const struct tern_link_atomic *atomic, struct tern_link_op *op);

    /* Keep nothing of what was done for local memory in these bytes. Any thread. NULL: nothing is ever kept. */
    void (*invalidate)(struct tern_link *link, const void *addr, size_t len);

    /* Messages. msg_max_data: the longest data, on a channel that has data, that always finds room in time.
     * msg_open takes room for a head and min to max bytes of data (TERN_AGAIN: there is none now); the caller writes
     * them, and sends the message or drops it. Messages to one peer arrive in the order of their opening; one that
     * is open holds up those behind it. Any thread. msg_short does it all for a message that is one word and up to
     * TERN_LINK_SHORT_ARGS half words of head.
     *
     * What comes is shown by watches. Replies are sent by the thread that delivers, only. */
    size_t (*msg_max_data)(struct tern_link *link, int peer, unsigned channel);
    tern_status (*msg_open)(struct tern_link *link, struct tern_link_msg *msg, size_t min, size_t max);
    void (*msg_send)(struct tern_link *link, const struct tern_link_msg *msg, size_t len);
    void (*msg_drop)(struct tern_link *link, const struct tern_link_msg *msg);
    tern_status (*msg_short)(struct tern_link *link, int peer, unsigned channel, uint64_t first, const uint32_t *rest,
                             unsigned count);
    /* Notes that carry data, for parts that say so. notify_inject gives what they leave by (inject.h), which stays
     * until the link is closed. notify_flushed: whether everything that was carried to ranks which are not gone is
     * in its place; help: put it there, where the target does not come to it. Any thread. NULL: no part says so. */
    tern_status (*notify_inject)(struct tern_link *link, int peer, struct tern_inject_notify **out);
    bool (*notify_flushed)(struct tern_link *link, bool help);
    /* The exit of tagged messages to a peer, which stays until the link is closed. Any thread. NULL: there is none. */
    tern_status (*tagged_inject)(struct tern_link *link, int peer, struct tern_inject_tagged *out);
    /* Where messages do not come into memory by themselves: see whether any have, so that watches show them. Any
     * thread. NULL: they do. */
    void (*msg_poll)(struct tern_link *link);
    /* Whether everything that was sent to ranks which are not gone has come: they deliver it when they poll next. */
    bool (*msg_flushed)(struct tern_link *link);
    /* Whether messages of the peer have come on a channel and were not taken, in a queue that watches show. By who may
     * deliver. */
    bool (*msg_pending)(struct tern_link *link, int peer, unsigned channel);

    /* What the rank and those whom the link reaches share for messages to it that both ends copy: TERN_LINK_SPLITS,
     * which the rank uses as it likes. Any thread. NULL: they share no memory. */
    struct tern_work_split *(*work_splits)(struct tern_link *link, int rank);

    /* Do what peers need of this process. Returns whether there was anything. */
    bool (*serve)(struct tern_link *link);
    /* Whether a peer may need this process's help; answered after a barrier that follows the peers' attach. */
    bool (*service_needed)(const struct tern_link *link);
    /* A thread that has announced itself is about to sleep on the rank's bell: ring it when there is news. Returns the
     * nanoseconds for which it may sleep; INT64_MAX: until the bell rings. Any thread. */
    int64_t (*may_sleep)(struct tern_link *link);

    /* Teams; group_open NULL: the link has none, and the slots that follow are empty too. */
    tern_status (*group_open)(struct tern_link *link, const struct tern_link_group *as, struct tern_link_group **out);
    void (*group_close)(struct tern_link_group *group);
    /* A barrier: arrive once, then ask arrived until it is true. came tells whether a member has
     * arrived; where a death does not end the job, that never becomes true once the member is dead. */
    void (*arrive)(struct tern_link_group *group);
    bool (*arrived)(struct tern_link_group *group);
    bool (*has_arrived)(const struct tern_link_group *group, uint32_t member);
    /* Part from something that all members give up in the same order: depart once for each such thing; departed tells
     * whether the member has done so as often as this one. Unlike a barrier it asks nothing of members that died. */
    void (*depart)(struct tern_link_group *group, uint64_t object);
    bool (*departed)(const struct tern_link_group *group, uint32_t member, uint64_t *object);
    /* Leave a note of len <= TERN_LINK_CONTRIBUTION bytes, and read a member's. A barrier lies between post and
     * peek; notes for two consecutive barriers exist side by side. */
    void (*contribute)(struct tern_link_group *group, const void *note, size_t len);
    const void *(*contribution)(const struct tern_link_group *group, uint32_t member);
};

/* The registry: every link of this build, best first. */
extern const struct tern_link_ops *const tern_links[];
extern const unsigned                    tern_links_count;
#define TERN_LINKS_MAX 4

/* Give in table[i] the table through which the job uses link i of the registry: its own, or one of the link chaos in
 * front of it where the option TERN_CHAOS is set. */
tern_status tern_links_tables(const struct tern_boot *boot, const struct tern_link_ops *table[TERN_LINKS_MAX]);

#endif

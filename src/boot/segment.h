/* segment.h: the memory that the launcher and the ranks of a node share from the first moment on.
 *
 * The launcher makes one memory file (memfd), the arena, and hands its descriptor to every rank. Its first bytes are
 * this segment: who is alive, and how to wake whom. A job on several nodes has one arena and one segment on each node.
 * All of these have a slot, a card and a seat for every rank of the job; those of ranks on other nodes are mirrors,
 * written by the relay (relay.h) in one order for all nodes. The rest of the first TERN_ARENA_CONTROL bytes belongs to
 * the links (they lay it out by the number of ranks of the node and reserve what they use); regions come after that, at
 * offsets that only ever grow: `next` is a counter, and space that is freed is given back to the system by punching a
 * hole. So there is one descriptor, no name in any file system, and nothing to clean up: when the last process dies the
 * memory is gone.
 *
 * Everything here is shared between processes: fixed widths, offsets instead of pointers, one writer per field.
 */
#ifndef TERN_BOOT_SEGMENT_H
#define TERN_BOOT_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TERN_SEGMENT_MAGIC 0x4e524554u /* "TERN" */
#define TERN_SEGMENT_LAYOUT 8u         /* changes whenever anything in shared memory changes */
#define TERN_ARENA_CONTROL (1ull << 32)
#define TERN_MAX_NODE_RANKS 4096
#define TERN_MAX_RANKS 65536 /* of a job */
#define TERN_NET_ADDRESS_BYTES 252
#define TERN_CONTRIBUTION_BYTES 4096

/* How far a rank has come. Written by the rank itself; in mirrors by the relay. */
enum tern_life {
    TERN_LIFE_NONE,
    TERN_LIFE_JOINING,
    TERN_LIFE_JOINED,
    TERN_LIFE_LEAVING,  /* sends no more requests */
    TERN_LIFE_ANSWERED, /* has handled all requests: sends no more replies */
    TERN_LIFE_LEFT
};

/* What the launcher knows of a rank. Written by the launcher; in a job on several nodes by the relay. */
enum tern_fate { TERN_FATE_RUNNING, TERN_FATE_ENDED, TERN_FATE_LOST };

/* One rank. ENDED: its process exited in order, after tern_finalize or without having called tern_init. LOST: it died,
 * or exited between tern_init and tern_finalize, or with a status other than 0. */
struct tern_slot {
    /* What others change to wake the rank: on a line of its own. */
    _Alignas(64) _Atomic uint32_t bell; /* futex; incremented by whoever has news for the rank */
    _Atomic uint32_t sleepers;          /* threads of the rank that sleep on bell. Writer: the rank */
    _Atomic uint32_t service_bell;      /* the same for the rank's service thread */
    _Atomic uint32_t service_sleeps;
    _Atomic uint32_t
        uses_membarrier; /* 1: before it sleeps on bell it has a barrier run on all ranks. Writer: the rank */
    /* What is written once or twice in a life. */
    _Alignas(64) _Atomic uint32_t life; /* enum tern_life. Writer: the rank, by compare-and-swap from NONE */
    _Atomic uint32_t fate;              /* enum tern_fate. Writer: the launcher */
    _Atomic int32_t  pid;               /* of the process that called tern_init. Writer: the rank */
    uint32_t         node;              /* which node the rank is on; these two written before any rank starts */
    uint32_t         local;             /* its number among the ranks of that node */
    _Atomic uint32_t ended; /* enum tern_fate that a watcher found and the relay has to tell. Writer: watchers,
                                           of the same node, in jobs without ternrun; the relay takes it back */
    uint64_t started; /* when the process started, as the kernel counts (death_watch.h); 0: not known. Together with
                                 pid it names one process. Writer: the host of a job without ternrun, before the rank
                                 gets the arena */
    uint8_t  reserved[32];
};
_Static_assert(sizeof(struct tern_slot) == 128, "a slot is two cache lines");

/* Where a rank can be found by a link between nodes, in that link's own words. Writer: the rank, once, before
 * JOINED. */
struct tern_net_address {
    _Atomic uint32_t len; /* 0: none */
    unsigned char    bytes[TERN_NET_ADDRESS_BYTES];
};
_Static_assert(sizeof(struct tern_net_address) == 256, "cards lie side by side");

/* A rank's part in the meetings of the world team, where no link reaches all ranks. Departures are told here. Barriers
 * and notes go by messages, except where the job is to survive deaths: then they are told here too, because they have
 * to be known in one order with the fates. Writer: the rank; in mirrors the relay. Both counters may have grown by two
 * when the relay looks again: then both objects, and both notes, are news. */
struct tern_barrier_slot {
    _Alignas(64) _Atomic uint32_t arrived; /* barriers that the rank has entered */
    _Atomic uint32_t departures;           /* things that it has given up */
    _Atomic uint64_t object[2];            /* which, the last two: number n at n & 1 */
    uint32_t         contribution_len[2];  /* 0: none; of barrier n at n & 1 */
};
_Static_assert(sizeof(struct tern_barrier_slot) == 64, "seats lie side by side");

/* A short lock: robust_lock.h. Writers: ranks of the node, by compare-and-swap from 0. */
struct tern_robust_lock {
    _Alignas(64) _Atomic uint32_t word; /* futex; 0: free. The rank that holds it + 1, and TERN_ROBUST_LOCK_SLEEPERS */
};
_Static_assert(sizeof(struct tern_robust_lock) == 64, "guards do not share cache lines");

#define TERN_ACC_LOCKS 256

struct tern_segment {
    uint32_t magic; /* these: written by the launcher before any rank starts */
    uint32_t layout;
    uint32_t ranks;         /* of the job */
    uint32_t cores;         /* of this node that the launcher may use; fewer than locals: waits give way sooner */
    uint64_t job;           /* random; names the job, the same on all nodes */
    uint32_t on_failure;    /* as the option TERN_ON_FAILURE */
    uint32_t nodes;         /* of the job */
    uint32_t node;          /* which of them this is */
    uint32_t locals;        /* ranks on this node */
    uint32_t contributions; /* 1: seats have notes, because the job is to survive deaths */
    uint32_t reserved;
    uint64_t relay_inode;                 /* inode of the pipe that wakes the relay; 0: not inherited, or one node */
    _Alignas(64) _Atomic uint32_t losses; /* number of ranks whose fate is LOST. Writer: the launcher, after fate */
    _Alignas(64) _Atomic uint64_t next;   /* offset of the first byte of the arena that no region had. Writer: ranks */
    struct tern_robust_lock acc_lock[TERN_ACC_LOCKS]; /* of memory that ranks accumulate to: op/atomic/acc.h */
    _Alignas(64) struct tern_slot
        slot[]; /* [ranks]; then the cards [ranks]; then the seats [ranks]; then their notes, if any */
};

static inline size_t tern_segment_bytes(uint32_t ranks, bool notes)
{
    return sizeof(struct tern_segment) +
           ranks * (sizeof(struct tern_slot) + sizeof(struct tern_net_address) + sizeof(struct tern_barrier_slot) +
                    (notes ? 2 * (size_t)TERN_CONTRIBUTION_BYTES : 0));
}

static inline struct tern_net_address *tern_segment_net_address(struct tern_segment *segment, uint32_t rank)
{
    return (struct tern_net_address *)(void *)(segment->slot + segment->ranks) + rank;
}

static inline struct tern_barrier_slot *tern_segment_barrier_slot(struct tern_segment *segment, uint32_t rank)
{
    return (struct tern_barrier_slot *)(void *)tern_segment_net_address(segment, segment->ranks) + rank;
}

/* The place of a rank's note for a barrier: written, like its length, before arrived has the barrier's number. Only
 * where there are notes. */
static inline unsigned char *tern_segment_contribution(struct tern_segment *segment, uint32_t rank, uint32_t barrier)
{
    unsigned char *notes = (unsigned char *)tern_segment_barrier_slot(segment, segment->ranks);

    return notes + (2 * (size_t)rank + (barrier & 1)) * TERN_CONTRIBUTION_BYTES;
}

#endif

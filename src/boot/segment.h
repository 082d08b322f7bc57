/* segment.h: the memory that the launcher and the ranks of a node share from the start.
 *
 * The launcher creates one memory file (memfd), the arena, and passes its descriptor to every rank. The arena starts
 * with this segment, which records which ranks are alive and how to wake them. A job on several nodes has one arena and
 * one segment on each node. Every segment has a slot, a net address and a barrier slot for every rank of the job. The
 * entries of ranks on other nodes are mirrors, which the relay (relay.h) writes in the same order on all nodes. The
 * rest of the first TERN_ARENA_CONTROL bytes belongs to the links, which compute its layout from the number of ranks of
 * the node and reserve what they use. Regions follow at offsets that only grow: `next` is a counter, and freed space
 * returns to the system by punching a hole. So there is one descriptor, no name in any file system, and nothing to
 * clean up: the memory disappears with the last process.
 *
 * Everything here is shared between processes: fixed widths, offsets instead of pointers, one writer per field.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TERN_SEGMENT_MAGIC 0x4e524554u /* "TERN" */
#define TERN_SEGMENT_LAYOUT 20u        /* incremented whenever anything in shared memory changes */
#define TERN_ARENA_CONTROL (1ull << 32)
#define TERN_MAX_NODE_RANKS 4096
#define TERN_MAX_RANKS 65536 /* of a job */
#define TERN_NET_ADDRESS_BYTES 508
#define TERN_CONTRIBUTION_BYTES 4160
#define TERN_ENDING 0x100u         /* in the word ending of a segment, or aborted of a slot: there is an exit status */
#define TERN_SEAT_CONTRIBUTION 512 /* bytes of a contribution to a barrier of a team other than the world */

/* The stage of a rank's life. Writer: the rank itself; in mirrors the relay. */
enum tern_life {
    TERN_LIFE_NONE,
    TERN_LIFE_JOINING,
    TERN_LIFE_JOINED,
    TERN_LIFE_LEAVING,  /* sends no more requests */
    TERN_LIFE_ANSWERED, /* has handled all requests: sends no more replies */
    TERN_LIFE_LEFT
};

/* The fate of a rank's process. Writer: ternrun; in a job of another launcher the death watches; in a job on several
 * nodes the relay. ENDED: the process exited in order, after tern_finalize or without having called tern_init. LOST:
 * the process died, or exited between tern_init and tern_finalize, or exited with a status other than 0. */
enum tern_fate { TERN_FATE_RUNNING, TERN_FATE_ENDED, TERN_FATE_LOST };

/* How the helper thread of a rank, which serves its peers, sleeps: not at all, or on one of the two bells. */
enum tern_service_sleep { TERN_SERVICE_AWAKE, TERN_SERVICE_ON_SERVICE_BELL, TERN_SERVICE_ON_BELL };

/* The state of one rank. */
struct tern_slot {
    /* The fields that other ranks change to wake this rank have their own cache line. */
    _Alignas(64) _Atomic uint32_t bell; /* futex; incremented by any process that wakes the rank */
    _Atomic uint32_t sleepers;          /* number of threads of the rank that sleep on bell. Writer: the rank */
    _Atomic uint32_t service_bell;      /* futex; incremented by any process that wakes the rank's helper thread */
    _Atomic uint32_t service_sleeps;    /* enum tern_service_sleep. Writer: the rank's helper thread */
    _Atomic uint32_t
        uses_membarrier; /* 1: the rank runs a membarrier (bell.h) before it sleeps on bell. Writer: the rank */
    /* 1: a thread of the rank may sleep on bell until a peer writes to the rank's memory. Writers: the rank sets it,
     * and the peer that wakes the rank resets it. Inlined calls of programs read it (tern/inline.h, struct
     * tern_part). */
    _Atomic uint32_t memory_waits;
    _Atomic uint32_t registered; /* 1: the rank's process has registered for membarriers (bell.h). Writer: the rank */
    /* The following fields are written once or twice during the rank's life. */
    _Alignas(64) _Atomic uint32_t life; /* enum tern_life. Writer: the rank, by compare-and-swap from NONE */
    _Atomic uint32_t fate;              /* enum tern_fate, which names the writers */
    _Atomic int32_t  pid;               /* process that called tern_init. Writer: the rank */
    uint32_t         node;              /* node of the rank. node and local are written before any rank starts */
    uint32_t         local;             /* index of the rank among the ranks of its node */
    _Atomic uint32_t ended;   /* enum tern_fate that a death watch observed and the relay must report. Writer: the death
                               watches of the same node, in jobs without ternrun; the relay resets it */
    uint64_t         started; /* start time of the process in kernel ticks (process.h); 0: unknown. pid and started
                               together identify a process. Writer: the host rank of the node in a job without ternrun,
                               before the rank receives the arena */
    int32_t          launcher_fd;  /* descriptor of the rank's PMI-1 connection to its launcher; -1: none. Writer: as
                               for started */
    _Atomic uint32_t flushed;      /* 1: the job is ending, and the rank has written its output. Writer: the rank */
    _Atomic uint32_t seat_changes; /* number of changes of the rank's seats. Writer: the rank, after the change */
    _Atomic uint32_t aborted;      /* TERN_ENDING and the exit status, if the rank has called tern_abort. Writer: the
                                      rank, before its process ends */
    uint8_t          reserved[16];
};
_Static_assert(sizeof(struct tern_slot) == 128, "a slot is two cache lines");

/* The network addresses of a rank, one for each link that publishes one: a list of blobs (base/blob.h), which only
 * grows. Writer: the rank, before its life becomes JOINED; in mirrors the relay. */
struct tern_net_address {
    _Atomic uint32_t len; /* bytes of the list; 0: none */
    unsigned char    bytes[TERN_NET_ADDRESS_BYTES];
};
_Static_assert(sizeof(struct tern_net_address) == 512, "an address fills whole cache lines");

/* A rank's part in the collective operations of the world team, for jobs in which no link reaches all ranks. Departures
 * are published here. Barriers and all-gather contributions normally use messages. If the job must survive deaths, they
 * are published here as well, because all ranks must see them in the same order relative to the fates. Writer: the
 * rank; in mirrors the relay. Both counters may have grown by two between two scans of the relay; then both objects,
 * and both contributions, are new. */
struct tern_barrier_slot {
    _Alignas(64) _Atomic uint32_t arrived; /* number of barriers that the rank has entered */
    _Atomic uint32_t departures;           /* number of objects that the rank has released */
    _Atomic uint64_t object[2];            /* the last two of these objects: number n at index n & 1 */
    uint32_t         contribution_len[2];  /* length of the contribution to barrier n at index n & 1; 0: none */
    _Atomic uint32_t call[2];              /* number of the collective call that entered barrier n, at index n & 1
                                              (core/collective.h). For reports */
    /* The rest is used in the slots of teams only: see tern_segment_seat(). */
    _Atomic uint32_t team;          /* id of the team that the seat belongs to; 0: none, or the world */
    _Atomic uint32_t regroups;      /* number of teams of survivors that the rank has asked for */
    _Atomic uint32_t regroup_id[2]; /* the id that the rank proposes for team n of survivors, at index n & 1 */
    _Atomic uint32_t gave_up;       /* 1: the rank enters no barrier of the team after the number arrived any more */
};
_Static_assert(sizeof(struct tern_barrier_slot) == 64, "a barrier slot is one cache line");

/* A robust lock: see robust_lock.h. Writers: the ranks of the node, by compare-and-swap from 0. */
struct tern_robust_lock {
    _Alignas(64) _Atomic uint32_t word; /* futex; 0: free. Otherwise holder rank + 1, and TERN_ROBUST_LOCK_SLEEPERS */
};
_Static_assert(sizeof(struct tern_robust_lock) == 64, "locks do not share cache lines");

#define TERN_ACC_LOCKS 256

struct tern_segment {
    uint32_t         magic; /* the launcher writes magic to relay_inode before any rank starts, except has_control */
    uint32_t         layout;
    uint32_t         ranks;      /* number of ranks of the job */
    uint32_t         cores;      /* cores of this node that the job may use; if fewer than locals, waits yield sooner */
    uint64_t         job;        /* random identifier of the job, the same on all nodes */
    uint32_t         on_failure; /* value of the option TERN_ON_FAILURE */
    uint32_t         nodes;      /* number of nodes of the job */
    uint32_t         node;       /* index of this node */
    uint32_t         locals;     /* number of ranks on this node */
    uint32_t         contributions; /* 1: the segment stores contributions, because the job must survive deaths */
    _Atomic uint32_t has_control;   /* 1: the control memory of link shm is reserved. Writers: the ranks */
    uint64_t         relay_inode;   /* inode of the pipe that wakes the relay; 0: not inherited, or a single node */
    _Alignas(64) _Atomic uint32_t losses; /* number of ranks whose fate is LOST. Writers: those of fate, after fate */
    /* TERN_ENDING and the exit status, if a rank has called tern_exit; otherwise 0. Writers: the ranks by
     * compare-and-swap from 0; in a job on several nodes also the relay. */
    _Atomic uint32_t ending;
    /* Changes when gave_up has been set in any slot or seat that the ranks of this node see, also in the slots of teams
     * on one node, which are not in the segment. Writers: the ranks of this node; for mirrors the relay. */
    _Atomic uint32_t quits;
    _Alignas(64) _Atomic uint64_t next; /* arena offset at which the next region starts. Writers: the ranks */
    struct tern_robust_lock acc_lock[TERN_ACC_LOCKS]; /* guard the targets of accumulates: op/atomic/acc.h */
    _Alignas(64) struct tern_slot
        slot[]; /* [ranks]; then net addresses [ranks], barrier slots [ranks], and, if the segment stores contributions,
                   the contributions [ranks][2] and the seats [ranks][seats] */
};

/* A seat: the barrier slot of a rank in a team other than the world, and its contributions. A rank uses a seat for one
 * team at a time. Writer: the rank; in mirrors the relay. A rank that gives a seat to another team resets the counters
 * before it writes the id of the team, so a reader that finds the same team before and after it has read the counters
 * has read the counters of that team. Seat 0 belongs to the world, whose barriers have slots of their own: only the
 * regroups of the world are there, and, when the rank gives the world up, gave_up and the last number of arrived. */
struct tern_seat {
    struct tern_barrier_slot slot;
    unsigned char            contribution[2][TERN_SEAT_CONTRIBUTION];
};
_Static_assert(sizeof(struct tern_seat) == 64 + 2 * TERN_SEAT_CONTRIBUTION, "a seat fills whole cache lines");

/* Return the number of seats of a rank in a job of this many ranks. */
static inline uint32_t tern_segment_seats(uint32_t ranks)
{
    return ranks <= 4096 ? 128 : 32;
}

/* Return the size of a segment. contributions tells whether it stores contributions, and has seats. */
static inline size_t tern_segment_bytes(uint32_t ranks, bool contributions)
{
    return sizeof(struct tern_segment) +
           ranks * (sizeof(struct tern_slot) + sizeof(struct tern_net_address) + sizeof(struct tern_barrier_slot) +
                    (contributions
                         ? 2 * (size_t)TERN_CONTRIBUTION_BYTES + tern_segment_seats(ranks) * sizeof(struct tern_seat)
                         : 0));
}

static inline struct tern_net_address *tern_segment_net_address(struct tern_segment *segment, uint32_t rank)
{
    return (struct tern_net_address *)(void *)(segment->slot + segment->ranks) + rank;
}

static inline struct tern_barrier_slot *tern_segment_barrier_slot(struct tern_segment *segment, uint32_t rank)
{
    return (struct tern_barrier_slot *)(void *)tern_segment_net_address(segment, segment->ranks) + rank;
}

/* Return the buffer for a rank's contribution to a barrier. The rank writes the contribution and its length before it
 * sets arrived to the number of the barrier. The segment must store contributions. */
static inline unsigned char *tern_segment_contribution(struct tern_segment *segment, uint32_t rank, uint32_t barrier)
{
    unsigned char *first = (unsigned char *)tern_segment_barrier_slot(segment, segment->ranks);

    return first + (2 * (size_t)rank + (barrier & 1)) * TERN_CONTRIBUTION_BYTES;
}

/* Return a seat of a rank. The segment must store contributions. */
static inline struct tern_seat *tern_segment_seat(struct tern_segment *segment, uint32_t rank, uint32_t seat)
{
    struct tern_seat *first = (struct tern_seat *)(void *)tern_segment_contribution(segment, segment->ranks, 0);

    return first + (size_t)rank * tern_segment_seats(segment->ranks) + seat;
}

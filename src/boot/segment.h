/* segment.h: the memory that the launcher and the ranks of a node share from the first moment on.
 *
 * The launcher makes one memory file (memfd), the arena, and hands its descriptor to every rank. Its first bytes are
 * this segment: who is alive, and how to wake whom. The rest of the first TERN_ARENA_CONTROL bytes belongs to the links
 * (they lay it out by the number of ranks and reserve what they use); regions come after that, at offsets that only
 * ever grow: `next` is a counter, and space that is freed is given back to the system by punching a hole. So there is
 * one descriptor, no name in any file system, and nothing to clean up: when the last process dies the memory is gone.
 *
 * Everything here is shared between processes: fixed widths, offsets instead of pointers, one writer per field.
 */
#ifndef TERN_BOOT_SEGMENT_H
#define TERN_BOOT_SEGMENT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define TERN_SEGMENT_MAGIC 0x4e524554u /* "TERN" */
#define TERN_SEGMENT_LAYOUT 1u         /* changes whenever anything in shared memory changes */
#define TERN_ARENA_CONTROL (1ull << 32)
#define TERN_MAX_NODE_RANKS 4096

/* How far a rank has come. Written by the rank itself. */
enum tern_life {
    TERN_LIFE_NONE,
    TERN_LIFE_JOINING,
    TERN_LIFE_JOINED,
    TERN_LIFE_LEAVING,  /* sends no more requests */
    TERN_LIFE_ANSWERED, /* has handled all requests: sends no more replies */
    TERN_LIFE_LEFT
};

/* What the launcher knows of a rank. Written by the launcher. */
enum tern_fate { TERN_FATE_RUNNING, TERN_FATE_ENDED, TERN_FATE_LOST };

/* One rank. ENDED: its process exited in order, after tern_finalize or without having called tern_init. LOST: it died,
 * or exited between tern_init and tern_finalize, or with a status other than 0. */
struct tern_slot {
    /* What others change to wake the rank: on a line of its own. */
    _Alignas(64) _Atomic uint32_t bell; /* futex; incremented by whoever has news for the rank */
    _Atomic uint32_t sleepers;          /* threads of the rank that sleep on bell. Writer: the rank */
    _Atomic uint32_t service_bell;      /* the same for the rank's service thread */
    _Atomic uint32_t service_sleeps;
    /* What is written once or twice in a life. */
    _Alignas(64) _Atomic uint32_t life; /* enum tern_life. Writer: the rank, by compare-and-swap from NONE */
    _Atomic uint32_t fate;              /* enum tern_fate. Writer: the launcher */
    _Atomic int32_t  pid;               /* of the process that called tern_init. Writer: the rank */
    _Atomic int32_t  group;             /* process group that the launcher made for the rank. Writer: the launcher */
    uint8_t          reserved[48];
};
_Static_assert(sizeof(struct tern_slot) == 128, "a slot is two cache lines");

struct tern_segment {
    uint32_t magic; /* these six: written by the launcher before any rank starts */
    uint32_t layout;
    uint32_t ranks;      /* on this node, which is the whole job */
    uint32_t cores;      /* that the launcher may use; fewer than ranks: waits give way sooner */
    uint64_t job;        /* random; names the job */
    uint32_t on_failure; /* as the option TERN_ON_FAILURE */
    uint32_t reserved;
    _Alignas(64) _Atomic uint32_t losses; /* number of ranks whose fate is LOST. Writer: the launcher, after fate */
    _Alignas(64) _Atomic uint64_t next;   /* offset of the first byte of the arena that no region had. Writer: ranks */
    _Alignas(64) struct tern_slot slot[]; /* [ranks] */
};

static inline size_t tern_segment_bytes(uint32_t ranks)
{
    return sizeof(struct tern_segment) + ranks * sizeof(struct tern_slot);
}

#endif

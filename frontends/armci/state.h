/* state.h: the types and functions that the files of the ARMCI front end share.
 *
 * A rank is near if this process can load from and store to its memory. For near ranks, ARMCI_Malloc gives the program
 * pointers in its own address space, so that operations on near memory are instructions on the pointer, after a
 * comparison of the address with the bounds of the segment that the last operation on the rank used. For all other
 * ranks, the program has the address in the address space of the owner, and the region is found in the peer's table of
 * segments.
 *
 * If several threads may call ARMCI, the contexts are shared, and tern_armci_lock protects the tables of the front end.
 *
 * There are three contexts. Operations to far ranks use a strict context, which provides ARMCI's order of operations to
 * one rank. Operations on near memory that need the region (accumulates) use a relaxed context, because they are
 * complete when they return. Messages use a context on a team of their own.
 */
#ifndef TERN_ARMCI_STATE_H
#define TERN_ARMCI_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tern.h>

#include "armci.h"
#include "armcix.h"
#include "front.h"

/* The declaration of exported functions, and of an ARMCI_ function as the weak name of its PARMCI_ function. */
#define ARMCI_EXPORT __attribute__((visibility("default")))
#define ARMCI_WEAK(name, strong) extern __typeof__(strong) name __attribute__((weak, alias(#strong)))

/* A group, to which the public ARMCI_Group points by its grp_to_abs. */
struct tern_armci_group {
    tern_team               *team;
    tern_ctx                *ctx; /* for collective calls only */
    armci_comm_t             comm;
    struct tern_armci_group *next; /* list of all groups without the group of all ranks, newest first */
    int                      rank, size;
    uint64_t                 next_block; /* number of the next allocation, which is equal at all members */
    int                      blocks;     /* allocations that are not freed */
    bool                     dropped;    /* ARMCI_Group_free was called while there were allocations */
    int                      tables[];   /* ranks in the job by rank in the group, then the reverse */
};

/* An allocation of ARMCI_Malloc. */
struct tern_armci_block {
    tern_region             *region;
    struct tern_armci_group *group;
    uint64_t                 number; /* number in the group */
    int                      mode;   /* the hint of ARMCIX_Mode_set */
    struct tern_armci_block *next;   /* list of all allocations, the newest first */
};

/* The part of an allocation at a rank, by the addresses that the program uses for it. */
struct tern_armci_segment {
    uintptr_t                begin, end;
    struct tern_armci_block *block;
};

/* The memory of a rank: segments in ascending order. Of a near rank, the bounds of the segment that was used last are
 * kept for tern_armci_at_hand. Threads may store begin, bytes and last at the same time, each as a whole. */
struct tern_armci_peer {
    uintptr_t                  begin; /* beginning of the segment that was used last, if the rank is near */
    size_t                     bytes; /* size of that segment; 0: there is none, or the rank is far */
    struct tern_armci_segment *segments;
    int                        count, space;
    int                        last; /* index of the segment that was found last */
};

/* The state of the front end. */
struct tern_armci {
    int                      size; /* 0 while the library is not initialized: no rank is valid then */
    int                      me;
    unsigned char           *near; /* [size] whether the rank is near */
    tern_ctx                *far_ctx, *near_ctx, *msg_ctx;
    tern_team               *msg_team;
    struct tern_armci_peer  *peers;         /* [size] */
    struct tern_armci_block *blocks;        /* list of all allocations */
    struct tern_armci_group *groups;        /* list of all groups without the group of all ranks */
    tern_region             *words;         /* notification counters: a word for each rank */
    ARMCI_Group              world, chosen; /* the group of all ranks, and the default group */
    uint64_t                *waited;        /* [size] notifications of each rank that this rank has waited for */
    bool                     whole_nodes;   /* domains are nodes; otherwise each rank is a domain */
    bool                     threads;       /* several threads may call ARMCI at the same time */
    struct tern_armci_block *heap;          /* the memory of ARMCI_Memget; NULL: there is none */
};
extern struct tern_armci tern_armci __attribute__((visibility("hidden")));

/* Protects the handles, the messages of this rank to itself, and the memory of ARMCI_Memget. */
extern pthread_mutex_t tern_armci_lock __attribute__((visibility("hidden")));

/* Begin and end a use of what tern_armci_lock protects. Nothing happens if one thread at a time calls ARMCI. */
static inline void tern_armci_enter(void)
{
    if (TERN_UNLIKELY(tern_armci.threads))
        (void)pthread_mutex_lock(&tern_armci_lock);
}

static inline void tern_armci_leave(void)
{
    if (TERN_UNLIKELY(tern_armci.threads))
        (void)pthread_mutex_unlock(&tern_armci_lock);
}

/* The location of remote bytes. */
struct tern_armci_place {
    tern_region *region;
    uint64_t     offset;
    uint64_t     base; /* address of the part, as the program knows it */
};

/* An operation, without its data. */
struct tern_armci_op {
    const char          *call;
    armci_hdl_t         *handle;
    const tern_acc_args *acc;
    const tern_signal   *signal;
    int                  proc;
    bool                 blocking;
    bool                 get; /* the operation ends with its completion; otherwise with its local completion */
};

/* The end of an operation to a far rank: the options of the Tern call, and the event that the call waits for or stores
 * in the handle. Near operations do not have this struct, because filling in the options takes longer than a short
 * copy. */
struct tern_armci_end {
    tern_event event;
    tern_opts  opts;
};

/* A strided transfer in the terms of ARMCI. */
struct tern_armci_box {
    void      *src, *dst;
    const int *src_stride, *dst_stride, *count;
    int        levels;
};

/* Check that a rank exists and that the library is initialized; end the job otherwise. */
void               tern_armci_bad_rank(const char *call, int proc) __attribute__((noreturn, cold));
static inline void tern_armci_check_rank(const char *call, int proc)
{
    if (TERN_UNLIKELY((unsigned)proc >= (unsigned)tern_armci.size))
        tern_armci_bad_rank(call, proc);
}

/* Check that the library is initialized. */
static inline void tern_armci_check_running(const char *call)
{
    tern_armci_check_rank(call, tern_armci.me);
}

/* Return whether bytes at an address lie in the segment of a near rank that was used last. False before the library is
 * initialized, and for numbers of bytes that are not positive. */
static inline bool tern_armci_at_hand(int proc, const void *addr, int bytes)
{
    const struct tern_armci_peer *peer;
    uintptr_t                     offset;
    size_t                        space;

    if ((unsigned)proc >= (unsigned)tern_armci.size)
        return false;
    peer = &tern_armci.peers[proc];
    offset = (uintptr_t)addr - __atomic_load_n(&peer->begin, __ATOMIC_RELAXED);
    space = __atomic_load_n(&peer->bytes, __ATOMIC_RELAXED);
    return offset < space && (size_t)bytes - 1 < space - offset; /* 0 - 1 is the largest size_t */
}

/* Order copies with the stores before and after them, as ARMCI promises for operations to one rank. */
static inline void tern_armci_release(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Copy within this process. Words of 8 bytes are copied as a whole. */
static inline void tern_armci_copy(void *to, const void *from, size_t bytes)
{
    if (bytes == 8)
        __builtin_memcpy(to, from, 8);
    else
        tern_copy(to, from, bytes);
}

/* find.c: the segments of ranks. tern_armci_check_near ends the job unless the bytes lie in one segment of a near rank,
 * or in any memory of this rank. */
void                     tern_armci_add_segment(const char *call, int proc, struct tern_armci_segment segment);
void                     tern_armci_drop_segments(const struct tern_armci_block *block);
bool                     tern_armci_look(int proc, const void *addr, struct tern_armci_place *place);
struct tern_armci_place  tern_armci_find(const char *call, int proc, const void *addr);
void                     tern_armci_check_near(const char *call, int proc, const void *addr, size_t bytes);
struct tern_armci_block *tern_armci_block_at(int proc, const void *addr);

/* Begin an operation, whose rank is checked. */
static inline struct tern_armci_op tern_armci_blocking(const char *call, int proc, bool get)
{
    tern_armci_check_rank(call, proc);
    return (struct tern_armci_op){ .call = call, .proc = proc, .blocking = true, .get = get };
}

static inline struct tern_armci_op tern_armci_nonblocking(const char *call, int proc, bool get, armci_hdl_t *handle)
{
    tern_armci_check_rank(call, proc);
    return (struct tern_armci_op){ .call = call, .proc = proc, .handle = handle, .get = get };
}

/* handle.c: the completion of operations to far ranks. The options contain the address of the event in *end. */
const tern_opts *tern_armci_opts(const struct tern_armci_op *op, struct tern_armci_end *end);
int              tern_armci_finish(const struct tern_armci_op *op, struct tern_armci_end *end, tern_status status);
bool             tern_armci_set_done(const char *call, armci_hdl_t *handle); /* returns whether it is an aggregate */
void             tern_armci_free_handles(void);

/* contig.c: check the number of bytes and the local address of an operation. Returns whether there is nothing to
 * transfer; the handle is then done. */
bool tern_armci_is_empty(const struct tern_armci_op *op, const void *local, int bytes);

/* acc.c: the type and the scale of an accumulate. */
tern_acc_args tern_armci_acc_args(const char *call, int datatype, const void *scale);

/* acc_odd.c: accumulates to elements that are not aligned, and the mutexes that they need. tern_armci_acc_odd has
 * completed the accumulate when it returns. */
void tern_armci_start_odd(const char *call);
void tern_armci_stop_odd(const char *call);
void tern_armci_acc_odd(const struct tern_armci_op *op, const struct tern_armci_box *box);

/* Return the size of a number: of an element, or of a part of a complex element. */
static inline size_t tern_armci_part_bytes(const tern_acc_args *args)
{
    return args->type == TERN_INT32 || args->type == TERN_FLOAT || args->type == TERN_COMPLEX_FLOAT ? 4 : 8;
}

/* Return whether elements are not aligned to the size of their numbers. bits is the bitwise or of all addresses and
 * strides. */
static inline bool tern_armci_is_odd(const tern_acc_args *args, uintptr_t bits)
{
    return TERN_UNLIKELY((bits & 7) != 0) && (bits & (tern_armci_part_bytes(args) - 1)) != 0;
}

/* strided.c: copies of boxes within this process. */
void tern_armci_copy_box(const struct tern_armci_box *box);
bool tern_armci_check_box(const char *call, const struct tern_armci_box *box);

/* message.c */
void tern_armci_drop_messages(void);

/* groups.c */
struct tern_armci_group *tern_armci_group_of(const char *call, const ARMCI_Group *group);
void                     tern_armci_start_groups(void);
void                     tern_armci_stop_groups(void);
void                     tern_armci_unuse_group(const char *call, struct tern_armci_group *group);

/* comm_mpi.c, comm_alone.c: the communicators of groups. */
armci_comm_t tern_armci_comm_world(const char *call);
armci_comm_t tern_armci_comm_of(const char *call, const int *ranks, int n);
armci_comm_t tern_armci_comm_none(void);
void         tern_armci_comm_free(armci_comm_t *comm);
void         tern_armci_comm_check(const char *call, armci_comm_t comm);

/* mutex.c: lock a mutex of a rank. Another thread of this process may hold it or wait for it. */
tern_status tern_armci_lock_mutex(tern_mutexes *set, int proc, uint64_t mutex);
void        tern_armci_drop_mutexes(void);

/* malloc.c: create an allocation of a group. If there is not enough memory, the call returns NULL at all ranks. */
struct tern_armci_block *tern_armci_malloc(const char *call, void **pointers, armci_size_t bytes,
                                           const ARMCI_Group *group);
void                     tern_armci_drop_blocks(void);

/* memget.c: the heap of ARMCI_Memget: the size that this rank wants, and its beginning at all ranks. */
uint64_t tern_armci_wished_heap(const char *call);
void     tern_armci_start_heap(const char *call, uint64_t bytes);
void     tern_armci_drop_heap(void);

#endif

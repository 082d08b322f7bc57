/* coll.h: collective calls: broadcast, reduce, gather, scatter, scan.
 *
 * All ranks of the context's team make the same collective calls in the same order, with matching arguments. Buffers
 * may be in any memory of the caller. Each call comes in two forms:
 *
 *   tern_allreduce        blocking: returns when this rank's part is complete
 *   tern_allreduce_with   nonblocking: fills opts->event, or increments opts->counter, when this rank's part is
 *                         complete; with opts->when, the rank takes part when a counter reaches a threshold
 *
 * All ranks use the same form of a call. This rank's part is complete when the caller may read its results and reuse
 * its buffers. That does not mean that other ranks have finished; only tern_sync and tern_barrier wait for all ranks.
 * Any number of nonblocking calls may be outstanding on a team, and they complete in any order. They make progress in
 * every call of Tern that makes progress on the context, and on a thread of the library while the program computes or
 * sleeps (unless the option TERN_PROGRESS_THREAD is off). Until an operation is complete, the caller must not modify
 * its sources or access its results. The structs that describe it may be reused as soon as the call returns. Collective
 * calls do not complete the one-sided operations of the context, and tern_quiet does not wait for collective calls.
 *
 * Reductions: tern_reduce_args says how elements are combined. The result of a reduction is the same on every rank that
 * gets it, and the same from run to run for a given team, number of elements and algorithm. With TERN_REPRODUCIBLE, the
 * elements are combined in the order of the ranks, from the first to the last, whatever the algorithm: the result has
 * the same bits with every algorithm, number of nodes and option.
 *
 * In place: where a call has a source and a result of the same size, both may be the same memory (dst equal to src).
 * Where the result contains the caller's own block, the source may be that block. Any other overlap of the memory that
 * a rank passes is an error.
 *
 * Errors: an argument that is invalid by itself is refused before anything is sent: TERN_ERR_ARG or TERN_ERR_RANGE. If
 * ranks make different calls, or pass different roots, lengths, types or reductions, the call fails with TERN_ERR_ARG
 * on ranks that learn of it, and the text names both ranks and what they passed; debug builds always compare the calls
 * of all ranks first. Other builds send no message for that: a rank learns of it from the messages and the shared
 * memory of the call itself. On one node that includes a blocking call of which another rank has made the nonblocking
 * form, or instead of which it has called tern_barrier or another collective call of Tern. A mismatch that no rank can
 * detect leads to a stall report (option TERN_STALL_REPORT); an example is a nonblocking reduce with different roots.
 * If a rank of the team dies, all ranks whose part is not complete get TERN_ERR_PEER; the survivors continue with a
 * team of their own (tern_team_survivors). After TERN_ERR_ARG that other ranks caused, TERN_ERR_TIMEOUT and
 * TERN_ERR_PEER, the contents of the results are undefined, and no further collective call of this header is possible
 * on the team.
 *
 * The algorithms and how Tern chooses among them are described in docs/collectives.md; the option TERN_COLL forces one.
 */
#ifndef TERN_COLL_H
#define TERN_COLL_H

#include <stddef.h>
#include <stdint.h>
#include <tern/acc.h>
#include <tern/context.h>
#include <tern/rma.h>
#include <tern/status.h>
#include <tern/type.h>

TERN_BEGIN_DECLS

/* Flags in tern_reduce_args. */
#define TERN_REPRODUCIBLE 0x1u /* combine in the order of the ranks, whatever the algorithm */
#define TERN_COMMUTATIVE 0x2u  /* the function of a TERN_USER reduction may be applied to ranks in any order */

/* A function that combines elements, for TERN_USER. It computes inout[i] = in[i] op inout[i] for i from 0 to count - 1.
 * The elements of in belong to lower ranks than the elements of inout. The function is associative. The two arrays do
 * not overlap; they are aligned to 16 bytes or like the arrays of the program. The function may run in a thread of the
 * library, and must not call Tern. */
typedef void (*tern_reduce_fn)(const void *in, void *inout, size_t count, void *user);

/* How a reduction combines elements. Create it with TERN_REDUCE_ARGS or TERN_REDUCE_ARGS_INIT, which set size.
 *
 *   TERN_SUM, TERN_PROD                  all types
 *   TERN_MIN, TERN_MAX                   the lesser, the greater: integers, float, double, long double
 *   TERN_AND, TERN_OR, TERN_XOR          bit by bit: integers
 *   TERN_LAND, TERN_LOR, TERN_LXOR       logical, the result is 0 or 1: integers
 *   TERN_ABSMIN, TERN_ABSMAX             the lesser, the greater of the absolute values: integers, float, double, long
 *                                        double. The result is an absolute value; that of the lowest integer wraps
 *                                        around to itself
 *   TERN_MINLOC, TERN_MAXLOC             integers, float, double, long double. An element is a struct of a value of the
 *                                        type and an int64_t, in this order: the result is the least or greatest value
 *                                        with its number, of equal values with the lowest number
 *   TERN_USER                            fn on elements of elem bytes; type is ignored
 *
 * Sums and products of integers wrap around. min and max keep the value of the lower rank if the two compare equal or
 * one is a NaN. If only one rank contributes, its elements are the result, unchanged: for TERN_LAND not reduced to 0 or
 * 1, and for TERN_ABSMIN with their signs. */
typedef struct tern_reduce_args {
    uint32_t       size;  /* sizeof(tern_reduce_args), so that later versions can add fields */
    tern_type      type;  /* type of the elements */
    tern_reduction op;    /* how elements are combined; 0 is TERN_SUM */
    uint32_t       flags; /* TERN_REPRODUCIBLE, TERN_COMMUTATIVE */
    tern_reduce_fn fn;    /* for TERN_USER; NULL otherwise */
    size_t         elem;  /* for TERN_USER: bytes of an element; 0 otherwise */
    void          *user;  /* for TERN_USER: passed to fn */
} tern_reduce_args;

#define TERN_REDUCE_ARGS_INIT TERN_SIZED(tern_reduce_args)
#ifndef __cplusplus
#define TERN_REDUCE_ARGS(...) ((tern_reduce_args){ .size = sizeof(tern_reduce_args), __VA_ARGS__ })
#endif

/* The blocks of an array, one for each rank of the team. Create it with TERN_BLOCKS or TERN_BLOCKS_INIT, which set
 * size. The blocks that a rank writes must not overlap. */
typedef struct tern_blocks {
    uint32_t      size;     /* sizeof(tern_blocks), so that later versions can add fields */
    uint32_t      reserved; /* 0 */
    const size_t *len;      /* [ranks of the team] bytes of each block */
    const size_t *offset;   /* [ranks of the team] bytes from the start of the array to each block. NULL: the blocks
                               follow each other without gaps, in the order of the ranks */
} tern_blocks;

#define TERN_BLOCKS_INIT TERN_SIZED(tern_blocks)
#ifndef __cplusplus
#define TERN_BLOCKS(...) ((tern_blocks){ .size = sizeof(tern_blocks), __VA_ARGS__ })
#endif

/* The arrays of a strided exchange. They have count elements of elem bytes for each rank. Element i of the block for
 * rank r begins at element (r * count + i) * src_stride of the source, and element i of the block from rank r at
 * element (r * count + i) * dst_stride of the result. Create it with TERN_ALLTOALLS_ARGS or TERN_ALLTOALLS_ARGS_INIT,
 * which set size. */
typedef struct tern_alltoalls_args {
    uint32_t size;                   /* sizeof(tern_alltoalls_args), so that later versions can add fields */
    uint32_t reserved;               /* 0 */
    size_t   elem;                   /* bytes of an element, at least 1 */
    size_t   count;                  /* elements for each rank, the same on all ranks */
    size_t   src_stride, dst_stride; /* distances between elements, in elements, at least 1 */
} tern_alltoalls_args;

#define TERN_ALLTOALLS_ARGS_INIT TERN_SIZED(tern_alltoalls_args)
#ifndef __cplusplus
#define TERN_ALLTOALLS_ARGS(...) ((tern_alltoalls_args){ .size = sizeof(tern_alltoalls_args), __VA_ARGS__ })
#endif

/* Synchronize the ranks of a team. The call waits until every rank of the context's team has made it. It completes no
 * operations of the context: what a rank put before may not have arrived yet, but ordinary stores to shared memory are
 * visible to all ranks after it.
 * Returns  TERN_OK: every rank of the team has made the call.
 *          TERN_ERR_ARG: ctx is NULL; or, on ranks that learn of it, other ranks made another collective call or
 *            passed other arguments.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls of
 *            this header.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 * Remote   Stores that the ranks made before are visible to all of them after it.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress while it waits. */
TERN_API tern_status tern_sync(tern_ctx *ctx);

/* Start to synchronize the ranks of a team, with options. The operation waits until every rank of the context's team
 * has made it. It completes no operations of the context: what a rank put before may not have arrived yet, but
 * ordinary stores to shared memory are visible to all ranks after it. The operation is complete when opts->event
 * completes or opts->counter has been incremented; at least one of them is set. If opts->when is set, this rank takes
 * part when that counter reaches opts->threshold. All ranks use this form of the call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx is NULL; or opts is NULL, has no event and no counter, or has an option that collective
 *            calls do not have.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   Stores that the ranks made before are visible to all of them after it.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_sync_with(tern_ctx *ctx, const tern_opts *opts);

/* Start a barrier, with options. The operation waits until all one-sided operations that the context had started before
 * the call, with or without an event, are complete, and then until every rank of the context's team has made the call.
 * It does not wait for tagged messages, nor for operations that wait for a counter. The operation is complete when
 * opts->event completes or opts->counter has been incremented; at least one of them is set. If opts->when is set, this
 * rank takes part when that counter reaches opts->threshold. All ranks use this form of the call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports TERN_ERR_PEER if a rank of
 *            the team dies, TERN_ERR_ARG if this rank learns that other ranks made another collective call, or the
 *            first error, since the last tern_quiet, of an operation without an event; the other ranks then get
 *            TERN_ERR_ARG.
 *          TERN_ERR_ARG: ctx is NULL; or opts is NULL, has no event and no counter, or has an option that collective
 *            calls do not have.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, no event has been filled.
 * Remote   Everything that the ranks did before the call is visible to all of them when the operation is complete.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. The operations of the context complete when they would
 *          complete without a barrier; some need a call of the program that makes progress on the context. */
TERN_API tern_status tern_barrier_with(tern_ctx *ctx, const tern_opts *opts);

/* Broadcast bytes from one rank to all. The call copies the len bytes at buf of rank root to buf of every other rank
 * of the context's team. All ranks pass the same root and len.
 * Returns  TERN_OK: this rank's part is complete.
 *          TERN_ERR_ARG: ctx is NULL, or buf is NULL and len is not 0; or, on ranks that learn of it, other ranks made
 *            another collective call or passed other arguments.
 *          TERN_ERR_RANGE: root is not a rank of the team, or len is too large.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls of
 *            this header.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 * Remote   Every rank receives the bytes of the root.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress while it waits. */
TERN_API tern_status tern_broadcast(tern_ctx *ctx, int root, void *buf, size_t len);

/* Start a broadcast, with options. The operation copies the len bytes at buf of rank root to buf of every other rank
 * of the context's team. All ranks pass the same root and len. The operation is complete when opts->event completes or
 * opts->counter has been incremented; at least one of them is set. If opts->when is set, this rank takes part when
 * that counter reaches opts->threshold. All ranks use this form of the call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx is NULL, or buf is NULL and len is not 0; or opts is NULL, has no event and no counter, or
 *            has an option that collective calls do not have.
 *          TERN_ERR_RANGE: root is not a rank of the team, or len is too large.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   Every rank receives the bytes of the root.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_broadcast_with(tern_ctx *ctx, int root, void *buf, size_t len, const tern_opts *opts);

/* Reduce arrays to one rank. The call combines, for each i below count, element i of the arrays src of all ranks of
 * the context's team, and stores the results in the array dst of rank root. dst may be equal to src. On other ranks
 * than root, dst is ignored. All ranks pass the same root, count and args.
 * Returns  TERN_OK: this rank's part is complete.
 *          TERN_ERR_ARG: ctx or args is NULL, src is NULL or dst is NULL on the root and count is not 0, a field of
 *            *args is invalid, the type does not have the reduction, or the arrays overlap without being the same; or,
 *            on ranks that learn of it, other ranks made another collective call or passed other arguments.
 *          TERN_ERR_RANGE: root is not a rank of the team, or count is too large.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls of
 *            this header.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 * Remote   The root receives the combination of the elements of all ranks.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress while it waits. */
TERN_API tern_status tern_reduce(tern_ctx *ctx, int root, const void *src, void *dst, size_t count,
                                 const tern_reduce_args *args);

/* Start a reduction to one rank, with options. The operation combines, for each i below count, element i of the arrays
 * src of all ranks of the context's team, and stores the results in the array dst of rank root. dst may be equal to
 * src. On other ranks than root, dst is ignored. All ranks pass the same root, count and args. The operation is
 * complete when opts->event completes or opts->counter has been incremented; at least one of them is set. If
 * opts->when is set, this rank takes part when that counter reaches opts->threshold. All ranks use this form of the
 * call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx or args is NULL, src is NULL or dst is NULL on the root and count is not 0, a field of
 *            *args is invalid, the type does not have the reduction, or the arrays overlap without being the same; or
 *            opts is NULL, has no event and no counter, or has an option that collective calls do not have.
 *          TERN_ERR_RANGE: root is not a rank of the team, or count is too large.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   The root receives the combination of the elements of all ranks.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_reduce_with(tern_ctx *ctx, int root, const void *src, void *dst, size_t count,
                                      const tern_reduce_args *args, const tern_opts *opts);

/* Reduce arrays to all ranks. The call combines, for each i below count, element i of the arrays src of all ranks of
 * the context's team, and stores the results in the array dst of every rank. dst may be equal to src. All ranks pass
 * the same count and args.
 * Returns  TERN_OK: this rank's part is complete.
 *          TERN_ERR_ARG: ctx or args is NULL, src or dst is NULL and count is not 0, a field of *args is invalid, the
 *            type does not have the reduction, or the arrays overlap without being the same; or, on ranks that learn
 *            of it, other ranks made another collective call or passed other arguments.
 *          TERN_ERR_RANGE: count is too large.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls of
 *            this header.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 * Remote   Every rank receives the combination of the elements of all ranks.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress while it waits. */
TERN_API tern_status tern_allreduce(tern_ctx *ctx, const void *src, void *dst, size_t count,
                                    const tern_reduce_args *args);

/* Start a reduction to all ranks, with options. The operation combines, for each i below count, element i of the
 * arrays src of all ranks of the context's team, and stores the results in the array dst of every rank. dst may be
 * equal to src. All ranks pass the same count and args. The operation is complete when opts->event completes or
 * opts->counter has been incremented; at least one of them is set. If opts->when is set, this rank takes part when
 * that counter reaches opts->threshold. All ranks use this form of the call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx or args is NULL, src or dst is NULL and count is not 0, a field of *args is invalid, the
 *            type does not have the reduction, or the arrays overlap without being the same; or opts is NULL, has no
 *            event and no counter, or has an option that collective calls do not have.
 *          TERN_ERR_RANGE: count is too large.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   Every rank receives the combination of the elements of all ranks.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_allreduce_with(tern_ctx *ctx, const void *src, void *dst, size_t count,
                                         const tern_reduce_args *args, const tern_opts *opts);

/* Reduce arrays, and leave a block at each rank. The array src of each of the n ranks of the context's team has n
 * blocks of count elements. The call combines the arrays of all ranks element by element, and stores block r of the
 * result in the array dst, of count elements, of rank r. dst may be this rank's block of src. All ranks pass the same
 * count and args.
 * Returns  TERN_OK: this rank's part is complete.
 *          TERN_ERR_ARG: ctx or args is NULL, src or dst is NULL and count is not 0, a field of *args is invalid, the
 *            type does not have the reduction, or the arrays overlap otherwise than permitted; or, on ranks that learn
 *            of it, other ranks made another collective call or passed other arguments.
 *          TERN_ERR_RANGE: count is too large.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls of
 *            this header.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 * Remote   Every rank receives the combination of the elements of its block.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress while it waits. */
TERN_API tern_status tern_reduce_scatter(tern_ctx *ctx, const void *src, void *dst, size_t count,
                                         const tern_reduce_args *args);

/* Start a reduction to blocks, with options. The array src of each of the n ranks of the context's team has n blocks
 * of count elements. The operation combines the arrays of all ranks element by element, and stores block r of the
 * result in the array dst, of count elements, of rank r. dst may be this rank's block of src. All ranks pass the same
 * count and args. The operation is complete when opts->event completes or opts->counter has been incremented; at least
 * one of them is set. If opts->when is set, this rank takes part when that counter reaches opts->threshold. All ranks
 * use this form of the call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx or args is NULL, src or dst is NULL and count is not 0, a field of *args is invalid, the
 *            type does not have the reduction, or the arrays overlap otherwise than permitted; or opts is NULL, has no
 *            event and no counter, or has an option that collective calls do not have.
 *          TERN_ERR_RANGE: count is too large.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   Every rank receives the combination of the elements of its block.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_reduce_scatter_with(tern_ctx *ctx, const void *src, void *dst, size_t count,
                                              const tern_reduce_args *args, const tern_opts *opts);

/* Reduce arrays, and leave blocks of different lengths. The array src of each rank has a block for every rank of the
 * context's team, as blocks says; the lengths are multiples of the size of an element. The call combines the arrays of
 * all ranks element by element, and stores block r of the result at dst of rank r. dst may be this rank's block of
 * src. All ranks pass the same lengths, offsets and args.
 * Returns  TERN_OK: this rank's part is complete.
 *          TERN_ERR_ARG: ctx, blocks or args is NULL, src or dst is NULL and there are bytes to read or store there, a
 *            field of *blocks or *args is invalid, a length is not a multiple of the size of an element, the type does
 *            not have the reduction, or the arrays overlap otherwise than permitted; or, on ranks that learn of it,
 *            other ranks made another collective call or passed other arguments.
 *          TERN_ERR_RANGE: the sum of the lengths, or the end of a block, is too large.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls of
 *            this header.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 * Remote   Every rank receives the combination of the elements of its block.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress while it waits. */
TERN_API tern_status tern_reduce_scatterv(tern_ctx *ctx, const void *src, void *dst, const tern_blocks *blocks,
                                          const tern_reduce_args *args);

/* Start a reduction to different lengths, with options. The array src of each rank has a block for every rank of the
 * context's team, as blocks says; the lengths are multiples of the size of an element. The operation combines the
 * arrays of all ranks element by element, and stores block r of the result at dst of rank r. dst may be this rank's
 * block of src. All ranks pass the same lengths, offsets and args. The operation is complete when opts->event
 * completes or opts->counter has been incremented; at least one of them is set. If opts->when is set, this rank takes
 * part when that counter reaches opts->threshold. All ranks use this form of the call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx, blocks or args is NULL, src or dst is NULL and there are bytes to read or store there, a
 *            field of *blocks or *args is invalid, a length is not a multiple of the size of an element, the type does
 *            not have the reduction, or the arrays overlap otherwise than permitted; or opts is NULL, has no event and
 *            no counter, or has an option that collective calls do not have.
 *          TERN_ERR_RANGE: the sum of the lengths, or the end of a block, is too large.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   Every rank receives the combination of the elements of its block.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_reduce_scatterv_with(tern_ctx *ctx, const void *src, void *dst, const tern_blocks *blocks,
                                               const tern_reduce_args *args, const tern_opts *opts);

/* Gather a block of bytes from every rank at one rank. The call stores the len bytes at src of rank r of the context's
 * team at dst + r * len of rank root. On the root, src may be its own block of dst. On other ranks, dst is ignored.
 * All ranks pass the same root and len.
 * Returns  TERN_OK: this rank's part is complete.
 *          TERN_ERR_ARG: ctx is NULL, src is NULL or dst is NULL on the root and len is not 0, or src and dst overlap
 *            otherwise than permitted; or, on ranks that learn of it, other ranks made another collective call or
 *            passed other arguments.
 *          TERN_ERR_RANGE: root is not a rank of the team, or len is too large.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls of
 *            this header.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 * Remote   The root receives the bytes of every rank.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress while it waits. */
TERN_API tern_status tern_gather(tern_ctx *ctx, int root, const void *src, size_t len, void *dst);

/* Start to gather blocks at one rank, with options. The operation stores the len bytes at src of rank r of the
 * context's team at dst + r * len of rank root. On the root, src may be its own block of dst. On other ranks, dst is
 * ignored. All ranks pass the same root and len. The operation is complete when opts->event completes or opts->counter
 * has been incremented; at least one of them is set. If opts->when is set, this rank takes part when that counter
 * reaches opts->threshold. All ranks use this form of the call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx is NULL, src is NULL or dst is NULL on the root and len is not 0, or src and dst overlap
 *            otherwise than permitted; or opts is NULL, has no event and no counter, or has an option that collective
 *            calls do not have.
 *          TERN_ERR_RANGE: root is not a rank of the team, or len is too large.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   The root receives the bytes of every rank.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_gather_with(tern_ctx *ctx, int root, const void *src, size_t len, void *dst,
                                      const tern_opts *opts);

/* Gather blocks of different lengths at one rank. The call stores the len bytes at src of rank r of the context's team
 * in block r of the array dst of rank root, as blocks says there: len is equal to blocks->len[r] of the root. On the
 * root, src may be its own block of dst. On other ranks, dst and blocks are ignored. All ranks pass the same root.
 * Returns  TERN_OK: this rank's part is complete.
 *          TERN_ERR_ARG: ctx is NULL, src is NULL and len is not 0, on the root blocks is NULL, dst is NULL and a
 *            length is not 0, a field of *blocks is invalid, len is not blocks->len of the root itself, or src and dst
 *            overlap otherwise than permitted; or, on ranks that learn of it, other ranks made another collective call
 *            or passed other arguments.
 *          TERN_ERR_RANGE: root is not a rank of the team, or the end of a block is too large.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls of
 *            this header.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 * Remote   The root receives the bytes of every rank.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress while it waits. */
TERN_API tern_status tern_gatherv(tern_ctx *ctx, int root, const void *src, size_t len, void *dst,
                                  const tern_blocks *blocks);

/* Start to gather blocks of different lengths, with options. The operation stores the len bytes at src of rank r of
 * the context's team in block r of the array dst of rank root, as blocks says there: len is equal to blocks->len[r] of
 * the root. On the root, src may be its own block of dst. On other ranks, dst and blocks are ignored. All ranks pass
 * the same root. The operation is complete when opts->event completes or opts->counter has been incremented; at least
 * one of them is set. If opts->when is set, this rank takes part when that counter reaches opts->threshold. All ranks
 * use this form of the call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx is NULL, src is NULL and len is not 0, on the root blocks is NULL, dst is NULL and a
 *            length is not 0, a field of *blocks is invalid, len is not blocks->len of the root itself, or src and dst
 *            overlap otherwise than permitted; or opts is NULL, has no event and no counter, or has an option that
 *            collective calls do not have.
 *          TERN_ERR_RANGE: root is not a rank of the team, or the end of a block is too large.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   The root receives the bytes of every rank.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_gatherv_with(tern_ctx *ctx, int root, const void *src, size_t len, void *dst,
                                       const tern_blocks *blocks, const tern_opts *opts);

/* Scatter blocks of bytes from one rank to all. The call stores the len bytes at src + r * len of rank root at dst of
 * rank r of the context's team. On the root, dst may be its own block of src. On other ranks, src is ignored. All
 * ranks pass the same root and len.
 * Returns  TERN_OK: this rank's part is complete.
 *          TERN_ERR_ARG: ctx is NULL, dst is NULL or src is NULL on the root and len is not 0, or src and dst overlap
 *            otherwise than permitted; or, on ranks that learn of it, other ranks made another collective call or
 *            passed other arguments.
 *          TERN_ERR_RANGE: root is not a rank of the team, or len is too large.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls of
 *            this header.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 * Remote   Every rank receives its block.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress while it waits. */
TERN_API tern_status tern_scatter(tern_ctx *ctx, int root, const void *src, void *dst, size_t len);

/* Start to scatter blocks, with options. The operation stores the len bytes at src + r * len of rank root at dst of
 * rank r of the context's team. On the root, dst may be its own block of src. On other ranks, src is ignored. All
 * ranks pass the same root and len. The operation is complete when opts->event completes or opts->counter has been
 * incremented; at least one of them is set. If opts->when is set, this rank takes part when that counter reaches
 * opts->threshold. All ranks use this form of the call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx is NULL, dst is NULL or src is NULL on the root and len is not 0, or src and dst overlap
 *            otherwise than permitted; or opts is NULL, has no event and no counter, or has an option that collective
 *            calls do not have.
 *          TERN_ERR_RANGE: root is not a rank of the team, or len is too large.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   Every rank receives its block.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_scatter_with(tern_ctx *ctx, int root, const void *src, void *dst, size_t len,
                                       const tern_opts *opts);

/* Scatter blocks of different lengths from one rank. The call stores block r of the array src of rank root, as blocks
 * says there, at dst of rank r of the context's team: len is equal to blocks->len[r] of the root. On the root, dst may
 * be its own block of src. On other ranks, src and blocks are ignored. All ranks pass the same root.
 * Returns  TERN_OK: this rank's part is complete.
 *          TERN_ERR_ARG: ctx is NULL, dst is NULL and len is not 0, on the root blocks is NULL, src is NULL and a
 *            length is not 0, a field of *blocks is invalid, len is not blocks->len of the root itself, or src and dst
 *            overlap otherwise than permitted; or, on ranks that learn of it, other ranks made another collective call
 *            or passed other arguments.
 *          TERN_ERR_RANGE: root is not a rank of the team, or the end of a block is too large.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls of
 *            this header.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 * Remote   Every rank receives its block.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress while it waits. */
TERN_API tern_status tern_scatterv(tern_ctx *ctx, int root, const void *src, const tern_blocks *blocks, void *dst,
                                   size_t len);

/* Start to scatter blocks of different lengths, with options. The operation stores block r of the array src of rank
 * root, as blocks says there, at dst of rank r of the context's team: len is equal to blocks->len[r] of the root. On
 * the root, dst may be its own block of src. On other ranks, src and blocks are ignored. All ranks pass the same root.
 * The operation is complete when opts->event completes or opts->counter has been incremented; at least one of them is
 * set. If opts->when is set, this rank takes part when that counter reaches opts->threshold. All ranks use this form
 * of the call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx is NULL, dst is NULL and len is not 0, on the root blocks is NULL, src is NULL and a
 *            length is not 0, a field of *blocks is invalid, len is not blocks->len of the root itself, or src and dst
 *            overlap otherwise than permitted; or opts is NULL, has no event and no counter, or has an option that
 *            collective calls do not have.
 *          TERN_ERR_RANGE: root is not a rank of the team, or the end of a block is too large.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   Every rank receives its block.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_scatterv_with(tern_ctx *ctx, int root, const void *src, const tern_blocks *blocks, void *dst,
                                        size_t len, const tern_opts *opts);

/* Start to gather blocks at every rank, with options. The operation stores the len bytes at src of rank r of the
 * context's team at all + r * len of every rank. src may be this rank's block of all. All ranks pass the same len. The
 * operation is complete when opts->event completes or opts->counter has been incremented; at least one of them is set.
 * If opts->when is set, this rank takes part when that counter reaches opts->threshold. All ranks use this form of the
 * call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx is NULL, src or all is NULL and len is not 0, or src and all overlap otherwise than
 *            permitted; or opts is NULL, has no event and no counter, or has an option that collective calls do not
 *            have.
 *          TERN_ERR_RANGE: len is too large.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   Every rank receives the bytes of every rank.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_allgather_with(tern_ctx *ctx, const void *src, size_t len, void *all, const tern_opts *opts);

/* Gather blocks of different lengths at every rank. The call stores the len bytes at src of rank r of the context's
 * team in block r of the array dst of every rank, as blocks says there: len is equal to blocks->len[r]. src may be
 * this rank's block of dst. All ranks pass the same lengths; the offsets may differ.
 * Returns  TERN_OK: this rank's part is complete.
 *          TERN_ERR_ARG: ctx or blocks is NULL, src is NULL and len is not 0, dst is NULL and a length is not 0, a
 *            field of *blocks is invalid, len is not blocks->len of this rank, or src and dst overlap otherwise than
 *            permitted; or, on ranks that learn of it, other ranks made another collective call or passed other
 *            arguments.
 *          TERN_ERR_RANGE: the sum of the lengths, or the end of a block, is too large.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls of
 *            this header.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 * Remote   Every rank receives the bytes of every rank.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress while it waits. */
TERN_API tern_status tern_allgatherv(tern_ctx *ctx, const void *src, size_t len, void *dst, const tern_blocks *blocks);

/* Start to gather different lengths at every rank, with options. The operation stores the len bytes at src of rank r
 * of the context's team in block r of the array dst of every rank, as blocks says there: len is equal to
 * blocks->len[r]. src may be this rank's block of dst. All ranks pass the same lengths; the offsets may differ. The
 * operation is complete when opts->event completes or opts->counter has been incremented; at least one of them is set.
 * If opts->when is set, this rank takes part when that counter reaches opts->threshold. All ranks use this form of the
 * call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx or blocks is NULL, src is NULL and len is not 0, dst is NULL and a length is not 0, a
 *            field of *blocks is invalid, len is not blocks->len of this rank, or src and dst overlap otherwise than
 *            permitted; or opts is NULL, has no event and no counter, or has an option that collective calls do not
 *            have.
 *          TERN_ERR_RANGE: the sum of the lengths, or the end of a block, is too large.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   Every rank receives the bytes of every rank.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_allgatherv_with(tern_ctx *ctx, const void *src, size_t len, void *dst,
                                          const tern_blocks *blocks, const tern_opts *opts);

/* Exchange a block of bytes between every two ranks. The call stores the len bytes at src + r * len of rank s of the
 * context's team at dst + s * len of rank r. All ranks pass the same len.
 * Returns  TERN_OK: this rank's part is complete.
 *          TERN_ERR_ARG: ctx is NULL, src or dst is NULL and len is not 0, or src and dst overlap; or, on ranks that
 *            learn of it, other ranks made another collective call or passed other arguments.
 *          TERN_ERR_RANGE: len is too large.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls of
 *            this header.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 * Remote   Every rank receives a block of every rank.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress while it waits. */
TERN_API tern_status tern_alltoall(tern_ctx *ctx, const void *src, void *dst, size_t len);

/* Start an exchange of blocks, with options. The operation stores the len bytes at src + r * len of rank s of the
 * context's team at dst + s * len of rank r. All ranks pass the same len. The operation is complete when opts->event
 * completes or opts->counter has been incremented; at least one of them is set. If opts->when is set, this rank takes
 * part when that counter reaches opts->threshold. All ranks use this form of the call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx is NULL, src or dst is NULL and len is not 0, or src and dst overlap; or opts is NULL, has
 *            no event and no counter, or has an option that collective calls do not have.
 *          TERN_ERR_RANGE: len is too large.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   Every rank receives a block of every rank.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_alltoall_with(tern_ctx *ctx, const void *src, void *dst, size_t len, const tern_opts *opts);

/* Exchange blocks of different lengths. The call stores block r of the array src of rank s of the context's team, as
 * src_blocks says, in block s of the array dst of rank r, as dst_blocks says there. The length of a block is the same
 * on both sides.
 * Returns  TERN_OK: this rank's part is complete.
 *          TERN_ERR_ARG: ctx, src_blocks or dst_blocks is NULL, src or dst is NULL and a length is not 0, a field of
 *            *src_blocks or *dst_blocks is invalid, the two lengths of this rank's own block differ, or src and dst
 *            overlap; or, on ranks that learn of it, other ranks made another collective call or passed other
 *            arguments.
 *          TERN_ERR_RANGE: the end of a block is too large.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls of
 *            this header.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 * Remote   Every rank receives a block of every rank.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress while it waits. */
TERN_API tern_status tern_alltoallv(tern_ctx *ctx, const void *src, const tern_blocks *src_blocks, void *dst,
                                    const tern_blocks *dst_blocks);

/* Start an exchange of different lengths, with options. The operation stores block r of the array src of rank s of the
 * context's team, as src_blocks says, in block s of the array dst of rank r, as dst_blocks says there. The length of a
 * block is the same on both sides. The operation is complete when opts->event completes or opts->counter has been
 * incremented; at least one of them is set. If opts->when is set, this rank takes part when that counter reaches
 * opts->threshold. All ranks use this form of the call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx, src_blocks or dst_blocks is NULL, src or dst is NULL and a length is not 0, a field of
 *            *src_blocks or *dst_blocks is invalid, the two lengths of this rank's own block differ, or src and dst
 *            overlap; or opts is NULL, has no event and no counter, or has an option that collective calls do not have.
 *          TERN_ERR_RANGE: the end of a block is too large.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   Every rank receives a block of every rank.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_alltoallv_with(tern_ctx *ctx, const void *src, const tern_blocks *src_blocks, void *dst,
                                         const tern_blocks *dst_blocks, const tern_opts *opts);

/* Exchange elements at regular distances. The call copies, for every two ranks r and s of the context's team, the
 * elements of the block for rank r in the array src of rank s to the block from rank s in the array dst of rank r.
 * args says where the elements are. All ranks pass the same elem and count; the strides may differ.
 * Returns  TERN_OK: this rank's part is complete.
 *          TERN_ERR_ARG: ctx or args is NULL, src or dst is NULL and there are elements, a field of *args is invalid,
 *            or src and dst overlap; or, on ranks that learn of it, other ranks made another collective call or passed
 *            other arguments.
 *          TERN_ERR_RANGE: the end of an array is too large.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls of
 *            this header.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 * Remote   Every rank receives elements of every rank.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress while it waits. */
TERN_API tern_status tern_alltoalls(tern_ctx *ctx, const void *src, void *dst, const tern_alltoalls_args *args);

/* Start a strided exchange, with options. The operation copies, for every two ranks r and s of the context's team, the
 * elements of the block for rank r in the array src of rank s to the block from rank s in the array dst of rank r.
 * args says where the elements are. All ranks pass the same elem and count; the strides may differ. The operation is
 * complete when opts->event completes or opts->counter has been incremented; at least one of them is set. If
 * opts->when is set, this rank takes part when that counter reaches opts->threshold. All ranks use this form of the
 * call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx or args is NULL, src or dst is NULL and there are elements, a field of *args is invalid,
 *            or src and dst overlap; or opts is NULL, has no event and no counter, or has an option that collective
 *            calls do not have.
 *          TERN_ERR_RANGE: the end of an array is too large.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   Every rank receives elements of every rank.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_alltoalls_with(tern_ctx *ctx, const void *src, void *dst, const tern_alltoalls_args *args,
                                         const tern_opts *opts);

/* Combine arrays over the ranks up to each rank. The call combines, for each i below count, element i of the arrays
 * src of ranks 0 to r of the context's team, and stores the results in the array dst of rank r. dst may be equal to
 * src. All ranks pass the same count and args.
 * Returns  TERN_OK: this rank's part is complete.
 *          TERN_ERR_ARG: ctx or args is NULL, src or dst is NULL and count is not 0, a field of *args is invalid, the
 *            type does not have the reduction, or the arrays overlap without being the same; or, on ranks that learn
 *            of it, other ranks made another collective call or passed other arguments.
 *          TERN_ERR_RANGE: count is too large.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls of
 *            this header.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 * Remote   Every rank receives the combination of the elements of the lower ranks and its own.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress while it waits. */
TERN_API tern_status tern_scan(tern_ctx *ctx, const void *src, void *dst, size_t count, const tern_reduce_args *args);

/* Start an inclusive scan, with options. The operation combines, for each i below count, element i of the arrays src
 * of ranks 0 to r of the context's team, and stores the results in the array dst of rank r. dst may be equal to src.
 * All ranks pass the same count and args. The operation is complete when opts->event completes or opts->counter has
 * been incremented; at least one of them is set. If opts->when is set, this rank takes part when that counter reaches
 * opts->threshold. All ranks use this form of the call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx or args is NULL, src or dst is NULL and count is not 0, a field of *args is invalid, the
 *            type does not have the reduction, or the arrays overlap without being the same; or opts is NULL, has no
 *            event and no counter, or has an option that collective calls do not have.
 *          TERN_ERR_RANGE: count is too large.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   Every rank receives the combination of the elements of the lower ranks and its own.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_scan_with(tern_ctx *ctx, const void *src, void *dst, size_t count,
                                    const tern_reduce_args *args, const tern_opts *opts);

/* Combine arrays over the ranks below each rank. The call combines, for each i below count, element i of the arrays
 * src of ranks 0 to r - 1 of the context's team, and stores the results in the array dst of rank r. The array dst of
 * rank 0 does not change. dst may be equal to src. All ranks pass the same count and args.
 * Returns  TERN_OK: this rank's part is complete.
 *          TERN_ERR_ARG: ctx or args is NULL, src or dst is NULL and count is not 0, a field of *args is invalid, the
 *            type does not have the reduction, or the arrays overlap without being the same; or, on ranks that learn
 *            of it, other ranks made another collective call or passed other arguments.
 *          TERN_ERR_RANGE: count is too large.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls of
 *            this header.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 * Remote   Every rank but the first receives the combination of the elements of the lower ranks.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call makes progress while it waits. */
TERN_API tern_status tern_exscan(tern_ctx *ctx, const void *src, void *dst, size_t count, const tern_reduce_args *args);

/* Start an exclusive scan, with options. The operation combines, for each i below count, element i of the arrays src
 * of ranks 0 to r - 1 of the context's team, and stores the results in the array dst of rank r. The array dst of rank
 * 0 does not change. dst may be equal to src. All ranks pass the same count and args. The operation is complete when
 * opts->event completes or opts->counter has been incremented; at least one of them is set. If opts->when is set, this
 * rank takes part when that counter reaches opts->threshold. All ranks use this form of the call.
 * Returns  TERN_OK: the operation has started, or waits for its counter. Its event reports the errors that the
 *            blocking call returns.
 *          TERN_ERR_ARG: ctx or args is NULL, src or dst is NULL and count is not 0, a field of *args is invalid, the
 *            type does not have the reduction, or the arrays overlap without being the same; or opts is NULL, has no
 *            event and no counter, or has an option that collective calls do not have.
 *          TERN_ERR_RANGE: count is too large.
 *          TERN_ERR_PEER: a rank of the team has died.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the thread that makes progress while the program computes cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective
 *            call on the team, or an earlier collective call on the team failed half way.
 *          After an error, nothing was sent, and no event has been filled.
 * Remote   Every rank but the first receives the combination of the elements of the lower ranks.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. The call does not wait for other ranks. */
TERN_API tern_status tern_exscan_with(tern_ctx *ctx, const void *src, void *dst, size_t count,
                                      const tern_reduce_args *args, const tern_opts *opts);

TERN_END_DECLS

#endif

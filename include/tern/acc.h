/* acc.h: accumulate: elements of local memory, times a factor, are added to those of a rank's part of a region.
 *
 * One verb in four shapes (contiguous, vector, indexed, strided; see tern/shape.h) and all forms (blocking, _nb, _nbi,
 * _with: see tern/rma.h). get_acc does the same and brings back what the elements were before: the local buffer holds
 * the summands before and the old values afterwards.
 *
 * Atomic element by element. Whatever the number of ranks, threads and nodes that accumulate to an element at the same
 * time, every summand is added once, and the old values that come back are those of some order of the additions. That
 * holds among accumulates of types of the same size to the same places. It does not hold with respect to anything else:
 * puts, plain stores, and operations of atomic domains (tern/atomic.h) to an element while accumulates to it may be
 * under way may be lost, or lose others; let a barrier after tern_quiet lie between the two. A get or load meanwhile
 * sees each number of up to 8 bytes before or after an addition. The elements of one call are added in any order.
 *
 * Places. A target element lies at a multiple of the size of its numbers in its owner's address space (complex: of its
 * parts; memory of tern_region_alloc begins at such a place); local memory has any alignment. Lengths of pieces are
 * multiples of the element on both sides: an element that is cut is refused, and nothing was added. Pieces of the
 * target may overlap: every summand is added. The summands do not overlap the target; those of get_acc do not overlap
 * each other.
 *
 * One memory, several regions. It also holds among accumulates that reach the same memory through different regions of
 * the ranks of a node: regions of the same file, and a region that registers memory that tern_region_ptr gave. Memory
 * that is registered lies in one mapping then: that of its first byte counts.
 *
 * Arithmetic. Integers wrap around. Floating-point products and sums are rounded each by itself. Where tern_region_path
 * is "self" or "shm" the caller adds, in the floating-point mode of the calling thread. Otherwise the target's side
 * adds, in the default mode: rounded to nearest, with subnormal numbers. A program that keeps the default mode gets the
 * same sums everywhere.
 *
 * Signals. A handler of a signal that interrupts an accumulate must not jump out of it (siglongjmp, an exception): what
 * keeps others from the same elements meanwhile would never be given back, and all accumulates to them would wait for
 * ever.
 *
 * A rank that is killed in the middle of an accumulate has added some of its elements and others not, and one of
 * 16 bytes perhaps by half; it holds up nobody.
 */
#ifndef TERN_ACC_H
#define TERN_ACC_H

#include <stddef.h>
#include <stdint.h>
#include <tern/context.h>
#include <tern/event.h>
#include <tern/region.h>
#include <tern/rma.h>
#include <tern/shape.h>
#include <tern/status.h>
#include <tern/type.h>

TERN_BEGIN_DECLS

/* What the elements are, and what each summand is multiplied by. */
typedef struct tern_scale {
    tern_type   type;
    const void *by; /* one element of the type, read by the call; NULL: 1 */
} tern_scale;

/* Add len bytes of elements at src, times the scale, to those at byte offset of rank's part of region.
 * Returns  TERN_OK when the sums are visible at rank. TERN_ERR_ARG: a pointer is NULL, the type is unknown, len is
 *          not a multiple of the element, or an element at rank does not lie at a multiple of its numbers' size.
 *          TERN_ERR_RANGE: no such rank, offset or length. After both nothing was added. Otherwise as tern_put: after
 *          TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank some elements may have been added to, each once.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. Never allocates where tern_region_path is "self" or "shm". */
TERN_API tern_status tern_acc(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                              size_t len, const tern_scale *scale);

/* Start to add len bytes of elements at src, times the scale, to those at byte offset of rank's part of region, with
 * options; opts NULL: as tern_acc_nbi.
 * Returns  as tern_put_with and tern_acc. After TERN_AGAIN and after an error nothing was added and no event was
 *          filled.
 * Remote   visible at rank when the event is done, or after tern_quiet. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_acc_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                   size_t len, const tern_scale *scale, const tern_opts *opts);

/* Start to add len bytes of elements at src, times the scale, to those at byte offset of rank's part of region. src
 * stays unchanged until the event is done.
 * Returns  as tern_acc_with.
 * Remote   visible at rank when the event is done. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_acc_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                    size_t len, const tern_scale *scale, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_acc_with(ctx, region, rank, offset, src, len, scale, &opts);
}

/* Start to add len bytes of elements at src, times the scale, to those at byte offset of rank's part of region. src
 * stays unchanged until tern_quiet.
 * Returns  as tern_acc_with.
 * Remote   visible at rank after tern_quiet on ctx. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_acc_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                     size_t len, const tern_scale *scale)
{
    return tern_acc_with(ctx, region, rank, offset, src, len, scale, NULL);
}

/* Add the elements of a vector in local memory, times the scale, to those of rank's part of region.
 * Returns  TERN_OK when the sums are visible at rank. TERN_ERR_ARG: as tern_put_vector, and where a piece cuts an
 *          element. Otherwise as tern_acc.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. Never allocates where tern_region_path is "self" or "shm". */
TERN_API tern_status tern_acc_vector(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                     const tern_scale *scale);

/* Start to add the elements of a vector in local memory, times the scale, to those of rank's part of region, with
 * options; opts NULL: as tern_acc_vector_nbi.
 * Returns  as tern_put_with and tern_acc_vector. After TERN_AGAIN and after an error nothing was added and no event
 *          was filled.
 * Remote   visible at rank when the event is done, or after tern_quiet. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_acc_vector_with(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                          const tern_scale *scale, const tern_opts *opts);

/* Start to add the elements of a vector in local memory, times the scale, to those of rank's part of region. The
 * source stays unchanged until the event is done.
 * Returns  as tern_acc_vector_with.
 * Remote   visible at rank when the event is done. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_acc_vector_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                           const tern_scale *scale, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_acc_vector_with(ctx, region, rank, vector, scale, &opts);
}

/* Start to add the elements of a vector in local memory, times the scale, to those of rank's part of region. The
 * source stays unchanged until tern_quiet.
 * Returns  as tern_acc_vector_with.
 * Remote   visible at rank after tern_quiet on ctx. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_acc_vector_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                            const tern_scale *scale)
{
    return tern_acc_vector_with(ctx, region, rank, vector, scale, NULL);
}

/* Add the elements of pieces of one length in local memory, times the scale, to those of rank's part of region.
 * Returns  TERN_OK when the sums are visible at rank. TERN_ERR_ARG: as tern_put_indexed, and where a piece cuts an
 *          element. Otherwise as tern_acc.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. Never allocates where tern_region_path is "self" or "shm". */
TERN_API tern_status tern_acc_indexed(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                      const tern_scale *scale);

/* Start to add the elements of pieces of one length in local memory, times the scale, to those of rank's part of
 * region, with options; opts NULL: as tern_acc_indexed_nbi.
 * Returns  as tern_put_with and tern_acc_indexed. After TERN_AGAIN and after an error nothing was added and no event
 *          was filled.
 * Remote   visible at rank when the event is done, or after tern_quiet. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_acc_indexed_with(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                           const tern_scale *scale, const tern_opts *opts);

/* Start to add the elements of pieces of one length in local memory, times the scale, to those of rank's part of
 * region. The source stays unchanged until the event is done.
 * Returns  as tern_acc_indexed_with.
 * Remote   visible at rank when the event is done. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_acc_indexed_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                            const tern_scale *scale, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_acc_indexed_with(ctx, region, rank, indexed, scale, &opts);
}

/* Start to add the elements of pieces of one length in local memory, times the scale, to those of rank's part of
 * region. The source stays unchanged until tern_quiet.
 * Returns  as tern_acc_indexed_with.
 * Remote   visible at rank after tern_quiet on ctx. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_acc_indexed_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                             const tern_scale *scale)
{
    return tern_acc_indexed_with(ctx, region, rank, indexed, scale, NULL);
}

/* Add the elements of a box in local memory, times the scale, to those of rank's part of region.
 * Returns  TERN_OK when the sums are visible at rank. TERN_ERR_ARG: as tern_put_strided, and where a piece cuts an
 *          element. Otherwise as tern_acc.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. Never allocates where tern_region_path is "self" or "shm". */
TERN_API tern_status tern_acc_strided(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                      const tern_scale *scale);

/* Start to add the elements of a box in local memory, times the scale, to those of rank's part of region, with
 * options; opts NULL: as tern_acc_strided_nbi.
 * Returns  as tern_put_with and tern_acc_strided. After TERN_AGAIN and after an error nothing was added and no event
 *          was filled.
 * Remote   visible at rank when the event is done, or after tern_quiet. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_acc_strided_with(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                           const tern_scale *scale, const tern_opts *opts);

/* Start to add the elements of a box in local memory, times the scale, to those of rank's part of region. The source
 * stays unchanged until the event is done.
 * Returns  as tern_acc_strided_with.
 * Remote   visible at rank when the event is done. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_acc_strided_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                            const tern_scale *scale, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_acc_strided_with(ctx, region, rank, strided, scale, &opts);
}

/* Start to add the elements of a box in local memory, times the scale, to those of rank's part of region. The source
 * stays unchanged until tern_quiet.
 * Returns  as tern_acc_strided_with.
 * Remote   visible at rank after tern_quiet on ctx. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_acc_strided_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                             const tern_scale *scale)
{
    return tern_acc_strided_with(ctx, region, rank, strided, scale, NULL);
}

/* Add len bytes of elements at buffer, times the scale, to those at byte offset of rank's part of region, and bring
 * back what these were, each in the place of its summand.
 * Returns  TERN_OK when the sums are visible at rank and the old values are in buffer. Otherwise as tern_acc; after
 *          TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank buffer is undefined, and may change until tern_quiet
 *          has returned.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. Never allocates where tern_region_path is "self" or "shm". */
TERN_API tern_status tern_get_acc(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *buffer,
                                  size_t len, const tern_scale *scale);

/* Start to add len bytes of elements at buffer, times the scale, to those at byte offset of rank's part of region,
 * and bring back what these were, each in the place of its summand, with options; opts NULL: as tern_get_acc_nbi. For
 * a get-accumulate, local completion and completion are the same.
 * Returns  as tern_get_with and tern_get_acc. After TERN_AGAIN and after an error nothing was added and no event was
 *          filled.
 * Remote   visible at rank when the event is done, or after tern_quiet. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_get_acc_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *buffer,
                                       size_t len, const tern_scale *scale, const tern_opts *opts);

/* Start to add len bytes of elements at buffer, times the scale, to those at byte offset of rank's part of region,
 * and bring back what these were, each in the place of its summand. buffer is undefined until the event is done.
 * Returns  as tern_get_acc_with.
 * Remote   visible at rank when the event is done. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_acc_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *buffer,
                                        size_t len, const tern_scale *scale, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_get_acc_with(ctx, region, rank, offset, buffer, len, scale, &opts);
}

/* Start to add len bytes of elements at buffer, times the scale, to those at byte offset of rank's part of region,
 * and bring back what these were, each in the place of its summand. buffer is undefined until tern_quiet.
 * Returns  as tern_get_acc_with.
 * Remote   visible at rank after tern_quiet on ctx. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_acc_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *buffer,
                                         size_t len, const tern_scale *scale)
{
    return tern_get_acc_with(ctx, region, rank, offset, buffer, len, scale, NULL);
}

/* Add the elements of a vector in local memory, times the scale, to those of rank's part of region, and bring back
 * what these were, each in the place of its summand.
 * Returns  TERN_OK when the sums are visible at rank and the old values are in local memory. TERN_ERR_ARG: as
 *          tern_get_vector, and where a piece cuts an element. Otherwise as tern_get_acc.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. Never allocates where tern_region_path is "self" or "shm". */
TERN_API tern_status tern_get_acc_vector(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                         const tern_scale *scale);

/* Start to add the elements of a vector in local memory, times the scale, to those of rank's part of region, and
 * bring back what these were, each in the place of its summand, with options; opts NULL: as tern_get_acc_vector_nbi.
 * For a get-accumulate, local completion and completion are the same.
 * Returns  as tern_get_with and tern_get_acc_vector. After TERN_AGAIN and after an error nothing was added and no
 *          event was filled.
 * Remote   visible at rank when the event is done, or after tern_quiet. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_get_acc_vector_with(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                              const tern_scale *scale, const tern_opts *opts);

/* Start to add the elements of a vector in local memory, times the scale, to those of rank's part of region, and
 * bring back what these were, each in the place of its summand. Local memory is undefined until the event is done.
 * Returns  as tern_get_acc_vector_with.
 * Remote   visible at rank when the event is done. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_acc_vector_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                               const tern_scale *scale, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_get_acc_vector_with(ctx, region, rank, vector, scale, &opts);
}

/* Start to add the elements of a vector in local memory, times the scale, to those of rank's part of region, and
 * bring back what these were, each in the place of its summand. Local memory is undefined until tern_quiet.
 * Returns  as tern_get_acc_vector_with.
 * Remote   visible at rank after tern_quiet on ctx. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_acc_vector_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                                const tern_scale *scale)
{
    return tern_get_acc_vector_with(ctx, region, rank, vector, scale, NULL);
}

/* Add the elements of pieces of one length in local memory, times the scale, to those of rank's part of region, and
 * bring back what these were, each in the place of its summand.
 * Returns  TERN_OK when the sums are visible at rank and the old values are in local memory. TERN_ERR_ARG: as
 *          tern_get_indexed, and where a piece cuts an element. Otherwise as tern_get_acc.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. Never allocates where tern_region_path is "self" or "shm". */
TERN_API tern_status tern_get_acc_indexed(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                          const tern_scale *scale);

/* Start to add the elements of pieces of one length in local memory, times the scale, to those of rank's part of
 * region, and bring back what these were, each in the place of its summand, with options; opts NULL: as
 * tern_get_acc_indexed_nbi. For a get-accumulate, local completion and completion are the same.
 * Returns  as tern_get_with and tern_get_acc_indexed. After TERN_AGAIN and after an error nothing was added and no
 *          event was filled.
 * Remote   visible at rank when the event is done, or after tern_quiet. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_get_acc_indexed_with(tern_ctx *ctx, tern_region *region, int rank,
                                               const tern_indexed *indexed, const tern_scale *scale,
                                               const tern_opts *opts);

/* Start to add the elements of pieces of one length in local memory, times the scale, to those of rank's part of
 * region, and bring back what these were, each in the place of its summand. Local memory is undefined until the event
 * is done.
 * Returns  as tern_get_acc_indexed_with.
 * Remote   visible at rank when the event is done. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_acc_indexed_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                const tern_indexed *indexed, const tern_scale *scale, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_get_acc_indexed_with(ctx, region, rank, indexed, scale, &opts);
}

/* Start to add the elements of pieces of one length in local memory, times the scale, to those of rank's part of
 * region, and bring back what these were, each in the place of its summand. Local memory is undefined until
 * tern_quiet.
 * Returns  as tern_get_acc_indexed_with.
 * Remote   visible at rank after tern_quiet on ctx. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_acc_indexed_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                 const tern_indexed *indexed, const tern_scale *scale)
{
    return tern_get_acc_indexed_with(ctx, region, rank, indexed, scale, NULL);
}

/* Add the elements of a box in local memory, times the scale, to those of rank's part of region, and bring back what
 * these were, each in the place of its summand.
 * Returns  TERN_OK when the sums are visible at rank and the old values are in local memory. TERN_ERR_ARG: as
 *          tern_get_strided, and where a piece cuts an element. Otherwise as tern_get_acc.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. Never allocates where tern_region_path is "self" or "shm". */
TERN_API tern_status tern_get_acc_strided(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                          const tern_scale *scale);

/* Start to add the elements of a box in local memory, times the scale, to those of rank's part of region, and bring
 * back what these were, each in the place of its summand, with options; opts NULL: as tern_get_acc_strided_nbi. For a
 * get-accumulate, local completion and completion are the same.
 * Returns  as tern_get_with and tern_get_acc_strided. After TERN_AGAIN and after an error nothing was added and no
 *          event was filled.
 * Remote   visible at rank when the event is done, or after tern_quiet. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_get_acc_strided_with(tern_ctx *ctx, tern_region *region, int rank,
                                               const tern_strided *strided, const tern_scale *scale,
                                               const tern_opts *opts);

/* Start to add the elements of a box in local memory, times the scale, to those of rank's part of region, and bring
 * back what these were, each in the place of its summand. Local memory is undefined until the event is done.
 * Returns  as tern_get_acc_strided_with.
 * Remote   visible at rank when the event is done. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_acc_strided_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                const tern_strided *strided, const tern_scale *scale, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_get_acc_strided_with(ctx, region, rank, strided, scale, &opts);
}

/* Start to add the elements of a box in local memory, times the scale, to those of rank's part of region, and bring
 * back what these were, each in the place of its summand. Local memory is undefined until tern_quiet.
 * Returns  as tern_get_acc_strided_with.
 * Remote   visible at rank after tern_quiet on ctx. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_acc_strided_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                 const tern_strided *strided, const tern_scale *scale)
{
    return tern_get_acc_strided_with(ctx, region, rank, strided, scale, NULL);
}

TERN_END_DECLS

#endif

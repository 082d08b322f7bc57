/* acc.h: accumulate: multiply local elements by a factor and add them to elements of a rank's part of a region.
 *
 * tern_acc adds; tern_get_acc adds and also fetches the previous values of the target elements, which replace the
 * summands in local memory. Both come in four shapes (contiguous, vector, indexed, strided; see shape.h) and in four
 * forms (blocking, _nb, _nbi, _with; see rma.h). The target does not have to call Tern.
 *
 * Atomicity: an accumulate is atomic for each element. However many ranks, threads and nodes accumulate to an element
 * at the same time, every summand is added exactly once, and the previous values that are fetched are those of some
 * sequential order of the additions. The elements of one call are added in any order, and not as a unit. The guarantee
 * holds among accumulates of types of the same size to the same elements. It does not hold with respect to other
 * accesses: if an element is the target of a put, a store or an operation of an atomic domain (atomic.h) while
 * accumulates to it may be outstanding, either may be lost. Separate the two with tern_quiet and a barrier. A get or a
 * load sees each number of up to 8 bytes as it was before or after an addition.
 *
 * Alignment: in the address space of its owner, a target element is aligned to the size of its type (a complex element
 * to the size of its parts). Memory of tern_region_alloc begins at such an address. Local memory may have any
 * alignment. Each piece consists of whole elements, on both sides; otherwise the call is refused and adds nothing.
 * Pieces of the target may overlap: every summand is added. The summands must not overlap the target, and those of
 * tern_get_acc must not overlap each other.
 *
 * Several regions over the same memory: the guarantee also holds among accumulates that ranks of one node make to the
 * same memory through different regions, such as two regions of the same file, or a region that registers memory which
 * tern_region_ptr returned. Registered memory must then lie in one mapping; the mapping of its first byte counts.
 *
 * Arithmetic: integers wrap around. A floating-point product and a floating-point sum are each rounded. If
 * tern_region_path is "self" or "shm", the caller adds in the floating-point mode of the calling thread; otherwise the
 * target's side adds in the default mode (round to nearest, with subnormal numbers). A program that keeps the default
 * mode gets the same arithmetic everywhere, but the order of the additions is unspecified.
 *
 * A handler of an operating system signal that interrupts an accumulate must not jump out of it (siglongjmp, an
 * exception): the elements would stay locked, and all later accumulates to them would wait forever. A rank that is
 * killed in the middle of an accumulate has added some of its elements and not others, and an element of 16 bytes
 * perhaps by half; it blocks no other rank.
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

/* The type of the elements, and the factor by which each summand is multiplied. */
typedef struct tern_scale {
    tern_type   type;
    const void *by; /* the factor, one element of the type, which the call reads before it returns. NULL: 1 */
} tern_scale;

/* Add the elements in the len bytes at src, multiplied by the scale, to the elements at byte offset of rank's part of
 * region. When the call returns, the caller may modify src.
 * Returns  TERN_OK: the accumulate is complete.
 *          TERN_ERR_ARG: ctx, region or scale is NULL, src is NULL and len is not 0, the type is unknown, len is not a
 *            multiple of the element size, or a target element is misaligned. Nothing was added.
 *          TERN_ERR_RANGE: rank is not in the context's team, or offset and len exceed rank's part. Nothing was added.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Tern may still read src until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some elements may have been added
 *            to, each once.
 * Remote   When the call returns, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self" or "shm". */
TERN_API tern_status tern_acc(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                              size_t len, const tern_scale *scale);

/* Start adding the elements in the len bytes at src, multiplied by the scale, to the elements at byte offset of rank's
 * part of region, with options. If opts is NULL, the call is tern_acc_nbi. Unless TERN_IMMEDIATE is set, the call waits
 * until there are resources for the operation. The caller must not modify src until opts->local or opts->event
 * completes, or until tern_quiet returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region or scale is NULL, src is NULL and len is not 0, the type is unknown, len is not a
 *            multiple of the element size, a target element is misaligned, a flag is unknown, an option that a flag
 *            needs is NULL, or a counter belongs to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, offset and len exceed rank's part, or TERN_NOTIFY is set
 *            and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and nothing has been added.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the sums are visible to all ranks.
 *          The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_acc_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                   size_t len, const tern_scale *scale, const tern_opts *opts);

/* Start adding the elements in the len bytes at src, multiplied by the scale, to the elements at byte offset of rank's
 * part of region. The call fills *event and does not wait for the transfer, but waits for resources if they are
 * exhausted. The caller must not modify src until the event completes.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event or scale is NULL, src is NULL and len is not 0, the type is unknown, len is
 *            not a multiple of the element size, or a target element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or offset and len exceed rank's part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and nothing has been added.
 * Remote   When the event completes, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_acc_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                    size_t len, const tern_scale *scale, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_acc_with(ctx, region, rank, offset, src, len, scale, &opts);
}

/* Start adding the elements in the len bytes at src, multiplied by the scale, to the elements at byte offset of rank's
 * part of region. The next tern_quiet on ctx completes the operation, and reports an error that occurs after the start.
 * The call does not wait for the transfer, but waits for resources if they are exhausted. The caller must not modify
 * src until tern_quiet returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region or scale is NULL, src is NULL and len is not 0, the type is unknown, len is not a
 *            multiple of the element size, or a target element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or offset and len exceed rank's part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, nothing has been added.
 * Remote   When tern_quiet returns, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_acc_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                     size_t len, const tern_scale *scale)
{
    return tern_acc_with(ctx, region, rank, offset, src, len, scale, NULL);
}

/* Add the elements of a vector in local memory, multiplied by the scale, to the elements of rank's part of region. When
 * the call returns, the caller may modify the source.
 * Returns  TERN_OK: the accumulate is complete.
 *          TERN_ERR_ARG: ctx, region, vector, scale, a list or the address of a piece is NULL, the two lists have
 *            different total lengths, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned. Nothing was added.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space. Nothing was added.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Tern may still read the source until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some elements may have been added
 *            to, each once.
 * Remote   When the call returns, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self" or "shm". */
TERN_API tern_status tern_acc_vector(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                     const tern_scale *scale);

/* Start adding the elements of a vector in local memory, multiplied by the scale, to the elements of rank's part of
 * region, with options. If opts is NULL, the call is tern_acc_vector_nbi. Unless TERN_IMMEDIATE is set, the call waits
 * until there are resources for the operation. The caller must not modify the source until opts->local or opts->event
 * completes, or until tern_quiet returns. The caller may reuse *vector as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, vector, scale, a list or the address of a piece is NULL, the two lists have
 *            different total lengths, the type is unknown, a piece does not consist of whole elements, a target element
 *            is misaligned, a flag is unknown, an option that a flag needs is NULL, or a counter belongs to another
 *            context.
 *          TERN_ERR_RANGE: rank is not in the context's team, a piece does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and nothing has been added.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the sums are visible to all ranks.
 *          The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_acc_vector_with(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                          const tern_scale *scale, const tern_opts *opts);

/* Start adding the elements of a vector in local memory, multiplied by the scale, to the elements of rank's part of
 * region. The call fills *event and does not wait for the transfer, but waits for resources if they are exhausted. The
 * caller must not modify the source until the event completes. The caller may reuse *vector as soon as the call
 * returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, vector, scale, a list or the address of a piece is NULL, the two lists
 *            have different total lengths, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and nothing has been added.
 * Remote   When the event completes, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_acc_vector_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                           const tern_scale *scale, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_acc_vector_with(ctx, region, rank, vector, scale, &opts);
}

/* Start adding the elements of a vector in local memory, multiplied by the scale, to the elements of rank's part of
 * region. The next tern_quiet on ctx completes the operation, and reports an error that occurs after the start. The
 * call does not wait for the transfer, but waits for resources if they are exhausted. The caller must not modify the
 * source until tern_quiet returns. The caller may reuse *vector as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, vector, scale, a list or the address of a piece is NULL, the two lists have
 *            different total lengths, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, nothing has been added.
 * Remote   When tern_quiet returns, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_acc_vector_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                            const tern_scale *scale)
{
    return tern_acc_vector_with(ctx, region, rank, vector, scale, NULL);
}

/* Add the elements of pieces of equal length in local memory, multiplied by the scale, to the elements of rank's part
 * of region. When the call returns, the caller may modify the source.
 * Returns  TERN_OK: the accumulate is complete.
 *          TERN_ERR_ARG: ctx, region, indexed, scale, a list or an address is NULL, count times length differs between
 *            the two sides, the type is unknown, a piece does not consist of whole elements, or a target element is
 *            misaligned. Nothing was added.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space. Nothing was added.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Tern may still read the source until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some elements may have been added
 *            to, each once.
 * Remote   When the call returns, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self" or "shm". */
TERN_API tern_status tern_acc_indexed(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                      const tern_scale *scale);

/* Start adding the elements of pieces of equal length in local memory, multiplied by the scale, to the elements of
 * rank's part of region, with options. If opts is NULL, the call is tern_acc_indexed_nbi. Unless TERN_IMMEDIATE is set,
 * the call waits until there are resources for the operation. The caller must not modify the source until opts->local
 * or opts->event completes, or until tern_quiet returns. The caller may reuse *indexed as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, indexed, scale, a list or an address is NULL, count times length differs between
 *            the two sides, the type is unknown, a piece does not consist of whole elements, a target element is
 *            misaligned, a flag is unknown, an option that a flag needs is NULL, or a counter belongs to another
 *            context.
 *          TERN_ERR_RANGE: rank is not in the context's team, a piece does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and nothing has been added.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the sums are visible to all ranks.
 *          The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_acc_indexed_with(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                           const tern_scale *scale, const tern_opts *opts);

/* Start adding the elements of pieces of equal length in local memory, multiplied by the scale, to the elements of
 * rank's part of region. The call fills *event and does not wait for the transfer, but waits for resources if they are
 * exhausted. The caller must not modify the source until the event completes. The caller may reuse *indexed as soon as
 * the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, indexed, scale, a list or an address is NULL, count times length differs
 *            between the two sides, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and nothing has been added.
 * Remote   When the event completes, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_acc_indexed_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                            const tern_scale *scale, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_acc_indexed_with(ctx, region, rank, indexed, scale, &opts);
}

/* Start adding the elements of pieces of equal length in local memory, multiplied by the scale, to the elements of
 * rank's part of region. The next tern_quiet on ctx completes the operation, and reports an error that occurs after the
 * start. The call does not wait for the transfer, but waits for resources if they are exhausted. The caller must not
 * modify the source until tern_quiet returns. The caller may reuse *indexed as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, indexed, scale, a list or an address is NULL, count times length differs between
 *            the two sides, the type is unknown, a piece does not consist of whole elements, or a target element is
 *            misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, nothing has been added.
 * Remote   When tern_quiet returns, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_acc_indexed_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                             const tern_scale *scale)
{
    return tern_acc_indexed_with(ctx, region, rank, indexed, scale, NULL);
}

/* Add the elements of a box in local memory, multiplied by the scale, to the elements of rank's part of region. When
 * the call returns, the caller may modify the source.
 * Returns  TERN_OK: the accumulate is complete.
 *          TERN_ERR_ARG: ctx, region, strided, scale, the local address or a list is NULL, there are more than
 *            TERN_STRIDED_DIMS dimensions, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned. Nothing was added.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the box does not lie in rank's part or in the local
 *            address space. Nothing was added.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Tern may still read the source until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some elements may have been added
 *            to, each once.
 * Remote   When the call returns, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self" or "shm". */
TERN_API tern_status tern_acc_strided(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                      const tern_scale *scale);

/* Start adding the elements of a box in local memory, multiplied by the scale, to the elements of rank's part of
 * region, with options. If opts is NULL, the call is tern_acc_strided_nbi. Unless TERN_IMMEDIATE is set, the call waits
 * until there are resources for the operation. The caller must not modify the source until opts->local or opts->event
 * completes, or until tern_quiet returns. The caller may reuse *strided as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, strided, scale, the local address or a list is NULL, there are more than
 *            TERN_STRIDED_DIMS dimensions, the type is unknown, a piece does not consist of whole elements, a target
 *            element is misaligned, a flag is unknown, an option that a flag needs is NULL, or a counter belongs to
 *            another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, the box does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and nothing has been added.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the sums are visible to all ranks.
 *          The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_acc_strided_with(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                           const tern_scale *scale, const tern_opts *opts);

/* Start adding the elements of a box in local memory, multiplied by the scale, to the elements of rank's part of
 * region. The call fills *event and does not wait for the transfer, but waits for resources if they are exhausted. The
 * caller must not modify the source until the event completes. The caller may reuse *strided as soon as the call
 * returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, strided, scale, the local address or a list is NULL, there are more than
 *            TERN_STRIDED_DIMS dimensions, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the box does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and nothing has been added.
 * Remote   When the event completes, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_acc_strided_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                            const tern_scale *scale, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_acc_strided_with(ctx, region, rank, strided, scale, &opts);
}

/* Start adding the elements of a box in local memory, multiplied by the scale, to the elements of rank's part of
 * region. The next tern_quiet on ctx completes the operation, and reports an error that occurs after the start. The
 * call does not wait for the transfer, but waits for resources if they are exhausted. The caller must not modify the
 * source until tern_quiet returns. The caller may reuse *strided as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, strided, scale, the local address or a list is NULL, there are more than
 *            TERN_STRIDED_DIMS dimensions, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the box does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, nothing has been added.
 * Remote   When tern_quiet returns, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_acc_strided_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                             const tern_scale *scale)
{
    return tern_acc_strided_with(ctx, region, rank, strided, scale, NULL);
}

/* Add the elements in the len bytes at buffer, multiplied by the scale, to the elements at byte offset of rank's part
 * of region, and fetch the previous values. The previous value of each element replaces its summand in buffer.
 * Returns  TERN_OK: the accumulate is complete, and the previous values are in buffer.
 *          TERN_ERR_ARG: ctx, region or scale is NULL, buffer is NULL and len is not 0, the type is unknown, len is not
 *            a multiple of the element size, or a target element is misaligned. Nothing was added.
 *          TERN_ERR_RANGE: rank is not in the context's team, or offset and len exceed rank's part. Nothing was added.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some elements may have been added
 *            to, each once. The content of buffer is undefined, and Tern may still write to it until tern_quiet
 *            returns.
 * Remote   When the call returns, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self" or "shm". */
TERN_API tern_status tern_get_acc(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *buffer,
                                  size_t len, const tern_scale *scale);

/* Start adding the elements in the len bytes at buffer, multiplied by the scale, to the elements at byte offset of
 * rank's part of region, and fetch the previous values, with options. If opts is NULL, the call is tern_get_acc_nbi.
 * Unless TERN_IMMEDIATE is set, the call waits until there are resources for the operation. The previous value of each
 * element replaces its summand in buffer. The content of buffer is undefined until opts->event completes or tern_quiet
 * returns. opts->local completes at the same time as opts->event.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region or scale is NULL, buffer is NULL and len is not 0, the type is unknown, len is not
 *            a multiple of the element size, a target element is misaligned, a flag is unknown, an option that a flag
 *            needs is NULL, or a counter belongs to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, offset and len exceed rank's part, or TERN_NOTIFY is set
 *            and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and nothing has been added.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the sums are visible to all ranks.
 *          The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_acc_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *buffer,
                                       size_t len, const tern_scale *scale, const tern_opts *opts);

/* Start adding the elements in the len bytes at buffer, multiplied by the scale, to the elements at byte offset of
 * rank's part of region, and fetch the previous values. The call fills *event and does not wait for the transfer, but
 * waits for resources if they are exhausted. The previous value of each element replaces its summand in buffer. The
 * content of buffer is undefined until the event completes.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event or scale is NULL, buffer is NULL and len is not 0, the type is unknown, len
 *            is not a multiple of the element size, or a target element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or offset and len exceed rank's part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and nothing has been added.
 * Remote   When the event completes, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_acc_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *buffer,
                                        size_t len, const tern_scale *scale, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_get_acc_with(ctx, region, rank, offset, buffer, len, scale, &opts);
}

/* Start adding the elements in the len bytes at buffer, multiplied by the scale, to the elements at byte offset of
 * rank's part of region, and fetch the previous values. The next tern_quiet on ctx completes the operation, and reports
 * an error that occurs after the start. The call does not wait for the transfer, but waits for resources if they are
 * exhausted. The previous value of each element replaces its summand in buffer. The content of buffer is undefined
 * until tern_quiet returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region or scale is NULL, buffer is NULL and len is not 0, the type is unknown, len is not
 *            a multiple of the element size, or a target element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or offset and len exceed rank's part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, nothing has been added.
 * Remote   When tern_quiet returns, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_acc_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *buffer,
                                         size_t len, const tern_scale *scale)
{
    return tern_get_acc_with(ctx, region, rank, offset, buffer, len, scale, NULL);
}

/* Add the elements of a vector in local memory, multiplied by the scale, to the elements of rank's part of region, and
 * fetch the previous values. The previous value of each element replaces its summand in local memory.
 * Returns  TERN_OK: the accumulate is complete, and the previous values are in local memory.
 *          TERN_ERR_ARG: ctx, region, vector, scale, a list or the address of a piece is NULL, the two lists have
 *            different total lengths, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned. Nothing was added.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space. Nothing was added.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some elements may have been added
 *            to, each once. The content of local memory is undefined, and Tern may still write to it until tern_quiet
 *            returns.
 * Remote   When the call returns, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self" or "shm". */
TERN_API tern_status tern_get_acc_vector(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                         const tern_scale *scale);

/* Start adding the elements of a vector in local memory, multiplied by the scale, to the elements of rank's part of
 * region, and fetch the previous values, with options. If opts is NULL, the call is tern_get_acc_vector_nbi. Unless
 * TERN_IMMEDIATE is set, the call waits until there are resources for the operation. The previous value of each element
 * replaces its summand in local memory. The content of local memory is undefined until opts->event completes or
 * tern_quiet returns. opts->local completes at the same time as opts->event. The caller may reuse *vector as soon as
 * the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, vector, scale, a list or the address of a piece is NULL, the two lists have
 *            different total lengths, the type is unknown, a piece does not consist of whole elements, a target element
 *            is misaligned, a flag is unknown, an option that a flag needs is NULL, or a counter belongs to another
 *            context.
 *          TERN_ERR_RANGE: rank is not in the context's team, a piece does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and nothing has been added.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the sums are visible to all ranks.
 *          The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_acc_vector_with(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                              const tern_scale *scale, const tern_opts *opts);

/* Start adding the elements of a vector in local memory, multiplied by the scale, to the elements of rank's part of
 * region, and fetch the previous values. The call fills *event and does not wait for the transfer, but waits for
 * resources if they are exhausted. The previous value of each element replaces its summand in local memory. The content
 * of local memory is undefined until the event completes. The caller may reuse *vector as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, vector, scale, a list or the address of a piece is NULL, the two lists
 *            have different total lengths, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and nothing has been added.
 * Remote   When the event completes, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_acc_vector_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                               const tern_scale *scale, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_get_acc_vector_with(ctx, region, rank, vector, scale, &opts);
}

/* Start adding the elements of a vector in local memory, multiplied by the scale, to the elements of rank's part of
 * region, and fetch the previous values. The next tern_quiet on ctx completes the operation, and reports an error that
 * occurs after the start. The call does not wait for the transfer, but waits for resources if they are exhausted. The
 * previous value of each element replaces its summand in local memory. The content of local memory is undefined until
 * tern_quiet returns. The caller may reuse *vector as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, vector, scale, a list or the address of a piece is NULL, the two lists have
 *            different total lengths, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, nothing has been added.
 * Remote   When tern_quiet returns, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_acc_vector_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                                const tern_scale *scale)
{
    return tern_get_acc_vector_with(ctx, region, rank, vector, scale, NULL);
}

/* Add the elements of pieces of equal length in local memory, multiplied by the scale, to the elements of rank's part
 * of region, and fetch the previous values. The previous value of each element replaces its summand in local memory.
 * Returns  TERN_OK: the accumulate is complete, and the previous values are in local memory.
 *          TERN_ERR_ARG: ctx, region, indexed, scale, a list or an address is NULL, count times length differs between
 *            the two sides, the type is unknown, a piece does not consist of whole elements, or a target element is
 *            misaligned. Nothing was added.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space. Nothing was added.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some elements may have been added
 *            to, each once. The content of local memory is undefined, and Tern may still write to it until tern_quiet
 *            returns.
 * Remote   When the call returns, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self" or "shm". */
TERN_API tern_status tern_get_acc_indexed(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                          const tern_scale *scale);

/* Start adding the elements of pieces of equal length in local memory, multiplied by the scale, to the elements of
 * rank's part of region, and fetch the previous values, with options. If opts is NULL, the call is
 * tern_get_acc_indexed_nbi. Unless TERN_IMMEDIATE is set, the call waits until there are resources for the operation.
 * The previous value of each element replaces its summand in local memory. The content of local memory is undefined
 * until opts->event completes or tern_quiet returns. opts->local completes at the same time as opts->event. The caller
 * may reuse *indexed as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, indexed, scale, a list or an address is NULL, count times length differs between
 *            the two sides, the type is unknown, a piece does not consist of whole elements, a target element is
 *            misaligned, a flag is unknown, an option that a flag needs is NULL, or a counter belongs to another
 *            context.
 *          TERN_ERR_RANGE: rank is not in the context's team, a piece does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and nothing has been added.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the sums are visible to all ranks.
 *          The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_acc_indexed_with(tern_ctx *ctx, tern_region *region, int rank,
                                               const tern_indexed *indexed, const tern_scale *scale,
                                               const tern_opts *opts);

/* Start adding the elements of pieces of equal length in local memory, multiplied by the scale, to the elements of
 * rank's part of region, and fetch the previous values. The call fills *event and does not wait for the transfer, but
 * waits for resources if they are exhausted. The previous value of each element replaces its summand in local memory.
 * The content of local memory is undefined until the event completes. The caller may reuse *indexed as soon as the call
 * returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, indexed, scale, a list or an address is NULL, count times length differs
 *            between the two sides, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and nothing has been added.
 * Remote   When the event completes, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_acc_indexed_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                const tern_indexed *indexed, const tern_scale *scale, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_get_acc_indexed_with(ctx, region, rank, indexed, scale, &opts);
}

/* Start adding the elements of pieces of equal length in local memory, multiplied by the scale, to the elements of
 * rank's part of region, and fetch the previous values. The next tern_quiet on ctx completes the operation, and reports
 * an error that occurs after the start. The call does not wait for the transfer, but waits for resources if they are
 * exhausted. The previous value of each element replaces its summand in local memory. The content of local memory is
 * undefined until tern_quiet returns. The caller may reuse *indexed as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, indexed, scale, a list or an address is NULL, count times length differs between
 *            the two sides, the type is unknown, a piece does not consist of whole elements, or a target element is
 *            misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, nothing has been added.
 * Remote   When tern_quiet returns, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_acc_indexed_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                 const tern_indexed *indexed, const tern_scale *scale)
{
    return tern_get_acc_indexed_with(ctx, region, rank, indexed, scale, NULL);
}

/* Add the elements of a box in local memory, multiplied by the scale, to the elements of rank's part of region, and
 * fetch the previous values. The previous value of each element replaces its summand in local memory.
 * Returns  TERN_OK: the accumulate is complete, and the previous values are in local memory.
 *          TERN_ERR_ARG: ctx, region, strided, scale, the local address or a list is NULL, there are more than
 *            TERN_STRIDED_DIMS dimensions, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned. Nothing was added.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the box does not lie in rank's part or in the local
 *            address space. Nothing was added.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some elements may have been added
 *            to, each once. The content of local memory is undefined, and Tern may still write to it until tern_quiet
 *            returns.
 * Remote   When the call returns, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self" or "shm". */
TERN_API tern_status tern_get_acc_strided(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                          const tern_scale *scale);

/* Start adding the elements of a box in local memory, multiplied by the scale, to the elements of rank's part of
 * region, and fetch the previous values, with options. If opts is NULL, the call is tern_get_acc_strided_nbi. Unless
 * TERN_IMMEDIATE is set, the call waits until there are resources for the operation. The previous value of each element
 * replaces its summand in local memory. The content of local memory is undefined until opts->event completes or
 * tern_quiet returns. opts->local completes at the same time as opts->event. The caller may reuse *strided as soon as
 * the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, strided, scale, the local address or a list is NULL, there are more than
 *            TERN_STRIDED_DIMS dimensions, the type is unknown, a piece does not consist of whole elements, a target
 *            element is misaligned, a flag is unknown, an option that a flag needs is NULL, or a counter belongs to
 *            another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, the box does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and nothing has been added.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the sums are visible to all ranks.
 *          The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_acc_strided_with(tern_ctx *ctx, tern_region *region, int rank,
                                               const tern_strided *strided, const tern_scale *scale,
                                               const tern_opts *opts);

/* Start adding the elements of a box in local memory, multiplied by the scale, to the elements of rank's part of
 * region, and fetch the previous values. The call fills *event and does not wait for the transfer, but waits for
 * resources if they are exhausted. The previous value of each element replaces its summand in local memory. The content
 * of local memory is undefined until the event completes. The caller may reuse *strided as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, strided, scale, the local address or a list is NULL, there are more than
 *            TERN_STRIDED_DIMS dimensions, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the box does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and nothing has been added.
 * Remote   When the event completes, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_acc_strided_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                const tern_strided *strided, const tern_scale *scale, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_get_acc_strided_with(ctx, region, rank, strided, scale, &opts);
}

/* Start adding the elements of a box in local memory, multiplied by the scale, to the elements of rank's part of
 * region, and fetch the previous values. The next tern_quiet on ctx completes the operation, and reports an error that
 * occurs after the start. The call does not wait for the transfer, but waits for resources if they are exhausted. The
 * previous value of each element replaces its summand in local memory. The content of local memory is undefined until
 * tern_quiet returns. The caller may reuse *strided as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, strided, scale, the local address or a list is NULL, there are more than
 *            TERN_STRIDED_DIMS dimensions, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the box does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, nothing has been added.
 * Remote   When tern_quiet returns, the sums are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_acc_strided_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                 const tern_strided *strided, const tern_scale *scale)
{
    return tern_get_acc_strided_with(ctx, region, rank, strided, scale, NULL);
}

TERN_END_DECLS

#endif

/* acc.h: accumulate: combine local elements with remote elements.
 *
 * tern_acc combines, by a sum or another reduction, each element of the target with an operand in local memory and
 * stores the result at the target. tern_get_acc does the same and also fetches the previous values of the target
 * elements, which replace the operands in local memory. tern_acc_args says what an accumulate computes: the type of the
 * elements, the reduction that combines them (sum, product, minimum, maximum, and, or, exclusive or, replace), and for
 * a sum a factor by which each operand is multiplied. Both calls come in four shapes (contiguous, vector, indexed,
 * strided; see shape.h), blocking and with options (_with; see rma.h). The target does not have to call Tern.
 *
 * Atomicity: an accumulate is atomic for each element. However many ranks, threads and nodes accumulate to an element
 * at the same time, every operand is applied exactly once, and the results and the fetched previous values are the same
 * as if the accumulates had been executed in some sequential order. The elements of one call are combined in any order,
 * and not as a unit. The guarantee holds among accumulates of types of the same size to the same elements, whatever
 * their reductions. It does not hold with respect to other accesses: if an element is the target of a put, a store or
 * an operation of an atomic domain (atomic.h) while accumulates to it may be outstanding, either may be lost. Separate
 * the two with tern_quiet and a barrier. A get or a load sees each number of up to 8 bytes as it was before or after an
 * accumulate.
 *
 * Alignment: in the address space of its owner, a target element is aligned to the size of its type (a complex element
 * to the size of its parts). Memory of tern_region_create begins at such an address. Local memory may have any
 * alignment. Each piece consists of whole elements, on both sides; otherwise the call is refused and changes nothing.
 * Pieces of the target may overlap: every operand is applied. The operands must not overlap the target, and the
 * operands of tern_get_acc must not overlap each other.
 *
 * Several regions over the same memory: the guarantee also holds among accumulates that ranks of one node make to the
 * same memory through different regions, such as two regions of the same file, or a region that registers memory which
 * tern_region_ptr returned. Registered memory must then lie in one mapping; the mapping of its first byte counts.
 *
 * Values: sums and products of integers wrap around, including signed ones. Each floating-point product and each
 * floating-point sum is rounded on its own, also within the product of two complex numbers, which is
 * (ac - bd) + (ad + bc)i. min and max store the operand if it compares less or greater than the value in memory; a NaN
 * in memory stays, and a NaN as operand changes nothing. replace copies bits. If tern_region_path is "self" or "shm",
 * the caller computes in the floating-point mode of the calling thread; otherwise the target's side computes in the
 * default mode (round to nearest, with subnormal numbers). A program that keeps the default mode gets the same
 * arithmetic everywhere, but the order in which operands are applied is unspecified.
 *
 * A handler of an operating system signal that interrupts an accumulate must not jump out of it (siglongjmp, an
 * exception): the elements would stay locked, and all later accumulates to them would wait forever. A rank that is
 * killed in the middle of an accumulate has changed some of the elements and not others, and an element of 16 bytes
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

/* The reductions: X(name, number, text). The numbers are part of the interface. */
#define TERN_REDUCTION_LIST(X) \
    X(TERN_SUM, 0, "sum")      \
    X(TERN_PROD, 1, "prod")    \
    X(TERN_MIN, 2, "min")      \
    X(TERN_MAX, 3, "max")      \
    X(TERN_AND, 4, "and")      \
    X(TERN_OR, 5, "or")        \
    X(TERN_XOR, 6, "xor")      \
    X(TERN_REPLACE, 7, "replace")

/* A reduction: how an accumulate combines two elements. It combines an element of the target, a, with the operand
 * in local memory, b, and stores the result at the target:
 *
 *   TERN_SUM                         a + factor * b, for all types
 *   TERN_PROD                        a * b, for all types
 *   TERN_MIN, TERN_MAX               the lesser, greater, for integers, float, double
 *   TERN_AND, TERN_OR, TERN_XOR      bit by bit, for integers
 *   TERN_REPLACE                     b, for all types
 */
#define TERN_REDUCTION_AS_ENUM(name, number, text) name = (number),
typedef enum tern_reduction {
    TERN_REDUCTION_LIST(TERN_REDUCTION_AS_ENUM) TERN_REDUCTIONS, /* number of reductions of accumulates */
    /* Only collective reductions have the following ones: see coll.h. */
    TERN_LAND = 64,
    TERN_LOR = 65,
    TERN_LXOR = 66,
    TERN_ABSMIN = 67,
    TERN_ABSMAX = 68,
    TERN_MINLOC = 69,
    TERN_MAXLOC = 70,
    TERN_USER = 71
} tern_reduction;
#undef TERN_REDUCTION_AS_ENUM

/* What an accumulate computes. Create it with TERN_ACC_ARGS or TERN_ACC_ARGS_INIT, which set size. */
typedef struct tern_acc_args {
    uint32_t       size;     /* sizeof(tern_acc_args), so that later versions can add fields */
    tern_type      type;     /* type of the elements */
    tern_reduction op;       /* how elements are combined; 0 is TERN_SUM */
    uint32_t       reserved; /* 0 */
    const void    *factor;   /* for TERN_SUM: one element of the type, by which each operand is multiplied. NULL: 1. The
                                call reads it before it returns. Must be NULL for the other reductions */
} tern_acc_args;

#define TERN_ACC_ARGS_INIT TERN_SIZED(tern_acc_args)
#ifndef __cplusplus
#define TERN_ACC_ARGS(...) ((tern_acc_args){ .size = sizeof(tern_acc_args), __VA_ARGS__ })
#endif

/* Accumulate an array at a rank. The call combines the elements in the len bytes at src with the elements at byte
 * offset of rank's part of region. args->type is the type of the elements, and args->op says how an element of the
 * target and its operand in local memory are combined: by a sum (TERN_SUM, with a factor if args->factor is not NULL)
 * or another reduction. The results are stored at the target. When the call returns, the caller may modify src.
 * Returns  TERN_OK: the accumulate is complete.
 *          TERN_ERR_ARG: ctx, region or args is NULL, the size of *args is not set, src is NULL and len is not 0, the
 *            type or the reduction is unknown, the type does not have the reduction, a factor is given for another
 *            reduction than TERN_SUM, len is not a multiple of the element size, or a target element is misaligned.
 *            Nothing was changed.
 *          TERN_ERR_RANGE: rank is not in the context's team, or offset and len exceed rank's part. Nothing was
 *            changed.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Tern may still read src until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some operands may have been
 *            applied, each once.
 * Remote   When the call returns, the results are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self" or "shm". */
TERN_API tern_status tern_acc(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                              size_t len, const tern_acc_args *args);

/* Start an accumulate of an array, with options. The call starts combining the elements in the len bytes at src with
 * the elements at byte offset of rank's part of region. opts->acc->type is the type of the elements, and opts->acc->op
 * says how an element of the target and its operand in local memory are combined: by a sum (TERN_SUM, with a factor if
 * opts->acc->factor is not NULL) or another reduction. The results are stored at the target. Unless TERN_IMMEDIATE is
 * set, the call waits until there are resources for the operation. The caller must not modify src until opts->local or
 * opts->event completes, or until tern_quiet returns. The caller may reuse *opts->acc as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, opts or opts->acc is NULL, the size of *opts or *opts->acc is not set, src is
 *            NULL and len is not 0, the type or the reduction is unknown, the type does not have the reduction, a
 *            factor is given for another reduction than TERN_SUM, len is not a multiple of the element size, a target
 *            element is misaligned, a flag is unknown, an option that a flag needs is NULL, or a counter belongs to
 *            another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, offset and len exceed rank's part, or TERN_NOTIFY is set
 *            and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and nothing has been changed.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the results are visible to all
 *          ranks. The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_acc_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                   size_t len, const tern_opts *opts);

/* Accumulate a vector at a rank. The call combines the elements of a vector in local memory with the elements of rank's
 * part of region. args->type is the type of the elements, and args->op says how an element of the target and its
 * operand in local memory are combined: by a sum (TERN_SUM, with a factor if args->factor is not NULL) or another
 * reduction. The results are stored at the target. When the call returns, the caller may modify the source.
 * Returns  TERN_OK: the accumulate is complete.
 *          TERN_ERR_ARG: ctx, region, vector, args, a list or the address of a piece is NULL, the size of *args or
 *            *vector is not set, the two lists have different total lengths, the type or the reduction is unknown, the
 *            type does not have the reduction, a factor is given for another reduction than TERN_SUM, a piece does not
 *            consist of whole elements, or a target element is misaligned. Nothing was changed.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space. Nothing was changed.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Tern may still read the source until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some operands may have been
 *            applied, each once.
 * Remote   When the call returns, the results are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self" or "shm". */
TERN_API tern_status tern_acc_vector(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                     const tern_acc_args *args);

/* Start an accumulate of a vector, with options. The call starts combining the elements of a vector in local memory
 * with the elements of rank's part of region. opts->acc->type is the type of the elements, and opts->acc->op says how
 * an element of the target and its operand in local memory are combined: by a sum (TERN_SUM, with a factor if
 * opts->acc->factor is not NULL) or another reduction. The results are stored at the target. Unless TERN_IMMEDIATE is
 * set, the call waits until there are resources for the operation. The caller must not modify the source until
 * opts->local or opts->event completes, or until tern_quiet returns. The caller may reuse *opts->acc and *vector as
 * soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, vector, opts, opts->acc, a list or the address of a piece is NULL, the size of
 *            *opts, *opts->acc or *vector is not set, the two lists have different total lengths, the type or the
 *            reduction is unknown, the type does not have the reduction, a factor is given for another reduction than
 *            TERN_SUM, a piece does not consist of whole elements, a target element is misaligned, a flag is unknown,
 *            an option that a flag needs is NULL, or a counter belongs to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, a piece does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and nothing has been changed.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the results are visible to all
 *          ranks. The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_acc_vector_with(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                          const tern_opts *opts);

/* Accumulate pieces of equal length at a rank. The call combines the elements of pieces of equal length in local memory
 * with the elements of rank's part of region. args->type is the type of the elements, and args->op says how an element
 * of the target and its operand in local memory are combined: by a sum (TERN_SUM, with a factor if args->factor is not
 * NULL) or another reduction. The results are stored at the target. When the call returns, the caller may modify the
 * source.
 * Returns  TERN_OK: the accumulate is complete.
 *          TERN_ERR_ARG: ctx, region, indexed, args, a list or an address is NULL, the size of *args or *indexed is not
 *            set, count times length differs between the two sides, the type or the reduction is unknown, the type does
 *            not have the reduction, a factor is given for another reduction than TERN_SUM, a piece does not consist of
 *            whole elements, or a target element is misaligned. Nothing was changed.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space. Nothing was changed.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Tern may still read the source until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some operands may have been
 *            applied, each once.
 * Remote   When the call returns, the results are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self" or "shm". */
TERN_API tern_status tern_acc_indexed(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                      const tern_acc_args *args);

/* Start an accumulate of pieces of equal length, with options. The call starts combining the elements of pieces of
 * equal length in local memory with the elements of rank's part of region. opts->acc->type is the type of the elements,
 * and opts->acc->op says how an element of the target and its operand in local memory are combined: by a sum (TERN_SUM,
 * with a factor if opts->acc->factor is not NULL) or another reduction. The results are stored at the target. Unless
 * TERN_IMMEDIATE is set, the call waits until there are resources for the operation. The caller must not modify the
 * source until opts->local or opts->event completes, or until tern_quiet returns. The caller may reuse *opts->acc and
 * *indexed as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, indexed, opts, opts->acc, a list or an address is NULL, the size of *opts,
 *            *opts->acc or *indexed is not set, count times length differs between the two sides, the type or the
 *            reduction is unknown, the type does not have the reduction, a factor is given for another reduction than
 *            TERN_SUM, a piece does not consist of whole elements, a target element is misaligned, a flag is unknown,
 *            an option that a flag needs is NULL, or a counter belongs to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, a piece does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and nothing has been changed.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the results are visible to all
 *          ranks. The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_acc_indexed_with(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                           const tern_opts *opts);

/* Accumulate an array section at a rank. The call combines the elements of a box in local memory with the elements of
 * rank's part of region. args->type is the type of the elements, and args->op says how an element of the target and its
 * operand in local memory are combined: by a sum (TERN_SUM, with a factor if args->factor is not NULL) or another
 * reduction. The results are stored at the target. When the call returns, the caller may modify the source.
 * Returns  TERN_OK: the accumulate is complete.
 *          TERN_ERR_ARG: ctx, region, strided, args, the local address or a list is NULL, the size of *args or *strided
 *            is not set, there are more than TERN_STRIDED_DIMS dimensions, the type or the reduction is unknown, the
 *            type does not have the reduction, a factor is given for another reduction than TERN_SUM, a piece does not
 *            consist of whole elements, or a target element is misaligned. Nothing was changed.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the box does not lie in rank's part or in the local
 *            address space. Nothing was changed.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Tern may still read the source until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some operands may have been
 *            applied, each once.
 * Remote   When the call returns, the results are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self" or "shm". */
TERN_API tern_status tern_acc_strided(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                      const tern_acc_args *args);

/* Start an accumulate of an array section, with options. The call starts combining the elements of a box in local
 * memory with the elements of rank's part of region. opts->acc->type is the type of the elements, and opts->acc->op
 * says how an element of the target and its operand in local memory are combined: by a sum (TERN_SUM, with a factor if
 * opts->acc->factor is not NULL) or another reduction. The results are stored at the target. Unless TERN_IMMEDIATE is
 * set, the call waits until there are resources for the operation. The caller must not modify the source until
 * opts->local or opts->event completes, or until tern_quiet returns. The caller may reuse *opts->acc and *strided as
 * soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, strided, opts, opts->acc, the local address or a list is NULL, the size of *opts,
 *            *opts->acc or *strided is not set, there are more than TERN_STRIDED_DIMS dimensions, the type or the
 *            reduction is unknown, the type does not have the reduction, a factor is given for another reduction than
 *            TERN_SUM, a piece does not consist of whole elements, a target element is misaligned, a flag is unknown,
 *            an option that a flag needs is NULL, or a counter belongs to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, the box does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and nothing has been changed.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the results are visible to all
 *          ranks. The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_acc_strided_with(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                           const tern_opts *opts);

/* Accumulate an array at a rank, and fetch the previous values. The call combines the elements in the len bytes at
 * buffer with the elements at byte offset of rank's part of region, and fetches the previous values. args->type is the
 * type of the elements, and args->op says how an element of the target and its operand in local memory are combined: by
 * a sum (TERN_SUM, with a factor if args->factor is not NULL) or another reduction. The results are stored at the
 * target. The previous value of each element replaces its operand in buffer.
 * Returns  TERN_OK: the accumulate is complete, and the previous values are in buffer.
 *          TERN_ERR_ARG: ctx, region or args is NULL, the size of *args is not set, buffer is NULL and len is not 0,
 *            the type or the reduction is unknown, the type does not have the reduction, a factor is given for another
 *            reduction than TERN_SUM, len is not a multiple of the element size, or a target element is misaligned.
 *            Nothing was changed.
 *          TERN_ERR_RANGE: rank is not in the context's team, or offset and len exceed rank's part. Nothing was
 *            changed.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some operands may have been
 *            applied, each once. The content of buffer is undefined, and Tern may still write to it until tern_quiet
 *            returns.
 * Remote   When the call returns, the results are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self" or "shm". */
TERN_API tern_status tern_get_acc(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *buffer,
                                  size_t len, const tern_acc_args *args);

/* Start a get-accumulate of an array, with options. The call starts combining the elements in the len bytes at buffer
 * with the elements at byte offset of rank's part of region, and fetches the previous values. opts->acc->type is the
 * type of the elements, and opts->acc->op says how an element of the target and its operand in local memory are
 * combined: by a sum (TERN_SUM, with a factor if opts->acc->factor is not NULL) or another reduction. The results are
 * stored at the target. Unless TERN_IMMEDIATE is set, the call waits until there are resources for the operation. The
 * previous value of each element replaces its operand in buffer. The content of buffer is undefined until opts->event
 * completes or tern_quiet returns. opts->local completes at the same time as opts->event. The caller may reuse
 * *opts->acc as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, opts or opts->acc is NULL, the size of *opts or *opts->acc is not set, buffer is
 *            NULL and len is not 0, the type or the reduction is unknown, the type does not have the reduction, a
 *            factor is given for another reduction than TERN_SUM, len is not a multiple of the element size, a target
 *            element is misaligned, a flag is unknown, an option that a flag needs is NULL, or a counter belongs to
 *            another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, offset and len exceed rank's part, or TERN_NOTIFY is set
 *            and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and nothing has been changed.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the results are visible to all
 *          ranks. The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_acc_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *buffer,
                                       size_t len, const tern_opts *opts);

/* Accumulate a vector at a rank, and fetch the previous values. The call combines the elements of a vector in local
 * memory with the elements of rank's part of region, and fetches the previous values. args->type is the type of the
 * elements, and args->op says how an element of the target and its operand in local memory are combined: by a sum
 * (TERN_SUM, with a factor if args->factor is not NULL) or another reduction. The results are stored at the target. The
 * previous value of each element replaces its operand in local memory.
 * Returns  TERN_OK: the accumulate is complete, and the previous values are in local memory.
 *          TERN_ERR_ARG: ctx, region, vector, args, a list or the address of a piece is NULL, the size of *args or
 *            *vector is not set, the two lists have different total lengths, the type or the reduction is unknown, the
 *            type does not have the reduction, a factor is given for another reduction than TERN_SUM, a piece does not
 *            consist of whole elements, or a target element is misaligned. Nothing was changed.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space. Nothing was changed.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some operands may have been
 *            applied, each once. The content of local memory is undefined, and Tern may still write to it until
 *            tern_quiet returns.
 * Remote   When the call returns, the results are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self" or "shm". */
TERN_API tern_status tern_get_acc_vector(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                         const tern_acc_args *args);

/* Start a get-accumulate of a vector, with options. The call starts combining the elements of a vector in local memory
 * with the elements of rank's part of region, and fetches the previous values. opts->acc->type is the type of the
 * elements, and opts->acc->op says how an element of the target and its operand in local memory are combined: by a sum
 * (TERN_SUM, with a factor if opts->acc->factor is not NULL) or another reduction. The results are stored at the
 * target. Unless TERN_IMMEDIATE is set, the call waits until there are resources for the operation. The previous value
 * of each element replaces its operand in local memory. The content of local memory is undefined until opts->event
 * completes or tern_quiet returns. opts->local completes at the same time as opts->event. The caller may reuse
 * *opts->acc and *vector as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, vector, opts, opts->acc, a list or the address of a piece is NULL, the size of
 *            *opts, *opts->acc or *vector is not set, the two lists have different total lengths, the type or the
 *            reduction is unknown, the type does not have the reduction, a factor is given for another reduction than
 *            TERN_SUM, a piece does not consist of whole elements, a target element is misaligned, a flag is unknown,
 *            an option that a flag needs is NULL, or a counter belongs to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, a piece does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and nothing has been changed.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the results are visible to all
 *          ranks. The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_acc_vector_with(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                              const tern_opts *opts);

/* Accumulate pieces of equal length, and fetch the previous values. The call combines the elements of pieces
 * of equal length in local memory with the elements of rank's part of region, and fetches the previous values.
 * args->type is the type of the elements, and args->op says how an element of the target and its operand in local
 * memory are combined: by a sum (TERN_SUM, with a factor if args->factor is not NULL) or another reduction. The results
 * are stored at the target. The previous value of each element replaces its operand in local memory.
 * Returns  TERN_OK: the accumulate is complete, and the previous values are in local memory.
 *          TERN_ERR_ARG: ctx, region, indexed, args, a list or an address is NULL, the size of *args or *indexed is not
 *            set, count times length differs between the two sides, the type or the reduction is unknown, the type does
 *            not have the reduction, a factor is given for another reduction than TERN_SUM, a piece does not consist of
 *            whole elements, or a target element is misaligned. Nothing was changed.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space. Nothing was changed.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some operands may have been
 *            applied, each once. The content of local memory is undefined, and Tern may still write to it until
 *            tern_quiet returns.
 * Remote   When the call returns, the results are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self" or "shm". */
TERN_API tern_status tern_get_acc_indexed(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                          const tern_acc_args *args);

/* Start a get-accumulate of pieces of equal length, with options. The call starts combining the elements of pieces of
 * equal length in local memory with the elements of rank's part of region, and fetches the previous values.
 * opts->acc->type is the type of the elements, and opts->acc->op says how an element of the target and its operand in
 * local memory are combined: by a sum (TERN_SUM, with a factor if opts->acc->factor is not NULL) or another reduction.
 * The results are stored at the target. Unless TERN_IMMEDIATE is set, the call waits until there are resources for the
 * operation. The previous value of each element replaces its operand in local memory. The content of local memory is
 * undefined until opts->event completes or tern_quiet returns. opts->local completes at the same time as opts->event.
 * The caller may reuse *opts->acc and *indexed as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, indexed, opts, opts->acc, a list or an address is NULL, the size of *opts,
 *            *opts->acc or *indexed is not set, count times length differs between the two sides, the type or the
 *            reduction is unknown, the type does not have the reduction, a factor is given for another reduction than
 *            TERN_SUM, a piece does not consist of whole elements, a target element is misaligned, a flag is unknown,
 *            an option that a flag needs is NULL, or a counter belongs to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, a piece does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and nothing has been changed.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the results are visible to all
 *          ranks. The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_acc_indexed_with(tern_ctx *ctx, tern_region *region, int rank,
                                               const tern_indexed *indexed, const tern_opts *opts);

/* Accumulate an array section at a rank, and fetch the previous values. The call combines the elements of a box in
 * local memory with the elements of rank's part of region, and fetches the previous values. args->type is the type of
 * the elements, and args->op says how an element of the target and its operand in local memory are combined: by a sum
 * (TERN_SUM, with a factor if args->factor is not NULL) or another reduction. The results are stored at the target. The
 * previous value of each element replaces its operand in local memory.
 * Returns  TERN_OK: the accumulate is complete, and the previous values are in local memory.
 *          TERN_ERR_ARG: ctx, region, strided, args, the local address or a list is NULL, the size of *args or *strided
 *            is not set, there are more than TERN_STRIDED_DIMS dimensions, the type or the reduction is unknown, the
 *            type does not have the reduction, a factor is given for another reduction than TERN_SUM, a piece does not
 *            consist of whole elements, or a target element is misaligned. Nothing was changed.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the box does not lie in rank's part or in the local
 *            address space. Nothing was changed.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some operands may have been
 *            applied, each once. The content of local memory is undefined, and Tern may still write to it until
 *            tern_quiet returns.
 * Remote   When the call returns, the results are visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self" or "shm". */
TERN_API tern_status tern_get_acc_strided(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                          const tern_acc_args *args);

/* Start a get-accumulate of an array section, with options. The call starts combining the elements of a box in local
 * memory with the elements of rank's part of region, and fetches the previous values. opts->acc->type is the type of
 * the elements, and opts->acc->op says how an element of the target and its operand in local memory are combined: by a
 * sum (TERN_SUM, with a factor if opts->acc->factor is not NULL) or another reduction. The results are stored at the
 * target. Unless TERN_IMMEDIATE is set, the call waits until there are resources for the operation. The previous value
 * of each element replaces its operand in local memory. The content of local memory is undefined until opts->event
 * completes or tern_quiet returns. opts->local completes at the same time as opts->event. The caller may reuse
 * *opts->acc and *strided as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, strided, opts, opts->acc, the local address or a list is NULL, the size of *opts,
 *            *opts->acc or *strided is not set, there are more than TERN_STRIDED_DIMS dimensions, the type or the
 *            reduction is unknown, the type does not have the reduction, a factor is given for another reduction than
 *            TERN_SUM, a piece does not consist of whole elements, a target element is misaligned, a flag is unknown,
 *            an option that a flag needs is NULL, or a counter belongs to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, the box does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and nothing has been changed.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the results are visible to all
 *          ranks. The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_acc_strided_with(tern_ctx *ctx, tern_region *region, int rank,
                                               const tern_strided *strided, const tern_opts *opts);

TERN_END_DECLS

#endif

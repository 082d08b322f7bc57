/* shape.h: put and get of noncontiguous data: vector, indexed, strided.
 *
 * Three descriptions tell which bytes go where:
 *
 *   vector    a list of pieces on each side, each piece with its own length. The two lists may be divided differently;
 *             bytes are taken in the order of the lists
 *   indexed   a list of pieces on each side, all pieces of a side with the same length
 *   strided   a box of up to TERN_STRIDED_DIMS dimensions. Each side has its own strides, of either sign, so that
 *             sections of arrays can be copied, transposed and reflected
 *
 * Each call is one operation: it has one event, one place in the order of a strict context, and one error. The forms
 * (blocking, _nb, _nbi, _with), completion, visibility and progress are as defined for tern_put and tern_get (rma.h).
 * All pieces are checked before the first byte is moved. An operation on no bytes completes at once. When a call
 * returns, in any form, the caller may reuse the description; but the data belongs to the operation until it is
 * complete.
 *
 * Overlap: pieces of the source may overlap each other, and a stride of the source may be 0. Where pieces of the
 * destination overlap each other, each byte has the value that one of the pieces gave it; which piece is unspecified.
 * Source and destination of one operation must not overlap; if they do, the content of the destination is undefined. A
 * debug build of the library returns TERN_ERR_ARG for both kinds of overlap, for up to TERN_OVERLAP_PIECES pieces.
 */
#ifndef TERN_SHAPE_H
#define TERN_SHAPE_H

#include <stddef.h>
#include <stdint.h>
#include <tern/context.h>
#include <tern/event.h>
#include <tern/region.h>
#include <tern/rma.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* Limits of noncontiguous transfers. */
#define TERN_STRIDED_DIMS 64      /* maximum number of dimensions of a box */
#define TERN_OVERLAP_PIECES 65536 /* number of pieces up to which a debug build detects overlap */

/* A piece of local memory. Puts and accumulates without fetch only read it. */
typedef struct tern_piece {
    void  *addr; /* first byte */
    size_t len;  /* length in bytes */
} tern_piece;

/* A piece of a rank's part of a region. */
typedef struct tern_extent {
    uint64_t offset, len; /* in bytes */
} tern_extent;

/* A vector transfer: lists of pieces on both sides. Create it with TERN_VECTOR or TERN_VECTOR_INIT, which set size. The
 * two lists have the same total length. */
typedef struct tern_vector {
    uint32_t           size;         /* sizeof(tern_vector), so that later versions can add fields */
    uint32_t           reserved;     /* 0 */
    size_t             local_count;  /* number of pieces of local memory */
    const tern_piece  *local;        /* [local_count] */
    size_t             remote_count; /* number of pieces of the part */
    const tern_extent *remote;       /* [remote_count] */
    uint64_t           base;         /* subtracted from each remote offset: for lists that contain remote addresses,
                                        the address of the part at its rank. 0: the list contains offsets */
} tern_vector;

/* An indexed transfer: pieces of equal length. Create it with TERN_INDEXED or TERN_INDEXED_INIT, which set size. Count
 * times length is the same on both sides. */
typedef struct tern_indexed {
    uint32_t        size;                   /* sizeof(tern_indexed), so that later versions can add fields */
    uint32_t        reserved;               /* 0 */
    size_t          local_count, local_len; /* number of pieces of local memory, and bytes of each */
    void *const    *local; /* [local_count] addresses. A put only reads the memory at these addresses */
    size_t          remote_count, remote_len; /* number of pieces of the part, and bytes of each */
    const uint64_t *remote;                   /* [remote_count] offsets */
    uint64_t        base;                     /* subtracted from each remote offset: for lists that contain remote
                                                 addresses, the address of the part at its rank; otherwise 0 */
} tern_indexed;

/* A strided transfer: a box of elements. Create it with TERN_STRIDED or TERN_STRIDED_INIT, which set size. The element
 * with the indices i, j, ... is i * stride[0] + j * stride[1] + ... bytes after the first element; each side has its
 * own strides. The order of the dimensions does not matter. If a count is 0, the box is empty. */
typedef struct tern_strided {
    uint32_t         size;          /* sizeof(tern_strided), so that later versions can add fields */
    uint32_t         dims;          /* number of dimensions, 0 to TERN_STRIDED_DIMS; 0: a single element */
    size_t           element;       /* size of an element in bytes */
    const size_t    *count;         /* [dims] number of elements in each dimension */
    void            *local;         /* address of the first element. A put only reads local memory */
    const ptrdiff_t *local_stride;  /* [dims] distance in bytes of neighbouring elements */
    uint64_t         remote;        /* byte offset of the first element */
    const int64_t   *remote_stride; /* [dims] distance in bytes of neighbouring elements */
} tern_strided;

/* Descriptions without any field set, and in C with the given fields: TERN_STRIDED(.dims = 2, .element = 8, ...). */
#define TERN_VECTOR_INIT TERN_SIZED(tern_vector)
#define TERN_INDEXED_INIT TERN_SIZED(tern_indexed)
#define TERN_STRIDED_INIT TERN_SIZED(tern_strided)
#ifndef __cplusplus
#define TERN_VECTOR(...) ((tern_vector){ .size = sizeof(tern_vector), __VA_ARGS__ })
#define TERN_INDEXED(...) ((tern_indexed){ .size = sizeof(tern_indexed), __VA_ARGS__ })
#define TERN_STRIDED(...) ((tern_strided){ .size = sizeof(tern_strided), __VA_ARGS__ })
#endif

/* Put a vector, and wait until the put is complete. The call copies the pieces of a vector from local memory to rank's
 * part of region. When the call returns, the caller may modify the source.
 * Returns  TERN_OK: the put is complete.
 *          TERN_ERR_ARG: ctx, region, vector, a list or the address of a piece is NULL, or the two lists have different
 *            total lengths. Nothing was written.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space. Nothing was written.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Part of the data may have been written, and Tern may
 *            still read the source until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            Part of the data may have been written.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the data is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self", "shm" or "cma". */
TERN_API tern_status tern_put_vector(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector);

/* Start a put of a vector, with options. The call starts copying the pieces of a vector from local memory to rank's
 * part of region. If opts is NULL, no option is set, and the next tern_quiet on ctx completes the operation. Unless
 * TERN_IMMEDIATE is set, the call waits until there are resources for the operation. The caller must not modify the
 * source until opts->local or opts->event completes, or until tern_quiet returns. The caller may reuse *vector as soon
 * as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, vector, a list or the address of a piece is NULL, the two lists have different
 *            total lengths, a field of opts is invalid (see tern_opts), or a counter belongs to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, a piece does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and no data has been transferred; but after
 *            TERN_ERR_LINK and TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the data is visible to all ranks.
 *          The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_put_vector_with(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                          const tern_opts *opts);

/* Start a put of a vector, and fill an event. The call starts copying the pieces of a vector from local memory to
 * rank's part of region. *event completes with the operation. The call fills *event and does not wait for the transfer,
 * but waits for resources if they are exhausted. The caller must not modify the source until the event completes. The
 * caller may reuse *vector as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, vector, a list or the address of a piece is NULL, or the two lists have
 *            different total lengths.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and no data has been transferred; but after TERN_ERR_LINK and
 *            TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   When the event completes, the data is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_vector_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                           tern_event *event)
{
    tern_opts opts = TERN_OPTS_INIT;

    opts.flags = TERN_WANT_EVENT;
    opts.event = event;
    opts.call = "tern_put_vector_nb";
    return tern_put_vector_with(ctx, region, rank, vector, &opts);
}

/* Start a put of a vector, which tern_quiet completes. The call starts copying the pieces of a vector from local memory
 * to rank's part of region. The next tern_quiet on ctx completes the operation, and reports an error that occurs after
 * the start. The call does not wait for the transfer, but waits for resources if they are exhausted. The caller must
 * not modify the source until tern_quiet returns. The caller may reuse *vector as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, vector, a list or the address of a piece is NULL, or the two lists have different
 *            total lengths.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   When tern_quiet returns, the data is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_vector_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector)
{
    return tern_put_vector_with(ctx, region, rank, vector, NULL);
}

/* Get a vector, and wait until the get is complete. The call copies the pieces of a vector from rank's part of region
 * to local memory.
 * Returns  TERN_OK: the data is in the destination.
 *          TERN_ERR_ARG: ctx, region, vector, a list or the address of a piece is NULL, or the two lists have different
 *            total lengths. Nothing was read.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space. Nothing was read.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the content
 *            of the destination is undefined.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The content of the destination is undefined, and Tern may
 *            still write to it until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The content of the destination is undefined.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self", "shm" or "cma". */
TERN_API tern_status tern_get_vector(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector);

/* Start a get of a vector, with options. The call starts copying the pieces of a vector from rank's part of region to
 * local memory. If opts is NULL, no option is set, and the next tern_quiet on ctx completes the operation. Unless
 * TERN_IMMEDIATE is set, the call waits until there are resources for the operation. The content of the destination is
 * undefined until opts->event completes or tern_quiet returns. opts->local completes at the same time as opts->event.
 * The caller may reuse *vector as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, vector, a list or the address of a piece is NULL, the two lists have different
 *            total lengths, a field of opts is invalid (see tern_opts), or a counter belongs to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, a piece does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and no data has been transferred; but after
 *            TERN_ERR_LINK and TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   With TERN_NOTIFY, the target receives a notification. Otherwise the target does not notice a get. In both
 *          cases the target does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_vector_with(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                          const tern_opts *opts);

/* Start a get of a vector, and fill an event. The call starts copying the pieces of a vector from rank's part of region
 * to local memory. *event completes with the operation. The call fills *event and does not wait for the transfer, but
 * waits for resources if they are exhausted. The content of the destination is undefined until the event completes. The
 * caller may reuse *vector as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, vector, a list or the address of a piece is NULL, or the two lists have
 *            different total lengths.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and no data has been transferred; but after TERN_ERR_LINK and
 *            TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_vector_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                           tern_event *event)
{
    tern_opts opts = TERN_OPTS_INIT;

    opts.flags = TERN_WANT_EVENT;
    opts.event = event;
    opts.call = "tern_get_vector_nb";
    return tern_get_vector_with(ctx, region, rank, vector, &opts);
}

/* Start a get of a vector, which tern_quiet completes. The call starts copying the pieces of a vector from rank's part
 * of region to local memory. The next tern_quiet on ctx completes the operation, and reports an error that occurs after
 * the start. The call does not wait for the transfer, but waits for resources if they are exhausted. The content of the
 * destination is undefined until tern_quiet returns. The caller may reuse *vector as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, vector, a list or the address of a piece is NULL, or the two lists have different
 *            total lengths.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_vector_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector)
{
    return tern_get_vector_with(ctx, region, rank, vector, NULL);
}

/* Put pieces of equal length, and wait until the put is complete. The call copies pieces of equal length from local
 * memory to rank's part of region. When the call returns, the caller may modify the source.
 * Returns  TERN_OK: the put is complete.
 *          TERN_ERR_ARG: ctx, region, indexed, a list or an address is NULL, or count times length differs between the
 *            two sides. Nothing was written.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space. Nothing was written.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Part of the data may have been written, and Tern may
 *            still read the source until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            Part of the data may have been written.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the data is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self", "shm" or "cma". */
TERN_API tern_status tern_put_indexed(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed);

/* Start a put of pieces of equal length, with options. The call starts copying pieces of equal length from local memory
 * to rank's part of region. If opts is NULL, no option is set, and the next tern_quiet on ctx completes the operation.
 * Unless TERN_IMMEDIATE is set, the call waits until there are resources for the operation. The caller must not modify
 * the source until opts->local or opts->event completes, or until tern_quiet returns. The caller may reuse *indexed as
 * soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, indexed, a list or an address is NULL, count times length differs between the two
 *            sides, a flag is unknown, an option that a flag needs is NULL, or a counter belongs to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, a piece does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and no data has been transferred; but after
 *            TERN_ERR_LINK and TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the data is visible to all ranks.
 *          The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_put_indexed_with(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                           const tern_opts *opts);

/* Start a put of pieces of equal length, and fill an event. The call starts copying pieces of equal length from local
 * memory to rank's part of region. *event completes with the operation. The call fills *event and does not wait for the
 * transfer, but waits for resources if they are exhausted. The caller must not modify the source until the event
 * completes. The caller may reuse *indexed as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, indexed, a list or an address is NULL, or count times length differs
 *            between the two sides.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and no data has been transferred; but after TERN_ERR_LINK and
 *            TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   When the event completes, the data is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_indexed_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                            tern_event *event)
{
    tern_opts opts = TERN_OPTS_INIT;

    opts.flags = TERN_WANT_EVENT;
    opts.event = event;
    opts.call = "tern_put_indexed_nb";
    return tern_put_indexed_with(ctx, region, rank, indexed, &opts);
}

/* Start a put of pieces of equal length, which tern_quiet completes. The call starts copying pieces of equal length
 * from local memory to rank's part of region. The next tern_quiet on ctx completes the operation, and reports an error
 * that occurs after the start. The call does not wait for the transfer, but waits for resources if they are exhausted.
 * The caller must not modify the source until tern_quiet returns. The caller may reuse *indexed as soon as the call
 * returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, indexed, a list or an address is NULL, or count times length differs between the
 *            two sides.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   When tern_quiet returns, the data is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_indexed_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed)
{
    return tern_put_indexed_with(ctx, region, rank, indexed, NULL);
}

/* Get pieces of equal length, and wait until the get is complete. The call copies pieces of equal length from rank's
 * part of region to local memory.
 * Returns  TERN_OK: the data is in the destination.
 *          TERN_ERR_ARG: ctx, region, indexed, a list or an address is NULL, or count times length differs between the
 *            two sides. Nothing was read.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space. Nothing was read.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the content
 *            of the destination is undefined.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The content of the destination is undefined, and Tern may
 *            still write to it until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The content of the destination is undefined.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self", "shm" or "cma". */
TERN_API tern_status tern_get_indexed(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed);

/* Start a get of pieces of equal length, with options. The call starts copying pieces of equal length from rank's part
 * of region to local memory. If opts is NULL, no option is set, and the next tern_quiet on ctx completes the operation.
 * Unless TERN_IMMEDIATE is set, the call waits until there are resources for the operation. The content of the
 * destination is undefined until opts->event completes or tern_quiet returns. opts->local completes at the same time as
 * opts->event. The caller may reuse *indexed as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, indexed, a list or an address is NULL, count times length differs between the two
 *            sides, a flag is unknown, an option that a flag needs is NULL, or a counter belongs to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, a piece does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and no data has been transferred; but after
 *            TERN_ERR_LINK and TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   With TERN_NOTIFY, the target receives a notification. Otherwise the target does not notice a get. In both
 *          cases the target does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_indexed_with(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                           const tern_opts *opts);

/* Start a get of pieces of equal length, and fill an event. The call starts copying pieces of equal length from rank's
 * part of region to local memory. *event completes with the operation. The call fills *event and does not wait for the
 * transfer, but waits for resources if they are exhausted. The content of the destination is undefined until the event
 * completes. The caller may reuse *indexed as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, indexed, a list or an address is NULL, or count times length differs
 *            between the two sides.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and no data has been transferred; but after TERN_ERR_LINK and
 *            TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_indexed_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                            tern_event *event)
{
    tern_opts opts = TERN_OPTS_INIT;

    opts.flags = TERN_WANT_EVENT;
    opts.event = event;
    opts.call = "tern_get_indexed_nb";
    return tern_get_indexed_with(ctx, region, rank, indexed, &opts);
}

/* Start a get of pieces of equal length, which tern_quiet completes. The call starts copying pieces of equal length
 * from rank's part of region to local memory. The next tern_quiet on ctx completes the operation, and reports an error
 * that occurs after the start. The call does not wait for the transfer, but waits for resources if they are exhausted.
 * The content of the destination is undefined until tern_quiet returns. The caller may reuse *indexed as soon as the
 * call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, indexed, a list or an address is NULL, or count times length differs between the
 *            two sides.
 *          TERN_ERR_RANGE: rank is not in the context's team, or a piece does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_indexed_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed)
{
    return tern_get_indexed_with(ctx, region, rank, indexed, NULL);
}

/* Put an array section, and wait until the put is complete. The call copies a box of elements from local memory to
 * rank's part of region. When the call returns, the caller may modify the source.
 * Returns  TERN_OK: the put is complete.
 *          TERN_ERR_ARG: ctx, region, strided, the local address or a list is NULL, or there are more than
 *            TERN_STRIDED_DIMS dimensions. Nothing was written.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the box does not lie in rank's part or in the local
 *            address space. Nothing was written.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Part of the data may have been written, and Tern may
 *            still read the source until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            Part of the data may have been written.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the data is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self", "shm" or "cma". */
TERN_API tern_status tern_put_strided(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided);

/* Start a put of an array section, with options. The call starts copying a box of elements from local memory to rank's
 * part of region. If opts is NULL, no option is set, and the next tern_quiet on ctx completes the operation. Unless
 * TERN_IMMEDIATE is set, the call waits until there are resources for the operation. The caller must not modify the
 * source until opts->local or opts->event completes, or until tern_quiet returns. The caller may reuse *strided as soon
 * as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, strided, the local address or a list is NULL, there are more than
 *            TERN_STRIDED_DIMS dimensions, a flag is unknown, an option that a flag needs is NULL, or a counter belongs
 *            to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, the box does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and no data has been transferred; but after
 *            TERN_ERR_LINK and TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   When opts->event completes or, without an event, when tern_quiet returns, the data is visible to all ranks.
 *          The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_put_strided_with(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                           const tern_opts *opts);

/* Start a put of an array section, and fill an event. The call starts copying a box of elements from local memory to
 * rank's part of region. *event completes with the operation. The call fills *event and does not wait for the transfer,
 * but waits for resources if they are exhausted. The caller must not modify the source until the event completes. The
 * caller may reuse *strided as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, strided, the local address or a list is NULL, or there are more than
 *            TERN_STRIDED_DIMS dimensions.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the box does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and no data has been transferred; but after TERN_ERR_LINK and
 *            TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   When the event completes, the data is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_strided_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                            tern_event *event)
{
    tern_opts opts = TERN_OPTS_INIT;

    opts.flags = TERN_WANT_EVENT;
    opts.event = event;
    opts.call = "tern_put_strided_nb";
    return tern_put_strided_with(ctx, region, rank, strided, &opts);
}

/* Start a put of an array section, which tern_quiet completes. The call starts copying a box of elements from local
 * memory to rank's part of region. The next tern_quiet on ctx completes the operation, and reports an error that occurs
 * after the start. The call does not wait for the transfer, but waits for resources if they are exhausted. The caller
 * must not modify the source until tern_quiet returns. The caller may reuse *strided as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, strided, the local address or a list is NULL, or there are more than
 *            TERN_STRIDED_DIMS dimensions.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the box does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   When tern_quiet returns, the data is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_strided_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided)
{
    return tern_put_strided_with(ctx, region, rank, strided, NULL);
}

/* Get an array section, and wait until the get is complete. The call copies a box of elements from rank's part of
 * region to local memory.
 * Returns  TERN_OK: the data is in the destination.
 *          TERN_ERR_ARG: ctx, region, strided, the local address or a list is NULL, or there are more than
 *            TERN_STRIDED_DIMS dimensions. Nothing was read.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the box does not lie in rank's part or in the local
 *            address space. Nothing was read.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the content
 *            of the destination is undefined.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The content of the destination is undefined, and Tern may
 *            still write to it until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The content of the destination is undefined.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. The call allocates no memory if tern_region_path is
 *          "self", "shm" or "cma". */
TERN_API tern_status tern_get_strided(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided);

/* Start a get of an array section, with options. The call starts copying a box of elements from rank's part of region
 * to local memory. If opts is NULL, no option is set, and the next tern_quiet on ctx completes the operation. Unless
 * TERN_IMMEDIATE is set, the call waits until there are resources for the operation. The content of the destination is
 * undefined until opts->event completes or tern_quiet returns. opts->local completes at the same time as opts->event.
 * The caller may reuse *strided as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, and the resources for the operation are exhausted.
 *          TERN_ERR_ARG: ctx, region, strided, the local address or a list is NULL, there are more than
 *            TERN_STRIDED_DIMS dimensions, a flag is unknown, an option that a flag needs is NULL, or a counter belongs
 *            to another context.
 *          TERN_ERR_RANGE: rank is not in the context's team, the box does not lie in rank's part or in the local
 *            address space, or TERN_NOTIFY is set and rank is not in the region's team.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_AGAIN and after an error, no event has been filled, and no data has been transferred; but after
 *            TERN_ERR_LINK and TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   With TERN_NOTIFY, the target receives a notification. Otherwise the target does not notice a get. In both
 *          cases the target does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_strided_with(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                           const tern_opts *opts);

/* Start a get of an array section, and fill an event. The call starts copying a box of elements from rank's part of
 * region to local memory. *event completes with the operation. The call fills *event and does not wait for the
 * transfer, but waits for resources if they are exhausted. The content of the destination is undefined until the event
 * completes. The caller may reuse *strided as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, strided, the local address or a list is NULL, or there are more than
 *            TERN_STRIDED_DIMS dimensions.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the box does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and no data has been transferred; but after TERN_ERR_LINK and
 *            TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_strided_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                            tern_event *event)
{
    tern_opts opts = TERN_OPTS_INIT;

    opts.flags = TERN_WANT_EVENT;
    opts.event = event;
    opts.call = "tern_get_strided_nb";
    return tern_get_strided_with(ctx, region, rank, strided, &opts);
}

/* Start a get of an array section, which tern_quiet completes. The call starts copying a box of elements from rank's
 * part of region to local memory. The next tern_quiet on ctx completes the operation, and reports an error that occurs
 * after the start. The call does not wait for the transfer, but waits for resources if they are exhausted. The content
 * of the destination is undefined until tern_quiet returns. The caller may reuse *strided as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, strided, the local address or a list is NULL, or there are more than
 *            TERN_STRIDED_DIMS dimensions.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the box does not lie in rank's part or in the local
 *            address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before resources for the operation became free.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   None. The target does not notice a get and does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_strided_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided)
{
    return tern_get_strided_with(ctx, region, rank, strided, NULL);
}

TERN_END_DECLS

#endif

/* shape.h: put and get of data that is not contiguous: vector, indexed and strided.
 *
 * Three ways to say which bytes go where. Vector: lists of pieces on both sides, each with its length; the two lists
 * may be cut differently, the bytes are taken in the order of the lists. Indexed: the same with one length for all
 * pieces of a side. Strided: a box of up to TERN_STRIDED_DIMS dimensions; each side has a stride of its own for each
 * dimension, of any sign, so that sections of arrays can be copied, transposed and reflected.
 *
 * Every call is one operation: the forms (blocking, _nb, _nbi, _with), completion, ordering and errors are those of
 * tern_put and tern_get (tern/rma.h). All pieces are checked before the first byte is moved. The description is the
 * caller's again when the call returns, in every form; the data is not.
 *
 * Overlap. Pieces of the source may overlap each other, and a stride of the source may be 0. Where pieces of the
 * destination overlap each other, each byte ends with what one of them brought; which one is not said. Source and
 * destination of one operation do not overlap; where they do, the destination is undefined. A debug build of the
 * library returns TERN_ERR_ARG for both where it finds them; it looks at up to TERN_OVERLAP_PIECES pieces.
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

#define TERN_STRIDED_DIMS 64
#define TERN_OVERLAP_PIECES 65536

/* A piece of local memory. A put only reads it. */
typedef struct tern_piece {
    void  *addr;
    size_t len;
} tern_piece;

/* A piece of a rank's part of a region. */
typedef struct tern_extent {
    uint64_t offset, len;
} tern_extent;

/* Pieces on both sides. The lengths of the two lists add up to the same. */
typedef struct tern_vector {
    size_t             local_count;
    const tern_piece  *local; /* [local_count] */
    size_t             remote_count;
    const tern_extent *remote; /* [remote_count] */
} tern_vector;

/* Pieces of one length on each side. Counts times lengths are the same. */
typedef struct tern_indexed {
    size_t          local_count, local_len;
    void *const    *local; /* [local_count] addresses. A put only reads what is there */
    size_t          remote_count, remote_len;
    const uint64_t *remote; /* [remote_count] offsets */
} tern_indexed;

/* A box of elements. The element with the numbers i, j, ... lies i * stride[0] + j * stride[1] + ... bytes behind the
 * first, on each side with its own strides. The order of the dimensions does not matter. A count of 0 is a box of
 * nothing. */
typedef struct tern_strided {
    unsigned         dims;          /* 0 to TERN_STRIDED_DIMS; 0: one element */
    size_t           element;       /* bytes */
    const size_t    *count;         /* [dims] elements in each dimension */
    void            *local;         /* the first element. A put only reads there */
    const ptrdiff_t *local_stride;  /* [dims] bytes */
    uint64_t         remote;        /* offset of the first element */
    const int64_t   *remote_stride; /* [dims] bytes */
} tern_strided;

/* Copy the pieces of a vector from local memory to rank's part of region.
 * Returns  TERN_OK when the data is visible at rank. TERN_ERR_ARG: its two lists add up to different lengths, or a
 *          pointer is NULL. TERN_ERR_RANGE: no such rank, or a piece does not lie in its part or in this address
 *          space. After both nothing was written. Otherwise as tern_put.
 * Remote   visible to every rank on return. Needs nothing of rank.
 * Threads  the one that uses ctx. Never allocates where tern_region_path is "self", "shm" or "cma". */
TERN_API tern_status tern_put_vector(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector);

/* Start to copy the pieces of a vector from local memory to rank's part of region, with options; opts NULL: as
 * tern_put_vector_nbi.
 * Returns  as tern_put_with and tern_put_vector. After TERN_AGAIN and after an error nothing was written and no event
 *          was filled.
 * Remote   visible at rank when the event is done, or after tern_quiet. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_put_vector_with(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                          const tern_opts *opts);

/* Start to copy the pieces of a vector from local memory to rank's part of region. The source stays unchanged
 * until the event is done.
 * Returns  as tern_put_vector_with.
 * Remote   visible at rank when the event is done. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_vector_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                           tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_put_vector_with(ctx, region, rank, vector, &opts);
}

/* Start to copy the pieces of a vector from local memory to rank's part of region. The source stays unchanged
 * until tern_quiet.
 * Returns  as tern_put_vector_with.
 * Remote   visible at rank after tern_quiet on ctx. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_vector_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector)
{
    return tern_put_vector_with(ctx, region, rank, vector, NULL);
}

/* Copy the pieces of a vector from rank's part of region to local memory.
 * Returns  TERN_OK when the data is in local memory. TERN_ERR_ARG: its two lists add up to different lengths, or a
 *          pointer is NULL. TERN_ERR_RANGE: no such rank, or a piece does not lie in its part or in this address
 *          space. After both nothing was read. Otherwise as tern_get.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. Never allocates where tern_region_path is "self", "shm" or "cma". */
TERN_API tern_status tern_get_vector(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector);

/* Start to copy the pieces of a vector from rank's part of region to local memory, with options; opts NULL: as
 * tern_get_vector_nbi. For a get, local completion and completion are the same.
 * Returns  as tern_get_with and tern_get_vector. After TERN_AGAIN and after an error nothing was read and no event
 *          was filled.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_get_vector_with(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                          const tern_opts *opts);

/* Start to copy the pieces of a vector from rank's part of region to local memory. The destination is undefined
 * until the event is done.
 * Returns  as tern_get_vector_with.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_vector_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                           tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_get_vector_with(ctx, region, rank, vector, &opts);
}

/* Start to copy the pieces of a vector from rank's part of region to local memory. The destination is undefined
 * until tern_quiet.
 * Returns  as tern_get_vector_with.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_vector_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector)
{
    return tern_get_vector_with(ctx, region, rank, vector, NULL);
}

/* Copy pieces of one length from local memory to rank's part of region.
 * Returns  TERN_OK when the data is visible at rank. TERN_ERR_ARG: counts times lengths differ between the two sides,
 *          or a pointer is NULL. TERN_ERR_RANGE: no such rank, or a piece does not lie in its part or in this address
 *          space. After both nothing was written. Otherwise as tern_put.
 * Remote   visible to every rank on return. Needs nothing of rank.
 * Threads  the one that uses ctx. Never allocates where tern_region_path is "self", "shm" or "cma". */
TERN_API tern_status tern_put_indexed(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed);

/* Start to copy pieces of one length from local memory to rank's part of region, with options; opts NULL: as
 * tern_put_indexed_nbi.
 * Returns  as tern_put_with and tern_put_indexed. After TERN_AGAIN and after an error nothing was written and no event
 *          was filled.
 * Remote   visible at rank when the event is done, or after tern_quiet. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_put_indexed_with(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                           const tern_opts *opts);

/* Start to copy pieces of one length from local memory to rank's part of region. The source stays unchanged
 * until the event is done.
 * Returns  as tern_put_indexed_with.
 * Remote   visible at rank when the event is done. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_indexed_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                            tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_put_indexed_with(ctx, region, rank, indexed, &opts);
}

/* Start to copy pieces of one length from local memory to rank's part of region. The source stays unchanged
 * until tern_quiet.
 * Returns  as tern_put_indexed_with.
 * Remote   visible at rank after tern_quiet on ctx. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_indexed_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed)
{
    return tern_put_indexed_with(ctx, region, rank, indexed, NULL);
}

/* Copy pieces of one length from rank's part of region to local memory.
 * Returns  TERN_OK when the data is in local memory. TERN_ERR_ARG: counts times lengths differ between the two sides,
 *          or a pointer is NULL. TERN_ERR_RANGE: no such rank, or a piece does not lie in its part or in this address
 *          space. After both nothing was read. Otherwise as tern_get.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. Never allocates where tern_region_path is "self", "shm" or "cma". */
TERN_API tern_status tern_get_indexed(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed);

/* Start to copy pieces of one length from rank's part of region to local memory, with options; opts NULL: as
 * tern_get_indexed_nbi. For a get, local completion and completion are the same.
 * Returns  as tern_get_with and tern_get_indexed. After TERN_AGAIN and after an error nothing was read and no event
 *          was filled.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_get_indexed_with(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                           const tern_opts *opts);

/* Start to copy pieces of one length from rank's part of region to local memory. The destination is undefined
 * until the event is done.
 * Returns  as tern_get_indexed_with.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_indexed_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                            tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_get_indexed_with(ctx, region, rank, indexed, &opts);
}

/* Start to copy pieces of one length from rank's part of region to local memory. The destination is undefined
 * until tern_quiet.
 * Returns  as tern_get_indexed_with.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_indexed_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed)
{
    return tern_get_indexed_with(ctx, region, rank, indexed, NULL);
}

/* Copy a box of elements from local memory to rank's part of region.
 * Returns  TERN_OK when the data is visible at rank. TERN_ERR_ARG: there are more than TERN_STRIDED_DIMS dimensions,
 *          or a pointer is NULL. TERN_ERR_RANGE: no such rank, or a piece does not lie in its part or in this address
 *          space. After both nothing was written. Otherwise as tern_put.
 * Remote   visible to every rank on return. Needs nothing of rank.
 * Threads  the one that uses ctx. Never allocates where tern_region_path is "self", "shm" or "cma". */
TERN_API tern_status tern_put_strided(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided);

/* Start to copy a box of elements from local memory to rank's part of region, with options; opts NULL: as
 * tern_put_strided_nbi.
 * Returns  as tern_put_with and tern_put_strided. After TERN_AGAIN and after an error nothing was written and no event
 *          was filled.
 * Remote   visible at rank when the event is done, or after tern_quiet. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_put_strided_with(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                           const tern_opts *opts);

/* Start to copy a box of elements from local memory to rank's part of region. The source stays unchanged
 * until the event is done.
 * Returns  as tern_put_strided_with.
 * Remote   visible at rank when the event is done. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_strided_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                            tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_put_strided_with(ctx, region, rank, strided, &opts);
}

/* Start to copy a box of elements from local memory to rank's part of region. The source stays unchanged
 * until tern_quiet.
 * Returns  as tern_put_strided_with.
 * Remote   visible at rank after tern_quiet on ctx. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_strided_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided)
{
    return tern_put_strided_with(ctx, region, rank, strided, NULL);
}

/* Copy a box of elements from rank's part of region to local memory.
 * Returns  TERN_OK when the data is in local memory. TERN_ERR_ARG: there are more than TERN_STRIDED_DIMS dimensions,
 *          or a pointer is NULL. TERN_ERR_RANGE: no such rank, or a piece does not lie in its part or in this address
 *          space. After both nothing was read. Otherwise as tern_get.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. Never allocates where tern_region_path is "self", "shm" or "cma". */
TERN_API tern_status tern_get_strided(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided);

/* Start to copy a box of elements from rank's part of region to local memory, with options; opts NULL: as
 * tern_get_strided_nbi. For a get, local completion and completion are the same.
 * Returns  as tern_get_with and tern_get_strided. After TERN_AGAIN and after an error nothing was read and no event
 *          was filled.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_get_strided_with(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                           const tern_opts *opts);

/* Start to copy a box of elements from rank's part of region to local memory. The destination is undefined
 * until the event is done.
 * Returns  as tern_get_strided_with.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_strided_nb(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                            tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT, NULL, event, 0, NULL, NULL, 0 };

    return tern_get_strided_with(ctx, region, rank, strided, &opts);
}

/* Start to copy a box of elements from rank's part of region to local memory. The destination is undefined
 * until tern_quiet.
 * Returns  as tern_get_strided_with.
 * Remote   none: the target does not notice. Needs nothing of rank.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_strided_nbi(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided)
{
    return tern_get_strided_with(ctx, region, rank, strided, NULL);
}

TERN_END_DECLS

#endif

/* notify.h: accesses that tell their target.
 *
 * A notified access is a put, get, accumulate, get-accumulate or atomic operation, of any shape and length, also of
 * nothing, that notifies its target when it has ended: what it wrote is in place and may be read, what it read has been
 * taken and may be overwritten. The target waits for it by requests (notice.h). Nothing is asked of the target's
 * program, but that it does not let notifications pile up: where it does, those who send more wait, or get TERN_AGAIN
 * with TERN_IMMEDIATE. An access that has started, with TERN_IMMEDIATE too, may find no room for its notification when
 * its transfer has ended: then its event is not done, and tern_quiet does not return, before the target has room.
 *
 * Every call with options (_with) makes a notified access if the flag TERN_NOTIFY is given, with the tag in the
 * options. The calls below are the same with a name. In a handler of an active message they are allowed where the calls
 * without notification are, and return TERN_ERR_STATE if they would have to wait for room.
 */
#ifndef TERN_NOTIFY_H
#define TERN_NOTIFY_H

#include <stddef.h>
#include <stdint.h>
#include <tern/acc.h>
#include <tern/atomic.h>
#include <tern/context.h>
#include <tern/event.h>
#include <tern/notice.h>
#include <tern/region.h>
#include <tern/rma.h>
#include <tern/shape.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* Notify rank, without an access: of nothing done to its part of region, with tag.
 * Returns  as tern_put. TERN_ERR_RANGE: rank is not in the region's team.
 * Remote   the notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_notify(tern_ctx *ctx, tern_region *region, int rank, uint32_t tag);

/* Copy len bytes from src to byte offset of rank's part of region, and notify rank with tag.
 * Returns  as tern_put. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may not have
 *          been notified, although all else is done.
 * Remote   visible to every rank on return. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_put_notify(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                     size_t len, uint32_t tag);

/* Start the same. src stays unchanged until the event is done.
 * Returns  as tern_put_with.
 * Remote   visible at rank when the event is done, and then rank has been notified.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_notify_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                           const void *src, size_t len, uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_put_with(ctx, region, rank, offset, src, len, &opts);
}

/* Start the same. src stays unchanged until tern_quiet.
 * Returns  as tern_put_with.
 * Remote   visible at rank when it is notified, after tern_quiet at the latest.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_put_notify_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                         size_t len, uint32_t tag);

/* Copy len bytes from byte offset of rank's part of region to dst, and notify rank with tag.
 * Returns  as tern_get. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may not have
 *          been notified, although all else is done.
 * Remote   rank may overwrite the data when it is notified. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_get_notify(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst,
                                     size_t len, uint32_t tag);

/* Start the same. dst is undefined until the event is done.
 * Returns  as tern_get_with.
 * Remote   rank is notified when the data has been taken, before the event is done.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_notify_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst,
                                           size_t len, uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_get_with(ctx, region, rank, offset, dst, len, &opts);
}

/* Start the same. dst is undefined until tern_quiet.
 * Returns  as tern_get_with.
 * Remote   rank is notified when the data has been taken, before tern_quiet returns.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_notify_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst,
                                            size_t len, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_get_with(ctx, region, rank, offset, dst, len, &opts);
}

/* Copy the pieces of a vector from local memory to rank's part of region, and notify rank with tag.
 * Returns  as tern_put_vector. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may not
 *          have been notified, although all else is done.
 * Remote   visible to every rank on return. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_put_vector_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                            uint32_t tag);

/* Start the same. The source stays unchanged until the event is done.
 * Returns  as tern_put_vector_with.
 * Remote   visible at rank when the event is done, and then rank has been notified.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_vector_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                  const tern_vector *vector, uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_put_vector_with(ctx, region, rank, vector, &opts);
}

/* Start the same. The source stays unchanged until tern_quiet.
 * Returns  as tern_put_vector_with.
 * Remote   visible at rank when it is notified, after tern_quiet at the latest.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_vector_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_vector *vector, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_put_vector_with(ctx, region, rank, vector, &opts);
}

/* Copy the pieces of a vector from rank's part of region to local memory, and notify rank with tag.
 * Returns  as tern_get_vector. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may not
 *          have been notified, although all else is done.
 * Remote   rank may overwrite the data when it is notified. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_get_vector_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                            uint32_t tag);

/* Start the same. The destination is undefined until the event is done.
 * Returns  as tern_get_vector_with.
 * Remote   rank is notified when the data has been taken, before the event is done.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_vector_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                  const tern_vector *vector, uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_get_vector_with(ctx, region, rank, vector, &opts);
}

/* Start the same. The destination is undefined until tern_quiet.
 * Returns  as tern_get_vector_with.
 * Remote   rank is notified when the data has been taken, before tern_quiet returns.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_vector_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_vector *vector, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_get_vector_with(ctx, region, rank, vector, &opts);
}

/* Copy pieces of equal length from local memory to rank's part of region, and notify rank with tag.
 * Returns  as tern_put_indexed. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may not
 *          have been notified, although all else is done.
 * Remote   visible to every rank on return. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_put_indexed_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                             uint32_t tag);

/* Start the same. The source stays unchanged until the event is done.
 * Returns  as tern_put_indexed_with.
 * Remote   visible at rank when the event is done, and then rank has been notified.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_indexed_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_indexed *indexed, uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_put_indexed_with(ctx, region, rank, indexed, &opts);
}

/* Start the same. The source stays unchanged until tern_quiet.
 * Returns  as tern_put_indexed_with.
 * Remote   visible at rank when it is notified, after tern_quiet at the latest.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_indexed_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                    const tern_indexed *indexed, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_put_indexed_with(ctx, region, rank, indexed, &opts);
}

/* Copy pieces of equal length from rank's part of region to local memory, and notify rank with tag.
 * Returns  as tern_get_indexed. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may not
 *          have been notified, although all else is done.
 * Remote   rank may overwrite the data when it is notified. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_get_indexed_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                             uint32_t tag);

/* Start the same. The destination is undefined until the event is done.
 * Returns  as tern_get_indexed_with.
 * Remote   rank is notified when the data has been taken, before the event is done.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_indexed_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_indexed *indexed, uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_get_indexed_with(ctx, region, rank, indexed, &opts);
}

/* Start the same. The destination is undefined until tern_quiet.
 * Returns  as tern_get_indexed_with.
 * Remote   rank is notified when the data has been taken, before tern_quiet returns.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_indexed_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                    const tern_indexed *indexed, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_get_indexed_with(ctx, region, rank, indexed, &opts);
}

/* Copy a box of elements from local memory to rank's part of region, and notify rank with tag.
 * Returns  as tern_put_strided. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may not
 *          have been notified, although all else is done.
 * Remote   visible to every rank on return. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_put_strided_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                             uint32_t tag);

/* Start the same. The source stays unchanged until the event is done.
 * Returns  as tern_put_strided_with.
 * Remote   visible at rank when the event is done, and then rank has been notified.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_strided_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_strided *strided, uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_put_strided_with(ctx, region, rank, strided, &opts);
}

/* Start the same. The source stays unchanged until tern_quiet.
 * Returns  as tern_put_strided_with.
 * Remote   visible at rank when it is notified, after tern_quiet at the latest.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_put_strided_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                    const tern_strided *strided, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_put_strided_with(ctx, region, rank, strided, &opts);
}

/* Copy a box of elements from rank's part of region to local memory, and notify rank with tag.
 * Returns  as tern_get_strided. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may not
 *          have been notified, although all else is done.
 * Remote   rank may overwrite the data when it is notified. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_get_strided_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                             uint32_t tag);

/* Start the same. The destination is undefined until the event is done.
 * Returns  as tern_get_strided_with.
 * Remote   rank is notified when the data has been taken, before the event is done.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_strided_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_strided *strided, uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_get_strided_with(ctx, region, rank, strided, &opts);
}

/* Start the same. The destination is undefined until tern_quiet.
 * Returns  as tern_get_strided_with.
 * Remote   rank is notified when the data has been taken, before tern_quiet returns.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_strided_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                    const tern_strided *strided, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_get_strided_with(ctx, region, rank, strided, &opts);
}

/* Add len bytes of elements at src, times the scale, to those at byte offset of rank's part of region, and notify rank
 * with tag.
 * Returns  as tern_acc. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may not have
 *          been notified, although all else is done.
 * Remote   visible to every rank on return. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_acc_notify(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                     size_t len, const tern_scale *scale, uint32_t tag);

/* Start the same. src stays unchanged until the event is done.
 * Returns  as tern_acc_with.
 * Remote   visible at rank when the event is done, and then rank has been notified.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_acc_notify_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                           const void *src, size_t len, const tern_scale *scale, uint32_t tag,
                                           tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_acc_with(ctx, region, rank, offset, src, len, scale, &opts);
}

/* Start the same. src stays unchanged until tern_quiet.
 * Returns  as tern_acc_with.
 * Remote   visible at rank when it is notified, after tern_quiet at the latest.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_acc_notify_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                            const void *src, size_t len, const tern_scale *scale, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_acc_with(ctx, region, rank, offset, src, len, scale, &opts);
}

/* Add len bytes of elements at local, times the scale, to those at byte offset of rank's part of region, and bring what
 * was there, and notify rank with tag.
 * Returns  as tern_get_acc. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may not have
 *          been notified, although all else is done.
 * Remote   visible to every rank on return. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_get_acc_notify(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *local,
                                         size_t len, const tern_scale *scale, uint32_t tag);

/* Start the same. local is undefined until the event is done.
 * Returns  as tern_get_acc_with.
 * Remote   visible at rank when the event is done, and then rank has been notified.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_acc_notify_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                               void *local, size_t len, const tern_scale *scale, uint32_t tag,
                                               tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_get_acc_with(ctx, region, rank, offset, local, len, scale, &opts);
}

/* Start the same. local is undefined until tern_quiet.
 * Returns  as tern_get_acc_with.
 * Remote   visible at rank when it is notified, after tern_quiet at the latest.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_acc_notify_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                                void *local, size_t len, const tern_scale *scale, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_get_acc_with(ctx, region, rank, offset, local, len, scale, &opts);
}

/* Add the elements of a vector in local memory, times the scale, to those of rank's part of region, and notify rank
 * with tag.
 * Returns  as tern_acc_vector. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may not
 *          have been notified, although all else is done.
 * Remote   visible to every rank on return. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_acc_vector_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                            const tern_scale *scale, uint32_t tag);

/* Start the same. The source stays unchanged until the event is done.
 * Returns  as tern_acc_vector_with.
 * Remote   visible at rank when the event is done, and then rank has been notified.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_acc_vector_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                  const tern_vector *vector, const tern_scale *scale, uint32_t tag,
                                                  tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_acc_vector_with(ctx, region, rank, vector, scale, &opts);
}

/* Start the same. The source stays unchanged until tern_quiet.
 * Returns  as tern_acc_vector_with.
 * Remote   visible at rank when it is notified, after tern_quiet at the latest.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_acc_vector_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_vector *vector, const tern_scale *scale, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_acc_vector_with(ctx, region, rank, vector, scale, &opts);
}

/* Add the elements of a vector in local memory, times the scale, to those of rank's part of region, and bring what was
 * there, and notify rank with tag.
 * Returns  as tern_get_acc_vector. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may
 *          not have been notified, although all else is done.
 * Remote   visible to every rank on return. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_get_acc_vector_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                                const tern_scale *scale, uint32_t tag);

/* Start the same. Local memory is undefined until the event is done.
 * Returns  as tern_get_acc_vector_with.
 * Remote   visible at rank when the event is done, and then rank has been notified.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_acc_vector_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                      const tern_vector *vector, const tern_scale *scale, uint32_t tag,
                                                      tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_get_acc_vector_with(ctx, region, rank, vector, scale, &opts);
}

/* Start the same. Local memory is undefined until tern_quiet.
 * Returns  as tern_get_acc_vector_with.
 * Remote   visible at rank when it is notified, after tern_quiet at the latest.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_acc_vector_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                       const tern_vector *vector, const tern_scale *scale, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_get_acc_vector_with(ctx, region, rank, vector, scale, &opts);
}

/* Add the elements of pieces of equal length in local memory, times the scale, to those of rank's part of region, and
 * notify rank with tag.
 * Returns  as tern_acc_indexed. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may not
 *          have been notified, although all else is done.
 * Remote   visible to every rank on return. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_acc_indexed_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                             const tern_scale *scale, uint32_t tag);

/* Start the same. The source stays unchanged until the event is done.
 * Returns  as tern_acc_indexed_with.
 * Remote   visible at rank when the event is done, and then rank has been notified.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_acc_indexed_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_indexed *indexed, const tern_scale *scale, uint32_t tag,
                                                   tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_acc_indexed_with(ctx, region, rank, indexed, scale, &opts);
}

/* Start the same. The source stays unchanged until tern_quiet.
 * Returns  as tern_acc_indexed_with.
 * Remote   visible at rank when it is notified, after tern_quiet at the latest.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_acc_indexed_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                    const tern_indexed *indexed, const tern_scale *scale, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_acc_indexed_with(ctx, region, rank, indexed, scale, &opts);
}

/* Add the elements of pieces of equal length in local memory, times the scale, to those of rank's part of region, and
 * bring what was there, and notify rank with tag.
 * Returns  as tern_get_acc_indexed. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may
 *          not have been notified, although all else is done.
 * Remote   visible to every rank on return. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_get_acc_indexed_notify(tern_ctx *ctx, tern_region *region, int rank,
                                                 const tern_indexed *indexed, const tern_scale *scale, uint32_t tag);

/* Start the same. Local memory is undefined until the event is done.
 * Returns  as tern_get_acc_indexed_with.
 * Remote   visible at rank when the event is done, and then rank has been notified.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_acc_indexed_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                       const tern_indexed *indexed, const tern_scale *scale,
                                                       uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_get_acc_indexed_with(ctx, region, rank, indexed, scale, &opts);
}

/* Start the same. Local memory is undefined until tern_quiet.
 * Returns  as tern_get_acc_indexed_with.
 * Remote   visible at rank when it is notified, after tern_quiet at the latest.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_acc_indexed_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                        const tern_indexed *indexed, const tern_scale *scale,
                                                        uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_get_acc_indexed_with(ctx, region, rank, indexed, scale, &opts);
}

/* Add the elements of a box in local memory, times the scale, to those of rank's part of region, and notify rank with
 * tag.
 * Returns  as tern_acc_strided. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may not
 *          have been notified, although all else is done.
 * Remote   visible to every rank on return. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_acc_strided_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                             const tern_scale *scale, uint32_t tag);

/* Start the same. The source stays unchanged until the event is done.
 * Returns  as tern_acc_strided_with.
 * Remote   visible at rank when the event is done, and then rank has been notified.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_acc_strided_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_strided *strided, const tern_scale *scale, uint32_t tag,
                                                   tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_acc_strided_with(ctx, region, rank, strided, scale, &opts);
}

/* Start the same. The source stays unchanged until tern_quiet.
 * Returns  as tern_acc_strided_with.
 * Remote   visible at rank when it is notified, after tern_quiet at the latest.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_acc_strided_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                    const tern_strided *strided, const tern_scale *scale, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_acc_strided_with(ctx, region, rank, strided, scale, &opts);
}

/* Add the elements of a box in local memory, times the scale, to those of rank's part of region, and bring what was
 * there, and notify rank with tag.
 * Returns  as tern_get_acc_strided. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may
 *          not have been notified, although all else is done.
 * Remote   visible to every rank on return. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_get_acc_strided_notify(tern_ctx *ctx, tern_region *region, int rank,
                                                 const tern_strided *strided, const tern_scale *scale, uint32_t tag);

/* Start the same. Local memory is undefined until the event is done.
 * Returns  as tern_get_acc_strided_with.
 * Remote   visible at rank when the event is done, and then rank has been notified.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_acc_strided_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                       const tern_strided *strided, const tern_scale *scale,
                                                       uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_get_acc_strided_with(ctx, region, rank, strided, scale, &opts);
}

/* Start the same. Local memory is undefined until tern_quiet.
 * Returns  as tern_get_acc_strided_with.
 * Remote   visible at rank when it is notified, after tern_quiet at the latest.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_get_acc_strided_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                        const tern_strided *strided, const tern_scale *scale,
                                                        uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_get_acc_strided_with(ctx, region, rank, strided, scale, &opts);
}

/* Do one operation on the value at byte offset of rank's part of region, and notify rank with tag.
 * Returns  as tern_atomic. TERN_ERR_RANGE: rank is not in the region's team, also. TERN_ERR_TIMEOUT: rank may not have
 *          been notified, although all else is done.
 * Remote   visible to every rank on return. The notification has been handed over.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_atomic_notify(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                        uint64_t offset, const tern_atomic_args *args, uint32_t tag);

/* Start the same. The result is undefined until the event is done.
 * Returns  as tern_atomic_with.
 * Remote   visible at rank when the event is done, and then rank has been notified.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_atomic_notify_nb(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                              uint64_t offset, const tern_atomic_args *args, uint32_t tag,
                                              tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_atomic_with(ctx, domain, region, rank, offset, args, &opts);
}

/* Start the same. The result is undefined until tern_quiet.
 * Returns  as tern_atomic_with.
 * Remote   visible at rank when it is notified, after tern_quiet at the latest.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_atomic_notify_nbi(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                               uint64_t offset, const tern_atomic_args *args, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_atomic_with(ctx, domain, region, rank, offset, args, &opts);
}

TERN_END_DECLS

#endif

/* notify.h: notified accesses, which notify their target when they are complete.
 *
 * A notified access is a put, get, accumulate, get-accumulate or atomic operation of any shape and length (even 0) that
 * sends a notification to its target when it is complete: data that it wrote is in place and may be read, and data that
 * it read may be overwritten. The target waits for the notification with a notification request (notice.h). The target
 * never sees a notification before the data.
 *
 * Every call with options (_with) makes a notified access if the flag TERN_NOTIFY is set; the tag of the notification
 * is tern_opts.tag. The calls below do the same with a tag as argument. A notified access is complete, and its event
 * completes, when the operation is complete and the notification has been delivered to the queue of the target; nothing
 * waits until the target has received the notification.
 *
 * Flow control: a target does not have to call Tern for a notified access to complete, as long as it does not let
 * notifications pile up. If its queue is full (TERN_NOTIFY_QUEUE, TERN_NOTIFY_KEEP), an initiator waits until there is
 * space, or returns TERN_AGAIN if it set TERN_IMMEDIATE. An access that has already started may find no space for its
 * notification when its transfer ends, even if TERN_IMMEDIATE was set; then its event does not complete, and tern_quiet
 * does not return, until the target has space. Two threads can deadlock in this way if each sends notifications and
 * starts its own requests only after its calls have returned.
 *
 * In active message handlers, notified accesses are allowed where the same accesses without notification are allowed.
 * They return TERN_ERR_STATE if they would have to wait for space.
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

/* Send a notification with the given tag to rank without transferring any data. The notification belongs to region, and
 * reports 0 bytes.
 * Returns  TERN_OK: the notification has been delivered to the queue of the target.
 *          TERN_ERR_ARG: ctx or region is NULL.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before the target had space for the notification.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   The target receives the notification. If ctx is strict, the notification arrives after all earlier
 *          operations of ctx on the target. The target does not have to call Tern, unless its notification queue is
 *          full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_notify(tern_ctx *ctx, tern_region *region, int rank, uint32_t tag);

/* Copy len bytes from src to byte offset of rank's part of region, and notify rank with tag. When the call returns, the
 * caller may modify src.
 * Returns  TERN_OK: the put is complete.
 *          TERN_ERR_ARG: ctx or region is NULL, or src is NULL and len is not 0. Nothing was written.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or offset and len exceed rank's
 *            part. Nothing was written.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Part of the data may have been written, and Tern may
 *            still read src until tern_quiet returns. The target may not have been notified.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            Part of the data may have been written.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the data is visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the data is visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_put_notify(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                     size_t len, uint32_t tag);

/* Start copying len bytes from src to byte offset of rank's part of region, and notify rank with tag when the operation
 * is complete. The call fills *event and does not wait for the transfer, but waits for resources if they are exhausted.
 * The caller must not modify src until the event completes.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region or event is NULL, or src is NULL and len is not 0.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or offset and len exceed rank's
 *            part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and no data has been transferred; but after TERN_ERR_LINK and
 *            TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   When the event completes, the data is visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the data is visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_notify_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                           const void *src, size_t len, uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_put_with(ctx, region, rank, offset, src, len, &opts);
}

/* Start copying len bytes from src to byte offset of rank's part of region, and notify rank with tag when the operation
 * is complete. The next tern_quiet on ctx completes the operation, and reports an error that occurs after the start.
 * The call does not wait for the transfer, but waits for resources if they are exhausted. The caller must not modify
 * src until tern_quiet returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx or region is NULL, or src is NULL and len is not 0.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or offset and len exceed rank's
 *            part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   At the latest when tern_quiet returns, the data is visible to all ranks, and the notification has been
 *          delivered to the queue of the target. The target receives the notification after the data is visible in its
 *          memory. The target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_put_notify_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                         size_t len, uint32_t tag);

/* Copy len bytes from byte offset of rank's part of region to dst, and notify rank with tag.
 * Returns  TERN_OK: the data is in dst.
 *          TERN_ERR_ARG: ctx or region is NULL, or dst is NULL and len is not 0. Nothing was read.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or offset and len exceed rank's
 *            part. Nothing was read.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the content
 *            of dst is undefined.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The content of dst is undefined, and Tern may still write
 *            to dst until tern_quiet returns. The target may not have been notified.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The content of dst is undefined.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the notification has been delivered to the queue of the target. When the target
 *          receives the notification, the data has been read and the target may overwrite it. The target does not have
 *          to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_notify(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst,
                                     size_t len, uint32_t tag);

/* Start copying len bytes from byte offset of rank's part of region to dst, and notify rank with tag when the operation
 * is complete. The call fills *event and does not wait for the transfer, but waits for resources if they are exhausted.
 * The content of dst is undefined until the event completes.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region or event is NULL, or dst is NULL and len is not 0.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or offset and len exceed rank's
 *            part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and no data has been transferred; but after TERN_ERR_LINK and
 *            TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   When the event completes, the notification has been delivered to the queue of the target. When the target
 *          receives the notification, the data has been read and the target may overwrite it. The target does not have
 *          to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_notify_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst,
                                           size_t len, uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_get_with(ctx, region, rank, offset, dst, len, &opts);
}

/* Start copying len bytes from byte offset of rank's part of region to dst, and notify rank with tag when the operation
 * is complete. The next tern_quiet on ctx completes the operation, and reports an error that occurs after the start.
 * The call does not wait for the transfer, but waits for resources if they are exhausted. The content of dst is
 * undefined until tern_quiet returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx or region is NULL, or dst is NULL and len is not 0.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or offset and len exceed rank's
 *            part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   At the latest when tern_quiet returns, the notification has been delivered to the queue of the target. When
 *          the target receives the notification, the data has been read and the target may overwrite it. The target
 *          does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_notify_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst,
                                            size_t len, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_get_with(ctx, region, rank, offset, dst, len, &opts);
}

/* Copy the pieces of a vector from local memory to rank's part of region, and notify rank with tag. When the call
 * returns, the caller may modify the source.
 * Returns  TERN_OK: the put is complete.
 *          TERN_ERR_ARG: ctx, region, vector, a list or the address of a piece is NULL, or the two lists have different
 *            total lengths. Nothing was written.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space. Nothing was written.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Part of the data may have been written, and Tern may
 *            still read the source until tern_quiet returns. The target may not have been notified.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            Part of the data may have been written.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the data is visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the data is visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_put_vector_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                            uint32_t tag);

/* Start copying the pieces of a vector from local memory to rank's part of region, and notify rank with tag when the
 * operation is complete. The call fills *event and does not wait for the transfer, but waits for resources if they are
 * exhausted. The caller must not modify the source until the event completes. The caller may reuse *vector as soon as
 * the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, vector, a list or the address of a piece is NULL, or the two lists have
 *            different total lengths.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and no data has been transferred; but after TERN_ERR_LINK and
 *            TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   When the event completes, the data is visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the data is visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_vector_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                  const tern_vector *vector, uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_put_vector_with(ctx, region, rank, vector, &opts);
}

/* Start copying the pieces of a vector from local memory to rank's part of region, and notify rank with tag when the
 * operation is complete. The next tern_quiet on ctx completes the operation, and reports an error that occurs after the
 * start. The call does not wait for the transfer, but waits for resources if they are exhausted. The caller must not
 * modify the source until tern_quiet returns. The caller may reuse *vector as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, vector, a list or the address of a piece is NULL, or the two lists have different
 *            total lengths.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   At the latest when tern_quiet returns, the data is visible to all ranks, and the notification has been
 *          delivered to the queue of the target. The target receives the notification after the data is visible in its
 *          memory. The target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_vector_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_vector *vector, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_put_vector_with(ctx, region, rank, vector, &opts);
}

/* Copy the pieces of a vector from rank's part of region to local memory, and notify rank with tag.
 * Returns  TERN_OK: the data is in the destination.
 *          TERN_ERR_ARG: ctx, region, vector, a list or the address of a piece is NULL, or the two lists have different
 *            total lengths. Nothing was read.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space. Nothing was read.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the content
 *            of the destination is undefined.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The content of the destination is undefined, and Tern may
 *            still write to it until tern_quiet returns. The target may not have been notified.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The content of the destination is undefined.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the notification has been delivered to the queue of the target. When the target
 *          receives the notification, the data has been read and the target may overwrite it. The target does not have
 *          to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_vector_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                            uint32_t tag);

/* Start copying the pieces of a vector from rank's part of region to local memory, and notify rank with tag when the
 * operation is complete. The call fills *event and does not wait for the transfer, but waits for resources if they are
 * exhausted. The content of the destination is undefined until the event completes. The caller may reuse *vector as
 * soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, vector, a list or the address of a piece is NULL, or the two lists have
 *            different total lengths.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and no data has been transferred; but after TERN_ERR_LINK and
 *            TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   When the event completes, the notification has been delivered to the queue of the target. When the target
 *          receives the notification, the data has been read and the target may overwrite it. The target does not have
 *          to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_vector_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                  const tern_vector *vector, uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_get_vector_with(ctx, region, rank, vector, &opts);
}

/* Start copying the pieces of a vector from rank's part of region to local memory, and notify rank with tag when the
 * operation is complete. The next tern_quiet on ctx completes the operation, and reports an error that occurs after the
 * start. The call does not wait for the transfer, but waits for resources if they are exhausted. The content of the
 * destination is undefined until tern_quiet returns. The caller may reuse *vector as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, vector, a list or the address of a piece is NULL, or the two lists have different
 *            total lengths.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   At the latest when tern_quiet returns, the notification has been delivered to the queue of the target. When
 *          the target receives the notification, the data has been read and the target may overwrite it. The target
 *          does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_vector_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_vector *vector, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_get_vector_with(ctx, region, rank, vector, &opts);
}

/* Copy pieces of equal length from local memory to rank's part of region, and notify rank with tag. When the call
 * returns, the caller may modify the source.
 * Returns  TERN_OK: the put is complete.
 *          TERN_ERR_ARG: ctx, region, indexed, a list or an address is NULL, or count times length differs between the
 *            two sides. Nothing was written.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space. Nothing was written.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Part of the data may have been written, and Tern may
 *            still read the source until tern_quiet returns. The target may not have been notified.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            Part of the data may have been written.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the data is visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the data is visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_put_indexed_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                             uint32_t tag);

/* Start copying pieces of equal length from local memory to rank's part of region, and notify rank with tag when the
 * operation is complete. The call fills *event and does not wait for the transfer, but waits for resources if they are
 * exhausted. The caller must not modify the source until the event completes. The caller may reuse *indexed as soon as
 * the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, indexed, a list or an address is NULL, or count times length differs
 *            between the two sides.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and no data has been transferred; but after TERN_ERR_LINK and
 *            TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   When the event completes, the data is visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the data is visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_indexed_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_indexed *indexed, uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_put_indexed_with(ctx, region, rank, indexed, &opts);
}

/* Start copying pieces of equal length from local memory to rank's part of region, and notify rank with tag when the
 * operation is complete. The next tern_quiet on ctx completes the operation, and reports an error that occurs after the
 * start. The call does not wait for the transfer, but waits for resources if they are exhausted. The caller must not
 * modify the source until tern_quiet returns. The caller may reuse *indexed as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, indexed, a list or an address is NULL, or count times length differs between the
 *            two sides.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   At the latest when tern_quiet returns, the data is visible to all ranks, and the notification has been
 *          delivered to the queue of the target. The target receives the notification after the data is visible in its
 *          memory. The target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_indexed_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                    const tern_indexed *indexed, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_put_indexed_with(ctx, region, rank, indexed, &opts);
}

/* Copy pieces of equal length from rank's part of region to local memory, and notify rank with tag.
 * Returns  TERN_OK: the data is in the destination.
 *          TERN_ERR_ARG: ctx, region, indexed, a list or an address is NULL, or count times length differs between the
 *            two sides. Nothing was read.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space. Nothing was read.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the content
 *            of the destination is undefined.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The content of the destination is undefined, and Tern may
 *            still write to it until tern_quiet returns. The target may not have been notified.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The content of the destination is undefined.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the notification has been delivered to the queue of the target. When the target
 *          receives the notification, the data has been read and the target may overwrite it. The target does not have
 *          to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_indexed_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                             uint32_t tag);

/* Start copying pieces of equal length from rank's part of region to local memory, and notify rank with tag when the
 * operation is complete. The call fills *event and does not wait for the transfer, but waits for resources if they are
 * exhausted. The content of the destination is undefined until the event completes. The caller may reuse *indexed as
 * soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, indexed, a list or an address is NULL, or count times length differs
 *            between the two sides.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and no data has been transferred; but after TERN_ERR_LINK and
 *            TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   When the event completes, the notification has been delivered to the queue of the target. When the target
 *          receives the notification, the data has been read and the target may overwrite it. The target does not have
 *          to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_indexed_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_indexed *indexed, uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_get_indexed_with(ctx, region, rank, indexed, &opts);
}

/* Start copying pieces of equal length from rank's part of region to local memory, and notify rank with tag when the
 * operation is complete. The next tern_quiet on ctx completes the operation, and reports an error that occurs after the
 * start. The call does not wait for the transfer, but waits for resources if they are exhausted. The content of the
 * destination is undefined until tern_quiet returns. The caller may reuse *indexed as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, indexed, a list or an address is NULL, or count times length differs between the
 *            two sides.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   At the latest when tern_quiet returns, the notification has been delivered to the queue of the target. When
 *          the target receives the notification, the data has been read and the target may overwrite it. The target
 *          does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_indexed_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                    const tern_indexed *indexed, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_get_indexed_with(ctx, region, rank, indexed, &opts);
}

/* Copy a box of elements from local memory to rank's part of region, and notify rank with tag. When the call returns,
 * the caller may modify the source.
 * Returns  TERN_OK: the put is complete.
 *          TERN_ERR_ARG: ctx, region, strided, the local address or a list is NULL, or there are more than
 *            TERN_STRIDED_DIMS dimensions. Nothing was written.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or the box does not lie in rank's
 *            part or in the local address space. Nothing was written.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Part of the data may have been written, and Tern may
 *            still read the source until tern_quiet returns. The target may not have been notified.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            Part of the data may have been written.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the data is visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the data is visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_put_strided_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                             uint32_t tag);

/* Start copying a box of elements from local memory to rank's part of region, and notify rank with tag when the
 * operation is complete. The call fills *event and does not wait for the transfer, but waits for resources if they are
 * exhausted. The caller must not modify the source until the event completes. The caller may reuse *strided as soon as
 * the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, strided, the local address or a list is NULL, or there are more than
 *            TERN_STRIDED_DIMS dimensions.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or the box does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and no data has been transferred; but after TERN_ERR_LINK and
 *            TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   When the event completes, the data is visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the data is visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_strided_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_strided *strided, uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_put_strided_with(ctx, region, rank, strided, &opts);
}

/* Start copying a box of elements from local memory to rank's part of region, and notify rank with tag when the
 * operation is complete. The next tern_quiet on ctx completes the operation, and reports an error that occurs after the
 * start. The call does not wait for the transfer, but waits for resources if they are exhausted. The caller must not
 * modify the source until tern_quiet returns. The caller may reuse *strided as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, strided, the local address or a list is NULL, or there are more than
 *            TERN_STRIDED_DIMS dimensions.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or the box does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   At the latest when tern_quiet returns, the data is visible to all ranks, and the notification has been
 *          delivered to the queue of the target. The target receives the notification after the data is visible in its
 *          memory. The target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_put_strided_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                    const tern_strided *strided, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_put_strided_with(ctx, region, rank, strided, &opts);
}

/* Copy a box of elements from rank's part of region to local memory, and notify rank with tag.
 * Returns  TERN_OK: the data is in the destination.
 *          TERN_ERR_ARG: ctx, region, strided, the local address or a list is NULL, or there are more than
 *            TERN_STRIDED_DIMS dimensions. Nothing was read.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or the box does not lie in rank's
 *            part or in the local address space. Nothing was read.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the content
 *            of the destination is undefined.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The content of the destination is undefined, and Tern may
 *            still write to it until tern_quiet returns. The target may not have been notified.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The content of the destination is undefined.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 * Remote   When the call returns, the notification has been delivered to the queue of the target. When the target
 *          receives the notification, the data has been read and the target may overwrite it. The target does not have
 *          to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_strided_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                             uint32_t tag);

/* Start copying a box of elements from rank's part of region to local memory, and notify rank with tag when the
 * operation is complete. The call fills *event and does not wait for the transfer, but waits for resources if they are
 * exhausted. The content of the destination is undefined until the event completes. The caller may reuse *strided as
 * soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, strided, the local address or a list is NULL, or there are more than
 *            TERN_STRIDED_DIMS dimensions.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or the box does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and no data has been transferred; but after TERN_ERR_LINK and
 *            TERN_ERR_PEER, part of the data may have been transferred.
 * Remote   When the event completes, the notification has been delivered to the queue of the target. When the target
 *          receives the notification, the data has been read and the target may overwrite it. The target does not have
 *          to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_strided_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_strided *strided, uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_get_strided_with(ctx, region, rank, strided, &opts);
}

/* Start copying a box of elements from rank's part of region to local memory, and notify rank with tag when the
 * operation is complete. The next tern_quiet on ctx completes the operation, and reports an error that occurs after the
 * start. The call does not wait for the transfer, but waits for resources if they are exhausted. The content of the
 * destination is undefined until tern_quiet returns. The caller may reuse *strided as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, strided, the local address or a list is NULL, or there are more than
 *            TERN_STRIDED_DIMS dimensions.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or the box does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, no data has been transferred; but after TERN_ERR_LINK and TERN_ERR_PEER, part of the data
 *            may have been transferred.
 * Remote   At the latest when tern_quiet returns, the notification has been delivered to the queue of the target. When
 *          the target receives the notification, the data has been read and the target may overwrite it. The target
 *          does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_strided_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                    const tern_strided *strided, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_get_strided_with(ctx, region, rank, strided, &opts);
}

/* Add the elements in the len bytes at src, multiplied by the scale, to the elements at byte offset of rank's part of
 * region, and notify rank with tag. When the call returns, the caller may modify src.
 * Returns  TERN_OK: the accumulate is complete.
 *          TERN_ERR_ARG: ctx, region or scale is NULL, src is NULL and len is not 0, the type is unknown, len is not a
 *            multiple of the element size, or a target element is misaligned. Nothing was added.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or offset and len exceed rank's
 *            part. Nothing was added.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The target may not have been notified. Tern may still
 *            read src until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some elements may have been added
 *            to, each once.
 * Remote   When the call returns, the sums are visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the sums are visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_acc_notify(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                     size_t len, const tern_scale *scale, uint32_t tag);

/* Start adding the elements in the len bytes at src, multiplied by the scale, to the elements at byte offset of rank's
 * part of region, and notify rank with tag when the operation is complete. The call fills *event and does not wait for
 * the transfer, but waits for resources if they are exhausted. The caller must not modify src until the event
 * completes.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event or scale is NULL, src is NULL and len is not 0, the type is unknown, len is
 *            not a multiple of the element size, or a target element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or offset and len exceed rank's
 *            part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and nothing has been added.
 * Remote   When the event completes, the sums are visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the sums are visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_acc_notify_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                           const void *src, size_t len, const tern_scale *scale, uint32_t tag,
                                           tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_acc_with(ctx, region, rank, offset, src, len, scale, &opts);
}

/* Start adding the elements in the len bytes at src, multiplied by the scale, to the elements at byte offset of rank's
 * part of region, and notify rank with tag when the operation is complete. The next tern_quiet on ctx completes the
 * operation, and reports an error that occurs after the start. The call does not wait for the transfer, but waits for
 * resources if they are exhausted. The caller must not modify src until tern_quiet returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region or scale is NULL, src is NULL and len is not 0, the type is unknown, len is not a
 *            multiple of the element size, or a target element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or offset and len exceed rank's
 *            part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, nothing has been added.
 * Remote   At the latest when tern_quiet returns, the sums are visible to all ranks, and the notification has been
 *          delivered to the queue of the target. The target receives the notification after the sums are visible in its
 *          memory. The target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_acc_notify_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                            const void *src, size_t len, const tern_scale *scale, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_acc_with(ctx, region, rank, offset, src, len, scale, &opts);
}

/* Add the elements in the len bytes at local, multiplied by the scale, to the elements at byte offset of rank's part of
 * region, fetch the previous values, and notify rank with tag. The previous value of each element replaces its summand
 * in local.
 * Returns  TERN_OK: the accumulate is complete, and the previous values are in local.
 *          TERN_ERR_ARG: ctx, region or scale is NULL, local is NULL and len is not 0, the type is unknown, len is not
 *            a multiple of the element size, or a target element is misaligned. Nothing was added.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or offset and len exceed rank's
 *            part. Nothing was added.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The target may not have been notified.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some elements may have been added
 *            to, each once. The content of local is undefined, and Tern may still write to it until tern_quiet returns.
 * Remote   When the call returns, the sums are visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the sums are visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_acc_notify(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *local,
                                         size_t len, const tern_scale *scale, uint32_t tag);

/* Start adding the elements in the len bytes at local, multiplied by the scale, to the elements at byte offset of
 * rank's part of region, fetch the previous values, and notify rank with tag when the operation is complete. The call
 * fills *event and does not wait for the transfer, but waits for resources if they are exhausted. The previous value of
 * each element replaces its summand in local. The content of local is undefined until the event completes.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event or scale is NULL, local is NULL and len is not 0, the type is unknown, len
 *            is not a multiple of the element size, or a target element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or offset and len exceed rank's
 *            part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and nothing has been added.
 * Remote   When the event completes, the sums are visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the sums are visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_acc_notify_nb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                               void *local, size_t len, const tern_scale *scale, uint32_t tag,
                                               tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_get_acc_with(ctx, region, rank, offset, local, len, scale, &opts);
}

/* Start adding the elements in the len bytes at local, multiplied by the scale, to the elements at byte offset of
 * rank's part of region, fetch the previous values, and notify rank with tag when the operation is complete. The next
 * tern_quiet on ctx completes the operation, and reports an error that occurs after the start. The call does not wait
 * for the transfer, but waits for resources if they are exhausted. The previous value of each element replaces its
 * summand in local. The content of local is undefined until tern_quiet returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region or scale is NULL, local is NULL and len is not 0, the type is unknown, len is not
 *            a multiple of the element size, or a target element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or offset and len exceed rank's
 *            part.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, nothing has been added.
 * Remote   At the latest when tern_quiet returns, the sums are visible to all ranks, and the notification has been
 *          delivered to the queue of the target. The target receives the notification after the sums are visible in its
 *          memory. The target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_acc_notify_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                                void *local, size_t len, const tern_scale *scale, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_get_acc_with(ctx, region, rank, offset, local, len, scale, &opts);
}

/* Add the elements of a vector in local memory, multiplied by the scale, to the elements of rank's part of region, and
 * notify rank with tag. When the call returns, the caller may modify the source.
 * Returns  TERN_OK: the accumulate is complete.
 *          TERN_ERR_ARG: ctx, region, vector, scale, a list or the address of a piece is NULL, the two lists have
 *            different total lengths, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned. Nothing was added.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space. Nothing was added.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The target may not have been notified. Tern may still
 *            read the source until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some elements may have been added
 *            to, each once.
 * Remote   When the call returns, the sums are visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the sums are visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_acc_vector_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                            const tern_scale *scale, uint32_t tag);

/* Start adding the elements of a vector in local memory, multiplied by the scale, to the elements of rank's part of
 * region, and notify rank with tag when the operation is complete. The call fills *event and does not wait for the
 * transfer, but waits for resources if they are exhausted. The caller must not modify the source until the event
 * completes. The caller may reuse *vector as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, vector, scale, a list or the address of a piece is NULL, the two lists
 *            have different total lengths, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and nothing has been added.
 * Remote   When the event completes, the sums are visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the sums are visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_acc_vector_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                  const tern_vector *vector, const tern_scale *scale, uint32_t tag,
                                                  tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_acc_vector_with(ctx, region, rank, vector, scale, &opts);
}

/* Start adding the elements of a vector in local memory, multiplied by the scale, to the elements of rank's part of
 * region, and notify rank with tag when the operation is complete. The next tern_quiet on ctx completes the operation,
 * and reports an error that occurs after the start. The call does not wait for the transfer, but waits for resources if
 * they are exhausted. The caller must not modify the source until tern_quiet returns. The caller may reuse *vector as
 * soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, vector, scale, a list or the address of a piece is NULL, the two lists have
 *            different total lengths, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, nothing has been added.
 * Remote   At the latest when tern_quiet returns, the sums are visible to all ranks, and the notification has been
 *          delivered to the queue of the target. The target receives the notification after the sums are visible in its
 *          memory. The target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_acc_vector_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_vector *vector, const tern_scale *scale, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_acc_vector_with(ctx, region, rank, vector, scale, &opts);
}

/* Add the elements of a vector in local memory, multiplied by the scale, to the elements of rank's part of region,
 * fetch the previous values, and notify rank with tag. The previous value of each element replaces its summand in local
 * memory.
 * Returns  TERN_OK: the accumulate is complete, and the previous values are in local memory.
 *          TERN_ERR_ARG: ctx, region, vector, scale, a list or the address of a piece is NULL, the two lists have
 *            different total lengths, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned. Nothing was added.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space. Nothing was added.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The target may not have been notified.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some elements may have been added
 *            to, each once. The content of local memory is undefined, and Tern may still write to it until tern_quiet
 *            returns.
 * Remote   When the call returns, the sums are visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the sums are visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_acc_vector_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                                const tern_scale *scale, uint32_t tag);

/* Start adding the elements of a vector in local memory, multiplied by the scale, to the elements of rank's part of
 * region, fetch the previous values, and notify rank with tag when the operation is complete. The call fills *event and
 * does not wait for the transfer, but waits for resources if they are exhausted. The previous value of each element
 * replaces its summand in local memory. The content of local memory is undefined until the event completes. The caller
 * may reuse *vector as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, vector, scale, a list or the address of a piece is NULL, the two lists
 *            have different total lengths, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and nothing has been added.
 * Remote   When the event completes, the sums are visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the sums are visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_acc_vector_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                      const tern_vector *vector, const tern_scale *scale, uint32_t tag,
                                                      tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_get_acc_vector_with(ctx, region, rank, vector, scale, &opts);
}

/* Start adding the elements of a vector in local memory, multiplied by the scale, to the elements of rank's part of
 * region, fetch the previous values, and notify rank with tag when the operation is complete. The next tern_quiet on
 * ctx completes the operation, and reports an error that occurs after the start. The call does not wait for the
 * transfer, but waits for resources if they are exhausted. The previous value of each element replaces its summand in
 * local memory. The content of local memory is undefined until tern_quiet returns. The caller may reuse *vector as soon
 * as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, vector, scale, a list or the address of a piece is NULL, the two lists have
 *            different total lengths, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, nothing has been added.
 * Remote   At the latest when tern_quiet returns, the sums are visible to all ranks, and the notification has been
 *          delivered to the queue of the target. The target receives the notification after the sums are visible in its
 *          memory. The target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_acc_vector_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                       const tern_vector *vector, const tern_scale *scale, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_get_acc_vector_with(ctx, region, rank, vector, scale, &opts);
}

/* Add the elements of pieces of equal length in local memory, multiplied by the scale, to the elements of rank's part
 * of region, and notify rank with tag. When the call returns, the caller may modify the source.
 * Returns  TERN_OK: the accumulate is complete.
 *          TERN_ERR_ARG: ctx, region, indexed, scale, a list or an address is NULL, count times length differs between
 *            the two sides, the type is unknown, a piece does not consist of whole elements, or a target element is
 *            misaligned. Nothing was added.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space. Nothing was added.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The target may not have been notified. Tern may still
 *            read the source until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some elements may have been added
 *            to, each once.
 * Remote   When the call returns, the sums are visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the sums are visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_acc_indexed_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                             const tern_scale *scale, uint32_t tag);

/* Start adding the elements of pieces of equal length in local memory, multiplied by the scale, to the elements of
 * rank's part of region, and notify rank with tag when the operation is complete. The call fills *event and does not
 * wait for the transfer, but waits for resources if they are exhausted. The caller must not modify the source until the
 * event completes. The caller may reuse *indexed as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, indexed, scale, a list or an address is NULL, count times length differs
 *            between the two sides, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and nothing has been added.
 * Remote   When the event completes, the sums are visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the sums are visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_acc_indexed_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_indexed *indexed, const tern_scale *scale, uint32_t tag,
                                                   tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_acc_indexed_with(ctx, region, rank, indexed, scale, &opts);
}

/* Start adding the elements of pieces of equal length in local memory, multiplied by the scale, to the elements of
 * rank's part of region, and notify rank with tag when the operation is complete. The next tern_quiet on ctx completes
 * the operation, and reports an error that occurs after the start. The call does not wait for the transfer, but waits
 * for resources if they are exhausted. The caller must not modify the source until tern_quiet returns. The caller may
 * reuse *indexed as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, indexed, scale, a list or an address is NULL, count times length differs between
 *            the two sides, the type is unknown, a piece does not consist of whole elements, or a target element is
 *            misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, nothing has been added.
 * Remote   At the latest when tern_quiet returns, the sums are visible to all ranks, and the notification has been
 *          delivered to the queue of the target. The target receives the notification after the sums are visible in its
 *          memory. The target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_acc_indexed_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                    const tern_indexed *indexed, const tern_scale *scale, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_acc_indexed_with(ctx, region, rank, indexed, scale, &opts);
}

/* Add the elements of pieces of equal length in local memory, multiplied by the scale, to the elements of rank's part
 * of region, fetch the previous values, and notify rank with tag. The previous value of each element replaces its
 * summand in local memory.
 * Returns  TERN_OK: the accumulate is complete, and the previous values are in local memory.
 *          TERN_ERR_ARG: ctx, region, indexed, scale, a list or an address is NULL, count times length differs between
 *            the two sides, the type is unknown, a piece does not consist of whole elements, or a target element is
 *            misaligned. Nothing was added.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space. Nothing was added.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The target may not have been notified.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some elements may have been added
 *            to, each once. The content of local memory is undefined, and Tern may still write to it until tern_quiet
 *            returns.
 * Remote   When the call returns, the sums are visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the sums are visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_acc_indexed_notify(tern_ctx *ctx, tern_region *region, int rank,
                                                 const tern_indexed *indexed, const tern_scale *scale, uint32_t tag);

/* Start adding the elements of pieces of equal length in local memory, multiplied by the scale, to the elements of
 * rank's part of region, fetch the previous values, and notify rank with tag when the operation is complete. The call
 * fills *event and does not wait for the transfer, but waits for resources if they are exhausted. The previous value of
 * each element replaces its summand in local memory. The content of local memory is undefined until the event
 * completes. The caller may reuse *indexed as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, indexed, scale, a list or an address is NULL, count times length differs
 *            between the two sides, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and nothing has been added.
 * Remote   When the event completes, the sums are visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the sums are visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_acc_indexed_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                       const tern_indexed *indexed, const tern_scale *scale,
                                                       uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_get_acc_indexed_with(ctx, region, rank, indexed, scale, &opts);
}

/* Start adding the elements of pieces of equal length in local memory, multiplied by the scale, to the elements of
 * rank's part of region, fetch the previous values, and notify rank with tag when the operation is complete. The next
 * tern_quiet on ctx completes the operation, and reports an error that occurs after the start. The call does not wait
 * for the transfer, but waits for resources if they are exhausted. The previous value of each element replaces its
 * summand in local memory. The content of local memory is undefined until tern_quiet returns. The caller may reuse
 * *indexed as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, indexed, scale, a list or an address is NULL, count times length differs between
 *            the two sides, the type is unknown, a piece does not consist of whole elements, or a target element is
 *            misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or a piece does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, nothing has been added.
 * Remote   At the latest when tern_quiet returns, the sums are visible to all ranks, and the notification has been
 *          delivered to the queue of the target. The target receives the notification after the sums are visible in its
 *          memory. The target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_acc_indexed_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                        const tern_indexed *indexed, const tern_scale *scale,
                                                        uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_get_acc_indexed_with(ctx, region, rank, indexed, scale, &opts);
}

/* Add the elements of a box in local memory, multiplied by the scale, to the elements of rank's part of region, and
 * notify rank with tag. When the call returns, the caller may modify the source.
 * Returns  TERN_OK: the accumulate is complete.
 *          TERN_ERR_ARG: ctx, region, strided, scale, the local address or a list is NULL, there are more than
 *            TERN_STRIDED_DIMS dimensions, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned. Nothing was added.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or the box does not lie in rank's
 *            part or in the local address space. Nothing was added.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The target may not have been notified. Tern may still
 *            read the source until tern_quiet returns.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some elements may have been added
 *            to, each once.
 * Remote   When the call returns, the sums are visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the sums are visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_acc_strided_notify(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                             const tern_scale *scale, uint32_t tag);

/* Start adding the elements of a box in local memory, multiplied by the scale, to the elements of rank's part of
 * region, and notify rank with tag when the operation is complete. The call fills *event and does not wait for the
 * transfer, but waits for resources if they are exhausted. The caller must not modify the source until the event
 * completes. The caller may reuse *strided as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, strided, scale, the local address or a list is NULL, there are more than
 *            TERN_STRIDED_DIMS dimensions, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or the box does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and nothing has been added.
 * Remote   When the event completes, the sums are visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the sums are visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_acc_strided_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                   const tern_strided *strided, const tern_scale *scale, uint32_t tag,
                                                   tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_acc_strided_with(ctx, region, rank, strided, scale, &opts);
}

/* Start adding the elements of a box in local memory, multiplied by the scale, to the elements of rank's part of
 * region, and notify rank with tag when the operation is complete. The next tern_quiet on ctx completes the operation,
 * and reports an error that occurs after the start. The call does not wait for the transfer, but waits for resources if
 * they are exhausted. The caller must not modify the source until tern_quiet returns. The caller may reuse *strided as
 * soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, strided, scale, the local address or a list is NULL, there are more than
 *            TERN_STRIDED_DIMS dimensions, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or the box does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, nothing has been added.
 * Remote   At the latest when tern_quiet returns, the sums are visible to all ranks, and the notification has been
 *          delivered to the queue of the target. The target receives the notification after the sums are visible in its
 *          memory. The target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_acc_strided_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                    const tern_strided *strided, const tern_scale *scale, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_acc_strided_with(ctx, region, rank, strided, scale, &opts);
}

/* Add the elements of a box in local memory, multiplied by the scale, to the elements of rank's part of region, fetch
 * the previous values, and notify rank with tag. The previous value of each element replaces its summand in local
 * memory.
 * Returns  TERN_OK: the accumulate is complete, and the previous values are in local memory.
 *          TERN_ERR_ARG: ctx, region, strided, scale, the local address or a list is NULL, there are more than
 *            TERN_STRIDED_DIMS dimensions, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned. Nothing was added.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or the box does not lie in rank's
 *            part or in the local address space. Nothing was added.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The target may not have been notified.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After TERN_ERR_TIMEOUT, TERN_ERR_LINK and a death of rank during the call, some elements may have been added
 *            to, each once. The content of local memory is undefined, and Tern may still write to it until tern_quiet
 *            returns.
 * Remote   When the call returns, the sums are visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the sums are visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_get_acc_strided_notify(tern_ctx *ctx, tern_region *region, int rank,
                                                 const tern_strided *strided, const tern_scale *scale, uint32_t tag);

/* Start adding the elements of a box in local memory, multiplied by the scale, to the elements of rank's part of
 * region, fetch the previous values, and notify rank with tag when the operation is complete. The call fills *event and
 * does not wait for the transfer, but waits for resources if they are exhausted. The previous value of each element
 * replaces its summand in local memory. The content of local memory is undefined until the event completes. The caller
 * may reuse *strided as soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, strided, scale, the local address or a list is NULL, there are more than
 *            TERN_STRIDED_DIMS dimensions, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or the box does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, *event is unchanged, and nothing has been added.
 * Remote   When the event completes, the sums are visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the sums are visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_acc_strided_notify_nb(tern_ctx *ctx, tern_region *region, int rank,
                                                       const tern_strided *strided, const tern_scale *scale,
                                                       uint32_t tag, tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_get_acc_strided_with(ctx, region, rank, strided, scale, &opts);
}

/* Start adding the elements of a box in local memory, multiplied by the scale, to the elements of rank's part of
 * region, fetch the previous values, and notify rank with tag when the operation is complete. The next tern_quiet on
 * ctx completes the operation, and reports an error that occurs after the start. The call does not wait for the
 * transfer, but waits for resources if they are exhausted. The previous value of each element replaces its summand in
 * local memory. The content of local memory is undefined until tern_quiet returns. The caller may reuse *strided as
 * soon as the call returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, strided, scale, the local address or a list is NULL, there are more than
 *            TERN_STRIDED_DIMS dimensions, the type is unknown, a piece does not consist of whole elements, or a target
 *            element is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, or the box does not lie in rank's
 *            part or in the local address space.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          After an error, nothing has been added.
 * Remote   At the latest when tern_quiet returns, the sums are visible to all ranks, and the notification has been
 *          delivered to the queue of the target. The target receives the notification after the sums are visible in its
 *          memory. The target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_get_acc_strided_notify_nbi(tern_ctx *ctx, tern_region *region, int rank,
                                                        const tern_strided *strided, const tern_scale *scale,
                                                        uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_get_acc_strided_with(ctx, region, rank, strided, scale, &opts);
}

/* Execute one atomic operation on the value at byte offset of rank's part of region, and notify rank with tag.
 * Returns  TERN_OK: the operation is complete, and a fetching operation has stored the previous value in *args->result.
 *          TERN_ERR_ARG: ctx, region, domain, args or a pointer that the operation needs is NULL, the operation is not
 *            one of the domain, or offset is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, offset exceeds rank's part, or the
 *            mechanism of the domain is TERN_ATOMIC_NETWORK and rank is not in its team.
 *          TERN_ERR_STATE: the domain was freed, or an active message handler made the call, and the call would have to
 *            wait.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the operation
 *            may have been executed.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The operation may be executed until tern_quiet returns,
 *            the result is not stored, and the target may not have been notified.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The operation may have been executed.
 * Remote   When the call returns, the new value is visible to all ranks, and the notification has been delivered to the
 *          queue of the target. The target receives the notification after the new value is visible in its memory. The
 *          target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_atomic_notify(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                        uint64_t offset, const tern_atomic_args *args, uint32_t tag);

/* Start one atomic operation on the value at byte offset of rank's part of region, and notify rank with tag when the
 * operation is complete. The call fills *event. It reads the operand before it returns; the result is undefined until
 * the event completes.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, event, domain, args or a pointer that the operation needs is NULL, the operation
 *            is not one of the domain, or offset is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, offset exceeds rank's part, or the
 *            mechanism of the domain is TERN_ATOMIC_NETWORK and rank is not in its team.
 *          TERN_ERR_STATE: the domain was freed, or an active message handler made the call, and the call would have to
 *            wait.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          After an error, nothing has been changed, and *event is unchanged.
 * Remote   When the event completes, the new value is visible to all ranks, and the notification has been delivered to
 *          the queue of the target. The target receives the notification after the new value is visible in its memory.
 *          The target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_notify_nb(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                              uint64_t offset, const tern_atomic_args *args, uint32_t tag,
                                              tern_event *event)
{
    tern_opts opts = { TERN_WANT_EVENT | TERN_NOTIFY, NULL, event, tag, NULL, NULL, 0 };

    return tern_atomic_with(ctx, domain, region, rank, offset, args, &opts);
}

/* Start one atomic operation on the value at byte offset of rank's part of region, and notify rank with tag when the
 * operation is complete. The next tern_quiet on ctx completes the operation. The call reads the operand before it
 * returns; the result is undefined until tern_quiet returns.
 * Returns  TERN_OK: the operation has started, and may already be complete.
 *          TERN_ERR_ARG: ctx, region, domain, args or a pointer that the operation needs is NULL, the operation is not
 *            one of the domain, or offset is misaligned.
 *          TERN_ERR_RANGE: rank is not in the team of the context or of the region, offset exceeds rank's part, or the
 *            mechanism of the domain is TERN_ATOMIC_NETWORK and rank is not in its team.
 *          TERN_ERR_STATE: the domain was freed, or an active message handler made the call, and the call would have to
 *            wait.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken.
 *          TERN_ERR_TIMEOUT: the context's time limit passed before there were resources for the operation, or space
 *            for the notification at the target.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          After an error, nothing has been changed.
 * Remote   At the latest when tern_quiet returns, the new value is visible to all ranks, and the notification has been
 *          delivered to the queue of the target. The target receives the notification after the new value is visible in
 *          its memory. The target does not have to call Tern, unless its notification queue is full.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_notify_nbi(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                               uint64_t offset, const tern_atomic_args *args, uint32_t tag)
{
    tern_opts opts = { TERN_NOTIFY, NULL, NULL, tag, NULL, NULL, 0 };

    return tern_atomic_with(ctx, domain, region, rank, offset, args, &opts);
}

TERN_END_DECLS

#endif

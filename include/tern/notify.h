/* notify.h: notified accesses, which notify their target when they are complete.
 *
 * A notified access is a put, get, accumulate, get-accumulate or atomic operation of any shape and length (even 0) that
 * sends a notification to its target when it is complete: data that it wrote is in place and may be read, and data that
 * it read may be overwritten. The target waits for the notification with a notification request
 * (tern_notify_create), which is a persistent tern_request (request.h). The target never sees a notification before the
 * data.
 *
 * Every call with options (_with) makes a notified access if the flag TERN_NOTIFY is set; the tag of the notification
 * is tern_opts.tag. The calls below have the tag as an argument. A notified access is complete, and its event
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
#include <tern/context.h>
#include <tern/event.h>
#include <tern/region.h>
#include <tern/request.h>
#include <tern/rma.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* Send a notification to a rank without transferring data. The notification has the given tag. The notification belongs
 * to region, and reports 0 bytes.
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

/* Put contiguous data, and notify the target. The call copies len bytes from src to byte offset of rank's part of
 * region, and notifies rank with tag. When the call returns, the caller may modify src.
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

/* Start a put with notification, which tern_quiet completes. The call starts copying len bytes from src to byte offset
 * of rank's part of region. When the data is in place, rank is notified with tag. The next tern_quiet on ctx completes
 * the operation, and reports an error that occurs after the start. The call does not wait for the transfer, but waits
 * for resources if they are exhausted. The caller must not modify src until tern_quiet returns.
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

/* Start a put with notification, and fill an event. The call starts copying len bytes from src to byte offset of rank's
 * part of region. When the data is in place, rank is notified with tag. *event completes when the data is in place and
 * the notification has been delivered to the queue of the target. The call does not wait for the transfer, but waits
 * for resources if they are exhausted. The caller must not modify src until the event completes.
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
#define tern_put_notify_nb(ctx, region, rank, offset, src, len, tag, event) \
    tern_inline_put_notify(ctx, region, rank, offset, src, len, tern_inline_notify(tag, event, "tern_put_notify_nb"))

/* Start a get with notification, and fill an event. The call starts copying len bytes from byte offset of rank's part
 * of region to dst. When the data has been read, rank is notified with tag. *event completes when the data is in dst
 * and the notification has been delivered to the queue of the target. The call does not wait for the transfer, but
 * waits for resources if they are exhausted. The content of dst is undefined until the event completes.
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
#define tern_get_notify_nb(ctx, region, rank, offset, dst, len, tag, event) \
    tern_inline_get_notify(ctx, region, rank, offset, dst, len, tern_inline_notify(tag, event, "tern_get_notify_nb"))

/* The functions behind these calls are not part of the interface. */
TERN_INLINE tern_opts tern_inline_notify(uint32_t tag, tern_event *event, const char *call)
{
    tern_opts opts = TERN_OPTS_INIT;

    opts.flags = TERN_NOTIFY | TERN_WANT_EVENT;
    opts.tag = tag;
    opts.event = event;
    opts.call = call;
    return opts;
}

TERN_INLINE tern_status tern_inline_put_notify(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                               const void *src, size_t len, tern_opts opts)
{
    return tern_put_with(ctx, region, rank, offset, src, len, &opts);
}

TERN_INLINE tern_status tern_inline_get_notify(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst,
                                               size_t len, tern_opts opts)
{
    return tern_get_with(ctx, region, rank, offset, dst, len, &opts);
}

/* Get contiguous data, and notify the target. The call copies len bytes from byte offset of rank's part of region to
 * dst, and notifies rank with tag.
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

/* Start a get with notification, which tern_quiet completes. The call starts copying len bytes from byte offset of
 * rank's part of region to dst. When the data has been read, rank is notified with tag. The next tern_quiet on ctx
 * completes the operation, and reports an error that occurs after the start. The call does not wait for the transfer,
 * but waits for resources if they are exhausted. The content of dst is undefined until tern_quiet returns.
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
    tern_opts opts = TERN_OPTS_INIT;

    opts.flags = TERN_NOTIFY;
    opts.tag = tag;
    opts.call = "tern_get_notify_nbi";
    return tern_get_with(ctx, region, rank, offset, dst, len, &opts);
}

/* Create a persistent request for notifications. The request waits for count notifications of accesses to this rank's
 * part of region. source is a rank of the context's team or TERN_ANY_SOURCE; tag is 0 to UINT32_MAX or TERN_ANY_TAG.
 * The call does not start the request. The request belongs to ctx, whose progress it uses. Free the request before
 * region. tern_ctx_free and tern_finalize free the requests that remain.
 * Returns  TERN_OK: *out is the request.
 *          TERN_ERR_ARG: a pointer is NULL, or count is 0.
 *          TERN_ERR_RANGE: source is not in the context's team, or tag does not fit in 32 bits.
 *          TERN_ERR_NOMEM: there is not enough memory.
 * Remote   None.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_notify_create(tern_ctx *ctx, tern_region *region, int source, int64_t tag, uint32_t count,
                                        tern_request **out);

/* Test whether a notification request would match at once. The call makes progress once, and tests whether an
 * unexpected notification is stored that the request would match if it were started. The notification remains stored.
 * Returns  TERN_OK: there is such a notification. Unless info is NULL, *info describes the oldest one.
 *          TERN_PENDING: there is no such notification.
 *          TERN_ERR_ARG: request is NULL, or not a notification request.
 * Remote   None. The data of the notification may be used.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_notify_probe(tern_request *request, tern_request_info *info);

TERN_END_DECLS

#endif

/* notice.h: notification requests, with which a target waits for notifications.
 *
 * A notified access (notify.h) sends a notification to its target when the access is complete. A notification carries
 * the source (the rank that made the access), the region, a tag of 32 bits, and the number of bytes that the access
 * moved. The target never sees a notification before the data to which it refers.
 *
 * To receive notifications, the target creates a notification request (tern_notice). A request selects a region, a
 * source or any source, a tag or any tag, and the number of notifications after which the request is complete. A
 * request is persistent: it is created once (tern_notice_init), and then started (tern_notice_start) and waited for
 * (tern_notice_wait) any number of times. A notification matches the started request that selects it and was started
 * first. A notification that matches no started request is unexpected; the rank stores it, and requests match stored
 * notifications in the order of arrival. Notifications of one strict context to one rank arrive in program order; all
 * others arrive in any order, even those of one source.
 *
 * A rank receives notifications inside Tern calls that wait or make progress. The space for them is limited: each
 * source can have TERN_NOTIFY_QUEUE notifications in flight to a rank that does not call Tern, and a rank stores at
 * most TERN_NOTIFY_KEEP unexpected notifications. When the limit is reached, further senders block, or receive
 * TERN_AGAIN if they set TERN_IMMEDIATE, until the target starts requests that match. No notification is lost.
 */
#ifndef TERN_NOTICE_H
#define TERN_NOTICE_H

#include <stddef.h>
#include <stdint.h>
#include <tern/context.h>
#include <tern/event.h>
#include <tern/job.h>
#include <tern/region.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

#define TERN_ANY_SOURCE (-1)
#define TERN_ANY_TAG (-1)

/* A notification request. */
typedef struct tern_notice tern_notice;

/* What a notification request has matched. */
typedef struct tern_notice_info {
    int source; /* rank, in the team of the request's context, of the source of the last match; -1: the source is not in
                   that team, or nothing has matched */
    uint32_t tag;     /* tag of the last match */
    uint64_t bytes;   /* number of bytes that the access of the last match moved */
    uint32_t matches; /* number of matches since the request was started */
} tern_notice_info;

/* Create a request for count notifications of accesses to this rank's part of region. source is a rank of the context's
 * team or TERN_ANY_SOURCE; tag is 0 to UINT32_MAX or TERN_ANY_TAG. The call does not start the request. The request
 * belongs to ctx, whose progress it uses, and must be freed before ctx and region are; tern_finalize frees the requests
 * that remain.
 * Returns  TERN_OK: *out is the request.
 *          TERN_ERR_ARG: a pointer is NULL, or count is 0.
 *          TERN_ERR_RANGE: source is not in the context's team, or tag does not fit in 32 bits.
 *          TERN_ERR_NOMEM: there is not enough memory.
 * Remote   None.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_notice_init(tern_ctx *ctx, tern_region *region, int source, int64_t tag, uint32_t count,
                                      tern_notice **out);

/* Start a notification request: set its number of matches to 0, match the stored unexpected notifications in the order
 * of arrival, and then match notifications as they arrive.
 * Returns  TERN_OK: the request is started, and may already be complete.
 *          TERN_ERR_STATE: the request is started and not complete.
 *          TERN_ERR_ARG: notice is NULL.
 * Remote   Sources that are blocked by flow control may continue.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_notice_start(tern_notice *notice);

/* Make progress once and test whether a notification request is complete. If it is complete, the request may be started
 * again, and *info describes what it has matched, unless info is NULL.
 * Returns  TERN_OK: the request is complete: it has matched all its notifications.
 *          TERN_PENDING: the request is not complete.
 *          TERN_ERR_PEER: all ranks that could send a matching notification have died. The request remains started.
 *          TERN_ERR_STATE: the request is not started, or a test or wait has already reported its completion.
 *          TERN_ERR_ARG: notice is NULL.
 * Remote   None. The data of the matched notifications may be used.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_notice_test(tern_notice *notice, tern_notice_info *info);

/* Make progress until a notification request is complete or the deadline passes. If it is complete, the request may be
 * started again, and *info describes what it has matched, unless info is NULL.
 * Returns  TERN_OK: the request is complete: it has matched all its notifications.
 *          TERN_ERR_TIMEOUT: the deadline passed first. The request can be waited for again.
 *          TERN_ERR_PEER: all ranks that could send a matching notification have died. The request remains started.
 *          TERN_ERR_STATE: the request is not started, a test or wait has already reported its completion, or an active
 *            message handler made the call and would have to wait.
 *          TERN_ERR_ARG: notice is NULL.
 * Remote   None. The data of the matched notifications may be used.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_notice_wait(tern_notice *notice, tern_deadline deadline, tern_notice_info *info);

/* Make progress once and test whether an unexpected notification is stored that the request would match if it were
 * started. The notification remains stored.
 * Returns  TERN_OK: there is such a notification. Unless info is NULL, *info describes the oldest one.
 *          TERN_PENDING: there is no such notification.
 *          TERN_ERR_ARG: notice is NULL.
 * Remote   None. The data of the notification may be used.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_notice_probe(tern_notice *notice, tern_notice_info *info);

/* Cancel a started notification request. Unless info is NULL, *info describes what the request has matched so far;
 * these notifications are consumed. Events of the request complete with TERN_ERR_STATE.
 * Returns  TERN_OK: the request is no longer started.
 *          TERN_ERR_STATE: the request is not started, or is complete.
 *          TERN_ERR_ARG: notice is NULL.
 * Remote   None.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_notice_cancel(tern_notice *notice, tern_notice_info *info);

/* Free a notification request. A started request is cancelled first.
 * Returns  TERN_OK: the request is freed.
 *          TERN_ERR_ARG: notice is NULL.
 * Remote   None.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_notice_free(tern_notice *notice);

/* Make progress once and test whether one of n notification requests is complete. If several are complete, the call
 * selects the one with the lowest index. Entries that are NULL, that are not started, or whose completion has already
 * been reported are skipped.
 * Returns  TERN_OK: the request with index *index is complete. Unless info is NULL, *info describes what it has
 *            matched.
 *          TERN_PENDING: no request is complete.
 *          TERN_ERR_STATE: no request is started.
 *          TERN_ERR_PEER: all ranks that could send a notification that matches the request with index *index have
 *            died. The request remains started.
 *          TERN_ERR_ARG: notices or index is NULL, or n is 0.
 * Remote   None. The data of the matched notifications may be used.
 * Threads  Only the thread that uses the contexts of the requests may call this function. */
TERN_API tern_status tern_notice_test_any(tern_notice *const *notices, size_t n, size_t *index, tern_notice_info *info);

/* Make progress until one of n notification requests is complete or the deadline passes. If several are complete, the
 * call selects the one with the lowest index. Entries that are NULL, that are not started, or whose completion has
 * already been reported are skipped.
 * Returns  TERN_OK: the request with index *index is complete. Unless info is NULL, *info describes what it has
 *            matched.
 *          TERN_ERR_TIMEOUT: the deadline passed, and no request is complete. All of them can be waited for again.
 *          TERN_ERR_STATE: no request is started, or an active message handler made the call.
 *          TERN_ERR_PEER: all ranks that could send a notification that matches the request with index *index have
 *            died. The request remains started.
 *          TERN_ERR_ARG: notices or index is NULL, or n is 0.
 * Remote   None. The data of the matched notifications may be used.
 * Threads  Only the thread that uses the contexts of the requests may call this function. */
TERN_API tern_status tern_notice_wait_any(tern_notice *const *notices, size_t n, tern_deadline deadline, size_t *index,
                                          tern_notice_info *info);

/* Make progress once and test whether all of n notification requests are complete. Entries that are NULL, that are not
 * started, or whose completion has already been reported are skipped, and their infos[i] is not changed.
 * Returns  TERN_OK: all requests are complete. Unless infos is NULL, infos[i] describes what request i has matched.
 *          TERN_PENDING: some requests are not complete. All requests remain as they are.
 *          TERN_ERR_PEER: all ranks that could send a notification that matches one of the requests have died. All
 *            requests remain as they are.
 *          TERN_ERR_ARG: notices is NULL and n is not 0.
 * Remote   None. The data of the matched notifications may be used.
 * Threads  Only the thread that uses the contexts of the requests may call this function. */
TERN_API tern_status tern_notice_test_all(tern_notice *const *notices, size_t n, tern_notice_info *infos);

/* Make progress until all of n notification requests are complete or the deadline passes. Entries that are NULL, that
 * are not started, or whose completion has already been reported are skipped, and their infos[i] is not changed.
 * Returns  TERN_OK: all requests are complete. Unless infos is NULL, infos[i] describes what request i has matched.
 *          TERN_ERR_TIMEOUT: the deadline passed, and some requests are not complete. All requests remain as they are.
 *          TERN_ERR_PEER: all ranks that could send a notification that matches one of the requests have died. All
 *            requests remain as they are.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_ARG: notices is NULL and n is not 0.
 * Remote   None. The data of the matched notifications may be used.
 * Threads  Only the thread that uses the contexts of the requests may call this function. */
TERN_API tern_status tern_notice_wait_all(tern_notice *const *notices, size_t n, tern_deadline deadline,
                                          tern_notice_info *infos);

/* Get an event that completes when a started notification request is complete, so that the program can wait for
 * requests and operations together. When the event has completed, call tern_notice_test to get what the request has
 * matched. The event fails with TERN_ERR_PEER if all ranks that could send a matching notification have died; the
 * request then remains started. The event fails with TERN_ERR_STATE if the request is cancelled.
 * Returns  TERN_OK: *event is filled.
 *          TERN_ERR_STATE: the request is not started, or its completion has already been reported.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_ARG: a pointer is NULL.
 * Remote   None.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_notice_event(tern_notice *notice, tern_event *event);

TERN_END_DECLS

#endif

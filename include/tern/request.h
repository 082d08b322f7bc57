/* request.h: requests for tagged messages and for notifications.
 *
 * There are two kinds of requests, and all calls of this header accept both; an array may mix them.
 *
 *   message        an outstanding send or receive of a tagged message (tagged.h). tern_isend, tern_irecv and their
 *                  relatives start such a request. tern_send_create, tern_ssend_create and tern_recv_create create a
 *                  persistent one
 *   notification   a wait for a number of notifications with a given region, source and tag (notify.h).
 *                  tern_notify_create creates such a request, which is always persistent
 *
 * The program tests a request or waits for it, alone or together with others. The call that reports the completion of a
 * request frees the request and sets the program's pointer to NULL, unless the request is persistent. A persistent
 * request is started with tern_request_start, any number of times; each start lasts until the completion has been
 * reported or the request is cancelled. It exists until tern_request_free, which also cancels a notification request
 * that is started. Cancel or wait for a send or receive before you free it.
 *
 * If a rank dies, a request for a message completes with TERN_ERR_PEER. A notification request remains started when a
 * test or wait returns TERN_ERR_PEER: cancel it (tern_request_cancel tells how many notifications have matched), or
 * free it.
 *
 * A request belongs to a context. Only the thread that uses the context may make calls on the request, and progress on
 * the context advances it. tern_quiet does not wait for requests. tern_ctx_free waits for sends and for matched
 * receives, and frees the requests of the context. tern_finalize frees all requests that remain.
 */
#ifndef TERN_REQUEST_H
#define TERN_REQUEST_H

#include <stddef.h>
#include <stdint.h>
#include <tern/context.h>
#include <tern/event.h>
#include <tern/job.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* An outstanding send, receive or wait for notifications. */
typedef struct tern_request tern_request;

/* Wildcards of receives, probes and notification requests. */
#define TERN_ANY_SOURCE (-1) /* a message or notification of any rank matches */
#define TERN_ANY_TAG (-1)    /* a message or notification with any tag matches */

/* The message or the last notification of a request. */
typedef struct tern_request_info {
    int      source;  /* rank in the team of the request's context: the sender of a received message, the receiver of a
                         sent one, or the source of the last notification that matched. -1: none, or not in that team */
    uint32_t matches; /* notification request: number of notifications that have matched since its start; otherwise 1 */
    int64_t  tag;     /* of the message, or of the last notification */
    uint64_t len;     /* length of the message in bytes, even if the buffer was shorter; or the number of bytes that the
                         access of the last notification moved */
    uint64_t reserved; /* 0 */
} tern_request_info;

/* Test whether a request is complete. The call makes progress once, and reports the completion of the request. A
 * request that is not persistent is freed, and its pointer is set to NULL. A persistent request is not freed, and may
 * be started again. Unless info is NULL, *info describes the message, or the last notification and the number of
 * matches.
 * Returns  TERN_OK: the request is complete.
 *          TERN_PENDING: the request is still outstanding.
 *          TERN_ERR_TRUNCATED: the receive is complete, but the message was longer than the buffer, which contains its
 *            beginning.
 *          TERN_ERR_PEER: the other rank died, or no rank is left that could send. A request for a message is complete.
 *            A notification request remains started, because matches of other ranks may be missing: cancel it, or free
 *            it.
 *          Another error: the request is complete, and failed with this error.
 *          TERN_ERR_STATE: *request is NULL, or the persistent request is not started.
 *          TERN_ERR_ARG: request is NULL.
 * Remote   None. The program may use the data of a completed receive or notification, and may modify the buffer of a
 *          completed send.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_request_test(tern_request **request, tern_request_info *info);

/* Wait until a request is complete. The call makes progress until the request is complete or the deadline passes, and
 * reports the completion. With TERN_NOW, the call polls once. A request that is not persistent is freed, and its
 * pointer is set to NULL. A persistent request is not freed, and may be started again. Unless info is NULL, *info
 * describes the message, or the last notification and the number of matches.
 * Returns  TERN_OK: the request is complete.
 *          TERN_PENDING: the deadline is TERN_NOW, and the request is still outstanding.
 *          TERN_ERR_TIMEOUT: the deadline passed first. The request can be waited for again.
 *          TERN_ERR_TRUNCATED: the receive is complete, but the message was longer than the buffer, which contains its
 *            beginning.
 *          TERN_ERR_PEER: the other rank died, or no rank is left that could send. A request for a message is complete.
 *            A notification request remains started, because matches of other ranks may be missing: cancel it, or free
 *            it.
 *          Another error: the request is complete, and failed with this error.
 *          TERN_ERR_STATE: *request is NULL, the persistent request is not started, or an active message handler made
 *            the call and would have to wait.
 *          TERN_ERR_ARG: request is NULL.
 * Remote   None. The program may use the data of a completed receive or notification, and may modify the buffer of a
 *          completed send.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_request_wait(tern_request **request, tern_deadline deadline, tern_request_info *info);

/* Test whether one of several requests is complete. The call makes progress once, and reports the completion of one of
 * n requests. If several are complete, the call selects the one with the lowest index. NULL entries and persistent
 * requests that are not started are skipped. The call stores the index of the completed request in *index, and n if
 * there is none. A request that is not persistent is freed, and its pointer is set to NULL. A persistent request is not
 * freed, and may be started again. Unless info is NULL, *info describes the message, or the last notification and the
 * number of matches.
 * Returns  TERN_OK: the request with index *index is complete.
 *          TERN_PENDING: no request is complete.
 *          TERN_ERR_TRUNCATED: the receive with index *index is complete, but the message was longer than the buffer,
 *            which contains its beginning.
 *          TERN_ERR_PEER: of the request with index *index, the other rank died, or no rank is left that could send. A
 *            request for a message is complete. A notification request remains started: cancel it, or free it.
 *          Another error: the request with index *index is complete, and failed with this error.
 *          TERN_ERR_STATE: no request is started.
 *          TERN_ERR_ARG: requests or index is NULL, or n is 0.
 * Remote   None. The program may use the data of a completed receive or notification, and may modify the buffer of a
 *          completed send.
 * Threads  Only the thread that uses the contexts of the requests may call this function. */
TERN_API tern_status tern_request_test_any(tern_request **requests, size_t n, size_t *index, tern_request_info *info);

/* Wait until one of several requests is complete. The call makes progress until one of n requests is complete or the
 * deadline passes, and reports its completion. With TERN_NOW, the call polls once. If several are complete, the call
 * selects the one with the lowest index. NULL entries and persistent requests that are not started are skipped. The
 * call stores the index of the completed request in *index, and n if there is none. A request that is not persistent is
 * freed, and its pointer is set to NULL. A persistent request is not freed, and may be started again. Unless info is
 * NULL, *info describes the message, or the last notification and the number of matches.
 * Returns  TERN_OK: the request with index *index is complete.
 *          TERN_PENDING: the deadline is TERN_NOW, and no request is complete.
 *          TERN_ERR_TIMEOUT: the deadline passed, and no request is complete. All of them can be waited for again.
 *          TERN_ERR_TRUNCATED: the receive with index *index is complete, but the message was longer than the buffer,
 *            which contains its beginning.
 *          TERN_ERR_PEER: of the request with index *index, the other rank died, or no rank is left that could send. A
 *            request for a message is complete. A notification request remains started: cancel it, or free it.
 *          Another error: the request with index *index is complete, and failed with this error.
 *          TERN_ERR_STATE: no request is started, or an active message handler made the call.
 *          TERN_ERR_ARG: requests or index is NULL, or n is 0.
 * Remote   None. The program may use the data of a completed receive or notification, and may modify the buffer of a
 *          completed send.
 * Threads  Only the thread that uses the contexts of the requests may call this function. */
TERN_API tern_status tern_request_wait_any(tern_request **requests, size_t n, tern_deadline deadline, size_t *index,
                                           tern_request_info *info);

/* Test whether all of several requests are complete. The call makes progress once, and reports the completion of n
 * requests if all of them are complete. NULL entries and persistent requests that are not started are skipped, and
 * their entries of infos are not changed. If all requests are complete, those that are not persistent are freed, and
 * their pointers are set to NULL; persistent requests may be started again. Unless infos is NULL, infos[i] describes
 * the message or the last notification of request i. Unless statuses is NULL, statuses[i] tells how request i ended.
 * Returns  TERN_OK: all requests are complete.
 *          TERN_PENDING: some requests are not complete. All requests remain as they are.
 *          TERN_ERR_ARG: requests is NULL and n is not 0.
 *          TERN_ERR_PEER: a rank died. If a notification request can never complete because of this, no request has
 *            been reported, and all requests remain as they are: cancel or free that request. Otherwise all requests
 *            are complete, and a message failed with this error.
 *          Another error: all requests are complete, and this is the error of the failed request with the lowest index.
 * Remote   None. The program may use the data of a completed receive or notification, and may modify the buffer of a
 *          completed send.
 * Threads  Only the thread that uses the contexts of the requests may call this function. */
TERN_API tern_status tern_request_test_all(tern_request **requests, size_t n, tern_request_info *infos,
                                           tern_status *statuses);

/* Wait until all of several requests are complete. The call makes progress until all of n requests are complete or the
 * deadline passes. With TERN_NOW, the call polls once. NULL entries and persistent requests that are not started are
 * skipped, and their entries of infos are not changed. If all requests are complete, those that are not persistent are
 * freed, and their pointers are set to NULL; persistent requests may be started again. Unless infos is NULL, infos[i]
 * describes the message or the last notification of request i. Unless statuses is NULL, statuses[i] tells how request i
 * ended.
 * Returns  TERN_OK: all requests are complete.
 *          TERN_PENDING: the deadline is TERN_NOW, and some requests are not complete. All requests remain as they are.
 *          TERN_ERR_TIMEOUT: the deadline passed, and some requests are not complete. All requests remain as they are.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_ARG: requests is NULL and n is not 0.
 *          TERN_ERR_PEER: a rank died. If a notification request can never complete because of this, no request has
 *            been reported, and all requests remain as they are: cancel or free that request. Otherwise all requests
 *            are complete, and a message failed with this error.
 *          Another error: all requests are complete, and this is the error of the failed request with the lowest index.
 * Remote   None. The program may use the data of a completed receive or notification, and may modify the buffer of a
 *          completed send.
 * Threads  Only the thread that uses the contexts of the requests may call this function. */
TERN_API tern_status tern_request_wait_all(tern_request **requests, size_t n, tern_deadline deadline,
                                           tern_request_info *infos, tern_status *statuses);

/* Wait for several requests, and report all that are complete. The call makes progress until at least one of n requests
 * is complete or the deadline passes. With TERN_NOW, the call polls once. NULL entries and persistent requests that are
 * not started are skipped. The call stores the number of completed requests in *count, and their indices in indices[0]
 * to indices[*count - 1]; indices has space for n entries. Unless they are NULL, infos and statuses are filled in the
 * same order. Requests that are not persistent are freed, and their pointers are set to NULL; persistent requests may
 * be started again.
 * Returns  TERN_OK: all requests that are reported succeeded.
 *          TERN_PENDING: the deadline is TERN_NOW, and no request is complete. *count is 0.
 *          TERN_ERR_TIMEOUT: the deadline passed, and no request is complete. *count is 0.
 *          TERN_ERR_STATE: no request is started, or an active message handler made the call. *count is 0.
 *          TERN_ERR_ARG: requests, count or indices is NULL, or n is 0.
 *          Another error: the first failed request among those that are reported failed with this error. A notification
 *            request whose sources have died (TERN_ERR_PEER) remains started.
 * Remote   None. The program may use the data of a completed receive or notification, and may modify the buffer of a
 *          completed send.
 * Threads  Only the thread that uses the contexts of the requests may call this function. */
TERN_API tern_status tern_request_wait_some(tern_request **requests, size_t n, tern_deadline deadline, size_t *count,
                                            size_t *indices, tern_request_info *infos, tern_status *statuses);

/* Start a persistent request. From now until the request completes, the program must not modify the buffer of a send,
 * and must not access the buffer of a receive. A notification request begins to count matches: first the notifications
 * that are stored as unexpected, the oldest first, then those that arrive.
 * Returns  TERN_OK: the request is started.
 *          TERN_ERR_STATE: the request is already started, and its completion has not been reported.
 *          TERN_ERR_PEER: the receiver of the send has died. The request is not started.
 *          TERN_ERR_NOMEM: there is not enough memory. The request is not started.
 *          TERN_ERR_ARG: request is NULL or not persistent.
 * Remote   A send: the receiver can match the message, and has to receive a rendezvous or synchronous message before
 *          the request completes. A receive or a notification request: none.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_request_start(tern_request *request);

/* Cancel an outstanding request. A receive can be cancelled until a message has matched it, a send until it has left (a
 * send is queued if its receiver has no space), and a notification request until its last match. A request that is not
 * persistent is freed, and *request is set to NULL. A persistent request is not freed, and is no longer started. Events
 * of the request complete with TERN_ERR_CANCELLED.
 *
 * Unless info is NULL, *info describes what the request has done. For a notification request, info->matches is the
 * number of notifications that have matched since its start; they are consumed, and info->source, info->tag and
 * info->len are those of the last one. For a send or receive, info->source is -1.
 * Returns  TERN_OK: the request is cancelled. A cancelled send or receive has had no effect.
 *          TERN_PENDING: it is too late to cancel the request. Wait for its completion.
 *          TERN_ERR_STATE: *request is NULL, or the persistent request is not started.
 *          TERN_ERR_ARG: request is NULL.
 * Remote   None.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_request_cancel(tern_request **request, tern_request_info *info);

/* Free a persistent request. The call sets *request to NULL. A request for a send or receive must not be started. A
 * notification request may be started: freeing it cancels it, and the notifications that have matched are consumed.
 * Returns  TERN_OK: the request is freed.
 *          TERN_ERR_STATE: the send or receive is started, and its completion has not been reported. Wait for it or
 *            cancel it.
 *          TERN_ERR_ARG: request or *request is NULL.
 * Remote   None.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_request_free(tern_request **request);

/* Get an event that completes with a started request. With the event, the program can wait for requests and other
 * operations together. When the event has completed, call tern_request_test to get the result; this also frees a
 * request that is not persistent.
 * Returns  TERN_OK: *event is filled.
 *          TERN_ERR_STATE: the persistent request is not started, or its completion has already been reported.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_ARG: a pointer is NULL.
 * Remote   None.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_request_event(tern_request *request, tern_event *event);

TERN_END_DECLS

#endif

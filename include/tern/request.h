/* request.h: requests, which are the outstanding sends and receives of tagged messages (tagged.h).
 *
 * A nonblocking send or receive returns a request. The program tests the request or waits for it, alone or together
 * with others. The call that reports its completion frees the request and sets the program's pointer to NULL. A
 * persistent request (tern_send_init, tern_recv_init) can be started any number of times, and exists until
 * tern_request_free.
 *
 * A request belongs to a context. Only the thread that uses the context may make calls on the request, and progress on
 * the context advances it. tern_quiet does not wait for requests. tern_ctx_destroy waits for sends and for matched
 * receives.
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

typedef struct tern_request tern_request;

/* Describes a message that was received or sent. */
typedef struct tern_message_info {
    int      source; /* rank in the context's team: the sender of a received message, or the receiver of a sent one */
    int64_t  tag;
    uint64_t len; /* length of the message in bytes, even if the buffer was shorter */
} tern_message_info;

/* Make progress once and test whether a request is complete. If it is complete, free it and set *request to NULL; a
 * persistent request is not freed, and may be started again. Unless info is NULL, store the source (or the receiver of
 * a send), the tag and the length of the message in *info.
 * Returns  TERN_OK: the request is complete.
 *          TERN_PENDING: the request is still outstanding.
 *          TERN_ERR_TRUNCATED: the request is complete, but the message was longer than the buffer, which contains its
 *            beginning.
 *          TERN_ERR_PEER: the request is complete: the other rank died, or no rank is left that could send the message.
 *          Another error: the request is complete, and failed with this error.
 *          TERN_ERR_STATE: *request is NULL, or the persistent request is not started.
 *          TERN_ERR_ARG: request is NULL.
 * Remote   None. The program may use the data of a completed receive, and modify the buffer of a completed send.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_request_test(tern_request **request, tern_message_info *info);

/* Make progress until a request is complete or the deadline passes. If it is complete, free it and set *request to
 * NULL; a persistent request is not freed, and may be started again. Unless info is NULL, store the source (or the
 * receiver of a send), the tag and the length of the message in *info.
 * Returns  TERN_OK: the request is complete.
 *          TERN_ERR_TIMEOUT: the deadline passed first. The request can be waited for again.
 *          TERN_ERR_TRUNCATED: the request is complete, but the message was longer than the buffer, which contains its
 *            beginning.
 *          TERN_ERR_PEER: the request is complete: the other rank died, or no rank is left that could send the message.
 *          Another error: the request is complete, and failed with this error.
 *          TERN_ERR_STATE: *request is NULL, the persistent request is not started, or an active message handler made
 *            the call and would have to wait.
 *          TERN_ERR_ARG: request is NULL.
 * Remote   None. The program may use the data of a completed receive, and modify the buffer of a completed send.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_request_wait(tern_request **request, tern_deadline deadline, tern_message_info *info);

/* Make progress once and test whether one of n requests is complete. If several are complete, the call selects the one
 * with the lowest index. NULL entries and persistent requests that are not started are skipped. The call stores the
 * index of the completed request in *index, and n if there is none. It frees the completed request and sets its pointer
 * to NULL; a persistent request is not freed, and may be started again. Unless info is NULL, store the source (or the
 * receiver of a send), the tag and the length of the message in *info.
 * Returns  TERN_OK: the request with index *index is complete.
 *          TERN_PENDING: no request is complete.
 *          TERN_ERR_TRUNCATED: that request is complete, but the message was longer than the buffer, which contains its
 *            beginning.
 *          TERN_ERR_PEER: that request is complete: the other rank died, or no rank is left that could send the
 *            message.
 *          Another error: that request is complete, and failed with this error.
 *          TERN_ERR_STATE: no request is started.
 *          TERN_ERR_ARG: requests or index is NULL, or n is 0.
 * Remote   None. The program may use the data of a completed receive, and modify the buffer of a completed send.
 * Threads  Only the thread that uses the contexts of the requests may call this function. */
TERN_API tern_status tern_request_test_any(tern_request **requests, size_t n, size_t *index, tern_message_info *info);

/* Make progress until one of n requests is complete or the deadline passes. If several are complete, the call selects
 * the one with the lowest index. NULL entries and persistent requests that are not started are skipped. The call stores
 * the index of the completed request in *index, and n if there is none. It frees the completed request and sets its
 * pointer to NULL; a persistent request is not freed, and may be started again. Unless info is NULL, store the source
 * (or the receiver of a send), the tag and the length of the message in *info.
 * Returns  TERN_OK: the request with index *index is complete.
 *          TERN_ERR_TIMEOUT: the deadline passed, and no request is complete. All of them can be waited for again.
 *          TERN_ERR_TRUNCATED: that request is complete, but the message was longer than the buffer, which contains its
 *            beginning.
 *          TERN_ERR_PEER: that request is complete: the other rank died, or no rank is left that could send the
 *            message.
 *          Another error: that request is complete, and failed with this error.
 *          TERN_ERR_STATE: no request is started, or an active message handler made the call.
 *          TERN_ERR_ARG: requests or index is NULL, or n is 0.
 * Remote   None. The program may use the data of a completed receive, and modify the buffer of a completed send.
 * Threads  Only the thread that uses the contexts of the requests may call this function. */
TERN_API tern_status tern_request_wait_any(tern_request **requests, size_t n, tern_deadline deadline, size_t *index,
                                           tern_message_info *info);

/* Make progress once and test whether all of n requests are complete. NULL entries and persistent requests that are not
 * started are skipped, and their infos[i] is not changed. If all are complete, the call frees them and sets their
 * pointers to NULL; persistent requests are not freed. Unless infos is NULL, infos[i] describes the message of request
 * i; unless statuses is NULL, statuses[i] tells how request i ended.
 * Returns  TERN_OK: all requests are complete.
 *          TERN_PENDING: some requests are not complete. All requests remain as they are.
 *          TERN_ERR_ARG: requests is NULL and n is not 0.
 *          Another error: all requests are complete, and this is the error of the failed request with the lowest index.
 * Remote   None. The program may use the data of a completed receive, and modify the buffer of a completed send.
 * Threads  Only the thread that uses the contexts of the requests may call this function. */
TERN_API tern_status tern_request_test_all(tern_request **requests, size_t n, tern_message_info *infos,
                                           tern_status *statuses);

/* Make progress until all of n requests are complete or the deadline passes. NULL entries and persistent requests that
 * are not started are skipped, and their infos[i] is not changed. If all are complete, the call frees them and sets
 * their pointers to NULL; persistent requests are not freed. Unless infos is NULL, infos[i] describes the message of
 * request i; unless statuses is NULL, statuses[i] tells how request i ended.
 * Returns  TERN_OK: all requests are complete.
 *          TERN_ERR_TIMEOUT: the deadline passed, and some requests are not complete. All requests remain as they are.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_ARG: requests is NULL and n is not 0.
 *          Another error: all requests are complete, and this is the error of the failed request with the lowest index.
 * Remote   None. The program may use the data of a completed receive, and modify the buffer of a completed send.
 * Threads  Only the thread that uses the contexts of the requests may call this function. */
TERN_API tern_status tern_request_wait_all(tern_request **requests, size_t n, tern_deadline deadline,
                                           tern_message_info *infos, tern_status *statuses);

/* Make progress until at least one of n requests is complete or the deadline passes, and report all requests that are
 * complete. With TERN_NOW, the call polls once. NULL entries and persistent requests that are not started are skipped.
 * The call stores the number of completed requests in *count, and their indices in indices[0] to indices[*count - 1];
 * indices has space for n entries. Unless they are NULL, infos and statuses are filled in the same order. The call
 * frees the completed requests and sets their pointers to NULL; persistent requests are not freed.
 * Returns  TERN_OK: all requests that are reported succeeded.
 *          TERN_ERR_TIMEOUT: the deadline passed, and no request is complete. *count is 0.
 *          TERN_ERR_STATE: no request is started, or an active message handler made the call. *count is 0.
 *          TERN_ERR_ARG: requests, count or indices is NULL, or n is 0.
 *          Another error: the first failed request among those that are reported failed with this error.
 * Remote   None. The program may use the data of a completed receive, and modify the buffer of a completed send.
 * Threads  Only the thread that uses the contexts of the requests may call this function. */
TERN_API tern_status tern_request_wait_some(tern_request **requests, size_t n, tern_deadline deadline, size_t *count,
                                            size_t *indices, tern_message_info *infos, tern_status *statuses);

/* Start a persistent request. From now until the request completes, the program must not modify the buffer of a send,
 * and must not access the buffer of a receive.
 * Returns  TERN_OK: the request is started.
 *          TERN_ERR_STATE: the request is already started, and its completion has not been reported.
 *          TERN_ERR_PEER: the receiver of the send has died. The request is not started.
 *          TERN_ERR_NOMEM: there is not enough memory. The request is not started.
 *          TERN_ERR_ARG: request is NULL or not persistent.
 * Remote   A send: the receiver can match the message, and has to receive a long or synchronous message before the
 *          request completes. A receive: none.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_request_start(tern_request *request);

/* Cancel a request: a receive that no message has matched, or a send that is queued because its receiver has no space.
 * The call frees the request and sets *request to NULL; a persistent request is not freed, and is no longer started.
 * Events of the request complete with TERN_ERR_CANCELLED.
 * Returns  TERN_OK: the request is cancelled, and has had no effect.
 *          TERN_PENDING: it is too late to cancel the request. Wait for its completion.
 *          TERN_ERR_STATE: *request is NULL, or the persistent request is not started.
 *          TERN_ERR_ARG: request is NULL.
 * Remote   None.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_request_cancel(tern_request **request);

/* Free a persistent request that is not started, and set *request to NULL.
 * Returns  TERN_OK: the request is freed.
 *          TERN_ERR_STATE: the request is started, and its completion has not been reported. Wait for it or cancel it.
 *          TERN_ERR_ARG: request or *request is NULL.
 * Remote   None.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_request_free(tern_request **request);

/* Get an event that completes when a started request is complete, so that the program can wait for requests and other
 * operations together. When the event has completed, call tern_request_test to get the result and to free the request.
 * Returns  TERN_OK: *event is filled.
 *          TERN_ERR_STATE: the persistent request is not started, or its completion has already been reported.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_ARG: a pointer is NULL.
 * Remote   None.
 * Threads  Only the thread that uses the request's context may call this function. */
TERN_API tern_status tern_request_event(tern_request *request, tern_event *event);

TERN_END_DECLS

#endif

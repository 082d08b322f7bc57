/* request.h: sends and receives of tagged messages that are under way (tagged.h).
 *
 * A call that starts one without waiting for its end gives a request. The program tests it or waits for it, alone or
 * with others; when it is found done it is gone, and the program's pointer is NULL. A persistent request
 * (tern_send_init, tern_recv_init) is started as often as need be, and stays until it is freed.
 *
 * A request belongs to a context, whose thread makes all calls on it and whose progress moves it on. tern_quiet does
 * not wait for requests; tern_ctx_destroy waits for sends, and for receives that have a message.
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

/* What was received, or sent. */
typedef struct tern_message_info {
    int      source; /* rank in the team of the context: who sent it. Of a send: to whom */
    int64_t  tag;
    uint64_t len; /* of the message, also where the buffer was shorter */
} tern_message_info;

/* Make progress and see whether a request is done. Then it is gone, and *request NULL; a persistent one stays, and
 * may be started again. What it did is written to *info, if info is not NULL.
 * Returns  TERN_OK: done. TERN_PENDING: not yet. TERN_ERR_TRUNCATED: done, and the message was longer than the
 *          buffer, which has its begin. TERN_ERR_PEER: the other rank died, or none is left that could send; the
 *          request is done. Another error: it failed with it and is done. TERN_ERR_STATE: *request is NULL, or it is
 *          not started. TERN_ERR_ARG: request is NULL.
 * Remote   none of its own. What was received may be used, what was sent may be overwritten.
 * Threads  the one that uses the request's context. */
TERN_API tern_status tern_request_test(tern_request **request, tern_message_info *info);

/* Make progress until a request is done or the deadline passes.
 * Returns  as tern_request_test, but for TERN_PENDING. TERN_ERR_TIMEOUT: the deadline passed; it can be waited for
 *          again.
 * Remote   as tern_request_test.
 * Threads  the one that uses the request's context. */
TERN_API tern_status tern_request_wait(tern_request **request, tern_deadline deadline, tern_message_info *info);

/* Make progress and see whether one of n requests is done; of several, the one with the lowest index. NULL and
 * persistent ones that are not started are passed over.
 * Returns  as tern_request_test for the one with number *index. TERN_PENDING: none is done. TERN_ERR_STATE: none is
 *          started, and *index is n. TERN_ERR_ARG: a pointer is NULL, or n is 0.
 * Remote   as tern_request_test.
 * Threads  the one that uses the requests' contexts. */
TERN_API tern_status tern_request_test_any(tern_request **requests, size_t n, size_t *index, tern_message_info *info);

/* Make progress until one of n requests is done or the deadline passes.
 * Returns  as tern_request_test_any, but for TERN_PENDING. TERN_ERR_TIMEOUT: the deadline passed, and *index is n; all
 *          can be waited for again.
 * Remote   as tern_request_test.
 * Threads  the one that uses the requests' contexts. */
TERN_API tern_status tern_request_wait_any(tern_request **requests, size_t n, tern_deadline deadline, size_t *index,
                                           tern_message_info *info);

/* Make progress and see whether all of n requests are done. NULL and persistent ones that are not started are passed
 * over, and their infos[i] is not changed.
 * Returns  TERN_OK: all are done; infos[i] as by tern_request_test, if infos is not NULL. TERN_PENDING: some are
 *          not, and all stay as they are. An error: all are done, and the one with the lowest index that failed did
 *          so with it; statuses[i] says how each ended, if statuses is not NULL. TERN_ERR_ARG: requests is NULL and
 *          n is not 0.
 * Remote   as tern_request_test.
 * Threads  the one that uses the requests' contexts. */
TERN_API tern_status tern_request_test_all(tern_request **requests, size_t n, tern_message_info *infos,
                                           tern_status *statuses);

/* Make progress until all of n requests are done or the deadline passes.
 * Returns  as tern_request_test_all, but for TERN_PENDING. TERN_ERR_TIMEOUT: the deadline passed; all stay as they are.
 * Remote   as tern_request_test.
 * Threads  the one that uses the requests' contexts. */
TERN_API tern_status tern_request_wait_all(tern_request **requests, size_t n, tern_deadline deadline,
                                           tern_message_info *infos, tern_status *statuses);

/* Make progress until at least one of n requests is done or the deadline passes (TERN_NOW: look once), and find all
 * that are. Their number is written to *count and their indices to indices[0] ... indices[*count - 1], which has
 * room for n; infos and statuses, if they are not NULL, are filled in the same order.
 * Returns  TERN_OK: none of those found failed. An error: the first that did failed with it. TERN_ERR_STATE: none is
 *          started, and *count is 0. TERN_ERR_TIMEOUT: none is done, and *count is 0. TERN_ERR_ARG: a pointer is
 *          NULL, or n is 0.
 * Remote   as tern_request_test.
 * Threads  the one that uses the requests' contexts. */
TERN_API tern_status tern_request_wait_some(tern_request **requests, size_t n, tern_deadline deadline, size_t *count,
                                            size_t *indices, tern_message_info *infos, tern_status *statuses);

/* Start a persistent request.
 * Returns  TERN_OK. TERN_ERR_STATE: it is started and was not found done. TERN_ERR_PEER: the other rank is gone; it
 *          is not started. TERN_ERR_NOMEM. TERN_ERR_ARG: request is NULL or not persistent.
 * Remote   as tern_isend or tern_irecv.
 * Threads  the one that uses the request's context. */
TERN_API tern_status tern_request_start(tern_request *request);

/* Give up a request: a receive for which no message has come, or a send that has not left for want of room. Then it
 * is gone, and *request NULL; a persistent one is not started any more. Its events are done, with TERN_ERR_CANCELLED.
 * Returns  TERN_OK: it has had no effect. TERN_PENDING: it is too late; wait for it. TERN_ERR_STATE: *request is
 *          NULL, or it is not started. TERN_ERR_ARG: request is NULL.
 * Remote   none.
 * Threads  the one that uses the request's context. */
TERN_API tern_status tern_request_cancel(tern_request **request);

/* Free a persistent request that is not started; *request is then NULL.
 * Returns  TERN_OK. TERN_ERR_STATE: it is started and was not found done: wait for it, or cancel it. TERN_ERR_ARG: a
 *          pointer is NULL.
 * Remote   none.
 * Threads  the one that uses the request's context. */
TERN_API tern_status tern_request_free(tern_request **request);

/* Fill an event that is done when the started request is: so requests and other operations can be waited for
 * together. The request itself is then found done by tern_request_test.
 * Returns  TERN_OK. TERN_ERR_STATE: it is not started, or was found done before. TERN_ERR_NOMEM. TERN_ERR_ARG: a
 *          pointer is NULL.
 * Remote   none.
 * Threads  the one that uses the request's context. */
TERN_API tern_status tern_request_event(tern_request *request, tern_event *event);

TERN_END_DECLS

#endif

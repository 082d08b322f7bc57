/* notice.h: requests for notifications.
 *
 * A rank is notified of accesses to its memory by those who make them (notify.h). A notification has a source (the rank
 * that made the access), a region, a tag of 32 bits and the number of bytes that the access moved. It is never seen
 * before the data that it speaks of.
 *
 * The target makes requests: persistent ones, for a region, a source or any, a tag or any, and a count. A request is
 * made once (init), and then started and waited for as often as need be. A notification goes to the request that was
 * started first among those that take it; one that no request takes is kept until one is started that does, and
 * requests take what is kept in the order in which it came. Notifications of one strict context to one rank come in the
 * order in which the program made them, all others in any order.
 *
 * Notifications are taken in inside calls of Tern that wait or make progress. What a rank keeps is bounded: when it is
 * full (TERN_NOTIFY_KEEP), or does not call Tern for long (TERN_NOTIFY_QUEUE), those that send to it wait; with
 * TERN_IMMEDIATE they get TERN_AGAIN.
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

/* A request for notifications. */
typedef struct tern_notice tern_notice;

/* What a request has found. */
typedef struct tern_notice_info {
    int source;   /* of the last match: rank in the team of the request's context; -1: it is not in that team, or there
                         was no match */
    uint32_t tag; /* of the last match */
    uint64_t bytes;   /* that its access moved */
    uint32_t matches; /* since the request was started */
} tern_notice_info;

/* Make a request for count notifications of accesses to this rank's part of region, by source (a rank of the context's
 * team, or TERN_ANY_SOURCE), with tag (0 to UINT32_MAX, or TERN_ANY_TAG). It is not started. It belongs to ctx, which
 * makes progress for it, and is freed before ctx and region are, at the latest by tern_finalize.
 * Returns  TERN_OK and the request in *out. TERN_ERR_ARG: a pointer is NULL or count is 0. TERN_ERR_RANGE: no such
 *          rank, or no such tag. TERN_ERR_NOMEM.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_notice_init(tern_ctx *ctx, tern_region *region, int source, int64_t tag, uint32_t count,
                                      tern_notice **out);

/* Begin to wait for the request's notifications, from now on counted anew; what is kept is taken first.
 * Returns  TERN_OK. TERN_ERR_STATE: it is started and not done. TERN_ERR_ARG: notice is NULL.
 * Remote   none.
 * Threads  the one that uses the request's context. */
TERN_API tern_status tern_notice_start(tern_notice *notice);

/* Make progress and see whether a request is done: its count of notifications has come. Then it may be started again.
 * Returns  TERN_OK: done; what it found in *info, if info is not NULL. TERN_PENDING: not yet. TERN_ERR_PEER: nobody is
 *          left who could notify it; it stays started. TERN_ERR_STATE: it was not started, or was found done before.
 *          TERN_ERR_ARG: notice is NULL.
 * Remote   none of its own. The data that the notifications speak of may be used.
 * Threads  the one that uses the request's context. */
TERN_API tern_status tern_notice_test(tern_notice *notice, tern_notice_info *info);

/* Make progress until a request is done or the deadline passes.
 * Returns  as tern_notice_test, but for TERN_PENDING. TERN_ERR_TIMEOUT: the deadline passed; it can be waited for
 *          again.
 * Remote   as tern_notice_test.
 * Threads  the one that uses the request's context. */
TERN_API tern_status tern_notice_wait(tern_notice *notice, tern_deadline deadline, tern_notice_info *info);

/* Make progress and see whether a request that is not started would find a notification. It stays where it is.
 * Returns  TERN_OK: there is one, and what it says is in *info, if info is not NULL. TERN_PENDING: there is none.
 *          TERN_ERR_ARG: notice is NULL.
 * Remote   none of its own. The data that the notification speaks of may be used.
 * Threads  the one that uses the request's context. */
TERN_API tern_status tern_notice_probe(tern_notice *notice, tern_notice_info *info);

/* Wait for a started request no more. What it has matched so far is gone, and told in *info, if info is not NULL. Its
 * events are done, with TERN_ERR_STATE.
 * Returns  TERN_OK: it is not started any more. TERN_ERR_STATE: it is not started, or done. TERN_ERR_ARG: notice is
 *          NULL.
 * Remote   none.
 * Threads  the one that uses the request's context. */
TERN_API tern_status tern_notice_cancel(tern_notice *notice, tern_notice_info *info);

/* Free a request, also one that is started.
 * Returns  TERN_OK. TERN_ERR_ARG: notice is NULL.
 * Remote   none.
 * Threads  the one that uses the request's context. */
TERN_API tern_status tern_notice_free(tern_notice *notice);

/* Make progress and see whether one of n requests is done; of several, the one with the lowest index. NULL, and those
 * that are not started or were found done before, are passed over.
 * Returns  TERN_OK: the one with number *index is; what it found in *info, if info is not NULL. TERN_PENDING: none is.
 *          TERN_ERR_STATE: none is started. TERN_ERR_PEER: as tern_notice_test, for that with number *index.
 *          TERN_ERR_ARG: a pointer is NULL, or n is 0.
 * Remote   as tern_notice_test.
 * Threads  the one that uses the requests' contexts. */
TERN_API tern_status tern_notice_test_any(tern_notice *const *notices, size_t n, size_t *index, tern_notice_info *info);

/* Make progress until one of n requests is done or the deadline passes.
 * Returns  as tern_notice_test_any, but for TERN_PENDING. TERN_ERR_TIMEOUT: the deadline passed; all can be waited for
 *          again.
 * Remote   as tern_notice_test.
 * Threads  the one that uses the requests' contexts. */
TERN_API tern_status tern_notice_wait_any(tern_notice *const *notices, size_t n, tern_deadline deadline, size_t *index,
                                          tern_notice_info *info);

/* Make progress and see whether all of n requests are done. NULL, and those that are not started or were found done
 * before, are passed over.
 * Returns  TERN_OK: all are; what each found in infos[i], if infos is not NULL; that of those passed over is not
 *          changed. TERN_PENDING: some are not, and all stay as they are. TERN_ERR_PEER: as tern_notice_test, for one
 *          of them. TERN_ERR_ARG: notices is NULL and n is not 0.
 * Remote   as tern_notice_test.
 * Threads  the one that uses the requests' contexts. */
TERN_API tern_status tern_notice_test_all(tern_notice *const *notices, size_t n, tern_notice_info *infos);

/* Make progress until all of n requests are done or the deadline passes.
 * Returns  as tern_notice_test_all, but for TERN_PENDING. TERN_ERR_TIMEOUT: the deadline passed; all stay as they are.
 * Remote   as tern_notice_test.
 * Threads  the one that uses the requests' contexts. */
TERN_API tern_status tern_notice_wait_all(tern_notice *const *notices, size_t n, tern_deadline deadline,
                                          tern_notice_info *infos);

/* Fill an event that is done when the started request is: so requests and operations can be waited for together. The
 * request itself is then found done by tern_notice_test. The event fails with TERN_ERR_PEER when nobody is left who
 * could notify it; the request stays started.
 * Returns  TERN_OK. TERN_ERR_STATE: it is not started, or was found done before. TERN_ERR_NOMEM. TERN_ERR_ARG: a
 *          pointer is NULL.
 * Remote   none.
 * Threads  the one that uses the request's context. */
TERN_API tern_status tern_notice_event(tern_notice *notice, tern_event *event);

TERN_END_DECLS

#endif

/* event.h: the completion of a nonblocking operation.
 *
 * An event is a small value that the program keeps. A call fills it; test and wait empty it when the operation is done.
 * An operation that was done at once fills it with "done already" and costs nothing. An event that is done may be
 * tested and waited for again: it stays done.
 */
#ifndef TERN_EVENT_H
#define TERN_EVENT_H

#include <stddef.h>
#include <tern/context.h>
#include <tern/job.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

struct tern_pending;

typedef struct tern_event {
    struct tern_pending *pending; /* NULL: done */
} tern_event;

#ifdef __cplusplus
#define TERN_EVENT_INIT tern_event()
#else
#define TERN_EVENT_INIT ((tern_event){ NULL })
#endif

/* Test an event that is not done already. Use tern_event_test.
 * Returns  as tern_event_test.
 * Remote   as tern_event_test.
 * Threads  as tern_event_test. */
TERN_API tern_status tern_event_poll(tern_event *event);

/* Make progress and see whether the event is done.
 * Returns  TERN_OK: done. TERN_PENDING: not yet. An error: the operation failed with it; the event is done.
 *          TERN_ERR_ARG: event is NULL.
 * Remote   none of its own.
 * Threads  the one that uses the operation's context. */
TERN_INLINE tern_status tern_event_test(tern_event *event)
{
    if (TERN_LIKELY(event != NULL && event->pending == NULL))
        return TERN_OK;
    return tern_event_poll(event);
}

/* Make progress until the event is done or the deadline passes.
 * Returns  TERN_OK: done. TERN_ERR_TIMEOUT: the deadline passed; the event can be waited for again. Another error: the
 *          operation failed with it; the event is done. TERN_ERR_ARG: event is NULL.
 * Remote   none of its own.
 * Threads  the one that uses the operation's context. */
TERN_API tern_status tern_event_wait(tern_event *event, tern_deadline deadline);

/* Make progress until one of n events is done or the deadline passes. Of several, the one with the lowest index.
 * Returns  TERN_OK and its index in *index. TERN_ERR_TIMEOUT: none is done; all can be waited for again. Another error:
 *          the operation of event *index failed with it. TERN_ERR_ARG: a pointer is NULL, or n is 0.
 * Remote   none of its own.
 * Threads  the one that uses the operations' contexts. */
TERN_API tern_status tern_event_wait_any(tern_event *events, size_t n, tern_deadline deadline, size_t *index);

/* Make progress until all of n events are done or the deadline passes.
 * Returns  TERN_OK: all done; at once when n is 0. TERN_ERR_TIMEOUT: some are not; those can be waited for again.
 *          Another error: all are done, and the failed one with the lowest index failed with it. TERN_ERR_ARG: events
 *          is NULL and n is not 0.
 * Remote   none of its own.
 * Threads  the one that uses the operations' contexts. */
TERN_API tern_status tern_event_wait_all(tern_event *events, size_t n, tern_deadline deadline);

TERN_END_DECLS

#endif

/* event.h: events, which report the completion of nonblocking operations.
 *
 * An event is a small value that the program stores. A nonblocking call fills the event; tern_event_test and the wait
 * calls report when the operation is complete, and how it ended. An operation that completes at once fills the event as
 * complete, at no cost. An event that has completed stays complete: it may be tested and waited for again, and then
 * returns TERN_OK. A program that copies an event may use only one of the copies.
 */
#ifndef TERN_EVENT_H
#define TERN_EVENT_H

#include <stddef.h>
#include <tern/context.h>
#include <tern/job.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

struct tern_pending;

/* The completion of one operation. */
typedef struct tern_event {
    struct tern_pending *pending; /* the outstanding operation; NULL: the event is complete */
} tern_event;

#ifdef __cplusplus
#define TERN_EVENT_INIT tern_event()
#else
#define TERN_EVENT_INIT ((tern_event){ NULL })
#endif

/* Out-of-line part of tern_event_test, for events that are not complete. Programs call tern_event_test. Make progress
 * once and test whether an event is complete.
 * Returns  TERN_OK: the operation is complete.
 *          TERN_PENDING: the operation is still outstanding.
 *          TERN_ERR_ARG: event is NULL.
 *          Another error: the operation failed with this error. The event is complete.
 * Remote   None.
 * Threads  Only the thread that uses the context of the operation may call this function. */
TERN_API tern_status tern_event_poll(tern_event *event);

/* Test whether an event is complete. If the event is not known to be complete, the call makes progress once.
 * Returns  TERN_OK: the operation is complete.
 *          TERN_PENDING: the operation is still outstanding.
 *          TERN_ERR_ARG: event is NULL.
 *          Another error: the operation failed with this error. The event is complete.
 * Remote   None.
 * Threads  Only the thread that uses the context of the operation may call this function. */
TERN_INLINE tern_status tern_event_test(tern_event *event)
{
    if (TERN_LIKELY(event != NULL && event->pending == NULL))
        return TERN_OK;
    return tern_event_poll(event);
}

/* Make progress until an event is complete or the deadline passes.
 * Returns  TERN_OK: the operation is complete.
 *          TERN_ERR_TIMEOUT: the deadline passed first. The event can be waited for again.
 *          TERN_ERR_STATE: an active message handler made the call, and the event was not known to be complete.
 *          TERN_ERR_ARG: event is NULL.
 *          Another error: the operation failed with this error. The event is complete.
 * Remote   None.
 * Threads  Only the thread that uses the context of the operation may call this function. */
TERN_API tern_status tern_event_wait(tern_event *event, tern_deadline deadline);

/* Make progress until one of n events is complete or the deadline passes. If several events are complete, the call
 * selects the one with the lowest index.
 * Returns  TERN_OK: the event with index *index is complete.
 *          TERN_ERR_TIMEOUT: the deadline passed, and no event is complete. All of them can be waited for again.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_ARG: a pointer is NULL, or n is 0.
 *          Another error: the operation of the event with index *index failed with this error. That event is complete.
 * Remote   None.
 * Threads  Only the thread that uses the contexts of the operations may call this function. */
TERN_API tern_status tern_event_wait_any(tern_event *events, size_t n, tern_deadline deadline, size_t *index);

/* Make progress until all of n events are complete or the deadline passes.
 * Returns  TERN_OK: all events are complete. If n is 0, the call returns at once.
 *          TERN_ERR_TIMEOUT: the deadline passed, and some events are not complete. All of them can be waited for
 *            again.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_ARG: events is NULL and n is not 0.
 *          Another error: all events are complete, and this is the error of the failed operation with the lowest index.
 * Remote   None.
 * Threads  Only the thread that uses the contexts of the operations may call this function. */
TERN_API tern_status tern_event_wait_all(tern_event *events, size_t n, tern_deadline deadline);

TERN_END_DECLS

#endif

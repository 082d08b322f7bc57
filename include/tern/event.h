/* event.h: events, which report the completion of nonblocking operations.
 *
 * An event is a small value that the program stores. A nonblocking call fills the event; tern_event_test and the wait
 * calls report when the operation is complete, and how it ended. An operation that completes at once fills the event as
 * complete, at no cost.
 *
 *   - An event that has completed stays complete: it may be tested and waited for again, and then returns TERN_OK. The
 *     error of a failed operation is reported once.
 *   - A program may copy or move an event, but may use only one of the copies.
 *   - A program may drop an event. tern_quiet completes the operation, but its error is lost, and Tern keeps its record
 *     until the context is freed.
 *
 * Events are the common currency of waiting: tern_event_wait_any, _all and _some wait for any mixture. Five objects
 * report completion:
 *
 *   event                  one operation: put, get, accumulate, atomic operation
 *   request                a tagged message, with its source, tag and length (request.h). tern_request_event gives an
 *                          event for it
 *   notification request   a number of notified accesses of other ranks (notify.h). It is a request, too
 *   counter                many operations of this rank, or a trigger for others (counter.h). tern_counter_event gives
 *                          an event for a threshold
 *   signal                 a word in this rank's memory that other ranks change (signal.h). tern_signal_event gives an
 *                          event for a comparison
 */
#ifndef TERN_EVENT_H
#define TERN_EVENT_H

#include <stddef.h>
#include <tern/context.h>
#include <tern/inline.h>
#include <tern/job.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

struct tern_pending;

/* The completion of one operation. A nonblocking call fills it; TERN_EVENT_INIT is a complete event. The content is
 * not for the program. */
typedef struct tern_event {
    struct tern_pending *pending; /* the outstanding operation; NULL: the event is complete */
} tern_event;

#ifdef __cplusplus
#define TERN_EVENT_INIT tern_event()
#else
#define TERN_EVENT_INIT ((tern_event){ NULL })
#endif

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
    return tern_inline_event_test(event);
}

/* Test whether an event is known to be complete. The call makes no progress: it polls nothing and runs no handlers, so
 * that a program may call it while it holds a lock that its handlers need. An operation that needs the progress of this
 * rank stays outstanding until another call makes progress (tern_progress, for example).
 * Returns  TERN_OK: the operation is complete.
 *          TERN_PENDING: the operation is not known to be complete.
 *          TERN_ERR_ARG: event is NULL.
 *          Another error: the operation failed with this error. The event is complete.
 * Remote   None.
 * Threads  Only the thread that uses the context of the operation may call this function. */
TERN_API tern_status tern_event_peek(tern_event *event);

/* Wait until an event is complete. The call makes progress until the event is complete or the deadline passes. With
 * TERN_NOW, the call polls once.
 * Returns  TERN_OK: the operation is complete.
 *          TERN_PENDING: the deadline is TERN_NOW, and the operation is still outstanding.
 *          TERN_ERR_TIMEOUT: the deadline passed first. The event can be waited for again.
 *          TERN_ERR_STATE: an active message handler made the call, and the event was not known to be complete.
 *          TERN_ERR_ARG: event is NULL.
 *          Another error: the operation failed with this error. The event is complete.
 * Remote   None.
 * Threads  Only the thread that uses the context of the operation may call this function. */
TERN_API tern_status tern_event_wait(tern_event *event, tern_deadline deadline);

/* Wait until one of several events is complete. The call makes progress until one of n events is complete or the
 * deadline passes. With TERN_NOW, the call polls once. If several events are complete, the call selects the one with
 * the lowest index. If no event is complete, *index is unchanged.
 * Returns  TERN_OK: the event with index *index is complete.
 *          TERN_PENDING: the deadline is TERN_NOW, and no event is complete.
 *          TERN_ERR_TIMEOUT: the deadline passed, and no event is complete. All of them can be waited for again.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_ARG: a pointer is NULL, or n is 0.
 *          Another error: the operation of the event with index *index failed with this error. That event is complete.
 * Remote   None.
 * Threads  Only the thread that uses the contexts of the operations may call this function. */
TERN_API tern_status tern_event_wait_any(tern_event *events, size_t n, tern_deadline deadline, size_t *index);

/* Wait until all of several events are complete. The call makes progress until all of n events are complete or the
 * deadline passes. With TERN_NOW, the call polls once.
 * Returns  TERN_OK: all events are complete. If n is 0, the call returns at once.
 *          TERN_PENDING: the deadline is TERN_NOW, and some events are not complete.
 *          TERN_ERR_TIMEOUT: the deadline passed, and some events are not complete. All of them can be waited for
 *            again.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_ARG: events is NULL and n is not 0.
 *          Another error: all events are complete, and this is the error of the failed operation with the lowest index.
 * Remote   None.
 * Threads  Only the thread that uses the contexts of the operations may call this function. */
TERN_API tern_status tern_event_wait_all(tern_event *events, size_t n, tern_deadline deadline);

/* Wait for several events, and report all that are complete. The call makes progress until at least one of n events is
 * complete or the deadline passes. With TERN_NOW, the call polls once. It then reports all events that are complete.
 * The call stores their number in *count and their indices, in ascending order, in indices, which has space for n
 * entries. Unless statuses is NULL, statuses[i] is the status of the operation of the event indices[i]. An event that
 * was complete before the call is reported, too; remove it from the array to wait for the others.
 * Returns  TERN_OK: *count events are complete, and their operations have succeeded.
 *          TERN_PENDING: the deadline is TERN_NOW, and no event is complete. *count is 0.
 *          TERN_ERR_TIMEOUT: the deadline passed, and no event is complete. *count is 0. All of them can be
 *            waited for again.
 *          TERN_ERR_STATE: an active message handler made the call. *count is 0.
 *          TERN_ERR_ARG: events, count or indices is NULL, or n is 0.
 *          Another error: *count events are complete, and this is the error of the failed operation with the lowest
 *            index.
 * Remote   None.
 * Threads  Only the thread that uses the contexts of the operations may call this function. */
TERN_API tern_status tern_event_wait_some(tern_event *events, size_t n, tern_deadline deadline, size_t *count,
                                          size_t *indices, tern_status *statuses);

TERN_END_DECLS

#endif

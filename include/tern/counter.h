/* counter.h: counters, and operations that start when a counter says so.
 *
 * A counter belongs to a context. Operations of the context that name it in tern_opts.counter add 1 to it when they are
 * complete, or their bytes with TERN_COUNT_BYTES; one that fails adds 1 to its failures instead. An operation that
 * names a counter in tern_opts.when waits until that has reached tern_opts.threshold, and starts then: it is triggered.
 * Every call that takes tern_opts can be triggered, and so can active messages (tern_am_request_with) and additions to
 * counters (tern_counter_add_with). One that starts has not completed: what is to follow it counts it.
 *
 * Tern starts what is triggered: in any call of the program that makes progress on the context, in the call that moves
 * the counter, and, while the program computes, by a thread of its own (TERN_PROGRESS_THREAD). Chains, and many that
 * wait for one or count on one, cost neither stack nor searching.
 *
 * Arguments, lists and descriptions may be overwritten when the call returns; memory that is read or written (source,
 * destination, payload, result) belongs to the operation until it is complete. Regions and domains must outlive what is
 * triggered on them. tern_quiet completes what has started; it does not wait for what still waits for its counter.
 *
 * Counters are for relaxed contexts: what is triggered is ordered by its counter and by nothing else.
 */
#ifndef TERN_COUNTER_H
#define TERN_COUNTER_H

#include <stddef.h>
#include <stdint.h>
#include <tern/context.h>
#include <tern/event.h>
#include <tern/rma.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

typedef struct tern_counter tern_counter;

/* Make a counter that is 0.
 * Returns  TERN_OK and the counter in *out. TERN_ERR_ARG: a pointer is NULL, or ctx is strict. TERN_ERR_NOMEM.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_counter_new(tern_ctx *ctx, tern_counter **out);

/* Free a counter. What waits for it is cancelled. tern_ctx_destroy and tern_finalize free those that are left.
 * Returns  TERN_OK. TERN_ERR_STATE: operations that have not completed count on it; it is as it was. TERN_ERR_ARG:
 *          counter is NULL.
 * Remote   none.
 * Threads  the one that uses its context. */
TERN_API tern_status tern_counter_free(tern_counter *counter);

/* Give a counter a value, and forget its failures. What waits for no more than that value starts.
 * Returns  TERN_OK. TERN_ERR_ARG: counter is NULL.
 * Remote   none of its own.
 * Threads  any; also a handler of an active message, where what starts does so after the handler. */
TERN_API tern_status tern_counter_set(tern_counter *counter, uint64_t value);

/* Add to a counter. What waits for no more than the sum starts.
 * Returns  TERN_OK. TERN_ERR_RANGE: the sum would not fit in 64 bits; nothing was added. TERN_ERR_ARG: counter is NULL.
 * Remote   none of its own.
 * Threads  any; also a handler of an active message, where what starts does so after the handler. */
TERN_API tern_status tern_counter_add(tern_counter *counter, uint64_t value);

/* Add to a counter, with options: opts->when and opts->threshold say when, opts->event is done when it has been added,
 * and opts->counter counts that it was. Both counters are of the same context. opts NULL: as tern_counter_add.
 * Returns  TERN_OK: added, or it will be. TERN_ERR_ARG: counter is NULL, a flag is unknown, or the counters are of
 *          different contexts. TERN_ERR_NOMEM. TERN_ERR_SYSTEM: the thread of triggered operations cannot be started.
 *          Nothing happens after an error. A sum that does not fit in 64 bits is a failure of the operation,
 *          TERN_ERR_RANGE.
 * Remote   none of its own.
 * Threads  the one that uses its context. */
TERN_API tern_status tern_counter_add_with(tern_counter *counter, uint64_t value, const tern_opts *opts);

/* Read a counter. What was counted is complete, and visible to this thread.
 * Returns  TERN_OK, its value in *value and the number of failures in *failures; either may be NULL. TERN_ERR_ARG:
 *          counter is NULL.
 * Remote   none. Makes no progress.
 * Threads  any. */
TERN_API tern_status tern_counter_read(const tern_counter *counter, uint64_t *value, uint64_t *failures);

/* Make progress until a counter has reached the threshold or the deadline passes.
 * Returns  TERN_OK: reached. TERN_ERR_TIMEOUT: the deadline passed. The first error of an operation that counts on it:
 *          it has not been reached, and perhaps never will be; tern_counter_set forgets the error. TERN_ERR_ARG:
 *          counter is NULL. TERN_ERR_STATE: called by a handler.
 * Remote   none of its own.
 * Threads  the one that uses its context. */
TERN_API tern_status tern_counter_wait(tern_counter *counter, uint64_t threshold, tern_deadline deadline);

/* Get an event that is done when the counter has reached the threshold, to be waited for together with others; it fails
 * as tern_counter_wait does.
 * Returns  TERN_OK. TERN_ERR_ARG: a pointer is NULL. TERN_ERR_NOMEM.
 * Remote   none.
 * Threads  the one that uses its context. */
TERN_API tern_status tern_counter_event(tern_counter *counter, uint64_t threshold, tern_event *event);

/* Cancel everything that still waits for a counter: it never starts. Its events are done, with TERN_ERR_CANCELLED, and
 * nobody counts it.
 * Returns  TERN_OK, and how many there were in *cancelled, if that is not NULL. TERN_ERR_ARG: counter is NULL.
 * Remote   none.
 * Threads  the one that uses its context. */
TERN_API tern_status tern_counter_cancel(tern_counter *counter, size_t *cancelled);

/* Cancel the one operation that the event is of, if it still waits for its counter. The event is done then.
 * Returns  TERN_OK: it never starts, and nobody counts it. TERN_ERR_STATE: it has started, or is done; nothing changed.
 *          TERN_ERR_ARG: event is NULL, or not that of a triggered operation.
 * Remote   none.
 * Threads  the one that uses its context. */
TERN_API tern_status tern_triggered_cancel(tern_event *event);

TERN_END_DECLS

#endif

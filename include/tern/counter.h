/* counter.h: counters of completed operations, and triggered operations.
 *
 * A triggered operation starts when a counter reaches a threshold. A counter belongs to a context. When an operation of
 * the context that names the counter in tern_opts.counter completes, it adds 1 to the counter, or the number of its
 * bytes if TERN_COUNT_BYTES is set. An operation that fails adds 1 to the failures of the counter instead. An operation
 * that names a counter in tern_opts.when is triggered: it starts when the counter has reached tern_opts.threshold, or
 * at once if the counter has already reached it. Every call that takes tern_opts can be counted and triggered,
 * including active messages (tern_am_request_with) and additions to counters (tern_counter_add_with). If an operation
 * has to follow the completion of a triggered operation, the triggered operation must itself be counted.
 *
 * Tern starts triggered operations inside the call that changes the counter, inside every call of the program that
 * makes progress on the context, and, while the program computes, in a thread of its own (unless the option
 * TERN_PROGRESS_THREAD is off). A chain may have any length, and any number of operations may wait for one counter:
 * neither needs recursion or a search.
 *
 * When a call returns, the program may reuse arguments, lists and descriptions. Memory that the operation reads or
 * writes (source, destination, payload, result) belongs to the operation until it is complete. Regions and atomic
 * domains must exist until the operations that are triggered on them are complete. tern_quiet completes operations that
 * have started; it does not wait for operations that still wait for a counter.
 *
 * Counters exist only for relaxed contexts: a triggered operation is ordered after the operations that its counter has
 * counted, and after no others.
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

/* A counter of completed operations, which can trigger others. tern_counter_create makes one. */
typedef struct tern_counter tern_counter;

/* Create a counter with the value 0.
 * Returns  TERN_OK: *out is the counter.
 *          TERN_ERR_ARG: a pointer is NULL, or ctx is strict.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_TIMEOUT: operations that the context started before its last tern_fence did not complete within the
 *            context's time limit.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait for such
 *            operations.
 * Remote   None.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_counter_create(tern_ctx *ctx, tern_counter **out);

/* Free a counter, and cancel the operations that wait for it. tern_ctx_free and tern_finalize free the counters that
 * remain.
 * Returns  TERN_OK: the counter is freed.
 *          TERN_ERR_STATE: outstanding operations name the counter in tern_opts.counter. The counter is unchanged.
 *          TERN_ERR_ARG: counter is NULL.
 * Remote   None.
 * Threads  Only the thread that uses the context of the counter may call this function. */
TERN_API tern_status tern_counter_free(tern_counter *counter);

/* Set a counter to a value, and reset its failures and its error. Operations whose threshold is at most value start.
 * Returns  TERN_OK: the counter is set.
 *          TERN_ERR_ARG: counter is NULL.
 * Remote   Triggered operations may start, with their remote effects.
 * Threads  Any thread may call this function, even in an active message handler; then the triggered operations start
 *          after the handler has returned. */
TERN_API tern_status tern_counter_set(tern_counter *counter, uint64_t value);

/* Add a value to a counter. Operations whose threshold is at most the sum start.
 * Returns  TERN_OK: the value is added.
 *          TERN_ERR_RANGE: the sum does not fit in 64 bits. Nothing was added.
 *          TERN_ERR_ARG: counter is NULL.
 * Remote   Triggered operations may start, with their remote effects.
 * Threads  Any thread may call this function, even in an active message handler; then the triggered operations start
 *          after the handler has returned. */
TERN_API tern_status tern_counter_add(tern_counter *counter, uint64_t value);

/* Add a value to a counter, with options. The addition happens when opts->when has reached opts->threshold, or at once
 * if opts->when is NULL. opts->event completes when the value has been added, and opts->counter counts the addition.
 * All counters belong to the same context. If opts is NULL, no option is set, and the value is added at once.
 * Returns  TERN_OK: the value has been added, or will be added.
 *          TERN_AGAIN: TERN_IMMEDIATE is set, opts->when is NULL, and too many counted operations are waiting to start.
 *          TERN_ERR_ARG: counter is NULL, a flag is unknown or TERN_NOTIFY, an option that a flag needs is NULL, or the
 *            counters belong to different contexts.
 *          TERN_ERR_RANGE: opts is NULL, and the sum does not fit in 64 bits. With options, this is an error of the
 *            operation, not of the call.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_SYSTEM: opts->when is set, and the thread that starts triggered operations cannot be created.
 *          TERN_ERR_TIMEOUT: opts->when is NULL, and too many counted operations were waiting to start until the
 *            context's time limit passed.
 *          After TERN_AGAIN and after an error, nothing is added.
 * Remote   Triggered operations may start, with their remote effects.
 * Threads  Only the thread that uses the context of the counter may call this function. */
TERN_API tern_status tern_counter_add_with(tern_counter *counter, uint64_t value, const tern_opts *opts);

/* Read a counter. All operations that the value counts are complete, and their effects are visible to this thread. The
 * call makes no progress.
 * Returns  TERN_OK: the value is in *value, and the number of failures is in *failures. Either pointer may be NULL.
 *          TERN_ERR_ARG: counter is NULL.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API tern_status tern_counter_read(const tern_counter *counter, uint64_t *value, uint64_t *failures);

/* Wait until a counter has reached a threshold. The call makes progress until the counter has reached the threshold or
 * the deadline passes. With TERN_NOW, the call polls once.
 * Returns  TERN_OK: the counter has reached the threshold.
 *          TERN_PENDING: the deadline is TERN_NOW, and the counter has not reached the threshold.
 *          TERN_ERR_TIMEOUT: the deadline passed first.
 *          TERN_ERR_STATE: an active message handler made the call, and the counter has not reached the threshold.
 *          TERN_ERR_ARG: counter is NULL.
 *          Another error: the first error of an operation that the counter should have counted. The counter has not
 *            reached the threshold, and may never reach it. tern_counter_set resets the error.
 * Remote   None.
 * Threads  Only the thread that uses the context of the counter may call this function. */
TERN_API tern_status tern_counter_wait(tern_counter *counter, uint64_t threshold, tern_deadline deadline);

/* Get an event that completes when a counter reaches a threshold. With the event, the program can wait for the counter
 * together with other events. If an operation that the counter should have counted fails before that, the event fails
 * with the error of the operation.
 * Returns  TERN_OK: *event is filled.
 *          TERN_ERR_ARG: a pointer is NULL.
 *          TERN_ERR_NOMEM: there is not enough memory.
 * Remote   None.
 * Threads  Only the thread that uses the context of the counter may call this function. */
TERN_API tern_status tern_counter_event(tern_counter *counter, uint64_t threshold, tern_event *event);

/* Cancel all operations that still wait for a counter. They never start, no counter counts them, and their events
 * complete with TERN_ERR_CANCELLED.
 * Returns  TERN_OK: the operations are cancelled. Unless cancelled is NULL, their number is in *cancelled.
 *          TERN_ERR_ARG: counter is NULL.
 * Remote   None.
 * Threads  Only the thread that uses the context of the counter may call this function. */
TERN_API tern_status tern_counter_cancel(tern_counter *counter, size_t *cancelled);

/* Cancel a triggered operation that still waits for its counter. event is the event of the operation. The operation
 * never starts, no counter counts it, and its events complete with TERN_ERR_CANCELLED.
 * Returns  TERN_OK: the operation is cancelled.
 *          TERN_ERR_STATE: the operation has started or is complete. Nothing has changed.
 *          TERN_ERR_ARG: event is NULL, or not the event of a triggered operation.
 * Remote   None.
 * Threads  Only the thread that uses the context of the operation may call this function. */
TERN_API tern_status tern_triggered_cancel(tern_event *event);

TERN_END_DECLS

#endif

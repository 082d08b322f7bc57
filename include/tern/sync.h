/* sync.h: fence, quiet, barrier, all-gather, and waits for a condition.
 *
 * tern_fence orders the operations of a context; tern_quiet completes them; tern_barrier completes them and
 * synchronizes the ranks of the team; tern_allgather exchanges small blocks. None of these calls covers tagged
 * messages, whose requests tell when a message is complete. All ranks of a team make the same collective calls in the
 * same order.
 */
#ifndef TERN_SYNC_H
#define TERN_SYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <tern/context.h>
#include <tern/job.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* Order the operations of a context. One-sided operations and active messages that the context has started are
 * delivered at each target before those that the context starts later. Tagged messages have an order of their own
 * (tagged.h).
 * Returns  TERN_OK: the order is established.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The order is not established; call again.
 *          TERN_ERR_STATE: an active message handler made the call, and operations are outstanding.
 *          TERN_ERR_ARG: ctx is NULL.
 * Remote   Later operations are delivered after earlier ones. The target does not have to call Tern; but the call also
 *          waits until the notification of each notified access has space at its target (notify.h).
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_fence(tern_ctx *ctx);

/* Complete all one-sided operations of a context. The call completes all one-sided operations that the context has
 * started, with or without an event. When the call returns, the data that the operations have written is visible to all
 * ranks. The call contains a full memory barrier.
 *
 * The call does not wait for tagged messages. A long send completes only when its receiver has received the message, so
 * two ranks that both start a send, call tern_quiet and then receive would wait for each other forever. The call does
 * complete a receive whose data is being fetched. It does not wait for operations that wait for a counter (counter.h).
 * Returns  TERN_OK: all operations are complete.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Call again to wait for the remaining operations.
 *          TERN_ERR_STATE: an active message handler made the call, and operations are outstanding.
 *          TERN_ERR_ARG: ctx is NULL.
 *          Another error: the first error, since the last tern_quiet, of an operation without an event.
 * Remote   All data that the context has put is visible to all ranks. The target does not have to call Tern, with one
 *          exception: the call waits until the notification of each notified access has space at its target, and the
 *          target may have to take other notifications first (notify.h).
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_quiet(tern_ctx *ctx);

/* Complete the operations of a context, and meet all ranks. The call first completes all one-sided operations that the
 * context has started. It then waits until every rank of the context's team has called tern_barrier. It does not wait
 * for tagged messages, nor for operations that wait for a counter.
 * Returns  TERN_OK: every rank of the team has arrived.
 *          TERN_ERR_PEER: a rank of the team died before it arrived. All living ranks return this error.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The next tern_barrier on the team continues this barrier;
 *            until then, other ranks may be waiting for this rank.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective call
 *            on the team, or an earlier collective call on the team timed out.
 *          TERN_ERR_ARG: ctx is NULL, or another rank made another collective call at the same time. That rank gets the
 *            same error, and both texts name both calls. (A rank that calls tern_region_free or tern_finalize instead
 *            gets no error: both ranks wait, and the stall report of each, see the option TERN_STALL_REPORT, names the
 *            call of the other.)
 *          Another error: the first error, since the last tern_quiet, of an operation without an event. This rank has
 *            not arrived.
 * Remote   Everything that the ranks did before the barrier is visible to all of them after it.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. */
TERN_API tern_status tern_barrier(tern_ctx *ctx);

/* Gather a block of bytes from every rank at every rank. Each rank of the context's team passes len bytes at src. The
 * bytes of rank i are stored at all + i * len, so all has space for len times the size of the team. src may be this
 * rank's place in all. The call is collective, len is the same on all ranks, and the call is meant for small blocks. It
 * does not complete operations of the context.
 * Returns  TERN_OK: all contains the bytes of every rank.
 *          TERN_ERR_ARG: a pointer is NULL; or, on all ranks, ranks passed different lengths or made different
 *            collective calls.
 *          TERN_ERR_PEER: a rank of the team died. All living ranks return this error.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls but
 *            tern_region_free and tern_finalize.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective call
 *            on the team, a barrier on the team timed out and was not repeated, or another collective call on the team
 *            timed out.
 * Remote   Every rank of the team receives the bytes of every other rank.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. */
TERN_API tern_status tern_allgather(tern_ctx *ctx, const void *src, size_t len, void *all);

/* Make progress until a condition of the program holds. The call makes progress, and runs handlers, until
 * condition(arg) is true or the deadline passes. With TERN_NOW, the call polls once. Tern calls condition(arg) after
 * each poll; the condition must be cheap, and typically tests something that handlers change.
 *
 * A wait that takes long sleeps. It is woken by active messages, tagged messages, notifications and signals to this
 * rank, by the completion of operations of this rank, and by atomic operations that a thread of this rank executes for
 * other ranks (paths "cma", "bounce" and "ofi"). Changes by puts, by atomic operations through shared memory and by
 * other threads of the program do not wake the call; the condition sees them within 0.2 seconds.
 * Returns  TERN_OK: the condition holds.
 *          TERN_PENDING: the deadline is TERN_NOW, and the condition does not hold.
 *          TERN_ERR_TIMEOUT: the deadline passed, and the condition does not hold.
 *          TERN_ERR_STATE: an active message handler made the call.
 *          TERN_ERR_ARG: ctx or condition is NULL.
 * Remote   None.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_wait_until(tern_ctx *ctx, bool (*condition)(void *arg), void *arg, tern_deadline deadline);

TERN_END_DECLS

#endif

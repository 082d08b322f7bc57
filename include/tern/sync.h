/* sync.h: fence, quiet, barrier and all-gather.
 *
 * tern_fence orders the operations of a context; tern_quiet completes them, and tern_quiet_rank completes the
 * operations to one rank; tern_quiet_local waits until the sources of the operations may be overwritten; tern_barrier
 * completes them and synchronizes the ranks of the team; tern_allgather exchanges small blocks. None of these calls
 * covers tagged messages, whose requests tell when a message is complete. All ranks of a team make the same collective
 * calls in the same order.
 */
#ifndef TERN_SYNC_H
#define TERN_SYNC_H

#include <stddef.h>
#include <tern/context.h>
#include <tern/inline.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* Order the operations of a context. One-sided operations and active messages that the context has started are
 * delivered at each target before the operations that the context starts later. An active message is delivered when it
 * is in the queue of the target: later operations do not wait until its handler has run. Tagged messages have an order
 * of their own (tagged.h).
 *
 * The call does not complete the earlier operations, and usually does not wait. Where the path to a target keeps the
 * order, as stores to shared memory and some networks do, later operations follow at once. Elsewhere, the start of a
 * later operation to the same target waits for the earlier ones. The call itself waits only for operations of a context
 * that has counters (counter.h), and for data that travels in notifications to reach its destination.
 * Returns  TERN_OK: the order is established.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The order is not established; call again.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait for operations of a
 *            context that has counters.
 *          TERN_ERR_ARG: ctx is NULL.
 * Remote   Later operations are delivered after earlier ones. The target does not have to call Tern; but the next
 *          operation to the target may wait until the notification of each earlier notified access has space there
 *          (notify.h).
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

/* Complete all one-sided operations of a context towards one rank. The call completes the one-sided operations to the
 * rank that the context has started, with or without an event. When the call returns, the data that they have written
 * to the rank is visible to all ranks. Operations to other ranks may still be outstanding. The call contains a full
 * memory barrier. It does not wait for tagged messages, nor for operations that wait for a counter (counter.h).
 * Returns  TERN_OK: all operations to the rank are complete.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Call again to wait for the remaining operations.
 *          TERN_ERR_STATE: an active message handler made the call, and operations are outstanding.
 *          TERN_ERR_RANGE: the team of the context has no such rank.
 *          TERN_ERR_ARG: ctx is NULL.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          Another error: the first error, since the last tern_quiet, of an operation without an event. It is reported
 *            if all operations that failed were to this rank, and is forgotten then. If operations to several ranks
 *            have failed, each of these calls reports it until tern_quiet is called.
 * Remote   All data that the context has put to the rank is visible to all ranks. The target does not have to call
 *          Tern, but may have to take other notifications first, if it has no space for the notifications of notified
 *          accesses (notify.h).
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_quiet_rank(tern_ctx *ctx, int rank);

/* Get an event for the completion of all operations of a context. The event is complete when all one-sided operations
 * that the context has started before the call, with or without an event, are complete. Operations that the context
 * starts later do not delay it. The data of the operations is then visible to all ranks. The event
 * covers no tagged messages, and no operations that wait for a counter (counter.h).
 * Returns  TERN_OK: *event is the event. It may be complete already.
 *          TERN_ERR_ARG: a pointer is NULL.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          Another error: the event is complete, and this is the first error, since the last tern_quiet, of an
 *            operation without an event. If operations are outstanding, the event reports such an error instead.
 * Remote   When the event is complete, all data that the context has put before the call is visible to all ranks. The
 *          targets do not have to call Tern, but may have to take other notifications first, if they have no space
 *          for the notifications of notified accesses (notify.h).
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_quiet_nb(tern_ctx *ctx, struct tern_event *event);

/* Wait until all sources of a context may be overwritten. The call waits for the local completion of all puts and
 * accumulates that the context has started: the program may then reuse their source buffers. The data may not have
 * reached the targets yet. The call does not wait for gets, for fetching accumulates or for tagged messages.
 * Returns  TERN_OK: all sources may be overwritten.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Call again to wait for the remaining operations.
 *          TERN_ERR_STATE: an active message handler made the call, and operations are outstanding.
 *          TERN_ERR_ARG: ctx is NULL.
 *          TERN_ERR_NOMEM: there is not enough memory.
 * Remote   None: operations may still be on their way. An error of an operation is reported by its event, or by
 *          tern_quiet.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_quiet_local(tern_ctx *ctx);

/* Complete the operations of a context, and meet all ranks. The call first completes all one-sided operations that the
 * context has started. It then waits until every rank of the context's team has called tern_barrier. It does not wait
 * for tagged messages, nor for operations that wait for a counter.
 * Returns  TERN_OK: every rank of the team has arrived.
 *          TERN_ERR_PEER: a rank of the team died before it arrived, or gave up the team because an earlier collective
 *            call failed there or because it learned of a death. The other ranks return this error, too. If no rank
 *            died, some of them may return TERN_OK from this barrier, and the error from their next call.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The next tern_barrier on the team continues this barrier;
 *            until then, other ranks may be waiting for this rank.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective call
 *            on the team, or an earlier collective call on the team timed out.
 *          TERN_ERR_ARG: ctx is NULL, or another rank made another collective call at the same time. That rank gets the
 *            same error, and both texts name both calls. (A rank that calls tern_finalize or frees a region, a client
 *            of active messages or the team instead gets no error: both ranks wait, and the stall report of each, see
 *            the option TERN_STALL_REPORT, names the call of the other. On a team that the program created over
 *            several nodes, the reports name only tern_finalize.)
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
 *          TERN_ERR_ARG: a pointer is NULL, or src overlaps all and is not this rank's place there; or, on all ranks,
 *            ranks passed different lengths or made different collective calls.
 *          TERN_ERR_RANGE: len times the size of the team is too large.
 *          TERN_ERR_PEER: a rank of the team died, or gave up the team because an earlier collective call failed there
 *            or because it learned of a death. The other ranks return this error, too. If no rank died, some of them
 *            may return TERN_OK, because they have all data, and the error from their next call.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Afterwards, the team can make no collective calls but
 *            tern_region_free and tern_finalize: this rank has given it up, and the others do not wait for it.
 *          TERN_ERR_STATE: an active message handler made the call, another thread of this rank is in a collective call
 *            on the team, a barrier on the team timed out and was not repeated, or another collective call on the team
 *            timed out.
 * Remote   Every rank of the team receives the bytes of every other rank.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. */
TERN_API tern_status tern_allgather(tern_ctx *ctx, const void *src, size_t len, void *all);

TERN_END_DECLS

#endif

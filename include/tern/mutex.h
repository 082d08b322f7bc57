/* mutex.h: mutexes, which provide mutual exclusion between ranks.
 *
 * The ranks of a team create a set of mutexes collectively. Each rank says how many mutexes the set has at this rank,
 * and a mutex is addressed as (rank, index). The holder of a mutex is a context, not a rank or a thread: threads that
 * compete for a mutex need a context each, even if they also share a context. Contexts that wait for a mutex get it in
 * the order in which they joined its queue; a context that gives up, or whose rank dies while it waits, is skipped.
 * Within a node, a free mutex is locked and unlocked with one atomic instruction each, and a context that waits long
 * sleeps. Between nodes, a thread at the rank of the mutex executes the steps, independently of the program of that
 * rank.
 *
 * tern_mutex_unlock first completes the outstanding operations of its context, so that everything that the holder did
 * is visible to the next holder. A mutex orders nothing else.
 *
 * If a rank dies while it holds a mutex, the mutex stays held: tern_mutex_lock and tern_mutex_try return TERN_ERR_PEER,
 * even to contexts that are already waiting. The data that the mutex protected may be inconsistent. To continue, create
 * a new set.
 */
#ifndef TERN_MUTEX_H
#define TERN_MUTEX_H

#include <stdint.h>
#include <tern/context.h>
#include <tern/job.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* A set of mutexes at the ranks of a team. tern_mutex_create makes one. */
typedef struct tern_mutexes tern_mutexes;

/* Create a set of mutexes on a team. The set has count free mutexes at this rank. The call is collective over the
 * context's team; the ranks may pass different counts, also 0. Each mutex needs 64 bytes at its rank, plus 16 to 32
 * bytes for each rank of the team; every rank reserves memory for the largest count.
 * Returns  TERN_OK: *out is the set. All ranks return TERN_OK.
 *          TERN_ERR_ARG: a pointer is NULL; or, on all ranks, ranks made different collective calls.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the operating system refused the memory.
 *          TERN_ERR_PEER: a rank of the team died.
 *          TERN_ERR_TIMEOUT: a rank did not call in time. Afterwards, the team can make no collective calls but
 *            tern_region_free and tern_finalize.
 *          TERN_ERR_STATE: Tern is not initialized, an active message handler made the call, another thread of this
 *            rank is in a collective call on the team, a barrier on the team timed out and was not repeated, or another
 *            collective call on the team timed out.
 *          After an error, no rank has a set.
 * Remote   When the call returns, every rank of the team can use the set.
 * Threads  Only the thread that uses ctx may call this function, and a rank may make one collective call per team at a
 *          time. */
TERN_API tern_status tern_mutex_create(tern_ctx *ctx, uint64_t count, tern_mutexes **out);

/* Free a set of mutexes. The call is collective over the living ranks of the team. If a rank of the team has died, the
 * call does not check whether mutexes are held.
 * Returns  TERN_OK: the set is freed.
 *          TERN_ERR_STATE: on all ranks: a living rank holds one of the mutexes, and the set is unchanged. On this
 *            rank: Tern is not initialized, an active message handler made the call, another thread of this rank is in
 *            a collective call on the team, a barrier on the team timed out and was not repeated, another collective
 *            call on the team timed out, or the set is already freed.
 *          TERN_ERR_ARG: mutexes is NULL; or, on all ranks, ranks passed different sets or made different
 *            collective calls.
 *          TERN_ERR_TIMEOUT: a rank did not call within the time that the option TERN_TIMEOUT sets. The set remains,
 *            until tern_finalize frees it. Afterwards, the team can make no collective calls but tern_region_free and
 *            tern_finalize.
 * Remote   When the call returns, no rank uses the set any more.
 * Threads  Any thread may call this function. A rank may make one collective call per team at a time. */
TERN_API tern_status tern_mutex_free(tern_mutexes *mutexes);

/* Lock a mutex, and wait for it within the time limit. The call locks mutex index of rank for the context, and waits
 * for it within the context's time limit.
 * Returns  TERN_OK: the context holds the mutex.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the set has no mutex index at rank.
 *          TERN_ERR_ARG: a pointer is NULL.
 *          TERN_ERR_STATE: the context already holds the mutex, or the call would have to wait in an active message
 *            handler.
 *          TERN_ERR_PEER: rank has died, or the holder of the mutex has died.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. Between nodes, the call checks the time only between two
 *            answers of rank.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_LINK: the transport failed.
 *          After an error, the context does not wait for the mutex.
 * Remote   When the call returns TERN_OK, everything that the previous holder did before it unlocked the mutex is
 *          visible. The rank of the mutex does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_mutex_lock(tern_ctx *ctx, tern_mutexes *mutexes, int rank, uint64_t index);

/* Lock a mutex, and wait for it until a deadline. The call locks mutex index of rank for the context. With TERN_NOW,
 * the call does not join the queue of the mutex.
 * Returns  TERN_OK: the context holds the mutex.
 *          TERN_PENDING: the deadline is TERN_NOW, and the mutex is not free.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the set has no mutex index at rank.
 *          TERN_ERR_ARG: a pointer is NULL.
 *          TERN_ERR_STATE: the context already holds the mutex, or the call would have to wait in an active message
 *            handler.
 *          TERN_ERR_PEER: rank has died, or the holder of the mutex has died.
 *          TERN_ERR_TIMEOUT: the deadline passed. Between nodes, the call checks the time only between two answers of
 *            rank.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_LINK: the transport failed.
 *          After TERN_PENDING and after an error, the context does not wait for the mutex.
 * Remote   When the call returns TERN_OK, everything that the previous holder did before it unlocked the mutex is
 *          visible. The rank of the mutex does not have to call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_mutex_try(tern_ctx *ctx, tern_mutexes *mutexes, int rank, uint64_t index,
                                    tern_deadline deadline);

/* Unlock a mutex. The call first completes the outstanding operations of the context, and then unlocks mutex index of
 * rank. The next context in the queue gets the mutex.
 * Returns  TERN_OK: the context no longer holds the mutex.
 *          TERN_ERR_STATE: the context does not hold the mutex, or the call would have to wait in an active message
 *            handler. Nothing has changed.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the set has no mutex index at rank.
 *          TERN_ERR_ARG: a pointer is NULL.
 *          TERN_ERR_PEER: rank has died.
 *          TERN_ERR_TIMEOUT: the outstanding operations did not complete within the context's time limit. The context
 *            still holds the mutex.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_LINK: the transport failed.
 * Remote   Everything that the context did before is visible to the next holder. The rank of the mutex does not have to
 *          call Tern.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_mutex_unlock(tern_ctx *ctx, tern_mutexes *mutexes, int rank, uint64_t index);

TERN_END_DECLS

#endif

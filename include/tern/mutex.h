/* mutex.h: mutual exclusion between ranks.
 *
 * A set of mutexes is made collectively: count of them at each rank of a team, addressed as (rank, index). The holder
 * of a mutex is a context. Those who wait have their turn in the order in which they came; who gives up, or dies while
 * it waits, is passed over. On a node a mutex that is free is taken and given back by one atomic instruction each, and
 * who waits sleeps when that takes long. Over the network the steps are made by a thread of the rank where the mutex
 * is, whatever its program is doing.
 *
 * What the holder did before it unlocked is visible to the next one: tern_mutex_unlock completes what its context
 * has under way. A mutex orders nothing else.
 *
 * A rank that dies while it holds a mutex takes it along: from then on tern_mutex_lock and tern_mutex_try return
 * TERN_ERR_PEER, to those who wait already as well. What the mutex protected may be half changed; make a new set to go
 * on.
 */
#ifndef TERN_MUTEX_H
#define TERN_MUTEX_H

#include <stdint.h>
#include <tern/context.h>
#include <tern/job.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

typedef struct tern_mutexes tern_mutexes;

/* Make count mutexes at each rank of the context's team, all free. Collective: all ranks pass the same count. Each
 * takes 64 bytes of memory at its rank, and 16 to 32 for each rank of the team.
 * Returns  TERN_OK: *out is the set. TERN_ERR_ARG: count is 0, or differs between ranks, or a pointer is NULL.
 *          TERN_ERR_NOMEM: no memory for them. Otherwise as tern_region_alloc. After an error there is no set, on any
 *          rank.
 * Remote   the set can be used by every rank that has returned.
 * Threads  the one that uses ctx. One collective call on a team at a time. */
TERN_API tern_status tern_mutex_create(tern_ctx *ctx, uint64_t count, tern_mutexes **out);

/* Give up a set of mutexes. Collective, by all ranks of its team that live.
 * Returns  TERN_OK. TERN_ERR_STATE: one of them is held by a rank that lives; on all ranks alike, and the set is as it
 *          was. Otherwise as tern_region_free. Where a member of the team is dead it is not asked whether any is held.
 * Remote   no rank uses the set any more when it returns.
 * Threads  any. One collective call on a team at a time. */
TERN_API tern_status tern_mutex_destroy(tern_mutexes *mutexes);

/* Take mutex index of rank, and wait for it as long as the context's time limit permits.
 * Returns  TERN_OK: the context holds it. TERN_ERR_RANGE: no such rank or index. TERN_ERR_ARG: a pointer is NULL.
 *          TERN_ERR_STATE: the context holds it already; or the call would wait in a handler of an active message.
 *          TERN_ERR_PEER: rank is gone, or the holder died.
 *          TERN_ERR_TIMEOUT: the time limit passed, looked at between answers of rank. After an error the context does
 *          not wait for it any more.
 * Remote   what the last holder did before it unlocked is visible. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_mutex_lock(tern_ctx *ctx, tern_mutexes *mutexes, int rank, uint64_t index);

/* The same with a deadline: TERN_NOW does not queue up at all.
 * Returns  as tern_mutex_lock. TERN_AGAIN: the deadline is TERN_NOW, and the mutex is not free. TERN_ERR_TIMEOUT: the
 *          deadline passed.
 * Remote   as tern_mutex_lock.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_mutex_try(tern_ctx *ctx, tern_mutexes *mutexes, int rank, uint64_t index,
                                    tern_deadline deadline);

/* Complete what the context has under way, and give mutex index of rank to the next who waits.
 * Returns  TERN_OK. TERN_ERR_STATE: the context does not hold it; nothing changed. TERN_ERR_RANGE, TERN_ERR_ARG: as
 *          tern_mutex_lock. TERN_ERR_PEER: rank is gone. TERN_ERR_TIMEOUT: what is under way did not end within the
 *          context's time limit; the mutex is still held.
 * Remote   what the context did before is visible to the next holder. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_mutex_unlock(tern_ctx *ctx, tern_mutexes *mutexes, int rank, uint64_t index);

TERN_END_DECLS

#endif

/* mutex.h: mutexes: queue locks (base/queue_lock.h) in a region of their own.
 *
 * A rank whose loads and stores reach the memory of a mutex operates on it directly. Other ranks send RPCs to the
 * mutex's owner, which executes the steps for them, concurrently with the application. A release wakes the next holder:
 * by its bell if it is on the mutex's node, otherwise by an empty message from the rank that released the mutex. Ranks
 * that wait over the network also poll periodically, because this message is lost if its sender dies.
 */
#pragma once

#include <tern/mutex.h>

#include "base/queue_lock.h"
#include "core/context.h"
#include "core/region.h"
#include "op/rpc_serve.h"

struct tern_mutexes {
    struct tern_region_owned owned; /* must be first */
    struct tern_region      *region;
    unsigned                 log;     /* log2 of the number of queue places of each mutex */
    size_t                   bytes;   /* size of each mutex */
    uint64_t                 count[]; /* [ranks of the job] number of mutexes of each rank; 0: none, or no member */
};

/* Return log2 of the number of queue places of a mutex for a team of this many ranks: at least two places for each
 * rank, so that further threads of a rank find a place, too. */
unsigned tern_op_mutex_log(int ranks);

/* One existing mutex of a rank. */
struct tern_op_mutex {
    struct tern_ctx             *ctx;
    const struct tern_link_part *part;
    uint64_t                     offset, index;
    unsigned                     log;
    int                          rank; /* the owner, as a rank in the context's team */
    const char                  *what; /* name of the public call */
};

/* tern_op_mutex_lock acquires the mutex. It returns TERN_OK; TERN_PENDING if the deadline is TERN_NOW and another
 * context holds the mutex;
 * TERN_ERR_TIMEOUT; TERN_ERR_PEER if the holder has died or the owner is gone; TERN_ERR_STATE if this context
 * already holds the mutex. tern_op_mutex_unlock first completes the outstanding operations of the context, within its
 * time limit, and then releases the mutex. It returns TERN_ERR_STATE if this context does not hold the mutex. */
tern_status tern_op_mutex_lock(const struct tern_op_mutex *mutex, tern_deadline deadline);
tern_status tern_op_mutex_unlock(const struct tern_op_mutex *mutex);

/* Return the index of the first mutex of this rank that a living rank holds; UINT64_MAX if there is none. */
uint64_t tern_op_mutex_held(const struct tern_mutexes *mutexes);

/* The steps of locking and unlocking. */
enum tern_mutex_step {
    TERN_MUTEX_TRY, /* results: ACQUIRED, NOT_OWNER, OWNER_DEAD, ALREADY_OWNER */
    TERN_MUTEX_ACQUIRE,
    TERN_MUTEX_POLL,
    TERN_MUTEX_ABANDON,
    TERN_MUTEX_RELEASE,
    TERN_MUTEX_STEPS
};

/* Execute a step on a mutex that loads and stores reach. The ticket in *done is set by ACQUIRE, and is input of POLL
 * and ABANDON; the other fields are results. */
void tern_op_mutex_step(struct tern_qlock *lock, unsigned log, enum tern_mutex_step which, uint64_t name,
                        struct wire_mutex_response *done);

/* The RPC handler at the owner: WIRE_MUTEX. */
tern_op_rpc_handler tern_op_mutex_rpc;

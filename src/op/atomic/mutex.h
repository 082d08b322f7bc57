/* mutex.h: mutexes: locks with a queue (base/queue_lock.h) in a region of their own.
 *
 * A rank whose loads and stores reach the memory of a mutex works on it directly. Others ask its owner's rank by
 * errand, which does the same steps for them, beside its program. Whoever is chosen is woken: by its bell on the
 * mutex's node, elsewhere by a message that says nothing, which the one who gave the mutex away sends. Should that get
 * lost with its sender, those who wait over the network ask again by the clock.
 */
#ifndef TERN_OP_ATOMIC_MUTEX_H
#define TERN_OP_ATOMIC_MUTEX_H

#include <tern/mutex.h>

#include "base/queue_lock.h"
#include "core/context.h"
#include "core/region.h"
#include "op/rpc_serve.h"

struct tern_mutexes {
    struct tern_region *region;
    uint64_t            count; /* of each rank */
    unsigned            log;   /* of the places of each */
    size_t              bytes; /* of each */
};

/* The places that a mutex has, for a team of so many: two for each rank, so that threads find one too. */
unsigned tern_op_mutex_log(int ranks);

/* One mutex of a rank that is there. */
struct tern_op_mutex {
    struct tern_ctx             *ctx;
    const struct tern_link_part *part;
    uint64_t                     offset, index;
    unsigned                     log;
    int                          rank; /* in the context's team */
    const char                  *what; /* the public call */
};

/* TERN_OK. TERN_AGAIN: the deadline is TERN_NOW, and another has it. TERN_ERR_TIMEOUT, TERN_ERR_PEER,
 * TERN_ERR_STATE. */
tern_status tern_op_mutex_lock(const struct tern_op_mutex *mutex, tern_deadline deadline);
tern_status tern_op_mutex_unlock(const struct tern_op_mutex *mutex);

/* The first mutex of this rank that a rank holds which is alive; count: none. */
uint64_t tern_op_mutex_held(const struct tern_mutexes *mutexes);

tern_op_rpc_handler tern_op_mutex_rpc;

#endif

/* mutex_step.h: the steps of locking and unlocking, for whoever makes them. */
#ifndef TERN_OP_ATOMIC_MUTEX_STEP_H
#define TERN_OP_ATOMIC_MUTEX_STEP_H

#include "op/atomic/mutex.h"

enum tern_mutex_step {
    TERN_MUTEX_TRY, /* MINE, NOT, LOST, HELD */
    TERN_MUTEX_ACQUIRE,
    TERN_MUTEX_POLL,
    TERN_MUTEX_ABANDON,
    TERN_MUTEX_RELEASE,
    TERN_MUTEX_STEPS
};

/* What came of it. */
struct tern_mutex_stepped {
    enum tern_qlock_state state;
    uint32_t              ticket; /* before: the one that was given */
    unsigned              holder; /* its rank in the job, + 1; 0: nobody */
};

/* Make a step on memory in reach. */
void tern_op_mutex_step(struct tern_qlock *turn, unsigned log, enum tern_mutex_step which, uint64_t name,
                        struct tern_mutex_stepped *done);

/* Have the mutex's owner make it, and wait for the answer. TERN_ERR_PEER: it is gone. */
tern_status tern_op_mutex_step_rpc(const struct tern_op_mutex *mutex, enum tern_mutex_step which, uint64_t name,
                                   struct tern_mutex_stepped *done);

#endif

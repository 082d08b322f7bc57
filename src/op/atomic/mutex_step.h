/* mutex_step.h: the steps of locking and unlocking a mutex, executed directly or by RPC. */
#pragma once

#include "op/atomic/mutex.h"

enum tern_mutex_step {
    TERN_MUTEX_TRY, /* results: ACQUIRED, NOT_OWNER, OWNER_DEAD, ALREADY_OWNER */
    TERN_MUTEX_ACQUIRE,
    TERN_MUTEX_POLL,
    TERN_MUTEX_ABANDON,
    TERN_MUTEX_RELEASE,
    TERN_MUTEX_STEPS
};

/* The result of a step. */
struct tern_mutex_stepped {
    enum tern_qlock_state state;
    uint32_t              ticket; /* set by ACQUIRE; input of POLL and ABANDON */
    unsigned              holder; /* the holder's rank in the job + 1; 0: nobody */
};

/* Execute a step on a mutex that loads and stores reach. */
void tern_op_mutex_step(struct tern_qlock *turn, unsigned log, enum tern_mutex_step which, uint64_t name,
                        struct tern_mutex_stepped *done);

/* Execute a step by RPC at the mutex's owner, and wait for the response. Returns TERN_ERR_PEER if the owner is gone. */
tern_status tern_op_mutex_step_rpc(const struct tern_op_mutex *mutex, enum tern_mutex_step which, uint64_t name,
                                   struct tern_mutex_stepped *done);

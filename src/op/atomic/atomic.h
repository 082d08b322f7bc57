/* atomic.h: how an atomic operation is executed.
 *
 *   direct     loads and stores reach the part: the CPU executes the operation within the call (exec.c)
 *   RPC        a thread of the target executes the operation, concurrently with the application, and returns the old
 *              value
 *   network    the network's own atomics; only for domains all of whose operations use them
 */
#ifndef TERN_OP_ATOMIC_ATOMIC_H
#define TERN_OP_ATOMIC_ATOMIC_H

#include <tern/atomic.h>

#include "core/context.h"
#include "op/rpc_serve.h"

/* A checked operation: the type supports it, and the offset is aligned and lies in the part. */
struct tern_op_atomic {
    const struct tern_link_part    *part; /* network: the part as the network link reaches it */
    uint64_t                        offset;
    tern_type                       type;
    uint32_t                        op;
    uint64_t                        operand, compare; /* bit patterns; 4-byte values in the lower half */
    void                           *result;           /* where the old value goes; NULL: not wanted */
    bool                            network;
    const struct tern_notification *notification; /* the notification that follows; NULL: none */
};

/* Start the operation. opts has the meaning that it has in tern_atomic_with and must not be NULL. `what` names the
 * public call. */
tern_status tern_op_atomic_start(struct tern_ctx *ctx, const struct tern_op_atomic *atomic, const tern_opts *opts,
                                 const char *what);

/* Start the operation and wait until it completes or the context's time limit expires. */
tern_status tern_op_atomic_run(struct tern_ctx *ctx, const struct tern_op_atomic *atomic, const char *what);

/* Start the operation, without a result, as one step of a compound operation. `pending` is the record of the step.
 * Returns the same values as the start function of a path. */
tern_status tern_op_atomic_step(struct tern_ctx *ctx, const struct tern_op_atomic *atomic,
                                struct tern_pending *pending);

/* The RPC handler at the target: WIRE_ATOMIC. */
tern_op_rpc_handler tern_op_atomic_rpc;

#endif

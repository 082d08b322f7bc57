/* atomic.h: how an atomic operation is executed.
 *
 *   direct     loads and stores reach the part: the CPU executes the operation within the call (exec.c)
 *   RPC        a thread of the target executes the operation, concurrently with the application, and returns the old
 *              value
 *   network    the network's own atomics; only for domains all of whose operations use them
 */
#pragma once

#include <tern/atomic.h>

#include "core/context.h"
#include "op/start.h"
#include "op/rpc_serve.h"

/* A checked operation: the type supports it, and the offset is aligned and lies in the part. */
struct tern_op_atomic {
    const struct tern_link_part *part; /* network is true: the part as the network link reaches it */
    uint64_t                     offset;
    tern_type                    type;
    uint32_t                     op;
    uint64_t                     operand, compare; /* bit patterns; 4-byte values in the lower half */
    void                        *result;           /* address for the old value; NULL: not wanted */
    bool                         network;
};

/* Start the operation, or run it (TERN_OP_BLOCKING), as opts says. home is the part as the region describes it; a
 * notification is sent to its rank. call names the public call. */
tern_status tern_op_atomic(struct tern_ctx *ctx, const struct tern_op_atomic *atomic, const struct tern_link_part *home,
                           const tern_opts *opts, const char *call);

/* Start the operation as the second step of op, with the old value stored only if atomic->result is not NULL. Returns
 * the values of a kind's start. */
tern_status tern_op_atomic_step(struct tern_op *op, const struct tern_op_atomic *atomic);

/* The RPC handler at the target: WIRE_ATOMIC. */
tern_op_rpc_handler tern_op_atomic_rpc;

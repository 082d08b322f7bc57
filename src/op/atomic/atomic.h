/* atomic.h: how an atomic operation travels.
 *
 *   at once    loads and stores reach the part: the processor does it in the call (exec.c)
 *   errand     a thread of the target does the same there, beside its program, and answers with what was there
 *   network    by the network's own atomics; only for domains whose operations all go that way
 */
#ifndef TERN_OP_ATOMIC_ATOMIC_H
#define TERN_OP_ATOMIC_ATOMIC_H

#include <tern/atomic.h>

#include "core/context.h"
#include "op/rpc_serve.h"

/* A checked operation: one that the type has, on an aligned place in the part. */
struct tern_op_atomic {
    const struct tern_link_part    *part; /* network: as the network reaches it */
    uint64_t                        offset;
    tern_type                       type;
    uint32_t                        op;
    uint64_t                        operand, compare; /* bits; of 4 bytes, in the lower half */
    void                           *result;           /* NULL: nobody wants to know what was there */
    bool                            network;
    const struct tern_notification *notification; /* the notification that follows; NULL: none */
};

/* Start it. opts as in tern_atomic_with, never NULL. what names the public call. */
tern_status tern_op_atomic_start(struct tern_ctx *ctx, const struct tern_op_atomic *atomic, const tern_opts *opts,
                                 const char *what);

/* The same, and wait until it is done or the context's time limit passes. */
tern_status tern_op_atomic_run(struct tern_ctx *ctx, const struct tern_op_atomic *atomic, const char *what);

/* One step of a work, whose record is pending: started now, without a result. Returns as the start of a path. */
tern_status tern_op_atomic_step(struct tern_ctx *ctx, const struct tern_op_atomic *atomic,
                                struct tern_pending *pending);

/* At the target: WIRE_ATOMIC. */
tern_op_rpc_handler tern_op_atomic_rpc;

#endif

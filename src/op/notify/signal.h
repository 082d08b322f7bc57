/* signal.h: a put, and behind it an atomic operation on a word of its target, as one operation.
 *
 * Where loads and stores reach both places that is a copy, a store and the target's bell. Where they do not, and
 * whoever serves the target's peers can reach both, a short put and its signal are one errand. Otherwise it is a work
 * of two steps: the transfer, and when that has ended the operation, as atomic operations travel (op/atomic/atomic.h).
 */
#ifndef TERN_OP_NOTIFY_SIGNAL_H
#define TERN_OP_NOTIFY_SIGNAL_H

#include <tern/rma.h>

#include "op/atomic/atomic.h"
#include "op/rpc_serve.h"

/* Start it; all is checked. word is on a part of the same rank as xfer. opts as in tern_put_with, never NULL. */
tern_status tern_op_signal_start(struct tern_ctx *ctx, const struct tern_xfer *xfer, const struct tern_op_atomic *word,
                                 const tern_opts *opts, const char *what);

/* The same, and wait until it is done or the context's time limit passes. */
tern_status tern_op_signal_run(struct tern_ctx *ctx, const struct tern_xfer *xfer, const struct tern_op_atomic *word,
                               const char *what);

/* At the target: see op/rpc_serve.h. */
tern_op_rpc_handler tern_op_signal_rpc;

/* A word of the rank has changed: wake whoever sleeps there until it does. Of ranks on other nodes their network
 * tells. */
void tern_op_signal_wake(int rank);

#endif

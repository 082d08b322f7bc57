/* signal.h: a put followed by an atomic operation on a word of the target (the signal), as one operation.
 *
 * If loads and stores reach both locations, the operation is a copy, a store, and a ring of the target's bell. If loads
 * and stores do not reach them, but the RPC server of the target reaches both, a short put and its signal are one RPC.
 * Otherwise the path of the put may deliver the signal behind the data (struct tern_link_put_rpc). If it cannot, the
 * operation has two steps: the transfer, and after its completion the atomic operation (op/atomic/atomic.h).
 */
#pragma once

#include <tern/rma.h>

#include "op/atomic/atomic.h"
#include "op/rpc_serve.h"

/* Start a put with a signal, or run it (TERN_OP_BLOCKING), as opts says. The caller has checked all arguments. word is
 * on a part of the same rank as xfer. call names the public call. */
tern_status tern_op_put_signal(struct tern_ctx *ctx, const struct tern_xfer *xfer, const struct tern_op_atomic *word,
                               const tern_opts *opts, const char *call);

/* Let a signal follow a put. The caller has checked the word, which is on a part of the rank of the put. */
void tern_op_then_signal(struct tern_op *op, const struct tern_op_atomic *word);

/* Update a signal that loads and stores reach, and wake its rank. */
void tern_op_signal_now(const struct tern_op_atomic *word);

/* The RPC handler at the target: see op/rpc_serve.h. */
tern_op_rpc_handler tern_op_signal_rpc;

/* Wake a rank that sleeps until one of its words changes. For ranks on other nodes this does nothing: their network
 * link wakes them. */
void tern_op_signal_wake(int rank);

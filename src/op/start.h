/* start.h: starting an operation that may have to wait for space or for earlier operations, and waiting for its
 * completion.
 *
 * The functions of op/ that public calls use fill in an operation (core/op.h) and pass it to tern_op_go(). */
#pragma once

#include <tern/rma.h>

#include "core/context.h"
#include "op/notify/notify.h"

/* An internal flag in addition to those of tern_opts: wait until the operation is complete, or the context's time limit
 * passes. */
#define TERN_OP_BLOCKING 0x80000000u
extern const tern_opts tern_op_blocking; /* options with this flag only */

/* Return whether the operation updates a counter or waits for one. */
static inline bool tern_op_is_parked(const tern_opts *opts)
{
    return TERN_UNLIKELY(opts->counter != NULL || opts->when != NULL);
}

/* Create an operation of at least sizeof(struct tern_op) bytes on the context, or, if the options park it, on the
 * context of the engine. NULL, with the detail of the error: no memory. */
void *tern_op_new(struct tern_ctx *ctx, size_t bytes, const struct tern_op_kind *kind, const tern_opts *opts,
                  const char *call);

/* Let a notification of the transfer's rank follow the operation, if the options ask for one. */
void tern_op_then_notify(struct tern_op *op, const struct tern_link_part *part, uint64_t bytes, const tern_opts *opts);

/* Start an operation as the options say: as soon as the earlier operations of a strict context permit it, or when a
 * counter permits it. Fill in the events, or wait for the completion of the operation. Takes ownership of the
 * operation. Returns TERN_OK, or TERN_AGAIN or an error, in which case nothing was started. */
tern_status tern_op_go(struct tern_op *op, const tern_opts *opts);

/* Start an operation and wait for its completion until the deadline. Takes ownership of the operation. */
tern_status tern_op_run(struct tern_op *op, tern_deadline deadline);

/* Try once to start an operation, without waiting. Returns TERN_OK: the operation is complete. TERN_PENDING: the
 * context owns the operation. TERN_AGAIN, or an error: nothing was started. */
tern_status tern_op_try(struct tern_op *op);

/* Start an RPC for an operation whose xfer is filled in. The request consists of len bytes and of `data` bytes at the
 * local address of the xfer. on_response, if not NULL, is called with the response of at most `expect` bytes. Returns
 * TERN_PENDING, or TERN_AGAIN or an error, in which case nothing was started. */
tern_status tern_op_rpc_start(struct tern_op *op, const void *request, size_t len, size_t data,
                              void (*on_response)(struct tern_link_op *op, const unsigned char *bytes, size_t len),
                              size_t expect);

/* Fill in the events that the options ask for: tern_op_no_events for an operation that is already complete,
 * tern_op_fill_events for an outstanding operation, whose `events` was set to tern_op_count_events() before its
 * start. */
void                  tern_op_no_events(const tern_opts *opts);
void                  tern_op_fill_events(const tern_opts *opts, struct tern_op *op);
static inline uint8_t tern_op_count_events(const tern_opts *opts)
{
    return (uint8_t)((opts->event != NULL) + (opts->local != NULL));
}

/* Return whether the caller is a message handler that may wait for a transfer to the part. It may not if the transfer
 * needs the target's help, or must follow a transfer that does. Returns false outside of handlers. */
bool tern_op_handler_may_wait(const struct tern_ctx *ctx, const struct tern_link_part *part);

/* Start a checked contiguous transfer, or run it (TERN_OP_BLOCKING), as opts says. A transfer without bytes only
 * notifies and counts. call names the public call. */
tern_status tern_op_contig(struct tern_ctx *ctx, const struct tern_xfer *xfer, const tern_opts *opts, const char *call);

/* Get at most 8 bytes and wait for them. The value of *word is defined only if the call returns TERN_OK. After a
 * timeout, the transfer may still write to the operation, but not to *word. xfer is checked, except for its local
 * address, which is overwritten. */
tern_status tern_op_get_word(struct tern_ctx *ctx, struct tern_xfer *xfer, uint64_t *word, const char *call);

/* The kind of a contiguous transfer, whose xfer the creator fills in. */
extern const struct tern_op_kind tern_op_contig_kind;

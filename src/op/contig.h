/* contig.h: contiguous transfers. */
#ifndef TERN_OP_CONTIG_H
#define TERN_OP_CONTIG_H

#include <tern/rma.h>

#include "core/context.h"

/* Start a checked transfer of at least one byte. opts is as in tern_put_with and never NULL. what names the public
 * call. */
tern_status tern_op_contig_start(struct tern_ctx *ctx, const struct tern_xfer *xfer, const tern_opts *opts,
                                 const char *what);

/* Start a checked transfer of at least one byte, and wait until it completes or the context's time limit passes. */
tern_status tern_op_contig_run(struct tern_ctx *ctx, const struct tern_xfer *xfer, const char *what);

/* Start, or start and wait for, a checked transfer of any length that is followed by a notification. The flags of opts
 * must contain TERN_NOTIFY. */
tern_status tern_op_contig_start_noted(struct tern_ctx *ctx, const struct tern_xfer *xfer, const tern_opts *opts,
                                       const char *what);
tern_status tern_op_contig_run_noted(struct tern_ctx *ctx, const struct tern_xfer *xfer, uint32_t tag,
                                     const char *what);

#endif

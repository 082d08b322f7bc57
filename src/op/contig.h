/* contig.h: how one contiguous transfer travels. */
#ifndef TERN_OP_CONTIG_H
#define TERN_OP_CONTIG_H

#include <tern/rma.h>

#include "core/context.h"

/* Start a checked transfer. opts as in tern_put_with, never NULL. what names the public call. */
tern_status tern_op_contig_start(struct tern_ctx *ctx, const struct tern_xfer *xfer, const tern_opts *opts,
                                 const char *what);

/* The same, and wait until it is complete or the context's time limit passes. */
tern_status tern_op_contig_run(struct tern_ctx *ctx, const struct tern_xfer *xfer, const char *what);

#endif

/* contig.h: contiguous transfers. */
#pragma once

#include "op/start.h"

/* Start a checked transfer, or run it (TERN_OP_BLOCKING), as opts says. A transfer without bytes only notifies and
 * counts. call names the public call. */
tern_status tern_op_contig(struct tern_ctx *ctx, const struct tern_xfer *xfer, const tern_opts *opts, const char *call);

/* The kind of a contiguous transfer, whose xfer the creator fills in. */
extern const struct tern_op_kind tern_op_contig_kind;

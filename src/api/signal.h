/* signal.h: puts that update a signal, for the calls of all shapes. */
#pragma once

#include <tern/signal.h>

#include "api/check.h"
#include "op/atomic/atomic.h"

/* Check the signal of a put to a rank of the context's team, and fill in the atomic operation that updates it. */
tern_status tern_api_signal(const tern_ctx *ctx, int rank, const tern_signal *signal, const char *what,
                            struct tern_op_atomic *word);

/* Check a contiguous put with a signal, and start it. */
tern_status tern_api_put_signal(tern_ctx *ctx, tern_region *region, int rank, struct tern_xfer *xfer,
                                const struct tern_api_opts *o);

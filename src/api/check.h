/* check.h: the checks that every call on a rank's part of a region begins with. */
#pragma once

#include <tern/rma.h>

#include "core/context.h"

/* Report that an argument is NULL. */
tern_status tern_api_null(const char *what) __attribute__((cold));

/* Find the part of a rank of the context's team. Returns an error if an argument is invalid. */
tern_status tern_api_part(const tern_ctx *ctx, const tern_region *region, int rank, const char *what,
                          const struct tern_link_part **part);

/* Check that the rank, which must be valid, is alive. */
tern_status tern_api_alive(const tern_ctx *ctx, int rank, const char *what);

/* Make all checks for a contiguous transfer, and fill in xfer->part. */
tern_status tern_api_xfer(const tern_ctx *ctx, const tern_region *region, int rank, struct tern_xfer *xfer,
                          const char *what);

/* Check that the options are valid, and that their counters belong to the context, if that is not NULL. */
tern_status tern_api_opts(const tern_ctx *ctx, const tern_opts *opts, const char *what);

/* Whether the rank of the part can be notified, which requires that it is in the region's team. */
bool tern_api_notifies(const struct tern_link_part *part, int rank, const char *what);

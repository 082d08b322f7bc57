/* check.h: the checks that every call on a rank's part of a region begins with. */
#ifndef TERN_API_CHECK_H
#define TERN_API_CHECK_H

#include <tern/rma.h>

#include "core/context.h"

/* Find the part of a rank of the context's team. */
tern_status tern_api_part(const tern_ctx *ctx, const tern_region *region, int rank, const char *what,
                          const struct tern_link_part **part);

/* Whether the rank, which there is, is still there. */
tern_status tern_api_alive(const tern_ctx *ctx, int rank, const char *what);

/* Every check that a contiguous transfer needs; xfer->part is filled. */
tern_status tern_api_xfer(const tern_ctx *ctx, const tern_region *region, int rank, struct tern_xfer *xfer,
                          const char *what);

/* Whether the options make sense. */
tern_status tern_api_opts(const tern_opts *opts, const char *what);

/* Whether the operation counts, or waits for a counter; and whether it may, on this context. */
static inline bool tern_api_is_later(const tern_opts *opts)
{
    return TERN_UNLIKELY(opts->counter != NULL || opts->when != NULL);
}
tern_status tern_api_later(const tern_ctx *ctx, const tern_opts *opts, const char *what);

/* Whether the rank of the part can be notified: it is in the region's team. */
bool tern_api_notifies(const struct tern_link_part *part, int rank, const char *what);

/* Fill the events of an operation that has nothing to do. */
void tern_api_nothing(const tern_opts *opts);

#endif

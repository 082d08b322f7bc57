/* notify.c: the public calls of tern/notify.h that are contiguous. The others stand beside those without notification. */
#include <tern/notify.h>

#include "api/target.h"
#include "op/contig.h"

static tern_status access(tern_ctx *ctx, tern_region *region, int rank, struct tern_xfer *xfer, uint32_t tag,
                          const char *what)
{
    tern_status st = tern_api_xfer(ctx, region, rank, xfer, what);

    if (st < 0)
        return st;
    return tern_api_notifies(xfer->part, rank, what) ? tern_op_contig_run_noted(ctx, xfer, tag, what) : TERN_ERR_RANGE;
}

tern_status tern_put_notify(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src, size_t len,
                            uint32_t tag)
{
    struct tern_xfer xfer = { .offset = offset, .local = (void *)(uintptr_t)src, .len = len };

    return access(ctx, region, rank, &xfer, tag, "tern_put_notify");
}

tern_status tern_get_notify(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst, size_t len,
                            uint32_t tag)
{
    struct tern_xfer xfer = { .offset = offset, .local = dst, .len = len, .get = true };

    return access(ctx, region, rank, &xfer, tag, "tern_get_notify");
}

tern_status tern_notify(tern_ctx *ctx, tern_region *region, int rank, uint32_t tag)
{
    struct tern_xfer xfer = { .len = 0 };

    return access(ctx, region, rank, &xfer, tag, "tern_notify");
}

/* notify.c: the contiguous calls of tern/notify.h. The other notified calls are next to their forms without
 * notification. */
#include <tern/notify.h>

#include "api/check.h"
#include "core/region.h"
#include "op/start.h"
#include "op/notify/notify.h"

static tern_status access(tern_ctx *ctx, tern_region *region, int rank, struct tern_xfer *xfer, uint32_t tag,
                          const char *what)
{
    const tern_opts opts = { .flags = TERN_NOTIFY | TERN_OP_BLOCKING, .tag = tag };
    tern_status     st = tern_api_xfer(ctx, region, rank, xfer, what);

    if (st < 0)
        return st;
    return tern_api_notifies(xfer->part, rank, what) ? tern_op_contig(ctx, xfer, &opts, what) : TERN_ERR_RANGE;
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

static __attribute__((noinline)) tern_status put_any(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                                     const void *src, size_t len, uint32_t tag)
{
    const tern_opts opts = { .flags = TERN_NOTIFY, .tag = tag };
    tern_status     st = tern_op_notify_put_inline(ctx, region, rank, offset, src, len, tag);

    return st == TERN_AGAIN ? tern_put_with(ctx, region, rank, offset, src, len, &opts) : st;
}

tern_status tern_put_notify_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                size_t len, uint32_t tag)
{
    if (TERN_LIKELY(len == sizeof(uint64_t) && src && tern_op_notify_put_word(ctx, region, rank, offset, src, tag)))
        return TERN_OK;
    return put_any(ctx, region, rank, offset, src, len, tag);
}

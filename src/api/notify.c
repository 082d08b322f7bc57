/* notify.c: the contiguous calls of tern/notify.h. The other notified calls are next to their forms without
 * notification. */
#include <tern/notify.h>

#include "api/check.h"
#include "base/options.h"
#include "core/region.h"
#include "op/contig.h"
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

static __attribute__((noinline)) tern_status put_otherwise(tern_ctx *ctx, tern_region *region, int rank,
                                                           uint64_t offset, const void *src, size_t len, uint32_t tag)
{
    const tern_opts opts = { .flags = TERN_NOTIFY, .tag = tag };

    return tern_put_with(ctx, region, rank, offset, src, len, &opts);
}

/* Send a few bytes inline with the notification, if the memory is reachable by stores. */
static __attribute__((noinline)) tern_status put_inline(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                                        const void *src, size_t len, uint32_t tag)
{
    unsigned char         *to = tern_direct(ctx, region, rank, offset, len);
    struct tern_link_part *part;
    tern_status            st;

    if (len > tern_opt.notify_inline || len == 0 || !src || !to || ctx->order != TERN_RELAXED)
        return put_otherwise(ctx, region, rank, offset, src, len, tag);
    part = &region->part[tern_core_team_world(ctx->team, rank)];
    if (!part->inline_notify)
        return put_otherwise(ctx, region, rank, offset, src, len, tag);
    if ((st = tern_op_notify_find_inject(part)) < 0)
        return st;
    if (!tern_op_notify_inline(ctx, part, tag, offset, to, src, len))
        return put_otherwise(ctx, region, rank, offset, src, len, tag);
    return TERN_OK;
}

tern_status tern_put_notify_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                size_t len, uint32_t tag)
{
    if (TERN_LIKELY(len == sizeof(uint64_t) && len <= tern_opt.notify_inline && src)) {
        unsigned char *to = tern_direct(ctx, region, rank, offset, sizeof(uint64_t));

        if (TERN_LIKELY(to && ctx->order == TERN_RELAXED)) {
            const struct tern_link_part *part = &region->part[tern_core_team_world(ctx->team, rank)];

            if (TERN_LIKELY(tern_op_notify_word(ctx, part, tag, offset, to, src)))
                return TERN_OK;
        }
    }
    return put_inline(ctx, region, rank, offset, src, len, tag);
}

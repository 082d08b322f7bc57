/* check.c: see check.h. */
#include "api/check.h"

#include "base/bits.h"
#include "core/job.h"
#include "core/region.h"
#include "op/trigger/engine.h"

tern_status tern_api_null(const char *what)
{
    return tern_base_fail(TERN_ERR_ARG, "%s: a pointer is NULL", what);
}

tern_status tern_api_part(const tern_ctx *ctx, const tern_region *region, int rank, const char *what,
                          const struct tern_link_part **part)
{
    if (!ctx || !region)
        return tern_base_fail(TERN_ERR_ARG, "%s: %s is NULL", what,
                              !ctx ? "ctx (TERN_WORLD is NULL outside tern_init and tern_finalize)" : "region");
    if (rank < 0 || rank >= ctx->team->size)
        return tern_base_fail(TERN_ERR_RANGE, "%s: no rank %d in a team of %d", what, rank, ctx->team->size);
    *part = &region->part[tern_core_team_world(ctx->team, rank)];
    return TERN_OK;
}

tern_status tern_api_alive(const tern_ctx *ctx, int rank, const char *what)
{
    tern_core_job_check_deaths();
    if (tern_core_job_lost(tern_core_team_world(ctx->team, rank)))
        return tern_base_fail(TERN_ERR_PEER, "%s: rank %d is gone", what, rank);
    return TERN_OK;
}

tern_status tern_api_xfer(const tern_ctx *ctx, const tern_region *region, int rank, struct tern_xfer *xfer,
                          const char *what)
{
    tern_status st;

    if (!xfer->local && xfer->len > 0 && ctx && region)
        return tern_base_fail(TERN_ERR_ARG, "%s: the local buffer is NULL", what);
    if ((st = tern_api_part(ctx, region, rank, what, &xfer->part)) < 0)
        return st;
    if (!tern_base_covers(xfer->part->size, xfer->offset, xfer->len))
        return tern_base_fail(TERN_ERR_RANGE, "%s: %zu bytes at offset %llu do not lie in the %llu bytes of rank %d",
                              what, xfer->len, (unsigned long long)xfer->offset, (unsigned long long)xfer->part->size,
                              rank);
    return tern_api_alive(ctx, rank, what);
}

tern_status tern_api_opts(const tern_ctx *ctx, const tern_opts *opts, const char *what)
{
    if (opts->flags & ~(TERN_IMMEDIATE | TERN_WANT_EVENT | TERN_NOTIFY | TERN_COUNT_BYTES))
        return tern_base_fail(TERN_ERR_ARG, "%s: unknown flags 0x%x", what, opts->flags);
    if ((opts->flags & TERN_COUNT_BYTES) && !opts->counter)
        return tern_base_fail(TERN_ERR_ARG, "%s: TERN_COUNT_BYTES without a counter", what);
    if ((opts->flags & TERN_WANT_EVENT) && !opts->event)
        return tern_base_fail(TERN_ERR_ARG, "%s: event is NULL", what);
    if (ctx &&
        ((opts->counter && opts->counter->engine->owner != ctx) || (opts->when && opts->when->engine->owner != ctx)))
        return tern_base_fail(TERN_ERR_ARG, "%s: the counter belongs to another context than the operation", what);
    return TERN_OK;
}

bool tern_api_notifies(const struct tern_link_part *part, int rank, const char *what)
{
    if (TERN_LIKELY(part->region != 0))
        return true;
    tern_base_fail(TERN_ERR_RANGE, "%s: rank %d is not in the region's team", what, rank);
    return false;
}

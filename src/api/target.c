/* target.c: see target.h. */
#include "api/target.h"

#include "core/job.h"
#include "core/region.h"

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
    tern_core_job_notice();
    if (tern_core_job_lost(tern_core_team_world(ctx->team, rank)))
        return tern_base_fail(TERN_ERR_PEER, "%s: rank %d is gone", what, rank);
    return TERN_OK;
}

tern_status tern_api_opts(const tern_opts *opts, const char *what)
{
    if (opts->flags & ~(TERN_IMMEDIATE | TERN_WANT_EVENT))
        return tern_base_fail(TERN_ERR_ARG, "%s: unknown flags 0x%x", what, opts->flags);
    if ((opts->flags & TERN_WANT_EVENT) && !opts->event)
        return tern_base_fail(TERN_ERR_ARG, "%s: event is NULL", what);
    return TERN_OK;
}

void tern_api_nothing(const tern_opts *opts)
{
    if (opts->event)
        *opts->event = TERN_EVENT_INIT;
    if (opts->local)
        *opts->local = TERN_EVENT_INIT;
}

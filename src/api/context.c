/* context.c: the public calls of tern/context.h. */
#include <tern/context.h>

#include <math.h>

#include "api/use.h"
#include "core/context.h"
#include "core/job.h"

tern_status tern_ctx_create(tern_team *team, tern_order order, tern_ctx **out)
{
    tern_status st = tern_core_job_running("tern_ctx_create");

    if (st < 0)
        return st;
    if (!team || !out)
        return tern_base_fail(TERN_ERR_ARG, "tern_ctx_create: %s is NULL", team ? "out" : "team");
    if (order != TERN_RELAXED && order != TERN_STRICT)
        return tern_base_fail(TERN_ERR_ARG, "tern_ctx_create: %d is neither TERN_RELAXED nor TERN_STRICT", (int)order);
    return tern_core_ctx_open(team, order, out);
}

tern_status tern_ctx_free(tern_ctx *ctx)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_ctx_free");

    if (use.status < 0)
        return use.status;

    tern_status st = tern_core_ctx_check(ctx, "tern_ctx_free");

    if (st < 0)
        return st;
    if (ctx == tern_world)
        return tern_base_fail(TERN_ERR_ARG, "tern_ctx_free: TERN_WORLD stays until tern_finalize");
    st = tern_core_ctx_retire(ctx, tern_core_ctx_deadline(ctx), "tern_ctx_free");
    if (st < 0)
        return st;
    st = tern_core_ctx_failed(ctx, "tern_ctx_free");
    tern_core_ctx_close(ctx);
    return st;
}

tern_status tern_ctx_set_timeout(tern_ctx *ctx, double seconds)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_ctx_set_timeout");

    if (use.status < 0)
        return use.status;

    tern_status st = tern_core_ctx_check(ctx, "tern_ctx_set_timeout");

    if (st < 0)
        return st;
    if (isnan(seconds))
        return tern_base_fail(TERN_ERR_ARG, "tern_ctx_set_timeout: seconds is not a number");
    ctx->timeout = seconds > 0 ? seconds : 0;
    return TERN_OK;
}

tern_team *tern_ctx_team(const tern_ctx *ctx)
{
    return ctx && !ctx->gone ? ctx->team : NULL;
}

tern_order tern_ctx_order(const tern_ctx *ctx)
{
    return ctx ? ctx->order : TERN_RELAXED;
}

tern_status tern_progress(tern_ctx *ctx)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_progress");

    if (use.status < 0)
        return use.status;

    if (TERN_UNLIKELY(!ctx || ctx->gone))
        return tern_core_ctx_check(ctx, "tern_progress");
    tern_core_ctx_progress(ctx);
    return TERN_OK;
}

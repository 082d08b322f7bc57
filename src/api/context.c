/* context.c: the public calls of tern/context.h. */
#include <tern/context.h>

#include <math.h>

#include "core/context.h"
#include "core/job.h"

tern_status tern_ctx_create(tern_team *team, tern_order order, tern_ctx **out)
{
    tern_status st = tern_core_job_running();

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
    tern_status st;

    if (!ctx || ctx == tern_world)
        return tern_base_fail(TERN_ERR_ARG, "tern_ctx_free: %s",
                              ctx ? "TERN_WORLD stays until tern_finalize" : "ctx is NULL");
    st = tern_core_ctx_retire(ctx, tern_core_ctx_deadline(ctx), "tern_ctx_free");
    if (st < 0)
        return st;
    st = tern_core_ctx_failed(ctx, "tern_ctx_free");
    tern_core_ctx_close(ctx);
    return st;
}

tern_status tern_ctx_set_timeout(tern_ctx *ctx, double seconds)
{
    if (!ctx || isnan(seconds))
        return tern_base_fail(TERN_ERR_ARG, "tern_ctx_set_timeout: %s",
                              ctx ? "seconds is not a number" : "ctx is NULL");
    ctx->timeout = seconds > 0 ? seconds : 0;
    return TERN_OK;
}

tern_team *tern_ctx_team(const tern_ctx *ctx)
{
    return ctx ? ctx->team : NULL;
}

tern_order tern_ctx_order(const tern_ctx *ctx)
{
    return ctx ? ctx->order : TERN_RELAXED;
}

tern_status tern_progress(tern_ctx *ctx)
{
    if (!ctx)
        return tern_base_fail(TERN_ERR_ARG, "tern_progress: ctx is NULL");
    tern_core_ctx_progress(ctx);
    return TERN_OK;
}

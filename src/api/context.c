/* context.c: the public calls of tern/context.h. */
#include <tern/context.h>

#include <math.h>

#include "api/shared.h"
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
    if (team->freed)
        return tern_base_fail(TERN_ERR_STATE, "tern_ctx_create: the team was freed");
    if ((unsigned)order & ~(unsigned)(TERN_STRICT | TERN_SHARED))
        return tern_base_fail(
            TERN_ERR_ARG, "tern_ctx_create: %d is neither TERN_RELAXED nor TERN_STRICT, with or without TERN_SHARED",
            (int)order);
    if ((unsigned)order & TERN_SHARED)
        return tern_core_ctx_open_shared(team, (tern_order)((unsigned)order & ~(unsigned)TERN_SHARED), out);
    return tern_core_ctx_open(team, order, out);
}

/* Complete and free a context that is not a handle. */
static tern_status complete_and_free(tern_ctx *ctx)
{
    tern_status st;

    if (ctx->shared)
        tern_core_shared_take_unflushed(ctx);
    if ((st = tern_core_ctx_retire(ctx, tern_core_ctx_deadline(ctx), "tern_ctx_free")) < 0)
        return st;
    st = tern_core_ctx_failed(ctx, "tern_ctx_free");
    tern_core_ctx_close(ctx);
    return st;
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
    return tern_api_is_shared(ctx) ? TERN_API_LOCKED(inner, ctx, complete_and_free(inner)) : complete_and_free(ctx);
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
    seconds = seconds > 0 ? seconds : 0;
    __atomic_store(&ctx->timeout, &seconds, __ATOMIC_RELAXED); /* other threads may read a shared one */
    if (tern_api_is_shared(ctx))
        __atomic_store(&ctx->inner->timeout, &seconds, __ATOMIC_RELAXED);
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

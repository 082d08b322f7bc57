/* sync.c: the public calls of tern/sync.h. */
#include <tern/sync.h>

#include <stdatomic.h>
#include <stdio.h>

#include "api/check.h"
#include "api/use.h"
#include "core/context.h"
#include "core/job.h"
#include "core/wait.h"

static tern_status complete_busy(tern_ctx *ctx, const char *what)
{
    if (TERN_UNLIKELY(ctx->gone)) /* a context that is gone is always busy */
        return tern_core_ctx_check(ctx, what);
    return tern_core_ctx_drain(ctx, tern_core_ctx_deadline(ctx), what);
}

/* Complete all outstanding operations of the context. */
static tern_status complete(tern_ctx *ctx, const char *what)
{
    if (TERN_UNLIKELY(!ctx))
        return tern_core_ctx_check(ctx, what);
    return tern_core_ctx_is_busy(ctx) ? complete_busy(ctx, what) : TERN_OK;
}

tern_status tern_fence(tern_ctx *ctx)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_fence");

    if (use.status < 0)
        return use.status;

    tern_status st = complete(ctx, "tern_fence"); /* completed operations are ordered */

    /* acq_rel: earlier copies before later ones. Pairs with the fences of a rank that reads both. */
    atomic_thread_fence(memory_order_acq_rel);
    return st;
}

static tern_status quiet(tern_ctx *ctx, const char *what)
{
    tern_status st = complete(ctx, what);

    /* seq_cst: everything that this thread wrote before everything that it reads next. Pairs with the same fence on
     * another rank: if two ranks each put, call this and get, at least one of them sees the other's data. */
    atomic_thread_fence(memory_order_seq_cst);
    if (st < 0)
        return st;
    return tern_core_ctx_failed(ctx, what);
}

tern_status tern_quiet(tern_ctx *ctx)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_quiet");

    if (use.status < 0)
        return use.status;

    return quiet(ctx, "tern_quiet");
}

tern_status tern_barrier(tern_ctx *ctx)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_barrier");

    if (use.status < 0)
        return use.status;

    tern_status st = quiet(ctx, "tern_barrier");

    if (st < 0 || (st = tern_core_team_claim(ctx->team, ctx, "tern_barrier")) < 0)
        return st;
    st = tern_core_team_barrier(ctx->team, tern_core_ctx_deadline(ctx), "tern_barrier");
    tern_core_team_release(ctx->team);
    return st;
}

tern_status tern_allgather(tern_ctx *ctx, const void *src, size_t len, void *all)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_allgather");

    if (use.status < 0)
        return use.status;

    tern_status st;

    if (!ctx || ctx->gone)
        return tern_core_ctx_check(ctx, "tern_allgather");
    if (len > 0 && (!src || !all))
        return tern_base_fail(TERN_ERR_ARG, "tern_allgather: %s is NULL, but len is %zu", src ? "all" : "src", len);
    if ((st = tern_core_team_claim(ctx->team, ctx, "tern_allgather")) < 0)
        return st;
    st = tern_core_team_gather(ctx->team, src, len, all, tern_core_ctx_deadline(ctx), "tern_allgather");
    tern_core_team_release(ctx->team);
    return st;
}

/* A condition of the program that a wait checks. */
struct until {
    tern_ctx *ctx;
    bool (*condition)(void *arg);
    void *arg;
};

static tern_status until_poll(void *arg)
{
    struct until *until = arg;

    tern_core_ctx_progress(until->ctx);
    return until->condition(until->arg) ? TERN_OK : TERN_PENDING;
}

static void until_describe(void *arg, char *text, size_t size)
{
    (void)arg;
    snprintf(text, size, "tern_wait_until: the program's condition does not hold");
}

tern_status tern_wait_until(tern_ctx *ctx, bool (*condition)(void *arg), void *arg, tern_deadline deadline)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_wait_until");

    if (use.status < 0)
        return use.status;

    struct until     until = { ctx, condition, arg };
    struct tern_wait wait = { .poll = until_poll, .describe = until_describe, .arg = &until, .deadline = deadline };

    if (!ctx || ctx->gone)
        return tern_core_ctx_check(ctx, "tern_wait_until");
    if (!condition)
        return tern_api_null("tern_wait_until", "condition");
    if (tern_core_in_handler())
        return tern_base_fail(TERN_ERR_STATE, "tern_wait_until: a handler must not wait");
    return condition(arg) ? TERN_OK : tern_core_wait(&wait);
}

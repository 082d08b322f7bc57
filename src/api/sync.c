/* sync.c: the public calls of tern/sync.h. */
#include <tern/sync.h>

#include <stdatomic.h>
#include <stdio.h>

#include "api/check.h"
#include "api/coll.h"
#include "api/shared.h"
#include "api/use.h"
#include "core/context.h"
#include "core/job.h"
#include "core/quiet.h"

/* Add the inline notifications that all threads have sent to the inner context of a shared context, and return the
 * inner context. The caller holds its lock. */
static tern_ctx *after_all(tern_ctx *inner)
{
    tern_core_shared_take_unflushed(inner);
    return inner;
}

/* Complete the operations that all threads have started before the call, and report errors. */
static tern_status complete_shared(tern_ctx *inner, const char *what)
{
    tern_status st = TERN_OK;

    if (!tern_core_ctx_is_placed(after_all(inner), false) || tern_core_ctx_has_outstanding(inner))
        st = tern_core_quiet_wait(inner, TERN_QUIET_ALL, -1, what, tern_core_ctx_deadline(inner));
    return st < 0 ? st : tern_core_ctx_failed(inner, what);
}

static __attribute__((noinline)) tern_status complete_busy(tern_ctx *ctx, const char *what)
{
    if (tern_api_is_shared(ctx)) /* a handle is always busy */
        return TERN_API_LOCKED(inner, ctx, complete_shared(inner, what));
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

static __attribute__((noinline)) tern_status fence_busy(tern_ctx *ctx)
{
    if (tern_api_is_shared(ctx))
        return TERN_API_LOCKED(inner, ctx, fence_busy(after_all(inner)));
    if (TERN_UNLIKELY(ctx->gone)) /* a context that is gone is always busy */
        return tern_core_ctx_check(ctx, "tern_fence");
    return tern_core_ctx_fence(ctx, tern_core_ctx_deadline(ctx), "tern_fence");
}

tern_status tern_fence(tern_ctx *ctx)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_fence");

    if (use.status < 0)
        return use.status;

    tern_status st = TERN_OK;

    if (TERN_UNLIKELY(!ctx))
        return tern_core_ctx_check(ctx, "tern_fence");
    if (tern_core_ctx_is_busy(ctx))
        st = fence_busy(ctx);
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

tern_status tern_quiet_nb(tern_ctx *ctx, tern_event *event)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_quiet_nb");

    if (use.status < 0)
        return use.status;

    tern_status st;

    if (!ctx || ctx->gone)
        return tern_core_ctx_check(ctx, "tern_quiet_nb");
    if (!event)
        return tern_api_null("tern_quiet_nb", "event");
    if (tern_api_is_shared(ctx))
        return TERN_API_LOCKED(inner, ctx, tern_quiet_nb(after_all(inner), event));
    st = tern_core_quiet_start(ctx, "tern_quiet_nb", event);
    /* seq_cst: see quiet() */
    atomic_thread_fence(memory_order_seq_cst);
    return st < 0 || event->pending ? st : tern_core_ctx_failed(ctx, "tern_quiet_nb");
}

tern_status tern_quiet_rank(tern_ctx *ctx, int rank)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_quiet_rank");

    if (use.status < 0)
        return use.status;

    tern_status st;
    int         world;

    if (!ctx || ctx->gone || rank < 0 || rank >= ctx->team->size)
        return tern_api_no_rank(ctx, rank, "tern_quiet_rank");
    if (tern_api_is_shared(ctx))
        return TERN_API_LOCKED(inner, ctx, tern_quiet_rank(after_all(inner), rank));
    world = tern_core_team_world(ctx->team, rank);
    st = tern_core_quiet_wait(ctx, TERN_QUIET_RANK, world, "tern_quiet_rank", tern_core_ctx_deadline(ctx));
    /* seq_cst: see quiet() */
    atomic_thread_fence(memory_order_seq_cst);
    return st < 0 ? st : tern_core_ctx_failed_to(ctx, world, "tern_quiet_rank");
}

tern_status tern_quiet_local(tern_ctx *ctx)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_quiet_local");

    if (use.status < 0)
        return use.status;

    if (!ctx || ctx->gone)
        return tern_core_ctx_check(ctx, "tern_quiet_local");
    if (tern_api_is_shared(ctx))
        return TERN_API_LOCKED(inner, ctx, tern_quiet_local(inner));
    return tern_core_quiet_wait(ctx, TERN_QUIET_LOCAL, -1, "tern_quiet_local", tern_core_ctx_deadline(ctx));
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

/* The group of the team gathers blocks of up to this length. The algorithms of collective calls gather longer
 * blocks. */
#define MOST_GATHERED 4096

/* Handle a failure in the second part of a long all-gather. The members agree on the call. So the call failed at this
 * rank, or another member has given up the team; the algorithms report the latter as a wrong call. If no member has
 * given up, the members meet, and keep the team. */
static tern_status after_failure(tern_ctx *ctx, tern_status st)
{
    struct tern_team *team = ctx->team;
    char              why[512];
    tern_status       met = tern_core_team_claim(team, ctx, "tern_allgather");

    if (met < 0)
        return met;
    snprintf(why, sizeof(why), "%s", tern_base_detail());
    if (st == TERN_ERR_ARG || st == TERN_ERR_STATE)
        met = tern_core_team_barrier(team, tern_core_ctx_deadline(ctx), "tern_allgather");
    if (met == TERN_OK)
        tern_base_fail(st, "%s", why);
    else
        st = met;
    if (st != TERN_ERR_ARG && st != TERN_ERR_STATE && st != TERN_ERR_PEER)
        tern_core_team_break(team);
    tern_core_team_release(team);
    return st;
}

tern_status tern_allgather(tern_ctx *ctx, const void *src, size_t len, void *all)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_allgather");

    if (use.status < 0)
        return use.status;

    const struct form form = { .what = "tern_allgather" };
    tern_status       st;
    size_t            bytes;

    if (!ctx || ctx->gone)
        return tern_core_ctx_check(ctx, "tern_allgather");
    if (len > 0 && (!src || !all))
        return tern_base_fail(TERN_ERR_ARG, "tern_allgather: %s is NULL, but len is %zu", src ? "all" : "src", len);
    if ((st = tern_api_multiply((size_t)ctx->team->size, len, "tern_allgather", &bytes)) < 0 ||
        (len > 0 && (st = tern_api_apart(all, bytes, src, len, (unsigned char *)all + (size_t)ctx->team->rank * len,
                                         "tern_allgather")) < 0))
        return st;
    if ((st = tern_core_team_claim(ctx->team, ctx, "tern_allgather")) < 0)
        return st;
    if (len <= MOST_GATHERED)
        st = tern_core_team_gather(ctx->team, src, len, all, tern_core_ctx_deadline(ctx), TERN_COLLECTIVE_ALLGATHER);
    else
        st = tern_core_team_agree(ctx->team, len, tern_core_ctx_deadline(ctx), TERN_COLLECTIVE_ALLGATHER);
    tern_core_team_release(ctx->team);
    if (st < 0 || len <= MOST_GATHERED)
        return st;
    st = tern_api_equal(
        ctx,
        &(struct tern_coll_args){
            .what = form.what, .call = TERN_COLL_ALLGATHER, .root = -1, .src = src, .dst = all, .len = len },
        &form);
    return st < 0 ? after_failure(ctx, st) : st;
}

/* shared.h: calls on contexts that threads share.
 *
 * The handle of a shared context (core/context.h) has no ranks, so that a call on the handle fails when it checks the
 * rank. The function that would report the error returns TERN_API_IS_SHARED instead, and the call is repeated on the
 * inner context, with its lock. A call on a private context therefore needs no additional instruction. Calls that are
 * not frequent test first whether the context is shared. */
#pragma once

#include "core/shared.h"

/* This status is not an error: the context is shared, and the arguments that concern the context are valid. */
#define TERN_API_IS_SHARED ((tern_status)-1000)

/* Return whether the context is the handle of a shared context. ctx may be NULL. */
static inline bool tern_api_is_shared(const struct tern_ctx *ctx)
{
    return ctx && ctx->inner;
}

/* Lock the inner context of the handle ctx, evaluate the call, in which `context` is the inner context, and unlock the
 * inner context. The value of the macro is the value of the call, a tern_status. */
#define TERN_API_LOCKED(context, ctx, call)            \
    __extension__({                                    \
        struct tern_ctx *const context = (ctx)->inner; \
        tern_status            status_##context;       \
        tern_core_shared_lock(context);                \
        status_##context = (call);                     \
        tern_core_shared_unlock(context);              \
        status_##context;                              \
    })

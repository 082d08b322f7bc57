/* shared.h: calls on contexts that threads share.
 *
 * The handle of a shared context (core/context.h) has no ranks, so that a call on it fails when it checks the rank. The
 * function that then reports the error returns TERN_API_IS_SHARED instead, and the call is repeated on the inner
 * context, with its lock. A call on a private context needs no instruction for this. Calls that are not frequent ask
 * first whether the context is shared. */
#pragma once

#include "core/shared.h"

/* Not an error: the arguments have been checked as far as the context is concerned, which is shared. */
#define TERN_API_IS_SHARED ((tern_status)-1000)

/* Return whether the context is the handle of a shared one. ctx may be NULL. */
static inline bool tern_api_is_shared(const struct tern_ctx *ctx)
{
    return ctx && ctx->inner;
}

/* Lock the inner context of the handle ctx, evaluate the call, in which `context` is the inner context, and unlock it.
 * The value is that of the call, a tern_status. */
#define TERN_API_LOCKED(context, ctx, call)            \
    __extension__({                                    \
        struct tern_ctx *const context = (ctx)->inner; \
        tern_status            status_##context;       \
        tern_core_shared_lock(context);                \
        status_##context = (call);                     \
        tern_core_shared_unlock(context);              \
        status_##context;                              \
    })

/* use.h: the check of debug builds that no other thread is in a call on the same context.
 *
 * A private context belongs to one thread at a time. A public call on a context begins with a variable of the type
 * TERN_API_USE, whose scope is the call:
 *
 *     TERN_API_USE use = tern_api_use(ctx, "tern_x");
 *
 *     if (use.status < 0)
 *         return use.status;
 *
 * A call on an array of objects, such as events, uses the contexts of all objects, with tern_api_use_all(). Calls that
 * may wait use tern_api_use_waiting(), so that inlined calls of other threads enter the library in the meantime, where
 * they are detected, too. Calls of the same thread may be nested, for example in a handler of an active message.
 * In release builds all of this compiles to nothing. */
#pragma once

#include <tern/rma.h>

#include "base/debug.h"
#include "core/context.h"

struct tern_api_use {
    struct tern_ctx *ctx;    /* the context that this call uses; NULL: not counted. For an array: the first of a list
                              * (also_used) */
    tern_status      status; /* TERN_ERR_STATE: another thread uses the context */
    bool             array;
};

static inline void tern_api_use_end(const struct tern_api_use *use)
{
    struct tern_ctx *ctx = use->ctx, *next;

    for (; TERN_BASE_DEBUG && ctx; ctx = next) {
        next = use->array ? ctx->also_used : NULL;
        tern_core_ctx_leave(ctx);
    }
}
#define TERN_API_USE __attribute__((cleanup(tern_api_use_end))) struct tern_api_use

/* Return whether threads may use the context at the same time. */
static inline bool tern_api_use_is_shared(const struct tern_ctx *ctx)
{
    return ctx->inner || ctx->handle != ctx;
}

static inline struct tern_api_use tern_api_use_begin(tern_ctx *ctx, bool waits, const char *what)
{
    struct tern_api_use use = { NULL, TERN_OK, false };

    if (TERN_BASE_DEBUG && ctx && !ctx->gone && !tern_api_use_is_shared(ctx) &&
        (use.status = tern_core_ctx_enter(ctx, waits, what)) == TERN_OK)
        use.ctx = ctx;
    return use;
}

static inline struct tern_api_use tern_api_use(tern_ctx *ctx, const char *what)
{
    return tern_api_use_begin(ctx, false, what);
}

static inline struct tern_api_use tern_api_use_waiting(tern_ctx *ctx, const char *what)
{
    return tern_api_use_begin(ctx, true, what);
}

/* Begin a call on an array of n objects that have the size of a pointer: use the contexts of all objects. ctx_of
 * returns the context of the object at an address; NULL: none. A context that this thread already uses, because several
 * objects belong to it or the call is nested, is not counted again. objects may be NULL. */
static inline struct tern_api_use tern_api_use_all(const void *objects, size_t                          n,
                                                   struct tern_ctx *(*ctx_of)(const void *object), bool waits,
                                                   const char *what)
{
    struct tern_api_use use = { NULL, TERN_OK, true };

    for (size_t i = 0; TERN_BASE_DEBUG && objects && i < n && use.status == TERN_OK; i++) {
        struct tern_ctx *ctx = ctx_of((const char *)objects + i * sizeof(void *));

        if (!ctx || ctx->gone || tern_api_use_is_shared(ctx) || tern_core_ctx_is_entered(ctx))
            continue;
        use.status = tern_core_ctx_enter(ctx, waits, what);
        if (use.status == TERN_OK) {
            ctx->also_used = use.ctx;
            use.ctx = ctx;
        }
    }
    return use;
}

/* Return the context of the operation of an event, for tern_api_use(); NULL: none. */
static inline struct tern_ctx *tern_api_event_ctx(const tern_event *event)
{
    return TERN_BASE_DEBUG && event && event->pending ? tern_core_event_op(event)->progress : NULL;
}

/* Return the name of a call with options, for tern_api_use(): the name in the options, which is the call that the
 * program wrote, otherwise `with`, or `without` if opts is NULL. */
static inline const char *tern_api_use_name(const tern_opts *opts, const char *with, const char *without)
{
    if (!TERN_BASE_DEBUG || !opts)
        return without;
    return opts->size == sizeof(*opts) && opts->call ? opts->call : with;
}

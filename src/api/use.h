/* use.h: in debug builds, every call on a context detects that another thread is in a call on the same context.
 *
 * A context belongs to one thread at a time. A public call on a context begins with a variable of the type
 * TERN_API_USE, whose scope is the call:
 *
 *     TERN_API_USE use = tern_api_use(ctx, "tern_x");
 *
 *     if (use.status < 0)
 *         return use.status;
 *
 * Calls that may wait use tern_api_use_waiting(), so that inlined calls of other threads enter the library meanwhile,
 * where they are detected, too. Calls of the same thread may be nested, for example in a handler of an active message.
 * In release builds all of this compiles to nothing. */
#pragma once

#include <tern/rma.h>

#include "base/debug.h"
#include "core/context.h"

struct tern_api_use {
    struct tern_ctx *ctx;    /* in use by this call; NULL: not counted */
    tern_status      status; /* TERN_ERR_STATE: another thread uses the context */
};

static inline void tern_api_use_end(const struct tern_api_use *use)
{
    if (TERN_BASE_DEBUG && use->ctx)
        tern_core_ctx_leave(use->ctx);
}
#define TERN_API_USE __attribute__((cleanup(tern_api_use_end))) struct tern_api_use

static inline struct tern_api_use tern_api_use_begin(tern_ctx *ctx, bool waits, const char *what)
{
    struct tern_api_use use = { NULL, TERN_OK };

    if (TERN_BASE_DEBUG && ctx && !ctx->gone && (use.status = tern_core_ctx_enter(ctx, waits, what)) == TERN_OK)
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

/* The name of a call with options, for tern_api_use(): the options may contain the name of the call that the program
 * wrote. without is the name if opts is NULL. */
static inline const char *tern_api_use_name(const tern_opts *opts, const char *with, const char *without)
{
    if (!TERN_BASE_DEBUG || !opts)
        return without;
    return opts->size == sizeof(*opts) && opts->call ? opts->call : with;
}

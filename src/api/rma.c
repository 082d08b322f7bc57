/* rma.c: the public calls of tern/rma.h that are not inlined, and the out-of-line parts of the inlined ones: check the
 * arguments, find the part, then call op/start.c. */
#include <tern/rma.h>

#include <string.h>

#include "api/check.h"
#include "api/shared.h"
#include "api/signal.h"
#include "api/use.h"
#include "core/job.h"
#include "core/links.h"
#include "op/start.h"

void tern_inline_wake(const struct tern_part *part)
{
    tern_boot_memory_wake((struct tern_slot *)(void *)((char *)part->waits - offsetof(struct tern_slot, memory_waits)));
}

void tern_inline_copy(void *to, const void *from, size_t len)
{
    unsigned char       *t = to;
    const unsigned char *f = from;

    if ((uintptr_t)t - (uintptr_t)f >= len) { /* copying upwards, no piece overwrites bytes that are still to be
                                               * read */
        for (; len > TERN_COPY_PIECE; len -= TERN_COPY_PIECE, t += TERN_COPY_PIECE, f += TERN_COPY_PIECE)
            memmove(t, f, TERN_COPY_PIECE);
    }
    memmove(t, f, len);
}

tern_status tern_cache_invalidate(const void *addr, size_t len)
{
    tern_status st = tern_core_job_running("tern_cache_invalidate");

    if (st == TERN_OK)
        tern_core_links_invalidate(addr, len);
    return st;
}

/* Start or run a checked transfer on a shared context. */
static __attribute__((cold, noinline)) tern_status contig_shared(tern_ctx *ctx, const struct tern_xfer *xfer,
                                                                 const tern_opts *opts, const char *what)
{
    return TERN_API_LOCKED(inner, ctx, tern_op_contig(inner, xfer, opts, what));
}

static __attribute__((cold, noinline)) tern_status start_shared(tern_ctx *ctx, int rank, const struct tern_xfer *xfer,
                                                                const struct tern_api_opts *o)
{
    if ((o->opts->flags & TERN_NOTIFY) && !tern_api_notifies(xfer->part, rank, o->what))
        return TERN_ERR_RANGE;
    return contig_shared(ctx, xfer, o->opts, o->what);
}

static tern_status run(tern_ctx *ctx, tern_region *region, int rank, struct tern_xfer *xfer, const char *what)
{
    tern_status st = tern_api_xfer(ctx, region, rank, xfer, what);

    if (TERN_UNLIKELY(st < 0))
        return st == TERN_API_IS_SHARED ? contig_shared(ctx, xfer, &tern_op_blocking, what) : st;
    return tern_op_contig(ctx, xfer, &tern_op_blocking, what);
}

/* Start a transfer with the options of the program. */
static tern_status start(tern_ctx *ctx, tern_region *region, int rank, struct tern_xfer *xfer, const tern_opts *opts,
                         const char *what)
{
    unsigned             allowed = TERN_API_NOTIFY | (xfer->get ? 0 : TERN_API_SIGNAL);
    struct tern_api_opts o;
    tern_status          st;

    if ((st = tern_api_opts(ctx, opts, allowed, what, &o)) < 0)
        return st;
    if (TERN_UNLIKELY(o.opts->signal))
        return tern_api_put_signal(ctx, region, rank, xfer, &o);
    if ((st = tern_api_xfer(ctx, region, rank, xfer, o.what)) < 0)
        return st == TERN_API_IS_SHARED ? start_shared(ctx, rank, xfer, &o) : st;
    if ((o.opts->flags & TERN_NOTIFY) && !tern_api_notifies(xfer->part, rank, o.what))
        return TERN_ERR_RANGE;
    return tern_op_contig(ctx, xfer, o.opts, o.what);
}

tern_status tern_inline_put(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src, size_t len,
                            const char *call)
{
    TERN_API_USE use = tern_api_use(ctx, call);

    if (use.status < 0)
        return use.status;

    struct tern_xfer xfer = { .offset = offset, .local = (void *)(uintptr_t)src, .len = len };

    return run(ctx, region, rank, &xfer, call);
}

tern_status tern_inline_get(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst, size_t len,
                            const char *call)
{
    TERN_API_USE use = tern_api_use(ctx, call);

    if (use.status < 0)
        return use.status;

    struct tern_xfer xfer = { .offset = offset, .local = dst, .len = len, .get = true };

    return run(ctx, region, rank, &xfer, call);
}

struct tern_inline_got tern_inline_get_word(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, size_t len,
                                            const char *call)
{
    TERN_API_USE           use = tern_api_use(ctx, call);
    struct tern_inline_got got = { .status = use.status };

    if (use.status < 0)
        return got;

    struct tern_xfer xfer = { .offset = offset, .local = &got.bits, .len = len, .get = true };

    got.status = tern_api_xfer(ctx, region, rank, &xfer, call);
    if (got.status == TERN_OK)
        got.status = tern_op_get_word(ctx, &xfer, &got.bits, call);
    else if (got.status == TERN_API_IS_SHARED)
        got.status = TERN_API_LOCKED(inner, ctx, tern_op_get_word(inner, &xfer, &got.bits, call));
    return got;
}

tern_status tern_put_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src, size_t len,
                          const tern_opts *opts)
{
    TERN_API_USE use = tern_api_use(ctx, tern_api_use_name(opts, "tern_put_with", "tern_put_nbi"));

    if (use.status < 0)
        return use.status;

    struct tern_xfer xfer = { .offset = offset, .local = (void *)(uintptr_t)src, .len = len };

    return start(ctx, region, rank, &xfer, opts, opts ? "tern_put_with" : "tern_put_nbi");
}

tern_status tern_get_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst, size_t len,
                          const tern_opts *opts)
{
    TERN_API_USE use = tern_api_use(ctx, tern_api_use_name(opts, "tern_get_with", "tern_get_nbi"));

    if (use.status < 0)
        return use.status;

    struct tern_xfer xfer = { .offset = offset, .local = dst, .len = len, .get = true };

    return start(ctx, region, rank, &xfer, opts, opts ? "tern_get_with" : "tern_get_nbi");
}

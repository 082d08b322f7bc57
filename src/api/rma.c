/* rma.c: the public calls of tern/rma.h that are not inlined, and those parts of the inlined ones that are not
 * either. Check, find the part, go. */
#include <tern/rma.h>

#include <string.h>

#include "base/bits.h"
#include "core/job.h"
#include "core/links.h"
#include "core/region.h"
#include "op/contig.h"

void tern_copy_pieces(void *to, const void *from, size_t len)
{
    unsigned char       *t = to;
    const unsigned char *f = from;

    if ((uintptr_t)t - (uintptr_t)f >= len) { /* going upwards, no piece overwrites what is still to be read */
        for (; len > TERN_COPY_PIECE; len -= TERN_COPY_PIECE, t += TERN_COPY_PIECE, f += TERN_COPY_PIECE)
            memmove(t, f, TERN_COPY_PIECE);
    }
    memmove(t, f, len);
}

tern_status tern_forget(const void *addr, size_t len)
{
    tern_status st = tern_core_job_running();

    if (st == TERN_OK)
        tern_core_links_forget(addr, len);
    return st;
}

/* Fill xfer->part after every check that a transfer needs. */
static tern_status check(const tern_ctx *ctx, const tern_region *region, int rank, struct tern_xfer *xfer,
                         const char *what)
{
    if (!ctx || !region || (!xfer->local && xfer->len > 0))
        return tern_base_fail(TERN_ERR_ARG, "%s: %s is NULL", what,
                              !ctx      ? "ctx (TERN_WORLD is NULL outside tern_init and tern_finalize)"
                              : !region ? "region"
                                        : "the local buffer");
    if (rank < 0 || rank >= ctx->team->size)
        return tern_base_fail(TERN_ERR_RANGE, "%s: no rank %d in a team of %d", what, rank, ctx->team->size);
    xfer->part = &region->part[tern_core_team_world(ctx->team, rank)];
    if (!tern_base_covers(xfer->part->size, xfer->offset, xfer->len))
        return tern_base_fail(TERN_ERR_RANGE, "%s: %zu bytes at offset %llu do not lie in the %llu bytes of rank %d",
                              what, xfer->len, (unsigned long long)xfer->offset, (unsigned long long)xfer->part->size,
                              rank);
    tern_core_job_notice();
    if (tern_core_job_lost(tern_core_team_world(ctx->team, rank)))
        return tern_base_fail(TERN_ERR_PEER, "%s: rank %d is gone", what, rank);
    return TERN_OK;
}

static tern_status run(tern_ctx *ctx, tern_region *region, int rank, struct tern_xfer *xfer, const char *what)
{
    tern_status st = check(ctx, region, rank, xfer, what);

    return st < 0 || xfer->len == 0 ? st : tern_op_contig_run(ctx, xfer, what);
}

static tern_status start(tern_ctx *ctx, tern_region *region, int rank, struct tern_xfer *xfer, const tern_opts *opts,
                         const char *what)
{
    const tern_opts nbi = { 0 };
    tern_status     st;

    opts = opts ? opts : &nbi;
    if (opts->flags & ~(TERN_IMMEDIATE | TERN_WANT_EVENT))
        return tern_base_fail(TERN_ERR_ARG, "%s: unknown flags 0x%x", what, opts->flags);
    if ((opts->flags & TERN_WANT_EVENT) && !opts->event)
        return tern_base_fail(TERN_ERR_ARG, "%s: event is NULL", what);
    if ((st = check(ctx, region, rank, xfer, what)) < 0)
        return st;
    if (xfer->len > 0)
        return tern_op_contig_start(ctx, xfer, opts, what);
    if (opts->event)
        *opts->event = TERN_EVENT_INIT;
    if (opts->local)
        *opts->local = TERN_EVENT_INIT;
    return TERN_OK;
}

tern_status tern_put_far(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src, size_t len)
{
    struct tern_xfer xfer = { .offset = offset, .local = (void *)(uintptr_t)src, .len = len };

    return run(ctx, region, rank, &xfer, "tern_put");
}

tern_status tern_get_far(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst, size_t len)
{
    struct tern_xfer xfer = { .offset = offset, .local = dst, .len = len, .get = true };

    return run(ctx, region, rank, &xfer, "tern_get");
}

tern_status tern_put_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src, size_t len,
                          const tern_opts *opts)
{
    struct tern_xfer xfer = { .offset = offset, .local = (void *)(uintptr_t)src, .len = len };

    return start(ctx, region, rank, &xfer, opts, "tern_put");
}

tern_status tern_get_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst, size_t len,
                          const tern_opts *opts)
{
    struct tern_xfer xfer = { .offset = offset, .local = dst, .len = len, .get = true };

    return start(ctx, region, rank, &xfer, opts, "tern_get");
}

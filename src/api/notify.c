/* notify.c: the public calls of tern/notify.h. The calls on requests of all kinds are in request.c and
 * request_start.c. */
#include <tern/notify.h>

#include "api/check.h"
#include "api/shared.h"
#include "api/request.h"
#include "api/use.h"
#include "core/region.h"
#include "op/start.h"
#include "op/notify/notify.h"

/* Make a notified access on a shared context, after the checks. */
static __attribute__((cold, noinline)) tern_status access_shared(tern_ctx *ctx, int rank, const struct tern_xfer *xfer,
                                                                 const tern_opts *opts, const char *what)
{
    return tern_api_notifies(xfer->part, rank, what)
               ? TERN_API_LOCKED(inner, ctx, tern_op_contig(inner, xfer, opts, what))
               : TERN_ERR_RANGE;
}

static tern_status access(tern_ctx *ctx, tern_region *region, int rank, struct tern_xfer *xfer, uint32_t tag,
                          const char *what)
{
    const tern_opts opts = TERN_OPTS(.flags = TERN_NOTIFY | TERN_OP_BLOCKING, .tag = tag);
    tern_status     st = tern_api_xfer(ctx, region, rank, xfer, what);

    if (st < 0)
        return st == TERN_API_IS_SHARED ? access_shared(ctx, rank, xfer, &opts, what) : st;
    return tern_api_notifies(xfer->part, rank, what) ? tern_op_contig(ctx, xfer, &opts, what) : TERN_ERR_RANGE;
}

tern_status tern_put_notify(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src, size_t len,
                            uint32_t tag)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_put_notify");

    if (use.status < 0)
        return use.status;

    struct tern_xfer xfer = { .offset = offset, .local = (void *)(uintptr_t)src, .len = len };

    return access(ctx, region, rank, &xfer, tag, "tern_put_notify");
}

tern_status tern_get_notify(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *dst, size_t len,
                            uint32_t tag)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_get_notify");

    if (use.status < 0)
        return use.status;

    struct tern_xfer xfer = { .offset = offset, .local = dst, .len = len, .get = true };

    return access(ctx, region, rank, &xfer, tag, "tern_get_notify");
}

tern_status tern_notify(tern_ctx *ctx, tern_region *region, int rank, uint32_t tag)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_notify");

    if (use.status < 0)
        return use.status;

    struct tern_xfer xfer = { .len = 0 };

    return access(ctx, region, rank, &xfer, tag, "tern_notify");
}

static __attribute__((noinline)) tern_status put_any(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset,
                                                     const void *src, size_t len, uint32_t tag)
{
    const tern_opts opts = TERN_OPTS(.flags = TERN_NOTIFY, .tag = tag, .call = "tern_put_notify_nbi");
    tern_status     st = tern_op_notify_put_inline(ctx, region, rank, offset, src, len, tag);

    return st == TERN_AGAIN ? tern_put_with(ctx, region, rank, offset, src, len, &opts) : st;
}

tern_status tern_put_notify_nbi(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src,
                                size_t len, uint32_t tag)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_put_notify_nbi");

    if (use.status < 0)
        return use.status;

    if (TERN_LIKELY(len == sizeof(uint64_t) && src && tern_op_notify_put_word(ctx, region, rank, offset, src, tag)))
        return TERN_OK;
    return put_any(ctx, region, rank, offset, src, len, tag);
}

/* ---- notification requests ---- */

tern_status tern_notify_create(tern_ctx *ctx, tern_region *region, int source, int64_t tag, uint32_t count,
                               tern_request **out)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_notify_create");

    if (use.status < 0)
        return use.status;

    struct tern_match_name      name = { .class = 0 };
    struct tern_notify_request *notify_request;
    tern_status                 st;

    if (!ctx || ctx->gone)
        return tern_core_ctx_check(ctx, "tern_notify_create");
    if (!region || !out)
        return tern_api_null("tern_notify_create", region ? "out" : "region");
    if (!region->part)
        return tern_api_freed("tern_notify_create", "the region");
    if (count == 0)
        return tern_base_fail(TERN_ERR_ARG, "tern_notify_create: a request for 0 notifications");
    if (source != TERN_ANY_SOURCE && (source < 0 || source >= ctx->team->size))
        return tern_api_no_rank(ctx, source, "tern_notify_create");
    if (tag != TERN_ANY_TAG && (tag < 0 || tag > UINT32_MAX))
        return tern_base_fail(TERN_ERR_RANGE,
                              "tern_notify_create: tag %lld; tags of notifications are 0 to 2^32 - 1, or "
                              "TERN_ANY_TAG",
                              (long long)tag);
    name.scope = region->name;
    name.class =
        (source == TERN_ANY_SOURCE ? TERN_MATCH_ANY_SOURCE : 0) | (tag == TERN_ANY_TAG ? TERN_MATCH_ANY_TAG : 0);
    name.source = source == TERN_ANY_SOURCE ? 0 : tern_core_team_world(ctx->team, source);
    name.tag = tag == TERN_ANY_TAG ? 0 : (uint64_t)tag;
    if ((st = tern_op_notify_request_new(ctx, region, name, count, &notify_request)) == TERN_OK)
        *out = tern_api_notify_handle(notify_request);
    return st;
}

tern_status tern_notify_probe(tern_request *request, tern_request_info *info)
{
    TERN_API_USE use = tern_api_use(tern_api_request_ctx(request), "tern_notify_probe");

    if (use.status < 0)
        return use.status;

    struct tern_notify_request *notify_request = tern_api_notify_request(request);
    struct tern_match_name      name;
    uint64_t                    bytes;
    uint32_t                    polls = 0;

    if (!request)
        return tern_api_null("tern_notify_probe", "request");
    if (!notify_request)
        return tern_base_fail(TERN_ERR_ARG, "tern_notify_probe: the request is of a message, not of notifications");
    if (tern_op_notify_request_state(notify_request) == TERN_NOTIFY_REQUEST_FREED)
        return tern_api_freed("tern_notify_probe", "the request");
    tern_core_ctx_poll_notify(notify_request->ctx, &polls);
    if (!tern_op_notify_request_peek(notify_request, &name, &bytes))
        return notify_request->ctx->gone ? tern_core_ctx_check(notify_request->ctx, "tern_notify_probe") : TERN_PENDING;
    if (info)
        *info = (tern_request_info){ .source = tern_core_team_rank(notify_request->ctx->team, name.source),
                                     .tag = (int64_t)name.tag,
                                     .len = bytes };
    return TERN_OK;
}

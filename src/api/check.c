/* check.c: see check.h. */
#include "api/check.h"
#include "api/shared.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <tern/atomic.h>

#include "base/bits.h"
#include "core/job.h"
#include "core/region.h"
#include "op/trigger/engine.h"

tern_status tern_api_null(const char *what, const char *name)
{
    tern_status st = tern_core_job_running(what);

    return st < 0 ? st : tern_base_fail(TERN_ERR_ARG, "%s: %s is NULL", what, name);
}

tern_status tern_api_no_rank(const tern_ctx *ctx, int rank, const char *what)
{
    tern_status st = tern_core_ctx_check(ctx, what);

    if (st < 0)
        return st;
    return tern_base_fail(TERN_ERR_RANGE, "%s: no rank %d in a team of %d", what, rank, ctx->team->size);
}

tern_status tern_api_freed(const char *what, const char *object)
{
    tern_status st = tern_core_job_running(what);

    return st < 0 ? st : tern_base_fail(TERN_ERR_STATE, "%s: %s was freed", what, object);
}

static __attribute__((cold, noinline)) tern_status no_part(const tern_ctx *ctx, const tern_region *region, int rank,
                                                           const char *what)
{
    tern_status st = tern_core_ctx_check(ctx, what);

    if (st < 0)
        return st;
    if (!region)
        return tern_api_null(what, "region");
    if (!region->part)
        return tern_api_freed(what, "the region");
    return tern_api_no_rank(ctx, rank, what);
}

/* Find the part through a shared context, or report why there is no part. */
static __attribute__((cold, noinline)) tern_status part_shared(const tern_ctx *ctx, const tern_region *region, int rank,
                                                               const char *what, const struct tern_link_part **part)
{
    if (!tern_api_is_shared(ctx) || !region || !region->part || (uint32_t)rank >= (uint32_t)ctx->team->size)
        return no_part(ctx, region, rank, what);
    *part = &region->part[tern_core_team_world(ctx->team, rank)];
    return TERN_API_IS_SHARED;
}

static inline __attribute__((always_inline)) tern_status find_part(const tern_ctx *ctx, const tern_region *region,
                                                                   int rank, const char *what,
                                                                   const struct tern_link_part **part)
{
    if (TERN_UNLIKELY(!ctx || !region || !region->part || (uint32_t)rank >= ctx->ranks))
        return part_shared(ctx, region, rank, what, part);
    *part = &region->part[tern_core_team_world(ctx->team, rank)];
    return TERN_OK;
}

tern_status tern_api_part(const tern_ctx *ctx, const tern_region *region, int rank, const char *what,
                          const struct tern_link_part **part)
{
    return find_part(ctx, region, rank, what, part);
}

tern_status tern_api_outside(const struct tern_link_part *part, int rank, uint64_t offset, uint64_t len,
                             const char *what)
{
    if (part->region == 0)
        return tern_base_fail(TERN_ERR_RANGE,
                              "%s: rank %d is in the context's team but not in the region's team, and has no part",
                              what, rank);
    if (tern_api_is_dynamic(part))
        return tern_base_fail(TERN_ERR_ARG, "%s: this call does not access memory of a dynamic region", what);
    return tern_base_fail(TERN_ERR_RANGE, "%s: %llu bytes at offset %llu do not lie in the %llu bytes of rank %d", what,
                          (unsigned long long)len, (unsigned long long)offset,
                          (unsigned long long)tern_link_part_size(part), rank);
}

tern_status tern_api_claim(tern_ctx *ctx, const void *out, const char *what)
{
    tern_status st = tern_core_ctx_check(ctx, what);

    if (st < 0)
        return st;
    return out ? tern_core_team_claim(ctx->team, ctx, what) : tern_api_null(what, "out");
}

tern_status tern_api_alive(const tern_ctx *ctx, int rank, const char *what)
{
    tern_core_job_check_deaths();
    if (tern_core_job_lost(tern_core_team_world(ctx->team, rank)))
        return tern_base_fail(TERN_ERR_PEER, "%s: rank %d is gone", what, rank);
    return TERN_OK;
}

/* Let a transfer to a dynamic region, whose offset is an address, refer to the attached memory. */
static __attribute__((cold, noinline)) tern_status locate_xfer(const tern_ctx *ctx, const tern_region *region, int rank,
                                                               struct tern_xfer *xfer, const char *what)
{
    struct tern_api_location location = { .part = xfer->part, .offset = xfer->offset, .len = xfer->len };
    tern_status              st = tern_api_locate(ctx, region, rank, what, &location);

    xfer->part = location.part;
    xfer->offset = location.offset;
    return st;
}

/* Check a transfer to a part that was found. */
static inline tern_status check_xfer(const tern_ctx *ctx, const tern_region *region, int rank, struct tern_xfer *xfer,
                                     const char *what)
{
    tern_status st;

    if (TERN_UNLIKELY(!xfer->local && xfer->len > 0))
        return tern_base_fail(TERN_ERR_ARG, "%s: %s is NULL, but len is %zu", what, xfer->get ? "dst" : "src",
                              xfer->len);
    if (TERN_UNLIKELY(!tern_base_covers(tern_link_part_size(xfer->part), xfer->offset, xfer->len))) {
        if (!tern_api_is_dynamic(xfer->part))
            return tern_api_outside(xfer->part, rank, xfer->offset, xfer->len, what);
        if ((st = locate_xfer(ctx, region, rank, xfer, what)) < 0)
            return st;
    }
    return tern_api_alive(ctx, rank, what);
}

static __attribute__((cold, noinline)) tern_status check_xfer_shared(const tern_ctx *ctx, const tern_region *region,
                                                                     int rank, struct tern_xfer *xfer, const char *what)
{
    tern_status st = check_xfer(ctx, region, rank, xfer, what);

    return st < 0 ? st : TERN_API_IS_SHARED;
}

tern_status tern_api_xfer(const tern_ctx *ctx, const tern_region *region, int rank, struct tern_xfer *xfer,
                          const char *what)
{
    tern_status st = find_part(ctx, region, rank, what, &xfer->part);

    if (TERN_UNLIKELY(st < 0))
        return st == TERN_API_IS_SHARED ? check_xfer_shared(ctx, region, rank, xfer, what) : st;
    return check_xfer(ctx, region, rank, xfer, what);
}

tern_status tern_api_unknown_fields(const char *what, const char *type)
{
    return tern_base_fail(TERN_ERR_ARG,
                          "%s: the program sets fields of %s that Tern " TERN_VERSION
                          " does not know; run it with the version with which it was compiled",
                          what, type);
}

tern_status tern_api_bad_size(uint32_t given, const char *what, const char *type)
{
    char macro[48];

    snprintf(macro, sizeof(macro), "%s", type);
    for (char *letter = macro; *letter; letter++)
        *letter = (char)toupper((unsigned char)*letter);
    return tern_base_fail(TERN_ERR_ARG, "%s: the size in a %s is %u; initialize the struct with %s_INIT", what, type,
                          given, macro);
}

const void *tern_api_resize(const void *in, void *copy, size_t size, const char *what, const char *type)
{
    uint32_t             given = *(const uint32_t *)in;
    const unsigned char *bytes = in;

    if (given < 2 * sizeof(uint32_t) || given > TERN_API_LARGEST) {
        tern_api_bad_size(given, what, type);
        return NULL;
    }
    for (size_t i = size; i < given; i++)
        if (bytes[i] != 0) {
            tern_api_unknown_fields(what, type);
            return NULL;
        }
    memset(copy, 0, size);
    memcpy(copy, in, given < size ? given : size);
    *(uint32_t *)copy = (uint32_t)size;
    return copy;
}

/* ---- options ---- */

static tern_status refuse(const char *field, const char *why, const char *what)
{
    return tern_base_fail(TERN_ERR_ARG, "%s: %s %s", what, field, why);
}

static tern_status check_allowed(const tern_opts *opts, unsigned allowed, const char *what)
{
    uint32_t known = TERN_IMMEDIATE | TERN_WANT_EVENT | TERN_NOTIFY | TERN_COUNT_BYTES | TERN_ACQUIRE | TERN_RELEASE;

    if (opts->flags & ~known)
        return tern_base_fail(TERN_ERR_ARG,
                              "%s: unknown flags 0x%x; known are TERN_IMMEDIATE, TERN_WANT_EVENT, TERN_NOTIFY, "
                              "TERN_COUNT_BYTES, TERN_ACQUIRE and TERN_RELEASE",
                              what, opts->flags & ~known);
    if ((opts->flags & (TERN_ACQUIRE | TERN_RELEASE)) && !(allowed & TERN_API_ORDER))
        return refuse("TERN_ACQUIRE and TERN_RELEASE", "are for atomic operations", what);
    if ((opts->flags & TERN_NOTIFY) && !(allowed & TERN_API_NOTIFY))
        return refuse("TERN_NOTIFY", "is not possible here: the operation has no target to notify", what);
    if (opts->signal && !(allowed & TERN_API_SIGNAL))
        return refuse("opts->signal", "is for puts", what);
    if (opts->signal && (opts->flags & TERN_NOTIFY))
        return refuse("opts->signal", "and TERN_NOTIFY exclude each other", what);
    if (!opts->acc != !(allowed & TERN_API_ACC))
        return refuse("opts->acc", opts->acc ? "is for accumulates" : "is NULL; it says what to compute", what);
    return TERN_OK;
}

/* Return whether operations of the context may use the counter. The context may be NULL, which is reported later. */
static inline bool is_counter_of(const tern_ctx *ctx, const tern_counter *counter)
{
    return counter->engine && (!ctx || counter->engine->owner == ctx || counter->engine->owner->handle == ctx);
}

static __attribute__((cold, noinline)) tern_status refuse_counter(const tern_counter *counter, const char *name,
                                                                  const char *what)
{
    if (!counter->engine)
        return tern_api_freed(what, name);
    return refuse(name, "belongs to another context than the operation", what);
}

tern_status tern_api_opts(const tern_ctx *ctx, const tern_opts *opts, unsigned allowed, const char *what,
                          struct tern_api_opts *out)
{
    static const tern_opts none = { .size = sizeof(none) };
    tern_status            st;

    out->what = what;
    if (TERN_LIKELY(!opts)) {
        out->opts = &none;
        return allowed & TERN_API_ACC ? refuse("opts->acc", "is NULL; it says what to compute", what) : TERN_OK;
    }
    if (!(out->opts = opts = TERN_API_SIZED(tern_opts, opts, &out->copy, what)))
        return TERN_ERR_ARG;
    if (opts->call)
        out->what = what = opts->call;
    if (TERN_UNLIKELY((opts->flags & ~(TERN_IMMEDIATE | TERN_WANT_EVENT)) || opts->signal || opts->acc ||
                      (allowed & TERN_API_ACC)) &&
        (st = check_allowed(opts, allowed, what)) < 0)
        return st;
    if ((opts->flags & TERN_COUNT_BYTES) && !opts->counter)
        return refuse("TERN_COUNT_BYTES", "is set without a counter", what);
    if ((opts->flags & TERN_WANT_EVENT) && !opts->event)
        return refuse("event", "is NULL", what);
    if (TERN_UNLIKELY(opts->counter && !is_counter_of(ctx, opts->counter)))
        return refuse_counter(opts->counter, "opts->counter", what);
    if (TERN_UNLIKELY(opts->when && !is_counter_of(ctx, opts->when)))
        return refuse_counter(opts->when, "opts->when", what);
    return TERN_OK;
}

bool tern_api_notifies(const struct tern_link_part *part, int rank, const char *what)
{
    if (TERN_LIKELY(part->region != 0))
        return true;
    tern_base_fail(TERN_ERR_RANGE,
                   "%s: rank %d is in the context's team but not in the region's team, and cannot be notified", what,
                   rank);
    return false;
}

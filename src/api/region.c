/* region.c: the public calls of tern/region.h: check, claim the team, then call core/region. */
#include <tern/region.h>

#include <string.h>

#include "api/check.h"
#include "api/shared.h"
#include "api/use.h"
#include "core/job.h"
#include "core/region.h"
#include "core/region_dynamic.h"
#include "op/notify/notify.h"

#define LONGEST_PATH 4000

static tern_status check_alloc(uint64_t size, const tern_region_opts *opts)
{
    bool is_file = opts->memory == TERN_MEMORY_FILE;

    if (size == 0 && opts->reserve == 0 && opts->each == 0)
        return tern_base_fail(TERN_ERR_ARG, "size is 0; opts->each permits parts of 0 bytes");
    if (opts->each > 1)
        return tern_base_fail(TERN_ERR_ARG, "opts->each is %u; it is 0 or 1", opts->each);
    if (opts->unused != 0)
        return tern_base_fail(TERN_ERR_ARG, "opts->unused is %u; it must be 0", opts->unused);
    if (opts->reserve != 0 && opts->reserve < size)
        return tern_base_fail(TERN_ERR_ARG, "opts->reserve is %llu, less than size, which is %llu",
                              (unsigned long long)opts->reserve, (unsigned long long)size);
    if (opts->memory != TERN_MEMORY_HOST && opts->memory != TERN_MEMORY_HUGE && !is_file)
        return tern_base_fail(TERN_ERR_ARG, "%d is no kind of memory", (int)opts->memory);
    if (is_file && (!opts->path || !*opts->path || strlen(opts->path) > LONGEST_PATH))
        return tern_base_fail(TERN_ERR_ARG, "TERN_MEMORY_FILE needs a path of 1 to %d bytes", LONGEST_PATH);
    if (!is_file && opts->path)
        return tern_base_fail(TERN_ERR_ARG, "only TERN_MEMORY_FILE takes a path");
    return TERN_OK;
}

tern_status tern_region_create(tern_ctx *ctx, uint64_t size, const tern_region_opts *opts, tern_region **out)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_region_create");

    if (use.status < 0)
        return use.status;

    tern_region_opts        copy = TERN_REGION_OPTS_INIT;
    const tern_region_opts *known = &copy;
    tern_status             st;

    if ((st = tern_api_claim(ctx, out, "tern_region_create")) < 0)
        return st;
    if (opts)
        known = TERN_API_SIZED(tern_region_opts, opts, &copy, "tern_region_create");
    st = tern_core_region_alloc(ctx, size, known ? known : &copy, TERN_COLLECTIVE_REGION_CREATE,
                                known ? check_alloc(size, known) : TERN_ERR_ARG, out);
    tern_core_team_release(ctx->team);
    return st;
}

static tern_status check_register(const void *addr, uint64_t len)
{
    if (!addr && len != 0)
        return tern_base_fail(TERN_ERR_ARG, "addr is NULL, but len is %llu", (unsigned long long)len);
    if (len > UINTPTR_MAX - (uintptr_t)addr)
        return tern_base_fail(TERN_ERR_ARG, "%llu bytes from %p on wrap around the end of memory",
                              (unsigned long long)len, addr);
    return TERN_OK;
}

tern_status tern_region_register(tern_ctx *ctx, void *addr, uint64_t len, tern_region **out)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_region_register");

    if (use.status < 0)
        return use.status;

    tern_status st;

    if ((st = tern_api_claim(ctx, out, "tern_region_register")) < 0)
        return st;
    st = tern_core_region_register(ctx, addr, len, check_register(addr, len), out);
    tern_core_team_release(ctx->team);
    return st;
}

tern_status tern_region_adopt(tern_ctx *ctx, void *addr, uint64_t len, tern_region **out)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_region_adopt");

    if (use.status < 0)
        return use.status;

    tern_status st;

    if ((st = tern_api_claim(ctx, out, "tern_region_adopt")) < 0)
        return st;
    st = tern_core_region_adopt(ctx, addr, len, check_register(addr, len), out);
    tern_core_team_release(ctx->team);
    return st;
}

tern_status tern_region_open(tern_ctx *ctx, tern_region **out)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_region_open");

    if (use.status < 0)
        return use.status;

    tern_status st;

    if ((st = tern_api_claim(ctx, out, "tern_region_open")) < 0)
        return st;
    st = tern_core_dynamic_open(ctx, TERN_OK, out);
    tern_core_team_release(ctx->team);
    return st;
}

static tern_status check_dynamic(const tern_region *region, const char *what)
{
    tern_status st;

    if (!region)
        return tern_api_null(what, "region");
    if (!region->part)
        return tern_api_freed(what, "the region");
    if ((st = tern_core_job_running(what)) < 0)
        return st;
    return region->dynamic ? TERN_OK
                           : tern_base_fail(TERN_ERR_ARG, "%s: the region was not made by tern_region_open", what);
}

tern_status tern_region_attach(tern_region *region, void *addr, uint64_t len)
{
    tern_status st = check_dynamic(region, "tern_region_attach");

    if (st < 0)
        return st;
    if (!addr)
        return tern_api_null("tern_region_attach", "addr");
    if (len == 0 || len > UINTPTR_MAX - (uintptr_t)addr)
        return tern_base_fail(TERN_ERR_ARG, "tern_region_attach: %llu bytes at %p %s", (unsigned long long)len, addr,
                              len == 0 ? "cannot be attached" : "wrap around the end of memory");
    return tern_core_dynamic_attach(region, addr, len);
}

tern_status tern_region_detach(tern_region *region, void *addr)
{
    tern_status st = check_dynamic(region, "tern_region_detach");

    return st < 0 ? st : tern_core_dynamic_detach(region, addr);
}

tern_status tern_region_free(tern_region *region)
{
    tern_status       st;
    struct tern_team *team;
    uint64_t          scope;

    if (!region)
        return tern_api_null("tern_region_free", "region");
    if (!region->part)
        return tern_api_freed("tern_region_free", "the region");
    if ((st = tern_core_job_running("tern_region_free")) < 0)
        return st;
    if (region->owned)
        return tern_base_fail(TERN_ERR_ARG, "tern_region_free: the region belongs to a set of mutexes; call "
                                            "tern_mutex_free");
    team = region->team;
    scope = region->name;
    if ((st = tern_core_team_claim(team, NULL, "tern_region_free")) < 0)
        return st;
    st = tern_core_region_free(region, "tern_region_free");
    if (st == TERN_OK)
        tern_op_notify_forget(scope);
    tern_core_team_release(team);
    return st;
}

tern_status tern_region_grow(tern_region *region, uint64_t size)
{
    tern_status       st;
    struct tern_team *team;

    if (!region)
        return tern_api_null("tern_region_grow", "region");
    if (!region->part)
        return tern_api_freed("tern_region_grow", "the region");
    if ((st = tern_core_job_running("tern_region_grow")) < 0)
        return st;
    if (region->owned)
        return tern_base_fail(TERN_ERR_ARG, "tern_region_grow: the region belongs to a set of mutexes");
    team = region->team;
    if ((st = tern_core_team_claim(team, NULL, "tern_region_grow")) < 0)
        return st;
    st = tern_core_region_grow(region, size);
    tern_core_team_release(team);
    return st;
}

/* Translate a rank of the region's team into a rank of the job; -1: not a member. */
static int world_rank(const tern_region *region, int rank)
{
    return region && region->part && tern_core_job_is_running() && rank >= 0 && rank < region->team->size
               ? tern_core_team_world(region->team, rank)
               : -1;
}

void *tern_region_ptr(const tern_region *region, int rank)
{
    int world = world_rank(region, rank);

    return world < 0 || tern_core_job_lost(world) ? NULL : region->part[world].base;
}

uint64_t tern_region_size(const tern_region *region, int rank)
{
    int world = world_rank(region, rank);

    return world < 0 ? 0 : tern_link_part_size(&region->part[world]);
}

const char *tern_region_path(const tern_region *region, int rank)
{
    int world = world_rank(region, rank);

    return world < 0 || !region->part[world].path ? "none" : region->part[world].path->name;
}

/* Find a region through a shared context, or report that there is no such rank. */
static __attribute__((cold, noinline)) tern_status find_shared(tern_ctx *ctx, int rank, const void *addr,
                                                               tern_region **region, uint64_t *offset)
{
    return tern_api_is_shared(ctx) && (uint32_t)rank < (uint32_t)ctx->team->size
               ? TERN_API_LOCKED(inner, ctx, tern_region_find(inner, rank, addr, region, offset))
               : tern_api_no_rank(ctx, rank, "tern_region_find");
}

tern_status tern_region_find(tern_ctx *ctx, int rank, const void *addr, tern_region **region, uint64_t *offset)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_region_find");

    if (use.status < 0)
        return use.status;

    struct tern_region *found;
    int                 world;

    if (!ctx || (uint32_t)rank >= ctx->ranks)
        return find_shared(ctx, rank, addr, region, offset);
    if (!region || !offset)
        return tern_api_null("tern_region_find", region ? "offset" : "region");
    world = tern_core_team_world(ctx->team, rank);
    found = tern_core_region_find(ctx, world, (uint64_t)(uintptr_t)addr);
    if (!found)
        return tern_base_fail(TERN_ERR_RANGE, "tern_region_find: no region holds %p of rank %d", addr, rank);
    *region = found;
    *offset = (uint64_t)(uintptr_t)addr - found->part[world].addr;
    return TERN_OK;
}

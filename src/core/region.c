/* region.c: creation and destruction of regions.
 *
 * A region is created in a few all-gathers: all ranks agree on the arguments, and on whether the node has enough
 * memory; each rank allocates its own memory and sends its memory handle; each rank attaches the parts of the others;
 * and, for memory that the program owns, each rank starts to serve peers that cannot access it directly. In every
 * all-gather each rank reports whether it succeeded, so that all ranks return the same status, and the text of the
 * first rank that failed. */
#include "core/region.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/log.h"
#include "core/job.h"
#include "core/links.h"
#include "core/message.h"
#include "core/helper.h"
#include "core/region_dynamic.h"
#include "core/region_making.h"

tern_status tern_core_making_exchange(struct tern_making *m, struct tern_contribution *mine, tern_status st)
{
    return tern_core_team_exchange(m->team, &mine->result, sizeof(*mine), st, m->deadline, m->call, &m->refused);
}

static uint64_t hash(const char *text)
{
    uint64_t h = 14695981039346656037ull; /* FNV-1a */

    for (; text && *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211ull;
    return h;
}

/* Check that all ranks made the same call. */
static tern_status compare(const struct tern_making *m, bool each)
{
    const struct tern_contribution *first = &m->all[0];

    for (int i = 1; i < m->team->size; i++) {
        const struct tern_contribution *other = &m->all[i];

        if (other->memory != first->memory || other->path_hash != first->path_hash)
            return tern_base_fail(TERN_ERR_ARG, "%s: ranks %d and 0 ask for memory of different kinds or files",
                                  m->what, i);
        if (!each && other->handle.size != first->handle.size)
            return tern_base_fail(TERN_ERR_ARG,
                                  "%s: rank %d asks for %" PRIu64 " bytes, rank 0 for %" PRIu64
                                  "; all ranks ask for the same, unless opts->each is set",
                                  m->what, i, other->handle.size, first->handle.size);
        if (!each && other->handle.reserve != first->handle.reserve)
            return tern_base_fail(TERN_ERR_ARG,
                                  "%s: rank %d reserves %" PRIu64 " bytes, rank 0 %" PRIu64
                                  "; all ranks reserve the same, unless opts->each is set",
                                  m->what, i, other->handle.reserve, first->handle.reserve);
    }
    return TERN_OK;
}

/* Check that there is enough memory for parts of different sizes: all ranks must have reported their sizes, and none
 * may have allocated memory yet. */
static tern_status check_each(struct tern_making *m, struct tern_memory_request *request, uint32_t *mem_kind)
{
    struct tern_contribution mine = { 0 };
    size_t                   ranks = (size_t)m->team->size;
    uint64_t                *sizes = calloc(ranks, 2 * sizeof(*sizes));
    tern_status              st = TERN_OK;

    if (!sizes)
        st = tern_base_fail(TERN_ERR_NOMEM, "no memory for a table of %d ranks", m->team->size);
    for (size_t i = 0; sizes && i < ranks; i++) {
        sizes[i] = m->all[i].handle.size;
        sizes[ranks + i] = m->all[i].handle.reserve;
    }
    request->sizes = sizes;
    request->reserves = sizes + ranks;
    if (st == TERN_OK)
        st = tern_core_memory_check(request, m->team, mem_kind);
    request->sizes = request->reserves = NULL;
    free(sizes);
    return tern_core_making_exchange(m, &mine, st);
}

/* First all-gather: check that all ranks make the same call, and that there is enough memory. st is this rank's earlier
 * error. */
static tern_status agree(struct tern_making *m, struct tern_memory_request *request, uint32_t *mem_kind, tern_status st)
{
    const tern_region_opts  *opts = request->opts;
    bool                     each = opts->each != 0;
    struct tern_contribution mine = { .memory = opts->memory | (each ? TERN_MAKING_EACH : 0),
                                      .path_hash = hash(opts->path),
                                      .handle = { .size = request->size, .reserve = request->reserve } };
    uint64_t                 total;

    if (st == TERN_OK && !each && __builtin_mul_overflow(request->size, (uint64_t)m->team->size, &total))
        st = tern_base_fail(TERN_ERR_NOMEM, "%d parts of %" PRIu64 " bytes are more than any memory holds",
                            m->team->size, request->size);
    if (st == TERN_OK && !each)
        st = tern_core_memory_check(request, m->team, mem_kind);
    if ((st = tern_core_making_exchange(m, &mine, st)) < 0 || (st = compare(m, each)) < 0)
        return st;
    return each ? check_each(m, request, mem_kind) : TERN_OK;
}

static void file_name(const struct tern_making *m, int rank, char *name, size_t size)
{
    name[0] = '\0';
    if (m->path)
        snprintf(name, size, "%s.%d", m->path, rank);
}

/* ---- memory ---- */

static struct tern_retired freed = TERN_RETIRED_INIT(freed); /* regions */

/* Allocate a struct, or use that of a region that was freed long ago. */
static struct tern_region *struct_new(size_t bytes)
{
    static _Atomic uint32_t made;
    struct tern_list       *node = tern_base_retired_reuse(&freed);
    struct tern_region     *region;
    uint32_t                number;

    if (node)
        region = TERN_LIST_ITEM(node, struct tern_region, node);
    else
        region = aligned_alloc(_Alignof(struct tern_region), tern_base_round_up(bytes, _Alignof(struct tern_region)));
    if (!region)
        return NULL;
    number = node ? region->number : ++made;
    memset(region, 0, bytes);
    region->number = number;
    tern_base_list_init(&region->node);
    return region;
}

static struct tern_region *region_new(struct tern_team *team)
{
    size_t              ranks = (size_t)tern_job.boot.ranks;
    struct tern_region *region = struct_new(sizeof(struct tern_region) + ranks * sizeof(struct tern_part));

    if (!region)
        return NULL;
    region->team = team;
    region->part = calloc(ranks, sizeof(*region->part));
    if (region->part)
        return region;
    tern_base_retire(&freed, &region->node);
    return NULL;
}

static void detach_all(struct tern_region *region)
{
    for (int rank = 0; rank < tern_job.boot.ranks; rank++) {
        struct tern_link_part *part = &region->part[rank];
        if (part->path)
            tern_job.ops[part->link]->detach(tern_job.link[part->link], part);
        if (region->net && region->net[rank].path)
            tern_job.ops[region->net[rank].link]->detach(tern_job.link[region->net[rank].link], &region->net[rank]);
    }
    for (unsigned i = 0; region->name != 0 && i < tern_job.links; i++)
        tern_job.ops[i]->unexpose(tern_job.link[i], region->name);
}

static void region_delete(struct tern_region *region)
{
    for (int rank = 0; rank < tern_job.boot.ranks; rank++)
        __atomic_store_n(&region->fast[rank].reach, 0, __ATOMIC_RELAXED); /* inlined calls enter the library */
    if (region->dynamic)
        tern_core_dynamic_close(region);
    detach_all(region);
    tern_core_memory_drop(&region->own);
    free(region->part);
    free(region->net);
    region->part = region->net = NULL;
    if (region->owned) {
        region->owned->freed = true;
        tern_base_retire(region->owned->retired, &region->owned->node);
    }
    tern_base_retire(&freed, &region->node);
}

/* Attach the part by a network with atomics that reaches the rank, if there is one, in addition to its usual path, for
 * domains whose operations the network executes. */
static tern_status attach_net(struct tern_region *region, const struct tern_mem_handle *handle, int world)
{
    int                    link = tern_core_links_atomic(world);
    struct tern_link_part *net;

    if (link < 0)
        return TERN_OK;
    if (!region->net && !(region->net = calloc((size_t)tern_job.boot.ranks, sizeof(*region->net))))
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a table of %d ranks", tern_job.boot.ranks);
    net = &region->net[world];
    *net = region->part[world];
    net->link = (uint32_t)link;
    net->path = NULL;
    net->base = NULL;
    net->mapped = 0;
    return tern_core_links_attach(net->link, handle, NULL, net);
}

struct tern_link_part tern_core_region_part(const struct tern_region *region, int world,
                                            const struct tern_mem_handle *handle)
{
    return (struct tern_link_part){ .size = handle->size,
                                    .reserve = handle->reserve,
                                    .addr = handle->addr,
                                    .offset = handle->offset,
                                    .mem_kind = handle->mem_kind,
                                    .origin = tern_link_origin(handle, world),
                                    .region = handle->region,
                                    .scope = handle->region,
                                    .rank = world,
                                    .pid = handle->pid,
                                    .slot =
                                        tern_boot_same_node(&tern_job.boot, world) ? tern_core_job_slot(world) : NULL,
                                    .link = tern_job.peer_link[world],
                                    .number = region->number };
}

static tern_status attach(struct tern_making *m, int rank, const struct tern_mem_handle *handle)
{
    struct tern_region    *region = m->region;
    int                    world = tern_core_team_world(m->team, rank);
    struct tern_link_part *part = &region->part[world];
    char                   name[4096];
    tern_status            st;

    *part = tern_core_region_part(region, world, handle);
    if (handle->reserve == 0)
        return TERN_OK;
    file_name(m, rank, name, sizeof(name));
    st = tern_core_links_attach(part->link, handle, name, part);
    if (st == TERN_OK && tern_link_loads(part) && part->path->instant) /* inlined calls are equivalent to the path */
        region->fast[world] =
            (struct tern_part){ part->base, part->size, (uint32_t *)(void *)&part->slot->memory_waits };
    if (st == TERN_OK)
        st = attach_net(region, handle, world);
    return st;
}

tern_status tern_core_making_expose(struct tern_mem_handle *handle)
{
    tern_status st = TERN_OK;

    for (unsigned i = 0; i < tern_job.links && st == TERN_OK && handle->reserve > 0; i++)
        st = tern_core_links_expose(i, handle);
    return st;
}

/* Attach every part. */
static tern_status attach_all(struct tern_making *m)
{
    tern_status st = TERN_OK;

    for (int rank = 0; rank < m->team->size && st == TERN_OK; rank++)
        st = attach(m, rank, &m->all[rank].handle);
    return st;
}

/* Start the helper thread if a peer has found in attach that it needs this rank's help. */
static tern_status serve_if_needed(void)
{
    tern_status st = TERN_OK;

    for (unsigned i = 0; i < tern_job.links && st == TERN_OK; i++)
        if (tern_job.ops[i]->service_needed(tern_job.link[i]))
            st = tern_core_service_start();
    return st;
}

static void publish(struct tern_region *region)
{
    pthread_mutex_lock(&tern_job.lock);
    tern_base_list_push(&tern_job.regions, &region->node);
    atomic_fetch_add(&tern_job.region_changes, 1);
    for (int rank = 0; rank < tern_job.boot.ranks; rank++)
        if (tern_core_job_lost(rank))
            __atomic_store_n(&region->fast[rank].reach, 0, __ATOMIC_RELAXED); /* the inlined calls read it */
    pthread_mutex_unlock(&tern_job.lock);
}

static void withdraw(struct tern_region *region)
{
    pthread_mutex_lock(&tern_job.lock);
    tern_base_list_remove(&region->node);
    atomic_fetch_add(&tern_job.region_changes, 1);
    pthread_mutex_unlock(&tern_job.lock);
}

uint64_t tern_core_region_new_name(void)
{
    static _Atomic uint64_t made;

    return tern_link_region_of(tern_job.boot.rank, ++made);
}

struct tern_mem_handle tern_core_making_handle(const struct tern_region *region, uint64_t size, uint64_t reserve)
{
    struct tern_mem_handle handle = { .region = region->name,
                                      .addr = (uint64_t)(uintptr_t)region->own.addr,
                                      .size = size,
                                      .reserve = reserve,
                                      .offset = region->own.space.offset + region->own.before,
                                      .device = region->own.device,
                                      .inode = region->own.inode,
                                      .mem_kind = region->own.mem_kind,
                                      .pid = atomic_load(&tern_core_job_slot(tern_job.boot.rank)->pid) };

    if (handle.mem_kind == TERN_MEM_PRIVATE)
        handle.probe = (uint64_t)(uintptr_t)&tern_link_probe;
    return handle;
}

/* The region is published before the all-gather that follows attach, because a rank that leaves that all-gather earlier
 * may send this rank a message that refers to the region. */
tern_status tern_core_making_join(struct tern_making *m, const struct tern_mem_handle *handle, tern_status st)
{
    struct tern_region      *region = m->region;
    struct tern_contribution mine = { 0 };

    if (st == TERN_OK) {
        mine.handle = *handle;
        mine.handle.region = region->name = tern_core_region_new_name();
        st = tern_core_making_expose(&mine.handle);
    }
    if ((st = tern_core_making_exchange(m, &mine, st)) < 0)
        return st;
    region->id = m->all[0].handle.region;
    if ((st = attach_all(m)) == TERN_OK)
        publish(region);
    st = tern_core_making_exchange(m, &mine, st);
    if (st < 0 || region->own.mem_kind != TERN_MEM_PRIVATE)
        return st;
    return tern_core_making_exchange(m, &mine, serve_if_needed());
}

tern_status tern_core_making_begin(struct tern_making *m, struct tern_ctx *ctx, enum tern_collective call,
                                   tern_status checked)
{
    *m = (struct tern_making){ .team = ctx->team,
                               .deadline = tern_core_ctx_deadline(ctx),
                               .what = tern_core_collective_name(call),
                               .call = call };
    m->all = m->team->scratch;
    if (checked < 0)
        return checked;
    m->region = region_new(m->team);
    return m->region ? TERN_OK : tern_base_fail(TERN_ERR_NOMEM, "no memory for tables of %d ranks", m->team->size);
}

/* Log the size of the region, and the paths by which its parts are reached. */
static void tell_made(const struct tern_making *m)
{
    char   paths[256] = "";
    size_t used = 0;

    if (!tern_base_log_shows(TERN_LOG_DEBUG))
        return;
    for (int i = 0; i < m->team->size && used < sizeof(paths); i++) {
        const struct tern_link_part *part = &m->region->part[tern_core_team_world(m->team, i)];

        used += (size_t)snprintf(paths + used, sizeof(paths) - used, "%s%d by %s", i > 0 ? ", " : "", i,
                                 part->path ? part->path->name : "none");
    }
    tern_base_log(TERN_LOG_DEBUG, "%s: region %" PRIx64 " of %" PRIu64 " bytes here; rank %s", m->what, m->region->id,
                  m->region->part[tern_job.boot.rank].size, paths);
}

tern_status tern_core_making_end(struct tern_making *m, tern_status st, struct tern_region **out)
{
    if (st == TERN_OK) {
        tell_made(m);
        *out = m->region;
    } else if (m->region) {
        withdraw(m->region);
        region_delete(m->region);
    }
    return st;
}

tern_status tern_core_region_alloc(struct tern_ctx *ctx, uint64_t size, const tern_region_opts *opts,
                                   enum tern_collective call, tern_status checked, struct tern_region **out)
{
    struct tern_memory_request request = { .opts = opts,
                                           .size = size,
                                           .reserve = opts->reserve > size ? opts->reserve : size };
    struct tern_mem_handle     handle;
    struct tern_making         m;
    uint32_t                   mem_kind = TERN_MEM_ARENA;
    char                       name[4096];
    tern_status                st = tern_core_making_begin(&m, ctx, call, checked);

    m.path = opts->memory == TERN_MEMORY_FILE ? opts->path : NULL;
    st = agree(&m, &request, &mem_kind, st);
    if (st == TERN_OK) {
        file_name(&m, m.team->rank, name, sizeof(name));
        if (request.reserve > 0)
            st = tern_core_memory_make(mem_kind, &request, name, &m.region->own);
        handle = tern_core_making_handle(m.region, size, request.reserve);
        st = tern_core_making_join(&m, &handle, st);
        if (st < 0)
            tern_core_memory_undo(&m.region->own, name); /* another rank failed */
    }
    return tern_core_making_end(&m, st, out);
}

tern_status tern_core_region_register(struct tern_ctx *ctx, void *addr, uint64_t len, tern_status checked,
                                      struct tern_region **out)
{
    struct tern_making     m;
    struct tern_mem_handle handle = { 0 };
    tern_status            st = tern_core_making_begin(&m, ctx, TERN_COLLECTIVE_REGION_REGISTER, checked);

    if (st == TERN_OK) {
        m.region->own = tern_core_memory_own(addr);
        handle = tern_core_making_handle(m.region, len, len);
    }
    return tern_core_making_end(&m, tern_core_making_join(&m, &handle, st), out);
}

/* Free the memory of dead ranks: the first live rank on their node does that for them. */
static void free_dead_parts(const struct tern_region *region)
{
    const struct tern_team *team = region->team;

    for (int i = 0; i < team->rank; i++) {
        int world = tern_core_team_world(team, i);

        if (tern_boot_same_node(&tern_job.boot, world) && !tern_core_job_lost(world))
            return;
    }
    for (int i = 0; i < team->size; i++) {
        int                          world = tern_core_team_world(team, i);
        const struct tern_link_part *part =
            region->dynamic ? tern_core_dynamic_table(region, world) : &region->part[world];
        int file = part->mem_kind == TERN_MEM_HUGE ? tern_job.boot.huge : tern_job.boot.arena;

        if (part->reserve > 0 && tern_core_job_lost(part->rank) && tern_boot_same_node(&tern_job.boot, part->rank) &&
            (part->mem_kind == TERN_MEM_ARENA || part->mem_kind == TERN_MEM_HUGE)) {
            uint64_t unit = tern_boot_space_unit(file), before = part->offset % unit;

            tern_boot_space_give(&(struct tern_space){ .file = file,
                                                       .offset = part->offset - before,
                                                       .bytes = tern_base_round_up(before + part->reserve, unit) });
        }
    }
}

/* Search for a context of this rank that has outstanding operations on the region, and count these operations. Returns
 * false if another thread uses an engine at this moment: the caller must try again. */
static bool find_busy(const struct tern_region *region, const struct tern_ctx **busy, uint32_t *ops)
{
    bool sure = true;

    *busy = NULL;
    pthread_mutex_lock(&tern_job.lock); /* also guards the size of the tables */
    TERN_LIST_EACH(struct tern_ctx, ctx, &tern_job.contexts, node) {
        int      parked = ctx->engine ? tern_op_engine_in_region(ctx->engine, region->number) : 0;
        uint32_t n = tern_core_ctx_in_region(ctx, region->number) + (parked > 0 ? (uint32_t)parked : 0);

        sure &= parked >= 0;
        if (n > 0) {
            *busy = ctx;
            *ops = n;
        }
    }
    pthread_mutex_unlock(&tern_job.lock);
    return sure || *busy;
}

bool tern_core_region_is_busy(const struct tern_region *region)
{
    const struct tern_ctx *busy;
    uint32_t               ops;

    return !find_busy(region, &busy, &ops) || busy;
}

/* Check that this rank has no outstanding operations on the region. */
static tern_status check_idle(const struct tern_region *region, const char *what)
{
    const struct tern_ctx *busy;
    uint32_t               ops = 0;

    while (!find_busy(region, &busy, &ops))
        sched_yield();
    if (!busy)
        return TERN_OK;
    return tern_base_fail(TERN_ERR_STATE,
                          "%s: rank %d has %u outstanding operation%s on the region, of %s; complete %s first, for "
                          "example by tern_quiet",
                          what, tern_job.boot.rank, ops, ops == 1 ? "" : "s",
                          busy == tern_world ? "TERN_WORLD" : "another context", ops == 1 ? "it" : "them");
}

tern_status tern_core_region_free(struct tern_region *region, const char *what)
{
    tern_status st = check_idle(region, what);

    if (st < 0 || (st = tern_core_team_part(region->team, region->id, tern_core_job_deadline(), what)) < 0)
        return st;
    tern_base_log(TERN_LOG_DEBUG, "%s: region %" PRIx64 " of %" PRIu64 " bytes here is freed", what, region->id,
                  region->part[tern_job.boot.rank].size);
    free_dead_parts(region);
    withdraw(region);
    tern_core_message_pause(); /* another thread may be copying the inline payload of a notification into the region */
    region_delete(region);
    return TERN_OK;
}

void tern_core_region_release(struct tern_region *region)
{
    tern_base_log(TERN_LOG_DEBUG, "tern_finalize: region %" PRIx64 " is freed", region->id);
    withdraw(region);
    region_delete(region);
}

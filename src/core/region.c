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

/* What each rank contributes to the all-gathers. Travels between processes. */
struct say {
    int32_t                status;
    uint32_t               memory;    /* first all-gather: tern_memory */
    uint64_t               size;      /* first all-gather */
    uint64_t               path_hash; /* first all-gather */
    struct tern_mem_handle handle;    /* second all-gather */
    char                   why[256];
};
_Static_assert(sizeof(struct say) == 440, "a contribution has no padding");
_Static_assert(sizeof(struct say) <= TERN_TEAM_SCRATCH, "a contribution fits into the scratch space of the team");

/* A region that is being created. */
struct making {
    struct tern_team   *team;
    tern_deadline       deadline;
    const char         *what; /* the public call */
    const char         *path; /* path of a FILE region */
    struct say         *said; /* [team size]; the team's scratch memory */
    struct tern_region *region;
};

/* Report st (and this thread's error detail, if st is an error) to all members. Returns the first error in the order of
 * ranks. */
static tern_status exchange(struct making *m, struct say *mine, tern_status st)
{
    tern_status met;

    mine->status = st;
    if (st < 0)
        snprintf(mine->why, sizeof(mine->why), "%s", tern_base_detail());
    met = tern_core_team_gather(m->team, mine, sizeof(*mine), m->said, m->deadline, m->what);
    if (met < 0)
        return met;
    for (int i = 0; i < m->team->size; i++)
        if (m->said[i].status < 0)
            return tern_base_fail((tern_status)m->said[i].status, "%s: rank %d: %.255s", m->what, i, m->said[i].why);
    return TERN_OK;
}

static uint64_t hash(const char *text)
{
    uint64_t h = 14695981039346656037ull; /* FNV-1a */

    for (; text && *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211ull;
    return h;
}

/* First all-gather: check that all ranks make the same call, and that there is enough memory. st is this rank's earlier
 * error. */
static tern_status agree(struct making *m, uint64_t size, const tern_region_opts *opts, uint32_t *place, tern_status st)
{
    struct say mine = { .memory = opts->memory, .size = size, .path_hash = hash(opts->path) };
    uint64_t   total = size * (uint64_t)m->team->size;

    if (st == TERN_OK && total / size != (uint64_t)m->team->size)
        st = tern_base_fail(TERN_ERR_NOMEM, "%d parts of %" PRIu64 " bytes are more than any memory holds",
                            m->team->size, size);
    if (st == TERN_OK)
        st = tern_core_memory_check(opts, size, m->team, place);
    if ((st = exchange(m, &mine, st)) < 0)
        return st;
    for (int i = 1; i < m->team->size; i++) {
        if (m->said[i].size != m->said[0].size)
            return tern_base_fail(TERN_ERR_ARG,
                                  "%s: rank %d asks for %" PRIu64 " bytes, rank 0 for %" PRIu64
                                  "; all ranks ask for the same",
                                  m->what, i, m->said[i].size, m->said[0].size);
        if (m->said[i].memory != m->said[0].memory || m->said[i].path_hash != m->said[0].path_hash)
            return tern_base_fail(TERN_ERR_ARG, "%s: ranks %d and 0 ask for memory of different kinds or files",
                                  m->what, i);
    }
    return TERN_OK;
}

static void file_name(const struct making *m, int rank, char *name, size_t size)
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

static tern_status attach(struct making *m, int rank, const struct tern_mem_handle *handle)
{
    struct tern_region    *region = m->region;
    int                    world = tern_core_team_world(m->team, rank);
    struct tern_link_part *part = &region->part[world];
    unsigned               link = tern_job.peer_link[world];
    char                   name[4096];
    tern_status            st;

    *part = (struct tern_link_part){ .size = handle->size,
                                     .addr = handle->addr,
                                     .offset = handle->offset,
                                     .mem_kind = handle->mem_kind,
                                     .origin = tern_link_origin(handle, world),
                                     .region = handle->region,
                                     .rank = world,
                                     .pid = handle->pid,
                                     .link = link,
                                     .number = region->number };
    if (handle->size == 0)
        return TERN_OK;
    file_name(m, rank, name, sizeof(name));
    st = tern_core_links_attach(link, handle, name, part);
    if (st == TERN_OK && part->base && part->path->instant) /* inlined calls are equivalent to the path */
        region->fast[world] = (struct tern_part){ .base = part->base, .reach = part->size };
    if (st == TERN_OK)
        st = attach_net(region, handle, world);
    return st;
}

/* Expose our own part to the peers. */
static tern_status expose_own(struct tern_region *region, struct tern_mem_handle *handle)
{
    tern_status st = TERN_OK;

    region->name = handle->region;
    for (unsigned i = 0; i < tern_job.links && st == TERN_OK && handle->size > 0; i++)
        st = tern_core_links_expose(i, handle);
    return st;
}

/* Attach every part. */
static tern_status attach_all(struct making *m)
{
    tern_status st = TERN_OK;

    for (int rank = 0; rank < m->team->size && st == TERN_OK; rank++)
        st = attach(m, rank, &m->said[rank].handle);
    return st;
}

/* Peers may have found in attach that they need our help: start the helper thread. */
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

/* Exchange the memory handles, attach the parts, and, for memory that the program owns, start to serve peers: one
 * all-gather after each step. st is the result of allocating our own memory; size is what others may access of it. The
 * region is published before the all-gather that follows attach, because a rank that leaves that all-gather earlier may
 * send us a message that refers to the region. */
static tern_status join_parts(struct making *m, uint64_t size, tern_status st)
{
    static _Atomic uint64_t made; /* number of regions that this rank has named */
    struct tern_region     *region = m->region;
    struct say              mine = { 0 };
    struct tern_mem_handle *handle = &mine.handle;

    if (st == TERN_OK)
        *handle = (struct tern_mem_handle){ .region = tern_link_region_of(tern_job.boot.rank, ++made),
                                            .addr = (uint64_t)(uintptr_t)region->own.addr,
                                            .size = size,
                                            .offset = region->own.space.offset,
                                            .device = region->own.device,
                                            .inode = region->own.inode,
                                            .mem_kind = region->own.mem_kind,
                                            .pid = atomic_load(&tern_core_job_slot(tern_job.boot.rank)->pid) };
    if (st == TERN_OK && handle->mem_kind == TERN_MEM_PRIVATE)
        handle->probe = (uint64_t)(uintptr_t)&tern_link_probe;
    if (st == TERN_OK)
        st = expose_own(region, handle);
    if ((st = exchange(m, &mine, st)) < 0)
        return st;
    region->id = m->said[0].handle.region;
    if ((st = attach_all(m)) == TERN_OK)
        publish(region);
    st = exchange(m, &mine, st);
    if (st < 0 || region->own.mem_kind != TERN_MEM_PRIVATE)
        return st;
    return exchange(m, &mine, serve_if_needed());
}

static tern_status making_begin(struct making *m, struct tern_ctx *ctx, const char *what, tern_status checked)
{
    *m = (struct making){ .team = ctx->team, .deadline = tern_core_ctx_deadline(ctx), .what = what };
    m->said = m->team->scratch;
    if (checked < 0)
        return checked;
    m->region = region_new(m->team);
    return m->region ? TERN_OK : tern_base_fail(TERN_ERR_NOMEM, "no memory for tables of %d ranks", m->team->size);
}

/* Say how large the region is, and by which paths its parts are reached. */
static void tell_made(const struct making *m)
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

static tern_status making_end(struct making *m, tern_status st, struct tern_region **out)
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

tern_status tern_core_region_alloc(struct tern_ctx *ctx, uint64_t size, const tern_region_opts *opts, const char *what,
                                   tern_status checked, struct tern_region **out)
{
    struct making m;
    uint32_t      place = TERN_MEM_ARENA;
    char          name[4096];
    tern_status   st = making_begin(&m, ctx, what, checked);

    m.path = opts->memory == TERN_MEMORY_FILE ? opts->path : NULL;
    st = agree(&m, size, opts, &place, st);
    if (st == TERN_OK) {
        file_name(&m, m.team->rank, name, sizeof(name));
        st = tern_core_memory_make(place, size, name, &m.region->own);
        st = join_parts(&m, size, st);
        if (st < 0)
            tern_core_memory_undo(&m.region->own, name); /* another rank failed */
    }
    return making_end(&m, st, out);
}

tern_status tern_core_region_register(struct tern_ctx *ctx, void *addr, uint64_t len, tern_status checked,
                                      struct tern_region **out)
{
    struct making m;
    tern_status   st = making_begin(&m, ctx, "tern_region_register", checked);

    if (st == TERN_OK)
        m.region->own = tern_core_memory_own(addr);
    return making_end(&m, join_parts(&m, len, st), out);
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
        const struct tern_link_part *part = &region->part[tern_core_team_world(team, i)];
        int                          file = part->mem_kind == TERN_MEM_HUGE ? tern_job.boot.huge : tern_job.boot.arena;

        if (part->size > 0 && tern_core_job_lost(part->rank) && tern_boot_same_node(&tern_job.boot, part->rank) &&
            (part->mem_kind == TERN_MEM_ARENA || part->mem_kind == TERN_MEM_HUGE))
            tern_boot_space_give(
                &(struct tern_space){ .file = file,
                                      .offset = part->offset,
                                      .bytes = tern_base_round_up(part->size, tern_boot_space_unit(file)) });
    }
}

/* Look for a context of this rank that has outstanding operations on the region, and count them. Returns false if an
 * engine is in use by another thread at this moment: try again. */
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

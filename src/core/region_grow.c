/* region_grow.c: growth of the parts of a region.
 *
 * The call makes three all-gathers. In the first one, all ranks exchange the new sizes. Then each rank checks that its
 * node has the memory for all parts on it. Finally each rank reserves and registers the memory of its own part, and
 * reports the result. If a rank reports an error, every rank undoes what it did. Otherwise nothing can fail any more,
 * and every rank raises the sizes of all parts. If the last all-gather itself fails, because a rank died or was late,
 * other ranks may have raised the sizes: then the memory stays reserved, and this rank uses the sizes that it knew
 * before. */
#include <inttypes.h>

#include "base/log.h"
#include "core/job.h"
#include "core/region_making.h"

static struct tern_link_part *own_part(const struct tern_region *region)
{
    return &region->part[tern_job.boot.rank];
}

static tern_status check_size(const struct tern_region *region, uint64_t size)
{
    const struct tern_link_part *own = own_part(region);

    if (own->mem_kind == TERN_MEM_PRIVATE || region->own.pages || region->dynamic)
        return tern_base_fail(TERN_ERR_ARG, "the memory of the region is the program's; only regions of "
                                            "tern_region_create can grow");
    if (size < own->size)
        return tern_base_fail(TERN_ERR_ARG, "the part has %" PRIu64 " bytes and cannot shrink to %" PRIu64, own->size,
                              size);
    if (size > own->reserve)
        return tern_base_fail(TERN_ERR_RANGE,
                              "%" PRIu64 " bytes are more than the reserve of %" PRIu64
                              " bytes; create the region with a larger opts->reserve",
                              size, own->reserve);
    return TERN_OK;
}

/* Check that all ranks grow the same region, and that this node has the memory. */
static tern_status check_memory(const struct tern_making *m)
{
    uint64_t bytes = 0, huge = 0;

    for (int i = 0; i < m->team->size; i++) {
        const struct tern_link_part *part = &m->region->part[tern_core_team_world(m->team, i)];
        uint64_t                     to = m->all[i].handle.size;

        if (m->all[i].id != m->region->id)
            return tern_base_fail(
                TERN_ERR_ARG, "rank %d passed another region than this rank; all ranks must pass the same region", i);
        if (to < part->size || to > part->reserve)
            return tern_base_fail(TERN_ERR_LINK,
                                  "rank %d reported a size of %" PRIu64 " bytes, which its part cannot have", i, to);
        if (tern_boot_same_node(&tern_job.boot, part->rank) &&
            (part->mem_kind != TERN_MEM_FILE || m->region->own.in_ram))
            *(part->mem_kind == TERN_MEM_HUGE ? &huge : &bytes) +=
                tern_core_memory_growth(part->mem_kind, part->size, to);
    }
    return tern_core_memory_check_growth(bytes, huge);
}

/* Set the size of this rank's own part. A peer that returns from the call earlier than this rank may use the new bytes
 * at once, so the size rises before the last all-gather. */
static void set_own_size(struct tern_region *region, uint64_t size)
{
    pthread_mutex_lock(&tern_job.lock);
    __atomic_store_n(&own_part(region)->size, size, __ATOMIC_RELAXED); /* relaxed: see apply() */
    atomic_fetch_add(&tern_job.region_changes, 1);
    pthread_mutex_unlock(&tern_job.lock);
}

/* Reserve and register the memory of this rank's own part. */
static tern_status grow_own(struct tern_region *region, uint64_t size, struct tern_mem_handle *handle)
{
    const struct tern_link_part *own = own_part(region);
    uint64_t                     from = own->size;
    tern_status                  st = TERN_OK;

    *handle = tern_core_making_handle(region, size, own->reserve);
    if (size == from)
        return tern_core_making_expose(handle);
    if ((st = tern_core_memory_grow(&region->own, from, size)) < 0)
        return st;
    if ((st = tern_core_making_expose(handle)) < 0)
        tern_core_memory_shrink(&region->own, from, size);
    else
        set_own_size(region, size);
    return st;
}

/* Return to the former size. undo: free the memory, too. */
static void shrink_own(struct tern_region *region, uint64_t from, uint64_t to, bool undo)
{
    struct tern_mem_handle handle = tern_core_making_handle(region, from, own_part(region)->reserve);

    if (from == to)
        return;
    set_own_size(region, from);
    if (!undo)
        return;
    if (tern_core_making_expose(&handle) < 0)
        tern_base_log(TERN_LOG_WARN, "tern_region_grow: %s", tern_base_detail());
    tern_core_memory_shrink(&region->own, from, to);
}

static tern_status read_key(const struct tern_mem_handle *handle, struct tern_link_part *part)
{
    return part->path ? tern_job.ops[part->link]->grown(tern_job.link[part->link], handle, part) : TERN_OK;
}

/* Raise the sizes of all parts. */
static tern_status apply(struct tern_making *m)
{
    struct tern_region *region = m->region;
    tern_status         st = TERN_OK;

    for (int i = 0; i < m->team->size && st == TERN_OK; i++) {
        const struct tern_mem_handle *handle = &m->all[i].handle;
        int                           world = tern_core_team_world(m->team, i);

        if (handle->size < region->part[world].size || handle->size > region->part[world].reserve)
            return tern_base_fail(TERN_ERR_LINK, "%s: rank %d sent a memory handle of a wrong size", m->what, i);
        st = read_key(handle, &region->part[world]);
        if (st == TERN_OK && region->net)
            st = read_key(handle, &region->net[world]);
    }
    pthread_mutex_lock(&tern_job.lock);
    for (int i = 0; i < m->team->size && st == TERN_OK; i++) {
        uint64_t          size = m->all[i].handle.size;
        int               world = tern_core_team_world(m->team, i);
        struct tern_part *fast = &region->fast[world];

        /* relaxed: other threads may be using the part; the memory was mapped before any of them could know it */
        __atomic_store_n(&region->part[world].size, size, __ATOMIC_RELAXED);
        if (region->net)
            __atomic_store_n(&region->net[world].size, size, __ATOMIC_RELAXED);
        if (fast->base && !tern_core_job_lost(world))
            __atomic_store_n(&fast->reach, size, __ATOMIC_RELAXED); /* the inlined calls read it */
    }
    atomic_fetch_add(&tern_job.region_changes, 1);
    pthread_mutex_unlock(&tern_job.lock);
    return st;
}

tern_status tern_core_region_grow(struct tern_region *region, uint64_t size)
{
    struct tern_making       m = { .team = region->team,
                                   .deadline = tern_core_job_deadline(),
                                   .what = "tern_region_grow",
                                   .call = TERN_COLLECTIVE_REGION_GROW,
                                   .all = region->team->scratch,
                                   .region = region };
    struct tern_contribution mine = { .id = region->id, .handle = { .size = size } };
    uint64_t                 from = own_part(region)->size;
    tern_status              st = check_size(region, size);
    bool                     grown;

    if ((st = tern_core_making_exchange(&m, &mine, st)) < 0)
        return st;
    st = check_memory(&m);
    if ((st = tern_core_making_exchange(&m, &mine, st)) < 0)
        return st;
    st = grow_own(region, size, &mine.handle);
    grown = st == TERN_OK;
    if ((st = tern_core_making_exchange(&m, &mine, st)) < 0) {
        if (grown)
            shrink_own(region, from, size, m.refused);
        return st;
    }
    st = apply(&m);
    tern_base_log(TERN_LOG_DEBUG, "tern_region_grow: region %" PRIx64 " has %" PRIu64 " bytes here", region->id, size);
    return st;
}

/* region_dynamic.c: see region_dynamic.h. */
#include "core/region_dynamic.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/log.h"
#include "base/read_once.h"
#include "core/helper.h"
#include "core/job.h"
#include "core/links.h"
#include "core/region_making.h"

/* This process's view of a rank's table: the ranges of the table, in the order of their addresses. */
struct view {
    uint64_t                    sequence; /* sequence number of the table that was read; 0: none was read */
    size_t                      count;
    struct tern_dynamic_range **range;
};

#define DETACHED 256 /* detached ranges that are kept, because operations on them may not be complete */

struct tern_dynamic {
    pthread_mutex_t        lock;     /* guards everything, and the writing of this rank's own table */
    struct tern_link_part *tables;   /* [ranks of the job] */
    struct view           *views;    /* [ranks of the job] */
    struct tern_list       detached; /* ranges that are in no view, the oldest first */
    unsigned               detached_count;
};

static struct tern_dynamic_table *own_table(const struct tern_region *region)
{
    return region->own.addr;
}

const struct tern_link_part *tern_core_dynamic_table(const struct tern_region *region, int world)
{
    return &region->dynamic->tables[world];
}

/* ---- views ---- */

static size_t first_after(const struct view *view, uint64_t addr)
{
    size_t low = 0, high = view->count;

    while (low < high) { /* the first range that begins after addr */
        size_t middle = low + (high - low) / 2;
        if (view->range[middle]->part.addr <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct tern_dynamic_range *find(const struct view *view, uint64_t addr, uint64_t len)
{
    size_t                     index = first_after(view, addr);
    struct tern_dynamic_range *range = index > 0 ? view->range[index - 1] : NULL;

    return range && tern_base_covers(range->part.size, addr - range->part.addr, len) ? range : NULL;
}

static void part_close(struct tern_link_part *part)
{
    if (part->path)
        tern_job.ops[part->link]->detach(tern_job.link[part->link], part);
}

static void range_free(struct tern_dynamic_range *range)
{
    part_close(&range->part);
    part_close(&range->net);
    free(range);
}

static void range_retire(struct tern_dynamic *dynamic, struct tern_dynamic_range *range)
{
    tern_base_list_append(&dynamic->detached, &range->node);
    dynamic->detached_count++;
}

/* Free the ranges that were detached long ago. */
static void forget_detached(const struct tern_region *region)
{
    struct tern_dynamic *dynamic = region->dynamic;

    if (dynamic->detached_count <= 2 * DETACHED || tern_core_region_is_busy(region))
        return;
    for (; dynamic->detached_count > DETACHED; dynamic->detached_count--)
        range_free(TERN_LIST_ITEM(tern_base_list_pop(&dynamic->detached), struct tern_dynamic_range, node));
}

/* Make a range reachable. */
static tern_status range_new(struct tern_region *region, int world, const struct tern_mem_handle *handle,
                             struct tern_dynamic_range **out)
{
    struct tern_dynamic_range *range = calloc(1, sizeof(*range));
    int                        atomics = tern_core_links_atomic(world);
    tern_status                st;

    if (!range)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for %zu bytes", sizeof(*range));
    if (handle->mem_kind != TERN_MEM_PRIVATE || handle->size == 0 || handle->addr + handle->size < handle->addr) {
        free(range);
        return tern_base_fail(TERN_ERR_LINK, "the table of attached memory of rank %d is invalid", world);
    }
    range->part = tern_core_region_part(region, world, handle);
    range->part.scope = region->part[world].region;
    range->net = range->part;
    tern_base_list_init(&range->node);
    st = tern_core_links_attach(range->part.link, handle, NULL, &range->part);
    if (st == TERN_OK && atomics >= 0) {
        range->net.link = (uint32_t)atomics;
        st = tern_core_links_attach(range->net.link, handle, NULL, &range->net);
    }
    if (st == TERN_OK)
        *out = range;
    else
        range_free(range);
    return st;
}

static int by_address(const void *a, const void *b)
{
    const struct tern_dynamic_range *x = *(struct tern_dynamic_range *const *)a;
    const struct tern_dynamic_range *y = *(struct tern_dynamic_range *const *)b;

    return (x->part.addr > y->part.addr) - (x->part.addr < y->part.addr);
}

/* Return the range of an entry: the known one, or a new one. */
static tern_status range_of(struct tern_region *region, int world, const struct tern_mem_handle *entry,
                            struct tern_dynamic_range **out)
{
    struct view               *view = &region->dynamic->views[world];
    struct tern_dynamic_range *known = find(view, entry->addr, entry->size);

    if (!known || known->part.region != entry->region)
        return range_new(region, world, entry, out);
    if (known->kept)
        return tern_base_fail(TERN_ERR_LINK, "rank %d has a table of attached memory with two equal entries", world);
    known->kept = true;
    *out = known;
    return TERN_OK;
}

/* Replace the ranges of a view. Those that are not kept are detached. */
static void replace(struct tern_dynamic *dynamic, struct view *view, const struct view *new)
{
    for (size_t i = 0; i < view->count; i++)
        if (!view->range[i]->kept)
            range_retire(dynamic, view->range[i]);
    free(view->range);
    *view = *new;
}

/* Enter a table into the view of its rank. Ranges that were known keep their parts. */
static tern_status install(struct tern_region *region, int world, uint64_t sequence,
                           const struct tern_mem_handle *entries, uint64_t count)
{
    struct view *view = &region->dynamic->views[world];
    struct view new = { .sequence = sequence, .range = calloc(count + 1, sizeof(*new.range)) };
    tern_status st = TERN_OK;

    if (!new.range)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a table of %" PRIu64 " entries", count);
    for (size_t i = 0; i < view->count; i++)
        view->range[i]->kept = false;
    for (; new.count < count &&st == TERN_OK; new.count += st == TERN_OK)
        st = range_of(region, world, &entries[new.count], &new.range[new.count]);
    qsort(new.range, new.count, sizeof(struct tern_dynamic_range *), by_address);
    if (st < 0)
        new.sequence = 0; /* the view contains everything attached so far; the next operation reads the table again */
    replace(region->dynamic, view, &new);
    forget_detached(region);
    return st;
}

/* Copy a table that another process may be changing. Returns its sequence number; 0: the table keeps changing, because
 * its rank has died during a change. */
static uint64_t copy_table(const struct tern_dynamic_table *table, int world, struct tern_mem_handle *copy,
                           uint64_t *count)
{
    for (;;) {
        /* acquire: the entries of this sequence number. Pairs with the release in change_end(). */
        uint64_t sequence = atomic_load_explicit(&table->head.sequence, memory_order_acquire);
        uint64_t entries = atomic_load_explicit(&table->head.count, memory_order_relaxed);

        *count = entries <= TERN_DYNAMIC_RANGES ? entries : 0;
        if (!(sequence & 1)) {
            tern_base_copy_once(copy, table->entry, *count * sizeof(*copy));
            atomic_thread_fence(memory_order_acquire); /* the entries before the number. Pairs with change_begin() */
            if (atomic_load_explicit(&table->head.sequence, memory_order_relaxed) == sequence)
                return sequence + 2; /* not 0 */
        }
        if (tern_core_job_lost(world))
            return 0;
        sched_yield();
    }
}

static tern_status refresh(struct tern_region *region, int world, const struct tern_dynamic_table *table)
{
    struct tern_mem_handle *copy = malloc(sizeof(table->entry));
    uint64_t                count = 0, sequence;
    tern_status             st;

    if (!copy)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for %zu bytes", sizeof(table->entry));
    sequence = copy_table(table, world, copy, &count);
    st = sequence == 0 ? tern_base_fail(TERN_ERR_PEER, "rank %d is gone", world)
                       : install(region, world, sequence, copy, count);
    free(copy);
    return st;
}

tern_status tern_core_dynamic_read(struct tern_region *region, int world, uint64_t addr, uint64_t len,
                                   const struct tern_dynamic_range **out)
{
    struct tern_dynamic             *dynamic = region->dynamic;
    const struct tern_dynamic_table *table =
        (const struct tern_dynamic_table *)(const void *)dynamic->tables[world].base;
    tern_status st = TERN_OK;

    *out = NULL;
    pthread_mutex_lock(&dynamic->lock);
    /* acquire: with what the program knows of the rank's attach. Pairs with the release in change_end(). */
    if (atomic_load_explicit(&table->head.sequence, memory_order_acquire) + 2 != dynamic->views[world].sequence)
        st = refresh(region, world, table);
    if (st == TERN_OK)
        *out = find(&dynamic->views[world], addr, len);
    pthread_mutex_unlock(&dynamic->lock);
    return st;
}

tern_status tern_core_dynamic_look(struct tern_region *region, int world, uint64_t sequence, uint64_t addr,
                                   uint64_t len, const struct tern_dynamic_range **out)
{
    struct tern_dynamic *dynamic = region->dynamic;
    tern_status          st = TERN_AGAIN;

    *out = NULL;
    pthread_mutex_lock(&dynamic->lock);
    if (dynamic->views[world].sequence == sequence + 2) {
        *out = find(&dynamic->views[world], addr, len);
        st = TERN_OK;
    }
    pthread_mutex_unlock(&dynamic->lock);
    return st;
}

tern_status tern_core_dynamic_install(struct tern_region *region, int world, uint64_t sequence,
                                      const struct tern_mem_handle *entries, uint64_t count)
{
    tern_status st;

    pthread_mutex_lock(&region->dynamic->lock);
    st = install(region, world, sequence + 2, entries, count);
    pthread_mutex_unlock(&region->dynamic->lock);
    return st;
}

/* ---- this rank's own table ---- */

static void change_begin(struct tern_dynamic_table *table)
{
    atomic_fetch_add_explicit(&table->head.sequence, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* the odd number before the entries. Pairs with copy_table() */
}

static void change_end(struct tern_dynamic_table *table)
{
    /* release: the entries before the even number. Pairs with copy_table(). */
    atomic_fetch_add_explicit(&table->head.sequence, 1, memory_order_release);
}

/* Return the number of entries of this rank's own table, which a peer that maps the table may have damaged. */
static uint64_t own_count(const struct tern_dynamic_table *table)
{
    /* relaxed: only this process writes it, under the lock */
    uint64_t count = atomic_load_explicit(&table->head.count, memory_order_relaxed);

    return count < TERN_DYNAMIC_RANGES ? count : TERN_DYNAMIC_RANGES;
}

static tern_status check_attach(const struct tern_dynamic_table *table, uint64_t count, uint64_t addr, uint64_t len)
{
    if (count == TERN_DYNAMIC_RANGES)
        return tern_base_fail(TERN_ERR_NOMEM, "tern_region_attach: %d ranges are attached, which is the most",
                              TERN_DYNAMIC_RANGES);
    for (uint64_t i = 0; i < count; i++)
        if (addr < table->entry[i].addr + table->entry[i].size && table->entry[i].addr < addr + len)
            return tern_base_fail(TERN_ERR_ARG,
                                  "tern_region_attach: the memory overlaps %" PRIu64 " bytes at 0x%" PRIx64
                                  " that are attached already",
                                  table->entry[i].size, table->entry[i].addr);
    return TERN_OK;
}

tern_status tern_core_dynamic_attach(struct tern_region *region, void *addr, uint64_t len)
{
    struct tern_dynamic_table *table = own_table(region);
    struct tern_mem_handle     handle;
    uint64_t                   count;
    tern_status                st;

    pthread_mutex_lock(&region->dynamic->lock);
    count = own_count(table);
    if ((st = check_attach(table, count, (uint64_t)(uintptr_t)addr, len)) == TERN_OK) {
        struct tern_region own = { .own = tern_core_memory_own(addr), .name = tern_core_region_new_name() };

        handle = tern_core_making_handle(&own, len, len);
        st = tern_core_making_expose(&handle);
        if (st < 0)
            for (unsigned i = 0; i < tern_job.links; i++)
                tern_job.ops[i]->unexpose(tern_job.link[i], handle.region);
    }
    if (st == TERN_OK) {
        change_begin(table);
        table->entry[count] = handle;
        atomic_store_explicit(&table->head.count, count + 1, memory_order_relaxed); /* change_end() publishes it */
        change_end(table);
    }
    pthread_mutex_unlock(&region->dynamic->lock);
    return st;
}

tern_status tern_core_dynamic_detach(struct tern_region *region, void *addr)
{
    struct tern_dynamic_table *table = own_table(region);
    uint64_t                   i = 0, count, name = 0;

    pthread_mutex_lock(&region->dynamic->lock);
    count = own_count(table);
    while (i < count && table->entry[i].addr != (uint64_t)(uintptr_t)addr)
        i++;
    if (i < count) {
        name = table->entry[i].region;
        change_begin(table);
        table->entry[i] = table->entry[count - 1];
        atomic_store_explicit(&table->head.count, count - 1, memory_order_relaxed); /* change_end() publishes it */
        change_end(table);
        for (unsigned link = 0; link < tern_job.links; link++)
            tern_job.ops[link]->unexpose(tern_job.link[link], name);
    }
    pthread_mutex_unlock(&region->dynamic->lock);
    return name != 0
               ? TERN_OK
               : tern_base_fail(TERN_ERR_ARG, "tern_region_detach: no memory that begins at %p is attached", addr);
}

bool tern_core_dynamic_holds(const struct tern_region *region, uint64_t addr, uint64_t len)
{
    const struct tern_dynamic_table *table = own_table(region);

    for (uint64_t i = 0, count = own_count(table); i < count; i++)
        if (addr < table->entry[i].addr + table->entry[i].size && table->entry[i].addr < addr + len)
            return true;
    return false;
}

/* ---- creation ---- */

/* Turn a region whose parts are the tables into a dynamic one. */
static tern_status make_dynamic(struct tern_region *region)
{
    size_t                 ranks = (size_t)tern_job.boot.ranks;
    struct tern_dynamic   *dynamic = calloc(1, sizeof(*dynamic));
    struct view           *views = calloc(ranks, sizeof(*views));
    struct tern_link_part *parts = calloc(ranks, sizeof(*parts));

    if (!dynamic || !views || !parts) {
        free(dynamic);
        free(views);
        free(parts);
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for tables of %zu ranks", ranks);
    }
    pthread_mutex_init(&dynamic->lock, NULL);
    tern_base_list_init(&dynamic->detached);
    dynamic->tables = region->part;
    dynamic->views = views;
    for (size_t rank = 0; rank < ranks; rank++) {
        const struct tern_link_part *table = &dynamic->tables[rank];

        parts[rank] = (struct tern_link_part){ .mem_kind = table->region != 0 ? TERN_MEM_DYNAMIC : TERN_MEM_NONE,
                                               .region = table->region,
                                               .scope = table->scope,
                                               .rank = table->rank,
                                               .pid = table->pid,
                                               .slot = table->slot,
                                               .link = table->link,
                                               .number = table->number };
        __atomic_store_n(&region->fast[rank].reach, 0, __ATOMIC_RELAXED); /* no access is inlined */
        region->fast[rank].base = NULL;
    }
    pthread_mutex_lock(&tern_job.lock);
    region->dynamic = dynamic;
    region->part = parts;
    atomic_fetch_add(&tern_job.region_changes, 1);
    pthread_mutex_unlock(&tern_job.lock);
    return TERN_OK;
}

tern_status tern_core_dynamic_open(struct tern_ctx *ctx, tern_status checked, struct tern_region **out)
{
    const tern_region_opts   opts = TERN_REGION_OPTS_INIT;
    struct tern_region      *region = NULL;
    struct tern_making       m;
    struct tern_contribution mine = { 0 };
    tern_status st = tern_core_region_alloc(ctx, sizeof(struct tern_dynamic_table), &opts, TERN_COLLECTIVE_REGION_OPEN,
                                            checked, &region);

    if (st < 0)
        return st;
    m = (struct tern_making){ .team = ctx->team,
                              .deadline = tern_core_ctx_deadline(ctx),
                              .what = "tern_region_open",
                              .call = TERN_COLLECTIVE_REGION_OPEN,
                              .all = ctx->team->scratch };
    st = make_dynamic(region);
    if (st == TERN_OK && tern_core_team_locals(ctx->team) > 1)
        st = tern_core_service_start(); /* peers on the node may need help with the memory that this rank attaches */
    if ((st = tern_core_making_exchange(&m, &mine, st)) < 0) {
        tern_core_region_release(region);
        return st;
    }
    *out = region;
    return TERN_OK;
}

void tern_core_dynamic_close(struct tern_region *region)
{
    struct tern_dynamic       *dynamic = region->dynamic;
    struct tern_dynamic_table *table = own_table(region);
    struct tern_list          *node;

    for (uint64_t i = 0, count = own_count(table); i < count; i++)
        for (unsigned link = 0; link < tern_job.links; link++)
            tern_job.ops[link]->unexpose(tern_job.link[link], table->entry[i].region);
    while ((node = tern_base_list_pop(&dynamic->detached)))
        range_free(TERN_LIST_ITEM(node, struct tern_dynamic_range, node));
    for (int rank = 0; rank < tern_job.boot.ranks; rank++) {
        part_close(&dynamic->tables[rank]);
        for (size_t i = 0; i < dynamic->views[rank].count; i++)
            range_free(dynamic->views[rank].range[i]);
        free(dynamic->views[rank].range);
    }
    pthread_mutex_destroy(&dynamic->lock);
    free(dynamic->tables);
    free(dynamic->views);
    free(dynamic);
    region->dynamic = NULL;
}

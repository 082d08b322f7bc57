/* region_index.c: find the region that contains an address of a rank.
 *
 * The context caches its last result, which answers most lookups. Other lookups use a table per rank, sorted by
 * address. A lookup takes no lock: it reads the table, and then checks a sequence number, which is odd while the table
 * is being rebuilt and changes with every rebuild. The first lookup after regions were created, freed or grown rebuilds
 * the table of its rank, under the job's lock. Tables that became too small stay allocated until the job ends, because
 * a reader may still use them; each is twice as large as the one before. Regions may overlap: each row holds the
 * highest end of all rows up to it, so that a search knows when it can stop. */
#include <stdlib.h>

#include "base/bits.h"
#include "core/job.h"
#include "core/region.h"

/* The fields are atomic because a reader may read them while they are rewritten; then it discards what it has read. */
struct row {
    _Atomic uint64_t              addr, size, highest_end;
    _Atomic(struct tern_region *) region;
};

struct rows {
    struct rows   *older;    /* a smaller table */
    size_t         capacity; /* rows */
    _Atomic size_t count;    /* at most capacity */
    struct row     row[];
};

struct table {
    _Atomic uint64_t       sequence; /* odd: the table is being rebuilt */
    _Atomic uint64_t       changes;  /* region_changes when the table was built, plus 1; 0: never */
    _Atomic(struct rows *) rows;
};

/* A copy of a row. */
struct found {
    uint64_t            addr, size;
    struct tern_region *region;
};

static _Atomic(struct table *) tables; /* [ranks of the job]; written under the job's lock */

#define READ(field) atomic_load_explicit(&(field), memory_order_relaxed)
#define WRITE(field, value) atomic_store_explicit(&(field), value, memory_order_relaxed)

/* ---- building, under the job's lock ---- */

static int by_address(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    return (x->addr > y->addr) - (x->addr < y->addr);
}

/* List the parts of a rank, in the order of their addresses. NULL: out of memory. */
static struct found *list_parts(int rank, size_t *count)
{
    struct found *list;
    size_t        n = 0, most = 1;

    TERN_LIST_EACH(struct tern_region, r, &tern_job.regions, node)
        most++;
    if (!(list = malloc(most * sizeof(*list))))
        return NULL;
    TERN_LIST_EACH(struct tern_region, r, &tern_job.regions, node)
        if (r->part[rank].size > 0)
            list[n++] = (struct found){ r->part[rank].addr, r->part[rank].size, r };
    qsort(list, n, sizeof(*list), by_address);
    *count = n;
    return list;
}

/* Return memory for at least count rows; NULL: out of memory. */
static struct rows *rows_for(struct table *table, size_t count)
{
    struct rows *rows = READ(table->rows), *larger;
    size_t       capacity = rows ? rows->capacity : 8;

    if (rows && count <= capacity)
        return rows;
    while (capacity < count)
        capacity *= 2;
    if ((larger = calloc(1, sizeof(*larger) + capacity * sizeof(larger->row[0])))) {
        larger->older = rows;
        larger->capacity = capacity;
    }
    return larger;
}

static void write_rows(struct rows *rows, const struct found *list, size_t count)
{
    uint64_t highest = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t end = list[i].addr + list[i].size;

        highest = end > highest ? end : highest;
        WRITE(rows->row[i].addr, list[i].addr);
        WRITE(rows->row[i].size, list[i].size);
        WRITE(rows->row[i].highest_end, highest);
        WRITE(rows->row[i].region, list[i].region);
    }
    WRITE(rows->count, count);
}

/* Rebuild a rank's table if regions have changed. Returns false if there is no memory. */
static bool rebuild(struct table *table, int rank)
{
    uint64_t      changes = READ(tern_job.region_changes) + 1, sequence = READ(table->sequence);
    struct found *list;
    struct rows  *rows = NULL;
    size_t        count = 0;

    if (READ(table->changes) == changes)
        return true;
    if ((list = list_parts(rank, &count)) && (rows = rows_for(table, count))) {
        WRITE(table->sequence, sequence + 1);
        atomic_thread_fence(memory_order_release); /* the odd number before the rows. Pairs with look_up() */
        write_rows(rows, list, count);
        /* release: the capacity of new rows. Pairs with the acquire in look_up(). */
        atomic_store_explicit(&table->rows, rows, memory_order_release);
        WRITE(table->changes, changes);
        /* release: the rows before the even number. Pairs with the acquire in look_up(). */
        atomic_store_explicit(&table->sequence, sequence + 2, memory_order_release);
    }
    free(list);
    return rows != NULL;
}

/* Return the rank's table, up to date; NULL: out of memory. */
static struct table *table_now(int rank)
{
    struct table *all;
    bool          good = false;

    pthread_mutex_lock(&tern_job.lock);
    if (!(all = READ(tables)) && (all = calloc((size_t)tern_job.boot.ranks, sizeof(*all))))
        atomic_store_explicit(&tables, all, memory_order_release); /* zeroed. Pairs with tern_core_region_find() */
    good = all && rebuild(&all[rank], rank);
    pthread_mutex_unlock(&tern_job.lock);
    return good ? &all[rank] : NULL;
}

/* ---- lookup ---- */

static bool search(const struct rows *rows, uint64_t addr, struct found *found)
{
    size_t low = 0, high = READ(rows->count);

    while (low < high) { /* the first row that begins after addr */
        size_t middle = low + (high - low) / 2;
        if (READ(rows->row[middle].addr) <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > 0 && READ(rows->row[low].highest_end) > addr) {
        const struct row *row = &rows->row[low];

        *found = (struct found){ READ(row->addr), READ(row->size), READ(row->region) };
        if (addr - found->addr < found->size)
            return true;
    }
    return false;
}

enum result { ABSENT, FOUND, STALE };

/* Search a table, which another thread may be rebuilding. STALE: it is, or regions have changed. */
static enum result look_up(const struct table *table, uint64_t changes, uint64_t addr, struct found *found)
{
    /* acquire: the rows of this sequence number, or later ones. Pairs with the release in rebuild(). */
    uint64_t           sequence = atomic_load_explicit(&table->sequence, memory_order_acquire);
    const struct rows *rows = atomic_load_explicit(&table->rows, memory_order_acquire); /* as above: the capacity */
    bool               there;

    if ((sequence & 1) || READ(table->changes) != changes || !rows)
        return STALE;
    there = search(rows, addr, found);
    atomic_thread_fence(memory_order_acquire); /* the rows before the sequence number. Pairs with rebuild() */
    return READ(table->sequence) != sequence ? STALE : there ? FOUND : ABSENT;
}

struct tern_region *tern_core_region_find_cached(struct tern_region_found *cache, int world_rank, uint64_t addr)
{
    uint64_t            changes = READ(tern_job.region_changes) + 1;
    const struct table *table;
    struct found        found = { 0, 0, NULL };
    enum result         result;

    if (cache->changes == changes && cache->rank == world_rank && addr - cache->addr < cache->size)
        return cache->region;
    /* acquire: the tables are zeroed. Pairs with the release in table_now(). */
    table = atomic_load_explicit(&tables, memory_order_acquire);
    result = table ? look_up(table += world_rank, changes, addr, &found) : STALE;
    while (result == STALE) {
        if (!(table = table_now(world_rank)))
            return NULL;
        changes = READ(tern_job.region_changes) + 1;
        result = look_up(table, changes, addr, &found);
    }
    if (result == ABSENT)
        return NULL;
    *cache = (struct tern_region_found){ changes, world_rank, found.addr, found.size, found.region };
    return found.region;
}

struct tern_region *tern_core_region_find(struct tern_ctx *ctx, int world_rank, uint64_t addr)
{
    return tern_core_region_find_cached(&ctx->found, world_rank, addr);
}

const struct tern_region *tern_core_region_covering(struct tern_ctx *ctx, int world_rank, uint64_t addr, uint64_t size)
{
    const struct tern_region    *region = tern_core_region_find(ctx, world_rank, addr);
    const struct tern_link_part *part = region ? &region->part[world_rank] : NULL;

    return part && tern_base_covers(tern_link_part_size(part), addr - part->addr, size) ? region : NULL;
}

bool tern_core_region_named(uint64_t name, int rank, struct tern_link_part *part)
{
    bool found = false;

    pthread_mutex_lock(&tern_job.lock);
    TERN_LIST_EACH(struct tern_region, r, &tern_job.regions, node)
        if (name == (rank < 0 ? r->id : r->part[rank].region)) {
            *part = r->part[rank < 0 ? tern_job.boot.rank : rank];
            found = true;
        }
    pthread_mutex_unlock(&tern_job.lock);
    return found;
}

void tern_core_region_index_close(void)
{
    struct table *all = READ(tables);

    for (int rank = 0; all && rank < tern_job.boot.ranks; rank++)
        for (struct rows *rows = READ(all[rank].rows), *older; rows; rows = older) {
            older = rows->older;
            free(rows);
        }
    free(all);
    WRITE(tables, NULL);
}

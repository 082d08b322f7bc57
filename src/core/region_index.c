/* region_index.c: find the region that contains an address of a rank.
 *
 * The context caches its last result, which answers most lookups without a lock. Other lookups use a table per rank,
 * sorted by address and rebuilt if regions were added or removed. Regions may overlap: each row holds the highest end
 * of all rows up to it, so that a search knows when it can stop. */
#include <stdlib.h>

#include "base/bits.h"
#include "core/job.h"
#include "core/region.h"

struct row {
    uint64_t            addr, size, highest_end;
    struct tern_region *region;
};

struct table {
    uint64_t    changes; /* region_changes when the table was built, plus 1; 0: never */
    size_t      rows;
    struct row *row;
};

static struct table *tables; /* [ranks of the job]; guarded by the job's lock */

static int by_address(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    return (x->addr > y->addr) - (x->addr < y->addr);
}

static void table_fill(struct table *table, int rank)
{
    uint64_t highest = 0;

    table->rows = 0;
    TERN_LIST_EACH(struct tern_region, r, &tern_job.regions, node)
        if (r->part[rank].size > 0)
            table->row[table->rows++] = (struct row){ r->part[rank].addr, r->part[rank].size, 0, r };
    qsort(table->row, table->rows, sizeof(*table->row), by_address);
    for (size_t i = 0; i < table->rows; i++) {
        uint64_t end = table->row[i].addr + table->row[i].size;
        highest = end > highest ? end : highest;
        table->row[i].highest_end = highest;
    }
}

/* Return the rank's table, rebuilt if regions have changed; NULL: out of memory. The caller must hold the job's
 * lock. */
static struct table *table_now(int rank)
{
    uint64_t      changes = atomic_load_explicit(&tern_job.region_changes, memory_order_relaxed) + 1;
    struct table *table;
    struct row   *row;
    size_t        count = 1;

    if (!tables && !(tables = calloc((size_t)tern_job.boot.ranks, sizeof(*tables))))
        return NULL;
    table = &tables[rank];
    if (table->changes == changes)
        return table;
    TERN_LIST_EACH(struct tern_region, r, &tern_job.regions, node)
        count++;
    if (!(row = realloc(table->row, count * sizeof(*row))))
        return NULL;
    table->row = row;
    table->changes = changes;
    table_fill(table, rank);
    return table;
}

static const struct row *search(const struct table *table, uint64_t addr)
{
    size_t low = 0, high = table->rows;

    while (low < high) { /* the first row that begins after addr */
        size_t middle = low + (high - low) / 2;
        if (table->row[middle].addr <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > 0 && table->row[low].highest_end > addr)
        if (addr - table->row[low].addr < table->row[low].size)
            return &table->row[low];
    return NULL;
}

struct tern_region *tern_core_region_find(struct tern_ctx *ctx, int world_rank, uint64_t addr)
{
    uint64_t            changes = atomic_load_explicit(&tern_job.region_changes, memory_order_relaxed) + 1;
    const struct table *table;
    const struct row   *row;

    if (ctx->found.changes == changes && ctx->found.rank == world_rank && addr - ctx->found.addr < ctx->found.size)
        return ctx->found.region;
    pthread_mutex_lock(&tern_job.lock);
    table = table_now(world_rank);
    row = table ? search(table, addr) : NULL;
    if (row) {
        ctx->found.changes = table->changes;
        ctx->found.rank = world_rank;
        ctx->found.addr = row->addr;
        ctx->found.size = row->size;
        ctx->found.region = row->region;
    }
    pthread_mutex_unlock(&tern_job.lock);
    return row ? ctx->found.region : NULL;
}

const struct tern_region *tern_core_region_covering(struct tern_ctx *ctx, int world_rank, uint64_t addr, uint64_t size)
{
    const struct tern_region    *region = tern_core_region_find(ctx, world_rank, addr);
    const struct tern_link_part *part = region ? &region->part[world_rank] : NULL;

    return part && tern_base_covers(part->size, addr - part->addr, size) ? region : NULL;
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
    for (int rank = 0; tables && rank < tern_job.boot.ranks; rank++)
        free(tables[rank].row);
    free(tables);
    tables = NULL;
}

/* mr_cache.c: registrations of the program's own buffers, for providers that require them.
 *
 * Memory of a region is already registered. Any other buffer is registered, in whole pages, for the work requests
 * that need it. After use, up to TERN_OFI_CACHE bytes of registrations are kept; when there are more, the least
 * recently used ones are closed first. Nothing intercepts the program's allocator: a program that enables the cache
 * must report memory that it returns to the system.
 */
#include <stdlib.h>

#include "link/ofi/ofi.h"

#define PAGE 4096ull

/* Returns the registration of a region of this rank that covers the range, or NULL. */
static const struct net_mr *own_region(const struct ofi_link *ofi, uintptr_t from, size_t len)
{
    for (const struct net_exposed *entry = ofi->net.exposed; entry; entry = entry->next)
        if (from >= entry->addr && tern_base_covers(entry->size, from - entry->addr, len))
            return &entry->mr;
    return NULL;
}

static void drop(struct ofi_mr_cache *cache, struct ofi_mr_entry *entry)
{
    tern_base_list_remove(&entry->node);
    cache->bytes -= entry->to - entry->from;
    tern_ofi_unregister(&entry->mr);
    free(entry);
}

/* Close the least recently used registrations that are not in use, until at most the given number of bytes is
 * registered. */
static void shrink(struct ofi_mr_cache *cache, size_t bytes)
{
    while (cache->bytes > bytes) {
        struct ofi_mr_entry *oldest = NULL;

        TERN_LIST_EACH(struct ofi_mr_entry, entry, &cache->entries, node)
            oldest = entry->uses == 0 ? entry : oldest;
        if (!oldest)
            return;
        drop(cache, oldest);
    }
}

static struct ofi_mr_entry *find(struct ofi_mr_cache *cache, uintptr_t from, uintptr_t to)
{
    TERN_LIST_EACH(struct ofi_mr_entry, entry, &cache->entries, node)
        if (!entry->stale && from >= entry->from && to <= entry->to)
            return entry;
    return NULL;
}

static tern_status entry_register(struct ofi_link *ofi, struct ofi_mr_entry *entry)
{
    return tern_ofi_register(&ofi->net, (void *)entry->from, entry->to - entry->from, 0, &entry->mr);
}

static struct ofi_mr_entry *add(struct ofi_link *ofi, uintptr_t from, uintptr_t to)
{
    struct ofi_mr_entry *entry = malloc(sizeof(*entry));

    if (!entry)
        return NULL;
    *entry = (struct ofi_mr_entry){ .from = from & ~(PAGE - 1), .to = tern_base_round_up(to, PAGE) };
    if (entry_register(ofi, entry) < 0) {
        shrink(&ofi->mr_cache, 0); /* the system's limit applies to the total of registered memory */
        if (entry_register(ofi, entry) < 0) {
            free(entry);
            return NULL;
        }
    }
    ofi->mr_cache.bytes += entry->to - entry->from;
    tern_base_list_push(&ofi->mr_cache.entries, &entry->node);
    return entry;
}

const struct net_mr *tern_ofi_mr_cache_get(struct ofi_link *ofi, struct net_ctx *ctx, const void *addr, size_t len)
{
    uintptr_t            from = (uintptr_t)addr;
    const struct net_mr *own = own_region(ofi, from, len);
    struct ofi_mr_entry *entry;

    if (own)
        return own;
    entry = find(&ofi->mr_cache, from, from + len);
    if (!entry && !(entry = add(ofi, from, from + len)))
        return NULL;
    tern_base_list_remove(&entry->node);
    tern_base_list_push(&ofi->mr_cache.entries, &entry->node);
    entry->uses++;
    ctx->local = entry;
    return &entry->mr;
}

void tern_ofi_mr_cache_put(struct ofi_link *ofi, struct net_ctx *ctx)
{
    struct ofi_mr_entry *entry = ctx->local;

    if (TERN_LIKELY(!entry))
        return;
    ctx->local = NULL;
    if (--entry->uses == 0 && entry->stale)
        drop(&ofi->mr_cache, entry);
    shrink(&ofi->mr_cache, tern_opt.ofi_mr_cache);
}

void tern_ofi_mr_cache_invalidate(struct ofi_link *ofi, const void *addr, size_t len)
{
    uintptr_t from = (uintptr_t)addr;

    TERN_LIST_EACH(struct ofi_mr_entry, entry, &ofi->mr_cache.entries, node) {
        if (entry->to <= from || entry->from >= from + len)
            continue;
        entry->stale = true;
        if (entry->uses == 0)
            drop(&ofi->mr_cache, entry);
    }
}

void tern_ofi_mr_cache_close(struct ofi_link *ofi)
{
    TERN_LIST_EACH(struct ofi_mr_entry, entry, &ofi->mr_cache.entries, node)
        drop(&ofi->mr_cache, entry);
}

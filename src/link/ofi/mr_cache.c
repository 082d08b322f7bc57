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
#define ACCESS (FI_SEND | FI_RECV | FI_READ | FI_WRITE)

/* Returns the registration of a region of this rank that covers the range, or NULL. */
static struct fid_mr *own_region(struct ofi_link *ofi, uintptr_t from, size_t len)
{
    for (struct ofi_exposed *entry = ofi->exposed; entry; entry = entry->next)
        if (from >= entry->addr && tern_base_covers(entry->size, from - entry->addr, len))
            return entry->mr;
    return NULL;
}

static void push(struct ofi_mr_cache *cache, struct ofi_mr_entry *entry)
{
    entry->next = cache->first;
    entry->link = &cache->first;
    if (entry->next)
        entry->next->link = &entry->next;
    cache->first = entry;
}

static void unlink_entry(struct ofi_mr_entry *entry)
{
    *entry->link = entry->next;
    if (entry->next)
        entry->next->link = entry->link;
}

static void drop(struct ofi_mr_cache *cache, struct ofi_mr_entry *entry)
{
    unlink_entry(entry);
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

        for (struct ofi_mr_entry *entry = cache->first; entry; entry = entry->next)
            oldest = entry->uses == 0 ? entry : oldest;
        if (!oldest)
            return;
        drop(cache, oldest);
    }
}

static struct ofi_mr_entry *find(struct ofi_mr_cache *cache, uintptr_t from, uintptr_t to)
{
    struct ofi_mr_entry *entry = cache->first;

    while (entry && (entry->stale || from < entry->from || to > entry->to))
        entry = entry->next;
    return entry;
}

static struct ofi_mr_entry *add(struct ofi_link *ofi, uintptr_t from, uintptr_t to)
{
    struct ofi_mr_entry *entry = malloc(sizeof(*entry));

    if (!entry)
        return NULL;
    *entry = (struct ofi_mr_entry){ .from = from & ~(PAGE - 1), .to = tern_base_round_up(to, PAGE) };
    if (tern_ofi_register(ofi, (void *)entry->from, entry->to - entry->from, ACCESS, &entry->mr) < 0) {
        shrink(&ofi->mr_cache, 0); /* the system's limit applies to the total of registered memory */
        if (tern_ofi_register(ofi, (void *)entry->from, entry->to - entry->from, ACCESS, &entry->mr) < 0) {
            free(entry);
            return NULL;
        }
    }
    ofi->mr_cache.bytes += entry->to - entry->from;
    push(&ofi->mr_cache, entry);
    return entry;
}

struct fid_mr *tern_ofi_mr_cache_get(struct ofi_link *ofi, const void *addr, size_t len, struct ofi_mr_entry **cached)
{
    uintptr_t            from = (uintptr_t)addr;
    struct fid_mr       *own = own_region(ofi, from, len);
    struct ofi_mr_entry *entry;

    *cached = NULL;
    if (own)
        return own;
    entry = find(&ofi->mr_cache, from, from + len);
    if (!entry && !(entry = add(ofi, from, from + len)))
        return NULL;
    unlink_entry(entry);
    push(&ofi->mr_cache, entry);
    entry->uses++;
    *cached = entry;
    return entry->mr;
}

void tern_ofi_mr_cache_put(struct ofi_link *ofi, struct ofi_mr_entry *cached)
{
    if (--cached->uses == 0 && cached->stale)
        drop(&ofi->mr_cache, cached);
    shrink(&ofi->mr_cache, tern_opt.ofi_mr_cache);
}

void tern_ofi_mr_cache_invalidate(struct ofi_link *ofi, const void *addr, size_t len)
{
    uintptr_t            from = (uintptr_t)addr;
    struct ofi_mr_entry *next;

    for (struct ofi_mr_entry *entry = ofi->mr_cache.first; entry; entry = next) {
        next = entry->next;
        if (entry->to <= from || entry->from >= from + len)
            continue;
        entry->stale = true;
        if (entry->uses == 0)
            drop(&ofi->mr_cache, entry);
    }
}

void tern_ofi_mr_cache_close(struct ofi_link *ofi)
{
    while (ofi->mr_cache.first)
        drop(&ofi->mr_cache, ofi->mr_cache.first);
}

/* region.c: registered memory.
 *
 * Each part of a region on this rank is registered when it is created. If the provider accepts keys of our choice, the
 * key is random and cannot be guessed. The memory handle carries key and address to the peers. A part that can grow is
 * registered up to its reserve, unless the provider requires that registered memory is allocated (FI_MR_ALLOCATED):
 * then its first bytes are registered, and when the part grows, it is registered once more, with a new key. The former
 * registration stays open until the region is freed, because peers may have transfers outstanding that use its key.
 *
 * Some providers require that the program's own buffers are registered, too. Such a buffer is registered, in whole
 * pages, for the work requests that need it. After use, up to TERN_OFI_CACHE bytes of registrations are kept; when
 * there are more, the least recently used ones are closed first. Nothing intercepts the program's allocator: a program
 * that enables the cache must report memory that it returns to the system.
 */
#include <stdlib.h>
#include <sys/random.h>

#include "base/log.h"
#include "link/ofi/ofi.h"

#define KEY_TRIES 16
#define PAGE 4096ull

/* The key of this link in a memory handle. */
struct key {
    uint64_t key, base; /* base: the address of the memory on the network */
};

static uint64_t random_key(const struct ofi_endpoint *endpoint)
{
    uint64_t key = 0;

    while (getrandom(&key, sizeof(key), 0) != (ssize_t)sizeof(key))
        ;
    return key & endpoint->key_mask;
}

/* Bind the registration to the endpoint, for providers that require that. */
static int bind_to_endpoint(struct ofi_endpoint *endpoint, struct fid_mr *mr)
{
    int rc;

    if (!(endpoint->info->domain_attr->mr_mode & FI_MR_ENDPOINT))
        return 0;
    if ((rc = fi_mr_bind(mr, &endpoint->ep->fid, 0)) != 0)
        return rc;
    return fi_mr_enable(mr);
}

tern_status tern_ofi_register(struct net_link *net, const void *addr, size_t len, unsigned access, struct net_mr *mr)
{
    struct ofi_link     *ofi = tern_ofi(net);
    struct ofi_endpoint *endpoint = &ofi->endpoint;
    uint64_t             flags = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
    struct fid_mr       *fid = NULL;
    int                  rc = -FI_ENOKEY;
    char                 limits[200];

    *mr = (struct net_mr){ .handle = NULL };
    if (access == 0 && !endpoint->mr_local)
        return TERN_OK;
    flags |= (access & NET_REMOTE_READ ? FI_REMOTE_READ : 0) | (access & NET_REMOTE_WRITE ? FI_REMOTE_WRITE : 0);
    for (int i = 0; i < KEY_TRIES && rc == -FI_ENOKEY; i++) /* a key may be in use */
        rc = fi_mr_reg(endpoint->domain, addr, len, flags, 0, random_key(endpoint), 0, &fid, NULL);
    if (rc == 0 && (rc = bind_to_endpoint(endpoint, fid)) != 0)
        fi_close(&fid->fid);
    if (rc != 0) {
        tern_ofi_limits_describe(ofi, limits, sizeof(limits));
        return tern_base_fail(tern_net_status(-rc), "link %s: %zu bytes of memory cannot be registered: %s%s",
                              net->name, len, endpoint->fabric.calls->strerror(-rc), limits);
    }
    mr->handle = fid;
    mr->key = fi_mr_key(fid);
    mr->base = endpoint->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)addr : 0;
    tern_base_list_push(&ofi->mrs, &mr->node);
    return TERN_OK;
}

void tern_ofi_unregister(struct net_mr *mr)
{
    if (!mr->handle)
        return;
    tern_base_list_remove(&mr->node);
    fi_close(&((struct fid_mr *)mr->handle)->fid);
    mr->handle = NULL;
}

/* Return the number of bytes to register for a part: the reserve, where registered memory need not be allocated. */
static uint64_t bytes_to_register(const struct ofi_link *ofi, const struct tern_mem_handle *handle)
{
    bool allocated = (ofi->endpoint.info->domain_attr->mr_mode & FI_MR_ALLOCATED) != 0 ||
                     tern_opt.ofi_local == TERN_OFI_LOCAL_ALWAYS; /* tests of providers with more requirements */

    return allocated || handle->reserve < handle->size ? handle->size : handle->reserve;
}

/* Register a part. Its newest registration is the first on the list. */
static tern_status add_exposed(struct net_link *net, const struct tern_mem_handle *handle, struct net_exposed **out)
{
    uint64_t            bytes = bytes_to_register(tern_ofi(net), handle);
    struct net_exposed *entry = malloc(sizeof(*entry));
    tern_status         st;

    if (!entry)
        return tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for %zu bytes", sizeof(*entry));
    entry->base = tern_link_exposed_of(handle, net->rank);
    entry->registered = bytes;
    st = bytes == 0 ? TERN_OK
                    : tern_ofi_register(net, (void *)(uintptr_t)handle->addr, bytes, NET_REMOTE_READ | NET_REMOTE_WRITE,
                                        &entry->mr);
    if (st < 0) {
        free(entry);
        return st;
    }
    if (bytes == 0)
        entry->mr = (struct net_mr){ .handle = NULL };
    tern_base_list_push(&net->exposed, &entry->base.node);
    *out = entry;
    return TERN_OK;
}

tern_status tern_ofi_expose(struct tern_link *link, struct tern_mem_handle *handle)
{
    struct net_link    *net = tern_net(link);
    struct net_exposed *entry;
    tern_status         st = TERN_OK;

    pthread_mutex_lock(&net->lock);
    entry = (struct net_exposed *)tern_link_exposed_find(&net->exposed, handle->region);
    if (entry && handle->size < entry->base.mem.size && bytes_to_register(tern_ofi(net), handle) < entry->registered) {
        /* the part returns to its former size, which has a registration of its own */
        tern_net_exposed_drop(net, entry);
        entry = (struct net_exposed *)tern_link_exposed_find(&net->exposed, handle->region);
    }
    if (entry && handle->size <= entry->registered)
        entry->base.mem.size = handle->size;
    else
        st = add_exposed(net, handle, &entry);
    if (st == TERN_OK && (st = tern_link_key_add(handle, TERN_LINK_OFI, &(struct key){ entry->mr.key, entry->mr.base },
                                                 sizeof(struct key))) < 0)
        tern_net_exposed_drop(net, entry);
    pthread_mutex_unlock(&net->lock);
    return st;
}

tern_status tern_ofi_grown(struct tern_link *link, const struct tern_mem_handle *handle, struct tern_link_part *part)
{
    struct key  key;
    tern_status st = tern_link_key_get(handle, part->rank, TERN_LINK_OFI, &key, sizeof(key));

    (void)link;
    if (st < 0)
        return st;
    /* The base address is that of the first registration: 0, or the address of the memory. A part that was empty has
     * none yet, and nothing accesses it. */
    if (tern_link_part_size(part) == 0)
        part->remote = key.base;
    __atomic_store_n(&part->key, key.key, __ATOMIC_RELAXED);
    return TERN_OK;
}

tern_status tern_ofi_attach(struct tern_link *link, const struct tern_mem_handle *handle, const char *path_name,
                            struct tern_link_part *part)
{
    struct key  key;
    tern_status st = tern_link_key_get(handle, part->rank, TERN_LINK_OFI, &key, sizeof(key));

    (void)link, (void)path_name;
    if (st < 0)
        return st;
    if (handle->mem_kind == TERN_MEM_NONE || handle->mem_kind > TERN_MEM_PRIVATE)
        return tern_base_fail(TERN_ERR_LINK, "rank %d sent a memory handle of an unknown kind", part->rank);
    part->path = &tern_ofi_path;
    part->key = key.key;
    part->remote = key.base;
    return TERN_OK;
}

/* ---- registrations of the program's buffers ---- */

/* Returns the registration of a region of this rank that covers the range, or NULL. */
static const struct net_mr *own_region(const struct ofi_link *ofi, uintptr_t from, size_t len)
{
    TERN_LIST_EACH(const struct net_exposed, entry, &ofi->net.exposed, base.node)
        if (from >= (uintptr_t)entry->base.mem.base &&
            tern_base_covers(entry->base.mem.size, from - (uintptr_t)entry->base.mem.base, len))
            return &entry->mr;
    return NULL;
}

static void entry_drop(struct ofi_link *ofi, struct ofi_mr_entry *entry)
{
    tern_base_list_remove(&entry->node);
    tern_base_log(TERN_LOG_DEBUG, "link ofi: dropped the registration of %zu bytes at 0x%zx: %s",
                  (size_t)(entry->to - entry->from), (size_t)entry->from,
                  entry->stale ? "the program has invalidated it" : "the cache is full or closed");
    ofi->mr_cache_bytes -= entry->to - entry->from;
    tern_ofi_unregister(&entry->mr);
    free(entry);
}

/* Close the least recently used registrations that are not in use, until at most the given number of bytes is
 * registered. */
static void shrink(struct ofi_link *ofi, size_t bytes)
{
    while (ofi->mr_cache_bytes > bytes) {
        struct ofi_mr_entry *oldest = NULL;

        TERN_LIST_EACH(struct ofi_mr_entry, entry, &ofi->mr_cache, node)
            oldest = entry->uses == 0 ? entry : oldest;
        if (!oldest)
            return;
        entry_drop(ofi, oldest);
    }
}

static struct ofi_mr_entry *find(const struct ofi_link *ofi, uintptr_t from, uintptr_t to)
{
    TERN_LIST_EACH(struct ofi_mr_entry, entry, &ofi->mr_cache, node)
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
        shrink(ofi, 0); /* the system's limit applies to the total of registered memory */
        if (entry_register(ofi, entry) < 0) {
            free(entry);
            return NULL;
        }
    }
    ofi->mr_cache_bytes += entry->to - entry->from;
    tern_base_log(TERN_LOG_DEBUG, "link ofi: registered %zu bytes at 0x%zx for transfers; %zu bytes are registered",
                  (size_t)(entry->to - entry->from), (size_t)entry->from, (size_t)ofi->mr_cache_bytes);
    tern_base_list_push(&ofi->mr_cache, &entry->node);
    return entry;
}

const struct net_mr *tern_ofi_mr_cache_get(struct ofi_link *ofi, struct net_ctx *ctx, const void *addr, size_t len)
{
    uintptr_t            from = (uintptr_t)addr;
    const struct net_mr *own = own_region(ofi, from, len);
    struct ofi_mr_entry *entry;

    if (own)
        return own;
    entry = find(ofi, from, from + len);
    if (!entry && !(entry = add(ofi, from, from + len)))
        return NULL;
    tern_base_list_remove(&entry->node);
    tern_base_list_push(&ofi->mr_cache, &entry->node);
    entry->uses++;
    ctx->local = entry;
    return &entry->mr;
}

void tern_ofi_mr_cache_put(struct ofi_link *ofi, struct net_ctx *ctx)
{
    struct ofi_mr_entry *entry = ctx->local;

    ctx->local = NULL;
    if (--entry->uses == 0 && entry->stale)
        entry_drop(ofi, entry);
    shrink(ofi, tern_opt.ofi_mr_cache);
}

void tern_ofi_invalidate(struct tern_link *link, const void *addr, size_t len)
{
    struct ofi_link *ofi = tern_ofi(link);
    uintptr_t        from = (uintptr_t)addr;

    pthread_mutex_lock(&ofi->net.lock);
    TERN_LIST_EACH(struct ofi_mr_entry, entry, &ofi->mr_cache, node) {
        if (entry->to <= from || entry->from >= from + len)
            continue;
        entry->stale = true;
        if (entry->uses == 0)
            entry_drop(ofi, entry);
    }
    pthread_mutex_unlock(&ofi->net.lock);
}

void tern_ofi_regions_close(struct ofi_link *ofi)
{
    TERN_LIST_EACH(struct ofi_mr_entry, entry, &ofi->mr_cache, node)
        entry_drop(ofi, entry);
    TERN_LIST_EACH(struct net_exposed, entry, &ofi->net.exposed, base.node)
        tern_net_exposed_drop(&ofi->net, entry);
}

/* region.c: registered memory. Each part of a region on this rank is registered when it is created. If the provider
 * accepts keys of our choice, the key is random and cannot be guessed. The memory handle carries key and address to
 * the peers. */
#include <stdlib.h>
#include <sys/random.h>

#include "link/ofi/ofi.h"

#define KEY_TRIES 16

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
    struct ofi_link     *ofi = tern_ofi_of(net);
    struct ofi_endpoint *endpoint = &ofi->endpoint;
    uint64_t             flags = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
    struct fid_mr       *fid = NULL;
    int                  rc = -FI_ENOKEY;

    *mr = (struct net_mr){ .handle = NULL };
    if (access == 0 && !endpoint->mr_local)
        return TERN_OK;
    flags |= (access & NET_REMOTE_READ ? FI_REMOTE_READ : 0) | (access & NET_REMOTE_WRITE ? FI_REMOTE_WRITE : 0);
    for (int i = 0; i < KEY_TRIES && rc == -FI_ENOKEY; i++) /* a key may be in use */
        rc = fi_mr_reg(endpoint->domain, addr, len, flags, 0, random_key(endpoint), 0, &fid, NULL);
    if (rc == 0 && (rc = bind_to_endpoint(endpoint, fid)) != 0)
        fi_close(&fid->fid);
    if (rc != 0)
        return tern_base_fail(rc == -FI_ENOMEM ? TERN_ERR_NOMEM : TERN_ERR_LINK,
                              "link %s: %zu bytes of memory cannot be registered: %s (see ulimit -l)", net->name, len,
                              endpoint->fabric.calls->strerror(-rc));
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

static void drop(struct net_exposed **at)
{
    struct net_exposed *entry = *at;

    *at = entry->next;
    tern_ofi_unregister(&entry->mr);
    free(entry);
}

tern_status tern_ofi_expose(struct tern_link *link, struct tern_mem_handle *handle)
{
    struct net_link    *net = tern_net(link);
    struct net_exposed *entry = malloc(sizeof(*entry));
    tern_status         st;

    if (!entry)
        return tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for %zu bytes", sizeof(*entry));
    *entry = (struct net_exposed){ .region = handle->region,
                                   .addr = handle->addr,
                                   .size = handle->size,
                                   .origin = tern_link_origin(handle, net->rank) };
    pthread_mutex_lock(&net->lock);
    st = tern_ofi_register(net, (void *)(uintptr_t)handle->addr, handle->size, NET_REMOTE_READ | NET_REMOTE_WRITE,
                           &entry->mr);
    if (st == TERN_OK)
        st = tern_link_key_add(handle, TERN_LINK_OFI, &(struct key){ entry->mr.key, entry->mr.base },
                               sizeof(struct key));
    entry->next = net->exposed;
    net->exposed = entry;
    if (st < 0)
        drop(&net->exposed);
    pthread_mutex_unlock(&net->lock);
    return st;
}

void tern_ofi_unexpose(struct tern_link *link, uint64_t region)
{
    struct ofi_link *ofi = tern_ofi(link);

    pthread_mutex_lock(&ofi->net.lock);
    for (struct net_exposed **at = &ofi->net.exposed; *at; at = &(*at)->next) {
        if ((*at)->region == region) {
            drop(at);
            break;
        }
    }
    pthread_mutex_unlock(&ofi->net.lock);
}

void tern_ofi_regions_close(struct ofi_link *ofi)
{
    while (ofi->net.exposed)
        drop(&ofi->net.exposed);
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

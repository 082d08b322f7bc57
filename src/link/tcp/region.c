/* region.c: the memory that peers may access: parts of regions, and buffers of link/net.
 *
 * Each piece of memory has an entry in a table. The key of the memory contains the index in the table; the rest of the
 * key is random and cannot be guessed. Peers address the memory by key and offset. The program's own buffers need no
 * registration.
 */
#include <stdlib.h>
#include <string.h>

#include "link/none.h"
#include "link/tcp/tcp.h"

#define INDEX_BITS 24
#define INDEX_MASK ((1ull << INDEX_BITS) - 1)

/* The state of a registration: net_mr.handle points at it. */
struct entry {
    struct tcp_link *tcp;
    uint32_t         index;
};

const struct tcp_mem *tern_tcp_mem_find(const struct tcp_link *tcp, uint64_t key, unsigned access)
{
    uint64_t              index = key & INDEX_MASK;
    const struct tcp_mem *mem = index < tcp->mems ? &tcp->mem[index] : NULL;

    return mem && mem->key == key && key != 0 && (mem->access & access) == access ? mem : NULL;
}

/* Return the index of a free entry of the table; UINT32_MAX: there is no memory. */
static uint32_t free_index(struct tcp_link *tcp)
{
    uint32_t        index = 0, more = tcp->mems > 0 ? tcp->mems * 2 : 64;
    struct tcp_mem *table;

    while (index < tcp->mems && tcp->mem[index].key != 0)
        index++;
    if (index < tcp->mems)
        return index;
    if (more > INDEX_MASK || !(table = realloc(tcp->mem, more * sizeof(*table))))
        return UINT32_MAX;
    memset(table + tcp->mems, 0, (more - tcp->mems) * sizeof(*table));
    tcp->mem = table;
    tcp->mems = more;
    return index;
}

tern_status tern_tcp_register(struct net_link *net, const void *addr, size_t len, unsigned access, struct net_mr *mr)
{
    struct tcp_link *tcp = tern_tcp(net);
    struct entry    *entry;
    uint64_t         key = 0;
    tern_status      st = TERN_OK;

    *mr = (struct net_mr){ .handle = NULL };
    if (access == 0)
        return TERN_OK;
    if (!(entry = malloc(sizeof(*entry))) || (entry->index = free_index(tcp)) == UINT32_MAX) {
        free(entry);
        return tern_base_fail(TERN_ERR_NOMEM, "link tcp: no memory to register %zu bytes", len);
    }
    while (st == TERN_OK && key == 0) {
        st = tern_base_random(&key, sizeof(key));
        key &= ~INDEX_MASK;
    }
    if (st < 0) {
        free(entry);
        return st;
    }
    entry->tcp = tcp;
    mr->handle = entry;
    mr->key = key | entry->index;
    tcp->mem[entry->index] =
        (struct tcp_mem){ .key = mr->key, .base = (unsigned char *)(uintptr_t)addr, .size = len, .access = access };
    return TERN_OK;
}

/* Make the frames that are being received or sent stop using the memory. */
static void detach_all(struct tcp_link *tcp, const struct tcp_mem *mem)
{
    TERN_LIST_EACH(struct tcp_conn, conn, &tcp->conns, node) {
        struct tcp_body *body = &conn->body;

        if (body->left > 0 && !body->wr && body->to >= mem->base && body->to < mem->base + mem->size) {
            body->to = NULL;
            body->refused = true;
        }
        tern_tcp_detach(tcp, conn, NULL, mem);
    }
}

void tern_tcp_unregister(struct net_mr *mr)
{
    struct entry *entry = mr->handle;

    if (!entry)
        return;
    detach_all(entry->tcp, &entry->tcp->mem[entry->index]);
    entry->tcp->mem[entry->index].key = 0;
    free(entry);
    mr->handle = NULL;
}

/* ---- parts of regions ---- */

static struct net_exposed *add_exposed(struct net_link *net, const struct tern_mem_handle *handle)
{
    struct net_exposed *entry = malloc(sizeof(*entry));

    if (!entry || tern_tcp_register(net, (void *)(uintptr_t)handle->addr, handle->size,
                                    NET_REMOTE_READ | NET_REMOTE_WRITE, &entry->mr) < 0) {
        free(entry);
        return NULL;
    }
    entry->base = tern_link_exposed_of(handle, net->rank);
    tern_base_list_push(&net->exposed, &entry->base.node);
    return entry;
}

/* The key remains the same when the part grows. */
tern_status tern_tcp_expose(struct tern_link *link, struct tern_mem_handle *handle)
{
    struct net_link    *net = tern_net(link);
    struct tcp_link    *tcp = tern_tcp(link);
    struct net_exposed *entry;
    tern_status         st;

    pthread_mutex_lock(&net->lock);
    entry = (struct net_exposed *)tern_link_exposed_find(&net->exposed, handle->region);
    if (!entry)
        entry = add_exposed(net, handle);
    if (entry) {
        struct tcp_mem *mem = &tcp->mem[((struct entry *)entry->mr.handle)->index];

        entry->base.mem.size = tern_link_kind_loads(handle->mem_kind) ? handle->size : 0;
        mem->base = (unsigned char *)(uintptr_t)handle->addr;
        mem->size = entry->base.mem.size;
        if ((st = tern_link_key_add(handle, TERN_LINK_TCP, &entry->mr.key, sizeof(entry->mr.key))) < 0)
            tern_net_exposed_drop(net, entry);
    } else {
        st = tern_base_fail(TERN_ERR_NOMEM, "link tcp: no memory for a region of %zu bytes", (size_t)handle->size);
    }
    pthread_mutex_unlock(&net->lock);
    return st;
}

tern_status tern_tcp_attach(struct tern_link *link, const struct tern_mem_handle *handle, const char *path_name,
                            struct tern_link_part *part)
{
    uint64_t    key = 0;
    tern_status st = tern_link_key_get(handle, part->rank, TERN_LINK_TCP, &key, sizeof(key));

    (void)link, (void)path_name;
    if (st < 0)
        return st;
    if (!tern_link_kind_loads(handle->mem_kind))
        return tern_base_fail(TERN_ERR_LINK, "rank %d sent a memory handle of an unknown kind", part->rank);
    part->path = &tern_tcp_path;
    part->key = key;
    return TERN_OK;
}

void tern_tcp_regions_close(struct tcp_link *tcp)
{
    TERN_LIST_EACH(struct net_exposed, entry, &tcp->net.exposed, base.node)
        tern_net_exposed_drop(&tcp->net, entry);
    free(tcp->mem);
}

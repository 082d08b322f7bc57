/* bounce_serve.c: the target's half of bounced transfers and RPCs. This code runs on the helper thread only, so no
 * other thread maps the peers' chunks. Peers are identified by their local ranks. Everything that a peer wrote is
 * checked before use: a number out of range or a length that does not fit is answered with an error. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/read_once.h"
#include "base/sanitize.h"
#include "boot/bell.h"
#include "link/shm/shm.h"

#ifndef MADV_POPULATE_READ /* since Linux 5.14 */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

bool tern_shm_service_needed(const struct tern_link *link)
{
    const struct shm_link *shm = (const struct shm_link *)link;

    return atomic_load_explicit(&shm->bounce_ctl[shm->local].service_needed, memory_order_relaxed) != 0;
}

/* Map the data of a peer's chunks at the location in the peer's bounce_ctl. Returns false if the arena does not
 * contain that location. */
static bool peer_map(struct shm_link *shm, int peer)
{
    struct shm_bounce_ctl *ctl = &shm->bounce_ctl[peer];
    /* acquire: the description of the chunks after the offset. Pairs with the release in make_chunks(), bounce.c. */
    uint64_t               offset = atomic_load_explicit(&ctl->data, memory_order_acquire);
    uint64_t               bytes = atomic_load_explicit(&ctl->data_bytes, memory_order_relaxed);
    unsigned char         *map;

    if (offset == 0 || tern_shm_queue_map(shm, shm->rank_of[peer], offset, bytes, &map) < 0)
        return false;
    shm->peer_data[peer] = (struct shm_peer_data){ map, offset, bytes };
    return true;
}

/* Return the data of a peer's chunk, or NULL if the chunk's header is not consistent. */
static unsigned char *peer_bytes(struct shm_link *shm, int peer, uint64_t data, uint64_t len)
{
    const struct shm_peer_data *known = &shm->peer_data[peer];

    if (!known->map && !peer_map(shm, peer))
        return NULL;
    if (data < known->offset || !tern_base_covers(known->bytes, data - known->offset, len))
        return NULL;
    return known->map + (data - known->offset);
}

/* Check whether the application's memory is accessible, because the application may have unmapped or protected it.
 * Returns 0 if it is accessible, 1 if not, -1 if unknown (special memory, or an old kernel). */
static int find_out(const void *addr, size_t len, bool write)
{
    uintptr_t page = (uintptr_t)addr & ~(uintptr_t)4095; /* every page size is a multiple of 4096 */
    size_t    span = (size_t)((uintptr_t)addr - page + len);

    if (madvise((void *)page, span, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0)
        return 0;
    return errno == EINVAL ? -1 : 1;
}

/* Copy to or from a chunk whose data is at arena offset `data`. The application may unmap its memory at any moment,
 * so the kernel does the copy: the kernel reports inaccessible memory as an error and raises no signal. */
static bool copy_safely(int arena, uint64_t data, unsigned char *mine, uint64_t len, bool get)
{
    while (len > 0) {
        ssize_t moved;

        tern_base_copy_for_peer_begin();
        moved = get ? pwrite(arena, mine, len, (off_t)data) : pread(arena, mine, len, (off_t)data);
        tern_base_copy_for_peer_end();
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return false;
        mine += moved;
        data += (uint64_t)moved;
        len -= (uint64_t)moved;
    }
    return true;
}

/* Return whether the application's memory is accessible, for an RPC, which accesses the memory directly. If the
 * application unmaps the memory after this check, the process crashes, as region.h documents. If the kernel cannot
 * populate pages, mapped memory counts as accessible. */
static bool is_mapped(const void *addr, size_t len, bool write)
{
    uintptr_t     page = (uintptr_t)addr & ~(uintptr_t)4095, end = (uintptr_t)addr + len;
    int           found = find_out(addr, len, write);
    unsigned char resident;

    for (; found < 0 && page < end; page += 4096)
        if (mincore((void *)page, 4096, &resident) != 0 && errno == ENOMEM)
            return false;
    return found <= 0;
}

tern_status tern_shm_expose(struct tern_link *link, struct tern_mem_handle *handle)
{
    struct shm_link          *shm = tern_shm(link);
    struct tern_link_exposed *entry;

    if (handle->mem_kind != TERN_MEM_PRIVATE)
        return TERN_OK; /* peers map this memory */
    entry = malloc(sizeof(*entry));
    if (!entry)
        return tern_base_fail(TERN_ERR_NOMEM, "link shm: no memory for %zu bytes", sizeof(*entry));
    *entry = tern_link_exposed_of(handle, shm->boot->rank);
    entry->mem.is_mapped = is_mapped;
    pthread_mutex_lock(&shm->exposed_lock);
    tern_base_list_push(&shm->exposed, &entry->node);
    pthread_mutex_unlock(&shm->exposed_lock);
    return TERN_OK;
}

void tern_shm_unexpose(struct tern_link *link, uint64_t region)
{
    struct shm_link          *shm = tern_shm(link);
    struct tern_link_exposed *entry;

    pthread_mutex_lock(&shm->exposed_lock);
    if ((entry = tern_link_exposed_find(&shm->exposed, region)))
        tern_base_list_remove(&entry->node);
    pthread_mutex_unlock(&shm->exposed_lock);
    free(entry);
}

static tern_status serve_copy(struct shm_link *shm, const struct shm_chunk *w, const struct tern_link_exposed *entry)
{
    if (!tern_base_covers(entry->mem.size, w->offset, w->len) ||
        !copy_safely(shm->boot->arena, w->data, entry->mem.base + w->offset, w->len, w->verb == SHM_GET))
        return TERN_ERR_LINK;
    return TERN_OK;
}

/* Execute an RPC. The response goes behind the request. */
static tern_status serve_rpc(struct shm_link *shm, const struct shm_chunk *w, const struct tern_link_exposed *entry,
                             unsigned char *bytes, struct shm_chunk *chunk)
{
    size_t      response_len = 0;
    tern_status st =
        shm->up->serve(&entry->mem, bytes, w->len, bytes + tern_link_response_at(w->len), w->offset, &response_len);

    chunk->offset = response_len;
    return st;
}

/* Return the number of data bytes that a request uses in its chunk; SIZE_MAX if the lengths are not valid. */
static size_t bytes_of(const struct shm_chunk *w)
{
    if (w->verb != SHM_RPC)
        return w->len;
    return w->len <= SIZE_MAX / 4 && w->offset <= SIZE_MAX / 4 ? tern_link_response_at(w->len) + w->offset : SIZE_MAX;
}

/* Execute the request in a chunk on the exposed memory that the request names. Returns the status for the initiator. */
static tern_status fulfil(struct shm_link *shm, int peer, struct shm_chunk *chunk)
{
    struct shm_chunk          w; /* a copy: the peer can change the chunk at any time */
    struct tern_link_exposed *entry;
    unsigned char            *bytes;
    tern_status               st = TERN_ERR_LINK;

    tern_base_copy_once(&w, chunk, sizeof(w));
    if (!(bytes = peer_bytes(shm, peer, w.data, bytes_of(&w))))
        return TERN_ERR_LINK;
    pthread_mutex_lock(&shm->exposed_lock);
    entry = tern_link_exposed_find(&shm->exposed, w.region);
    if (entry && w.verb == SHM_RPC)
        st = serve_rpc(shm, &w, entry, bytes, chunk);
    else if (entry && w.verb <= SHM_GET)
        st = serve_copy(shm, &w, entry);
    pthread_mutex_unlock(&shm->exposed_lock);
    return st;
}

static void answer(struct shm_link *shm, uint32_t number)
{
    int               peer = (int)(number / SHM_CHUNKS);
    struct shm_chunk *chunk = &shm->bounce_ctl[peer].chunk[number % SHM_CHUNKS];

    chunk->status = fulfil(shm, peer, chunk);
    tern_base_order_before_peers(); /* before the application's threads, after a barrier with the peer */
    tern_boot_written(tern_shm_slot(shm, shm->boot->rank));
    /* release: the copy and its status before the state. Pairs with the acquire in op_reap(). */
    atomic_store_explicit(&chunk->state, SHM_CHUNK_DONE, memory_order_release);
    tern_boot_wake(tern_shm_slot(shm, shm->rank_of[peer]));
}

bool tern_shm_serve(struct tern_link *link)
{
    struct shm_link *shm = tern_shm(link);
    uint32_t         limit = (uint32_t)shm->locals * SHM_CHUNKS;
    /* acquire: the chunks' contents after their numbers. Pairs with the release in chunk_post(). */
    uint32_t         next = atomic_exchange_explicit(&shm->bounce_ctl[shm->local].inbox, 0, memory_order_acquire);
    uint32_t         oldest = 0, count = 0;

    if (next == 0)
        return false;
    tern_base_order_after_peers();
    while (next != 0 && next <= limit && count++ < limit) { /* reverse the stack: oldest first */
        struct shm_chunk *chunk = &shm->bounce_ctl[(next - 1) / SHM_CHUNKS].chunk[(next - 1) % SHM_CHUNKS];
        uint32_t          older = TERN_READ_ONCE(chunk->next);
        chunk->next = oldest;
        oldest = next;
        next = older;
    }
    while (oldest != 0 && oldest <= limit && count-- > 0) { /* count: a faulty peer may have linked a cycle */
        uint32_t number = oldest - 1;
        oldest = TERN_READ_ONCE(shm->bounce_ctl[number / SHM_CHUNKS].chunk[number % SHM_CHUNKS].next);
        answer(shm, number); /* from here on the initiator owns the chunk again */
    }
    return true;
}

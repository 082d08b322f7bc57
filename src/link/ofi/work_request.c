/* work_request.c: the pool of work requests.
 *
 * The process has TERN_OFI_WINDOW work requests, each with a bounce buffer for a small transfer, which is registered
 * if the provider requires that. A peer that does not respond keeps its work requests, and may come to hold the
 * whole window. So each peer is guaranteed a share in addition: a peer that has fewer work requests than the share
 * gets another one, allocated if necessary, and no peer waits because of another.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "link/ofi/ofi.h"

#define BOUNCE_ACCESS (FI_SEND | FI_RECV | FI_READ | FI_WRITE)
#define SHARE 4 /* work requests guaranteed to a peer: the default pipeline depth of one transfer */

struct ofi_wr_slab {
    struct ofi_wr_slab *next;
    unsigned char      *rooms;
    struct fid_mr      *mr; /* NULL: the provider needs none */
    size_t              count;
    struct ofi_wr       piece[];
};

static void slab_free(const struct ofi_link *ofi, struct ofi_wr_slab *slab)
{
    tern_ofi_unregister(&slab->mr);
    if (slab->rooms != MAP_FAILED)
        munmap(slab->rooms, slab->count * ofi->bounce);
    free(slab);
}

static tern_status wrs_add(struct ofi_link *ofi, size_t count)
{
    struct ofi_wr_slab *slab = calloc(1, sizeof(*slab) + count * sizeof(slab->piece[0]));
    size_t              bytes = count * ofi->bounce;
    tern_status         st = TERN_OK;

    if (slab) {
        slab->count = count;
        slab->rooms = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (!slab || slab->rooms == MAP_FAILED)
        st = tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for %zu transfers of %zu bytes (TERN_OFI_WINDOW)",
                            count, ofi->bounce);
    else if (ofi->endpoint.mr_local)
        st = tern_ofi_register(ofi, slab->rooms, bytes, BOUNCE_ACCESS, &slab->mr);
    if (st < 0) {
        if (slab)
            slab_free(ofi, slab);
        return st;
    }
    for (size_t i = 0; i < count; i++) {
        slab->piece[i].bounce = slab->rooms + i * ofi->bounce;
        slab->piece[i].desc = slab->mr ? fi_mr_desc(slab->mr) : NULL;
        slab->piece[i].next = ofi->free_wrs;
        ofi->free_wrs = &slab->piece[i];
    }
    slab->next = ofi->wr_slabs;
    ofi->wr_slabs = slab;
    return TERN_OK;
}

tern_status tern_ofi_wr_pool_open(struct ofi_link *ofi)
{
    ofi->window = (unsigned)tern_opt.ofi_window;
    ofi->share = ofi->window < SHARE ? ofi->window : SHARE;
    ofi->bounce = tern_base_round_up(tern_opt.ofi_bounce, TERN_CACHE_LINE);
    return wrs_add(ofi, ofi->window);
}

void tern_ofi_wr_pool_unregister(struct ofi_link *ofi)
{
    for (struct ofi_wr_slab *slab = ofi->wr_slabs; slab; slab = slab->next)
        tern_ofi_unregister(&slab->mr);
}

void tern_ofi_wr_pool_close(struct ofi_link *ofi)
{
    while (ofi->wr_slabs) {
        struct ofi_wr_slab *slab = ofi->wr_slabs;
        ofi->wr_slabs = slab->next;
        slab_free(ofi, slab);
    }
}

struct ofi_wr *tern_ofi_wr_alloc(struct ofi_link *ofi, struct ofi_peer *peer)
{
    struct ofi_wr *wr = ofi->free_wrs;
    bool           may = ofi->wrs_taken < ofi->window || peer->wrs < ofi->share;

    if (TERN_UNLIKELY(may && !wr) && wrs_add(ofi, ofi->share) == TERN_OK)
        wr = ofi->free_wrs;
    if (TERN_UNLIKELY(!may || !wr)) {
        atomic_store_explicit(&ofi->wr_wanted, true, memory_order_relaxed); /* ordered by the lock */
        return NULL;
    }
    ofi->free_wrs = wr->next;
    wr->peer = peer;
    peer->wrs++;
    ofi->wrs_taken++;
    return wr;
}

void tern_ofi_wr_free(struct ofi_link *ofi, struct ofi_wr *wr)
{
    if (wr->cached)
        tern_ofi_mr_cache_put(ofi, wr->cached);
    wr->cached = NULL;
    wr->peer->wrs--;
    ofi->wrs_taken--;
    wr->next = ofi->free_wrs;
    ofi->free_wrs = wr;
    if (TERN_UNLIKELY(atomic_load_explicit(&ofi->wr_wanted, memory_order_relaxed))) { /* ordered by the lock */
        atomic_store_explicit(&ofi->wr_wanted, false, memory_order_relaxed);
        tern_ofi_ring(ofi); /* a thread may sleep until a work request is free */
    }
}

/* work_request.c: the pool of work requests.
 *
 * The process has TERN_OFI_WINDOW work requests, each with a bounce buffer for a small transfer, which is registered
 * if the provider requires that. A peer that does not respond keeps its work requests, and may come to hold the
 * whole window. So each peer is guaranteed a share in addition: a peer that has fewer work requests than the share
 * gets another one, allocated if necessary, and no peer waits because of another.
 */
#include <stdlib.h>

#include "link/ofi/ofi.h"

#define SHARE 4 /* work requests guaranteed to a peer: the default pipeline depth of one transfer */

struct ofi_wr_slab {
    struct ofi_wr_slab *next;
    struct net_mr       mr; /* the bounce buffers */
    size_t              count;
    struct ofi_wr       wr[];
};

/* Memory that the provider may use until it is closed. */
struct ofi_kept {
    struct ofi_kept *next;
    void            *memory;
};

static tern_status wrs_add(struct ofi_link *ofi, size_t count)
{
    struct ofi_wr_slab *slab = calloc(1, sizeof(*slab) + count * sizeof(slab->wr[0]));
    tern_status         st;

    if (!slab)
        return tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for %zu transfers (TERN_OFI_WINDOW)", count);
    if ((st = tern_net_memory_make(&ofi->net, count * ofi->bounce, 0, &slab->mr)) < 0) {
        free(slab);
        return st;
    }
    slab->count = count;
    for (size_t i = 0; i < count; i++) {
        slab->wr[i].bounce = slab->mr.bytes + i * ofi->bounce;
        slab->wr[i].desc = tern_ofi_desc(&slab->mr);
        tern_base_list_push(&ofi->free_wrs, &slab->wr[i].ctx.node);
    }
    slab->next = ofi->wr_slabs;
    ofi->wr_slabs = slab;
    return TERN_OK;
}

tern_status tern_ofi_wr_pool_open(struct ofi_link *ofi)
{
    tern_base_list_init(&ofi->free_wrs);
    ofi->window = (unsigned)tern_opt.ofi_window;
    ofi->share = ofi->window < SHARE ? ofi->window : SHARE;
    ofi->bounce = tern_base_round_up(tern_opt.ofi_bounce, TERN_CACHE_LINE);
    return wrs_add(ofi, ofi->window);
}

void tern_ofi_wr_pool_close(struct ofi_link *ofi)
{
    struct ofi_wr_slab *slab;
    struct ofi_kept    *kept;

    while ((slab = ofi->wr_slabs)) {
        ofi->wr_slabs = slab->next;
        tern_net_memory_free(&ofi->net, &slab->mr);
        free(slab);
    }
    while ((kept = ofi->kept)) {
        ofi->kept = kept->next;
        free(kept->memory);
        free(kept);
    }
}

struct ofi_wr *tern_ofi_wr_alloc(struct ofi_link *ofi, struct net_peer *peer)
{
    bool           may = ofi->wrs_taken < ofi->window || peer->wrs < ofi->share;
    struct ofi_wr *wr;

    if (TERN_UNLIKELY(may && tern_base_list_empty(&ofi->free_wrs)))
        may = wrs_add(ofi, ofi->share) == TERN_OK;
    if (TERN_UNLIKELY(!may)) {
        atomic_store_explicit(&ofi->wr_wanted, true, memory_order_relaxed); /* ordered by the lock */
        return NULL;
    }
    wr = TERN_LIST_ITEM(tern_base_list_pop(&ofi->free_wrs), struct ofi_wr, ctx.node);
    wr->ctx.peer = peer;
    wr->op = NULL;
    wr->flush = false;
    peer->wrs++;
    ofi->wrs_taken++;
    return wr;
}

void tern_ofi_wr_end(struct ofi_link *ofi, struct ofi_wr *wr)
{
    struct tern_link_op *op = wr->op;

    wr->op = NULL;
    wr->ctx.peer->wrs--;
    ofi->wrs_taken--;
    tern_base_list_push(&ofi->free_wrs, &wr->ctx.node);
    if (TERN_UNLIKELY(atomic_load_explicit(&ofi->wr_wanted, memory_order_relaxed))) { /* ordered by the lock */
        atomic_store_explicit(&ofi->wr_wanted, false, memory_order_relaxed);
        tern_net_ring(&ofi->net); /* a thread may sleep until a work request is free */
    }
    if (op && --op->net.in_flight == 0)
        tern_net_op_finish(&ofi->net, op);
}

void tern_ofi_wr_abandon(struct net_link *net, const struct tern_link_op *op)
{
    struct ofi_link *ofi = tern_ofi_of(net);
    struct ofi_kept *kept;

    for (struct ofi_wr_slab *slab = ofi->wr_slabs; slab; slab = slab->next)
        for (size_t i = 0; i < slab->count; i++)
            if (slab->wr[i].op == op)
                slab->wr[i].op = NULL;
    if (op->buffer_in_use && (kept = malloc(sizeof(*kept)))) { /* without memory for the record, the buffer is lost */
        *kept = (struct ofi_kept){ .next = ofi->kept, .memory = op->xfer.local };
        ofi->kept = kept;
    }
}

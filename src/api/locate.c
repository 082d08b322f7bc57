/* locate.c: finding the memory of a dynamic region that an operation addresses. */
#include <stdlib.h>

#include "api/check.h"
#include "api/shared.h"
#include "base/options.h"
#include "core/job.h"
#include "core/region_dynamic.h"
#include "op/start.h"

/* Fetch bytes of a rank's table over the network. If the call times out, or the rank dies, the network may write to the
 * destination of a long get later, when the destination, on the stack or on the heap, is no longer valid. So no get is
 * longer than the bounce buffer through which the network receives short gets. */
static tern_status fetch(tern_ctx *ctx, const struct tern_link_part *table, uint64_t offset, void *to, size_t len,
                         const char *what)
{
    struct tern_xfer xfer = { .part = table, .offset = offset, .local = to, .get = true };
    tern_status      st = TERN_OK;

    for (size_t done = 0; done < len && st == TERN_OK; done += xfer.len) {
        xfer.offset = offset + done;
        xfer.local = (unsigned char *)to + done;
        xfer.len = len - done < tern_opt.ofi_bounce ? len - done : tern_opt.ofi_bounce;
        st = tern_op_contig(ctx, &xfer, &tern_op_blocking, what);
    }
    return st;
}

/* Fetch the whole table. Returns TERN_AGAIN if the table has changed in the meantime. */
static tern_status fetch_table(tern_ctx *ctx, tern_region *region, int world, const struct tern_dynamic_head *head,
                               const char *what)
{
    const struct tern_link_part *table = tern_core_dynamic_table(region, world);
    uint64_t                     count = head->count <= TERN_DYNAMIC_RANGES ? head->count : 0;
    struct tern_mem_handle      *entries = malloc((count + 1) * sizeof(*entries));
    struct tern_dynamic_head     again;
    tern_status                  st = TERN_OK;

    if (!entries)
        return tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for a table of attached memory", what);
    if (count > 0)
        st = fetch(ctx, table, sizeof(*head), entries, count * sizeof(*entries), what);
    if (st == TERN_OK)
        st = fetch(ctx, table, 0, &again, sizeof(again), what);
    if (st == TERN_OK)
        st = again.sequence != head->sequence
                 ? TERN_AGAIN
                 : tern_core_dynamic_install(region, world, head->sequence, entries, count);
    free(entries);
    return st;
}

/* Find the range in a table that this process does not map. */
static tern_status look_remotely(tern_ctx *ctx, tern_region *region, int world, uint64_t addr, uint64_t len,
                                 const struct tern_dynamic_range **range, const char *what)
{
    struct tern_dynamic_head head;
    tern_status              st;

    do {
        if ((st = fetch(ctx, tern_core_dynamic_table(region, world), 0, &head, sizeof(head), what)) < 0)
            return st;
        st = head.sequence & 1 ? TERN_AGAIN : tern_core_dynamic_look(region, world, head.sequence, addr, len, range);
        if (st == TERN_AGAIN && !(head.sequence & 1) && (st = fetch_table(ctx, region, world, &head, what)) == TERN_OK)
            st = tern_core_dynamic_look(region, world, head.sequence, addr, len, range);
    } while (st == TERN_AGAIN);
    return st;
}

/* Find the range through a shared context. */
static tern_status look_remotely_shared(tern_ctx *ctx, tern_region *region, int world,
                                        const struct tern_api_location   *location,
                                        const struct tern_dynamic_range **range, const char *what)
{
    return TERN_API_LOCKED(inner, ctx,
                           look_remotely(inner, region, world, location->offset, location->len, range, what));
}

tern_status tern_api_locate(const tern_ctx *ctx, const tern_region *region, int rank, const char *what,
                            struct tern_api_location *location)
{
    tern_ctx                        *c = (tern_ctx *)(uintptr_t)ctx;
    tern_region                     *r = (tern_region *)(uintptr_t)region;
    int                              world = tern_core_team_world(ctx->team, rank);
    const struct tern_link_part     *table = tern_core_dynamic_table(region, world);
    const struct tern_dynamic_range *range = NULL;
    tern_status                      st = tern_api_alive(ctx, rank, what);

    if (st < 0 || location->len == 0)
        return st;
    if (table->base)
        st = tern_core_dynamic_read(r, world, location->offset, location->len, &range);
    else if (tern_api_is_shared(c))
        st = look_remotely_shared(c, r, world, location, &range, what);
    else
        st = look_remotely(c, r, world, location->offset, location->len, &range, what);
    if (st < 0)
        return st;
    if (!range)
        return tern_base_fail(TERN_ERR_RANGE, "%s: the %llu bytes at address 0x%llx of rank %d are not attached", what,
                              (unsigned long long)location->len, (unsigned long long)location->offset, rank);
    location->part = location->by_network ? &range->net : &range->part;
    location->offset -= range->part.addr;
    return TERN_OK;
}

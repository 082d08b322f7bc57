/* region_adopt.c: regions of the program's own memory, which becomes shared memory in place (adopt.h).
 *
 * All ranks check their memory. Then each node checks that it has space for the pages of its ranks, and the pages are
 * moved. The parts are then joined like those of any other region. If the call fails later, the pages are given
 * back. */
#include "base/bits.h"
#include "core/adopt.h"
#include "core/job.h"
#include "core/region_making.h"

/* Check whether the node has space for the pages of all its ranks. */
static tern_status check_space(const struct tern_making *m)
{
    uint64_t bytes = 0;

    for (int i = 0; i < m->team->size; i++)
        if (tern_boot_same_node(&tern_job.boot, tern_core_team_world(m->team, i)) &&
            __builtin_add_overflow(bytes, m->all[i].handle.size, &bytes))
            bytes = UINT64_MAX;
    return bytes > 0 ? tern_boot_space_check(bytes, "the adopted memory") : TERN_OK;
}

tern_status tern_core_region_adopt(struct tern_ctx *ctx, void *addr, uint64_t len, tern_status checked,
                                   struct tern_region **out)
{
    struct tern_making       m;
    struct tern_mem_handle   handle = { 0 };
    struct tern_contribution mine = { 0 };
    tern_status              st = tern_core_making_begin(&m, ctx, TERN_COLLECTIVE_REGION_ADOPT, checked);

    if (st == TERN_OK)
        st = tern_core_adopt_check(addr, len);
    mine.handle.size = st == TERN_OK ? tern_core_adopt_bytes(addr, len) : 0;
    if ((st = tern_core_making_exchange(&m, &mine, st)) == TERN_OK) {
        st = check_space(&m);
        st = tern_core_making_exchange(&m, &mine, st);
    }
    if (st < 0)
        return tern_core_making_end(&m, st, out);
    if (len > 0)
        st = tern_core_adopt_take(addr, len, &m.region->own);
    if (st == TERN_OK)
        handle = tern_core_making_handle(m.region, len, len);
    return tern_core_making_end(&m, tern_core_making_join(&m, &handle, st), out);
}

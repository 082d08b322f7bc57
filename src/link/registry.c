/* registry.c: the transports of this build, best first, and the chaos link that may wrap them. The build chooses the
 * files; this list names them. */
#include <inttypes.h>

#include "base/log.h"
#include "base/options.h"
#include "link/chaos/chaos.h"
#include "link/link.h"

extern const struct tern_link_ops tern_self_ops, tern_shm_ops, tern_ofi_ops, tern_tcp_ops;

const struct tern_link_ops *const tern_links[] = {
    &tern_self_ops,
    &tern_shm_ops,
#ifdef TERN_WITH_OFI
    &tern_ofi_ops,
#endif
    &tern_tcp_ops,
};
const unsigned tern_links_count = sizeof(tern_links) / sizeof(tern_links[0]);

_Static_assert(sizeof(tern_links) / sizeof(tern_links[0]) <= TERN_LINKS_MAX, "there is space for a lane per link");

/* Without a seed in the option, derive one from the job's number, which is random and equal on all ranks. */
static void choose_seed(const struct tern_boot *boot, struct tern_chaos *chaos)
{
    chaos->seed = (int64_t)(boot->segment->job >> 32);
    if (boot->rank == 0)
        tern_base_log(TERN_LOG_NOTE, "chaos: repeat this run with seed=%" PRId64 " in TERN_CHAOS", chaos->seed);
}

tern_status tern_links_tables(const struct tern_boot *boot, const struct tern_link_ops *table[TERN_LINKS_MAX])
{
    bool              wrapped = *tern_opt.chaos != '\0';
    struct tern_chaos chaos;
    tern_status       st = wrapped ? tern_base_chaos_parse(tern_opt.chaos, &chaos) : TERN_OK;

    if (st < 0)
        return st;
    if (wrapped && !chaos.seeded)
        choose_seed(boot, &chaos);
    for (unsigned i = 0; i < tern_links_count; i++)
        table[i] = wrapped ? tern_chaos_wrap(tern_links[i], &chaos) : tern_links[i]; /* there is a wrapper for each */
    return TERN_OK;
}

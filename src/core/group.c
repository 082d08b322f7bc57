/* group.c: choose the group that serves a team. */
#include "core/group.h"

#include "core/group_bruck.h"
#include "core/job.h"
#include "core/group_segment.h"

unsigned tern_core_group_apart;

static bool reaches_all(unsigned link, const struct tern_link_group *as)
{
    for (uint32_t i = 0; i < as->size; i++)
        if (!tern_job.ops[link]->reaches(tern_job.link[link], tern_link_group_world(as, i)))
            return false;
    return true;
}

tern_status tern_core_group_open(const struct tern_link_group *as, struct tern_link_group **out)
{
    bool                         apart = as->id == 0 && tern_core_group_apart != 0;
    const struct tern_group_ops *ops;

    for (unsigned i = 0; i < tern_job.links && !apart; i++)
        if (tern_job.ops[i]->group && reaches_all(i, as))
            return tern_job.ops[i]->group->open(tern_job.link[i], as, out);
    if (as->id != 0) /* a rank has one entry in the boot segment, for the world */
        return tern_base_fail(TERN_ERR_BOOT, "no link of this library reaches all %u ranks of a team", as->size);
    ops = tern_job.boot.segment->contributions ? &tern_core_segment_group : &tern_core_bruck_group;
    return ops->open(NULL, as, out);
}

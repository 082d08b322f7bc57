/* team.c: the public calls of tern/team.h. */
#include <tern/team.h>

#include "api/check.h"
#include "core/job.h"

static tern_team *if_running(tern_team *team)
{
    return atomic_load_explicit(&tern_job.phase, memory_order_acquire) == TERN_PHASE_RUNNING ? team : NULL;
}

tern_team *tern_team_world(void)
{
    return if_running(&tern_job.world);
}

tern_team *tern_team_node(void)
{
    return if_running(&tern_job.node);
}

int tern_team_rank(const tern_team *team)
{
    return team ? team->rank : -1;
}

int tern_team_size(const tern_team *team)
{
    return team ? team->size : -1;
}

tern_status tern_team_translate(const tern_team *from, int rank, const tern_team *to, int *out)
{
    tern_status st;

    if (!from || !to || !out)
        return tern_api_null("tern_team_translate", !from ? "from" : !to ? "to" : "out");
    if ((st = tern_core_job_running("tern_team_translate")) < 0)
        return st;
    if (rank < 0 || rank >= from->size)
        return tern_base_fail(TERN_ERR_RANGE, "tern_team_translate: no rank %d in a team of %d", rank, from->size);
    for (int i = 0; i < to->size; i++) {
        if (tern_core_team_world(to, i) == tern_core_team_world(from, rank)) {
            *out = i;
            return TERN_OK;
        }
    }
    return tern_base_fail(TERN_ERR_RANGE, "tern_team_translate: rank %d of the team from is not in the team to", rank);
}

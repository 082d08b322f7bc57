/* team.c: team_create: the time to create a team of all ranks, and to free it: by tern_team_dup, which is a split in
 * which all ranks have the same colour, and by tern_team_create, whose members exchange messages only among themselves.
 */
#include "perf.h"

static void by_split(struct perf_case *c, uint64_t iters)
{
    tern_team *team;

    for (uint64_t i = 0; i < iters; i++) {
        perf_must(tern_team_split(c->p->ctx, 0, c->p->rank, &team), "splitting a team");
        perf_must(tern_team_free(team), "freeing a team");
    }
}

static void by_members(struct perf_case *c, uint64_t iters)
{
    tern_team *team;

    for (uint64_t i = 0; i < iters; i++) {
        perf_must(tern_team_strided(tern_team_world(), 0, 1, c->p->ranks, 0, &team), "creating a team");
        perf_must(tern_team_free(team), "freeing a team");
    }
}

void perf_team_create(struct perf_case *c)
{
    static const struct perf_kernel k[] = { { PERF_ALL, by_split }, { PERF_ALL, by_members } };

    perf_measure(c, k, 2);
    perf_figure_time(c, 0, 1, "split");
    perf_figure_time(c, 1, 1, "members");
}

/* team.c: team_create: the time to create a team of all ranks: by tern_team_split, in which all ranks have the same
 * colour, and by tern_team_strided, whose members exchange messages only among themselves; and the time to free it.
 *
 * A slice creates and frees several teams in a row, without a barrier in between, whose time would count, too. The
 * figures are those of the slowest rank. */
#include <stdlib.h>

#include "perf.h"

#define TEAMS 8 /* teams of each kind in a slice */

struct times {
    double create, free; /* ns for one team */
};

static void create(struct perf *p, bool split, tern_team **team)
{
    if (split)
        perf_must(tern_team_split(p->ctx, 0, p->rank, team), "splitting a team");
    else
        perf_must(tern_team_strided(tern_team_world(), 0, 1, p->ranks, 0, team), "creating a team");
}

/* Create and free some teams. Returns the times of the slowest rank. */
static struct times slice(struct perf *p, bool split, uint64_t teams)
{
    struct times mine = { 0, 0 }, most = { 0, 0 };
    tern_team   *team;

    for (uint64_t i = 0; i < teams; i++) {
        int64_t start = measure_now(), created;

        create(p, split, &team);
        created = measure_now();
        perf_must(tern_team_free(team), "freeing a team");
        mine.create += (double)(created - start) / (double)teams;
        mine.free += (double)(measure_now() - created) / (double)teams;
    }
    perf_must(tern_allgather(p->ctx, &mine, sizeof(mine), p->gather), "all-gather");
    for (int i = 0; i < p->ranks; i++) {
        const struct times *of = (const struct times *)(const void *)p->gather + i;

        most.create = of->create > most.create ? of->create : most.create;
        most.free = of->free > most.free ? of->free : most.free;
    }
    return most;
}

void perf_team_create(struct perf_case *c)
{
    struct perf *p = c->p;
    double       split[PERF_MAX_REPEAT], members[PERF_MAX_REPEAT], release[PERF_MAX_REPEAT];
    uint64_t     teams = p->opt->iters > 0 ? p->opt->iters : TEAMS;

    slice(p, true, 1); /* the first ones connect ranks */
    slice(p, false, 1);
    for (size_t r = 0; r < p->repeat; r++) {
        struct times by_members;

        perf_progress((double)r / (double)p->repeat);
        split[r] = slice(p, true, teams).create;
        by_members = slice(p, false, teams);
        members[r] = by_members.create;
        release[r] = by_members.free;
    }
    perf_figure_values(c, split, "split", "ns");
    perf_figure_values(c, members, "members", "ns");
    perf_figure_values(c, release, "free", "ns");
}

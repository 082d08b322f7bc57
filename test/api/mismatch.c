/* mismatch.c: ranks of a team make different collective calls at the same time.
 *
 * Promise: if one rank calls tern_barrier and another rank calls another collective call, both calls return
 * TERN_ERR_ARG, and the text of each names its own call and the other's. Afterwards the team works. Two different calls
 * of which neither is tern_barrier are reported, too. A rank that is one call ahead of the others is no mismatch. All
 * of this holds for the team of all ranks, and for a team that the program has created.
 *
 * ranks: 2 3 4 8
 * env: TERN_TEST=apart=1
 * env: HWLOC_SYNTHETIC=core:8~pu:1 HWLOC_THISSYSTEM=0 TERN_SPIN=0 TERN_YIELDS=4
 * env: TERN_TEST=apart=2 TERN_ON_FAILURE=return
 * env: TERN_ON_FAILURE=return
 */
#include <sched.h>

#include "collective_test.h"

/* The team works: all members make the same calls. */
static void still_works(int round)
{
    int mine = tern_rank() + round, all[64];

    OK(tern_barrier(collective_ctx));
    OK(tern_allgather(collective_ctx, &mine, sizeof(mine), all));
    for (int i = 0; i < tern_size(); i++)
        SAME(all[i], i + round);
}

/* The odd rank makes one call, and all others the other. */
static void differ(int odd, const struct collective_call *one, const struct collective_call *other)
{
    const struct collective_call *mine = tern_rank() == odd ? one : other;
    char                          text[64];

    RETURNS(TERN_ERR_ARG, mine->make());
    snprintf(text, sizeof(text), "%s: rank ", mine->name);
    CHECK(strncmp(tern_error_detail(), text, strlen(text)) == 0);
    snprintf(text, sizeof(text), "called %s at the same time", mine == one ? other->name : one->name);
    SAYS(text);
    still_works(odd);
}

/* Barriers and all-gathers in turn, in which the ranks come and go at different times. */
static void in_turn(void)
{
    for (int i = 0; i < 2000; i++) {
        if (i % 7 == tern_rank())
            sched_yield();
        if (i % 3 == 0)
            OK(collective_barrier());
        else
            OK(collective_allgather());
    }
}

/* All pairs of calls on the team of a context. The odd rank takes turns with the others, up to the last one. */
static void all_pairs(tern_ctx *ctx, int last)
{
    collective_create(ctx);
    in_turn();
    for (int odd = 0; odd <= last; odd++)
        for (size_t i = 0; i < COLLECTIVE_CALLS; i++)
            for (size_t other = 0; other < COLLECTIVE_CALLS; other++)
                if (i != other && (i == 0 || other == 0 || odd == 0))
                    differ(odd, &collective_calls[i], &collective_calls[other]);
    in_turn();
    collective_free();
}

int main(void)
{
    tern_team *team;
    tern_ctx  *ctx;

    OK(tern_init());
    all_pairs(TERN_WORLD, tern_size() - 1);
    OK(tern_team_dup(TERN_WORLD, &team));
    OK(tern_ctx_create(team, TERN_RELAXED, &ctx));
    all_pairs(ctx, 1);
    OK(tern_ctx_free(ctx));
    OK(tern_team_free(team));
    OK(tern_finalize());
    return 0;
}

/* snippets_teams.c: the examples in the manual pages of the calls of tern/team.h. See snippets.c. */
#include <stdio.h>
#include <tern.h>

#pragma GCC diagnostic ignored "-Wunused-function"

#define CHECK(call)                             \
    do {                                        \
        if ((call) != TERN_OK)                  \
            tern_abort(1, tern_error_detail()); \
    } while (0)

/* tern_team_self, tern_team_size: Allocate memory that no other rank has a part of, as a region of its own. */
static tern_region *region_of_this_rank(void)
{
    tern_ctx    *ctx;
    tern_region *region;

    CHECK(tern_ctx_create(tern_team_self(), TERN_RELAXED, &ctx));
    CHECK(tern_region_create(ctx, 4096, NULL, &region));
    printf("a team of %d rank\n", tern_team_size(tern_ctx_team(ctx)));
    return region;
}

/* tern_team_create: The last rank and rank 0 create a team, in this order. The other ranks make no call. */
static tern_team *ends(void)
{
    int        ranks[2] = { tern_size() - 1, 0 };
    tern_team *team = NULL;

    if (tern_size() > 1 && (tern_rank() == 0 || tern_rank() == tern_size() - 1))
        CHECK(tern_team_create(tern_team_world(), ranks, 2, 1, &team));
    return team;
}

/* tern_team_strided: Create a team of all ranks in reverse order. */
static tern_team *reverse(void)
{
    tern_team *team;

    CHECK(tern_team_strided(tern_team_world(), tern_size() - 1, -1, tern_size(), 0, &team));
    return team;
}

/* tern_team_split, TERN_NO_COLOUR: Create a team for each row of a grid of ranks. The ranks that are left over when the
 * number of ranks is not a multiple of the number of columns get no team. */
static tern_team *row(int columns)
{
    int        rows = tern_size() / columns, mine = tern_rank() / columns;
    tern_team *team;

    CHECK(tern_team_split(TERN_WORLD, mine < rows ? mine : TERN_NO_COLOUR, tern_rank(), &team));
    return team;
}

/* tern_team_dup, tern_team_free: A library uses a team of its own, so that its messages do not match receives of the
 * program. */
static void library(tern_ctx *ctx)
{
    tern_team *team;
    tern_ctx  *own;

    CHECK(tern_team_dup(ctx, &team));
    CHECK(tern_ctx_create(team, TERN_RELAXED, &own));
    CHECK(tern_barrier(own));
    CHECK(tern_ctx_free(own));
    CHECK(tern_team_free(team));
}

/* tern_team_survivors: Continue with the ranks that are alive. The job runs with TERN_ON_FAILURE=return. */
static tern_ctx *go_on(tern_ctx *ctx)
{
    tern_team  *team;
    tern_ctx   *next;
    tern_status st;

    if (tern_barrier(ctx) != TERN_ERR_PEER)
        return ctx;
    while ((st = tern_team_survivors(ctx, &team)) == TERN_ERR_PEER)
        printf("again: %s\n", tern_error_detail());
    CHECK(st);
    CHECK(tern_ctx_create(team, TERN_RELAXED, &next));
    printf("%d ranks are left\n", tern_team_size(team));
    return next;
}

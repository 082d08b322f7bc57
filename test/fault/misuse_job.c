/* misuse_job.c: rank 0 makes the collective call that the first argument names, and rank 1 the call that the second
 * names. Neither returns: the script ends the job. The calls are those of the world or, if one is tern_team_free, of
 * another team. */
#include "collective_test.h"

/* Make a call that collective_calls does not contain. */
static void make_other(const char *name, tern_region *region, tern_am_client *client, tern_team *team)
{
    if (strcmp(name, "tern_region_free") == 0)
        RETURNS(TERN_PENDING, tern_region_free(region));
    else if (strcmp(name, "tern_am_client_free") == 0)
        RETURNS(TERN_PENDING, tern_am_client_free(client));
    else if (strcmp(name, "tern_team_free") == 0)
        RETURNS(TERN_PENDING, tern_team_free(team));
    else
        CHECK(strcmp(name, "tern_finalize") == 0);
}

int main(int argc, char **argv)
{
    tern_region    *region;
    tern_am_client *client;
    tern_team      *team;
    const char     *name;

    CHECK(argc == 3);
    OK(tern_init());
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &region));
    OK(tern_am_client_create(TERN_WORLD, NULL, &client));
    OK(tern_team_dup(TERN_WORLD, &team));
    collective_create(TERN_WORLD);
    name = argv[1 + tern_rank()];
    if (strcmp(argv[2 - tern_rank()], "tern_team_free") == 0) /* what the other rank calls */
        OK(tern_ctx_create(team, TERN_RELAXED, &collective_ctx));
    for (size_t i = 0; i < COLLECTIVE_CALLS; i++)
        if (strcmp(name, collective_calls[i].name) == 0)
            RETURNS(TERN_PENDING, collective_calls[i].make()); /* fails whenever it returns */
    make_other(name, region, client, team);
    tern_finalize();
    return 0;
}

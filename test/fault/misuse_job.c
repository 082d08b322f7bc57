/* misuse_job.c: rank 0 makes the collective call that the first argument names, and rank 1 the call that the second
 * names. Neither returns: the script ends the job. */
#include "collective_test.h"

int main(int argc, char **argv)
{
    tern_region *region;
    const char  *name;

    CHECK(argc == 3);
    OK(tern_init());
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &region));
    OK(tern_mutex_create(TERN_WORLD, 1, &collective_mutexes));
    name = argv[1 + tern_rank()];
    for (size_t i = 0; i < COLLECTIVE_CALLS; i++)
        if (strcmp(name, collective_calls[i].name) == 0)
            RETURNS(TERN_PENDING, collective_calls[i].make()); /* fails whenever it returns */
    if (strcmp(name, "tern_region_free") == 0)
        RETURNS(TERN_PENDING, tern_region_free(region));
    tern_finalize();
    return 0;
}

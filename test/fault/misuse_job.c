/* misuse_job.c: rank 0 calls tern_barrier, and rank 1 the call that the argument names. Both give up by their time
 * limit. */
#include "job_test.h"

int main(int argc, char **argv)
{
    tern_region *region;

    OK(tern_init());
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &region));
    if (tern_rank() == 0)
        RETURNS(TERN_ERR_TIMEOUT, tern_barrier(TERN_WORLD));
    else if (argc > 1 && strcmp(argv[1], "tern_region_free") == 0)
        RETURNS(TERN_ERR_TIMEOUT, tern_region_free(region));
    tern_finalize();
    return 0;
}

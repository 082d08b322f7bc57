/* job_tern.c: implements job.h with Tern. */
#include <math.h>
#include <stdlib.h>

#include "common/check.h"
#include "common/job.h"

int job_rank, job_size;

void job_begin(void)
{
    CHECK(tern_init());
    job_rank = tern_rank();
    job_size = tern_size();
}

void job_end(void)
{
    CHECK(tern_finalize());
}

void job_barrier(void)
{
    CHECK(tern_barrier(TERN_WORLD));
}

double job_max(double value)
{
    double *all = calloc((size_t)job_size, sizeof(double)), most = -INFINITY;

    if (!all)
        job_fail("no memory");
    CHECK(tern_allgather(TERN_WORLD, &value, sizeof(value), all));
    for (int i = 0; i < job_size; i++)
        most = fmax(most, all[i]);
    free(all);
    return most;
}

void job_fail(const char *text)
{
    tern_abort(1, text);
}

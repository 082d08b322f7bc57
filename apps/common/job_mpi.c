/* job_mpi.c: implements job.h with MPI. */
#include <mpi.h>
#include <stdio.h>

#include "common/job.h"

int job_rank, job_size;

void job_begin(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &job_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job_size);
}

void job_end(void)
{
    MPI_Finalize();
}

void job_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

double job_max(double value)
{
    double most;

    value = value == value ? value : -1.0 / 0.0;
    MPI_Allreduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

void job_fail(const char *text)
{
    fprintf(stderr, "rank %d: %s\n", job_rank, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
    __builtin_unreachable();
}

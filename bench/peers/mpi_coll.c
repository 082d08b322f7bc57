/* mpi_coll.c: collective calls of the MPI peer: the equivalents of tern-perf's broadcast, reduce, allreduce, allgather
 * and alltoall, with arrays in private memory. The size is the array of a broadcast or a reduction, and the block of
 * one rank in the others. Reductions add doubles. The root is rank 0. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_job.h"

static unsigned char *memory, *src, *dst;

bool mpi_coll_is(const struct job *j)
{
    static const char *const names[] = { "broadcast", "reduce", "allreduce", "allgather", "alltoall" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(j->test, names[i]) == 0)
            return true;
    return false;
}

/* Each array has room for a block of every rank. As in tern-perf, the result begins half a page behind a page boundary.
 */
void mpi_coll_open(const struct job *j)
{
    uint64_t room = (j->size * (uint64_t)j->ranks + MEASURE_PAGE - 1) / MEASURE_PAGE * MEASURE_PAGE;
    void    *bytes = NULL;

    if (posix_memalign(&bytes, MEASURE_PAGE, 2 * room + MEASURE_PAGE) != 0) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    memset(bytes, 0, 2 * room + MEASURE_PAGE);
    memory = src = bytes;
    dst = src + room + MEASURE_SKEW;
}

void mpi_coll_close(void)
{
    free(memory);
}

static void call(const struct job *j)
{
    int bytes = (int)j->size, words = (int)(j->size / sizeof(double));

    if (strcmp(j->test, "broadcast") == 0)
        MPI_Bcast(j->rank == 0 ? src : dst, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (strcmp(j->test, "reduce") == 0)
        MPI_Reduce(src, dst, words, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    else if (strcmp(j->test, "allreduce") == 0)
        MPI_Allreduce(src, dst, words, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(j->test, "allgather") == 0)
        MPI_Allgather(src, bytes, MPI_BYTE, dst, bytes, MPI_BYTE, MPI_COMM_WORLD);
    else
        MPI_Alltoall(src, bytes, MPI_BYTE, dst, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

void mpi_coll_calls(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++)
        call(j);
}

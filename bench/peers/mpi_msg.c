/* mpi_msg.c: tagged messages of the MPI peer: the equivalents of tern-perf's msg_lat, msg_bw, msg_rate, msg_bibw and
 * msg_depth, with MPI_Send, MPI_Recv, MPI_Isend and MPI_Irecv on private buffers. */
#include <mpi.h>
#include <string.h>

#include "mpi_job.h"

#define TAG 7
#define FIRST_KEPT 1000
#define MOST 65536

static MPI_Request requests[2 * MOST];
static MPI_Status  statuses[2 * MOST]; /* with MPICH, MPI_STATUSES_IGNORE causes a warning about a short array */

bool mpi_msg_is(const struct job *j)
{
    return strncmp(j->test, "msg_", 4) == 0;
}

static void pingpong(struct job *j, uint64_t iters, int len)
{
    for (uint64_t i = 0; i < iters; i++) {
        if (j->rank == 0)
            MPI_Send(j->local, len, MPI_BYTE, j->peer, TAG, MPI_COMM_WORLD);
        MPI_Recv(j->local, len, MPI_BYTE, j->peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (j->rank != 0)
            MPI_Send(j->local, len, MPI_BYTE, j->peer, TAG, MPI_COMM_WORLD);
    }
}

void mpi_msg_pingpong(struct job *j, uint64_t iters)
{
    pingpong(j, iters, (int)j->size);
}

void mpi_msg_word_pingpong(struct job *j, uint64_t iters)
{
    pingpong(j, iters, (int)sizeof(uint64_t));
}

void mpi_msg_windows(struct job *j, uint64_t iters)
{
    uint64_t word = 0;

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < j->window; w++) {
            if (j->rank == 0)
                MPI_Isend(j->local + w * j->stride, (int)j->size, MPI_BYTE, j->peer, TAG, MPI_COMM_WORLD, &requests[w]);
            else
                MPI_Irecv(j->local + w * j->stride, (int)j->size, MPI_BYTE, j->peer, TAG, MPI_COMM_WORLD, &requests[w]);
        }
        MPI_Waitall((int)j->window, requests, statuses);
        if (j->rank == 0)
            MPI_Recv(&word, sizeof(word), MPI_BYTE, j->peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&word, sizeof(word), MPI_BYTE, j->peer, TAG, MPI_COMM_WORLD);
    }
}

/* All ranks exchange messages in pairs. */
void mpi_msg_both_ways(struct job *j, uint64_t iters)
{
    int target = (j->rank + j->ranks / 2) % j->ranks, source = (j->rank + j->ranks - j->ranks / 2) % j->ranks;
    int window = (int)j->window;

    for (uint64_t i = 0; i < iters; i++) {
        for (int w = 0; w < window; w++)
            MPI_Irecv(j->mine + (uint64_t)w * j->stride, (int)j->size, MPI_BYTE, source, TAG, MPI_COMM_WORLD,
                      &requests[w]);
        for (int w = 0; w < window; w++)
            MPI_Isend(j->local + (uint64_t)w * j->stride, (int)j->size, MPI_BYTE, target, TAG, MPI_COMM_WORLD,
                      &requests[window + w]);
        MPI_Waitall(2 * window, requests, statuses);
    }
}

/* mpi_msg_keep: ranks 0 and 1 get as many unexpected messages as the size says. mpi_msg_drop: receive them. */
void mpi_msg_keep(struct job *j)
{
    for (uint64_t i = 0; i < j->size && j->rank < 2; i++)
        MPI_Send(j->local, sizeof(uint64_t), MPI_BYTE, j->peer, (int)(FIRST_KEPT + i), MPI_COMM_WORLD);
    if (j->rank < 2)
        mpi_msg_word_pingpong(j, 1);
}

void mpi_msg_drop(struct job *j)
{
    for (uint64_t i = 0; i < j->size && j->rank < 2; i++)
        MPI_Recv(j->local, sizeof(uint64_t), MPI_BYTE, j->peer, (int)(FIRST_KEPT + i), MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* message_mpi.c: implements message.h with MPI. */
#include <mpi.h>
#include <stdlib.h>

#include "common/job.h"
#include "common/message.h"

static MPI_Request *requests;
static int          count, capacity;

void message_open(void)
{
    count = capacity = 0;
    requests = NULL;
}

void message_close(void)
{
    free(requests);
}

void message_send(int to, int tag, const void *data, size_t bytes)
{
    MPI_Send(data, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

void message_start(int to, int tag, const void *data, size_t bytes)
{
    if (count == capacity) {
        capacity = capacity ? 2 * capacity : 1024;
        requests = realloc(requests, (size_t)capacity * sizeof(*requests));
        if (!requests)
            job_fail("no memory for requests");
    }
    MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &requests[count++]);
}

void message_finish(void)
{
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    count = 0;
}

void message_receive(int from, int tag, void *data, size_t bytes)
{
    MPI_Recv(data, (int)bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

bool message_look(int *from, int *tag)
{
    MPI_Status status;
    int        there;

    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
    if (there) {
        *from = status.MPI_SOURCE;
        *tag = status.MPI_TAG;
    }
    return there;
}

void message_probe(int *from, int *tag)
{
    MPI_Status status;

    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    *from = status.MPI_SOURCE;
    *tag = status.MPI_TAG;
}

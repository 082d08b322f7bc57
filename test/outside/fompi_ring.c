/* fompi_ring.c: a program of foMPI outside the project, built against an installed copy, as C99 and as C++. Each rank
 * puts its number to the next one and waits for the notification of the one before. */
#include <stdio.h>

#include <fompi.h>

int main(int argc, char **argv)
{
    int           me, n, next, before, value, *memory;
    foMPI_Win     win;
    foMPI_Request request;
    MPI_Status    status;

    if (foMPI_Init(&argc, &argv) != MPI_SUCCESS)
        return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    next = (me + 1) % n;
    before = (me + n - 1) % n;
    value = 1000 + me;
    foMPI_Win_allocate((MPI_Aint)sizeof value, (int)sizeof value, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    foMPI_Notify_init(win, before, 7, 1, &request);
    foMPI_Start(&request);
    foMPI_Put_notify(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win, 7);
    foMPI_Wait(&request, &status);
    if (*memory != 1000 + before || status.MPI_SOURCE != before || status.MPI_TAG != 7) {
        fprintf(stderr, "the value of the previous rank is missing\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (me == 0)
        printf("a ring of %d\n", n);
    foMPI_Request_free(&request);
    foMPI_Win_free(&win);
    return foMPI_Finalize();
}

/* notify_ring.c: a program of notified access for MPI programs outside the project, built against an installed copy, as
 * C99 and as C++. Each rank puts its number to the next one and waits for the notification of the one before. With
 * MPI_NAMES, the requests and the flush have the names of MPI, which tern-notify-pmpi intercepts. */
#include <stdio.h>

#include <mpi_notify.h>

#ifdef MPI_NAMES
#define FORM(name) MPI_##name
#else
#define FORM(name) MPIX_##name
#endif

int main(int argc, char **argv)
{
    int         me, n, next, before, value, *memory;
    MPI_Win     win;
    MPI_Request request;
    MPI_Status  status;

    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    next = (me + 1) % n;
    before = (me + n - 1) % n;
    value = 1000 + me;
    MPIX_Win_allocate_notify((MPI_Aint)sizeof value, (int)sizeof value, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPIX_Notify_init(win, before, 7, 1, &request);
    FORM(Start)(&request);
    MPIX_Put_notify(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win, 7);
    FORM(Wait)(&request, &status);
    if (*memory != 1000 + before || status.MPI_SOURCE != before || status.MPI_TAG != 7) {
        fprintf(stderr, "the value of the previous rank is missing\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (me == 0)
        printf("a ring of %d\n", n);
    FORM(Request_free)(&request);
    FORM(Win_free)(&win);
    return MPI_Finalize();
}

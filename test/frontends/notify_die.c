/* notify_die.c: the last rank dies, and the other ranks wait for it in the way that the argument names: for a
 * notification (wait, any, all, some, test, probe), for room in its queue (put), for the result of an access (get), for
 * the mutex of an accumulate (mutex), or in MPI (recv). notify_mpi.sh expects how the job ends.
 */
#include <signal.h>

#include "notify_test.h"

static MPI_Win     win;
static MPI_Request request;
static int         dead;

/* Wait for the notification in one of the calls for requests. */
static void wait_by(const char *how)
{
    int index, flag = 0;

    if (strcmp(how, "any") == 0)
        (void)MPIX_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
    else if (strcmp(how, "all") == 0)
        (void)MPIX_Waitall(1, &request, MPI_STATUSES_IGNORE);
    else if (strcmp(how, "some") == 0)
        (void)MPIX_Waitsome(1, &request, &flag, &index, MPI_STATUSES_IGNORE);
    else if (strcmp(how, "probe") == 0)
        (void)MPIX_Probe_notify(dead, 2, win, MPI_STATUS_IGNORE);
    else if (strcmp(how, "test") == 0)
        while (!flag)
            (void)MPIX_Test(&request, &flag, MPI_STATUS_IGNORE);
    else
        (void)MPIX_Wait(&request, MPI_STATUS_IGNORE);
}

static void wait_for_the_dead(const char *how)
{
    int one = 1, old;

    if (strcmp(how, "put") == 0)
        for (;;)
            (void)MPIX_Put_notify(&one, 1, MPI_INT, dead, 0, 1, MPI_INT, win, 1);
    else if (strcmp(how, "get") == 0)
        for (;;)
            (void)MPIX_Get_notify(&old, 1, MPI_INT, dead, 0, 1, MPI_INT, win, 1);
    else if (strcmp(how, "mutex") == 0)
        for (;;)
            (void)MPIX_Fetch_and_op_notify(&one, &old, MPI_INT, dead, 0, MPI_LXOR, win, 1);
    else if (strcmp(how, "recv") == 0)
        (void)MPI_Recv(&one, 1, MPI_INT, dead, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        wait_by(how);
}

int main(int argc, char **argv)
{
    char *memory;

    notify_begin(&argc, &argv);
    dead = notify_size - 1;
    MPI(MPIX_Win_allocate_notify(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI(MPIX_Notify_init(win, dead, 1, 1, &request));
    MPI(MPIX_Start(&request));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (notify_rank == dead)
        (void)raise(SIGKILL);
    wait_for_the_dead(argc > 1 ? argv[1] : "wait");
    notify_case = "the end of a wait for a rank that is dead";
    CHECK(0);
}

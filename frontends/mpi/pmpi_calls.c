/* pmpi_calls.c: the calls of MPI that tern-notify-pmpi intercepts.
 *
 * Requests: each call makes the call of mpi_notify.h, which calls MPI for requests of MPI. Windows: calls that complete
 * accesses of MPI also complete notified accesses. MPI_Init starts notified access, so that the first window may have
 * any communicator.
 */
#include <stddef.h>

#include "mpi_notify.h"

#define PMPI_EXPORT __attribute__((visibility("default")))

/* Start notified access. The calls below complete requests of accesses that are outstanding. */
static int start(void)
{
    int error = MPIX_Notify_start();

    return error != MPI_SUCCESS ? error : MPIX_Notify_defer(1);
}

PMPI_EXPORT int MPI_Init(int *argc, char ***argv)
{
    int error = PMPI_Init(argc, argv);

    return error != MPI_SUCCESS ? error : start();
}

PMPI_EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int error = PMPI_Init_thread(argc, argv, required, provided);

    return error != MPI_SUCCESS ? error : start();
}

PMPI_EXPORT int MPI_Start(MPI_Request *request)
{
    return MPIX_Start(request);
}

PMPI_EXPORT int MPI_Startall(int count, MPI_Request array_of_requests[])
{
    return MPIX_Startall(count, array_of_requests);
}

PMPI_EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    return MPIX_Wait(request, status);
}

PMPI_EXPORT int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    return MPIX_Test(request, flag, status);
}

PMPI_EXPORT int MPI_Waitany(int count, MPI_Request array_of_requests[], int *index, MPI_Status *status)
{
    return MPIX_Waitany(count, array_of_requests, index, status);
}

PMPI_EXPORT int MPI_Testany(int count, MPI_Request array_of_requests[], int *index, int *flag, MPI_Status *status)
{
    return MPIX_Testany(count, array_of_requests, index, flag, status);
}

PMPI_EXPORT int MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[])
{
    return MPIX_Waitall(count, array_of_requests, array_of_statuses);
}

PMPI_EXPORT int MPI_Testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status array_of_statuses[])
{
    return MPIX_Testall(count, array_of_requests, flag, array_of_statuses);
}

PMPI_EXPORT int MPI_Waitsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                             MPI_Status array_of_statuses[])
{
    return MPIX_Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

PMPI_EXPORT int MPI_Testsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                             MPI_Status array_of_statuses[])
{
    return MPIX_Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

PMPI_EXPORT int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    return MPIX_Request_get_status(request, flag, status);
}

PMPI_EXPORT int MPI_Request_free(MPI_Request *request)
{
    return MPIX_Request_free(request);
}

PMPI_EXPORT int MPI_Cancel(MPI_Request *request)
{
    return MPIX_Cancel(request);
}

/* ---- windows ---- */

/* Complete the notified accesses of a window, if it is a window for notified accesses. */
static int flush(MPI_Win win)
{
    int is_notify;

    (void)MPIX_Win_is_notify(win, &is_notify);
    return is_notify ? MPIX_Win_flush_all(win) : MPI_SUCCESS;
}

PMPI_EXPORT int MPI_Win_free(MPI_Win *win)
{
    int is_notify = 1; /* MPIX_Win_free reports a pointer that is NULL */

    if (win != NULL)
        (void)MPIX_Win_is_notify(*win, &is_notify);
    return is_notify ? MPIX_Win_free(win) : PMPI_Win_free(win);
}

PMPI_EXPORT int MPI_Win_flush(int rank, MPI_Win win)
{
    int is_notify, error = MPI_SUCCESS;

    (void)MPIX_Win_is_notify(win, &is_notify);
    if (is_notify)
        error = MPIX_Win_flush(rank, win);
    return error != MPI_SUCCESS ? error : PMPI_Win_flush(rank, win);
}

PMPI_EXPORT int MPI_Win_flush_local(int rank, MPI_Win win)
{
    int is_notify, error = MPI_SUCCESS;

    (void)MPIX_Win_is_notify(win, &is_notify);
    if (is_notify)
        error = MPIX_Win_flush_local(rank, win);
    return error != MPI_SUCCESS ? error : PMPI_Win_flush_local(rank, win);
}

PMPI_EXPORT int MPI_Win_flush_all(MPI_Win win)
{
    int error = flush(win);

    return error != MPI_SUCCESS ? error : PMPI_Win_flush_all(win);
}

PMPI_EXPORT int MPI_Win_flush_local_all(MPI_Win win)
{
    int is_notify, error = MPI_SUCCESS;

    (void)MPIX_Win_is_notify(win, &is_notify);
    if (is_notify)
        error = MPIX_Win_flush_local_all(win);
    return error != MPI_SUCCESS ? error : PMPI_Win_flush_local_all(win);
}

PMPI_EXPORT int MPI_Win_unlock(int rank, MPI_Win win)
{
    int error = flush(win);

    return error != MPI_SUCCESS ? error : PMPI_Win_unlock(rank, win);
}

PMPI_EXPORT int MPI_Win_unlock_all(MPI_Win win)
{
    int error = flush(win);

    return error != MPI_SUCCESS ? error : PMPI_Win_unlock_all(win);
}

PMPI_EXPORT int MPI_Win_fence(int assertion, MPI_Win win)
{
    int error = flush(win);

    return error != MPI_SUCCESS ? error : PMPI_Win_fence(assertion, win);
}

PMPI_EXPORT int MPI_Win_complete(MPI_Win win)
{
    int error = flush(win);

    return error != MPI_SUCCESS ? error : PMPI_Win_complete(win);
}

/* notify_fortran.c: the functions behind the Fortran module (include/mpi_notify.f90). They take the handles of Fortran,
 * which are integers. The type MPI_Status of mpi_f08 has the same components as in C, with MPICH and Open MPI. */
#include <stdlib.h>

#include "mpi_notify_f.h"
#include "notify_window.h"

NOTIFY_EXPORT int MPIX_Win_allocate_notify_f(MPI_Aint size, int unit, MPI_Fint info, MPI_Fint comm, void *base,
                                             MPI_Fint *win)
{
    MPI_Win handle;
    int     error = MPIX_Win_allocate_notify(size, unit, MPI_Info_f2c(info), MPI_Comm_f2c(comm), base, &handle);

    if (error == MPI_SUCCESS)
        *win = MPI_Win_c2f(handle);
    return error;
}

NOTIFY_EXPORT int MPIX_Win_create_notify_f(void *base, MPI_Aint size, int unit, MPI_Fint info, MPI_Fint comm,
                                           MPI_Fint *win)
{
    MPI_Win handle;
    int     error = MPIX_Win_create_notify(base, size, unit, MPI_Info_f2c(info), MPI_Comm_f2c(comm), &handle);

    if (error == MPI_SUCCESS)
        *win = MPI_Win_c2f(handle);
    return error;
}

NOTIFY_EXPORT int MPIX_Win_free_f(MPI_Fint *win)
{
    MPI_Win handle = MPI_Win_f2c(*win);
    int     error = MPIX_Win_free(&handle);

    *win = MPI_Win_c2f(handle);
    return error;
}

NOTIFY_EXPORT int MPIX_Access_notify_f(int kind, void *origin, const MPI_Fint *counts, const MPI_Fint *types, int rank,
                                       MPI_Aint disp, MPI_Fint win, int tag, MPI_Fint *request)
{
    MPI_Datatype here = MPI_Type_f2c(types[0]), there = MPI_Type_f2c(types[1]);
    MPI_Win      where = MPI_Win_f2c(win);
    MPI_Request  handle = MPI_REQUEST_NULL;
    int          error;

    switch (kind) {
    case 0: return MPIX_Put_notify(origin, counts[0], here, rank, disp, counts[1], there, where, tag);
    case 1: return MPIX_Get_notify(origin, counts[0], here, rank, disp, counts[1], there, where, tag);
    case 2: error = MPIX_Rput_notify(origin, counts[0], here, rank, disp, counts[1], there, where, tag, &handle); break;
    default: error = MPIX_Rget_notify(origin, counts[0], here, rank, disp, counts[1], there, where, tag, &handle);
    }
    *request = MPI_Request_c2f(handle);
    return error;
}

NOTIFY_EXPORT int MPIX_Accumulate_notify_f(const void *origin, const MPI_Fint *counts, const MPI_Fint *types, int rank,
                                           MPI_Aint disp, MPI_Fint op, MPI_Fint win, int tag)
{
    return MPIX_Accumulate_notify(origin, counts[0], MPI_Type_f2c(types[0]), rank, disp, counts[1],
                                  MPI_Type_f2c(types[1]), MPI_Op_f2c(op), MPI_Win_f2c(win), tag);
}

NOTIFY_EXPORT int MPIX_Raccumulate_notify_f(const void *origin, const MPI_Fint *counts, const MPI_Fint *types, int rank,
                                            MPI_Aint disp, MPI_Fint op, MPI_Fint win, int tag, MPI_Fint *request)
{
    MPI_Request handle = MPI_REQUEST_NULL;
    int         error = MPIX_Raccumulate_notify(origin, counts[0], MPI_Type_f2c(types[0]), rank, disp, counts[1],
                                                MPI_Type_f2c(types[1]), MPI_Op_f2c(op), MPI_Win_f2c(win), tag, &handle);

    *request = MPI_Request_c2f(handle);
    return error;
}

NOTIFY_EXPORT int MPIX_Get_accumulate_notify_f(const void *origin, void *result, const MPI_Fint *counts,
                                               const MPI_Fint *types, int rank, MPI_Aint disp, MPI_Fint op,
                                               MPI_Fint win, int tag)
{
    return MPIX_Get_accumulate_notify(origin, counts[0], MPI_Type_f2c(types[0]), result, counts[1],
                                      MPI_Type_f2c(types[1]), rank, disp, counts[2], MPI_Type_f2c(types[2]),
                                      MPI_Op_f2c(op), MPI_Win_f2c(win), tag);
}

NOTIFY_EXPORT int MPIX_Fetch_and_op_notify_f(const void *origin, void *result, MPI_Fint datatype, int rank,
                                             MPI_Aint disp, MPI_Fint op, MPI_Fint win, int tag)
{
    return MPIX_Fetch_and_op_notify(origin, result, MPI_Type_f2c(datatype), rank, disp, MPI_Op_f2c(op),
                                    MPI_Win_f2c(win), tag);
}

NOTIFY_EXPORT int MPIX_Compare_and_swap_notify_f(const void *origin, const void *compare, void *result,
                                                 MPI_Fint datatype, int rank, MPI_Aint disp, MPI_Fint win, int tag)
{
    return MPIX_Compare_and_swap_notify(origin, compare, result, MPI_Type_f2c(datatype), rank, disp, MPI_Win_f2c(win),
                                        tag);
}

NOTIFY_EXPORT int MPIX_Win_flush_f(int how, int rank, MPI_Fint win)
{
    MPI_Win handle = MPI_Win_f2c(win);

    switch (how) {
    case 0: return MPIX_Win_flush(rank, handle);
    case 1: return MPIX_Win_flush_local(rank, handle);
    case 2: return MPIX_Win_flush_all(handle);
    default: return MPIX_Win_flush_local_all(handle);
    }
}

NOTIFY_EXPORT int MPIX_Notify_init_f(MPI_Fint win, int source, int tag, int count, MPI_Fint *request)
{
    MPI_Request handle = MPI_REQUEST_NULL;
    int         error = MPIX_Notify_init(MPI_Win_f2c(win), source, tag, count, &handle);

    *request = MPI_Request_c2f(handle);
    return error;
}

NOTIFY_EXPORT int MPIX_Probe_notify_f(int source, int tag, MPI_Fint win, int *flag, MPI_Status *status)
{
    int error, found = 1;

    if (*flag < 0)
        error = MPIX_Probe_notify(source, tag, MPI_Win_f2c(win), status);
    else
        error = MPIX_Iprobe_notify(source, tag, MPI_Win_f2c(win), &found, status);
    *flag = found && error == MPI_SUCCESS;
    return error;
}

NOTIFY_EXPORT int MPIX_Win_test_notify_f(MPI_Fint win, int tag, int *flag)
{
    int error, found = 1;

    if (*flag < 0)
        error = MPIX_Win_wait_notify(MPI_Win_f2c(win), tag);
    else
        error = MPIX_Win_test_notify(MPI_Win_f2c(win), tag, &found);
    *flag = found && error == MPI_SUCCESS;
    return error;
}

NOTIFY_EXPORT int MPIX_Start_f(MPI_Fint *request)
{
    MPI_Request handle = MPI_Request_f2c(*request);
    int         error = MPIX_Start(&handle);

    *request = MPI_Request_c2f(handle);
    return error;
}

NOTIFY_EXPORT int MPIX_Test_f(MPI_Fint *request, int *flag, MPI_Status *status)
{
    MPI_Request handle = MPI_Request_f2c(*request);
    int         error, found = 1;

    error = *flag < 0 ? MPIX_Wait(&handle, status) : MPIX_Test(&handle, &found, status);
    *flag = found && error == MPI_SUCCESS;
    *request = MPI_Request_c2f(handle);
    return error;
}

/* Return the handles of the requests in C; NULL: there is no memory, and *error is the code. */
static MPI_Request *handles_of(int count, const MPI_Fint *requests, const char *call, int *error)
{
    MPI_Request *handles = malloc((size_t)(count > 0 ? count : 1) * sizeof *handles);

    if (handles == NULL) {
        *error = tern_mpi_code(MPI_ERR_NO_MEM, call, "there is no memory for %d requests", count);
        MPI_Comm_call_errhandler(MPI_COMM_WORLD, *error);
    }
    for (int i = 0; handles != NULL && i < count; i++)
        handles[i] = MPI_Request_f2c(requests[i]);
    return handles;
}

/* Store the handles in the Fortran array, and free the C array. */
static void give_back(int count, MPI_Fint *requests, MPI_Request *handles)
{
    for (int i = 0; i < count; i++)
        requests[i] = MPI_Request_c2f(handles[i]);
    free(handles);
}

NOTIFY_EXPORT int MPIX_Testany_f(int count, MPI_Fint *requests, int *index, int *flag, MPI_Status *status)
{
    bool         wait = *flag < 0;
    int          error;
    MPI_Request *handles = handles_of(count, requests, wait ? "MPIX_Waitany" : "MPIX_Testany", &error);

    if (handles == NULL)
        return error;
    error = wait ? MPIX_Waitany(count, handles, index, status) : MPIX_Testany(count, handles, index, flag, status);
    give_back(count, requests, handles);
    return error;
}

NOTIFY_EXPORT int MPIX_Several_f(int how, int count, MPI_Fint *requests, int *result, int *indices,
                                 MPI_Status *statuses, const MPI_Status *ignored)
{
    static const char *const names[] = { "MPIX_Startall", "MPIX_Waitall", "MPIX_Testall", "MPIX_Waitsome",
                                         "MPIX_Testsome" };
    int                      error;
    MPI_Request             *handles = handles_of(count, requests, names[how], &error);

    if (handles == NULL)
        return error;
    if (statuses == ignored)
        statuses = MPI_STATUSES_IGNORE;
    switch (how) {
    case 0: error = MPIX_Startall(count, handles); break;
    case 1: error = MPIX_Waitall(count, handles, statuses); break;
    case 2: error = MPIX_Testall(count, handles, result, statuses); break;
    case 3: error = MPIX_Waitsome(count, handles, result, indices, statuses); break;
    default: error = MPIX_Testsome(count, handles, result, indices, statuses);
    }
    give_back(count, requests, handles);
    return error;
}

NOTIFY_EXPORT int MPIX_Cancel_f(MPI_Fint *request)
{
    MPI_Request handle = MPI_Request_f2c(*request);
    int         error = MPIX_Cancel(&handle);

    *request = MPI_Request_c2f(handle);
    return error;
}

NOTIFY_EXPORT int MPIX_Request_get_status_f(MPI_Fint request, int *flag, MPI_Status *status)
{
    return MPIX_Request_get_status(MPI_Request_f2c(request), flag, status);
}

NOTIFY_EXPORT int MPIX_Win_is_notify_f(MPI_Fint win, int *flag)
{
    return MPIX_Win_is_notify(MPI_Win_f2c(win), flag);
}

NOTIFY_EXPORT int MPIX_Request_free_f(MPI_Fint *request)
{
    MPI_Request handle = MPI_Request_f2c(*request);
    int         error = MPIX_Request_free(&handle);

    *request = MPI_Request_c2f(handle);
    return error;
}

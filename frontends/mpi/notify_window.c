/* notify_window.c: windows for notified accesses: their records. notify_create.c makes and frees windows. */
#include <stdlib.h>

#include "notify_create.h"
#include "notify_window.h"

struct tern_notify_window *tern_notify_windows[1 << TERN_NOTIFY_WINDOW_BITS];

int tern_notify_raise(struct tern_notify_window *w, int code)
{
    MPI_Win_call_errhandler(w->handle, code);
    return code;
}

int tern_notify_no_window(MPI_Win handle, const char *call)
{
    int code = tern_mpi_code(MPI_ERR_WIN, call,
                             "%s; MPIX_Win_allocate_notify and MPIX_Win_create_notify make windows for notified "
                             "accesses",
                             handle == MPI_WIN_NULL ? "the window is MPI_WIN_NULL, or was freed"
                                                    : "the window is not one for notified accesses");

    if (handle != MPI_WIN_NULL)
        MPI_Win_call_errhandler(handle, code);
    else
        MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
    return code;
}

int tern_notify_no_place(struct tern_notify_window *w, const char *call)
{
    int code = tern_mpi_code(MPI_ERR_ARG, call, "a pointer through which the call returns a value is NULL");

    if (w != NULL)
        return tern_notify_raise(w, code);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
    return code;
}

struct tern_notify_window *tern_notify_window_find(MPI_Win handle)
{
    struct tern_notify_window *w = NULL;
    int                        found = 0;

    if (handle == MPI_WIN_NULL || !tern_mpi_running || tern_notify_keyval == MPI_KEYVAL_INVALID ||
        MPI_Win_get_attr(handle, tern_notify_keyval, &w, &found) != MPI_SUCCESS || !found)
        return NULL;
    /* release: the record before its place in the table. Pairs with the acquire in tern_notify_window_of. */
    __atomic_store_n(&tern_notify_windows[tern_notify_window_slot(handle)], w, __ATOMIC_RELEASE);
    return w;
}

NOTIFY_EXPORT int MPIX_Win_is_notify(MPI_Win win, int *flag)
{
    if (flag == NULL)
        return tern_notify_no_place(NULL, "MPIX_Win_is_notify");
    *flag = tern_notify_window_of(win) != NULL;
    return MPI_SUCCESS;
}

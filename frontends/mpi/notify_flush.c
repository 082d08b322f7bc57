/* notify_flush.c: the calls that complete notified accesses.
 *
 * Only puts to processes that are not near, and gets from other nodes, may be outstanding (notify_access.c). The local
 * completion of Tern (tern_quiet_local) does not include gets. Therefore a local flush calls tern_quiet if gets may be
 * outstanding.
 */
#include "notify_access.h"

/* Find the window of a call, and check the rank. */
static int find(MPI_Win win, int rank, const char *call, struct tern_notify_window **out)
{
    struct tern_notify_window *w = *out = tern_notify_window_of(win);

    if (w == NULL)
        return tern_notify_no_window(win, call);
    if (rank == MPI_PROC_NULL || (rank >= 0 && rank < w->size))
        return MPI_SUCCESS;
    return tern_notify_raise(w, tern_mpi_code(MPI_ERR_RANK, call,
                                              "there is no rank %d in the window, which has the ranks 0 to %d", rank,
                                              w->size - 1));
}

/* Complete all accesses of a window. */
static tern_status flush(struct tern_notify_window *w)
{
    uint64_t    gets = __atomic_load_n(&w->gets, __ATOMIC_RELAXED); /* as in tern_notify_gets_outstanding */
    tern_status status = tern_quiet(w->ctx);

    /* release: the data of the gets. Pairs with the acquire in tern_notify_gets_outstanding. If another thread has
     * stored a greater number in the meantime, the next local flush calls tern_quiet although no get is outstanding. */
    if (status == TERN_OK)
        __atomic_store_n(&w->gets_done, gets, __ATOMIC_RELEASE);
    return status;
}

/* Complete all accesses of a window at the origin. */
static tern_status flush_local(struct tern_notify_window *w)
{
    return tern_notify_gets_outstanding(w) ? flush(w) : tern_quiet_local(w->ctx);
}

NOTIFY_EXPORT int MPIX_Win_flush(int rank, MPI_Win win)
{
    struct tern_notify_window *w;
    int                        error = find(win, rank, "MPIX_Win_flush", &w);

    if (error != MPI_SUCCESS || rank == MPI_PROC_NULL)
        return error;
    return tern_notify_finish(w, tern_quiet_rank(w->ctx, rank), "MPIX_Win_flush");
}

NOTIFY_EXPORT int MPIX_Win_flush_local(int rank, MPI_Win win)
{
    struct tern_notify_window *w;
    int                        error = find(win, rank, "MPIX_Win_flush_local", &w);

    if (error != MPI_SUCCESS || rank == MPI_PROC_NULL)
        return error;
    return tern_notify_finish(w, flush_local(w), "MPIX_Win_flush_local");
}

NOTIFY_EXPORT int MPIX_Win_flush_all(MPI_Win win)
{
    struct tern_notify_window *w;
    int                        error = find(win, 0, "MPIX_Win_flush_all", &w);

    return error != MPI_SUCCESS ? error : tern_notify_finish(w, flush(w), "MPIX_Win_flush_all");
}

NOTIFY_EXPORT int MPIX_Win_flush_local_all(MPI_Win win)
{
    struct tern_notify_window *w;
    int                        error = find(win, 0, "MPIX_Win_flush_local_all", &w);

    return error != MPI_SUCCESS ? error : tern_notify_finish(w, flush_local(w), "MPIX_Win_flush_local_all");
}

/* fompi_flush.c: completion of accesses within an epoch. The calls also complete notified accesses, which need no
 * epoch. */
#include "fompi_state.h"

int tern_fompi_flush(struct tern_fompi_win *win, int rank, const char *call)
{
    tern_status status = rank == TERN_FOMPI_ALL ? tern_quiet(win->ctx) : tern_quiet_rank(win->ctx, rank), last;

    if (rank == TERN_FOMPI_ALL)
        win->reads = false;
    if (win->combines) {
        last = rank == TERN_FOMPI_ALL ? tern_quiet(win->acc_ctx) : tern_quiet_rank(win->acc_ctx, rank);
        status = status != TERN_OK ? status : last;
        win->combines = rank != TERN_FOMPI_ALL;
    }
    return tern_fompi_result(status, call, "completing the accesses");
}

/* Wait until the buffers of all accesses may be used again. */
static int flush_local(struct tern_fompi_win *win, const char *call)
{
    if (win->reads || win->combines) /* the data of gets must have arrived */
        return tern_fompi_flush(win, TERN_FOMPI_ALL, call);
    return tern_fompi_result(tern_quiet_local(win->ctx), call, "completing the accesses at the origin");
}

FOMPI_EXPORT int foMPI_Win_flush(int rank, foMPI_Win handle)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if ((unsigned)rank >= (unsigned)win->size)
        return tern_fompi_bad_rank(__func__, win, rank);
    return tern_fompi_flush(win, rank, __func__);
}

FOMPI_EXPORT int foMPI_Win_flush_all(foMPI_Win handle)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);

    return win != NULL ? tern_fompi_flush(win, TERN_FOMPI_ALL, __func__) : tern_fompi_bad_win(__func__, handle);
}

FOMPI_EXPORT int foMPI_Win_flush_local(int rank, foMPI_Win handle)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if ((unsigned)rank >= (unsigned)win->size)
        return tern_fompi_bad_rank(__func__, win, rank);
    return flush_local(win, __func__);
}

FOMPI_EXPORT int foMPI_Win_flush_local_all(foMPI_Win handle)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);

    return win != NULL ? flush_local(win, __func__) : tern_fompi_bad_win(__func__, handle);
}

FOMPI_EXPORT int foMPI_Win_sync(foMPI_Win handle)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    /* seq_cst: loads and stores of the program before the call are ordered before those after it, like with the full
     * barrier of tern_quiet. Pairs with the same fence, and with the accesses of Tern, at other processes. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return tern_fompi_result(tern_progress(win->ctx), __func__, "making progress");
}

/* mpi_notified.c: notified.c for MPI programs, by the calls of mpi_notify.h. The tag is the number of the tile; one
 * request matches all notifications. */
#include <mpi_notify.h>

#include "cholesky/cholesky.h"

static MPI_Win     win;
static MPI_Request any;

static void *notified_begin(const struct cholesky *c, size_t bytes)
{
    void *memory;

    (void)c;
    MPIX_Win_allocate_notify((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPIX_Notify_init(win, MPI_ANY_SOURCE, MPI_ANY_TAG, 1, &any);
    MPIX_Start(&any);
    return memory;
}

static void put_all(const struct cholesky *c, int number, const int *to, int ranks)
{
    int count = c->side * c->side;

    for (int i = 0; i < ranks; i++)
        MPIX_Put_notify(cholesky_tile(c, number), count, MPI_DOUBLE, to[i], (MPI_Aint)cholesky_offset(c, number), count,
                        MPI_DOUBLE, win, number);
}

static void notified_give(struct cholesky *c, int number)
{
    int to[2], ranks = cholesky_next(c, number, to);

    put_all(c, number, to, ranks);
}

static bool notified_take(struct cholesky *c, bool wait)
{
    MPI_Status status;
    int        to[2], ranks, done = 1;

    if (wait)
        MPIX_Wait(&any, &status);
    else
        MPIX_Test(&any, &done, &status);
    if (!done)
        return false;
    MPIX_Start(&any);
    ranks = cholesky_arrived(c, status.MPI_TAG, to);
    put_all(c, status.MPI_TAG, to, ranks);
    return true;
}

static void notified_finish(void)
{
    MPIX_Win_flush_all(win);
}

static void notified_end(void *memory)
{
    (void)memory;
    MPIX_Request_free(&any);
    MPIX_Win_free(&win);
}

const struct cholesky_style cholesky_notified = { notified_begin, notified_give, notified_take, notified_finish,
                                                  notified_end };

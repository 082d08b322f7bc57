/* mpi_notified.c: notified.c for MPI programs, by the calls of mpi_notify.h. Each value is put to its destination in a
 * window, and its target is notified. The tag is the row, because puts may overtake each other. Row 0 is the corner.
 *
 * No rank waits for its own puts before the end. A rank overwrites a value that it has put only after the next
 * iteration has reached it. That iteration begins with the corner, and the corner was put after the last rank had been
 * notified of all values that it depends on.
 */
#include <mpi_notify.h>
#include <stdlib.h>

#include "common/app.h"
#include "stencil/stencil.h"

static MPI_Win     win;
static MPI_Request any;
static int        *came; /* [row] the number of notifications received */

static void *notified_begin(const struct stencil *s, size_t bytes)
{
    void *memory;

    MPIX_Win_allocate_notify((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPIX_Notify_init(win, MPI_ANY_SOURCE, MPI_ANY_TAG, 1, &any);
    came = app_memory(s->rows * sizeof(*came));
    return memory;
}

/* Consume notifications until the row has arrived for the count-th time. */
static void await(size_t row, int count)
{
    while (came[row] < count) {
        MPI_Status status;

        MPIX_Start(&any);
        MPIX_Wait(&any, &status);
        came[status.MPI_TAG]++;
    }
}

static void put(const struct stencil *s, int rank, size_t row, const double *value)
{
    MPIX_Put_notify(value, 1, MPI_DOUBLE, rank, (MPI_Aint)stencil_offset(s, row), 1, MPI_DOUBLE, win, (int)row);
}

static void notified_run(const struct stencil *s, int rank)
{
    static int count;
    double     corner;

    for (int i = 0; i < s->iterations; i++) {
        double *end = s->grid;

        count++;
        for (size_t row = 1; row < s->rows; row++) {
            if (s->left >= 0)
                await(row, count);
            end = stencil_update(s, row);
            if (s->right >= 0)
                put(s, s->right, row, end);
        }
        corner = -*end;
        if (rank == s->last)
            put(s, s->first, 0, &corner);
        if (rank == s->first)
            await(0, count);
    }
    MPIX_Win_flush_all(win);
}

static void notified_end(void *memory)
{
    (void)memory;
    free(came);
    MPIX_Request_free(&any);
    MPIX_Win_free(&win);
}

const struct stencil_style stencil_notified = { notified_begin, notified_run, notified_end };

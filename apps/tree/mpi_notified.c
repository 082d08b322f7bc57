/* mpi_notified.c: notified.c for MPI programs, by the calls of mpi_notify.h. One request counts the vectors of all
 * children, in any order of arrival.
 *
 * No rank waits for its own puts before the end. A vector is overwritten only after the target's answer has arrived,
 * and the target sends that answer after it has been notified of the vector.
 */
#include <mpi_notify.h>

#include "tree/tree.h"

static MPI_Win     win;
static MPI_Request from_children = MPI_REQUEST_NULL, from_parent = MPI_REQUEST_NULL;

static void *notified_begin(const struct tree *t, size_t bytes)
{
    void *memory;

    MPIX_Win_allocate_notify((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    if (t->children > 0)
        MPIX_Notify_init(win, MPI_ANY_SOURCE, UP, t->children, &from_children);
    if (t->parent >= 0)
        MPIX_Notify_init(win, t->parent, DOWN, 1, &from_parent);
    return memory;
}

static void await(MPI_Request *request)
{
    MPIX_Start(request);
    MPIX_Wait(request, MPI_STATUS_IGNORE);
}

static void put(const struct tree *t, int rank, int slot, const double *vector, int tag)
{
    MPIX_Put_notify(vector, (int)t->values, MPI_DOUBLE, rank, (MPI_Aint)tree_offset(t, slot), (int)t->values,
                    MPI_DOUBLE, win, tag);
}

static void notified_run(const struct tree *t, int rank)
{
    const double *result = tree_vector(t, tree_result(t));

    for (int round = 0; round < t->rounds; round++) {
        const double *sum;

        if (t->children > 0)
            await(&from_children);
        sum = tree_add(t, rank, round);
        if (t->parent >= 0) {
            put(t, t->parent, tree_slot(t, rank), sum, UP);
            await(&from_parent);
        }
        for (int i = 0; i < t->children; i++)
            put(t, t->child + i, tree_result(t), result, DOWN);
        tree_use(t);
    }
    MPIX_Win_flush_all(win);
}

static void notified_end(void *memory)
{
    (void)memory;
    if (from_children != MPI_REQUEST_NULL)
        MPIX_Request_free(&from_children);
    if (from_parent != MPI_REQUEST_NULL)
        MPIX_Request_free(&from_parent);
    MPIX_Win_free(&win);
}

const struct tree_style tree_notified = { notified_begin, notified_run, notified_end };

/* job.c: the start and end of the front end beside MPI.
 *
 * MPI_Finalize deletes the attributes of MPI_COMM_SELF first. An attribute therefore tells the front end that MPI ends.
 */
#include <mpi.h>
#include <stdio.h>

#include "front.h"
#include "job.h"

bool tern_mpi_running;

static bool many_threads;
static void (*at_end[2])(void); /* functions of the front ends; NULL: not used */

static int stop(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    for (int i = 0; i < 2 && at_end[i] != NULL; i++)
        at_end[i]();
    tern_mpi_running = false;
    (void)tern_front_stop("MPI_Finalize");
    return MPI_SUCCESS;
}

void tern_mpi_start(const char *call)
{
    int keyval, level;

    if (tern_mpi_running)
        return;
    (void)tern_front_start(call);
    MPI_Query_thread(&level);
    many_threads = level == MPI_THREAD_MULTIPLE;
    if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, stop, &keyval, NULL) != MPI_SUCCESS ||
        MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL) != MPI_SUCCESS)
        tern_front_die(call, "MPI refused an attribute of MPI_COMM_SELF");
    (void)MPI_Comm_free_keyval(&keyval); /* the attribute stays */
    tern_mpi_running = true;
}

void tern_mpi_at_end(void (*free_windows)(void))
{
    at_end[at_end[0] != NULL && at_end[0] != free_windows] = free_windows;
}

void tern_mpi_report_windows(int count, const char *call)
{
    (void)fprintf(stderr,
                  "tern: rank %d: MPI_Finalize: the program has not freed %d window%s; call %s for each window before "
                  "MPI_Finalize\n",
                  tern_rank(), count, count == 1 ? "" : "s", call);
}

bool tern_mpi_has_threads(void)
{
    return many_threads;
}

tern_order tern_mpi_order(tern_order order)
{
    return many_threads ? order | TERN_SHARED : order;
}

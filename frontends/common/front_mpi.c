/* front_mpi.c: the start, the progress and the end of MPI beside Tern.
 *
 * Programs that use a front end together with MPI would deadlock if MPI made no progress while Tern waits: a rank that
 * has started a long MPI_Isend and then waits in Tern has to call MPI until the receiver has the data. Therefore an
 * idle hook calls MPI_Iprobe on a communicator that carries no messages, until the program finalizes MPI. Tern runs
 * hooks on threads of the program that wait, one at a time. If MPI was initialized for one thread only
 * (MPI_THREAD_SINGLE or MPI_THREAD_FUNNELED), the hook calls MPI only on the thread that started the front end.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

#include "front.h"

static MPI_Comm  quiet_comm; /* carries no messages */
static bool      hooked, initialized_here, one_thread;
static pthread_t starter;

bool tern_front_mpi_over(void)
{
    int finalized;

    MPI_Finalized(&finalized);
    return finalized != 0;
}

void tern_front_mpi_take(void)
{
    int initialized;

    MPI_Initialized(&initialized);
    initialized_here = initialized_here || initialized;
}

static void move_mpi(void *arg)
{
    int found;

    (void)arg;
    if (!tern_front_mpi_over() && (!one_thread || pthread_equal(pthread_self(), starter)))
        (void)MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, quiet_comm, &found, MPI_STATUS_IGNORE);
}

static const char *name_of(int level)
{
    switch (level) {
    case MPI_THREAD_SINGLE: return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED: return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED: return "MPI_THREAD_SERIALIZED";
    default: return "MPI_THREAD_MULTIPLE";
    }
}

bool tern_front_mpi_provide(const char *call, int level)
{
    int initialized, provided;

    if (tern_front_mpi_over())
        return true; /* no thread calls MPI any more */
    MPI_Initialized(&initialized);
    if (initialized)
        MPI_Query_thread(&provided);
    else if (MPI_Init_thread(NULL, NULL, level, &provided) != MPI_SUCCESS)
        tern_front_die(call, "MPI_Init_thread failed");
    initialized_here = initialized_here || !initialized;
    if (provided >= level)
        return true;
    fprintf(stderr, "tern: %s: the level %s is not available: %s %s; %s\n", call, name_of(level),
            initialized ? "MPI was initialized with" : "this MPI provides at most", name_of(provided),
            initialized ? "initialize MPI by MPI_Init_thread with the higher level" : "request this level");
    return false;
}

bool tern_front_mpi_is_multiple(void)
{
    int provided = MPI_THREAD_SINGLE;

    if (!tern_front_mpi_over())
        MPI_Query_thread(&provided);
    return provided == MPI_THREAD_MULTIPLE;
}

void tern_front_mpi_begin(const char *call)
{
    int initialized, level;

    MPI_Initialized(&initialized);
    if (tern_front_mpi_over())
        tern_front_die(call, "MPI has been finalized; call %s before MPI_Finalize", call);
    if (!initialized) {
        if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
            tern_front_die(call, "MPI_Init failed");
        initialized_here = true;
    }
    MPI_Query_thread(&level);
    one_thread = level < MPI_THREAD_SERIALIZED;
    starter = pthread_self();
    if (MPI_Comm_dup(MPI_COMM_WORLD, &quiet_comm) != MPI_SUCCESS)
        tern_front_die(call, "MPI_Comm_dup failed");
    tern_front_check(tern_on_idle(move_mpi, NULL), call, "adding an idle hook");
    hooked = true;
}

void tern_front_mpi_joined(const char *call)
{
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != tern_rank() || size != tern_size())
        tern_front_die(call,
                       "this process is rank %d of %d in MPI and rank %d of %d in Tern; start the program with the "
                       "launcher of the MPI that it is linked with (docs/launchers.md)",
                       rank, size, tern_rank(), tern_size());
}

void tern_front_mpi_end(const char *call)
{
    if (hooked)
        tern_front_check(tern_on_idle_remove(move_mpi, NULL), call, "removing the idle hook");
    hooked = false;
    if (!tern_front_mpi_over())
        MPI_Comm_free(&quiet_comm);
}

void tern_front_mpi_leave(void)
{
    if (initialized_here && !tern_front_mpi_over())
        MPI_Finalize();
}

/* comm_mpi.c: the communicators of groups, in the builds with MPI. Global Arrays gives them to programs. */
#include "state.h"

static MPI_Comm world = MPI_COMM_NULL;

#define GROUP_TAG 24 /* of the messages with which the members create a communicator */

static void check(const char *call, const char *what, int result)
{
    if (result != MPI_SUCCESS)
        tern_front_die(call, "%s failed with error %d", what, result);
}

armci_comm_t tern_armci_comm_world(const char *call)
{
    check(call, "MPI_Comm_dup", MPI_Comm_dup(MPI_COMM_WORLD, &world));
    return world;
}

/* Create the communicator of n ranks of the job. Only these ranks take part. */
armci_comm_t tern_armci_comm_of(const char *call, const int *ranks, int n)
{
    MPI_Group all, members;
    MPI_Comm  comm;

    check(call, "MPI_Comm_group", MPI_Comm_group(world, &all));
    check(call, "MPI_Group_incl", MPI_Group_incl(all, n, ranks, &members));
    check(call, "MPI_Comm_create_group", MPI_Comm_create_group(world, members, GROUP_TAG, &comm));
    MPI_Group_free(&members);
    MPI_Group_free(&all);
    return comm;
}

armci_comm_t tern_armci_comm_none(void)
{
    return MPI_COMM_NULL;
}

void tern_armci_comm_free(armci_comm_t *comm)
{
    int finalized;

    MPI_Finalized(&finalized);
    if (!finalized && *comm != MPI_COMM_NULL)
        MPI_Comm_free(comm);
    *comm = MPI_COMM_NULL;
}

void tern_armci_comm_check(const char *call, armci_comm_t comm)
{
    int initialized, result;

    MPI_Initialized(&initialized);
    if (!initialized)
        tern_front_die(call, "MPI is not initialized, so that there is no communicator");
    check(call, "MPI_Comm_compare", MPI_Comm_compare(MPI_COMM_WORLD, comm, &result));
    if (result != MPI_IDENT && result != MPI_CONGRUENT)
        tern_front_die(call, "the communicator must have the ranks of MPI_COMM_WORLD in the same order");
}

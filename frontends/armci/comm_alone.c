/* comm_alone.c: the communicators of groups, in the build without MPI: there is only ARMCI_COMM_WORLD. */
#include "state.h"

armci_comm_t tern_armci_comm_world(const char *call)
{
    (void)call;
    return ARMCI_COMM_WORLD;
}

armci_comm_t tern_armci_comm_of(const char *call, const int *ranks, int n)
{
    (void)call;
    (void)ranks;
    (void)n;
    return ARMCI_COMM_WORLD;
}

armci_comm_t tern_armci_comm_none(void)
{
    return -1;
}

void tern_armci_comm_free(armci_comm_t *comm)
{
    *comm = tern_armci_comm_none();
}

void tern_armci_comm_check(const char *call, armci_comm_t comm)
{
    if (comm != ARMCI_COMM_WORLD)
        tern_front_die(call, "the communicator is %d; without MPI there is only ARMCI_COMM_WORLD", comm);
}

/* armci_comm.h: the communicator in an ARMCI group, for programs that use MPI. */
#ifndef TERN_ARMCI_COMM_H
#define TERN_ARMCI_COMM_H

#include <mpi.h>

/* The communicator of a group. */
typedef MPI_Comm armci_comm_t;

/* The communicator of all ranks. */
#define ARMCI_COMM_WORLD MPI_COMM_WORLD

/* The datatype of an armci_size_t. */
#define ARMCII_MPI_SIZE_T MPI_LONG

#endif

/* armci_comm.h: the communicator in an ARMCI group, for programs without MPI. There are no communicators: the type only
 * keeps the layout of a group, and the only value is ARMCI_COMM_WORLD. */
#ifndef TERN_ARMCI_COMM_H
#define TERN_ARMCI_COMM_H

/* Stands for the communicator of a group. */
typedef int armci_comm_t;

/* The communicator of all ranks. */
#define ARMCI_COMM_WORLD 0

#endif

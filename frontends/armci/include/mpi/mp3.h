/* mp3.h: the macros by which test programs of ARMCI and Global Arrays start, end and query MPI. */
#ifndef TERN_MP3_H
#define TERN_MP3_H

#include <mpi.h>

#define MP_INIT(argc, argv) MPI_Init(&(argc), &(argv))
#define MP_FINALIZE() MPI_Finalize()
#define MP_BARRIER() MPI_Barrier(MPI_COMM_WORLD)
#define MP_PROCS(size) MPI_Comm_size(MPI_COMM_WORLD, (size))
#define MP_MYID(rank) MPI_Comm_rank(MPI_COMM_WORLD, (rank))
#define MP_TIMER MPI_Wtime
#define MP_ASSERT(X) X /* evaluates a call; programs that define the macro themselves define it like this */

#define ARMCI_INIT(argc, argv) ARMCI_Init()
#define GA_INIT(argc, argv) GA_Initialize()

#endif

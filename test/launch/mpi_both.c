/* mpi_both.c: the example of MPI and Tern in one program, as a test program of each installed MPI (idle.sh). */
#include "../../examples/mpi/both.c"

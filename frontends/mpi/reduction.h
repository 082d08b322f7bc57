/* reduction.h: translation of the operations of MPI's accumulates to Tern's reductions. */
#ifndef TERN_MPI_REDUCTION_H
#define TERN_MPI_REDUCTION_H

#include "datatype.h"

/* Find the reduction and the type of Tern for an operation on basic elements. Returns false if Tern has no such
 * accumulate. */
bool tern_mpi_reduction(MPI_Op op, struct tern_mpi_basic basic, tern_acc_args *args);

/* Return whether accumulates may use an operation, which holds for the predefined operations. */
bool tern_mpi_predefined(MPI_Op op);

/* Return whether MPI defines an operation for these basic elements. For elements that only MPI can combine, the answer
 * is always true. */
bool tern_mpi_defined(MPI_Op op, struct tern_mpi_basic basic);

#endif

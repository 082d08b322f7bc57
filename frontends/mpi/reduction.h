/* reduction.h: the operations of MPI's accumulates in Tern's terms. */
#ifndef TERN_MPI_REDUCTION_H
#define TERN_MPI_REDUCTION_H

#include "datatype.h"

/* Find what an accumulate of Tern with this operation on these basic elements computes. Returns false if Tern has no
 * such accumulate. */
bool tern_mpi_reduction(MPI_Op op, struct tern_mpi_basic basic, tern_acc_args *args);

/* Whether an operation is one of those that accumulates may have: a predefined one. */
bool tern_mpi_predefined(MPI_Op op);

/* Whether MPI defines an operation for these basic elements. True is no answer for elements that only MPI knows. */
bool tern_mpi_defined(MPI_Op op, struct tern_mpi_basic basic);

#endif

/* reduction.h: the operations of MPI's accumulates in Tern's terms. */
#ifndef TERN_MPI_REDUCTION_H
#define TERN_MPI_REDUCTION_H

#include "datatype.h"

/* Find what an accumulate with this operation on these basic elements computes. MPI_NO_OP is not handled here: it
 * changes nothing, so that the caller makes a get or nothing at all. Returns MPI_SUCCESS; MPI_ERR_OP: accumulates do
 * not have the operation, or not for these elements; MPI_ERR_TYPE: the datatype has no single basic element of a size
 * that Tern accumulates. *why says more then. */
int tern_mpi_reduction(MPI_Op op, struct tern_mpi_basic basic, tern_acc_args *args, const char **why);

/* Find Tern's type of an element. Returns false if Tern has none. */
bool tern_mpi_element(struct tern_mpi_basic basic, tern_type *type);

#endif

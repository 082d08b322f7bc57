/* error.h: errors as MPI error codes, with a text. */
#ifndef TERN_MPI_ERROR_H
#define TERN_MPI_ERROR_H

#include <mpi.h>
#include <tern.h>

/* Make an error code of a class of MPI. MPI_Error_class returns the class, and MPI_Error_string the text: the name of
 * the call and what happened. With Open MPI, a code keeps its text until the next error of the same class. Before
 * MPI_Init and after MPI_Finalize, the function ends the job with a line that names the call. */
int tern_mpi_code(int class, const char *call, const char *format, ...) __attribute__((cold, format(printf, 3, 4)));

/* Make an error code for an error of Tern. The text is the text of tern_strerror and tern_error_detail. `what` names
 * the failed action. */
int tern_mpi_code_of(tern_status status, const char *call, const char *what) __attribute__((cold));

#endif

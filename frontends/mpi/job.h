/* job.h: the start and end of the front end beside MPI. */
#ifndef TERN_MPI_JOB_H
#define TERN_MPI_JOB_H

#include <stdbool.h>
#include <tern.h>

/* Whether tern_mpi_start has been called, and MPI is not being finalized. */
extern bool tern_mpi_running __attribute__((visibility("hidden")));

/* Initialize Tern, unless that has been done. The first call is collective over MPI_COMM_WORLD. MPI_Finalize ends the
 * front end; Tern itself is finalized when the process exits. */
void tern_mpi_start(const char *call);

/* Free the windows that the program has not freed, and print a line that says so. Each front end has this function
 * (notify_create.c, fompi_window.c); MPI_Finalize calls it while MPI and Tern still work. The call is collective over
 * the processes of each window. */
void tern_mpi_free_windows(void);

/* Print the line of tern_mpi_free_windows: count windows have not been freed; `call` frees a window. */
void tern_mpi_report_windows(int count, const char *call);

/* Return the ordering with TERN_SHARED if MPI allows several threads at the same time, otherwise the ordering. */
tern_order tern_mpi_order(tern_order order);

#endif

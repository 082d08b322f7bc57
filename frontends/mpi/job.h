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

/* Let MPI_Finalize call a function while MPI and Tern still work. A front end registers the function that frees the
 * windows that the program has not freed. A function that is registered again is called once. There are at most two
 * functions, because a program can contain both front ends. */
void tern_mpi_at_end(void (*free_windows)(void));

/* Print a line that says that the program has not freed count windows, and which call frees a window. */
void tern_mpi_report_windows(int count, const char *call);

/* Return whether MPI allows several threads at the same time. */
bool tern_mpi_has_threads(void);

/* Return the ordering with TERN_SHARED if MPI allows several threads at the same time, otherwise the ordering. */
tern_order tern_mpi_order(tern_order order);

#endif

/* mpi_library.h: the MPI library that a program uses beside Tern, if any.
 *
 * MPI and Tern find out independently of each other which launcher started the process. If the launcher belongs to
 * another MPI, or is ternrun, then MPI_Init succeeds and every process becomes an MPI job with one rank. Such a program
 * computes wrong results without an error, so Tern prints a warning.
 */
#pragma once

#include <stdbool.h>

#include "boot/boot.h"

/* Return whether the process has loaded an MPI library. */
bool tern_boot_mpi_library(void);

/* Warn, once for each job, if MPI has another number of ranks than Tern, or will have: in tern_init, MPI may not have
 * been initialized yet. */
void tern_boot_mpi_check(const struct tern_boot *boot);

! fompif.h: what programs of foMPI in Fortran include: the constants of MPI and of foMPI, in free and in fixed form. The
! subroutines are external: foMPI_Put has the arguments of foMPI_Put in C, and ierror as the last one. Handles are of
! the type INTEGER, displacements, sizes and addresses of the type INTEGER(KIND=MPI_ADDRESS_KIND), and statuses are
! arrays of MPI_STATUS_SIZE integers. See docs/fompi.md for how to compile; the module fompi has the interfaces, too.
      include 'mpif.h'
      include 'fompi_constants.inc'

/* front_alone.c: a front end without MPI. There is nothing to begin, to join, to end or to leave. */
#include "front.h"

void tern_front_mpi_begin(const char *call)
{
    (void)call;
}

void tern_front_mpi_joined(const char *call)
{
    (void)call;
}

void tern_front_mpi_end(const char *call)
{
    (void)call;
}

void tern_front_mpi_leave(void)
{
}

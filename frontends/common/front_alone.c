/* front_alone.c: a front end without MPI. The functions have nothing to do. */
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

void tern_front_mpi_take(void)
{
}

bool tern_front_mpi_over(void)
{
    return false;
}

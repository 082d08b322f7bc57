/* front_alone.c: a front end without MPI. The functions have nothing to do. */
#include "front.h"

bool tern_front_mpi_provide(const char *call, int level)
{
    (void)call;
    (void)level;
    return true;
}

bool tern_front_mpi_is_multiple(void)
{
    return false;
}

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

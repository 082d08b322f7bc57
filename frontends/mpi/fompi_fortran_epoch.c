/* fompi_fortran_epoch.c: the Fortran interface of foMPI: epochs, locks, and completion within an epoch. */
#include "fompi_fortran.h"

FOMPI_EXPORT void fompi_win_fence_(const MPI_Fint *assertion, const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_fence(*assertion, tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_win_start_(const MPI_Fint *group, const MPI_Fint *assertion, const MPI_Fint *win,
                                   MPI_Fint *ierror)
{
    *ierror = foMPI_Win_start(MPI_Group_f2c(*group), *assertion, tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_win_complete_(const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_complete(tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_win_post_(const MPI_Fint *group, const MPI_Fint *assertion, const MPI_Fint *win,
                                  MPI_Fint *ierror)
{
    *ierror = foMPI_Win_post(MPI_Group_f2c(*group), *assertion, tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_win_wait_(const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_wait(tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_win_test_(const MPI_Fint *win, MPI_Fint *flag, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_test(tern_fompi_win_f2c(*win), flag);
}

FOMPI_EXPORT void fompi_win_lock_(const MPI_Fint *lock_type, const MPI_Fint *rank, const MPI_Fint *assertion,
                                  const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_lock(*lock_type, *rank, *assertion, tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_win_unlock_(const MPI_Fint *rank, const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_unlock(*rank, tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_win_lock_all_(const MPI_Fint *assertion, const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_lock_all(*assertion, tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_win_unlock_all_(const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_unlock_all(tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_win_flush_(const MPI_Fint *rank, const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_flush(*rank, tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_win_flush_all_(const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_flush_all(tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_win_flush_local_(const MPI_Fint *rank, const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_flush_local(*rank, tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_win_flush_local_all_(const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_flush_local_all(tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_win_sync_(const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_sync(tern_fompi_win_f2c(*win));
}

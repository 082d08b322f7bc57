/* fompi_fortran_access.c: the Fortran interface of foMPI: accesses, accesses with a request, and notified accesses. */
#include "fompi_fortran.h"

FOMPI_EXPORT void fompi_put_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                             const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *target_count,
                             const MPI_Fint *target_datatype, const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Put(tern_fompi_buffer(origin_addr), *origin_count, MPI_Type_f2c(*origin_datatype), *target_rank,
                        *target_disp, *target_count, MPI_Type_f2c(*target_datatype), tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_get_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                             const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *target_count,
                             const MPI_Fint *target_datatype, const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Get(tern_fompi_buffer(origin_addr), *origin_count, MPI_Type_f2c(*origin_datatype), *target_rank,
                        *target_disp, *target_count, MPI_Type_f2c(*target_datatype), tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_accumulate_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                                    const MPI_Fint *target_rank, const MPI_Aint *target_disp,
                                    const MPI_Fint *target_count, const MPI_Fint *target_datatype, const MPI_Fint *op,
                                    const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror =
        foMPI_Accumulate(tern_fompi_buffer(origin_addr), *origin_count, MPI_Type_f2c(*origin_datatype), *target_rank,
                         *target_disp, *target_count, MPI_Type_f2c(*target_datatype), *op, tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_get_accumulate_(void *origin_addr, const MPI_Fint *origin_count,
                                        const MPI_Fint *origin_datatype, void *result_addr,
                                        const MPI_Fint *result_count, const MPI_Fint *result_datatype,
                                        const MPI_Fint *target_rank, const MPI_Aint *target_disp,
                                        const MPI_Fint *target_count, const MPI_Fint *target_datatype,
                                        const MPI_Fint *op, const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Get_accumulate(tern_fompi_buffer(origin_addr), *origin_count, MPI_Type_f2c(*origin_datatype),
                                   tern_fompi_buffer(result_addr), *result_count, MPI_Type_f2c(*result_datatype),
                                   *target_rank, *target_disp, *target_count, MPI_Type_f2c(*target_datatype), *op,
                                   tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_fetch_and_op_(void *origin_addr, void *result_addr, const MPI_Fint *datatype,
                                      const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *op,
                                      const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Fetch_and_op(tern_fompi_buffer(origin_addr), tern_fompi_buffer(result_addr),
                                 MPI_Type_f2c(*datatype), *target_rank, *target_disp, *op, tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_compare_and_swap_(void *origin_addr, void *compare_addr, void *result_addr,
                                          const MPI_Fint *datatype, const MPI_Fint *target_rank,
                                          const MPI_Aint *target_disp, const MPI_Fint *win, MPI_Fint *ierror)
{
    *ierror = foMPI_Compare_and_swap(tern_fompi_buffer(origin_addr), tern_fompi_buffer(compare_addr),
                                     tern_fompi_buffer(result_addr), MPI_Type_f2c(*datatype), *target_rank,
                                     *target_disp, tern_fompi_win_f2c(*win));
}

FOMPI_EXPORT void fompi_rput_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                              const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *target_count,
                              const MPI_Fint *target_datatype, const MPI_Fint *win, MPI_Fint *request, MPI_Fint *ierror)
{
    foMPI_Request handle = foMPI_REQUEST_NULL;

    *ierror =
        foMPI_Rput(tern_fompi_buffer(origin_addr), *origin_count, MPI_Type_f2c(*origin_datatype), *target_rank,
                   *target_disp, *target_count, MPI_Type_f2c(*target_datatype), tern_fompi_win_f2c(*win), &handle);
    *ierror = tern_fompi_request_made(*ierror, handle, request, "foMPI_Rput");
}

FOMPI_EXPORT void fompi_rget_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                              const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *target_count,
                              const MPI_Fint *target_datatype, const MPI_Fint *win, MPI_Fint *request, MPI_Fint *ierror)
{
    foMPI_Request handle = foMPI_REQUEST_NULL;

    *ierror =
        foMPI_Rget(tern_fompi_buffer(origin_addr), *origin_count, MPI_Type_f2c(*origin_datatype), *target_rank,
                   *target_disp, *target_count, MPI_Type_f2c(*target_datatype), tern_fompi_win_f2c(*win), &handle);
    *ierror = tern_fompi_request_made(*ierror, handle, request, "foMPI_Rget");
}

FOMPI_EXPORT void fompi_raccumulate_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                                     const MPI_Fint *target_rank, const MPI_Aint *target_disp,
                                     const MPI_Fint *target_count, const MPI_Fint *target_datatype, const MPI_Fint *op,
                                     const MPI_Fint *win, MPI_Fint *request, MPI_Fint *ierror)
{
    foMPI_Request handle = foMPI_REQUEST_NULL;

    *ierror = foMPI_Raccumulate(tern_fompi_buffer(origin_addr), *origin_count, MPI_Type_f2c(*origin_datatype),
                                *target_rank, *target_disp, *target_count, MPI_Type_f2c(*target_datatype), *op,
                                tern_fompi_win_f2c(*win), &handle);
    *ierror = tern_fompi_request_made(*ierror, handle, request, "foMPI_Raccumulate");
}

FOMPI_EXPORT void fompi_rget_accumulate_(void *origin_addr, const MPI_Fint *origin_count,
                                         const MPI_Fint *origin_datatype, void *result_addr,
                                         const MPI_Fint *result_count, const MPI_Fint *result_datatype,
                                         const MPI_Fint *target_rank, const MPI_Aint *target_disp,
                                         const MPI_Fint *target_count, const MPI_Fint *target_datatype,
                                         const MPI_Fint *op, const MPI_Fint *win, MPI_Fint *request, MPI_Fint *ierror)
{
    foMPI_Request handle = foMPI_REQUEST_NULL;

    *ierror = foMPI_Rget_accumulate(tern_fompi_buffer(origin_addr), *origin_count, MPI_Type_f2c(*origin_datatype),
                                    tern_fompi_buffer(result_addr), *result_count, MPI_Type_f2c(*result_datatype),
                                    *target_rank, *target_disp, *target_count, MPI_Type_f2c(*target_datatype), *op,
                                    tern_fompi_win_f2c(*win), &handle);
    *ierror = tern_fompi_request_made(*ierror, handle, request, "foMPI_Rget_accumulate");
}

FOMPI_EXPORT void fompi_put_notify_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                                    const MPI_Fint *target_rank, const MPI_Aint *target_disp,
                                    const MPI_Fint *target_count, const MPI_Fint *target_datatype, const MPI_Fint *win,
                                    const MPI_Fint *tag, MPI_Fint *ierror)
{
    *ierror =
        foMPI_Put_notify(tern_fompi_buffer(origin_addr), *origin_count, MPI_Type_f2c(*origin_datatype), *target_rank,
                         *target_disp, *target_count, MPI_Type_f2c(*target_datatype), tern_fompi_win_f2c(*win), *tag);
}

FOMPI_EXPORT void fompi_get_notify_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                                    const MPI_Fint *target_rank, const MPI_Aint *target_disp,
                                    const MPI_Fint *target_count, const MPI_Fint *target_datatype, const MPI_Fint *win,
                                    const MPI_Fint *tag, MPI_Fint *ierror)
{
    *ierror =
        foMPI_Get_notify(tern_fompi_buffer(origin_addr), *origin_count, MPI_Type_f2c(*origin_datatype), *target_rank,
                         *target_disp, *target_count, MPI_Type_f2c(*target_datatype), tern_fompi_win_f2c(*win), *tag);
}

FOMPI_EXPORT void fompi_rput_notify_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                                     const MPI_Fint *target_rank, const MPI_Aint *target_disp,
                                     const MPI_Fint *target_count, const MPI_Fint *target_datatype, const MPI_Fint *win,
                                     MPI_Fint *request, const MPI_Fint *tag, MPI_Fint *ierror)
{
    foMPI_Request handle = foMPI_REQUEST_NULL;

    *ierror = foMPI_Rput_notify(tern_fompi_buffer(origin_addr), *origin_count, MPI_Type_f2c(*origin_datatype),
                                *target_rank, *target_disp, *target_count, MPI_Type_f2c(*target_datatype),
                                tern_fompi_win_f2c(*win), &handle, *tag);
    *ierror = tern_fompi_request_made(*ierror, handle, request, "foMPI_Rput_notify");
}

FOMPI_EXPORT void fompi_rget_notify_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                                     const MPI_Fint *target_rank, const MPI_Aint *target_disp,
                                     const MPI_Fint *target_count, const MPI_Fint *target_datatype, const MPI_Fint *win,
                                     MPI_Fint *request, const MPI_Fint *tag, MPI_Fint *ierror)
{
    foMPI_Request handle = foMPI_REQUEST_NULL;

    *ierror = foMPI_Rget_notify(tern_fompi_buffer(origin_addr), *origin_count, MPI_Type_f2c(*origin_datatype),
                                *target_rank, *target_disp, *target_count, MPI_Type_f2c(*target_datatype),
                                tern_fompi_win_f2c(*win), &handle, *tag);
    *ierror = tern_fompi_request_made(*ierror, handle, request, "foMPI_Rget_notify");
}

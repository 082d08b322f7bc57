/* fompi_f.h: the functions behind the Fortran interface of foMPI (fompif.h and fompi.f90). C programs use fompi.h.
 *
 * Compilers of Fortran call the subroutine foMPI_Put by the name fompi_put_, with the addresses of the arguments, and
 * with the lengths of character variables at the end. Handles are integers. The arguments are those of the functions
 * of fompi.h, and *ierror is what these functions return. */
#ifndef TERN_FOMPI_F_H
#define TERN_FOMPI_F_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library. */
void fompi_init_(MPI_Fint *ierror);
void fompi_finalize_(MPI_Fint *ierror);
void fompi_alloc_mem_(const MPI_Aint *size, const MPI_Fint *info, void *baseptr, MPI_Fint *ierror);
void fompi_alloc_mem_cptr_(const MPI_Aint *size, const MPI_Fint *info, void *baseptr, MPI_Fint *ierror);
void fompi_get_address_(void *location, MPI_Aint *address, MPI_Fint *ierror);
void fompi_type_free_(MPI_Fint *datatype, MPI_Fint *ierror);

/* Windows, their names and their attributes. */
void fompi_win_create_(void *base, const MPI_Aint *size, const MPI_Fint *disp_unit, const MPI_Fint *info,
                       const MPI_Fint *comm, MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_allocate_(const MPI_Aint *size, const MPI_Fint *disp_unit, const MPI_Fint *info, const MPI_Fint *comm,
                         void *baseptr, MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_allocate_cptr_(const MPI_Aint *size, const MPI_Fint *disp_unit, const MPI_Fint *info,
                              const MPI_Fint *comm, void *baseptr, MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_create_dynamic_(const MPI_Fint *info, const MPI_Fint *comm, MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_free_(MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_attach_(const MPI_Fint *win, void *base, const MPI_Aint *size, MPI_Fint *ierror);
void fompi_win_detach_(const MPI_Fint *win, const void *base, MPI_Fint *ierror);
void fompi_win_get_group_(const MPI_Fint *win, MPI_Fint *group, MPI_Fint *ierror);
void fompi_win_set_name_(const MPI_Fint *win, const char *win_name, MPI_Fint *ierror, size_t length);
void fompi_win_get_name_(const MPI_Fint *win, char *win_name, MPI_Fint *resultlen, MPI_Fint *ierror, size_t length);
void fompi_win_create_keyval_(void (*win_copy_attr_fn)(void),
                              void (*win_delete_attr_fn)(MPI_Fint *, MPI_Fint *, MPI_Aint *, MPI_Aint *, MPI_Fint *),
                              MPI_Fint *win_keyval, const MPI_Aint *extra_state, MPI_Fint *ierror);
void fompi_win_free_keyval_(MPI_Fint *win_keyval, MPI_Fint *ierror);
void fompi_win_set_attr_(const MPI_Fint *win, const MPI_Fint *win_keyval, const MPI_Aint *attribute_val,
                         MPI_Fint *ierror);
void fompi_win_get_attr_(const MPI_Fint *win, const MPI_Fint *win_keyval, MPI_Aint *attribute_val, MPI_Fint *flag,
                         MPI_Fint *ierror);
void fompi_win_delete_attr_(const MPI_Fint *win, const MPI_Fint *win_keyval, MPI_Fint *ierror);

/* Epochs, locks, and completion within an epoch. */
void fompi_win_fence_(const MPI_Fint *assertion, const MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_start_(const MPI_Fint *group, const MPI_Fint *assertion, const MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_complete_(const MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_post_(const MPI_Fint *group, const MPI_Fint *assertion, const MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_wait_(const MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_test_(const MPI_Fint *win, MPI_Fint *flag, MPI_Fint *ierror);
void fompi_win_lock_(const MPI_Fint *lock_type, const MPI_Fint *rank, const MPI_Fint *assertion, const MPI_Fint *win,
                     MPI_Fint *ierror);
void fompi_win_unlock_(const MPI_Fint *rank, const MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_lock_all_(const MPI_Fint *assertion, const MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_unlock_all_(const MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_flush_(const MPI_Fint *rank, const MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_flush_all_(const MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_flush_local_(const MPI_Fint *rank, const MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_flush_local_all_(const MPI_Fint *win, MPI_Fint *ierror);
void fompi_win_sync_(const MPI_Fint *win, MPI_Fint *ierror);

/* Accesses, accesses with a request, and notified accesses. */
void fompi_put_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *target_count,
                const MPI_Fint *target_datatype, const MPI_Fint *win, MPI_Fint *ierror);
void fompi_get_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *target_count,
                const MPI_Fint *target_datatype, const MPI_Fint *win, MPI_Fint *ierror);
void fompi_accumulate_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                       const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *target_count,
                       const MPI_Fint *target_datatype, const MPI_Fint *op, const MPI_Fint *win, MPI_Fint *ierror);
void fompi_get_accumulate_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                           void *result_addr, const MPI_Fint *result_count, const MPI_Fint *result_datatype,
                           const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *target_count,
                           const MPI_Fint *target_datatype, const MPI_Fint *op, const MPI_Fint *win, MPI_Fint *ierror);
void fompi_fetch_and_op_(void *origin_addr, void *result_addr, const MPI_Fint *datatype, const MPI_Fint *target_rank,
                         const MPI_Aint *target_disp, const MPI_Fint *op, const MPI_Fint *win, MPI_Fint *ierror);
void fompi_compare_and_swap_(void *origin_addr, void *compare_addr, void *result_addr, const MPI_Fint *datatype,
                             const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *win,
                             MPI_Fint *ierror);
void fompi_rput_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                 const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *target_count,
                 const MPI_Fint *target_datatype, const MPI_Fint *win, MPI_Fint *request, MPI_Fint *ierror);
void fompi_rget_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                 const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *target_count,
                 const MPI_Fint *target_datatype, const MPI_Fint *win, MPI_Fint *request, MPI_Fint *ierror);
void fompi_raccumulate_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                        const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *target_count,
                        const MPI_Fint *target_datatype, const MPI_Fint *op, const MPI_Fint *win, MPI_Fint *request,
                        MPI_Fint *ierror);
void fompi_rget_accumulate_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                            void *result_addr, const MPI_Fint *result_count, const MPI_Fint *result_datatype,
                            const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *target_count,
                            const MPI_Fint *target_datatype, const MPI_Fint *op, const MPI_Fint *win, MPI_Fint *request,
                            MPI_Fint *ierror);
void fompi_put_notify_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                       const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *target_count,
                       const MPI_Fint *target_datatype, const MPI_Fint *win, const MPI_Fint *tag, MPI_Fint *ierror);
void fompi_get_notify_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                       const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *target_count,
                       const MPI_Fint *target_datatype, const MPI_Fint *win, const MPI_Fint *tag, MPI_Fint *ierror);
void fompi_rput_notify_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                        const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *target_count,
                        const MPI_Fint *target_datatype, const MPI_Fint *win, MPI_Fint *request, const MPI_Fint *tag,
                        MPI_Fint *ierror);
void fompi_rget_notify_(void *origin_addr, const MPI_Fint *origin_count, const MPI_Fint *origin_datatype,
                        const MPI_Fint *target_rank, const MPI_Aint *target_disp, const MPI_Fint *target_count,
                        const MPI_Fint *target_datatype, const MPI_Fint *win, MPI_Fint *request, const MPI_Fint *tag,
                        MPI_Fint *ierror);

/* Requests. */
void fompi_notify_init_(const MPI_Fint *win, const MPI_Fint *src_rank, const MPI_Fint *tag, const MPI_Fint *count,
                        MPI_Fint *request, MPI_Fint *ierror);
void fompi_start_(MPI_Fint *request, MPI_Fint *ierror);
void fompi_wait_(MPI_Fint *request, MPI_Fint *status, MPI_Fint *ierror);
void fompi_test_(MPI_Fint *request, MPI_Fint *flag, MPI_Fint *status, MPI_Fint *ierror);
void fompi_request_free_(MPI_Fint *request, MPI_Fint *ierror);
void fompi_waitany_(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index, MPI_Fint *status, MPI_Fint *ierror);
void fompi_testany_(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index, MPI_Fint *flag, MPI_Fint *status,
                    MPI_Fint *ierror);
void fompi_waitsome_(const MPI_Fint *incount, MPI_Fint *requests, MPI_Fint *outcount, MPI_Fint *indices,
                     MPI_Fint *statuses, MPI_Fint *ierror);
void fompi_testsome_(const MPI_Fint *incount, MPI_Fint *requests, MPI_Fint *outcount, MPI_Fint *indices,
                     MPI_Fint *statuses, MPI_Fint *ierror);

#ifdef __cplusplus
}
#endif

#endif

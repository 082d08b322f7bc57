/* mpi_notify_f.h: the functions behind the Fortran module mpi_notify (mpi_notify.f90). C programs use mpi_notify.h.
 *
 * Handles are Fortran handles; counts and types are pairs, of the origin and of the target, or triples, of the origin,
 * of the result and of the target. */
#ifndef MPI_NOTIFY_F_H
#define MPI_NOTIFY_F_H

#include <mpi.h>

int MPIX_Win_allocate_notify_f(MPI_Aint size, int unit, MPI_Fint info, MPI_Fint comm, void *base, MPI_Fint *win);
int MPIX_Win_create_notify_f(void *base, MPI_Aint size, int unit, MPI_Fint info, MPI_Fint comm, MPI_Fint *win);
int MPIX_Win_free_f(MPI_Fint *win);

/* kind: 0 put, 1 get, 2 put with a request, 3 get with a request. */
int MPIX_Access_notify_f(int kind, void *origin, const MPI_Fint *counts, const MPI_Fint *types, int rank, MPI_Aint disp,
                         MPI_Fint win, int tag, MPI_Fint *request);
int MPIX_Accumulate_notify_f(const void *origin, const MPI_Fint *counts, const MPI_Fint *types, int rank, MPI_Aint disp,
                             MPI_Fint op, MPI_Fint win, int tag);
int MPIX_Raccumulate_notify_f(const void *origin, const MPI_Fint *counts, const MPI_Fint *types, int rank,
                              MPI_Aint disp, MPI_Fint op, MPI_Fint win, int tag, MPI_Fint *request);
int MPIX_Get_accumulate_notify_f(const void *origin, void *result, const MPI_Fint *counts, const MPI_Fint *types,
                                 int rank, MPI_Aint disp, MPI_Fint op, MPI_Fint win, int tag);
int MPIX_Fetch_and_op_notify_f(const void *origin, void *result, MPI_Fint datatype, int rank, MPI_Aint disp,
                               MPI_Fint op, MPI_Fint win, int tag);
int MPIX_Compare_and_swap_notify_f(const void *origin, const void *compare, void *result, MPI_Fint datatype, int rank,
                                   MPI_Aint disp, MPI_Fint win, int tag);

/* how: 0 flush, 1 flush_local, 2 flush_all, 3 flush_local_all. */
int MPIX_Win_flush_f(int how, int rank, MPI_Fint win);
int MPIX_Notify_init_f(MPI_Fint win, int source, int tag, int count, MPI_Fint *request);

/* *flag is -1 on entry to wait, and otherwise tells on return whether there is something. */
int MPIX_Probe_notify_f(int source, int tag, MPI_Fint win, int *flag, MPI_Status *status);
int MPIX_Win_test_notify_f(MPI_Fint win, int tag, int *flag);
int MPIX_Test_f(MPI_Fint *request, int *flag, MPI_Status *status);

/* *index counts from 0. *flag is -1 on entry to wait, and otherwise tells on return whether the call is over. */
int MPIX_Testany_f(int count, MPI_Fint *requests, int *index, int *flag, MPI_Status *status);
int MPIX_Start_f(MPI_Fint *request);
int MPIX_Request_free_f(MPI_Fint *request);
int MPIX_Cancel_f(MPI_Fint *request);
int MPIX_Request_get_status_f(MPI_Fint request, int *flag, MPI_Status *status);
int MPIX_Win_is_notify_f(MPI_Fint win, int *flag);

/* how: 0 startall, 1 waitall, 2 testall, 3 waitsome, 4 testsome. *result is the flag of testall, or the number of
 * completed requests, whose indices count from 0. ignored is the address of MPI_STATUSES_IGNORE in Fortran. */
int MPIX_Several_f(int how, int count, MPI_Fint *requests, int *result, int *indices, MPI_Status *statuses,
                   const MPI_Status *ignored);

#endif

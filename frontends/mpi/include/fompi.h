/* fompi.h: the interface of foMPI-NA on Tern: MPI-3 one-sided communication and notified access.
 *
 * Programs that were written for foMPI-NA compile with this header unchanged. Names, types and prototypes are the same
 * as in foMPI-NA; the values of constants are this library's. MPI provides communicators, groups and datatypes; Tern
 * provides windows, accesses and synchronization.
 *
 * Every function returns MPI_SUCCESS or a class of errors of MPI. The library also prints a line that names the call
 * and the values, because programs seldom look at the result; see TERN_FOMPI_ERRORS in docs/fompi.md, which also
 * describes how each call is implemented. One thread at a time uses a window and its requests.
 */
#ifndef TERN_FOMPI_H
#define TERN_FOMPI_H

/* Programs rely on foMPI-NA's header to include these. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The public part of a window. */
typedef struct foMPI_Win_desc {
    void *excl_locks; /* not NULL while this process holds exclusive locks of the window */
} foMPI_Win_desc_t;
typedef foMPI_Win_desc_t *foMPI_Win;
#define foMPI_WIN_NULL NULL

/* A request: an access, or a persistent request for notifications. */
typedef struct foMPI_Request_desc foMPI_Request_t;
typedef foMPI_Request_t          *foMPI_Request;
#define foMPI_REQUEST_NULL NULL

#define foMPI_COMM_NULL NULL
#define foMPI_UNDEFINED MPI_UNDEFINED

/* The part of foMPI-NA's global state that programs read. */
typedef struct foMPI_global {
    int debug_pe; /* rank of this process in MPI_COMM_WORLD */
    int v_option; /* programs may set it; it has no effect */
} foMPI_global_t;
extern foMPI_global_t foMPI_Global_info;
#define glob_info foMPI_Global_info

/* The operations of accumulates, which differ from the operations of MPI. */
typedef int foMPI_Op;
enum {
    foMPI_SUM,
    foMPI_PROD,
    foMPI_MAX,
    foMPI_MIN,
    foMPI_LAND,
    foMPI_LOR,
    foMPI_LXOR,
    foMPI_BAND,
    foMPI_BOR,
    foMPI_BXOR,
    foMPI_MAXLOC,
    foMPI_MINLOC,
    foMPI_REPLACE,
    foMPI_NO_OP
};

/* Attributes of a window, and their values. foMPI_Win_get_attr stores a value, not a pointer to it. */
#define foMPI_WIN_BASE 0          /* void *, the memory of this process; MPI_BOTTOM if the window is dynamic */
#define foMPI_WIN_SIZE 1          /* MPI_Aint; 0 if the window is dynamic */
#define foMPI_WIN_DISP_UNIT 2     /* int; 1 if the window is dynamic */
#define foMPI_WIN_CREATE_FLAVOR 3 /* int: one of the three flavors */
#define foMPI_WIN_MODEL 4         /* int: foMPI_WIN_UNIFIED */
#define foMPI_WIN_FLAVOR_CREATE 0
#define foMPI_WIN_FLAVOR_ALLOCATE 1
#define foMPI_WIN_FLAVOR_DYNAMIC 2
#define foMPI_WIN_SEPARATE 0
#define foMPI_WIN_UNIFIED 1

/* Assertions and lock types. The constants of MPI may be used as well. */
#define foMPI_MODE_NOCHECK MPI_MODE_NOCHECK
#define foMPI_MODE_NOSTORE MPI_MODE_NOSTORE
#define foMPI_MODE_NOPUT MPI_MODE_NOPUT
#define foMPI_MODE_NOPRECEDE MPI_MODE_NOPRECEDE
#define foMPI_MODE_NOSUCCEED MPI_MODE_NOSUCCEED
#define foMPI_LOCK_SHARED MPI_LOCK_SHARED
#define foMPI_LOCK_EXCLUSIVE MPI_LOCK_EXCLUSIVE

/* The errors of foMPI-NA, which are classes of MPI here. */
#define foMPI_ERROR_RMA_NO_SYNC MPI_ERR_RMA_SYNC
#define foMPI_ERROR_RMA_DATATYPE_MISMATCH MPI_ERR_TYPE
#define foMPI_ERROR_RMA_NO_LOCK_HOLDING MPI_ERR_RMA_SYNC
#define foMPI_ERROR_RMA_SYNC_CONFLICT MPI_ERR_RMA_SYNC
#define foMPI_ERROR_RMA_WRITE_SHARED_CONFLICT MPI_ERR_RMA_CONFLICT
#define foMPI_ERROR_RMA_WIN_MEM_NOT_FOUND MPI_ERR_RMA_RANGE
#define foMPI_OP_NOT_SUPPORTED MPI_ERR_OP
#define foMPI_DATATYPE_NOT_SUPPORTED MPI_ERR_TYPE
#define foMPI_NAME_ABBREVIATED MPI_ERR_ARG

/* Tags of notified accesses are 0 to foMPI_TAG_UB. */
#define foMPI_TAG_UB 32767
#define foMPI_ANY_SOURCE (-1)
#define foMPI_ANY_TAG (-2)

/* The library. foMPI_Init initializes MPI if the program has not done so; foMPI_Finalize then finalizes it. Memory of
 * foMPI_Alloc_mem is released with free. foMPI_Type_free is MPI_Type_free. */
int foMPI_Init(int *argc, char ***argv);
int foMPI_Finalize(void);
int foMPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr);
int foMPI_Type_free(MPI_Datatype *datatype);

/* Windows. These calls are collective over the communicator, except foMPI_Win_attach and foMPI_Win_detach. */
int foMPI_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, foMPI_Win *win);
int foMPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, foMPI_Win *win);
int foMPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, foMPI_Win *win);
int foMPI_Win_free(foMPI_Win *win);
int foMPI_Win_attach(foMPI_Win win, void *base, MPI_Aint size);
int foMPI_Win_detach(foMPI_Win win, const void *base);

/* Epochs. */
int foMPI_Win_fence(int assertion, foMPI_Win win);
int foMPI_Win_start(MPI_Group group, int assertion, foMPI_Win win);
int foMPI_Win_complete(foMPI_Win win);
int foMPI_Win_post(MPI_Group group, int assertion, foMPI_Win win);
int foMPI_Win_wait(foMPI_Win win);
int foMPI_Win_test(foMPI_Win win, int *flag);
int foMPI_Win_lock(int lock_type, int rank, int assertion, foMPI_Win win);
int foMPI_Win_unlock(int rank, foMPI_Win win);
int foMPI_Win_lock_all(int assertion, foMPI_Win win);
int foMPI_Win_unlock_all(foMPI_Win win);

/* Completion within an epoch. */
int foMPI_Win_flush(int rank, foMPI_Win win);
int foMPI_Win_flush_all(foMPI_Win win);
int foMPI_Win_flush_local(int rank, foMPI_Win win);
int foMPI_Win_flush_local_all(foMPI_Win win);
int foMPI_Win_sync(foMPI_Win win);

/* Groups, names and attributes of windows. The delete function of a keyval gets MPI_WIN_NULL as its window. */
int foMPI_Win_get_group(foMPI_Win win, MPI_Group *group);
int foMPI_Win_set_name(foMPI_Win win, const char *win_name);
int foMPI_Win_get_name(foMPI_Win win, char *win_name, int *resultlen);
int foMPI_Win_create_keyval(MPI_Win_copy_attr_function   *win_copy_attr_fn,
                            MPI_Win_delete_attr_function *win_delete_attr_fn, int *win_keyval, void *extra_state);
int foMPI_Win_free_keyval(int *win_keyval);
int foMPI_Win_set_attr(foMPI_Win win, int win_keyval, void *attribute_val);
int foMPI_Win_get_attr(foMPI_Win win, int win_keyval, void *attribute_val, int *flag);
int foMPI_Win_delete_attr(foMPI_Win win, int win_keyval);

/* Accesses. */
int foMPI_Put(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
              MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, foMPI_Win win);
int foMPI_Get(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
              int target_count, MPI_Datatype target_datatype, foMPI_Win win);
int foMPI_Accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, foMPI_Op op, foMPI_Win win);
int foMPI_Get_accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, void *result_addr,
                         int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                         int target_count, MPI_Datatype target_datatype, foMPI_Op op, foMPI_Win win);
int foMPI_Fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank,
                       MPI_Aint target_disp, foMPI_Op op, foMPI_Win win);
int foMPI_Compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr, MPI_Datatype datatype,
                           int target_rank, MPI_Aint target_disp, foMPI_Win win);

/* Accesses with a request, which foMPI_Wait and foMPI_Test complete. */
int foMPI_Rput(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
               MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, foMPI_Win win,
               foMPI_Request *request);
int foMPI_Rget(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
               int target_count, MPI_Datatype target_datatype, foMPI_Win win, foMPI_Request *request);
int foMPI_Raccumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                      MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, foMPI_Op op, foMPI_Win win,
                      foMPI_Request *request);
int foMPI_Rget_accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, void *result_addr,
                          int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                          int target_count, MPI_Datatype target_datatype, foMPI_Op op, foMPI_Win win,
                          foMPI_Request *request);

/* Notified accesses, which need no epoch. An access with the tag foMPI_ANY_TAG does not notify. */
int foMPI_Notify_init(foMPI_Win win, int src_rank, int tag, int count, foMPI_Request *request);
int foMPI_Put_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, foMPI_Win win, int tag);
int foMPI_Get_notify(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, foMPI_Win win, int tag);
int foMPI_Rput_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                      MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, foMPI_Win win,
                      foMPI_Request *request, int tag);
int foMPI_Rget_notify(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                      MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, foMPI_Win win,
                      foMPI_Request *request, int tag);

/* Requests. foMPI_Start has no effect on a request that is started and not complete: its matches stay. */
int foMPI_Start(foMPI_Request *request);
int foMPI_Wait(foMPI_Request *request, MPI_Status *status);
int foMPI_Test(foMPI_Request *request, int *flag, MPI_Status *status);
int foMPI_Waitany(int count, foMPI_Request array_of_requests[], int *index, MPI_Status *status);
int foMPI_Testany(int count, foMPI_Request array_of_requests[], int *index, int *flag, MPI_Status *status);
int foMPI_Waitsome(int incount, foMPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                   MPI_Status array_of_statuses[]);
int foMPI_Testsome(int incount, foMPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                   MPI_Status array_of_statuses[]);
int foMPI_Request_free(foMPI_Request *request);

#ifdef __cplusplus
}
#endif

#endif

/* armci.h: the interface of ARMCI, on Tern.
 *
 * Remote memory is addressed by the pointers that ARMCI_Malloc returns and the rank of the process that owns the memory
 * ("proc", always a rank in the job). Strided transfers describe a box: count[0] is the number of contiguous bytes,
 * count[i] the number of repetitions at level i, and the strides count bytes. Functions that return an int return 0 for
 * success; misuse ends the job with a line that names the call. Types, constants and the layout of structs are the same
 * as those with which Debian's Global Arrays 5.8 was compiled, so that its library links with this library unchanged.
 *
 * Every ARMCI_ function is a weak symbol; its PARMCI_ name at the end of this file is the same function, for tools that
 * replace the ARMCI_ name. docs/armci.md describes how the functions are implemented.
 */
#ifndef TERN_ARMCI_H
#define TERN_ARMCI_H

#include <armci_comm.h>
#include <stddef.h>
#include <stdlib.h> /* programs rely on the original header to include it */

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the interface of ARMCI-MPI with which this interface is compatible. */
#define ARMCI_MPI 3

/* Results of functions that fail. Tern's functions return FAIL; programs may compare results with the others. */
#define FAIL (-1)
#define FAIL2 (-2)
#define FAIL3 (-3)
#define FAIL4 (-4)
#define FAIL5 (-5)
#define FAIL6 (-6)
#define FAIL7 (-7)
#define FAIL8 (-8)

/* The greatest number of levels of a strided transfer. */
#define ARMCI_MAX_STRIDE_LEVEL 8

/* The types of accumulates. */
enum ARMCI_Acc_e { ARMCI_ACC_INT, ARMCI_ACC_LNG, ARMCI_ACC_FLT, ARMCI_ACC_DBL, ARMCI_ACC_CPL, ARMCI_ACC_DCP };

/* The operations of ARMCI_Rmw, on int and long. */
enum ARMCI_Rmw_e { ARMCI_FETCH_AND_ADD, ARMCI_FETCH_AND_ADD_LONG, ARMCI_SWAP, ARMCI_SWAP_LONG };

/* A number of bytes. */
typedef long armci_size_t;

/* A list of segments of equal length. */
typedef struct {
    void **src_ptr_array;
    void **dst_ptr_array;
    int    bytes;         /* length of each segment */
    int    ptr_array_len; /* number of segments */
} armci_giov_t;

/* The handle of a nonblocking operation, or of several operations if the handle is an aggregate. ARMCI_INIT_HANDLE
 * initializes a handle. */
typedef struct armci_hdl_s {
    int slot;  /* private */
    int state; /* private */
} armci_hdl_t;

/* Another name of a handle. */
typedef armci_hdl_t armci_req_t;

/* A group of processes. Global Arrays returns the communicator to programs. */
typedef struct {
    armci_comm_t comm;
    armci_comm_t noncoll_pgroup_comm; /* not used */
    int         *grp_to_abs;          /* [size] ranks in the job */
    int         *abs_to_grp;          /* [size of the job] ranks in the group; -1: not a member */
    int          rank;                /* rank of this process in the group; -1: not a member */
    int          size;
} ARMCI_Group;

/* Start and end. A program may call ARMCI_Init repeatedly; the ARMCI_Finalize that matches the first ARMCI_Init ends
 * ARMCI. Several threads may call ARMCI at the same time if MPI was initialized with MPI_THREAD_MULTIPLE, or if the
 * first start is ARMCI_Init_thread with this level (3 in programs without MPI). ARMCI_Error and armci_die end the
 * job. */
int  ARMCI_Init(void);
int  ARMCI_Init_args(int *argc, char ***argv);
int  ARMCI_Init_thread(int armci_requested);
int  ARMCI_Init_thread_comm(int armci_requested, armci_comm_t comm);
int  ARMCI_Init_mpi_comm(armci_comm_t comm);
int  ARMCI_Initialized(void);
int  ARMCI_Finalize(void);
void ARMCI_Cleanup(void);
void ARMCI_Error(const char *msg, int code);
void armci_die(const char *msg, int code);
void armci_die2(const char *msg, int code1, int code2);

/* Memory. ARMCI_Malloc is collective; sizes may differ, and the pointer of a part of size 0 is NULL. Pointers to parts
 * of ranks on this node can be dereferenced. If there is not enough memory, the call returns FAIL at all ranks, and all
 * pointers are NULL. */
int   ARMCI_Malloc(void **base_ptrs, armci_size_t size);
int   ARMCI_Free(void *ptr);
int   ARMCI_Malloc_group(void **ptr_arr, armci_size_t bytes, ARMCI_Group *group);
int   ARMCI_Free_group(void *ptr, ARMCI_Group *group);
void *ARMCI_Malloc_local(armci_size_t size);
int   ARMCI_Free_local(void *ptr);
int   ARMCI_Malloc_memdev(void **ptr_arr, armci_size_t bytes, const char *device);
int   ARMCI_Malloc_group_memdev(void **ptr_arr, armci_size_t bytes, ARMCI_Group *group, const char *device);
int   ARMCI_Free_memdev(void *ptr);

/* Memory that one rank allocates without the others. ARMCI_Memget describes the memory in *meminfo, which the program
 * sends to other ranks. ARMCI_Memat returns a pointer to the byte `offset` of the memory. The calling rank uses this
 * pointer in calls of ARMCI with the rank meminfo->cpid, and for loads and stores if that rank is on the same node. The
 * owner frees the memory by ARMCI_Memctl; other ranks call ARMCI_Memdt. memflg is ignored. The memory comes from a
 * heap, whose size is the option TERN_ARMCI_MEMGET. Without this option, ARMCI_Memget ends the job. */
typedef struct armci_meminfo_ds {
    char  *armci_addr; /* address of the memory in the owner */
    char  *addr;       /* equal to armci_addr */
    size_t size;       /* bytes */
    int    cpid;       /* rank of the owner */
    long   idlist[3];  /* private */
} armci_meminfo_t;
void  ARMCI_Memget(size_t bytes, armci_meminfo_t *meminfo, int memflg);
void *ARMCI_Memat(armci_meminfo_t *meminfo, long offset);
void  ARMCI_Memdt(armci_meminfo_t *meminfo, long offset);
void  ARMCI_Memctl(armci_meminfo_t *meminfo);

/* Completion. A put or an accumulate returns when its source may be modified; ARMCI_Fence completes both. */
void ARMCI_Barrier(void);
void ARMCI_Fence(int proc);
void ARMCI_AllFence(void);
void ARMCI_GroupFence(ARMCI_Group *group);
void ARMCI_Access_begin(void *ptr);
void ARMCI_Access_end(void *ptr);

/* Contiguous transfers. */
void ARMCI_Copy(void *src, void *dst, int size);
int  ARMCI_Get(void *src, void *dst, int size, int target);
int  ARMCI_Put(void *src, void *dst, int size, int target);
#define ARMCI_Put1(src, dst, bytes, proc) ARMCI_Put((src), (dst), (bytes), (proc))
int ARMCI_Acc(int datatype, void *scale, void *src, void *dst, int bytes, int proc);
int ARMCI_Put_flag(void *src, void *dst, int size, int *flag, int value, int proc);

/* Strided transfers. */
int  ARMCI_PutS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[], int stride_levels,
                int proc);
int  ARMCI_GetS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[], int stride_levels,
                int proc);
int  ARMCI_AccS(int datatype, void *scale, void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[],
                int count[], int stride_levels, int proc);
int  ARMCI_PutS_flag(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                     int stride_levels, int *flag, int value, int proc);
int  ARMCI_PutS_flag_dir(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                         int stride_levels, int *flag, int value, int proc);
void armci_write_strided(void *ptr, int stride_levels, int stride_arr[], int count[], char *buf);
void armci_read_strided(void *ptr, int stride_levels, int stride_arr[], int count[], char *buf);

/* Transfers of lists of segments. */
int ARMCI_PutV(armci_giov_t *iov, int iov_len, int proc);
int ARMCI_GetV(armci_giov_t *iov, int iov_len, int proc);
int ARMCI_AccV(int datatype, void *scale, armci_giov_t *iov, int iov_len, int proc);

/* Nonblocking transfers. A handle of NULL means that ARMCI_WaitProc or ARMCI_WaitAll completes the operation.
 * ARMCI_Test returns 0 if the operations of the handle are complete. */
void ARMCI_INIT_HANDLE(armci_hdl_t *hdl);
void ARMCI_SET_AGGREGATE_HANDLE(armci_hdl_t *handle);
void ARMCI_UNSET_AGGREGATE_HANDLE(armci_hdl_t *handle);
int  ARMCI_Wait(armci_hdl_t *hdl);
int  ARMCI_Test(armci_hdl_t *hdl);
int  ARMCI_WaitProc(int proc);
int  ARMCI_WaitAll(void);
int  ARMCI_NbPut(void *src, void *dst, int bytes, int proc, armci_hdl_t *hdl);
int  ARMCI_NbGet(void *src, void *dst, int bytes, int proc, armci_hdl_t *hdl);
int  ARMCI_NbAcc(int datatype, void *scale, void *src, void *dst, int bytes, int proc, armci_hdl_t *hdl);
int ARMCI_NbPutS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[], int stride_levels,
                 int proc, armci_hdl_t *hdl);
int ARMCI_NbGetS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[], int stride_levels,
                 int proc, armci_hdl_t *hdl);
int ARMCI_NbAccS(int datatype, void *scale, void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[],
                 int count[], int stride_levels, int proc, armci_hdl_t *hdl);
int ARMCI_NbPutV(armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle);
int ARMCI_NbGetV(armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle);
int ARMCI_NbAccV(int datatype, void *scale, armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle);

/* Transfers of single values. */
int    ARMCI_PutValueInt(int src, void *dst, int proc);
int    ARMCI_PutValueLong(long src, void *dst, int proc);
int    ARMCI_PutValueFloat(float src, void *dst, int proc);
int    ARMCI_PutValueDouble(double src, void *dst, int proc);
int    ARMCI_NbPutValueInt(int src, void *dst, int proc, armci_hdl_t *hdl);
int    ARMCI_NbPutValueLong(long src, void *dst, int proc, armci_hdl_t *hdl);
int    ARMCI_NbPutValueFloat(float src, void *dst, int proc, armci_hdl_t *hdl);
int    ARMCI_NbPutValueDouble(double src, void *dst, int proc, armci_hdl_t *hdl);
int    ARMCI_GetValueInt(void *src, int proc);
long   ARMCI_GetValueLong(void *src, int proc);
float  ARMCI_GetValueFloat(void *src, int proc);
double ARMCI_GetValueDouble(void *src, int proc);

/* Atomic operations, mutexes and notifications. */
int  ARMCI_Rmw(int op, void *ploc, void *prem, int value, int proc);
int  ARMCI_Create_mutexes(int count);
int  ARMCI_Destroy_mutexes(void);
void ARMCI_Lock(int mutex, int proc);
void ARMCI_Unlock(int mutex, int proc);
int  armci_notify(int proc);
int  armci_notify_wait(int proc, int *pval);

/* Groups. The ranks in pid_list are ranks of the parent. All members call ARMCI_Group_create; other ranks may call the
 * function, too. */
void ARMCI_Group_create(int grp_size, int *pid_list, ARMCI_Group *group_out);
void ARMCI_Group_create_child(int grp_size, int *pid_list, ARMCI_Group *group_out, ARMCI_Group *group_parent);
void ARMCI_Group_free(ARMCI_Group *group);
int  ARMCI_Group_rank(ARMCI_Group *group, int *rank);
void ARMCI_Group_size(ARMCI_Group *group, int *size);
void ARMCI_Group_set_default(ARMCI_Group *group);
void ARMCI_Group_get_default(ARMCI_Group *group_out);
void ARMCI_Group_get_world(ARMCI_Group *group_out);
int  ARMCI_Absolute_id(ARMCI_Group *group, int group_rank);

/* Domains. Each node of the job is a domain. With TERN_ARMCI_DOMAIN=rank, or if the ranks of a node do not share
 * memory, each rank is a domain of its own. */
enum armci_domain_e { ARMCI_DOMAIN_SMP };
typedef int armci_domain_t;
int         armci_domain_nprocs(armci_domain_t domain, int id);
int         armci_domain_id(armci_domain_t domain, int glob_proc_id);
int         armci_domain_glob_proc_id(armci_domain_t domain, int id, int loc_proc_id);
int         armci_domain_my_id(armci_domain_t domain);
int         armci_domain_count(armci_domain_t domain);
int         armci_domain_same_id(armci_domain_t domain, int proc);
int         ARMCI_Same_node(int proc);
int         armci_sameclusnode(int proc);
int         ARMCI_Uses_shm(void);
void        ARMCI_Set_shm_limit(unsigned long shmemlimit);
int         ARMCI_Uses_shm_grp(ARMCI_Group *group);

/* Iteration over the segments of a box. */
typedef struct {
    char *base_ptr;
    int   stride_levels;
    int   stride_arr[ARMCI_MAX_STRIDE_LEVEL];
    int   seg_count[ARMCI_MAX_STRIDE_LEVEL + 1];
    int   size; /* number of segments */
    int   pos;  /* index of the current segment */
    int   itr[ARMCI_MAX_STRIDE_LEVEL];
} stride_info_t;
void  armci_stride_info_init(stride_info_t *sinfo, void *base_ptr, int stride_levels, const int *stride_arr,
                             const int *seg_count);
void  armci_stride_info_destroy(stride_info_t *sinfo);
int   armci_stride_info_size(stride_info_t *sinfo);
int   armci_stride_info_pos(stride_info_t *sinfo);
void  armci_stride_info_next(stride_info_t *sinfo);
void *armci_stride_info_seg_ptr(stride_info_t *sinfo);
int   armci_stride_info_seg_size(stride_info_t *sinfo);
int   armci_stride_info_has_more(stride_info_t *sinfo);

/* Checkpoints. Tern has none: the first of these calls prints a line that says so, and all of them return FAIL. */
typedef struct {
    void **ptr_arr;
    long  *sz;
    int    count;
} armci_ckpt_ds_t;
int ARMCI_Ckpt_create_ds(armci_ckpt_ds_t *ckptds, int count);
int ARMCI_Ckpt_init(char *filename, ARMCI_Group *grp, int savestack, int saveheap, armci_ckpt_ds_t *ckptds);
int ARMCI_Ckpt(int rid);
int ARMCI_Ckpt_Recover(int rid, int iamreplacement);
int ARMCI_Ckpt_finalize(int rid);

/* The strong names of the functions above, for tools that replace the weak ones. */
int   PARMCI_Init(void);
int   PARMCI_Init_args(int *argc, char ***argv);
int   PARMCI_Init_thread(int armci_requested);
int   PARMCI_Init_thread_comm(int armci_requested, armci_comm_t comm);
int   PARMCI_Init_mpi_comm(armci_comm_t comm);
int   PARMCI_Initialized(void);
int   PARMCI_Finalize(void);
int   PARMCI_Malloc(void **base_ptrs, armci_size_t size);
int   PARMCI_Free(void *ptr);
void *PARMCI_Malloc_local(armci_size_t size);
int   PARMCI_Free_local(void *ptr);
int   PARMCI_Malloc_memdev(void **ptr_arr, armci_size_t bytes, const char *device);
int   PARMCI_Malloc_group_memdev(void **ptr_arr, armci_size_t bytes, ARMCI_Group *group, const char *device);
int   PARMCI_Free_memdev(void *ptr);
void  PARMCI_Memget(size_t bytes, armci_meminfo_t *meminfo, int memflg);
void *PARMCI_Memat(armci_meminfo_t *meminfo, long offset);
void  PARMCI_Barrier(void);
void  PARMCI_Fence(int proc);
void  PARMCI_AllFence(void);
void  PARMCI_GroupFence(ARMCI_Group *group);
void  PARMCI_Access_begin(void *ptr);
void  PARMCI_Access_end(void *ptr);
int   PARMCI_Get(void *src, void *dst, int size, int target);
int   PARMCI_Put(void *src, void *dst, int size, int target);
int   PARMCI_Acc(int datatype, void *scale, void *src, void *dst, int bytes, int proc);
int   PARMCI_Put_flag(void *src, void *dst, int size, int *flag, int value, int proc);
int  PARMCI_PutS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[], int stride_levels,
                 int proc);
int  PARMCI_GetS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[], int stride_levels,
                 int proc);
int  PARMCI_AccS(int datatype, void *scale, void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[],
                 int count[], int stride_levels, int proc);
int  PARMCI_PutS_flag(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                      int stride_levels, int *flag, int value, int proc);
int  PARMCI_PutS_flag_dir(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                          int stride_levels, int *flag, int value, int proc);
int  PARMCI_PutV(armci_giov_t *iov, int iov_len, int proc);
int  PARMCI_GetV(armci_giov_t *iov, int iov_len, int proc);
int  PARMCI_AccV(int datatype, void *scale, armci_giov_t *iov, int iov_len, int proc);
int  PARMCI_Wait(armci_hdl_t *hdl);
int  PARMCI_Test(armci_hdl_t *hdl);
int  PARMCI_WaitProc(int proc);
int  PARMCI_WaitAll(void);
int  PARMCI_NbPut(void *src, void *dst, int bytes, int proc, armci_hdl_t *hdl);
int  PARMCI_NbGet(void *src, void *dst, int bytes, int proc, armci_hdl_t *hdl);
int  PARMCI_NbAcc(int datatype, void *scale, void *src, void *dst, int bytes, int proc, armci_hdl_t *hdl);
int  PARMCI_NbPutS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                   int stride_levels, int proc, armci_hdl_t *hdl);
int  PARMCI_NbGetS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                   int stride_levels, int proc, armci_hdl_t *hdl);
int  PARMCI_NbAccS(int datatype, void *scale, void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[],
                   int count[], int stride_levels, int proc, armci_hdl_t *hdl);
int  PARMCI_NbPutV(armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle);
int  PARMCI_NbGetV(armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle);
int  PARMCI_NbAccV(int datatype, void *scale, armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle);
int  PARMCI_PutValueInt(int src, void *dst, int proc);
int  PARMCI_PutValueLong(long src, void *dst, int proc);
int  PARMCI_PutValueFloat(float src, void *dst, int proc);
int  PARMCI_PutValueDouble(double src, void *dst, int proc);
int  PARMCI_NbPutValueInt(int src, void *dst, int proc, armci_hdl_t *hdl);
int  PARMCI_NbPutValueLong(long src, void *dst, int proc, armci_hdl_t *hdl);
int  PARMCI_NbPutValueFloat(float src, void *dst, int proc, armci_hdl_t *hdl);
int  PARMCI_NbPutValueDouble(double src, void *dst, int proc, armci_hdl_t *hdl);
int  PARMCI_GetValueInt(void *src, int proc);
long PARMCI_GetValueLong(void *src, int proc);
float  PARMCI_GetValueFloat(void *src, int proc);
double PARMCI_GetValueDouble(void *src, int proc);
int    PARMCI_Rmw(int op, void *ploc, void *prem, int value, int proc);
int    PARMCI_Create_mutexes(int count);
int    PARMCI_Destroy_mutexes(void);
void   PARMCI_Lock(int mutex, int proc);
void   PARMCI_Unlock(int mutex, int proc);
int    parmci_notify(int proc);
int    parmci_notify_wait(int proc, int *pval);

#ifdef __cplusplus
}
#endif

#include <message.h>

#endif

/* misuse_armci.c: a job that misuses ARMCI in the way that its argument names, or in which the last rank dies while the
 * others wait; misuse.sh and misuse_mpi.sh expect how the job ends. */
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include "armci_test.h"

static void             **memory; /* 64 bytes at each rank */
static long               value = 1;
static double             one = 1;
static int                stride[9] = { 8, 8, 8, 8, 8, 8, 8, 8, 8 }, count[10] = { 8, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
static int                huge[9] = { INT_MAX, INT_MAX, INT_MAX, INT_MAX, INT_MAX, INT_MAX, INT_MAX, INT_MAX, INT_MAX };
static armci_hdl_t        handle;
static armcix_mutex_hdl_t mutexes;
static ARMCI_Group        all;
static armci_meminfo_t    meminfo;

static char *there(long offset)
{
    return (char *)memory[n - 1] + offset;
}

/* Calls that end the job, by name. The last rank is the target. */
#define CALLS(X)                                                                                              \
    X(rank, ARMCI_Put(&value, memory[0], 8, n))                                                               \
    X(negative_rank, ARMCI_Get(memory[0], &value, 8, -1))                                                     \
    X(levels, ARMCI_PutS(&value, stride, memory[0], stride, count, 9, 0))                                     \
    X(count, (count[1] = -2, ARMCI_GetS(memory[0], stride, &value, stride, count, 1, 0)))                     \
    X(bytes, ARMCI_Get(memory[0], &value, -3, 0))                                                             \
    X(acc_bytes, ARMCI_NbAcc(ARMCI_ACC_DBL, &one, &one, there(0), -8, n - 1, &handle))                        \
    X(put_address, ARMCI_Put(&value, &one, 8, n - 1))                                                         \
    X(get_address, ARMCI_NbGet(&one, &value, 8, n - 1, &handle))                                              \
    X(null_address, ARMCI_Put(&value, NULL, 8, n - 1))                                                        \
    X(put_null, ARMCI_Put(NULL, there(0), 8, n - 1))                                                          \
    X(get_null, ARMCI_NbGet(there(0), NULL, 8, n - 1, &handle))                                               \
    X(acc_null, ARMCI_Acc(ARMCI_ACC_DBL, &one, NULL, there(0), 8, n - 1))                                     \
    X(copy_null, (ARMCI_Copy(NULL, &value, 8), 0))                                                            \
    X(value_address, ARMCI_PutValueInt(1, &one, n - 1))                                                       \
    X(acc_address, ARMCI_Acc(ARMCI_ACC_DBL, &one, &one, &value, 8, n - 1))                                    \
    X(put_end, ARMCI_Put(memory[me], there(32), 64, n - 1))                                                   \
    X(get_end, ARMCI_NbGet(there(60), &value, 8, n - 1, &handle))                                             \
    X(acc_end, ARMCI_Acc(ARMCI_ACC_DBL, &one, memory[me], there(32), 64, n - 1))                              \
    X(box_end, (count[1] = 9, ARMCI_PutS(memory[me], stride, there(0), stride, count, 1, n - 1)))             \
    X(box_begin,                                                                                              \
      (stride[1] = -8, count[2] = 2, ARMCI_GetS(there(0), stride, memory[me], stride + 2, count, 2, n - 1)))  \
    X(box_null, ARMCI_GetS(there(0), stride, NULL, stride, count, 1, n - 1))                                  \
    X(box_strides, ARMCI_PutS(&value, NULL, there(0), stride, count, 1, n - 1))                               \
    X(box_huge, ARMCI_PutS(&value, huge, there(0), huge, huge, 8, n - 1))                                     \
    X(list_end, ARMCI_PutV(&(armci_giov_t){ (void *[]){ &value }, (void *[]){ there(60) }, 8, 1 }, 1, n - 1)) \
    X(list_address, ARMCI_GetV(&(armci_giov_t){ (void *[]){ &one }, (void *[]){ &value }, 8, 1 }, 1, n - 1))  \
    X(list_null, ARMCI_AccV(ARMCI_ACC_DBL, &one, &(armci_giov_t){ NULL, NULL, 8, 1 }, 1, n - 1))              \
    X(list_hole, ARMCI_GetV(&(armci_giov_t){ (void *[]){ there(0) }, (void *[]){ NULL }, 8, 1 }, 1, n - 1))   \
    X(flag_address, ARMCI_Put_flag(&value, there(0), 8, stride, 1, n - 1))                                    \
    X(acc_part, ARMCI_Acc(ARMCI_ACC_DBL, &one, &one, there(0), 5, n - 1))                                     \
    X(type, ARMCI_Acc(17, &one, &value, memory[0], 8, 0))                                                     \
    X(scale, ARMCI_AccS(ARMCI_ACC_INT, NULL, &value, stride, memory[0], stride, count, 0, 0))                 \
    X(operation, ARMCI_Rmw(44, &value, memory[0], 1, 0))                                                      \
    X(rmw_address, ARMCI_Rmw(ARMCI_SWAP, &value, &one, 1, n - 1))                                             \
    X(rmw_end, ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &value, there(64), 1, n - 1))                                   \
    X(rmw_odd, ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &value, there(4), 1, n - 1))                               \
    X(aggregate, (ARMCI_SET_AGGREGATE_HANDLE(NULL), 0))                                                       \
    X(wait, ARMCI_Wait(NULL))                                                                                 \
    X(size, ARMCI_Malloc(memory, -1))                                                                         \
    X(array, ARMCI_Malloc(NULL, 8))                                                                           \
    X(free, ARMCI_Free((char *)memory[me] + 8))                                                               \
    X(free_other, ARMCI_Free(memory[(me + 1) % n]))                                                           \
    X(free_differs, ARMCI_Free(me == 0 ? NULL : memory[me]))                                                  \
    X(unlock, (ARMCI_Unlock(0, 0), 0))                                                                        \
    X(no_mutex, (ARMCI_Create_mutexes(2), ARMCI_Lock(2, n - 1), 0))                                           \
    X(not_held, (ARMCI_Create_mutexes(1), ARMCI_Unlock(0, n - 1), 0))                                         \
    X(mutexes_twice, (ARMCI_Create_mutexes(1), ARMCI_Create_mutexes(1)))                                      \
    X(mutexes_gone, ARMCI_Destroy_mutexes())                                                                  \
    X(mutex_held, (ARMCI_Create_mutexes(1), ARMCI_Lock(0, me), ARMCI_Destroy_mutexes()))                      \
    X(end_held, (ARMCI_Create_mutexes(1), ARMCI_Lock(0, me), ARMCI_Finalize()))                               \
    X(handle_gone, (ARMCI_Group_get_world(&all), mutexes = ARMCIX_Create_mutexes_hdl(1, &all),                \
                    ARMCIX_Destroy_mutexes_hdl(mutexes), ARMCIX_Destroy_mutexes_hdl(mutexes)))                \
    X(group, (armci_msg_group_barrier(&(ARMCI_Group){ .rank = -1 }), 0))                                      \
    X(member, (ARMCI_Group_create(1, &n, &(ARMCI_Group){ .rank = -1 }), 0))                                   \
    X(member_twice, (ARMCI_Group_create(2, (int[]){ me, me }, &(ARMCI_Group){ .rank = -1 }), 0))              \
    X(gop, (armci_msg_dgop(&one, 1, "mean"), 0))                                                              \
    X(gop_or, (armci_msg_dgop(&one, 1, "or"), 0))                                                             \
    X(gop_type, (armci_msg_reduce(&one, 1, "+", 9), 0))                                                       \
    X(sel, (armci_msg_sel(&one, 8, "mean", ARMCI_DOUBLE, 1), 0))                                              \
    X(scope, (armci_msg_bcast_scope(5, &one, 8, 0), 0))                                                       \
    X(root, (armci_msg_bcast(&one, 8, n), 0))                                                                 \
    X(send, (armci_msg_snd(1, &one, -8, 0), 0))                                                               \
    X(self, (armci_msg_rcv(1, &one, 8, NULL, me), 0))                                                         \
    X(domain, armci_domain_nprocs(ARMCI_DOMAIN_SMP, 99))                                                      \
    X(segment, (armci_stride_info_init(&info, &one, 0, stride, count), armci_stride_info_next(&info),         \
                armci_stride_info_next(&info), 0))                                                            \
    X(segments, (armci_stride_info_init(&info, &one, 2, huge, huge), 0))                                      \
    X(iterator_init, (armci_stride_info_init(NULL, &one, 1, stride, count), 0))                               \
    X(iterator_size, armci_stride_info_size(NULL))                                                            \
    X(iterator_pos, armci_stride_info_pos(NULL))                                                              \
    X(iterator_next, (armci_stride_info_next(NULL), 0))                                                       \
    X(iterator_seg_ptr, armci_stride_info_seg_ptr(NULL) != NULL)                                              \
    X(iterator_seg_size, armci_stride_info_seg_size(NULL))                                                    \
    X(iterator_has_more, armci_stride_info_has_more(NULL))                                                    \
    X(iterator_destroy, (armci_stride_info_destroy(NULL), 0))                                                 \
    X(split_null, (ARMCI_Group_get_world(&all), ARMCIX_Group_split(&all, 0, 0, NULL)))                        \
    X(dup_null, (ARMCI_Group_get_world(&all), ARMCIX_Group_dup(&all, NULL)))                                  \
    X(comm_null, (ARMCIX_Get_world_comm(NULL), 0))                                                            \
    X(memget, (ARMCI_Memget(8, &meminfo, 0), 0))                                                              \
    X(memget_null, (ARMCI_Memget(8, NULL, 0), 0))                                                             \
    X(memget_empty, (ARMCI_Memget(0, &meminfo, 0), 0))                                                        \
    X(memget_long, (ARMCI_Memget(64, &meminfo, 0), ARMCI_Memget(4096 - 32, &meminfo, 0), 0))                  \
    X(memat, ARMCI_Memat(&meminfo, 0) != NULL)                                                                \
    X(memat_end, (ARMCI_Memget(8, &meminfo, 0), ARMCI_Memat(&meminfo, 8) != NULL))                            \
    X(memat_long, (ARMCI_Memget(8, &meminfo, 0), meminfo.size = 5000, ARMCI_Memat(&meminfo, 0) != NULL))      \
    X(memat_rank, (ARMCI_Memget(8, &meminfo, 0), meminfo.cpid = n, ARMCI_Memat(&meminfo, 0) != NULL))         \
    X(memdt, (ARMCI_Memdt(NULL, 0), 0))                                                                       \
    X(memctl, (ARMCI_Memget(8, &meminfo, 0), ARMCI_Memctl(&meminfo), ARMCI_Memctl(&meminfo), 0))              \
    X(memfree, (ARMCI_Memget(8, &meminfo, 0), ARMCI_Free(meminfo.addr)))                                      \
    X(error, (ARMCI_Error("the program gives up", 7), 0))                                                     \
    X(abort, (armci_msg_abort(5), 0))                                                                         \
    X(late, (ARMCI_Finalize(), ARMCI_Put(&value, &value, 8, 0)))

static stride_info_t info;

#define NAME(name, call)         \
    if (strcmp(how, #name) == 0) \
        return call;

/* Make the call with this name. */
static int misuse(const char *how)
{
    CALLS(NAME)
    return 0;
}

/* A message that is longer than the buffer of its receiver. */
static void truncate_message(void)
{
    if (me == 0)
        armci_msg_snd(3, memory[0], 64, n - 1);
    else if (me == n - 1)
        armci_msg_rcv(3, &value, 8, NULL, 0);
}

/* The last rank dies, or exits as if it had finished; the others wait for it in this way. */
static void die(const char *how)
{
    ARMCI_Create_mutexes(1);
    if (me == n - 1)
        ARMCI_Lock(0, 0);
    ARMCI_Barrier();
    if (me == n - 1 && strcmp(how, "die_exit") == 0)
        _exit(0);
    if (me == n - 1)
        (void)raise(SIGKILL);
    if (strcmp(how, "die_lock") == 0)
        ARMCI_Lock(0, 0);
    else if (strcmp(how, "die_receive") == 0)
        armci_msg_rcv(1, &value, 8, NULL, n - 1);
    else if (strcmp(how, "die_notify") == 0)
        (void)armci_notify_wait(n - 1, NULL);
    else if (strcmp(how, "die_gop") == 0)
        armci_msg_dgop(&one, 1, "+");
    else if (strcmp(how, "die_flag") == 0)
        while (*(volatile long *)memory[me] != 77)
            ARMCIX_Progress();
    else
        ARMCI_Barrier();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    if (strcmp(how, "early") == 0)
        return ARMCI_Put(&value, &value, 8, 0);
    start();
    memory = allocate(64);
    memset(memory[me], 0, 64);
    ARMCI_INIT_HANDLE(&handle);
    ARMCI_Barrier();
    if (strcmp(how, "truncate") == 0)
        truncate_message();
    else if (strncmp(how, "die", 3) == 0)
        die(how);
    else if (me == 0 || strstr("size array free_other free_differs mutexes_twice not_held no_mutex mutex_held "
                               "end_held handle_gone late",
                               how))
        (void)misuse(how);
    ARMCI_Barrier();
    return 0;
}

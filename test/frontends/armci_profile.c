/* armci_profile.c: the PARMCI_ names are those of the same functions, and a program that defines ARMCI_Put and
 * armci_msg_barrier itself replaces the weak ones. The program starts and ends ARMCI by armci_msg_init and
 * armci_msg_finalize.
 *
 * ranks: 1 2 8
 */
#include "armci_test.h"

static int put_calls, barrier_calls;

int ARMCI_Put(void *src, void *dst, int size, int target)
{
    put_calls++;
    return PARMCI_Put(src, dst, size, target);
}

void armci_msg_barrier(void)
{
    barrier_calls++;
    parmci_msg_barrier();
}

typedef void (*function)(void);

/* The compiler must not conclude that functions with different names have different addresses. */
static int is_same(volatile function one, volatile function two)
{
    return one == two;
}

/* Whether a PARMCI_ name is another name of the function. */
#define S(name) is_same((function)ARMCI_##name, (function)PARMCI_##name)

static void check_names(void)
{
    MUST(S(Init) && S(Init_args) && S(Init_thread) && S(Init_thread_comm) && S(Init_mpi_comm) && S(Initialized));
    MUST(S(Finalize) && S(Malloc) && S(Free) && S(Malloc_local) && S(Free_local) && S(Malloc_memdev));
    MUST(S(Malloc_group_memdev) && S(Free_memdev) && S(Barrier) && S(Fence) && S(AllFence) && S(GroupFence));
    MUST(S(Access_begin) && S(Access_end) && S(Get) && S(Acc) && S(Put_flag) && S(PutS) && S(GetS) && S(AccS));
    MUST(S(PutS_flag) && S(PutS_flag_dir) && S(PutV) && S(GetV) && S(AccV) && S(Wait) && S(Test) && S(WaitProc));
    MUST(S(WaitAll) && S(NbPut) && S(NbGet) && S(NbAcc) && S(NbPutS) && S(NbGetS) && S(NbAccS) && S(NbPutV));
    MUST(S(NbGetV) && S(NbAccV) && S(PutValueInt) && S(PutValueLong) && S(PutValueFloat) && S(PutValueDouble));
    MUST(S(NbPutValueInt) && S(NbPutValueLong) && S(NbPutValueFloat) && S(NbPutValueDouble) && S(GetValueInt));
    MUST(S(GetValueLong) && S(GetValueFloat) && S(GetValueDouble) && S(Rmw) && S(Create_mutexes));
    MUST(S(Destroy_mutexes) && S(Lock) && S(Unlock) && S(Memget) && S(Memat));
    MUST(is_same((function)armci_notify, (function)parmci_notify) &&
         is_same((function)armci_notify_wait, (function)parmci_notify_wait));
    MUST(is_same((function)armci_msg_group_barrier, (function)parmci_msg_group_barrier));
    MUST(ARMCI_Put != PARMCI_Put && armci_msg_barrier != parmci_msg_barrier); /* those of this program */
}

/* The calls of message.h that no other test makes: a broadcast on the node from a member of a group, and memory of a
 * group on a device. */
static void check_rest(void)
{
    ARMCI_Group world;
    void      **parts = malloc((size_t)n * sizeof *parts);
    int         value = me, master = n - 1;

    ARMCI_Group_get_world(&world);
    while (master > 0 && !ARMCI_Same_node(master)) /* the last rank of this node */
        master--;
    armci_grp_clus_brdcst(&value, sizeof value, master, armci_domain_nprocs(ARMCI_DOMAIN_SMP, -1), &world);
    MUST(value == master);
    MUST(parts != NULL && ARMCI_Malloc_group_memdev(parts, 8, &world, "dram") == 0);
    value = 3;
    MUST(ARMCI_Put(&value, parts[(me + 1) % n], sizeof value, (me + 1) % n) == 0);
    ARMCI_AllFence();
    armci_msg_barrier();
    MUST(*(int *)parts[me] == 3);
    armci_msg_barrier();
    MUST(ARMCI_Free_memdev(parts[me]) == 0);
    free(parts);
}

int main(int argc, char **argv)
{
    armci_msg_init(&argc, &argv);
    MUST(ARMCI_Initialized());
    me = armci_msg_me();
    n = armci_msg_nproc();
    check_names();
    check_rest();
    MUST(put_calls == 1 && barrier_calls == 2);
    armci_msg_finalize();
    MUST(!ARMCI_Initialized());
    return 0;
}

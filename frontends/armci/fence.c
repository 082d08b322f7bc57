/* fence.c: fences, barriers and notifications. */
#include "state.h"

/* Order near operations, which are complete, with later loads. */
static inline void full_fence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

ARMCI_EXPORT void PARMCI_Fence(int proc)
{
    tern_armci_check_rank("ARMCI_Fence", proc);
    if (tern_armci.near[proc])
        full_fence();
    else
        tern_front_check(tern_quiet_rank(tern_armci.far_ctx, proc), "ARMCI_Fence", "completing operations");
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Fence, PARMCI_Fence);

ARMCI_EXPORT void PARMCI_AllFence(void)
{
    tern_armci_check_running("ARMCI_AllFence");
    tern_front_check(tern_quiet(tern_armci.far_ctx), "ARMCI_AllFence", "completing operations");
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_AllFence, PARMCI_AllFence);

ARMCI_EXPORT void PARMCI_GroupFence(ARMCI_Group *group)
{
    (void)tern_armci_group_of("ARMCI_GroupFence", group);
    tern_front_check(tern_quiet(tern_armci.far_ctx), "ARMCI_GroupFence", "completing operations");
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_GroupFence, PARMCI_GroupFence);

ARMCI_EXPORT void PARMCI_Barrier(void)
{
    tern_armci_check_running("ARMCI_Barrier");
    tern_front_check(tern_quiet(tern_armci.far_ctx), "ARMCI_Barrier", "completing operations");
    tern_front_check(tern_barrier(tern_armci.near_ctx), "ARMCI_Barrier", "the barrier of all ranks");
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Barrier, PARMCI_Barrier);

/* Begin an access to memory of ARMCI_Malloc by loads and stores, which is possible at any time, so that only the order
 * matters. */
ARMCI_EXPORT void PARMCI_Access_begin(void *ptr)
{
    (void)ptr;
    full_fence();
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Access_begin, PARMCI_Access_begin);

ARMCI_EXPORT void PARMCI_Access_end(void *ptr)
{
    (void)ptr;
    full_fence();
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Access_end, PARMCI_Access_end);

ARMCI_EXPORT void parmci_msg_barrier(void)
{
    tern_armci_check_running("armci_msg_barrier");
    tern_front_check(tern_barrier(tern_armci.near_ctx), "armci_msg_barrier", "the barrier of all ranks");
}
ARMCI_EXPORT ARMCI_WEAK(armci_msg_barrier, parmci_msg_barrier);

ARMCI_EXPORT void parmci_msg_group_barrier(ARMCI_Group *group)
{
    struct tern_armci_group *g = tern_armci_group_of("armci_msg_group_barrier", group);

    tern_front_check(tern_barrier(g->ctx), "armci_msg_group_barrier", "the barrier of a group");
}
ARMCI_EXPORT ARMCI_WEAK(armci_msg_group_barrier, parmci_msg_group_barrier);

/* Notify a rank, behind all earlier operations to it: add 1 to the counter that the rank has for this one. */
ARMCI_EXPORT int parmci_notify(int proc)
{
    const uint64_t   one = 1;
    tern_atomic_args args = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_ADD, .type = TERN_UINT64, .operand = &one);

    tern_armci_check_rank("armci_notify", proc);
    tern_front_check(tern_atomic(tern_armci.far_ctx, NULL, tern_armci.words, proc,
                                 (uint64_t)tern_armci.me * sizeof(uint64_t), &args),
                     "armci_notify", "the notification");
    return 0;
}
ARMCI_EXPORT ARMCI_WEAK(armci_notify, parmci_notify);

/* Wait for the next notification of a rank. Its number, counted from 1, is in *pval; the result is the number of
 * notifications that have arrived. */
ARMCI_EXPORT int parmci_notify_wait(int proc, int *pval)
{
    const char *call = "armci_notify_wait";
    uint64_t   *counter, number;
    tern_word   word;

    tern_armci_check_rank(call, proc);
    counter = (uint64_t *)tern_region_ptr(tern_armci.words, tern_armci.me) + proc;
    number = __atomic_add_fetch(&tern_armci.waited[proc], 1, __ATOMIC_RELAXED);
    word = TERN_WORD(counter, TERN_GE, number);
    tern_front_check(tern_word_wait(tern_armci.far_ctx, &word, TERN_FOREVER), call, "the wait");
    if (pval != NULL)
        *pval = (int)number;
    return (int)__atomic_load_n(counter, __ATOMIC_ACQUIRE);
}
ARMCI_EXPORT ARMCI_WEAK(armci_notify_wait, parmci_notify_wait);

/* rmw.c: atomic read-modify-write operations. Near ones are instructions of this processor; Tern carries out far ones
 * so that they are atomic with respect to these instructions. */
#include "state.h"

static __attribute__((noinline)) int far_rmw(int op, void *ploc, void *prem, int value, int proc)
{
    const char             *call = "ARMCI_Rmw";
    bool                    swap = op == ARMCI_SWAP || op == ARMCI_SWAP_LONG;
    bool                    wide = op == ARMCI_FETCH_AND_ADD_LONG || op == ARMCI_SWAP_LONG;
    long                    addend = value;
    struct tern_armci_place place;
    tern_atomic_args        args = TERN_ATOMIC_ARGS(.op = swap ? TERN_ATOMIC_SWAP : TERN_ATOMIC_FADD,
                                                    .type = wide ? TERN_INT64 : TERN_INT32, .result = ploc);

    tern_armci_check_rank(call, proc);
    if (op < ARMCI_FETCH_AND_ADD || op > ARMCI_SWAP_LONG)
        tern_front_die(call, "there is no operation %d; use ARMCI_FETCH_AND_ADD, ARMCI_SWAP or their _LONG forms", op);
    place = tern_armci_find(call, proc, prem);
    if (swap)
        args.operand = ploc;
    else
        args.operand = wide ? (const void *)&addend : (const void *)&value;
    tern_front_check(tern_atomic(tern_armci.far_ctx, NULL, place.region, proc, place.offset, &args), call,
                     "the operation");
    return 0;
}

ARMCI_EXPORT int PARMCI_Rmw(int op, void *ploc, void *prem, int value, int proc)
{
    if (TERN_UNLIKELY(!tern_armci_is_near(proc)))
        return far_rmw(op, ploc, prem, value, proc);
    switch (op) {
    case ARMCI_FETCH_AND_ADD: *(int *)ploc = __atomic_fetch_add((int *)prem, value, __ATOMIC_ACQ_REL); return 0;
    case ARMCI_FETCH_AND_ADD_LONG: *(long *)ploc = __atomic_fetch_add((long *)prem, value, __ATOMIC_ACQ_REL); return 0;
    case ARMCI_SWAP: *(int *)ploc = __atomic_exchange_n((int *)prem, *(int *)ploc, __ATOMIC_ACQ_REL); return 0;
    case ARMCI_SWAP_LONG: *(long *)ploc = __atomic_exchange_n((long *)prem, *(long *)ploc, __ATOMIC_ACQ_REL); return 0;
    default: return far_rmw(op, ploc, prem, value, proc); /* ends the job */
    }
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Rmw, PARMCI_Rmw);

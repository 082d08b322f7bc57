/* rmw.c: atomic read-modify-write operations. Near operations are instructions of this processor. Tern executes far
 * operations, which are atomic with respect to these instructions. */
#include "state.h"

static bool is_wide(int op)
{
    return op == ARMCI_FETCH_AND_ADD_LONG || op == ARMCI_SWAP_LONG;
}

/* Check the arguments of an operation. */
static void check(const char *call, int op, const void *ploc, const void *prem, int proc)
{
    size_t bytes = is_wide(op) ? sizeof(long) : sizeof(int);

    tern_armci_check_rank(call, proc);
    if (op < ARMCI_FETCH_AND_ADD || op > ARMCI_SWAP_LONG)
        tern_front_die(call, "there is no operation %d; use ARMCI_FETCH_AND_ADD, ARMCI_SWAP or their _LONG forms", op);
    if (ploc == NULL)
        tern_front_die(call, "the address of the result is NULL");
    if ((uintptr_t)prem % bytes != 0)
        tern_front_die(call, "the address %p is not a multiple of %zu, so that the operation cannot be atomic", prem,
                       bytes);
}

/* Execute an operation on an address of this process. */
static inline int apply(int op, void *ploc, void *prem, int value)
{
    switch (op) {
    case ARMCI_FETCH_AND_ADD: *(int *)ploc = __atomic_fetch_add((int *)prem, value, __ATOMIC_ACQ_REL); break;
    case ARMCI_FETCH_AND_ADD_LONG: *(long *)ploc = __atomic_fetch_add((long *)prem, value, __ATOMIC_ACQ_REL); break;
    case ARMCI_SWAP: *(int *)ploc = __atomic_exchange_n((int *)prem, *(int *)ploc, __ATOMIC_ACQ_REL); break;
    default: *(long *)ploc = __atomic_exchange_n((long *)prem, *(long *)ploc, __ATOMIC_ACQ_REL); break;
    }
    return 0;
}

static __attribute__((noinline)) int slow_rmw(int op, void *ploc, void *prem, int value, int proc)
{
    const char             *call = "ARMCI_Rmw";
    bool                    swap = op == ARMCI_SWAP || op == ARMCI_SWAP_LONG;
    long                    addend = value;
    struct tern_armci_place place;
    tern_atomic_args        args = TERN_ATOMIC_ARGS(.op = swap ? TERN_ATOMIC_SWAP : TERN_ATOMIC_FADD,
                                                    .type = is_wide(op) ? TERN_INT64 : TERN_INT32, .result = ploc);

    check(call, op, ploc, prem, proc);
    if (tern_armci.near[proc]) {
        tern_armci_check_near(call, proc, prem, is_wide(op) ? sizeof(long) : sizeof(int));
        return apply(op, ploc, prem, value);
    }
    place = tern_armci_find(call, proc, prem);
    if (swap)
        args.operand = ploc;
    else
        args.operand = is_wide(op) ? (const void *)&addend : (const void *)&value;
    tern_front_check(tern_atomic(tern_armci.far_ctx, NULL, place.region, proc, place.offset, &args), call,
                     "the operation");
    return 0;
}

ARMCI_EXPORT int PARMCI_Rmw(int op, void *ploc, void *prem, int value, int proc)
{
    uintptr_t least = (uintptr_t)sizeof(long) - 1; /* bits that are 0 in the address of an aligned long */

    if (TERN_UNLIKELY(!tern_armci_at_hand(proc, prem, (int)sizeof(long)) || (unsigned)op > ARMCI_SWAP_LONG ||
                      ((uintptr_t)prem & least) != 0 || ploc == NULL))
        return slow_rmw(op, ploc, prem, value, proc);
    return apply(op, ploc, prem, value);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Rmw, PARMCI_Rmw);

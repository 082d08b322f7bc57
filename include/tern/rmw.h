/* rmw.h: fetch-and-add and swap of 32-bit and 64-bit values without a domain. atomic.h includes this header.
 *
 * The operations are atomic with respect to each other, to atomic instructions of the program, and to atomic domains
 * whose mechanism is not TERN_ATOMIC_NETWORK, as if they used a domain with all flags. Signed values have the same bits
 * as unsigned ones.
 */
#ifndef TERN_RMW_H
#define TERN_RMW_H

#include <tern/atomic.h>

TERN_BEGIN_DECLS

/* Add value to the uint32_t at byte offset of rank's part of region, and store the previous value in *result. The
 * operation needs no domain. It is atomic with respect to all other atomic operations, except those of domains whose
 * mechanism is TERN_ATOMIC_NETWORK.
 * Returns  TERN_OK: the operation is complete.
 *          TERN_ERR_ARG: ctx, region or result is NULL, or the value is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the value does not lie in rank's part.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the operation
 *            may have been executed.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The operation may be executed until tern_quiet returns,
 *            and the result is not stored.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The operation may have been executed.
 *          After the other errors, nothing has changed.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_fadd_u32(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint32_t value,
                                      uint32_t *result)
{
    tern_atomic_word32 *at = (tern_atomic_word32 *)(void *)tern_direct(ctx, region, rank, offset, sizeof(value));

    if (TERN_UNLIKELY(at == NULL || result == NULL || ((uintptr_t)at & (sizeof(value) - 1)) != 0)) {
        uint32_t         old = 0;      /* so that *result can stay in a register, too */
        uint32_t         copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_FADD, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_rmw_far(ctx, region, rank, offset, TERN_UINT32, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    *result = __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Store value as the uint32_t at byte offset of rank's part of region, and store the previous value in *result. The
 * operation needs no domain. It is atomic with respect to all other atomic operations, except those of domains whose
 * mechanism is TERN_ATOMIC_NETWORK.
 * Returns  TERN_OK: the operation is complete.
 *          TERN_ERR_ARG: ctx, region or result is NULL, or the value is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the value does not lie in rank's part.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the operation
 *            may have been executed.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The operation may be executed until tern_quiet returns,
 *            and the result is not stored.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The operation may have been executed.
 *          After the other errors, nothing has changed.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_swap_u32(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint32_t value,
                                      uint32_t *result)
{
    tern_atomic_word32 *at = (tern_atomic_word32 *)(void *)tern_direct(ctx, region, rank, offset, sizeof(value));

    if (TERN_UNLIKELY(at == NULL || result == NULL || ((uintptr_t)at & (sizeof(value) - 1)) != 0)) {
        uint32_t         old = 0;      /* so that *result can stay in a register, too */
        uint32_t         copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_SWAP, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_rmw_far(ctx, region, rank, offset, TERN_UINT32, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    *result = __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Add value to the uint64_t at byte offset of rank's part of region, and store the previous value in *result. The
 * operation needs no domain. It is atomic with respect to all other atomic operations, except those of domains whose
 * mechanism is TERN_ATOMIC_NETWORK.
 * Returns  TERN_OK: the operation is complete.
 *          TERN_ERR_ARG: ctx, region or result is NULL, or the value is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the value does not lie in rank's part.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the operation
 *            may have been executed.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The operation may be executed until tern_quiet returns,
 *            and the result is not stored.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The operation may have been executed.
 *          After the other errors, nothing has changed.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_fadd_u64(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint64_t value,
                                      uint64_t *result)
{
    tern_atomic_word64 *at = (tern_atomic_word64 *)(void *)tern_direct(ctx, region, rank, offset, sizeof(value));

    if (TERN_UNLIKELY(at == NULL || result == NULL || ((uintptr_t)at & (sizeof(value) - 1)) != 0)) {
        uint64_t         old = 0;      /* so that *result can stay in a register, too */
        uint64_t         copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_FADD, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_rmw_far(ctx, region, rank, offset, TERN_UINT64, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    *result = __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Store value as the uint64_t at byte offset of rank's part of region, and store the previous value in *result. The
 * operation needs no domain. It is atomic with respect to all other atomic operations, except those of domains whose
 * mechanism is TERN_ATOMIC_NETWORK.
 * Returns  TERN_OK: the operation is complete.
 *          TERN_ERR_ARG: ctx, region or result is NULL, or the value is misaligned.
 *          TERN_ERR_RANGE: rank is not in the context's team, or the value does not lie in rank's part.
 *          TERN_ERR_STATE: an active message handler made the call, and the call would have to wait.
 *          TERN_ERR_PEER: rank has died, or the connection to it is broken. If rank died during the call, the operation
 *            may have been executed.
 *          TERN_ERR_NOMEM: there is no memory to track another outstanding operation.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The operation may be executed until tern_quiet returns,
 *            and the result is not stored.
 *          TERN_ERR_LINK: the transport failed, for instance because rank has unmapped the memory that it registered.
 *            The operation may have been executed.
 *          After the other errors, nothing has changed.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_swap_u64(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint64_t value,
                                      uint64_t *result)
{
    tern_atomic_word64 *at = (tern_atomic_word64 *)(void *)tern_direct(ctx, region, rank, offset, sizeof(value));

    if (TERN_UNLIKELY(at == NULL || result == NULL || ((uintptr_t)at & (sizeof(value) - 1)) != 0)) {
        uint64_t         old = 0;      /* so that *result can stay in a register, too */
        uint64_t         copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_SWAP, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_rmw_far(ctx, region, rank, offset, TERN_UINT64, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    *result = __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

TERN_END_DECLS

#endif

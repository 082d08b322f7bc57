/* rmw.h: fetch-and-add and swap of 32 and 64 bits that need no domain. tern/atomic.h includes it.
 */
#ifndef TERN_RMW_H
#define TERN_RMW_H

#include <tern/atomic.h>

TERN_BEGIN_DECLS

/* Add to the uint32_t at byte offset of rank's part of region; what was there goes to *result. Needs no domain: as with
 * one that has all flags, so that it is atomic with respect to everything but the network's own atomics. Signed values
 * are the same bits.
 * Returns  as tern_atomic.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_fadd_u32(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint32_t value,
                                      uint32_t *result)
{
    tern_atomic_word32 *at = (tern_atomic_word32 *)(void *)tern_direct(ctx, region, rank, offset, sizeof(value));

    if (TERN_UNLIKELY(at == NULL || result == NULL || ((uintptr_t)at & (sizeof(value) - 1)) != 0)) {
        uint32_t         old = 0;      /* so that *result stays in a register, too */
        uint32_t         copy = value; /* so that value itself stays in a register */
        tern_atomic_args args = { TERN_ATOMIC_FADD, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_rmw_far(ctx, region, rank, offset, TERN_UINT32, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same location. */
    *result = __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Store a uint32_t at byte offset of rank's part of region; what was there goes to *result. Needs no domain: as
 * tern_fadd_u32.
 * Returns  as tern_atomic.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_swap_u32(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint32_t value,
                                      uint32_t *result)
{
    tern_atomic_word32 *at = (tern_atomic_word32 *)(void *)tern_direct(ctx, region, rank, offset, sizeof(value));

    if (TERN_UNLIKELY(at == NULL || result == NULL || ((uintptr_t)at & (sizeof(value) - 1)) != 0)) {
        uint32_t         old = 0;      /* so that *result stays in a register, too */
        uint32_t         copy = value; /* so that value itself stays in a register */
        tern_atomic_args args = { TERN_ATOMIC_SWAP, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_rmw_far(ctx, region, rank, offset, TERN_UINT32, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same location. */
    *result = __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Add to the uint64_t at byte offset of rank's part of region; what was there goes to *result. Needs no domain: as with
 * one that has all flags, so that it is atomic with respect to everything but the network's own atomics. Signed values
 * are the same bits.
 * Returns  as tern_atomic.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_fadd_u64(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint64_t value,
                                      uint64_t *result)
{
    tern_atomic_word64 *at = (tern_atomic_word64 *)(void *)tern_direct(ctx, region, rank, offset, sizeof(value));

    if (TERN_UNLIKELY(at == NULL || result == NULL || ((uintptr_t)at & (sizeof(value) - 1)) != 0)) {
        uint64_t         old = 0;      /* so that *result stays in a register, too */
        uint64_t         copy = value; /* so that value itself stays in a register */
        tern_atomic_args args = { TERN_ATOMIC_FADD, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_rmw_far(ctx, region, rank, offset, TERN_UINT64, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same location. */
    *result = __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Store a uint64_t at byte offset of rank's part of region; what was there goes to *result. Needs no domain: as
 * tern_fadd_u64.
 * Returns  as tern_atomic.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_swap_u64(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, uint64_t value,
                                      uint64_t *result)
{
    tern_atomic_word64 *at = (tern_atomic_word64 *)(void *)tern_direct(ctx, region, rank, offset, sizeof(value));

    if (TERN_UNLIKELY(at == NULL || result == NULL || ((uintptr_t)at & (sizeof(value) - 1)) != 0)) {
        uint64_t         old = 0;      /* so that *result stays in a register, too */
        uint64_t         copy = value; /* so that value itself stays in a register */
        tern_atomic_args args = { TERN_ATOMIC_SWAP, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_rmw_far(ctx, region, rank, offset, TERN_UINT64, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same location. */
    *result = __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

TERN_END_DECLS

#endif

/* atomic_integers.h: the typed atomic operations of atomic.h for integers. atomic.h includes this header.
 *
 * A typed call takes the operand as a value, stores the previous value in *result, and returns the status.
 */
#ifndef TERN_ATOMIC_INTEGERS_H
#define TERN_ATOMIC_INTEGERS_H

#include <tern/atomic.h>

TERN_BEGIN_DECLS

/* Load the int32_t at byte offset of rank's part of region into *result, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   None. The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_get_i32(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                            uint64_t offset, int32_t *result)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_INT32, TERN_ATOMIC_GET);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        int32_t          old = 0; /* so that *result can stay in a register, too */
        tern_atomic_args args = { TERN_ATOMIC_GET, NULL, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_INT32, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    *result =
        (int32_t)__atomic_load_n(at, __ATOMIC_ACQUIRE); /* acquire: pairs with the release of the most recent write */
    return TERN_OK;
}

/* Store value as the int32_t at byte offset of rank's part of region, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_put_i32(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                            uint64_t offset, int32_t value)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_INT32, TERN_ATOMIC_PUT);

    if (TERN_UNLIKELY(at == NULL)) {
        int32_t          copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_PUT, &copy, NULL, NULL };
        return tern_atomic_far(ctx, domain, region, rank, offset, TERN_INT32, &args);
    }
    __atomic_store_n(at, (uint32_t)value, __ATOMIC_RELEASE); /* pairs with the acquire of any that sees it */
    return TERN_OK;
}

/* Store value as the int32_t at byte offset of rank's part of region, atomically, and store the previous value in
 * *result.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_swap_i32(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                             uint64_t offset, int32_t value, int32_t *result)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_INT32, TERN_ATOMIC_SWAP);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        int32_t          old = 0;      /* so that *result can stay in a register, too */
        int32_t          copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_SWAP, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_INT32, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    *result = (int32_t)__atomic_exchange_n(at, (uint32_t)value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Compare and swap: if the bits of the int32_t at byte offset of rank's part of region equal those of compare, store
 * value there, atomically. In either case, store the previous value in *result; it equals compare if value was stored.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_cas_i32(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                            uint64_t offset, int32_t compare, int32_t value, int32_t *result)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_INT32, TERN_ATOMIC_CAS);
    uint32_t seen = (uint32_t)compare;

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        int32_t          old = 0;                          /* so that *result can stay in a register, too */
        int32_t          copy = value, expected = compare; /* so that they stay in registers */
        tern_atomic_args args = { TERN_ATOMIC_CAS, &copy, &expected, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_INT32, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel, and acquire where nothing is stored: pairs with every atomic operation on the same value. */
    __atomic_compare_exchange_n(at, &seen, (uint32_t)value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    *result = (int32_t)seen;
    return TERN_OK;
}

/* Add value to the int32_t at byte offset of rank's part of region, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_add_i32(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                            uint64_t offset, int32_t value)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_INT32, TERN_ATOMIC_ADD);

    if (TERN_UNLIKELY(at == NULL)) {
        int32_t          copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_ADD, &copy, NULL, NULL };
        return tern_atomic_far(ctx, domain, region, rank, offset, TERN_INT32, &args);
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    __atomic_fetch_add(at, (uint32_t)value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Add value to the int32_t at byte offset of rank's part of region, atomically, and store the previous value in
 * *result.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_fadd_i32(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                             uint64_t offset, int32_t value, int32_t *result)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_INT32, TERN_ATOMIC_FADD);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        int32_t          old = 0;      /* so that *result can stay in a register, too */
        int32_t          copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_FADD, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_INT32, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    *result = (int32_t)__atomic_fetch_add(at, (uint32_t)value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Load the uint32_t at byte offset of rank's part of region into *result, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   None. The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_get_u32(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                            uint64_t offset, uint32_t *result)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_UINT32, TERN_ATOMIC_GET);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        uint32_t         old = 0; /* so that *result can stay in a register, too */
        tern_atomic_args args = { TERN_ATOMIC_GET, NULL, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_UINT32, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    *result = __atomic_load_n(at, __ATOMIC_ACQUIRE); /* acquire: pairs with the release of the most recent write */
    return TERN_OK;
}

/* Store value as the uint32_t at byte offset of rank's part of region, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_put_u32(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                            uint64_t offset, uint32_t value)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_UINT32, TERN_ATOMIC_PUT);

    if (TERN_UNLIKELY(at == NULL)) {
        uint32_t         copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_PUT, &copy, NULL, NULL };
        return tern_atomic_far(ctx, domain, region, rank, offset, TERN_UINT32, &args);
    }
    __atomic_store_n(at, value, __ATOMIC_RELEASE); /* pairs with the acquire of any that sees it */
    return TERN_OK;
}

/* Store value as the uint32_t at byte offset of rank's part of region, atomically, and store the previous value in
 * *result.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_swap_u32(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                             uint64_t offset, uint32_t value, uint32_t *result)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_UINT32, TERN_ATOMIC_SWAP);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        uint32_t         old = 0;      /* so that *result can stay in a register, too */
        uint32_t         copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_SWAP, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_UINT32, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    *result = __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Compare and swap: if the bits of the uint32_t at byte offset of rank's part of region equal those of compare, store
 * value there, atomically. In either case, store the previous value in *result; it equals compare if value was stored.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_cas_u32(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                            uint64_t offset, uint32_t compare, uint32_t value, uint32_t *result)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_UINT32, TERN_ATOMIC_CAS);
    uint32_t seen = compare;

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        uint32_t         old = 0;                          /* so that *result can stay in a register, too */
        uint32_t         copy = value, expected = compare; /* so that they stay in registers */
        tern_atomic_args args = { TERN_ATOMIC_CAS, &copy, &expected, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_UINT32, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel, and acquire where nothing is stored: pairs with every atomic operation on the same value. */
    __atomic_compare_exchange_n(at, &seen, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    *result = seen;
    return TERN_OK;
}

/* Add value to the uint32_t at byte offset of rank's part of region, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_add_u32(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                            uint64_t offset, uint32_t value)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_UINT32, TERN_ATOMIC_ADD);

    if (TERN_UNLIKELY(at == NULL)) {
        uint32_t         copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_ADD, &copy, NULL, NULL };
        return tern_atomic_far(ctx, domain, region, rank, offset, TERN_UINT32, &args);
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Add value to the uint32_t at byte offset of rank's part of region, atomically, and store the previous value in
 * *result.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_fadd_u32(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                             uint64_t offset, uint32_t value, uint32_t *result)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_UINT32, TERN_ATOMIC_FADD);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        uint32_t         old = 0;      /* so that *result can stay in a register, too */
        uint32_t         copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_FADD, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_UINT32, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    *result = __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Load the int64_t at byte offset of rank's part of region into *result, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   None. The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_get_i64(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                            uint64_t offset, int64_t *result)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_INT64, TERN_ATOMIC_GET);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        int64_t          old = 0; /* so that *result can stay in a register, too */
        tern_atomic_args args = { TERN_ATOMIC_GET, NULL, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_INT64, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    *result =
        (int64_t)__atomic_load_n(at, __ATOMIC_ACQUIRE); /* acquire: pairs with the release of the most recent write */
    return TERN_OK;
}

/* Store value as the int64_t at byte offset of rank's part of region, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_put_i64(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                            uint64_t offset, int64_t value)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_INT64, TERN_ATOMIC_PUT);

    if (TERN_UNLIKELY(at == NULL)) {
        int64_t          copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_PUT, &copy, NULL, NULL };
        return tern_atomic_far(ctx, domain, region, rank, offset, TERN_INT64, &args);
    }
    __atomic_store_n(at, (uint64_t)value, __ATOMIC_RELEASE); /* pairs with the acquire of any that sees it */
    return TERN_OK;
}

/* Store value as the int64_t at byte offset of rank's part of region, atomically, and store the previous value in
 * *result.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_swap_i64(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                             uint64_t offset, int64_t value, int64_t *result)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_INT64, TERN_ATOMIC_SWAP);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        int64_t          old = 0;      /* so that *result can stay in a register, too */
        int64_t          copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_SWAP, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_INT64, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    *result = (int64_t)__atomic_exchange_n(at, (uint64_t)value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Compare and swap: if the bits of the int64_t at byte offset of rank's part of region equal those of compare, store
 * value there, atomically. In either case, store the previous value in *result; it equals compare if value was stored.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_cas_i64(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                            uint64_t offset, int64_t compare, int64_t value, int64_t *result)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_INT64, TERN_ATOMIC_CAS);
    uint64_t seen = (uint64_t)compare;

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        int64_t          old = 0;                          /* so that *result can stay in a register, too */
        int64_t          copy = value, expected = compare; /* so that they stay in registers */
        tern_atomic_args args = { TERN_ATOMIC_CAS, &copy, &expected, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_INT64, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel, and acquire where nothing is stored: pairs with every atomic operation on the same value. */
    __atomic_compare_exchange_n(at, &seen, (uint64_t)value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    *result = (int64_t)seen;
    return TERN_OK;
}

/* Add value to the int64_t at byte offset of rank's part of region, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_add_i64(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                            uint64_t offset, int64_t value)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_INT64, TERN_ATOMIC_ADD);

    if (TERN_UNLIKELY(at == NULL)) {
        int64_t          copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_ADD, &copy, NULL, NULL };
        return tern_atomic_far(ctx, domain, region, rank, offset, TERN_INT64, &args);
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    __atomic_fetch_add(at, (uint64_t)value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Add value to the int64_t at byte offset of rank's part of region, atomically, and store the previous value in
 * *result.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_fadd_i64(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                             uint64_t offset, int64_t value, int64_t *result)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_INT64, TERN_ATOMIC_FADD);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        int64_t          old = 0;      /* so that *result can stay in a register, too */
        int64_t          copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_FADD, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_INT64, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    *result = (int64_t)__atomic_fetch_add(at, (uint64_t)value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Load the uint64_t at byte offset of rank's part of region into *result, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   None. The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_get_u64(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                            uint64_t offset, uint64_t *result)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_UINT64, TERN_ATOMIC_GET);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        uint64_t         old = 0; /* so that *result can stay in a register, too */
        tern_atomic_args args = { TERN_ATOMIC_GET, NULL, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_UINT64, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    *result = __atomic_load_n(at, __ATOMIC_ACQUIRE); /* acquire: pairs with the release of the most recent write */
    return TERN_OK;
}

/* Store value as the uint64_t at byte offset of rank's part of region, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_put_u64(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                            uint64_t offset, uint64_t value)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_UINT64, TERN_ATOMIC_PUT);

    if (TERN_UNLIKELY(at == NULL)) {
        uint64_t         copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_PUT, &copy, NULL, NULL };
        return tern_atomic_far(ctx, domain, region, rank, offset, TERN_UINT64, &args);
    }
    __atomic_store_n(at, value, __ATOMIC_RELEASE); /* pairs with the acquire of any that sees it */
    return TERN_OK;
}

/* Store value as the uint64_t at byte offset of rank's part of region, atomically, and store the previous value in
 * *result.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_swap_u64(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                             uint64_t offset, uint64_t value, uint64_t *result)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_UINT64, TERN_ATOMIC_SWAP);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        uint64_t         old = 0;      /* so that *result can stay in a register, too */
        uint64_t         copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_SWAP, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_UINT64, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    *result = __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Compare and swap: if the bits of the uint64_t at byte offset of rank's part of region equal those of compare, store
 * value there, atomically. In either case, store the previous value in *result; it equals compare if value was stored.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_cas_u64(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                            uint64_t offset, uint64_t compare, uint64_t value, uint64_t *result)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_UINT64, TERN_ATOMIC_CAS);
    uint64_t seen = compare;

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        uint64_t         old = 0;                          /* so that *result can stay in a register, too */
        uint64_t         copy = value, expected = compare; /* so that they stay in registers */
        tern_atomic_args args = { TERN_ATOMIC_CAS, &copy, &expected, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_UINT64, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel, and acquire where nothing is stored: pairs with every atomic operation on the same value. */
    __atomic_compare_exchange_n(at, &seen, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    *result = seen;
    return TERN_OK;
}

/* Add value to the uint64_t at byte offset of rank's part of region, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_add_u64(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                            uint64_t offset, uint64_t value)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_UINT64, TERN_ATOMIC_ADD);

    if (TERN_UNLIKELY(at == NULL)) {
        uint64_t         copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_ADD, &copy, NULL, NULL };
        return tern_atomic_far(ctx, domain, region, rank, offset, TERN_UINT64, &args);
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

/* Add value to the uint64_t at byte offset of rank's part of region, atomically, and store the previous value in
 * *result.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_fadd_u64(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                             uint64_t offset, uint64_t value, uint64_t *result)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_UINT64, TERN_ATOMIC_FADD);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        uint64_t         old = 0;      /* so that *result can stay in a register, too */
        uint64_t         copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_FADD, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_UINT64, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    *result = __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
    return TERN_OK;
}

TERN_END_DECLS

#endif

/* atomic_floats.h: the typed atomic operations of atomic.h for float and double. atomic.h includes this header.
 *
 * A typed call takes the operand as a value, stores the previous value in *result, and returns the status.
 */
#ifndef TERN_ATOMIC_FLOATS_H
#define TERN_ATOMIC_FLOATS_H

#include <tern/atomic.h>

TERN_BEGIN_DECLS

/* Get the bits of a float.
 * Returns  The bits.
 * Remote   None.
 * Threads  Any thread may call this function, even before tern_init. */
TERN_INLINE uint32_t tern_bits_of_float(float value)
{
    uint32_t bits;

    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Get the float with the given bits.
 * Returns  The value.
 * Remote   None.
 * Threads  Any thread may call this function, even before tern_init. */
TERN_INLINE float tern_float_of_bits(uint32_t bits)
{
    float value;

    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Add value to the float at at, as an atomic operation with acquire and release order.
 * Returns  The bits of the previous value.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_INLINE uint32_t tern_atomic_sum_float(tern_atomic_word32 *at, float value)
{
    tern_atomic_word32 seen = __atomic_load_n(at, __ATOMIC_RELAXED);

    /* acq_rel: pairs with every atomic operation on the same value. */
    while (!__atomic_compare_exchange_n(at, &seen, tern_bits_of_float(tern_float_of_bits(seen) + value), 1,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
    return seen;
}

/* Load the float at byte offset of rank's part of region into *result, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   None. The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_get_float(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                              uint64_t offset, float *result)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_FLOAT, TERN_ATOMIC_GET);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        float            old = 0; /* so that *result can stay in a register, too */
        tern_atomic_args args = { TERN_ATOMIC_GET, NULL, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_FLOAT, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    *result = tern_float_of_bits(
        __atomic_load_n(at, __ATOMIC_ACQUIRE)); /* acquire: pairs with the release of the most recent write */
    return TERN_OK;
}

/* Store value as the float at byte offset of rank's part of region, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_put_float(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                              uint64_t offset, float value)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_FLOAT, TERN_ATOMIC_PUT);

    if (TERN_UNLIKELY(at == NULL)) {
        float            copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_PUT, &copy, NULL, NULL };
        return tern_atomic_far(ctx, domain, region, rank, offset, TERN_FLOAT, &args);
    }
    __atomic_store_n(at, tern_bits_of_float(value), __ATOMIC_RELEASE); /* pairs with the acquire of a reader */
    return TERN_OK;
}

/* Store value as the float at byte offset of rank's part of region, atomically, and store the previous value in
 * *result.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_swap_float(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                               uint64_t offset, float value, float *result)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_FLOAT, TERN_ATOMIC_SWAP);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        float            old = 0;      /* so that *result can stay in a register, too */
        float            copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_SWAP, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_FLOAT, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    *result = tern_float_of_bits(__atomic_exchange_n(at, tern_bits_of_float(value), __ATOMIC_ACQ_REL));
    return TERN_OK;
}

/* Compare and swap: if the bits of the float at byte offset of rank's part of region equal those of compare, store
 * value there, atomically. In either case, store the previous value in *result; it equals compare if value was stored.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_cas_float(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                              uint64_t offset, float compare, float value, float *result)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_FLOAT, TERN_ATOMIC_CAS);
    uint32_t seen = tern_bits_of_float(compare);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        float            old = 0;                          /* so that *result can stay in a register, too */
        float            copy = value, expected = compare; /* so that they stay in registers */
        tern_atomic_args args = { TERN_ATOMIC_CAS, &copy, &expected, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_FLOAT, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel, and acquire where nothing is stored: pairs with every atomic operation on the same value. */
    __atomic_compare_exchange_n(at, &seen, tern_bits_of_float(value), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    *result = tern_float_of_bits(seen);
    return TERN_OK;
}

/* Add value to the float at byte offset of rank's part of region, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_add_float(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                              uint64_t offset, float value)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_FLOAT, TERN_ATOMIC_ADD);

    if (TERN_UNLIKELY(at == NULL)) {
        float            copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_ADD, &copy, NULL, NULL };
        return tern_atomic_far(ctx, domain, region, rank, offset, TERN_FLOAT, &args);
    }
    tern_atomic_sum_float(at, value);
    return TERN_OK;
}

/* Add value to the float at byte offset of rank's part of region, atomically, and store the previous value in *result.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_fadd_float(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                               uint64_t offset, float value, float *result)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_FLOAT, TERN_ATOMIC_FADD);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        float            old = 0;      /* so that *result can stay in a register, too */
        float            copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_FADD, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_FLOAT, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    *result = tern_float_of_bits(tern_atomic_sum_float(at, value));
    return TERN_OK;
}

/* Get the bits of a double.
 * Returns  The bits.
 * Remote   None.
 * Threads  Any thread may call this function, even before tern_init. */
TERN_INLINE uint64_t tern_bits_of_double(double value)
{
    uint64_t bits;

    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Get the double with the given bits.
 * Returns  The value.
 * Remote   None.
 * Threads  Any thread may call this function, even before tern_init. */
TERN_INLINE double tern_double_of_bits(uint64_t bits)
{
    double value;

    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Add value to the double at at, as an atomic operation with acquire and release order.
 * Returns  The bits of the previous value.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_INLINE uint64_t tern_atomic_sum_double(tern_atomic_word64 *at, double value)
{
    tern_atomic_word64 seen = __atomic_load_n(at, __ATOMIC_RELAXED);

    /* acq_rel: pairs with every atomic operation on the same value. */
    while (!__atomic_compare_exchange_n(at, &seen, tern_bits_of_double(tern_double_of_bits(seen) + value), 1,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
    return seen;
}

/* Load the double at byte offset of rank's part of region into *result, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   None. The target does not have to call Tern for the operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_get_double(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                               uint64_t offset, double *result)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_DOUBLE, TERN_ATOMIC_GET);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        double           old = 0; /* so that *result can stay in a register, too */
        tern_atomic_args args = { TERN_ATOMIC_GET, NULL, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_DOUBLE, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    *result = tern_double_of_bits(
        __atomic_load_n(at, __ATOMIC_ACQUIRE)); /* acquire: pairs with the release of the most recent write */
    return TERN_OK;
}

/* Store value as the double at byte offset of rank's part of region, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_put_double(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                               uint64_t offset, double value)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_DOUBLE, TERN_ATOMIC_PUT);

    if (TERN_UNLIKELY(at == NULL)) {
        double           copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_PUT, &copy, NULL, NULL };
        return tern_atomic_far(ctx, domain, region, rank, offset, TERN_DOUBLE, &args);
    }
    __atomic_store_n(at, tern_bits_of_double(value), __ATOMIC_RELEASE); /* pairs with the acquire of a reader */
    return TERN_OK;
}

/* Store value as the double at byte offset of rank's part of region, atomically, and store the previous value in
 * *result.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_swap_double(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region,
                                                int rank, uint64_t offset, double value, double *result)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_DOUBLE, TERN_ATOMIC_SWAP);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        double           old = 0;      /* so that *result can stay in a register, too */
        double           copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_SWAP, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_DOUBLE, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same value. */
    *result = tern_double_of_bits(__atomic_exchange_n(at, tern_bits_of_double(value), __ATOMIC_ACQ_REL));
    return TERN_OK;
}

/* Compare and swap: if the bits of the double at byte offset of rank's part of region equal those of compare, store
 * value there, atomically. In either case, store the previous value in *result; it equals compare if value was stored.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_cas_double(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                               uint64_t offset, double compare, double value, double *result)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_DOUBLE, TERN_ATOMIC_CAS);
    uint64_t seen = tern_bits_of_double(compare);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        double           old = 0;                          /* so that *result can stay in a register, too */
        double           copy = value, expected = compare; /* so that they stay in registers */
        tern_atomic_args args = { TERN_ATOMIC_CAS, &copy, &expected, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_DOUBLE, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel, and acquire where nothing is stored: pairs with every atomic operation on the same value. */
    __atomic_compare_exchange_n(at, &seen, tern_bits_of_double(value), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    *result = tern_double_of_bits(seen);
    return TERN_OK;
}

/* Add value to the double at byte offset of rank's part of region, atomically.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_add_double(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                               uint64_t offset, double value)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_DOUBLE, TERN_ATOMIC_ADD);

    if (TERN_UNLIKELY(at == NULL)) {
        double           copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_ADD, &copy, NULL, NULL };
        return tern_atomic_far(ctx, domain, region, rank, offset, TERN_DOUBLE, &args);
    }
    tern_atomic_sum_double(at, value);
    return TERN_OK;
}

/* Add value to the double at byte offset of rank's part of region, atomically, and store the previous value in *result.
 * Returns  TERN_OK: the operation is complete.
 *          Otherwise the errors of tern_atomic; TERN_ERR_ARG also if the domain has another type.
 * Remote   When the call returns, the new value is visible to all ranks. The target does not have to call Tern for the
 *          operation to complete.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_INLINE tern_status tern_atomic_fadd_double(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region,
                                                int rank, uint64_t offset, double value, double *result)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_DOUBLE, TERN_ATOMIC_FADD);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        double           old = 0;      /* so that *result can stay in a register, too */
        double           copy = value; /* so that value itself can stay in a register */
        tern_atomic_args args = { TERN_ATOMIC_FADD, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_DOUBLE, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    *result = tern_double_of_bits(tern_atomic_sum_double(at, value));
    return TERN_OK;
}

TERN_END_DECLS

#endif

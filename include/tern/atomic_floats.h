/* atomic_floats.h: the typed calls of tern/atomic.h, for float and double, as those of tern/atomic_integers.h.
 * tern/atomic.h includes it.
 */
#ifndef TERN_ATOMIC_FLOATS_H
#define TERN_ATOMIC_FLOATS_H

#include <tern/atomic.h>

TERN_BEGIN_DECLS

/* The bits of a float.
 * Returns  the bits.
 * Remote   none.
 * Threads  any, also before tern_init. */
TERN_INLINE uint32_t tern_bits_of_float(float value)
{
    uint32_t bits;

    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* The float that has these bits.
 * Returns  the value.
 * Remote   none.
 * Threads  any, also before tern_init. */
TERN_INLINE float tern_float_of_bits(uint32_t bits)
{
    float value;

    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Add to a float in memory, as an atomic operation that acquires and releases.
 * Returns  the bits of what was there.
 * Remote   none of its own.
 * Threads  any. */
TERN_INLINE uint32_t tern_atomic_sum_float(tern_atomic_word32 *at, float value)
{
    tern_atomic_word32 seen = __atomic_load_n(at, __ATOMIC_RELAXED);

    /* acq_rel: pairs with every atomic operation on the same location. */
    while (!__atomic_compare_exchange_n(at, &seen, tern_bits_of_float(tern_float_of_bits(seen) + value), 1,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
    return seen;
}

/* Load the float at byte offset of rank's part of region into *result.
 * Returns  as tern_atomic. TERN_ERR_ARG: the domain is of another type.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_atomic_get_float(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                              uint64_t offset, float *result)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_FLOAT, TERN_ATOMIC_GET);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        float            old = 0; /* so that *result stays in a register, too */
        tern_atomic_args args = { TERN_ATOMIC_GET, NULL, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_FLOAT, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    *result = tern_float_of_bits(
        __atomic_load_n(at, __ATOMIC_ACQUIRE)); /* acquire: pairs with the release of the last that wrote */
    return TERN_OK;
}

/* Store a float at byte offset of rank's part of region.
 * Returns  as tern_atomic. TERN_ERR_ARG: the domain is of another type.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_atomic_put_float(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                              uint64_t offset, float value)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_FLOAT, TERN_ATOMIC_PUT);

    if (TERN_UNLIKELY(at == NULL)) {
        float            copy = value; /* so that value itself stays in a register */
        tern_atomic_args args = { TERN_ATOMIC_PUT, &copy, NULL, NULL };
        return tern_atomic_far(ctx, domain, region, rank, offset, TERN_FLOAT, &args);
    }
    __atomic_store_n(at, tern_bits_of_float(value), __ATOMIC_RELEASE); /* pairs with the acquire of any that sees it */
    return TERN_OK;
}

/* Store a float at byte offset of rank's part of region; what was there goes to *result.
 * Returns  as tern_atomic. TERN_ERR_ARG: the domain is of another type.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_atomic_swap_float(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                               uint64_t offset, float value, float *result)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_FLOAT, TERN_ATOMIC_SWAP);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        float            old = 0;      /* so that *result stays in a register, too */
        float            copy = value; /* so that value itself stays in a register */
        tern_atomic_args args = { TERN_ATOMIC_SWAP, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_FLOAT, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same location. */
    *result = tern_float_of_bits(__atomic_exchange_n(at, tern_bits_of_float(value), __ATOMIC_ACQ_REL));
    return TERN_OK;
}

/* Store a float at byte offset of rank's part of region if compare is there, bit for bit; what was there goes to
 * *result, and equals compare if the value was stored.
 * Returns  as tern_atomic. TERN_ERR_ARG: the domain is of another type.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_atomic_cas_float(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                              uint64_t offset, float compare, float value, float *result)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_FLOAT, TERN_ATOMIC_CAS);
    uint32_t seen = tern_bits_of_float(compare);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        float            old = 0;                          /* so that *result stays in a register, too */
        float            copy = value, expected = compare; /* so that they stay in registers */
        tern_atomic_args args = { TERN_ATOMIC_CAS, &copy, &expected, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_FLOAT, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel, and acquire where nothing is stored: pairs with every atomic operation on the same location. */
    __atomic_compare_exchange_n(at, &seen, tern_bits_of_float(value), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    *result = tern_float_of_bits(seen);
    return TERN_OK;
}

/* Add to the float at byte offset of rank's part of region.
 * Returns  as tern_atomic. TERN_ERR_ARG: the domain is of another type.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_atomic_add_float(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                              uint64_t offset, float value)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_FLOAT, TERN_ATOMIC_ADD);

    if (TERN_UNLIKELY(at == NULL)) {
        float            copy = value; /* so that value itself stays in a register */
        tern_atomic_args args = { TERN_ATOMIC_ADD, &copy, NULL, NULL };
        return tern_atomic_far(ctx, domain, region, rank, offset, TERN_FLOAT, &args);
    }
    tern_atomic_sum_float(at, value);
    return TERN_OK;
}

/* Add to the float at byte offset of rank's part of region; what was there goes to *result.
 * Returns  as tern_atomic. TERN_ERR_ARG: the domain is of another type.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_atomic_fadd_float(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                               uint64_t offset, float value, float *result)
{
    tern_atomic_word32 *at =
        (tern_atomic_word32 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_FLOAT, TERN_ATOMIC_FADD);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        float            old = 0;      /* so that *result stays in a register, too */
        float            copy = value; /* so that value itself stays in a register */
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

/* The bits of a double.
 * Returns  the bits.
 * Remote   none.
 * Threads  any, also before tern_init. */
TERN_INLINE uint64_t tern_bits_of_double(double value)
{
    uint64_t bits;

    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* The double that has these bits.
 * Returns  the value.
 * Remote   none.
 * Threads  any, also before tern_init. */
TERN_INLINE double tern_double_of_bits(uint64_t bits)
{
    double value;

    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Add to a double in memory, as an atomic operation that acquires and releases.
 * Returns  the bits of what was there.
 * Remote   none of its own.
 * Threads  any. */
TERN_INLINE uint64_t tern_atomic_sum_double(tern_atomic_word64 *at, double value)
{
    tern_atomic_word64 seen = __atomic_load_n(at, __ATOMIC_RELAXED);

    /* acq_rel: pairs with every atomic operation on the same location. */
    while (!__atomic_compare_exchange_n(at, &seen, tern_bits_of_double(tern_double_of_bits(seen) + value), 1,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
    return seen;
}

/* Load the double at byte offset of rank's part of region into *result.
 * Returns  as tern_atomic. TERN_ERR_ARG: the domain is of another type.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_atomic_get_double(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                               uint64_t offset, double *result)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_DOUBLE, TERN_ATOMIC_GET);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        double           old = 0; /* so that *result stays in a register, too */
        tern_atomic_args args = { TERN_ATOMIC_GET, NULL, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_DOUBLE, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    *result = tern_double_of_bits(
        __atomic_load_n(at, __ATOMIC_ACQUIRE)); /* acquire: pairs with the release of the last that wrote */
    return TERN_OK;
}

/* Store a double at byte offset of rank's part of region.
 * Returns  as tern_atomic. TERN_ERR_ARG: the domain is of another type.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_atomic_put_double(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                               uint64_t offset, double value)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_DOUBLE, TERN_ATOMIC_PUT);

    if (TERN_UNLIKELY(at == NULL)) {
        double           copy = value; /* so that value itself stays in a register */
        tern_atomic_args args = { TERN_ATOMIC_PUT, &copy, NULL, NULL };
        return tern_atomic_far(ctx, domain, region, rank, offset, TERN_DOUBLE, &args);
    }
    __atomic_store_n(at, tern_bits_of_double(value), __ATOMIC_RELEASE); /* pairs with the acquire of any that sees it */
    return TERN_OK;
}

/* Store a double at byte offset of rank's part of region; what was there goes to *result.
 * Returns  as tern_atomic. TERN_ERR_ARG: the domain is of another type.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_atomic_swap_double(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region,
                                                int rank, uint64_t offset, double value, double *result)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_DOUBLE, TERN_ATOMIC_SWAP);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        double           old = 0;      /* so that *result stays in a register, too */
        double           copy = value; /* so that value itself stays in a register */
        tern_atomic_args args = { TERN_ATOMIC_SWAP, &copy, NULL, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_DOUBLE, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel: pairs with every atomic operation on the same location. */
    *result = tern_double_of_bits(__atomic_exchange_n(at, tern_bits_of_double(value), __ATOMIC_ACQ_REL));
    return TERN_OK;
}

/* Store a double at byte offset of rank's part of region if compare is there, bit for bit; what was there goes to
 * *result, and equals compare if the value was stored.
 * Returns  as tern_atomic. TERN_ERR_ARG: the domain is of another type.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_atomic_cas_double(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                               uint64_t offset, double compare, double value, double *result)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_DOUBLE, TERN_ATOMIC_CAS);
    uint64_t seen = tern_bits_of_double(compare);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        double           old = 0;                          /* so that *result stays in a register, too */
        double           copy = value, expected = compare; /* so that they stay in registers */
        tern_atomic_args args = { TERN_ATOMIC_CAS, &copy, &expected, result != NULL ? &old : NULL };
        tern_status      st;

        st = tern_atomic_far(ctx, domain, region, rank, offset, TERN_DOUBLE, &args);
        if (st == TERN_OK)
            *result = old;
        return st;
    }
    /* acq_rel, and acquire where nothing is stored: pairs with every atomic operation on the same location. */
    __atomic_compare_exchange_n(at, &seen, tern_bits_of_double(value), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    *result = tern_double_of_bits(seen);
    return TERN_OK;
}

/* Add to the double at byte offset of rank's part of region.
 * Returns  as tern_atomic. TERN_ERR_ARG: the domain is of another type.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_atomic_add_double(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                               uint64_t offset, double value)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_DOUBLE, TERN_ATOMIC_ADD);

    if (TERN_UNLIKELY(at == NULL)) {
        double           copy = value; /* so that value itself stays in a register */
        tern_atomic_args args = { TERN_ATOMIC_ADD, &copy, NULL, NULL };
        return tern_atomic_far(ctx, domain, region, rank, offset, TERN_DOUBLE, &args);
    }
    tern_atomic_sum_double(at, value);
    return TERN_OK;
}

/* Add to the double at byte offset of rank's part of region; what was there goes to *result.
 * Returns  as tern_atomic. TERN_ERR_ARG: the domain is of another type.
 * Remote   visible to every rank on return. Needs nothing of rank's program.
 * Threads  the one that uses ctx. */
TERN_INLINE tern_status tern_atomic_fadd_double(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region,
                                                int rank, uint64_t offset, double value, double *result)
{
    tern_atomic_word64 *at =
        (tern_atomic_word64 *)tern_atomic_direct(ctx, domain, region, rank, offset, TERN_DOUBLE, TERN_ATOMIC_FADD);

    if (TERN_UNLIKELY(at == NULL || result == NULL)) {
        double           old = 0;      /* so that *result stays in a register, too */
        double           copy = value; /* so that value itself stays in a register */
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

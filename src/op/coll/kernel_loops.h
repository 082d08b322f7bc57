/* kernel_loops.h: the loops of reductions, and a table of them. Only kernels.c includes this file, once for each vector
 * width: COLL(name) makes the names of the functions, COLL_FOR is their attributes. */

/* The three loops of a reduction: a is the element of the lower rank, b that of the upper one. */
#define LOOPS(name, type, value)                                                                                \
    COLL_FOR static void COLL(name##_apart)(void *restrict out, const void *restrict lower,                     \
                                            const void *restrict upper, size_t n)                               \
    {                                                                                                           \
        for (size_t i = 0; i < n; i++) {                                                                        \
            type a = ((const type *)lower)[i], b = ((const type *)upper)[i];                                    \
            ((type *)out)[i] = (type)(value);                                                                   \
        }                                                                                                       \
    }                                                                                                           \
    COLL_FOR static void COLL(name##_lower)(void *out, const void *lower, const void *restrict upper, size_t n) \
    {                                                                                                           \
        type *restrict to = out;                                                                                \
        (void)lower;                                                                                            \
        for (size_t i = 0; i < n; i++) {                                                                        \
            type a = to[i], b = ((const type *)upper)[i];                                                       \
            to[i] = (type)(value);                                                                              \
        }                                                                                                       \
    }                                                                                                           \
    COLL_FOR static void COLL(name##_upper)(void *out, const void *restrict lower, const void *upper, size_t n) \
    {                                                                                                           \
        type *restrict to = out;                                                                                \
        (void)upper;                                                                                            \
        for (size_t i = 0; i < n; i++) {                                                                        \
            type a = ((const type *)lower)[i], b = to[i];                                                       \
            to[i] = (type)(value);                                                                              \
        }                                                                                                       \
    }
#define KERNEL(name)                                               \
    {                                                              \
        COLL(name##_apart), COLL(name##_lower), COLL(name##_upper) \
    }

/* The reductions that compare, for a type; magnitude is the expression of an absolute value. */
#define COMPARING(of, type, magnitude)                                                          \
    LOOPS(min_##of, any_##type, b < a ? b : a)                                                  \
    LOOPS(max_##of, any_##type, b > a ? b : a)                                                  \
    LOOPS(absmin_##of, any_##type, (magnitude(b) < magnitude(a) ? magnitude(b) : magnitude(a))) \
    LOOPS(absmax_##of, any_##type, (magnitude(b) > magnitude(a) ? magnitude(b) : magnitude(a))) \
    LOC_LOOP(minloc_##of, struct loc_##of, b.value < a.value)                                   \
    LOC_LOOP(maxloc_##of, struct loc_##of, b.value > a.value)

/* A value with its number. The upper rank's value is taken if it is better, or if it is equal and its number is
 * lower. */
#define LOC_LOOP(name, type, better)                                                                                   \
    COLL_FOR static void COLL(name##_apart)(void *out, const void *lower, const void *upper, size_t n)                 \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            type a, b;                                                                                                 \
            memcpy(&a, (const char *)lower + i * sizeof(a), sizeof(a));                                                \
            memcpy(&b, (const char *)upper + i * sizeof(b), sizeof(b));                                                \
            memcpy((char *)out + i * sizeof(a), (better) || (b.value == a.value && b.at < a.at) ? &b : &a, sizeof(a)); \
        }                                                                                                              \
    }

/* Integers of one width: the loops that do not depend on the sign, and both comparisons. wide is a type whose products
 * do not overflow. */
#define INTEGERS(bits, wide)                             \
    LOOPS(sum_##bits, any_u##bits, a + b)                \
    LOOPS(prod_##bits, any_u##bits, (wide)a *(wide)b)    \
    LOOPS(and_##bits, any_u##bits, a &b)                 \
    LOOPS(or_##bits, any_u##bits, a | b)                 \
    LOOPS(xor_##bits, any_u##bits, a ^ b)                \
    LOOPS(land_##bits, any_u##bits, (a != 0) & (b != 0)) \
    LOOPS(lor_##bits, any_u##bits, (a != 0) | (b != 0))  \
    LOOPS(lxor_##bits, any_u##bits, (a != 0) ^ (b != 0)) \
    COMPARING(i##bits, i##bits, SIGNED_MAGNITUDE_##bits) \
    COMPARING(u##bits, u##bits, PLAIN_MAGNITUDE)
INTEGERS(8, uint32_t)
INTEGERS(16, uint32_t)
INTEGERS(32, uint32_t)
INTEGERS(64, uint64_t)

#define REALS(of, magnitude)         \
    LOOPS(sum_##of, any_##of, a + b) \
    LOOPS(prod_##of, any_##of, a *b) \
    COMPARING(of, of, magnitude)
REALS(float, FLOAT_MAGNITUDE)
REALS(double, DOUBLE_MAGNITUDE)
REALS(long_double, LONG_DOUBLE_MAGNITUDE)

#define ONE_LOOP_OF(name, type, value)                                                                 \
    COLL_FOR static void COLL(name##_apart)(void *out, const void *lower, const void *upper, size_t n) \
    {                                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                               \
            type a = ((const type *)lower)[i], b = ((const type *)upper)[i];                           \
            ((type *)out)[i] = (value);                                                                \
        }                                                                                              \
    }
/* The products of complex numbers. */
#define PRODUCTS(of) ONE_LOOP_OF(prod_complex_##of, any_complex_##of, times_##of(a, b))
PRODUCTS(float)
PRODUCTS(double)
PRODUCTS(long_double)

/* The sum of n complex numbers is the sum of 2n numbers. */
#define TWICE(of)                                                                                                  \
    COLL_FOR static void COLL(sum_complex_##of##_apart)(void *out, const void *lower, const void *upper, size_t n) \
    {                                                                                                              \
        COLL(sum_##of##_apart)(out, lower, upper, 2 * n);                                                          \
    }                                                                                                              \
    COLL_FOR static void COLL(sum_complex_##of##_lower)(void *out, const void *lower, const void *upper, size_t n) \
    {                                                                                                              \
        COLL(sum_##of##_lower)(out, lower, upper, 2 * n);                                                          \
    }                                                                                                              \
    COLL_FOR static void COLL(sum_complex_##of##_upper)(void *out, const void *lower, const void *upper, size_t n) \
    {                                                                                                              \
        COLL(sum_##of##_upper)(out, lower, upper, 2 * n);                                                          \
    }
TWICE(float)
TWICE(double)
TWICE(long_double)

#define ONE_LOOP(name)                                             \
    {                                                              \
        COLL(name##_apart), COLL(name##_apart), COLL(name##_apart) \
    }

#define COMPARISONS(of)                                                                           \
    [TERN_MIN] = KERNEL(min_##of), [TERN_MAX] = KERNEL(max_##of), [ABSMIN] = KERNEL(absmin_##of), \
    [ABSMAX] = KERNEL(absmax_##of), [MINLOC] = ONE_LOOP(minloc_##of), [MAXLOC] = ONE_LOOP(maxloc_##of)
#define INTEGER_ROW(bits, of)                                                                                \
    {                                                                                                        \
        [TERN_SUM] = KERNEL(sum_##bits), [TERN_PROD] = KERNEL(prod_##bits), [TERN_AND] = KERNEL(and_##bits), \
        [TERN_OR] = KERNEL(or_##bits), [TERN_XOR] = KERNEL(xor_##bits), [LAND] = KERNEL(land_##bits),        \
        [LOR] = KERNEL(lor_##bits), [LXOR] = KERNEL(lxor_##bits), COMPARISONS(of)                            \
    }
#define REAL_ROW(of)                                                                    \
    {                                                                                   \
        [TERN_SUM] = KERNEL(sum_##of), [TERN_PROD] = KERNEL(prod_##of), COMPARISONS(of) \
    }
#define COMPLEX_ROW(of)                                                                   \
    {                                                                                     \
        [TERN_SUM] = KERNEL(sum_complex_##of), [TERN_PROD] = ONE_LOOP(prod_complex_##of), \
    }

static const struct tern_coll_kernel COLL(kernels)[TYPES][OPS] = {
    [TERN_INT8] = INTEGER_ROW(8, i8),
    [TERN_UINT8] = INTEGER_ROW(8, u8),
    [TERN_INT16] = INTEGER_ROW(16, i16),
    [TERN_UINT16] = INTEGER_ROW(16, u16),
    [TERN_INT32] = INTEGER_ROW(32, i32),
    [TERN_UINT32] = INTEGER_ROW(32, u32),
    [TERN_INT64] = INTEGER_ROW(64, i64),
    [TERN_UINT64] = INTEGER_ROW(64, u64),
    [TERN_FLOAT] = REAL_ROW(float),
    [TERN_DOUBLE] = REAL_ROW(double),
    [TERN_COMPLEX_FLOAT] = COMPLEX_ROW(float),
    [TERN_COMPLEX_DOUBLE] = COMPLEX_ROW(double),
    [LONG_DOUBLE] = REAL_ROW(long_double),
    [COMPLEX_LONG_DOUBLE] = COMPLEX_ROW(long_double),
};

#undef LOOPS
#undef KERNEL
#undef COMPARING
#undef LOC_LOOP
#undef INTEGERS
#undef REALS
#undef ONE_LOOP_OF
#undef PRODUCTS
#undef TWICE
#undef ONE_LOOP
#undef COMPARISONS
#undef INTEGER_ROW
#undef REAL_ROW
#undef COMPLEX_ROW
#undef COLL
#undef COLL_FOR

/* acc_loops.h: the loops of accumulates, and a table of them. Only acc_kernels.c includes this file, once for each
 * vector width: ACC(name) makes the names of the functions, ACC_FOR is their attributes. A loop whose name begins with
 * fetch_ returns the old values.
 *
 * Macros define the loops. TYPE stands for the name of a number type: u8, u16, u32, u64, i8, i16, i32, i64, float or
 * double. A loop that ACC_FOR compiles for wide vectors has the prefix wide_, as in wide_sum_u32.
 *
 *   NUMBERS    sum_TYPE, scaled_TYPE, fetch_scaled_TYPE
 *   COMPLEX    scaled_complex_TYPE, fetch_scaled_complex_TYPE
 *   LOOPS      OP_TYPE, fetch_OP_TYPE, where OP is prod, min, max, and, or, xor or replace; called by BITS, SIGNED and
 *              FLOATS
 *   PRODUCTS   prod_complex_TYPE, fetch_prod_complex_TYPE */

/* ---- sum ---- */

/* The sums of one number type: without scale, with scale, and with scale and fetch. Products are computed in the type
 * `wide`, in which products of unsigned integers wrap around. A fetching sum without scale has the scale 1. */
#define NUMBERS(name, number, wide)                                                                                \
    ACC_FOR static void ACC(sum_##name)(unsigned char *restrict to, unsigned char *restrict from, size_t bytes,    \
                                        const unsigned char *scale)                                                \
    {                                                                                                              \
        any_##name       *t = (any_##name *)(void *)to;                                                            \
        const any_##name *f = (const any_##name *)(const void *)from;                                              \
                                                                                                                   \
        (void)scale;                                                                                               \
        for (size_t i = 0; i < bytes / sizeof(number); i++)                                                        \
            t[i] = (number)(t[i] + f[i]);                                                                          \
    }                                                                                                              \
    ACC_FOR static void ACC(scaled_##name)(unsigned char *restrict to, unsigned char *restrict from, size_t bytes, \
                                           const unsigned char *scale)                                             \
    {                                                                                                              \
        any_##name       *t = (any_##name *)(void *)to;                                                            \
        const any_##name *f = (const any_##name *)(const void *)from;                                              \
        number            by;                                                                                      \
                                                                                                                   \
        memcpy(&by, scale, sizeof(by));                                                                            \
        for (size_t i = 0; i < bytes / sizeof(number); i++)                                                        \
            t[i] = (number)(t[i] + (wide)by * (wide)f[i]);                                                         \
    }                                                                                                              \
    ACC_FOR static void ACC(fetch_scaled_##name)(unsigned char *restrict to, unsigned char *restrict from,         \
                                                 size_t bytes, const unsigned char *scale)                         \
    {                                                                                                              \
        any_##name *t = (any_##name *)(void *)to, *f = (any_##name *)(void *)from;                                 \
        number      by;                                                                                            \
                                                                                                                   \
        memcpy(&by, scale, sizeof(by));                                                                            \
        for (size_t i = 0; i < bytes / sizeof(number); i++) {                                                      \
            number old = t[i];                                                                                     \
            t[i] = (number)(old + (wide)by * (wide)f[i]);                                                          \
            f[i] = old;                                                                                            \
        }                                                                                                          \
    }
NUMBERS(u8, uint8_t, uint32_t)
NUMBERS(u16, uint16_t, uint32_t)
NUMBERS(u32, uint32_t, uint32_t)
NUMBERS(u64, uint64_t, uint64_t)
NUMBERS(float, float, float)
NUMBERS(double, double, double)

/* The loops with scale for complex numbers, which are two numbers each. Without scale, complex numbers are added as
 * pairs of numbers. */
#define COMPLEX(name, number)                                                                                      \
    ACC_FOR static void ACC(scaled_complex_##name)(unsigned char *restrict to, unsigned char *restrict from,       \
                                                   size_t bytes, const unsigned char *scale)                       \
    {                                                                                                              \
        any_##name       *t = (any_##name *)(void *)to;                                                            \
        const any_##name *f = (const any_##name *)(const void *)from;                                              \
        number            by[2];                                                                                   \
                                                                                                                   \
        memcpy(by, scale, sizeof(by));                                                                             \
        for (size_t i = 0; i < bytes / sizeof(number); i += 2) {                                                   \
            number re = by[0] * f[i] - by[1] * f[i + 1], im = by[0] * f[i + 1] + by[1] * f[i];                     \
            t[i] += re;                                                                                            \
            t[i + 1] += im;                                                                                        \
        }                                                                                                          \
    }                                                                                                              \
    ACC_FOR static void ACC(fetch_scaled_complex_##name)(unsigned char *restrict to, unsigned char *restrict from, \
                                                         size_t bytes, const unsigned char *scale)                 \
    {                                                                                                              \
        any_##name *t = (any_##name *)(void *)to, *f = (any_##name *)(void *)from;                                 \
        number      by[2];                                                                                         \
                                                                                                                   \
        memcpy(by, scale, sizeof(by));                                                                             \
        for (size_t i = 0; i < bytes / sizeof(number); i += 2) {                                                   \
            number re = by[0] * f[i] - by[1] * f[i + 1], im = by[0] * f[i + 1] + by[1] * f[i];                     \
            f[i] = t[i];                                                                                           \
            f[i + 1] = t[i + 1];                                                                                   \
            t[i] += re;                                                                                            \
            t[i + 1] += im;                                                                                        \
        }                                                                                                          \
    }
COMPLEX(float, float)
COMPLEX(double, double)

/* ---- the other reductions ---- */

/* The loops of a reduction for one number type. `new` is the new value of an element: an expression in its old value a,
 * the operand b, and zero (see hidden_zero()). */
#define LOOPS(op, name, number, new)                                                                             \
    ACC_FOR static void ACC(op##_##name)(unsigned char *restrict to, unsigned char *restrict from, size_t bytes, \
                                         const unsigned char *scale)                                             \
    {                                                                                                            \
        any_##name       *t = (any_##name *)(void *)to;                                                          \
        const any_##name *f = (const any_##name *)(const void *)from;                                            \
        const number      zero = (number)hidden_zero();                                                          \
                                                                                                                 \
        (void)scale;                                                                                             \
        (void)zero;                                                                                              \
        for (size_t i = 0; i < bytes / sizeof(number); i++) {                                                    \
            number a = t[i], b = f[i];                                                                           \
            (void)a;                                                                                             \
            t[i] = (number)(new);                                                                                \
        }                                                                                                        \
    }                                                                                                            \
    ACC_FOR static void ACC(fetch_##op##_##name)(unsigned char *restrict to, unsigned char *restrict from,       \
                                                 size_t bytes, const unsigned char *scale)                       \
    {                                                                                                            \
        any_##name  *t = (any_##name *)(void *)to, *f = (any_##name *)(void *)from;                              \
        const number zero = (number)hidden_zero();                                                               \
                                                                                                                 \
        (void)scale;                                                                                             \
        (void)zero;                                                                                              \
        for (size_t i = 0; i < bytes / sizeof(number); i++) {                                                    \
            number a = t[i], b = f[i];                                                                           \
            t[i] = (number)(new);                                                                                \
            f[i] = a;                                                                                            \
        }                                                                                                        \
    }
#define BITS(op, new)             \
    LOOPS(op, u8, uint8_t, new)   \
    LOOPS(op, u16, uint16_t, new) \
    LOOPS(op, u32, uint32_t, new) LOOPS(op, u64, uint64_t, new)
#define SIGNED(op, new)          \
    LOOPS(op, i8, int8_t, new)   \
    LOOPS(op, i16, int16_t, new) \
    LOOPS(op, i32, int32_t, new) LOOPS(op, i64, int64_t, new)
#define FLOATS(op, new) LOOPS(op, float, float, new) LOOPS(op, double, double, new)

LOOPS(prod, u8, uint8_t, ((uint32_t)a * b))
LOOPS(prod, u16, uint16_t, ((uint32_t)a * b)) /* an int would overflow */
LOOPS(prod, u32, uint32_t, (a * b))
LOOPS(prod, u64, uint64_t, (a * b))
FLOATS(prod, (a * b))
/* Every comparison with a NaN is false, so that the old value stays. */
BITS(min, b < a ? b : a)
SIGNED(min, b < a ? b : a)
FLOATS(min, b < a ? b : a)
BITS(max, b > a ? b : a)
SIGNED(max, b > a ? b : a)
FLOATS(max, b > a ? b : a)
BITS(and, (a & b))
BITS(or, a | b)
BITS(xor, a ^ b)
BITS(replace, b | zero)

/* Products of complex numbers. */
#define PRODUCTS(name, number)                                                                                   \
    ACC_FOR static void ACC(prod_complex_##name)(unsigned char *restrict to, unsigned char *restrict from,       \
                                                 size_t bytes, const unsigned char *scale)                       \
    {                                                                                                            \
        any_##name       *t = (any_##name *)(void *)to;                                                          \
        const any_##name *f = (const any_##name *)(const void *)from;                                            \
                                                                                                                 \
        (void)scale;                                                                                             \
        for (size_t i = 0; i < bytes / sizeof(number); i += 2) {                                                 \
            number re = t[i] * f[i] - t[i + 1] * f[i + 1], im = t[i] * f[i + 1] + t[i + 1] * f[i];               \
            t[i] = re;                                                                                           \
            t[i + 1] = im;                                                                                       \
        }                                                                                                        \
    }                                                                                                            \
    ACC_FOR static void ACC(fetch_prod_complex_##name)(unsigned char *restrict to, unsigned char *restrict from, \
                                                       size_t bytes, const unsigned char *scale)                 \
    {                                                                                                            \
        any_##name *t = (any_##name *)(void *)to, *f = (any_##name *)(void *)from;                               \
                                                                                                                 \
        (void)scale;                                                                                             \
        for (size_t i = 0; i < bytes / sizeof(number); i += 2) {                                                 \
            number re = t[i] * f[i] - t[i + 1] * f[i + 1], im = t[i] * f[i + 1] + t[i + 1] * f[i];               \
            f[i] = t[i];                                                                                         \
            f[i + 1] = t[i + 1];                                                                                 \
            t[i] = re;                                                                                           \
            t[i + 1] = im;                                                                                       \
        }                                                                                                        \
    }
PRODUCTS(float, float)
PRODUCTS(double, double)

/* ---- the table ---- */

/* The loops of a reduction for all types that have the reduction, by the numbers of which their elements consist. */
#define BOTH(op, name)                             \
    {                                              \
        ACC(op##_##name), ACC(fetch_##op##_##name) \
    }
/* Complex numbers are added as pairs of numbers. */
#define SUM(name)                                 \
    {                                             \
        ACC(sum_##name), ACC(fetch_scaled_##name) \
    }
#define OF_INTEGERS(op)                                                                        \
    [TERN_INT32] = BOTH(op, u32), [TERN_UINT32] = BOTH(op, u32), [TERN_INT64] = BOTH(op, u64), \
    [TERN_UINT64] = BOTH(op, u64), [TERN_INT8] = BOTH(op, u8), [TERN_UINT8] = BOTH(op, u8),    \
    [TERN_INT16] = BOTH(op, u16), [TERN_UINT16] = BOTH(op, u16)
#define OF_FLOATS(op) [TERN_FLOAT] = BOTH(op, float), [TERN_DOUBLE] = BOTH(op, double)
#define OF_COMPLEX(op) [TERN_COMPLEX_FLOAT] = BOTH(op, complex_float), [TERN_COMPLEX_DOUBLE] = BOTH(op, complex_double)
#define OF_ORDERED(op)                                                                         \
    [TERN_INT32] = BOTH(op, i32), [TERN_UINT32] = BOTH(op, u32), [TERN_INT64] = BOTH(op, i64), \
    [TERN_UINT64] = BOTH(op, u64), [TERN_INT8] = BOTH(op, i8), [TERN_UINT8] = BOTH(op, u8),    \
    [TERN_INT16] = BOTH(op, i16), [TERN_UINT16] = BOTH(op, u16), OF_FLOATS(op)

static const struct loops ACC(loops)[ROWS][TERN_TYPES] = {
    [TERN_SUM] = { [TERN_INT32] = SUM(u32),
                   [TERN_UINT32] = SUM(u32),
                   [TERN_INT64] = SUM(u64),
                   [TERN_UINT64] = SUM(u64),
                   [TERN_FLOAT] = SUM(float),
                   [TERN_DOUBLE] = SUM(double),
                   [TERN_COMPLEX_FLOAT] = SUM(float),
                   [TERN_COMPLEX_DOUBLE] = SUM(double),
                   [TERN_INT8] = SUM(u8),
                   [TERN_UINT8] = SUM(u8),
                   [TERN_INT16] = SUM(u16),
                   [TERN_UINT16] = SUM(u16) },
    [SCALED_SUM] = { OF_INTEGERS(scaled), OF_FLOATS(scaled), OF_COMPLEX(scaled) },
    [TERN_PROD] = { OF_INTEGERS(prod), OF_FLOATS(prod), OF_COMPLEX(prod) },
    [TERN_MIN] = { OF_ORDERED(min) },
    [TERN_MAX] = { OF_ORDERED(max) },
    [TERN_AND] = { OF_INTEGERS(and) },
    [TERN_OR] = { OF_INTEGERS(or) },
    [TERN_XOR] = { OF_INTEGERS(xor) },
    [TERN_REPLACE] = { OF_INTEGERS(replace), [TERN_FLOAT] = BOTH(replace, u32), [TERN_DOUBLE] = BOTH(replace, u64),
                       [TERN_COMPLEX_FLOAT] = BOTH(replace, u32), [TERN_COMPLEX_DOUBLE] = BOTH(replace, u64) },
};

#undef NUMBERS
#undef COMPLEX
#undef LOOPS
#undef BITS
#undef SIGNED
#undef FLOATS
#undef PRODUCTS
#undef BOTH
#undef SUM
#undef OF_INTEGERS
#undef OF_FLOATS
#undef OF_COMPLEX
#undef OF_ORDERED
#undef ACC
#undef ACC_FOR

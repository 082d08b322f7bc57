/* acc_loops.h: the loops of accumulates, and a table of them. Only acc_kernels.c includes this file, once for each
 * vector width: SUM(name) makes the names of the functions, SUM_FOR is their attributes. */

/* The loops of one number type: add, add with scale, and fetch, which returns the old values. */
#define NUMBERS(name, number)                                                                                     \
    SUM_FOR static void SUM(add_##name)(unsigned char *restrict to, unsigned char *restrict from, size_t bytes,   \
                                        const unsigned char *scale)                                               \
    {                                                                                                             \
        any_##name       *t = (any_##name *)(void *)to;                                                           \
        const any_##name *f = (const any_##name *)(const void *)from;                                             \
                                                                                                                  \
        (void)scale;                                                                                              \
        for (size_t i = 0; i < bytes / sizeof(number); i++)                                                       \
            t[i] += f[i];                                                                                         \
    }                                                                                                             \
    SUM_FOR static void SUM(scale_##name)(unsigned char *restrict to, unsigned char *restrict from, size_t bytes, \
                                          const unsigned char *scale)                                             \
    {                                                                                                             \
        any_##name       *t = (any_##name *)(void *)to;                                                           \
        const any_##name *f = (const any_##name *)(const void *)from;                                             \
        number            by;                                                                                     \
                                                                                                                  \
        memcpy(&by, scale, sizeof(by));                                                                           \
        for (size_t i = 0; i < bytes / sizeof(number); i++)                                                       \
            t[i] += by * f[i];                                                                                    \
    }                                                                                                             \
    SUM_FOR static void SUM(fetch_##name)(unsigned char *restrict to, unsigned char *restrict from, size_t bytes, \
                                          const unsigned char *scale)                                             \
    {                                                                                                             \
        any_##name *t = (any_##name *)(void *)to, *f = (any_##name *)(void *)from;                                \
        number      by;                                                                                           \
                                                                                                                  \
        memcpy(&by, scale, sizeof(by));                                                                           \
        for (size_t i = 0; i < bytes / sizeof(number); i++) {                                                     \
            number old = t[i];                                                                                    \
            t[i] = old + by * f[i];                                                                               \
            f[i] = old;                                                                                           \
        }                                                                                                         \
    }
NUMBERS(u32, uint32_t)
NUMBERS(u64, uint64_t)
NUMBERS(float, float)
NUMBERS(double, double)

/* The loops with scale for complex numbers, which are two numbers each. Without scale, complex numbers are added as
 * pairs of numbers. */
#define COMPLEX(name, number)                                                                               \
    SUM_FOR static void SUM(scale_complex_##name)(unsigned char *restrict to, unsigned char *restrict from, \
                                                  size_t bytes, const unsigned char *scale)                 \
    {                                                                                                       \
        any_##name       *t = (any_##name *)(void *)to;                                                     \
        const any_##name *f = (const any_##name *)(const void *)from;                                       \
        number            by[2];                                                                            \
                                                                                                            \
        memcpy(by, scale, sizeof(by));                                                                      \
        for (size_t i = 0; i < bytes / sizeof(number); i += 2) {                                            \
            number re = by[0] * f[i] - by[1] * f[i + 1], im = by[0] * f[i + 1] + by[1] * f[i];              \
            t[i] += re;                                                                                     \
            t[i + 1] += im;                                                                                 \
        }                                                                                                   \
    }                                                                                                       \
    SUM_FOR static void SUM(fetch_complex_##name)(unsigned char *restrict to, unsigned char *restrict from, \
                                                  size_t bytes, const unsigned char *scale)                 \
    {                                                                                                       \
        any_##name *t = (any_##name *)(void *)to, *f = (any_##name *)(void *)from;                          \
        number      by[2];                                                                                  \
                                                                                                            \
        memcpy(by, scale, sizeof(by));                                                                      \
        for (size_t i = 0; i < bytes / sizeof(number); i += 2) {                                            \
            number re = by[0] * f[i] - by[1] * f[i + 1], im = by[0] * f[i + 1] + by[1] * f[i];              \
            f[i] = t[i];                                                                                    \
            f[i + 1] = t[i + 1];                                                                            \
            t[i] += re;                                                                                     \
            t[i + 1] += im;                                                                                 \
        }                                                                                                   \
    }
COMPLEX(float, float)
COMPLEX(double, double)

static const struct loops SUM(loops)[TERN_TYPES] = {
    [TERN_INT32] = { SUM(add_u32), SUM(scale_u32), SUM(fetch_u32), SUM(fetch_u32) },
    [TERN_UINT32] = { SUM(add_u32), SUM(scale_u32), SUM(fetch_u32), SUM(fetch_u32) },
    [TERN_INT64] = { SUM(add_u64), SUM(scale_u64), SUM(fetch_u64), SUM(fetch_u64) },
    [TERN_UINT64] = { SUM(add_u64), SUM(scale_u64), SUM(fetch_u64), SUM(fetch_u64) },
    [TERN_FLOAT] = { SUM(add_float), SUM(scale_float), SUM(fetch_float), SUM(fetch_float) },
    [TERN_DOUBLE] = { SUM(add_double), SUM(scale_double), SUM(fetch_double), SUM(fetch_double) },
    [TERN_COMPLEX_FLOAT] = { SUM(add_float), SUM(scale_complex_float), SUM(fetch_float), SUM(fetch_complex_float) },
    [TERN_COMPLEX_DOUBLE] = { SUM(add_double), SUM(scale_complex_double), SUM(fetch_double),
                              SUM(fetch_complex_double) },
};

#undef NUMBERS
#undef COMPLEX
#undef SUM
#undef SUM_FOR

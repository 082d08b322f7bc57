/* sum.c: see sum.h. Loops that compilers make vector instructions of: this file is compiled for that, and without
 * contracting a product and a sum into one rounding, so that every build and machine gives the same result. Integers
 * wrap around, as unsigned ones do. */
#include "op/sum.h"

#include <string.h>

/* Numbers of any alignment. */
typedef uint32_t any_u32 __attribute__((may_alias, aligned(1)));
typedef uint64_t any_u64 __attribute__((may_alias, aligned(1)));
typedef float    any_float __attribute__((may_alias, aligned(1)));
typedef double   any_double __attribute__((may_alias, aligned(1)));

/* The loops of one type of numbers: with and without scale, and the same where the old numbers come back. */
#define NUMBERS(name, number)                                                                        \
    static void add_##name(unsigned char *restrict to, unsigned char *restrict from, size_t bytes,   \
                           const unsigned char *scale)                                               \
    {                                                                                                \
        any_##name       *t = (any_##name *)(void *)to;                                              \
        const any_##name *f = (const any_##name *)(const void *)from;                                \
                                                                                                     \
        (void)scale;                                                                                 \
        for (size_t i = 0; i < bytes / sizeof(number); i++)                                          \
            t[i] += f[i];                                                                            \
    }                                                                                                \
    static void scale_##name(unsigned char *restrict to, unsigned char *restrict from, size_t bytes, \
                             const unsigned char *scale)                                             \
    {                                                                                                \
        any_##name       *t = (any_##name *)(void *)to;                                              \
        const any_##name *f = (const any_##name *)(const void *)from;                                \
        number            by;                                                                        \
                                                                                                     \
        memcpy(&by, scale, sizeof(by));                                                              \
        for (size_t i = 0; i < bytes / sizeof(number); i++)                                          \
            t[i] += by * f[i];                                                                       \
    }                                                                                                \
    static void fetch_##name(unsigned char *restrict to, unsigned char *restrict from, size_t bytes, \
                             const unsigned char *scale)                                             \
    {                                                                                                \
        any_##name *t = (any_##name *)(void *)to, *f = (any_##name *)(void *)from;                   \
        number      by;                                                                              \
                                                                                                     \
        memcpy(&by, scale, sizeof(by));                                                              \
        for (size_t i = 0; i < bytes / sizeof(number); i++) {                                        \
            number old = t[i];                                                                       \
            t[i] = old + by * f[i];                                                                  \
            f[i] = old;                                                                              \
        }                                                                                            \
    }
NUMBERS(u32, uint32_t)
NUMBERS(u64, uint64_t)
NUMBERS(float, float)
NUMBERS(double, double)

/* The same of complex numbers, each of which is two. Without scale they are numbers like any other. */
#define COMPLEX(name, number)                                                                                \
    static void scale_complex_##name(unsigned char *restrict to, unsigned char *restrict from, size_t bytes, \
                                     const unsigned char *scale)                                             \
    {                                                                                                        \
        any_##name       *t = (any_##name *)(void *)to;                                                      \
        const any_##name *f = (const any_##name *)(const void *)from;                                        \
        number            by[2];                                                                             \
                                                                                                             \
        memcpy(by, scale, sizeof(by));                                                                       \
        for (size_t i = 0; i < bytes / sizeof(number); i += 2) {                                             \
            number re = by[0] * f[i] - by[1] * f[i + 1], im = by[0] * f[i + 1] + by[1] * f[i];               \
            t[i] += re;                                                                                      \
            t[i + 1] += im;                                                                                  \
        }                                                                                                    \
    }                                                                                                        \
    static void fetch_complex_##name(unsigned char *restrict to, unsigned char *restrict from, size_t bytes, \
                                     const unsigned char *scale)                                             \
    {                                                                                                        \
        any_##name *t = (any_##name *)(void *)to, *f = (any_##name *)(void *)from;                           \
        number      by[2];                                                                                   \
                                                                                                             \
        memcpy(by, scale, sizeof(by));                                                                       \
        for (size_t i = 0; i < bytes / sizeof(number); i += 2) {                                             \
            number re = by[0] * f[i] - by[1] * f[i + 1], im = by[0] * f[i + 1] + by[1] * f[i];               \
            f[i] = t[i];                                                                                     \
            f[i + 1] = t[i + 1];                                                                             \
            t[i] += re;                                                                                      \
            t[i + 1] += im;                                                                                  \
        }                                                                                                    \
    }
COMPLEX(float, float)
COMPLEX(double, double)

static const struct {
    tern_sum_loop *add, *scale, *fetch, *fetch_scaled;
    unsigned char  one[8]; /* of the numbers: elements of complex types are two, and the other is 0 */
} table[TERN_TYPES] = {
#define ONE_INTEGER \
    {               \
        1           \
    }
#define ONE_FLOAT        \
    {                    \
        0, 0, 0x80, 0x3f \
    }
#define ONE_DOUBLE                   \
    {                                \
        0, 0, 0, 0, 0, 0, 0xf0, 0x3f \
    }
    [TERN_INT32] = { add_u32, scale_u32, fetch_u32, fetch_u32, ONE_INTEGER },
    [TERN_UINT32] = { add_u32, scale_u32, fetch_u32, fetch_u32, ONE_INTEGER },
    [TERN_INT64] = { add_u64, scale_u64, fetch_u64, fetch_u64, ONE_INTEGER },
    [TERN_UINT64] = { add_u64, scale_u64, fetch_u64, fetch_u64, ONE_INTEGER },
    [TERN_FLOAT] = { add_float, scale_float, fetch_float, fetch_float, ONE_FLOAT },
    [TERN_DOUBLE] = { add_double, scale_double, fetch_double, fetch_double, ONE_DOUBLE },
    [TERN_COMPLEX_FLOAT] = { add_float, scale_complex_float, fetch_float, fetch_complex_float, ONE_FLOAT },
    [TERN_COMPLEX_DOUBLE] = { add_double, scale_complex_double, fetch_double, fetch_complex_double, ONE_DOUBLE },
};
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "ones are written so");

void tern_op_sum_make(struct tern_sum *sum, tern_type type, const void *scale, bool fetch)
{
    unsigned char one[TERN_SUM_SCALE] = { 0 };

    memcpy(one, table[type].one, sizeof(table[type].one));
    *sum = (struct tern_sum){ .type = (uint8_t)type, .fetch = fetch };
    memcpy(sum->scale, scale ? scale : one, tern_sum_bytes(type));
    sum->plain = memcmp(sum->scale, one, sizeof(one)) == 0;
}

tern_sum_loop *tern_op_sum_loop(const struct tern_sum *sum)
{
    if (sum->fetch)
        return sum->plain ? table[sum->type].fetch : table[sum->type].fetch_scaled;
    return sum->plain ? table[sum->type].add : table[sum->type].scale;
}

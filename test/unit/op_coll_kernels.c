/* op_coll_kernels.c: promise: the loops of collective reductions give the same bits with wide vectors and without them,
 * for every type and reduction, number of elements and alignment, wherever they store the result; a result that
 * replaces an operand has the same bits as one that is stored apart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/simd.h"
#include "op/coll/kernels.h"

#define BYTES 4096u

static const unsigned types[] = { TERN_INT8,           TERN_UINT8,
                                  TERN_INT16,          TERN_UINT16,
                                  TERN_INT32,          TERN_UINT32,
                                  TERN_INT64,          TERN_UINT64,
                                  TERN_FLOAT,          TERN_DOUBLE,
                                  TERN_LONG_DOUBLE,    TERN_COMPLEX_FLOAT,
                                  TERN_COMPLEX_DOUBLE, TERN_COMPLEX_LONG_DOUBLE };
static const unsigned ops[] = { TERN_SUM,  TERN_PROD, TERN_MIN,  TERN_MAX,    TERN_AND,    TERN_OR,     TERN_XOR,
                                TERN_LAND, TERN_LOR,  TERN_LXOR, TERN_ABSMIN, TERN_ABSMAX, TERN_MINLOC, TERN_MAXLOC };

static _Alignas(64) unsigned char lower[BYTES], upper[BYTES], plain[BYTES], wide[BYTES];

static uint64_t drawn(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return *seed >> 33;
}

/* Write small numbers of the type, from offset shift on. */
static void fill(unsigned char *to, unsigned type, size_t shift, uint64_t *seed)
{
    bool     is_float = type == TERN_FLOAT || type == TERN_COMPLEX_FLOAT;
    bool     is_double = type == TERN_DOUBLE || type == TERN_COMPLEX_DOUBLE;
    bool     is_long = type == TERN_LONG_DOUBLE || type == TERN_COMPLEX_LONG_DOUBLE;
    unsigned step = is_float ? sizeof(float) : is_double ? sizeof(double) : is_long ? sizeof(long double) : 1;

    memset(to, 0, BYTES);
    for (size_t at = shift; at + step <= BYTES; at += step) {
        float       f = (float)(int64_t)(drawn(seed) % 2001 - 1000) / 3.0f;
        double      d = (double)f / 7.0;
        long double l = (long double)d / 11.0L;

        if (is_float)
            memcpy(to + at, &f, sizeof(f));
        else if (is_double)
            memcpy(to + at, &d, sizeof(d));
        else if (is_long)
            memcpy(to + at, &l, 10); /* the rest is padding */
        else
            to[at] = drawn(seed) % 4 ? (unsigned char)drawn(seed) : 0;
    }
}

/* Clear the padding of long doubles, whose bytes a copy of the number may or may not keep. */
static void clear_padding(unsigned char *at, unsigned type, size_t bytes)
{
    if (type == TERN_LONG_DOUBLE || type == TERN_COMPLEX_LONG_DOUBLE)
        for (size_t i = 0; i < bytes; i += sizeof(long double))
            memset(at + i + 10, 0, sizeof(long double) - 10);
}

/* Combine with both kernels, and compare. */
static void compare(unsigned op, unsigned type, const struct tern_coll_how *how, uint64_t *seed)
{
    const struct tern_coll_kernel *narrow = tern_op_coll_kernel(op, type, false);
    const struct tern_coll_kernel *broad = tern_op_coll_kernel(op, type, true);
    size_t                         shift = drawn(seed) % 8, count = drawn(seed) % ((BYTES - 8) / how->elem + 1);
    size_t                         bytes = count * how->elem;

    fill(lower, type, shift, seed);
    fill(upper, type, shift, seed);
    memset(plain, 0, BYTES);
    memset(wide, 0, BYTES);
    narrow->apart(plain + shift, lower + shift, upper + shift, count);
    broad->apart(wide + shift, lower + shift, upper + shift, count);
    clear_padding(plain + shift, type, bytes);
    clear_padding(wide + shift, type, bytes);
    assert_memory_equal(plain, wide, BYTES);
    for (int i = 0; i < 4; i++) {
        const struct tern_coll_kernel *kernel = i % 2 ? broad : narrow;
        bool                           low = i / 2;

        memcpy(wide, low ? lower : upper, BYTES);
        if (low)
            kernel->into_lower(wide + shift, wide + shift, upper + shift, count);
        else
            kernel->into_upper(wide + shift, lower + shift, wide + shift, count);
        clear_padding(wide + shift, type, bytes);
        assert_memory_equal(plain + shift, wide + shift, bytes);
        assert_memory_equal(wide + shift + bytes, (low ? lower : upper) + shift + bytes, BYTES - shift - bytes);
    }
}

static void same_bits(void **state)
{
    uint64_t seed = 5;
    int      compared = 0;

    (void)state;
    if (!tern_base_simd_wide())
        skip();
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
        for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++) {
            struct tern_coll_how how = { .kernel = NULL };

            if (!tern_op_coll_find(ops[o], types[t], 0, &how))
                continue;
            assert_ptr_equal(how.kernel, tern_op_coll_kernel(ops[o], types[t], true));
            for (int round = 0; round < 50; round++, compared++)
                compare(ops[o], types[t], &how, &seed);
        }
    assert_int_equal(compared, 50 * (8 * 14 + 3 * 8 + 3 * 2)); /* integers, real numbers, complex numbers */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(same_bits) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

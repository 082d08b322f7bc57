/* kernels.c: see kernels.h. The build lets the compiler vectorize these loops, and disables contraction of multiply and
 * add, so that every build and machine gives the same result. Integers are computed as unsigned ones, so that they wrap
 * around. */
#include "op/coll/kernels.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Number types without alignment requirement. */
#define ANY(name, type) typedef type any_##name __attribute__((may_alias, aligned(1)))
ANY(i8, int8_t);
ANY(i16, int16_t);
ANY(i32, int32_t);
ANY(i64, int64_t);
ANY(u8, uint8_t);
ANY(u16, uint16_t);
ANY(u32, uint32_t);
ANY(u64, uint64_t);
ANY(float, float);
ANY(double, double);
ANY(long_double, long double);

/* The three loops of a reduction: a is the element of the lower rank, b that of the upper one. */
#define LOOPS(name, type, value)                                                                                   \
    static void name##_apart(void *restrict out, const void *restrict lower, const void *restrict upper, size_t n) \
    {                                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                                           \
            type a = ((const type *)lower)[i], b = ((const type *)upper)[i];                                       \
            ((type *)out)[i] = (type)(value);                                                                      \
        }                                                                                                          \
    }                                                                                                              \
    static void name##_lower(void *out, const void *lower, const void *restrict upper, size_t n)                   \
    {                                                                                                              \
        type *restrict to = out;                                                                                   \
        (void)lower;                                                                                               \
        for (size_t i = 0; i < n; i++) {                                                                           \
            type a = to[i], b = ((const type *)upper)[i];                                                          \
            to[i] = (type)(value);                                                                                 \
        }                                                                                                          \
    }                                                                                                              \
    static void name##_upper(void *out, const void *restrict lower, const void *upper, size_t n)                   \
    {                                                                                                              \
        type *restrict to = out;                                                                                   \
        (void)upper;                                                                                               \
        for (size_t i = 0; i < n; i++) {                                                                           \
            type a = ((const type *)lower)[i], b = to[i];                                                          \
            to[i] = (type)(value);                                                                                 \
        }                                                                                                          \
    }
#define KERNEL(name)                             \
    {                                            \
        name##_apart, name##_lower, name##_upper \
    }

/* The reductions that compare, for a type; magnitude is the expression of an absolute value. */
#define COMPARING(of, type, magnitude)                                                          \
    LOOPS(min_##of, any_##type, b < a ? b : a)                                                  \
    LOOPS(max_##of, any_##type, b > a ? b : a)                                                  \
    LOOPS(absmin_##of, any_##type, (magnitude(b) < magnitude(a) ? magnitude(b) : magnitude(a))) \
    LOOPS(absmax_##of, any_##type, (magnitude(b) > magnitude(a) ? magnitude(b) : magnitude(a))) \
    struct loc_##of {                                                                           \
        type##_plain value;                                                                     \
        int64_t      at;                                                                        \
    };                                                                                          \
    LOC_LOOP(minloc_##of, struct loc_##of, b.value < a.value)                                   \
    LOC_LOOP(maxloc_##of, struct loc_##of, b.value > a.value)

/* A value with its number. The upper rank's value is taken if it is better, or if it is equal and its number is
 * lower. */
#define LOC_LOOP(name, type, better)                                                                                   \
    static void name##_apart(void *out, const void *lower, const void *upper, size_t n)                                \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            type a, b;                                                                                                 \
            memcpy(&a, (const char *)lower + i * sizeof(a), sizeof(a));                                                \
            memcpy(&b, (const char *)upper + i * sizeof(b), sizeof(b));                                                \
            memcpy((char *)out + i * sizeof(a), (better) || (b.value == a.value && b.at < a.at) ? &b : &a, sizeof(a)); \
        }                                                                                                              \
    }

typedef int8_t      i8_plain;
typedef int16_t     i16_plain;
typedef int32_t     i32_plain;
typedef int64_t     i64_plain;
typedef uint8_t     u8_plain;
typedef uint16_t    u16_plain;
typedef uint32_t    u32_plain;
typedef uint64_t    u64_plain;
typedef float       float_plain;
typedef double      double_plain;
typedef long double long_double_plain;

#define SIGNED_MAGNITUDE_8(x) ((int8_t)((x) < 0 ? (uint8_t)(0u - (uint8_t)(x)) : (uint8_t)(x)))
#define SIGNED_MAGNITUDE_16(x) ((int16_t)((x) < 0 ? (uint16_t)(0u - (uint16_t)(x)) : (uint16_t)(x)))
#define SIGNED_MAGNITUDE_32(x) ((int32_t)((x) < 0 ? 0u - (uint32_t)(x) : (uint32_t)(x)))
#define SIGNED_MAGNITUDE_64(x) ((int64_t)((x) < 0 ? 0ull - (uint64_t)(x) : (uint64_t)(x)))
#define PLAIN_MAGNITUDE(x) (x)
#define FLOAT_MAGNITUDE(x) __builtin_fabsf(x)
#define DOUBLE_MAGNITUDE(x) __builtin_fabs(x)
#define LONG_DOUBLE_MAGNITUDE(x) __builtin_fabsl(x)

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

/* A complex number is a struct of two, and its product is (ac - bd) + (ad + bc)i. */
#define COMPLEX(of)                                                                        \
    typedef struct {                                                                       \
        any_##of re, im;                                                                   \
    } any_complex_##of;                                                                    \
    static inline any_complex_##of times_##of(any_complex_##of a, any_complex_##of b)      \
    {                                                                                      \
        return (any_complex_##of){ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re }; \
    }                                                                                      \
    ONE_LOOP_OF(prod_complex_##of, any_complex_##of, times_##of(a, b))
#define ONE_LOOP_OF(name, type, value)                                                  \
    static void name##_apart(void *out, const void *lower, const void *upper, size_t n) \
    {                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                \
            type a = ((const type *)lower)[i], b = ((const type *)upper)[i];            \
            ((type *)out)[i] = (value);                                                 \
        }                                                                               \
    }
COMPLEX(float)
COMPLEX(double)
COMPLEX(long_double)

/* The sum of n complex numbers is the sum of 2n numbers. */
#define TWICE(of)                                                                                   \
    static void sum_complex_##of##_apart(void *out, const void *lower, const void *upper, size_t n) \
    {                                                                                               \
        sum_##of##_apart(out, lower, upper, 2 * n);                                                 \
    }                                                                                               \
    static void sum_complex_##of##_lower(void *out, const void *lower, const void *upper, size_t n) \
    {                                                                                               \
        sum_##of##_lower(out, lower, upper, 2 * n);                                                 \
    }                                                                                               \
    static void sum_complex_##of##_upper(void *out, const void *lower, const void *upper, size_t n) \
    {                                                                                               \
        sum_##of##_upper(out, lower, upper, 2 * n);                                                 \
    }
TWICE(float)
TWICE(double)
TWICE(long_double)

/* ---- tables ---- */

#define ONE_LOOP(name)                           \
    {                                            \
        name##_apart, name##_apart, name##_apart \
    }

/* The rows of the table: the types of accumulates, and the types that only collective reductions have. */
enum { LONG_DOUBLE = TERN_TYPES, COMPLEX_LONG_DOUBLE, TYPES };
enum { LAND = TERN_REDUCTIONS, LOR, LXOR, ABSMIN, ABSMAX, MINLOC, MAXLOC, OPS };

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

static const struct tern_coll_kernel kernels[TYPES][OPS] = {
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

/* The row of a type, or TYPES. */
static unsigned row_of(unsigned type)
{
    if (type == TERN_LONG_DOUBLE || type == TERN_COMPLEX_LONG_DOUBLE)
        return LONG_DOUBLE + (type - TERN_LONG_DOUBLE);
    return type < TERN_TYPES ? type : TYPES;
}

/* The column of a reduction, or OPS. */
static unsigned column_of(unsigned op)
{
    if (op >= TERN_LAND && op < TERN_USER)
        return LAND + (op - TERN_LAND);
    return op < TERN_REDUCTIONS ? op : OPS;
}

/* The bytes of an element. */
static size_t elem_of(unsigned op, unsigned row)
{
#define BYTES(name, ctype, bytes, text) [name] = (bytes),
    static const uint8_t bytes_of[TYPES] = {
        TERN_TYPE_LIST(BYTES)[LONG_DOUBLE] = sizeof(long double), [COMPLEX_LONG_DOUBLE] = 2 * sizeof(long double)
    };
#undef BYTES

    if (op != TERN_MINLOC && op != TERN_MAXLOC)
        return bytes_of[row];
    return bytes_of[row] > sizeof(int64_t) ? sizeof(struct loc_long_double) : sizeof(struct loc_i64);
}

/* Kinds have 4 bits for the type, 4 for the reduction, 2 for the flags. */
enum { KIND_USER = 15 };

bool tern_op_coll_find(unsigned op, unsigned type, unsigned flags, struct tern_coll_how *how)
{
    unsigned row = row_of(type), column = column_of(op);

    if (op == TERN_USER) {
        how->kind = (uint16_t)(KIND_USER | KIND_USER << 4 | (flags & 3) << 8);
        return true;
    }
    if (row >= TYPES || column >= OPS || !kernels[row][column].apart)
        return false;
    how->kernel = &kernels[row][column];
    how->elem = elem_of(op, row);
    how->kind = (uint16_t)(row | column << 4 | (flags & 3) << 8);
    return true;
}

#define TYPE_NAME(name, type, bytes, text) [name] = #name,
#define OP_NAME(name, number, text) [name] = #name,
static const char *const type_names[16] = {
    TERN_TYPE_LIST(TYPE_NAME)[LONG_DOUBLE] = "TERN_LONG_DOUBLE", [COMPLEX_LONG_DOUBLE] = "TERN_COMPLEX_LONG_DOUBLE"
};
static const char *const op_names[16] = { TERN_REDUCTION_LIST(OP_NAME)[LAND] = "TERN_LAND",
                                          [LOR] = "TERN_LOR",
                                          [LXOR] = "TERN_LXOR",
                                          [ABSMIN] = "TERN_ABSMIN",
                                          [ABSMAX] = "TERN_ABSMAX",
                                          [MINLOC] = "TERN_MINLOC",
                                          [MAXLOC] = "TERN_MAXLOC",
                                          [KIND_USER] = "TERN_USER" };
#undef TYPE_NAME
#undef OP_NAME

static void name_or_number(const char *name, unsigned number, char *text, size_t size)
{
    if (name)
        snprintf(text, size, "%s", name);
    else
        snprintf(text, size, "%u", number);
}

void tern_op_coll_type_text(unsigned type, char *text, size_t size)
{
    unsigned row = row_of(type);

    name_or_number(row < TYPES ? type_names[row] : NULL, type, text, size);
}

void tern_op_coll_op_text(unsigned op, char *text, size_t size)
{
    unsigned column = column_of(op);

    name_or_number(column < OPS ? op_names[column] : NULL, op, text, size);
}

void tern_op_coll_kind_text(unsigned kind, char *text, size_t size)
{
    const char *type = type_names[kind & 15], *op = op_names[kind >> 4 & 15];

    snprintf(text, size, "%s%s%s%s%s", type ? type : "", type ? ", " : "", op ? op : "an unknown reduction",
             kind >> 8 & TERN_REPRODUCIBLE ? ", TERN_REPRODUCIBLE" : "",
             kind >> 8 & TERN_COMMUTATIVE ? ", TERN_COMMUTATIVE" : "");
}
_Static_assert((int)TYPES <= 15 && (int)OPS <= 15 && (int)KIND_USER == 15, "types and reductions have 4 bits each");

/* Combine with the function of the program, one piece at a time. The function replaces the upper operand by the result,
 * which is then stored in out, another array. */
static bool combine_apart(const struct tern_coll_how *how, unsigned char *out, const unsigned char *lower,
                          const unsigned char *upper, size_t count)
{
    _Alignas(64) unsigned char some[1024];
    size_t                     most = sizeof(some) / how->elem;
    unsigned char             *piece = most > 0 ? some : aligned_alloc(64, (how->elem + 63) / 64 * 64);

    if (!piece)
        return false;
    most = most > 0 ? most : 1;
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < most ? count - i : most;
        memcpy(piece, upper + i * how->elem, n * how->elem);
        how->fn(lower + i * how->elem, piece, n, how->user);
        memcpy(out + i * how->elem, piece, n * how->elem);
    }
    if (piece != some)
        free(piece);
    return true;
}

bool tern_op_coll_combine(const struct tern_coll_how *how, void *out, const void *lower, const void *upper,
                          size_t bytes)
{
    size_t count = bytes == how->elem ? 1 : bytes / how->elem; /* avoids a division, which takes long */

    if (count == 0)
        return true;
    if (how->kernel) {
        (out == lower   ? how->kernel->into_lower
         : out == upper ? how->kernel->into_upper
                        : how->kernel->apart)(out, lower, upper, count);
        return true;
    }
    if (out != upper)
        return combine_apart(how, out, lower, upper, count);
    how->fn(lower, out, count, how->user);
    return true;
}

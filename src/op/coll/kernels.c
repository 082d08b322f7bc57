/* kernels.c: see kernels.h. The build lets the compiler vectorize these loops, and disables contraction of multiply and
 * add, so that every build and machine gives the same result. Each loop exists twice: for the baseline instruction set
 * and for wide vectors. Integers are computed as unsigned ones, so that they wrap around. */
#include "op/coll/kernels.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/simd.h"

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

/* An element of minloc and maxloc. */
#define LOC(of)           \
    struct loc_##of {     \
        of##_plain value; \
        int64_t    at;    \
    }
LOC(i8);
LOC(i16);
LOC(i32);
LOC(i64);
LOC(u8);
LOC(u16);
LOC(u32);
LOC(u64);
LOC(float);
LOC(double);
LOC(long_double);

/* A complex number is a struct of two, and its product is (ac - bd) + (ad + bc)i. */
#define COMPLEX(of)                                                                        \
    typedef struct {                                                                       \
        any_##of re, im;                                                                   \
    } any_complex_##of;                                                                    \
    static inline any_complex_##of times_##of(any_complex_##of a, any_complex_##of b)      \
    {                                                                                      \
        return (any_complex_##of){ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re }; \
    }
COMPLEX(float)
COMPLEX(double)
COMPLEX(long_double)

#define SIGNED_MAGNITUDE_8(x) ((int8_t)((x) < 0 ? (uint8_t)(0u - (uint8_t)(x)) : (uint8_t)(x)))
#define SIGNED_MAGNITUDE_16(x) ((int16_t)((x) < 0 ? (uint16_t)(0u - (uint16_t)(x)) : (uint16_t)(x)))
#define SIGNED_MAGNITUDE_32(x) ((int32_t)((x) < 0 ? 0u - (uint32_t)(x) : (uint32_t)(x)))
#define SIGNED_MAGNITUDE_64(x) ((int64_t)((x) < 0 ? 0ull - (uint64_t)(x) : (uint64_t)(x)))
#define PLAIN_MAGNITUDE(x) (x)
#define FLOAT_MAGNITUDE(x) __builtin_fabsf(x)
#define DOUBLE_MAGNITUDE(x) __builtin_fabs(x)
#define LONG_DOUBLE_MAGNITUDE(x) __builtin_fabsl(x)

/* ---- tables ---- */

/* The rows of the table: the types of accumulates, and the types that only collective reductions have. */
enum { LONG_DOUBLE = TERN_TYPES, COMPLEX_LONG_DOUBLE, TYPES };
enum { LAND = TERN_REDUCTIONS, LOR, LXOR, ABSMIN, ABSMAX, MINLOC, MAXLOC, OPS };

#define COLL(name) name
#define COLL_FOR
#include "op/coll/kernel_loops.h"

#define COLL(name) wide_##name
#define COLL_FOR TERN_SIMD_WIDE
#include "op/coll/kernel_loops.h"

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

const struct tern_coll_kernel *tern_op_coll_kernel(unsigned op, unsigned type, bool wide)
{
    unsigned                       row = row_of(type), column = column_of(op);
    const struct tern_coll_kernel *kernel;

    if (TERN_UNLIKELY(row >= TYPES || column >= OPS))
        return NULL;
    kernel = wide ? &wide_kernels[row][column] : &kernels[row][column];
    return kernel->apart ? kernel : NULL;
}

bool tern_op_coll_find(unsigned op, unsigned type, unsigned flags, struct tern_coll_how *how)
{
    unsigned row = row_of(type), column = column_of(op);

    if (op == TERN_USER) {
        how->kind = (uint16_t)(KIND_USER | KIND_USER << 4 | (flags & 3) << 8);
        return true;
    }
    if (!(how->kernel = tern_op_coll_kernel(op, type, tern_base_simd_wide())))
        return false;
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

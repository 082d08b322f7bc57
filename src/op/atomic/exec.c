/* exec.c: one atomic operation on memory of this process, with the CPU's atomic instructions.
 *
 * Operations for which the CPU has an instruction use that instruction. All others compute the new value from the old
 * one (compute) and store it with compare-and-swap (change_8 to change_64). All operations are therefore atomic with
 * respect to each other, and to any atomic instruction that the application uses on the same value.
 *
 * Macros define the functions that are the same for several sizes or operators:
 *
 *   ARITHMETIC   sum, difference, product
 *   OPERATIONS   change_8, change_16, change_32, change_64: change a value by compare-and-swap
 *                apply_8, apply_16, apply_32, apply_64: execute any operation on a value
 */
#include "op/atomic/exec.h"

/* ---- values ---- */

/* A value as bits and as a number. */
union number {
    uint64_t bits;
    uint32_t low; /* the bits of a value of a 4-byte type */
    float    f;
    double   d;
};
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "4-byte values are in the lower half");

static double as_double(uint64_t bits)
{
    return (union number){ .bits = bits }.d;
}

static float as_float(uint64_t bits)
{
    return (union number){ .bits = bits }.f;
}

static uint64_t double_bits(double value)
{
    return (union number){ .d = value }.bits;
}

static uint64_t float_bits(float value)
{
    return (union number){ .f = value }.low;
}

/* Return whether a is less than b. Comparisons with a NaN are false. */
static bool is_less(tern_type type, uint64_t a, uint64_t b)
{
    switch (type) {
    case TERN_INT8: return (int8_t)(uint8_t)a < (int8_t)(uint8_t)b;
    case TERN_INT16: return (int16_t)(uint16_t)a < (int16_t)(uint16_t)b;
    case TERN_INT32: return (int32_t)(uint32_t)a < (int32_t)(uint32_t)b;
    case TERN_INT64: return (int64_t)a < (int64_t)b;
    case TERN_FLOAT: return as_float(a) < as_float(b);
    case TERN_DOUBLE: return as_double(a) < as_double(b);
    default: return a < b;
    }
}

/* The sum, difference and product of two values. Signed integers wrap around like unsigned ones. */
#define ARITHMETIC(name, op)                                                \
    static uint64_t name(tern_type type, uint64_t a, uint64_t b)            \
    {                                                                       \
        switch (type) {                                                     \
        case TERN_FLOAT: return float_bits(as_float(a) op as_float(b));     \
        case TERN_DOUBLE: return double_bits(as_double(a) op as_double(b)); \
        default: return a op b;                                             \
        }                                                                   \
    }
ARITHMETIC(sum, +)
ARITHMETIC(difference, -)
ARITHMETIC(product, *)

/* Return the number 1 as a value of the type. */
static uint64_t one(tern_type type)
{
    return type == TERN_FLOAT ? float_bits(1) : type == TERN_DOUBLE ? double_bits(1) : 1;
}

/* Return the new value. For types of less than 8 bytes, the upper bytes are undefined. */
static uint64_t compute(tern_type type, uint32_t op, uint64_t old, uint64_t operand)
{
    switch (op) {
    case TERN_ATOMIC_ADD:
    case TERN_ATOMIC_FADD: return sum(type, old, operand);
    case TERN_ATOMIC_SUB:
    case TERN_ATOMIC_FSUB: return difference(type, old, operand);
    case TERN_ATOMIC_INC:
    case TERN_ATOMIC_FINC: return sum(type, old, one(type));
    case TERN_ATOMIC_DEC:
    case TERN_ATOMIC_FDEC: return difference(type, old, one(type));
    case TERN_ATOMIC_MULT:
    case TERN_ATOMIC_FMULT: return product(type, old, operand);
    case TERN_ATOMIC_MIN:
    case TERN_ATOMIC_FMIN: return is_less(type, operand, old) ? operand : old;
    case TERN_ATOMIC_MAX:
    case TERN_ATOMIC_FMAX: return is_less(type, old, operand) ? operand : old;
    case TERN_ATOMIC_AND:
    case TERN_ATOMIC_FAND: return old & operand;
    case TERN_ATOMIC_OR:
    case TERN_ATOMIC_FOR: return old | operand;
    default: return old ^ operand; /* XOR, FXOR */
    }
}

/* ---- memory ---- */

/* Below, acq_rel, acquire and release pair with every atomic operation on the same value, here and in the inlined
 * calls of tern/atomic.h: a rank that sees the result of an operation also sees everything that the initiator did
 * before it. */

/* The operations on values of one size; real is the floating-point type of that size, or TERN_TYPES if there is
 * none. */
#define OPERATIONS(size, real)                                                                                    \
    static uint64_t change_##size(tern_atomic_word##size *at, tern_type type, uint32_t op, uint64_t operand)      \
    {                                                                                                             \
        uint##size##_t seen = __atomic_load_n(at, __ATOMIC_RELAXED);                                              \
                                                                                                                  \
        while (!__atomic_compare_exchange_n(at, &seen, (uint##size##_t)compute(type, op, seen, operand), true,    \
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))                                  \
            ;                                                                                                     \
        return seen;                                                                                              \
    }                                                                                                             \
    static uint64_t apply_##size(tern_atomic_word##size *at, tern_type type, uint32_t op, uint##size##_t operand, \
                                 uint##size##_t compare)                                                          \
    {                                                                                                             \
        switch (op) {                                                                                             \
        case TERN_ATOMIC_GET: return __atomic_load_n(at, __ATOMIC_ACQUIRE);                                       \
        case TERN_ATOMIC_PUT: __atomic_store_n(at, operand, __ATOMIC_RELEASE); return 0;                          \
        case TERN_ATOMIC_SWAP: return __atomic_exchange_n(at, operand, __ATOMIC_ACQ_REL);                         \
        case TERN_ATOMIC_CAS:                                                                                     \
            __atomic_compare_exchange_n(at, &compare, operand, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);        \
            return compare;                                                                                       \
        case TERN_ATOMIC_ADD:                                                                                     \
        case TERN_ATOMIC_FADD:                                                                                    \
            if (type != (real))                                                                                   \
                return __atomic_fetch_add(at, operand, __ATOMIC_ACQ_REL);                                         \
            break;                                                                                                \
        default: break;                                                                                           \
        }                                                                                                         \
        return change_##size(at, type, op, operand);                                                              \
    }
OPERATIONS(8, TERN_TYPES)
OPERATIONS(16, TERN_TYPES)
OPERATIONS(32, TERN_FLOAT)
OPERATIONS(64, TERN_DOUBLE)

uint64_t tern_op_exec(void *at, tern_type type, uint32_t op, uint64_t operand, uint64_t compare)
{
    switch (tern_op_exec_size(type)) {
    case 1: return apply_8(at, type, op, (uint8_t)operand, (uint8_t)compare);
    case 2: return apply_16(at, type, op, (uint16_t)operand, (uint16_t)compare);
    case 4: return apply_32(at, type, op, (uint32_t)operand, (uint32_t)compare);
    default: return apply_64(at, type, op, operand, compare);
    }
}

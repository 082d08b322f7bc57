/* inline_atomic.h: declarations for the typed atomic calls of atomic.h. NOT PART OF THE INTERFACE: programs do not use
 * the names in this file, which may change in any version. atomic.h includes this header.
 */
#ifndef TERN_INLINE_ATOMIC_H
#define TERN_INLINE_ATOMIC_H

#include <tern/atomic.h>
#include <tern/inline.h>

TERN_BEGIN_DECLS

#define TERN_INLINE_ANY_TYPE 0xffffu /* the type of the domain, which only the library knows */

/* One operation on a value, as the typed calls pass it. */
struct tern_inline_operation {
    uint32_t    op;               /* a tern_atomic_op */
    uint32_t    type;             /* a tern_type, or TERN_INLINE_ANY_TYPE */
    uint64_t    operand, compare; /* the bits of the values, zero-extended */
    uint32_t    needs_domain;     /* 0: the call has no domain */
    const char *call;             /* name of the public call, for error texts */
};

/* The out-of-line part of the typed calls. */

TERN_API tern_status tern_inline_atomic(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                        uint64_t offset, const struct tern_inline_operation *atomic, void *result);

/* The size of a value. */
TERN_INLINE uint64_t tern_inline_size(uint32_t type)
{
    return type == TERN_INT8 || type == TERN_UINT8                           ? 1
           : type == TERN_INT16 || type == TERN_UINT16                       ? 2
           : type == TERN_INT32 || type == TERN_UINT32 || type == TERN_FLOAT ? 4
                                                                             : 8;
}

TERN_INLINE uint64_t tern_inline_bits_i8(int8_t value)
{
    return (uint8_t)value;
}

TERN_INLINE uint64_t tern_inline_bits_u8(uint8_t value)
{
    return value;
}

TERN_INLINE uint64_t tern_inline_bits_char(char value)
{
    return (uint8_t)value;
}

TERN_INLINE uint64_t tern_inline_bits_i16(int16_t value)
{
    return (uint16_t)value;
}

TERN_INLINE uint64_t tern_inline_bits_u16(uint16_t value)
{
    return value;
}

TERN_INLINE uint64_t tern_inline_bits_i32(int32_t value)
{
    return (uint32_t)value;
}

TERN_INLINE uint64_t tern_inline_bits_u32(uint32_t value)
{
    return value;
}

TERN_INLINE uint64_t tern_inline_bits_i64(int64_t value)
{
    return (uint64_t)value;
}

TERN_INLINE uint64_t tern_inline_bits_u64(uint64_t value)
{
    return value;
}

TERN_INLINE uint64_t tern_inline_bits_float(float value)
{
    uint32_t bits;

    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits;
}

TERN_INLINE uint64_t tern_inline_bits_double(double value)
{
    uint64_t bits;

    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* The bits of a sum of the value with the given bits and the operand, which are of the same type. */
TERN_INLINE uint64_t tern_inline_sum(uint64_t bits, const struct tern_inline_operation *atomic)
{
    if (atomic->type == TERN_FLOAT) {
        uint32_t half = (uint32_t)bits, other = (uint32_t)atomic->operand;
        float    a, b;

        __builtin_memcpy(&a, &half, sizeof(a));
        __builtin_memcpy(&b, &other, sizeof(b));
        return tern_inline_bits_float(a + b);
    } else {
        double a, b;

        __builtin_memcpy(&a, &bits, sizeof(a));
        __builtin_memcpy(&b, &atomic->operand, sizeof(b));
        return tern_inline_bits_double(a + b);
    }
}

/* Define the function that executes an operation on a word. Every operation is acq_rel, which pairs with every atomic
 * operation on the same value; get is an acquire and put a release. */
#define TERN_INLINE_EXECUTE(bits)                                                                              \
    TERN_INLINE uint64_t tern_inline_execute##bits(tern_atomic_word##bits *at, struct tern_inline_operation a) \
    {                                                                                                          \
        uint##bits##_t         operand = (uint##bits##_t)a.operand;                                            \
        tern_atomic_word##bits seen = (uint##bits##_t)a.compare;                                               \
                                                                                                               \
        switch (a.op) {                                                                                        \
        case TERN_ATOMIC_GET: return __atomic_load_n(at, __ATOMIC_ACQUIRE);                                    \
        case TERN_ATOMIC_PUT: __atomic_store_n(at, operand, __ATOMIC_RELEASE); return 0;                       \
        case TERN_ATOMIC_SWAP: return __atomic_exchange_n(at, operand, __ATOMIC_ACQ_REL);                      \
        case TERN_ATOMIC_CAS:                                                                                  \
            __atomic_compare_exchange_n(at, &seen, operand, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);            \
            return seen;                                                                                       \
        case TERN_ATOMIC_ADD:                                                                                  \
        case TERN_ATOMIC_FADD:                                                                                 \
            if (a.type != TERN_FLOAT && a.type != TERN_DOUBLE)                                                 \
                return __atomic_fetch_add(at, operand, __ATOMIC_ACQ_REL);                                      \
            seen = __atomic_load_n(at, __ATOMIC_RELAXED);                                                      \
            while (!__atomic_compare_exchange_n(at, &seen, (uint##bits##_t)tern_inline_sum(seen, &a), 1,       \
                                                __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))                           \
                ;                                                                                              \
            return seen;                                                                                       \
        case TERN_ATOMIC_SUB:                                                                                  \
        case TERN_ATOMIC_FSUB: return __atomic_fetch_sub(at, operand, __ATOMIC_ACQ_REL);                       \
        case TERN_ATOMIC_FINC: return __atomic_fetch_add(at, 1, __ATOMIC_ACQ_REL);                             \
        case TERN_ATOMIC_FDEC: return __atomic_fetch_sub(at, 1, __ATOMIC_ACQ_REL);                             \
        case TERN_ATOMIC_AND:                                                                                  \
        case TERN_ATOMIC_FAND: return __atomic_fetch_and(at, operand, __ATOMIC_ACQ_REL);                       \
        case TERN_ATOMIC_OR:                                                                                   \
        case TERN_ATOMIC_FOR: return __atomic_fetch_or(at, operand, __ATOMIC_ACQ_REL);                         \
        default: return __atomic_fetch_xor(at, operand, __ATOMIC_ACQ_REL);                                     \
        }                                                                                                      \
    }
TERN_INLINE_EXECUTE(8)
TERN_INLINE_EXECUTE(16)
TERN_INLINE_EXECUTE(32)
TERN_INLINE_EXECUTE(64)
#undef TERN_INLINE_EXECUTE

/* Return whether the functions above execute the operation. They execute all operations but min, max, mult, inc and
 * dec; for floating-point types, they execute only add and the operations that move bits. */
TERN_INLINE int tern_inline_executes(uint32_t op, uint32_t type)
{
    const uint32_t moves = (uint32_t)TERN_ATOMIC_GET | (uint32_t)TERN_ATOMIC_PUT | (uint32_t)TERN_ATOMIC_SWAP |
                           (uint32_t)TERN_ATOMIC_CAS | (uint32_t)TERN_ATOMIC_ADD | (uint32_t)TERN_ATOMIC_FADD;
    const uint32_t never = (uint32_t)TERN_ATOMIC_MIN | (uint32_t)TERN_ATOMIC_FMIN | (uint32_t)TERN_ATOMIC_MAX |
                           (uint32_t)TERN_ATOMIC_FMAX | (uint32_t)TERN_ATOMIC_MULT | (uint32_t)TERN_ATOMIC_FMULT |
                           (uint32_t)TERN_ATOMIC_INC | (uint32_t)TERN_ATOMIC_DEC;

    return type == TERN_FLOAT || type == TERN_DOUBLE ? (op & moves) != 0 : (op & never) == 0;
}

/* Execute an operation: in place if loads and stores reach the value, otherwise through the library. result is NULL for
 * operations that return nothing. domain is NULL for the calls without a domain. */
TERN_INLINE tern_status tern_inline_run(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                        uint64_t offset, struct tern_inline_operation atomic, void *result)
{
    const struct tern_atomic_head *head = (const struct tern_atomic_head *)(const void *)domain;
    uint64_t                       size = tern_inline_size(atomic.type);
    const struct tern_part        *part = tern_inline_part(ctx, region, rank, offset, size);
    unsigned char                 *at = part != NULL ? part->base + offset : NULL;

    if (TERN_UNLIKELY(!tern_inline_executes(atomic.op, atomic.type) || at == NULL ||
                      ((uintptr_t)at & (size - 1)) != 0 ||
                      (head != NULL ? !(head->direct[atomic.type] & atomic.op) : atomic.needs_domain) ||
                      (result == NULL && (atomic.op & TERN_ATOMIC_FETCHING) != 0))) {
        struct tern_inline_operation copy = atomic; /* so that atomic itself can stay in registers, like *result */
        uint64_t                     old = 0;
        tern_status st = tern_inline_atomic(ctx, domain, region, rank, offset, &copy, result != NULL ? &old : NULL);

        if (st == TERN_OK && result != NULL)
            __builtin_memcpy(result, &old, size); /* little-endian: the lower bytes */
        return st;
    }
    if (size == 1) {
        uint8_t old = (uint8_t)tern_inline_execute8((tern_atomic_word8 *)(void *)at, atomic);

        if (atomic.op & TERN_ATOMIC_FETCHING)
            __builtin_memcpy(result, &old, sizeof(old));
    } else if (size == 2) {
        uint16_t old = (uint16_t)tern_inline_execute16((tern_atomic_word16 *)(void *)at, atomic);

        if (atomic.op & TERN_ATOMIC_FETCHING)
            __builtin_memcpy(result, &old, sizeof(old));
    } else if (size == 4) {
        uint32_t old = (uint32_t)tern_inline_execute32((tern_atomic_word32 *)(void *)at, atomic);

        if (atomic.op & TERN_ATOMIC_FETCHING)
            __builtin_memcpy(result, &old, sizeof(old));
    } else {
        uint64_t old = tern_inline_execute64((tern_atomic_word64 *)(void *)at, atomic);

        if (atomic.op & TERN_ATOMIC_FETCHING)
            __builtin_memcpy(result, &old, sizeof(old));
    }
    if (atomic.op != TERN_ATOMIC_GET)
        tern_inline_written(part);
    return TERN_OK;
}

/* Compare and swap: the value to compare with is in *expected, which receives the previous value. */
TERN_INLINE tern_status tern_inline_cas(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int rank,
                                        uint64_t offset, struct tern_inline_operation atomic, void *expected)
{
    if (TERN_LIKELY(expected != NULL))
        __builtin_memcpy(&atomic.compare, expected, tern_inline_size(atomic.type));
    return tern_inline_run(ctx, domain, region, rank, offset, atomic, expected);
}

TERN_INLINE struct tern_inline_operation tern_inline_make(uint32_t op, uint32_t type, uint64_t operand,
                                                          uint32_t needs_domain, const char *call)
{
    struct tern_inline_operation atomic;

    atomic.op = op;
    atomic.type = type;
    atomic.operand = operand;
    atomic.compare = 0;
    atomic.needs_domain = needs_domain;
    atomic.call = call;
    return atomic;
}

TERN_END_DECLS

/* The type of char, whose sign depends on the platform. */
#ifdef __CHAR_UNSIGNED__
#define TERN_INLINE_CHAR_TYPE TERN_UINT8
#else
#define TERN_INLINE_CHAR_TYPE TERN_INT8
#endif

/* The type of a value, and its bits. */
#ifdef __cplusplus
#define TERN_INLINE_OVERLOAD(ctype, name, suffix, same) \
    inline uint32_t tern_inline_type(ctype)             \
    {                                                   \
        return name;                                    \
    }                                                   \
    inline uint64_t tern_inline_bits(ctype value)       \
    {                                                   \
        return tern_inline_bits_##suffix((same)value);  \
    }
TERN_INLINE_OVERLOAD(char, TERN_INLINE_CHAR_TYPE, u8, uint8_t)
TERN_INLINE_OVERLOAD(signed char, TERN_INT8, i8, int8_t)
TERN_INLINE_OVERLOAD(unsigned char, TERN_UINT8, u8, uint8_t)
TERN_INLINE_OVERLOAD(short, TERN_INT16, i16, int16_t)
TERN_INLINE_OVERLOAD(unsigned short, TERN_UINT16, u16, uint16_t)
TERN_INLINE_OVERLOAD(int, TERN_INT32, i32, int32_t)
TERN_INLINE_OVERLOAD(unsigned int, TERN_UINT32, u32, uint32_t)
TERN_INLINE_OVERLOAD(long, TERN_INT64, i64, int64_t)
TERN_INLINE_OVERLOAD(unsigned long, TERN_UINT64, u64, uint64_t)
TERN_INLINE_OVERLOAD(long long, TERN_INT64, i64, int64_t)
TERN_INLINE_OVERLOAD(unsigned long long, TERN_UINT64, u64, uint64_t)
TERN_INLINE_OVERLOAD(float, TERN_FLOAT, float, float)
TERN_INLINE_OVERLOAD(double, TERN_DOUBLE, double, double)
#undef TERN_INLINE_OVERLOAD
#define TERN_INLINE_TYPE(value) tern_inline_type(value)
#define TERN_INLINE_BITS(value) tern_inline_bits(value)
#else
#define TERN_INLINE_TYPE(value)                              \
    (uint32_t) _Generic((value), char                        \
                        : TERN_INLINE_CHAR_TYPE, signed char \
                        : TERN_INT8, unsigned char           \
                        : TERN_UINT8, short                  \
                        : TERN_INT16, unsigned short         \
                        : TERN_UINT16, int                   \
                        : TERN_INT32, unsigned int           \
                        : TERN_UINT32, long                  \
                        : TERN_INT64, unsigned long          \
                        : TERN_UINT64, long long             \
                        : TERN_INT64, unsigned long long     \
                        : TERN_UINT64, float                 \
                        : TERN_FLOAT, double                 \
                        : TERN_DOUBLE)
#define TERN_INLINE_BITS(value)                         \
    _Generic((value), char                              \
             : tern_inline_bits_char, signed char       \
             : tern_inline_bits_i8, unsigned char       \
             : tern_inline_bits_u8, short               \
             : tern_inline_bits_i16, unsigned short     \
             : tern_inline_bits_u16, int                \
             : tern_inline_bits_i32, unsigned int       \
             : tern_inline_bits_u32, long               \
             : tern_inline_bits_i64, unsigned long      \
             : tern_inline_bits_u64, long long          \
             : tern_inline_bits_i64, unsigned long long \
             : tern_inline_bits_u64, float              \
             : tern_inline_bits_float, double           \
             : tern_inline_bits_double)(value)
#endif

/* The type to which pointer points, as a value: nothing is evaluated. */
#define TERN_INLINE_ZERO(pointer) ((__typeof__(*(pointer)))0)

/* The forms of the typed calls: with an operand and no result, with a result and no operand, with both, and compare and
 * swap. */
#define TERN_INLINE_UPDATE(op, call, ctx, domain, region, rank, offset, value) \
    tern_inline_run(ctx, domain, region, rank, offset,                         \
                    tern_inline_make(op, TERN_INLINE_TYPE(value), TERN_INLINE_BITS(value), 1, call), NULL)
#define TERN_INLINE_FETCH(op, call, ctx, domain, region, rank, offset, result) \
    tern_inline_run(ctx, domain, region, rank, offset,                         \
                    tern_inline_make(op, TERN_INLINE_TYPE(TERN_INLINE_ZERO(result)), 0, 1, call), result)
#define TERN_INLINE_BOTH(op, call, needs_domain, ctx, domain, region, rank, offset, value, result)          \
    tern_inline_run(ctx, domain, region, rank, offset,                                                      \
                    tern_inline_make(op, TERN_INLINE_TYPE(TERN_INLINE_ZERO(result)),                        \
                                     TERN_INLINE_BITS((__typeof__(*(result)))(value)), needs_domain, call), \
                    result)
#define TERN_INLINE_CAS(call, needs_domain, ctx, domain, region, rank, offset, expected, desired)               \
    tern_inline_cas(ctx, domain, region, rank, offset,                                                          \
                    tern_inline_make(TERN_ATOMIC_CAS, TERN_INLINE_TYPE(TERN_INLINE_ZERO(expected)),             \
                                     TERN_INLINE_BITS((__typeof__(*(expected)))(desired)), needs_domain, call), \
                    expected)

#endif

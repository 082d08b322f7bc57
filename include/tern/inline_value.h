/* inline_value.h: declarations for the calls of value.h. NOT PART OF THE INTERFACE: programs do not use the names in
 * this file, which may change in any version. value.h includes this header.
 */
#ifndef TERN_INLINE_VALUE_H
#define TERN_INLINE_VALUE_H

#include <tern/inline.h>
#include <tern/rma.h>

TERN_BEGIN_DECLS

/* After an error, the far path of a get stores the variable's own value again, through an empty instruction, so that
 * the compiler does not warn of a variable that may not be initialized in programs that do not check the status. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

/* Define the functions that put and get a value of a type. They are not part of the interface: call is the name of the
 * public call, for error texts. The store and the load are volatile, so that they are made by one instruction. */
#define TERN_INLINE_VALUE(name, type)                                                                             \
    typedef type            tern_value_##name;                                                                    \
    typedef type            tern_any_##name __attribute__((may_alias, aligned(1)));                               \
    TERN_INLINE tern_status tern_inline_put_##name(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, \
                                                   type value, const char *call)                                  \
    {                                                                                                             \
        const struct tern_part *part = tern_inline_part(ctx, region, rank, offset, sizeof(type));                 \
                                                                                                                  \
        if (TERN_UNLIKELY(part == NULL)) {                                                                        \
            type copy = value; /* so that value itself can stay in a register */                                  \
            return tern_inline_put(ctx, region, rank, offset, &copy, sizeof(copy), call);                         \
        }                                                                                                         \
        tern_inline_release(); /* as in tern_put */                                                               \
        *(volatile tern_any_##name *)(void *)(part->base + offset) = value;                                       \
        tern_inline_release(); /* as in tern_put */                                                               \
        tern_inline_written(part);                                                                                \
        return TERN_OK;                                                                                           \
    }                                                                                                             \
    TERN_INLINE tern_status tern_inline_get_##name##_far(tern_ctx *ctx, tern_region *region, int rank,            \
                                                         uint64_t offset, void *value, const char *call)          \
    {                                                                                                             \
        struct tern_inline_got got;                                                                               \
                                                                                                                  \
        if (value == NULL || sizeof(type) > sizeof(got.bits))                                                     \
            return tern_inline_get(ctx, region, rank, offset, value, sizeof(type), call);                         \
        got = tern_inline_get_word(ctx, region, rank, offset, sizeof(type), call);                                \
        if (got.status != TERN_OK) {                                                                              \
            __builtin_memcpy(&got.bits, value, sizeof(type));                                                     \
            __asm__("" : "+r"(got.bits));                                                                         \
        }                                                                                                         \
        __builtin_memcpy(value, &got.bits, sizeof(type));                                                         \
        return got.status;                                                                                        \
    }                                                                                                             \
    TERN_INLINE tern_status tern_inline_get_##name(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, \
                                                   void *value, const char *call)                                 \
    {                                                                                                             \
        const struct tern_part *part = tern_inline_part(ctx, region, rank, offset, sizeof(type));                 \
                                                                                                                  \
        if (TERN_UNLIKELY(part == NULL || value == NULL))                                                         \
            return tern_inline_get_##name##_far(ctx, region, rank, offset, value, call);                          \
        *(tern_any_##name *)value = *(const volatile tern_any_##name *)(const void *)(part->base + offset);       \
        tern_inline_acquire(); /* as in tern_get */                                                               \
        return TERN_OK;                                                                                           \
    }
TERN_INLINE_VALUE(u8, uint8_t)
TERN_INLINE_VALUE(u16, uint16_t)
TERN_INLINE_VALUE(u32, uint32_t)
TERN_INLINE_VALUE(u64, uint64_t)
TERN_INLINE_VALUE(i8, int8_t)
TERN_INLINE_VALUE(i16, int16_t)
TERN_INLINE_VALUE(i32, int32_t)
TERN_INLINE_VALUE(i64, int64_t)
TERN_INLINE_VALUE(float, float)
TERN_INLINE_VALUE(double, double)
TERN_INLINE_VALUE(ldouble, long double)
#ifdef TERN_INLINE_COMPLEX
TERN_INLINE_VALUE(cfloat, float _Complex)
TERN_INLINE_VALUE(cdouble, double _Complex)
TERN_INLINE_VALUE(cldouble, long double _Complex)
#endif
#undef TERN_INLINE_VALUE
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

TERN_END_DECLS

/* The arithmetic types, each with the suffix of the functions that put and get it: X(type, suffix). The functions take
 * types of the same sign, so that calls compile without warnings about conversions. */
#ifdef __CHAR_UNSIGNED__
#define TERN_INLINE_CHAR(X) X(char, u8)
#else
#define TERN_INLINE_CHAR(X) X(char, i8)
#endif
#if __SIZEOF_LONG__ == 8
#define TERN_INLINE_LONG(X) X(long, i64) X(unsigned long, u64)
#else
#define TERN_INLINE_LONG(X) X(long, i32) X(unsigned long, u32)
#endif
#define TERN_INLINE_TYPES(X)   \
    TERN_INLINE_CHAR(X)        \
    X(signed char, i8)         \
    X(unsigned char, u8)       \
    X(short, i16)              \
    X(unsigned short, u16)     \
    X(int, i32)                \
    X(unsigned int, u32)       \
    TERN_INLINE_LONG(X)        \
    X(long long, i64)          \
    X(unsigned long long, u64) \
    X(float, float)            \
    X(double, double)          \
    X(long double, ldouble)

#ifdef __cplusplus

#define TERN_INLINE_OVERLOAD(type, suffix)                                                                          \
    inline tern_status tern_put_value(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, type value)    \
    {                                                                                                               \
        return tern_inline_put_##suffix(ctx, region, rank, offset, (tern_value_##suffix)value, "tern_put_value");   \
    }                                                                                                               \
    inline tern_status tern_get_value(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, type *pointer) \
    {                                                                                                               \
        return tern_inline_get_##suffix(ctx, region, rank, offset, pointer, "tern_get_value");                      \
    }
TERN_INLINE_OVERLOAD(bool, u8)
TERN_INLINE_TYPES(TERN_INLINE_OVERLOAD)
#undef TERN_INLINE_OVERLOAD

#else

#define TERN_INLINE_PUT_CASE(type, suffix) , type : tern_inline_put_##suffix
#define TERN_INLINE_GET_CASE(type, suffix) , type * : tern_inline_get_##suffix
#ifdef TERN_INLINE_COMPLEX
#define TERN_INLINE_COMPLEX_TYPES(X) \
    X(float _Complex, cfloat) X(double _Complex, cdouble) X(long double _Complex, cldouble)
#else
#define TERN_INLINE_COMPLEX_TYPES(X)
#endif

#endif

#endif

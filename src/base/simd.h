/* simd.h: vectors of 16 bytes, as compiler extensions; every machine that Tern runs on has them. This header covers the
 * differences between gcc and clang, and functions for machines with wider vectors. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A function with this attribute is compiled for vectors of 32 bytes, and may be called only on machines that have
 * them. */
#ifdef __x86_64__
#define TERN_SIMD_WIDE __attribute__((target("avx2")))
static inline bool tern_base_simd_wide(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
#define TERN_SIMD_WIDE
static inline bool tern_base_simd_wide(void)
{
    return false;
}
#endif

/* Vector types that may be at any alignment. */
typedef uint8_t  tern_v8 __attribute__((vector_size(16), may_alias, aligned(1)));
typedef uint16_t tern_v16 __attribute__((vector_size(16), may_alias, aligned(1)));
typedef uint32_t tern_v32 __attribute__((vector_size(16), may_alias, aligned(1)));
typedef uint64_t tern_v64 __attribute__((vector_size(16), may_alias, aligned(1)));

#ifdef __clang__
#define TERN_SIMD_PICK(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define TERN_SIMD_PICK(type, a, b, ...) __builtin_shuffle(a, b, (type){ __VA_ARGS__ })
#endif

/* Interleave the elements of the lower, or the upper, halves of two vectors: a0 b0 a1 b1 ... */
#define TERN_SIMD_LOW_8(a, b) TERN_SIMD_PICK(tern_v8, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define TERN_SIMD_HIGH_8(a, b) \
    TERN_SIMD_PICK(tern_v8, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define TERN_SIMD_LOW_16(a, b) TERN_SIMD_PICK(tern_v16, a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define TERN_SIMD_HIGH_16(a, b) TERN_SIMD_PICK(tern_v16, a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define TERN_SIMD_LOW_32(a, b) TERN_SIMD_PICK(tern_v32, a, b, 0, 4, 1, 5)
#define TERN_SIMD_HIGH_32(a, b) TERN_SIMD_PICK(tern_v32, a, b, 2, 6, 3, 7)
#define TERN_SIMD_LOW_64(a, b) TERN_SIMD_PICK(tern_v64, a, b, 0, 2)
#define TERN_SIMD_HIGH_64(a, b) TERN_SIMD_PICK(tern_v64, a, b, 1, 3)

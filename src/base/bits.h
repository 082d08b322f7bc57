/* bits.h: small, error-prone arithmetic functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TERN_CACHE_LINE 64

/* Return whether [offset, offset + len) lies within [0, size). */
static inline bool tern_base_covers(uint64_t size, uint64_t offset, uint64_t len)
{
    return offset <= size && len <= size - offset; /* cannot wrap */
}

/* Return value rounded up to a multiple of unit, a power of two; 0 if the result does not fit into 64 bits (or value is
 * 0). */
static inline uint64_t tern_base_round_up(uint64_t value, uint64_t unit)
{
    return (value + (unit - 1)) < value ? 0 : (value + (unit - 1)) & ~(unit - 1);
}

/* Return the smallest k with 2^k >= n; n must be at least 1. */
static inline unsigned tern_base_log2_up(uint32_t n)
{
    return n <= 1 ? 0 : 32u - (unsigned)__builtin_clz(n - 1);
}

/* Return whether a comes after b on a counter that wraps around. */
static inline bool tern_base_seq_after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

/* Write, and read, a number of up to 8 bytes in little endian. */
static inline void tern_base_put_le(uint8_t *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static inline uint64_t tern_base_get_le(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

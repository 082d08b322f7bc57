/* move.h: moving one run of contiguous bytes. The length may be a compile-time constant.
 *
 * The loops over strides and lists call this for every run, so short runs are moved inline, without a call. Source
 * and destination may overlap.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <tern/value.h>

/* Move 16 to 32 bytes, as the first and the last 16. Source and destination may overlap, so all loads precede the
 * stores. */
static inline __attribute__((always_inline)) void tern_op_move_ends(unsigned char *to, const unsigned char *from,
                                                                    size_t len)
{
    tern_any_block a = *(const tern_any_block *)(const void *)from;
    tern_any_block b = *(const tern_any_block *)(const void *)(from + len - 16);

    *(tern_any_block *)(void *)to = a;
    *(tern_any_block *)(void *)(to + len - 16) = b;
}

/* Move 32 to 64 bytes in the same way. */
static inline __attribute__((always_inline)) void tern_op_move_four(unsigned char *to, const unsigned char *from,
                                                                    size_t len)
{
    tern_any_block a = *(const tern_any_block *)(const void *)from;
    tern_any_block b = *(const tern_any_block *)(const void *)(from + 16);
    tern_any_block c = *(const tern_any_block *)(const void *)(from + len - 32);
    tern_any_block d = *(const tern_any_block *)(const void *)(from + len - 16);

    *(tern_any_block *)(void *)to = a;
    *(tern_any_block *)(void *)(to + 16) = b;
    *(tern_any_block *)(void *)(to + len - 32) = c;
    *(tern_any_block *)(void *)(to + len - 16) = d;
}

static inline __attribute__((always_inline)) void tern_op_move_small(unsigned char *to, const unsigned char *from,
                                                                     size_t len)
{
    if (len >= 8) {
        uint64_t a = *(const tern_any_u64 *)(const void *)from,
                 b = *(const tern_any_u64 *)(const void *)(from + len - 8);
        *(tern_any_u64 *)(void *)to = a;
        *(tern_any_u64 *)(void *)(to + len - 8) = b;
    } else if (len >= 4) {
        uint32_t a = *(const tern_any_u32 *)(const void *)from,
                 b = *(const tern_any_u32 *)(const void *)(from + len - 4);
        *(tern_any_u32 *)(void *)to = a;
        *(tern_any_u32 *)(void *)(to + len - 4) = b;
    } else {
        unsigned char a = from[0], b = from[len / 2], c = from[len - 1];
        to[0] = a;
        to[len / 2] = b;
        to[len - 1] = c;
    }
}

static inline __attribute__((always_inline)) void tern_op_move_few(unsigned char *to, const unsigned char *from,
                                                                   size_t len)
{
    if (len > 32) {
        tern_op_move_four(to, from, len);
    } else if (len >= 16) {
        tern_op_move_ends(to, from, len);
    } else {
        tern_op_move_small(to, from, len);
    }
}

/* Move one run. A length that is a compile-time constant must be a power of two up to 64, and is moved by single
 * instructions. */
static inline __attribute__((always_inline)) void tern_op_move(unsigned char *to, const unsigned char *from, size_t run)
{
    if (!__builtin_constant_p(run)) {
        if (run <= 64)
            tern_op_move_few(to, from, run);
        else
            tern_copy(to, from, run);
    } else if (run == 1) {
        *to = *from;
    } else if (run == 2) {
        *(tern_any_u16 *)(void *)to = *(const tern_any_u16 *)(const void *)from;
    } else if (run == 4) {
        *(tern_any_u32 *)(void *)to = *(const tern_any_u32 *)(const void *)from;
    } else if (run == 8) {
        *(tern_any_u64 *)(void *)to = *(const tern_any_u64 *)(const void *)from;
    } else if (run == 16) {
        *(tern_any_block *)(void *)to = *(const tern_any_block *)(const void *)from;
    } else if (run == 32) {
        tern_op_move_ends(to, from, 32);
    } else {
        tern_op_move_four(to, from, 64);
    }
}

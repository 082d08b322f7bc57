/* acc_kernels.h: the arithmetic of accumulates: to[i] += scale * from[i], on memory that loads and stores reach. */
#ifndef TERN_OP_ATOMIC_ACC_KERNELS_H
#define TERN_OP_ATOMIC_ACC_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tern/type.h>

#define TERN_SUM_SCALE 16 /* bytes of the largest element */

/* What is added to each element. */
struct tern_acc_op {
    uint8_t       type;                  /* tern_type */
    uint8_t       fetch;                 /* 1: what was there before comes back, in the place of the summand */
    uint8_t       plain;                 /* 1: the scale is 1 */
    uint8_t       reserved[5];           /* 0 */
    unsigned char scale[TERN_SUM_SCALE]; /* one element of the type, then 0 */
};
_Static_assert(sizeof(struct tern_acc_op) == 8 + TERN_SUM_SCALE, "it travels: no padding");

/* Bytes of an element, and what its place is a multiple of: the bytes of a number. */
static inline size_t tern_acc_op_bytes(unsigned type)
{
#define BYTES(name, ctype, bytes, text) [name] = (bytes),
    static const uint8_t table[TERN_TYPES] = { TERN_TYPE_LIST(BYTES) };
#undef BYTES

    return table[type];
}

static inline size_t tern_acc_op_align(unsigned type)
{
    size_t bytes = tern_acc_op_bytes(type);

    return type == TERN_COMPLEX_FLOAT || type == TERN_COMPLEX_DOUBLE ? bytes / 2 : bytes;
}

/* Fill it in; scale is one element of the type, or NULL for 1. */
void tern_op_acc_op_make(struct tern_acc_op *sum, tern_type type, const void *scale, bool fetch);

/* Add bytes of elements; from is written where what was there comes back. The two do not overlap; from has any
 * alignment. */
typedef void tern_acc_kernel(unsigned char *to, unsigned char *from, size_t bytes, const unsigned char *scale);

/* The loop that does it; wide: for a machine that tern_base_simd_wide() says yes to. */
tern_acc_kernel *tern_op_acc_kernel(const struct tern_acc_op *sum, bool wide);

#endif

/* acc_kernels.h: the arithmetic of accumulates, on memory that loads and stores reach: combine to[i] with from[i] by a
 * reduction of tern/acc.h. A sum has a scale: to[i] += scale * from[i]. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tern/acc.h>
#include <tern/type.h>

#define TERN_ACC_SCALE 16 /* bytes of the largest element */

/* The operation that is applied to each element. */
struct tern_acc_op {
    uint8_t       type;                  /* tern_type */
    uint8_t       fetch;                 /* 1: the old values are returned in place of the operands */
    uint8_t       plain;                 /* 1: the scale is 1. Only a sum may have another scale */
    uint8_t       reduction;             /* tern_reduction */
    uint8_t       reserved[4];           /* must be 0 */
    unsigned char scale[TERN_ACC_SCALE]; /* one element of the type, zero-padded */
};
_Static_assert(sizeof(struct tern_acc_op) == 8 + TERN_ACC_SCALE, "it travels: no padding");

/* tern_acc_op_bytes returns the size of an element, and tern_acc_op_align its required alignment: the size of one
 * number, which is half of a complex element. */
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

/* Return whether the reduction and the type exist, and the type has the reduction. */
bool tern_op_acc_has(unsigned reduction, unsigned type);

/* Fill in the operation. The type must have the reduction, and only a sum may have a factor. */
void tern_op_acc_op_make(struct tern_acc_op *op, const tern_acc_args *args, bool fetch);

/* Return whether an operation that another process has sent is valid. */
bool tern_op_acc_op_valid(const struct tern_acc_op *op);

/* Combine `bytes` bytes of elements. A fetching kernel writes the old values to `from`. The two ranges must not
 * overlap; `from` may have any alignment. */
typedef void tern_acc_kernel(unsigned char *to, unsigned char *from, size_t bytes, const unsigned char *scale);

/* Return the kernel for a valid operation. wide: the machine has wide vectors (tern_base_simd_wide()). */
tern_acc_kernel *tern_op_acc_kernel(const struct tern_acc_op *op, bool wide);

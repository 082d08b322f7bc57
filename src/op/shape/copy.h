/* copy.h: copying the points of a box between two strided layouts, both accessible by loads and stores.
 *
 * The loop is chosen by the length of the runs, the number of dimensions, and whether both layouts have their shortest
 * stride in the same dimension (rows) or not (a transpose). If the source and destination overlap, or if the
 * destination overlaps itself, the content of the overlapping bytes is undefined; all other bytes are defined.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tern_copy_dim {
    uint64_t count;
    int64_t  to, from; /* strides in bytes */
};

/* Copy runs of `run` bytes. dim[0] is the innermost of `dims` dimensions; except for overlaps the order of the
 * dimensions does not matter. cold: most of the memory is probably not in the caches of this core. */
void tern_op_copy(unsigned char *to, const unsigned char *from, size_t run, unsigned dims,
                  const struct tern_copy_dim *dim, bool cold);

/* Copy a plane in which source and destination are transposed: the destination has its shortest stride in dimension
 * `across`, the source in dimension `along`. */
void tern_op_transpose(unsigned char *to, const unsigned char *from, size_t run, const struct tern_copy_dim *across,
                       const struct tern_copy_dim *along);

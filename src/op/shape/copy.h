/* copy.h: copying the points of a box from one strided side to another, both in reach of loads and stores.
 *
 * Which loop does it is chosen by the length of the runs, the number of dimensions, and whether the two sides have
 * their short strides in the same dimension (rows) or not (a transpose). Where bytes of the two sides, or of the
 * destination itself, overlap, what is there afterwards is undefined; nothing else is.
 */
#ifndef TERN_OP_SHAPE_COPY_H
#define TERN_OP_SHAPE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tern_copy_dim {
    uint64_t count;
    int64_t  to, from; /* strides in bytes */
};

/* Copy runs of run bytes; dim[0] is the innermost of dims dimensions, but for overlaps their order does not matter.
 * cold: most of the memory is not in the caches next to this core, as far as one can tell. */
void tern_op_copy(unsigned char *to, const unsigned char *from, size_t run, unsigned dims,
                  const struct tern_copy_dim *dim, bool cold);

/* A plane whose sides are transposed to each other: the short stride of the destination is that of across, the short
 * stride of the source that of along. */
void tern_op_transpose(unsigned char *to, const unsigned char *from, size_t run, const struct tern_copy_dim *across,
                       const struct tern_copy_dim *along);

#endif

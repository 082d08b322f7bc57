/* stride.h: the stride optimizer: the same copies, described by as few and as long loops as possible.
 *
 * A strided transfer is a set of pairs: a place on the far side (the remote memory) and one on the near side (the local
 * memory), for each point of a box of up to TERN_STRIDE_DIMS dimensions. Programs describe it as their arrays are laid
 * out; many descriptions mean the same set. This module finds one that is good to execute, whatever the input:
 *
 *   null dimensions, of one point, are removed
 *   strides are inverted so that none of the far side is negative
 *   dimensions are sorted by the far side's strides, the smallest first
 *   dimensions are folded into the element and into each other where both sides permit it
 *
 * It is pure: numbers in, numbers out. Overflow is found, never suffered.
 */
#ifndef TERN_OP_SHAPE_STRIDE_H
#define TERN_OP_SHAPE_STRIDE_H

#include <stddef.h>
#include <stdint.h>

#define TERN_STRIDE_DIMS 64

/* As the program describes it: the place of the point (i, j, ...) is i * far[0] + j * far[1] + ... behind the first. */
struct tern_stride_input {
    unsigned         dims; /* up to TERN_STRIDE_DIMS */
    uint64_t         element;
    const size_t    *count;  /* [dims] */
    const int64_t   *remote; /* [dims] bytes, of any sign */
    const ptrdiff_t *local;
};

struct tern_stride_dim {
    uint64_t count;  /* at least 2 */
    int64_t  remote; /* not negative */
    int64_t  local;
};

/* How far a side goes from where its first point is in the input. */
struct tern_stride_reach {
    uint64_t before, behind; /* bytes; behind includes the element */
};

/* As it is to be executed: dim[0] is the innermost. */
struct tern_stride {
    uint64_t                 total;         /* bytes */
    uint64_t                 run;           /* contiguous bytes, on both sides */
    int64_t                  remote, local; /* where the first run begins, from where the input's first point is */
    struct tern_stride_reach far_reach, near_reach;
    unsigned                 dims;
    struct tern_stride_dim   dim[TERN_STRIDE_DIMS]; /* [dims] */
};

enum tern_stride_verdict {
    TERN_STRIDE_FINE,
    TERN_STRIDE_EMPTY, /* there are no bytes; only total is filled */
    TERN_STRIDE_HUGE   /* more bytes, or longer ways, than 63 bits can tell: no memory holds it */
};

enum tern_stride_verdict tern_op_stride_make(const struct tern_stride_input *in, struct tern_stride *out);

#endif

/* stride.h: the stride optimizer, which describes a set of copies by as few and as long loops as possible.
 *
 * A strided transfer is a set of pairs of a remote and a local offset, one pair for each point of a box of up to
 * TERN_STRIDE_DIMS dimensions. Applications describe the box in terms of their arrays, and many descriptions mean
 * the same set. For all of them, this module finds a description that executes well:
 *
 *   dimensions of one point (null dimensions) are removed
 *   dimensions are inverted so that no remote stride is negative
 *   dimensions are sorted by remote stride, the smallest first
 *   dimensions are folded into the element and into each other where both sides permit it
 *
 * The optimizer is a pure function of its input and detects every overflow.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TERN_STRIDE_DIMS 64

/* The application's description: point (i, j, ...) lies i * remote[0] + j * remote[1] + ... bytes behind the first
 * point; likewise for local. */
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

/* The extent of one side, relative to the first point of the input. */
struct tern_stride_reach {
    uint64_t before, behind; /* bytes; behind includes the element */
};

/* The optimized description; dim[0] is the innermost dimension. */
struct tern_stride {
    uint64_t                 total;         /* bytes */
    uint64_t                 run;           /* contiguous bytes, on both sides */
    int64_t                  remote, local; /* start of the first run, relative to the first point of the input */
    struct tern_stride_reach remote_reach, local_reach;
    unsigned                 dims;
    struct tern_stride_dim   dim[TERN_STRIDE_DIMS]; /* [dims] */
};

/* Return the size of the part of a description that is filled in. */
static inline size_t tern_op_stride_bytes(const struct tern_stride *stride)
{
    return offsetof(struct tern_stride, dim) + stride->dims * sizeof(stride->dim[0]);
}

enum tern_stride_verdict {
    TERN_STRIDE_FINE,
    TERN_STRIDE_EMPTY, /* there are no bytes; only total is filled in */
    TERN_STRIDE_HUGE   /* more bytes, or a larger extent, than 63 bits can express: no memory holds it */
};

enum tern_stride_verdict tern_op_stride_make(const struct tern_stride_input *in, struct tern_stride *out);

/* shape.h: the checks of calls whose data is not contiguous, whatever is done with it. */
#ifndef TERN_API_SHAPE_H
#define TERN_API_SHAPE_H

#include <tern/acc.h>
#include <tern/shape.h>

#include "op/shape/shape.h"

/* A call as it came: which rank, what is done, and how it is to complete. */
struct tern_api_call {
    tern_ctx          *ctx;
    tern_region       *region;
    int                rank;
    const tern_opts   *opts; /* NULL: blocking */
    const char        *what;
    bool               get;   /* a copy: which way */
    bool               adds;  /* an accumulate, */
    struct tern_acc_op sum;   /* of this */
    bool               noted; /* a notification follows, */
    uint32_t           tag;   /* with this tag */
};

/* Check every piece, and do it. */
tern_status tern_api_vector(const struct tern_api_call *call, const tern_vector *vector);
tern_status tern_api_indexed(const struct tern_api_call *call, const tern_indexed *indexed);
tern_status tern_api_strided(const struct tern_api_call *call, const tern_strided *strided);

/* Everything about the bytes is checked: see that elements are whole where they are added, and do it. */
tern_status tern_api_shape_go(const struct tern_api_call *call, struct tern_shape *shape);

/* acc.c: whether all elements of an accumulate are whole, and lie where they may. */
tern_status tern_api_acc_check(const struct tern_api_call *call, const struct tern_shape *shape);

#endif

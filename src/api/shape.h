/* shape.h: the checks of calls with noncontiguous data, for transfers and accumulates. */
#pragma once

#include <tern/acc.h>
#include <tern/shape.h>

#include "op/shape/shape.h"

/* The arguments of a call: the rank, the operation, and how it completes. */
struct tern_api_call {
    tern_ctx          *ctx;
    tern_region       *region;
    const tern_opts   *opts; /* with TERN_OP_BLOCKING: wait for the completion */
    int                rank;
    bool               get;  /* the direction of a copy */
    bool               adds; /* an accumulate */
    const char        *what;
    struct tern_acc_op sum; /* the operand of an accumulate, otherwise undefined */
};

/* Check every piece, and run the operation. */
tern_status tern_api_vector(const struct tern_api_call *call, const tern_vector *vector);
tern_status tern_api_indexed(const struct tern_api_call *call, const tern_indexed *indexed);
tern_status tern_api_strided(const struct tern_api_call *call, const tern_strided *strided);

/* Run an operation whose byte ranges have been checked; for accumulates, check first that all elements are whole. */
tern_status tern_api_shape_go(const struct tern_api_call *call, struct tern_shape *shape);

/* acc.c: check that all elements of an accumulate are whole and properly aligned. */
tern_status tern_api_acc_check(const struct tern_api_call *call, const struct tern_shape *shape);

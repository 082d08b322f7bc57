/* coll.h: the checks of collective calls (coll.c), which both forms of each call share (coll_calls.c). */
#pragma once

#include <tern/coll.h>

#include "op/coll/coll.h"

/* The form of a call: its name, and the options of the nonblocking form. */
struct form {
    const char      *what;
    bool             with;
    const tern_opts *opts;
};

/* Compute n * each, the size of an array. */
tern_status tern_api_multiply(size_t n, size_t each, const char *what, size_t *bytes);

/* Check that two arrays do not overlap, unless the second one begins at `permitted`. */
tern_status tern_api_apart(const void *a, size_t a_bytes, const void *b, size_t b_bytes, const void *permitted,
                           const char *what);

/* Each function checks the arguments and makes the call. On entry, args contains the call, the root, the arrays, and
 * the length of a block if all blocks have the same length. */
tern_status tern_api_sync(tern_ctx *ctx, enum tern_coll_call call, const struct form *form);
tern_status tern_api_broadcast(tern_ctx *ctx, int root, void *buf, size_t len, const struct form *form);
tern_status tern_api_reduce(tern_ctx *ctx, struct tern_coll_args *args, size_t count, const tern_reduce_args *how,
                            const struct form *form);
tern_status tern_api_reduce_scatter(tern_ctx *ctx, struct tern_coll_args *args, size_t count,
                                    const tern_reduce_args *how, const struct form *form);
tern_status tern_api_reduce_scatterv(tern_ctx *ctx, struct tern_coll_args *args, const tern_blocks *blocks,
                                     const tern_reduce_args *how, const struct form *form);
tern_status tern_api_equal(tern_ctx *ctx, struct tern_coll_args *args, const struct form *form);
tern_status tern_api_listed(tern_ctx *ctx, struct tern_coll_args *args, const tern_blocks *blocks,
                            const struct form *form);
tern_status tern_api_alltoall(tern_ctx *ctx, struct tern_coll_args *args, const struct form *form);
tern_status tern_api_alltoallv(tern_ctx *ctx, struct tern_coll_args *args, const tern_blocks *src,
                               const tern_blocks *dst, const struct form *form);
tern_status tern_api_alltoalls(tern_ctx *ctx, struct tern_coll_args *args, const tern_alltoalls_args *strided,
                               const struct form *form);

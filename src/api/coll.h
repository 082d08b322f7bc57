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

/* The blocks of an array as the program has listed them, with their offsets. */
struct tern_api_blocks {
    struct tern_coll_blocks of;
    size_t *offset; /* the offsets if Tern has computed them, which the caller frees; NULL: the program's */
    size_t  sum;
};

/* Check and read a list. After an error, there is nothing to free. */
tern_status tern_api_read_blocks(const tern_ctx *ctx, const tern_blocks *in, const char *what,
                                 struct tern_api_blocks *out);

/* Check that what the call writes overlaps nothing else: the blocks of the array, or this rank's own block. */
tern_status tern_api_own_apart(const tern_ctx *ctx, const struct tern_coll_args *args, const void *array,
                               const struct tern_api_blocks *b);

/* The blocks of an array in memory. */
struct tern_api_array {
    const void   *base;
    const size_t *len, *offset; /* [count] in bytes */
    int           count;
    bool          written; /* the call writes the blocks of this rank */
    const char   *name;    /* in error texts */
};

/* Check that the blocks which a call writes overlap no others. One of the arrays is written. same: the block of a that
 * is the only block of b, because the call is in place; -1: none. */
tern_status tern_api_blocks_apart(const struct tern_api_array *a, const struct tern_api_array *b, int same,
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

/* coll_calls.c: the public calls of tern/coll.h, each in its blocking form and in its form with options. See coll.c. */
#include <tern/coll.h>

#include "api/coll.h"

/* The arguments that both forms of a call pass on. */
#define IN(of, to, at, bytes)                                                                            \
    {                                                                                                    \
        .what = form.what, .call = TERN_COLL_##of, .root = (to), .src = src, .dst = (at), .len = (bytes) \
    }

tern_status tern_sync(tern_ctx *ctx)
{
    const struct form form = { .what = "tern_sync" };

    return tern_api_sync(ctx, TERN_COLL_SYNC, &form);
}

tern_status tern_sync_with(tern_ctx *ctx, const tern_opts *opts)
{
    const struct form form = { .what = "tern_sync_with", .with = true, .opts = opts };

    return tern_api_sync(ctx, TERN_COLL_SYNC, &form);
}

tern_status tern_barrier_with(tern_ctx *ctx, const tern_opts *opts)
{
    const struct form form = { .what = "tern_barrier_with", .with = true, .opts = opts };

    return tern_api_sync(ctx, TERN_COLL_BARRIER, &form);
}

tern_status tern_broadcast(tern_ctx *ctx, int root, void *buf, size_t len)
{
    const struct form form = { .what = "tern_broadcast" };

    return tern_api_broadcast(ctx, root, buf, len, &form);
}

tern_status tern_broadcast_with(tern_ctx *ctx, int root, void *buf, size_t len, const tern_opts *opts)
{
    const struct form form = { .what = "tern_broadcast_with", .with = true, .opts = opts };

    return tern_api_broadcast(ctx, root, buf, len, &form);
}

tern_status tern_reduce(tern_ctx *ctx, int root, const void *src, void *dst, size_t count, const tern_reduce_args *args)
{
    const struct form     form = { .what = "tern_reduce" };
    struct tern_coll_args in = IN(REDUCE, root, dst, 0);

    return tern_api_reduce(ctx, &in, count, args, &form);
}

tern_status tern_reduce_with(tern_ctx *ctx, int root, const void *src, void *dst, size_t count,
                             const tern_reduce_args *args, const tern_opts *opts)
{
    const struct form     form = { .what = "tern_reduce_with", .with = true, .opts = opts };
    struct tern_coll_args in = IN(REDUCE, root, dst, 0);

    return tern_api_reduce(ctx, &in, count, args, &form);
}

tern_status tern_allreduce(tern_ctx *ctx, const void *src, void *dst, size_t count, const tern_reduce_args *args)
{
    const struct form     form = { .what = "tern_allreduce" };
    struct tern_coll_args in = IN(ALLREDUCE, -1, dst, 0);

    return tern_api_reduce(ctx, &in, count, args, &form);
}

tern_status tern_allreduce_with(tern_ctx *ctx, const void *src, void *dst, size_t count, const tern_reduce_args *args,
                                const tern_opts *opts)
{
    const struct form     form = { .what = "tern_allreduce_with", .with = true, .opts = opts };
    struct tern_coll_args in = IN(ALLREDUCE, -1, dst, 0);

    return tern_api_reduce(ctx, &in, count, args, &form);
}

tern_status tern_reduce_scatter(tern_ctx *ctx, const void *src, void *dst, size_t count, const tern_reduce_args *args)
{
    const struct form     form = { .what = "tern_reduce_scatter" };
    struct tern_coll_args in = IN(REDUCE_SCATTER, -1, dst, 0);

    return tern_api_reduce_scatter(ctx, &in, count, args, &form);
}

tern_status tern_reduce_scatter_with(tern_ctx *ctx, const void *src, void *dst, size_t count,
                                     const tern_reduce_args *args, const tern_opts *opts)
{
    const struct form     form = { .what = "tern_reduce_scatter_with", .with = true, .opts = opts };
    struct tern_coll_args in = IN(REDUCE_SCATTER, -1, dst, 0);

    return tern_api_reduce_scatter(ctx, &in, count, args, &form);
}

tern_status tern_reduce_scatterv(tern_ctx *ctx, const void *src, void *dst, const tern_blocks *blocks,
                                 const tern_reduce_args *args)
{
    const struct form     form = { .what = "tern_reduce_scatterv" };
    struct tern_coll_args in = IN(REDUCE_SCATTERV, -1, dst, 0);

    return tern_api_reduce_scatterv(ctx, &in, blocks, args, &form);
}

tern_status tern_reduce_scatterv_with(tern_ctx *ctx, const void *src, void *dst, const tern_blocks *blocks,
                                      const tern_reduce_args *args, const tern_opts *opts)
{
    const struct form     form = { .what = "tern_reduce_scatterv_with", .with = true, .opts = opts };
    struct tern_coll_args in = IN(REDUCE_SCATTERV, -1, dst, 0);

    return tern_api_reduce_scatterv(ctx, &in, blocks, args, &form);
}

tern_status tern_gather(tern_ctx *ctx, int root, const void *src, size_t len, void *dst)
{
    const struct form     form = { .what = "tern_gather" };
    struct tern_coll_args in = IN(GATHER, root, dst, len);

    return tern_api_equal(ctx, &in, &form);
}

tern_status tern_gather_with(tern_ctx *ctx, int root, const void *src, size_t len, void *dst, const tern_opts *opts)
{
    const struct form     form = { .what = "tern_gather_with", .with = true, .opts = opts };
    struct tern_coll_args in = IN(GATHER, root, dst, len);

    return tern_api_equal(ctx, &in, &form);
}

tern_status tern_gatherv(tern_ctx *ctx, int root, const void *src, size_t len, void *dst, const tern_blocks *blocks)
{
    const struct form     form = { .what = "tern_gatherv" };
    struct tern_coll_args in = IN(GATHERV, root, dst, len);

    return tern_api_listed(ctx, &in, blocks, &form);
}

tern_status tern_gatherv_with(tern_ctx *ctx, int root, const void *src, size_t len, void *dst,
                              const tern_blocks *blocks, const tern_opts *opts)
{
    const struct form     form = { .what = "tern_gatherv_with", .with = true, .opts = opts };
    struct tern_coll_args in = IN(GATHERV, root, dst, len);

    return tern_api_listed(ctx, &in, blocks, &form);
}

tern_status tern_scatter(tern_ctx *ctx, int root, const void *src, void *dst, size_t len)
{
    const struct form     form = { .what = "tern_scatter" };
    struct tern_coll_args in = IN(SCATTER, root, dst, len);

    return tern_api_equal(ctx, &in, &form);
}

tern_status tern_scatter_with(tern_ctx *ctx, int root, const void *src, void *dst, size_t len, const tern_opts *opts)
{
    const struct form     form = { .what = "tern_scatter_with", .with = true, .opts = opts };
    struct tern_coll_args in = IN(SCATTER, root, dst, len);

    return tern_api_equal(ctx, &in, &form);
}

tern_status tern_scatterv(tern_ctx *ctx, int root, const void *src, const tern_blocks *blocks, void *dst, size_t len)
{
    const struct form     form = { .what = "tern_scatterv" };
    struct tern_coll_args in = IN(SCATTERV, root, dst, len);

    return tern_api_listed(ctx, &in, blocks, &form);
}

tern_status tern_scatterv_with(tern_ctx *ctx, int root, const void *src, const tern_blocks *blocks, void *dst,
                               size_t len, const tern_opts *opts)
{
    const struct form     form = { .what = "tern_scatterv_with", .with = true, .opts = opts };
    struct tern_coll_args in = IN(SCATTERV, root, dst, len);

    return tern_api_listed(ctx, &in, blocks, &form);
}

tern_status tern_allgather_with(tern_ctx *ctx, const void *src, size_t len, void *all, const tern_opts *opts)
{
    const struct form     form = { .what = "tern_allgather_with", .with = true, .opts = opts };
    struct tern_coll_args in = IN(ALLGATHER, -1, all, len);

    return tern_api_equal(ctx, &in, &form);
}

tern_status tern_allgatherv(tern_ctx *ctx, const void *src, size_t len, void *dst, const tern_blocks *blocks)
{
    const struct form     form = { .what = "tern_allgatherv" };
    struct tern_coll_args in = IN(ALLGATHERV, -1, dst, len);

    return tern_api_listed(ctx, &in, blocks, &form);
}

tern_status tern_allgatherv_with(tern_ctx *ctx, const void *src, size_t len, void *dst, const tern_blocks *blocks,
                                 const tern_opts *opts)
{
    const struct form     form = { .what = "tern_allgatherv_with", .with = true, .opts = opts };
    struct tern_coll_args in = IN(ALLGATHERV, -1, dst, len);

    return tern_api_listed(ctx, &in, blocks, &form);
}

tern_status tern_alltoall(tern_ctx *ctx, const void *src, void *dst, size_t len)
{
    const struct form     form = { .what = "tern_alltoall" };
    struct tern_coll_args in = IN(ALLTOALL, -1, dst, len);

    return tern_api_alltoall(ctx, &in, &form);
}

tern_status tern_alltoall_with(tern_ctx *ctx, const void *src, void *dst, size_t len, const tern_opts *opts)
{
    const struct form     form = { .what = "tern_alltoall_with", .with = true, .opts = opts };
    struct tern_coll_args in = IN(ALLTOALL, -1, dst, len);

    return tern_api_alltoall(ctx, &in, &form);
}

tern_status tern_alltoallv(tern_ctx *ctx, const void *src, const tern_blocks *src_blocks, void *dst,
                           const tern_blocks *dst_blocks)
{
    const struct form     form = { .what = "tern_alltoallv" };
    struct tern_coll_args in = IN(ALLTOALLV, -1, dst, 0);

    return tern_api_alltoallv(ctx, &in, src_blocks, dst_blocks, &form);
}

tern_status tern_alltoallv_with(tern_ctx *ctx, const void *src, const tern_blocks *src_blocks, void *dst,
                                const tern_blocks *dst_blocks, const tern_opts *opts)
{
    const struct form     form = { .what = "tern_alltoallv_with", .with = true, .opts = opts };
    struct tern_coll_args in = IN(ALLTOALLV, -1, dst, 0);

    return tern_api_alltoallv(ctx, &in, src_blocks, dst_blocks, &form);
}

tern_status tern_alltoalls(tern_ctx *ctx, const void *src, void *dst, const tern_alltoalls_args *args)
{
    const struct form     form = { .what = "tern_alltoalls" };
    struct tern_coll_args in = IN(ALLTOALLS, -1, dst, 0);

    return tern_api_alltoalls(ctx, &in, args, &form);
}

tern_status tern_alltoalls_with(tern_ctx *ctx, const void *src, void *dst, const tern_alltoalls_args *args,
                                const tern_opts *opts)
{
    const struct form     form = { .what = "tern_alltoalls_with", .with = true, .opts = opts };
    struct tern_coll_args in = IN(ALLTOALLS, -1, dst, 0);

    return tern_api_alltoalls(ctx, &in, args, &form);
}

tern_status tern_scan(tern_ctx *ctx, const void *src, void *dst, size_t count, const tern_reduce_args *args)
{
    const struct form     form = { .what = "tern_scan" };
    struct tern_coll_args in = IN(SCAN, -1, dst, 0);

    return tern_api_reduce(ctx, &in, count, args, &form);
}

tern_status tern_scan_with(tern_ctx *ctx, const void *src, void *dst, size_t count, const tern_reduce_args *args,
                           const tern_opts *opts)
{
    const struct form     form = { .what = "tern_scan_with", .with = true, .opts = opts };
    struct tern_coll_args in = IN(SCAN, -1, dst, 0);

    return tern_api_reduce(ctx, &in, count, args, &form);
}

tern_status tern_exscan(tern_ctx *ctx, const void *src, void *dst, size_t count, const tern_reduce_args *args)
{
    const struct form     form = { .what = "tern_exscan" };
    struct tern_coll_args in = IN(EXSCAN, -1, dst, 0);

    return tern_api_reduce(ctx, &in, count, args, &form);
}

tern_status tern_exscan_with(tern_ctx *ctx, const void *src, void *dst, size_t count, const tern_reduce_args *args,
                             const tern_opts *opts)
{
    const struct form     form = { .what = "tern_exscan_with", .with = true, .opts = opts };
    struct tern_coll_args in = IN(EXSCAN, -1, dst, 0);

    return tern_api_reduce(ctx, &in, count, args, &form);
}

/* shape_calls.c: the public calls of tern/shape.h. shape.c checks their arguments. */
#include "api/check.h"
#include "api/shape.h"
#include "api/use.h"
#include "op/start.h"

/* Describe the blocking form of a call. The operand of accumulates is not set, because zeroing it takes longer than
 * copying a short list. */
static struct tern_api_call blocking(tern_ctx *ctx, tern_region *region, int rank, bool get, const char *what)
{
    struct tern_api_call call;

    call.ctx = ctx;
    call.region = region;
    call.opts = &tern_op_blocking;
    call.rank = rank;
    call.get = get;
    call.adds = false;
    call.what = what;
    return call;
}

/* Prepare the form of a call with options, which are read into *o. */
static tern_status with(struct tern_api_call *c, const tern_opts *opts, struct tern_api_opts *o)
{
    tern_status st = tern_api_opts(c->ctx, opts, TERN_API_NOTIFY | (c->get ? 0 : TERN_API_SIGNAL), c->what, o);

    c->opts = o->opts;
    c->what = o->what;
    return st;
}

tern_status tern_put_vector(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_put_vector");

    if (use.status < 0)
        return use.status;

    const struct tern_api_call call = blocking(ctx, region, rank, false, "tern_put_vector");

    return tern_api_vector(&call, vector);
}

tern_status tern_put_vector_with(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                 const tern_opts *opts)
{
    TERN_API_USE use = tern_api_use(ctx, tern_api_use_name(opts, "tern_put_vector_with", "tern_put_vector_nbi"));

    if (use.status < 0)
        return use.status;

    struct tern_api_call call =
        blocking(ctx, region, rank, false, opts ? "tern_put_vector_with" : "tern_put_vector_nbi");
    struct tern_api_opts o;
    tern_status          st = with(&call, opts, &o);

    return st < 0 ? st : tern_api_vector(&call, vector);
}

tern_status tern_put_indexed(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_put_indexed");

    if (use.status < 0)
        return use.status;

    const struct tern_api_call call = blocking(ctx, region, rank, false, "tern_put_indexed");

    return tern_api_indexed(&call, indexed);
}

tern_status tern_put_indexed_with(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                  const tern_opts *opts)
{
    TERN_API_USE use = tern_api_use(ctx, tern_api_use_name(opts, "tern_put_indexed_with", "tern_put_indexed_nbi"));

    if (use.status < 0)
        return use.status;

    struct tern_api_call call =
        blocking(ctx, region, rank, false, opts ? "tern_put_indexed_with" : "tern_put_indexed_nbi");
    struct tern_api_opts o;
    tern_status          st = with(&call, opts, &o);

    return st < 0 ? st : tern_api_indexed(&call, indexed);
}

tern_status tern_put_strided(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_put_strided");

    if (use.status < 0)
        return use.status;

    const struct tern_api_call call = blocking(ctx, region, rank, false, "tern_put_strided");

    return tern_api_strided(&call, strided);
}

tern_status tern_put_strided_with(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                  const tern_opts *opts)
{
    TERN_API_USE use = tern_api_use(ctx, tern_api_use_name(opts, "tern_put_strided_with", "tern_put_strided_nbi"));

    if (use.status < 0)
        return use.status;

    struct tern_api_call call =
        blocking(ctx, region, rank, false, opts ? "tern_put_strided_with" : "tern_put_strided_nbi");
    struct tern_api_opts o;
    tern_status          st = with(&call, opts, &o);

    return st < 0 ? st : tern_api_strided(&call, strided);
}

tern_status tern_get_vector(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_get_vector");

    if (use.status < 0)
        return use.status;

    const struct tern_api_call call = blocking(ctx, region, rank, true, "tern_get_vector");

    return tern_api_vector(&call, vector);
}

tern_status tern_get_vector_with(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                 const tern_opts *opts)
{
    TERN_API_USE use = tern_api_use(ctx, tern_api_use_name(opts, "tern_get_vector_with", "tern_get_vector_nbi"));

    if (use.status < 0)
        return use.status;

    struct tern_api_call call =
        blocking(ctx, region, rank, true, opts ? "tern_get_vector_with" : "tern_get_vector_nbi");
    struct tern_api_opts o;
    tern_status          st = with(&call, opts, &o);

    return st < 0 ? st : tern_api_vector(&call, vector);
}

tern_status tern_get_indexed(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_get_indexed");

    if (use.status < 0)
        return use.status;

    const struct tern_api_call call = blocking(ctx, region, rank, true, "tern_get_indexed");

    return tern_api_indexed(&call, indexed);
}

tern_status tern_get_indexed_with(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                  const tern_opts *opts)
{
    TERN_API_USE use = tern_api_use(ctx, tern_api_use_name(opts, "tern_get_indexed_with", "tern_get_indexed_nbi"));

    if (use.status < 0)
        return use.status;

    struct tern_api_call call =
        blocking(ctx, region, rank, true, opts ? "tern_get_indexed_with" : "tern_get_indexed_nbi");
    struct tern_api_opts o;
    tern_status          st = with(&call, opts, &o);

    return st < 0 ? st : tern_api_indexed(&call, indexed);
}

tern_status tern_get_strided(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_get_strided");

    if (use.status < 0)
        return use.status;

    const struct tern_api_call call = blocking(ctx, region, rank, true, "tern_get_strided");

    return tern_api_strided(&call, strided);
}

tern_status tern_get_strided_with(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                  const tern_opts *opts)
{
    TERN_API_USE use = tern_api_use(ctx, tern_api_use_name(opts, "tern_get_strided_with", "tern_get_strided_nbi"));

    if (use.status < 0)
        return use.status;

    struct tern_api_call call =
        blocking(ctx, region, rank, true, opts ? "tern_get_strided_with" : "tern_get_strided_nbi");
    struct tern_api_opts o;
    tern_status          st = with(&call, opts, &o);

    return st < 0 ? st : tern_api_strided(&call, strided);
}

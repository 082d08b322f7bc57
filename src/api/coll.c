/* coll.c: the public calls of tern/coll.h: checks of the arguments, and their translation for the algorithms
 * (op/coll/coll.h). */
#include <tern/coll.h>

#include <stdlib.h>
#include <string.h>

#include "api/check.h"
#include "api/coll.h"
#include "api/use.h"
#include "op/coll/coll.h"

/* ---- common checks ---- */

/* Begin a call: check that the context can be used and that the root, if the call has a root, is in its team. */
static tern_status begin(tern_ctx *ctx, const struct tern_coll_args *args, bool rooted)
{
    if (!ctx || ctx->gone)
        return tern_core_ctx_check(ctx, args->what);
    if (rooted && (args->root < 0 || args->root >= ctx->team->size))
        return tern_base_fail(TERN_ERR_RANGE, "%s: root %d is not a rank of the team, which has %d", args->what,
                              args->root, ctx->team->size);
    return TERN_OK;
}

tern_status tern_api_multiply(size_t n, size_t each, const char *what, size_t *bytes)
{
    if (__builtin_mul_overflow(n, each, bytes) || *bytes > PTRDIFF_MAX)
        return tern_base_fail(TERN_ERR_RANGE, "%s: %zu times %zu bytes are more than the address space holds", what, n,
                              each);
    return TERN_OK;
}

static tern_status need(const void *pointer, size_t bytes, const char *name, const char *what)
{
    if (!pointer && bytes > 0)
        return tern_base_fail(TERN_ERR_ARG, "%s: %s is NULL, but there are %zu bytes", what, name, bytes);
    return TERN_OK;
}

tern_status tern_api_apart(const void *a, size_t a_bytes, const void *b, size_t b_bytes, const void *permitted,
                           const char *what)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;

    if (a_bytes == 0 || b_bytes == 0 || x + a_bytes <= y || y + b_bytes <= x || (permitted && b == permitted))
        return TERN_OK;
    return tern_base_fail(TERN_ERR_ARG,
                          "%s: the source and the result overlap; they must be apart, or in place as the call permits",
                          what);
}

static uint64_t mix(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * 0x9e3779b97f4a7c15ull;
    return digest ^ digest >> 29;
}

/* Report that a type does not have a reduction, by their names, or by numbers that are no constants. */
static tern_status no_such_reduction(const tern_reduce_args *in, const char *what)
{
    char type[32], op[32];

    tern_op_coll_type_text((unsigned)in->type, type, sizeof(type));
    tern_op_coll_op_text((unsigned)in->op, op, sizeof(op));
    return tern_base_fail(TERN_ERR_ARG, "%s: the type %s does not have the reduction %s (see tern_reduce_args)", what,
                          type, op);
}

/* Read the reduction with which elements are combined. */
static tern_status read_how(const tern_reduce_args *in, struct tern_coll_args *args)
{
    struct tern_coll_how *how = &args->how;
    tern_reduce_args      copy;
    bool                  user;

    if (!in)
        return tern_api_null(args->what, "args");
    if (!(in = TERN_API_SIZED(tern_reduce_args, in, &copy, args->what)))
        return TERN_ERR_ARG;
    user = in->op == TERN_USER;
    if (in->flags & ~(TERN_REPRODUCIBLE | TERN_COMMUTATIVE))
        return tern_base_fail(TERN_ERR_ARG, "%s: args->flags has unknown flags 0x%x", args->what,
                              in->flags & ~(TERN_REPRODUCIBLE | TERN_COMMUTATIVE));
    if (user != (in->fn != NULL) || user != (in->elem > 0) || (!user && in->flags & TERN_COMMUTATIVE))
        return tern_base_fail(TERN_ERR_ARG,
                              "%s: args->fn, args->elem and TERN_COMMUTATIVE belong to TERN_USER, which "
                              "needs the first two",
                              args->what);
    *how = (struct tern_coll_how){ .fn = in->fn,
                                   .user = in->user,
                                   .elem = in->elem,
                                   .commutes = !user || in->flags & TERN_COMMUTATIVE,
                                   .fold = in->flags & TERN_REPRODUCIBLE };
    if (!tern_op_coll_find((unsigned)in->op, (unsigned)in->type, in->flags, how))
        return no_such_reduction(in, args->what);
    args->digest = mix(args->digest, (uint64_t)how->elem << 16 | how->kind);
    return TERN_OK;
}

/* ---- making the call ---- */

static tern_status refuse(const char *what, const char *why)
{
    return tern_base_fail(TERN_ERR_ARG, "%s: %s", what, why);
}

static tern_status go(tern_ctx *ctx, struct tern_coll_args *args, const struct form *form)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, args->what);

    if (use.status < 0)
        return use.status;

    args->digest = mix(args->digest, args->amount << 24 ^ (uint64_t)args->root << 8 ^ args->call);
    if (!form->with)
        return tern_op_coll_call(ctx, args, NULL);

    struct tern_api_opts o = { .opts = NULL };
    tern_status          st;

    if (!form->opts)
        return tern_api_null(args->what, "opts");
    if ((st = tern_api_opts(ctx, form->opts, 0, args->what, &o)) < 0)
        return st;
    if (!o.opts->event && !o.opts->counter)
        return refuse(args->what, "opts has neither an event nor a counter, which tell that the call is complete");
    if (o.opts->local || o.opts->flags & TERN_COUNT_BYTES)
        return refuse(args->what, "opts->local and TERN_COUNT_BYTES are not for collective calls");
    args->what = o.what;
    return tern_op_coll_call(ctx, args, o.opts);
}

static struct tern_coll_args args_of(enum tern_coll_call call, int root, const struct form *form)
{
    return (struct tern_coll_args){ .what = form->what, .call = (uint8_t)call, .root = root };
}

tern_status tern_api_sync(tern_ctx *ctx, enum tern_coll_call call, const struct form *form)
{
    struct tern_coll_args args = args_of(call, -1, form);
    tern_status           st = begin(ctx, &args, false);

    return st < 0 ? st : go(ctx, &args, form);
}

tern_status tern_api_broadcast(tern_ctx *ctx, int root, void *buf, size_t len, const struct form *form)
{
    struct tern_coll_args args = args_of(TERN_COLL_BROADCAST, root, form);
    size_t                bytes;
    tern_status           st = begin(ctx, &args, true);

    if (st < 0 || (st = tern_api_multiply(1, len, form->what, &bytes)) < 0 ||
        (st = need(buf, len, "buf", form->what)) < 0)
        return st;
    args.src = args.dst = buf;
    args.len = args.amount = len;
    return go(ctx, &args, form);
}

/* Make a reduction of whole arrays: to one rank, to all ranks, or a scan. */
tern_status tern_api_reduce(tern_ctx *ctx, struct tern_coll_args *args, size_t count, const tern_reduce_args *how,
                            const struct form *form)
{
    bool        rooted = args->call == TERN_COLL_REDUCE;
    tern_status st = begin(ctx, args, rooted);
    bool        result = st == TERN_OK && (!rooted || args->root == ctx->team->rank);

    if (st < 0 || (st = read_how(how, args)) < 0 ||
        (st = tern_api_multiply(count, args->how.elem, form->what, &args->len)) < 0 ||
        (st = need(args->src, args->len, "src", form->what)) < 0)
        return st;
    if (result && ((st = need(args->dst, args->len, "dst", form->what)) < 0 ||
                   (st = tern_api_apart(args->src, args->len, args->dst, args->len, args->src, form->what)) < 0))
        return st;
    args->amount = count;
    return go(ctx, args, form);
}

tern_status tern_api_reduce_scatter(tern_ctx *ctx, struct tern_coll_args *args, size_t count,
                                    const tern_reduce_args *how, const struct form *form)
{
    size_t      all;
    tern_status st = begin(ctx, args, false);

    if (st < 0 || (st = read_how(how, args)) < 0 ||
        (st = tern_api_multiply(count, args->how.elem, form->what, &args->len)) < 0 ||
        (st = tern_api_multiply((size_t)ctx->team->size, args->len, form->what, &all)) < 0 ||
        (st = need(args->src, all, "src", form->what)) < 0 ||
        (st = need(args->dst, args->len, "dst", form->what)) < 0 ||
        (st = tern_api_apart(args->src, all, args->dst, args->len, args->src + (size_t)ctx->team->rank * args->len,
                             form->what)) < 0)
        return st;
    args->from.each = args->len;
    args->amount = count;
    return go(ctx, args, form);
}

static tern_status reduce_blocks(tern_ctx *ctx, struct tern_coll_args *args, const struct tern_api_blocks *b,
                                 const struct form *form)
{
    tern_status st;

    for (int i = 0; i < ctx->team->size; i++) {
        if (b->of.len[i] % args->how.elem != 0)
            return tern_base_fail(TERN_ERR_ARG, "%s: block %d has %zu bytes, which are no whole elements of %zu",
                                  form->what, i, b->of.len[i], args->how.elem);
        args->digest = mix(args->digest, b->of.len[i]);
    }
    args->from = b->of;
    args->len = b->of.len[ctx->team->rank];
    args->amount = b->sum;
    if ((st = need(args->src, b->sum, "src", form->what)) < 0 ||
        (st = need(args->dst, args->len, "dst", form->what)) < 0 ||
        (st = tern_api_own_apart(ctx, args, args->src, b)) < 0)
        return st;
    return go(ctx, args, form);
}

tern_status tern_api_reduce_scatterv(tern_ctx *ctx, struct tern_coll_args *args, const tern_blocks *blocks,
                                     const tern_reduce_args *how, const struct form *form)
{
    struct tern_api_blocks b;
    tern_status            st = begin(ctx, args, false);

    if (st < 0 || (st = read_how(how, args)) < 0 || (st = tern_api_read_blocks(ctx, blocks, form->what, &b)) < 0)
        return st;
    st = reduce_blocks(ctx, args, &b, form);
    free(b.offset);
    return st;
}

/* Make a gather, scatter or allgather of blocks of one length. */
tern_status tern_api_equal(tern_ctx *ctx, struct tern_coll_args *args, const struct form *form)
{
    bool        scatters = args->call == TERN_COLL_SCATTER, rooted = args->root >= 0 || scatters;
    size_t      all;
    tern_status st = begin(ctx, args, args->call != TERN_COLL_ALLGATHER);
    bool        whole; /* this rank has the array of all blocks */

    if (st < 0 || (st = tern_api_multiply((size_t)ctx->team->size, args->len, form->what, &all)) < 0)
        return st;
    whole = !rooted || args->root == ctx->team->rank;
    args->from.each = args->to.each = args->amount = args->len;
    if ((scatters ? whole : true) && (st = need(args->src, scatters ? all : args->len, "src", form->what)) < 0)
        return st;
    if ((scatters ? true : whole) && (st = need(args->dst, scatters ? args->len : all, "the result", form->what)) < 0)
        return st;
    if (whole && scatters)
        st = tern_api_apart(args->src, all, args->dst, args->len, args->src + (size_t)ctx->team->rank * args->len,
                            form->what);
    else if (whole)
        st = tern_api_apart(args->dst, all, args->src, args->len, args->dst + (size_t)ctx->team->rank * args->len,
                            form->what);
    return st < 0 ? st : go(ctx, args, form);
}

/* Make a gather, scatter or allgather of blocks of different lengths. The array of all blocks is `array`, and this
 * rank's block is `own`. */
static tern_status listed(tern_ctx *ctx, struct tern_coll_args *args, const struct tern_api_blocks *b,
                          const struct form *form)
{
    bool        scatters = args->call == TERN_COLL_SCATTERV;
    const void *array = scatters ? args->src : args->dst;
    int         me = ctx->team->rank;
    tern_status st;

    if (b->of.len[me] != args->len)
        return tern_base_fail(TERN_ERR_ARG, "%s: len is %zu, but blocks says %zu for this rank, %d", form->what,
                              args->len, b->of.len[me], me);
    if ((st = need(array, b->sum, scatters ? "src" : "dst", form->what)) < 0 ||
        (st = tern_api_own_apart(ctx, args, array, b)) < 0)
        return st;
    *(scatters ? &args->from : &args->to) = b->of;
    for (int i = 0; args->call == TERN_COLL_ALLGATHERV && i < ctx->team->size; i++)
        args->digest = mix(args->digest, b->of.len[i]);
    args->amount = args->call == TERN_COLL_ALLGATHERV ? b->sum : 0;
    return go(ctx, args, form);
}

tern_status tern_api_listed(tern_ctx *ctx, struct tern_coll_args *args, const tern_blocks *blocks,
                            const struct form *form)
{
    struct tern_api_blocks b;
    size_t                 bytes;
    tern_status            st = begin(ctx, args, args->call != TERN_COLL_ALLGATHERV);

    if (st < 0 || (st = tern_api_multiply(1, args->len, form->what, &bytes)) < 0 ||
        (st = need(args->call == TERN_COLL_SCATTERV ? args->dst : args->src, args->len, "the block", form->what)) < 0)
        return st;
    if (args->call != TERN_COLL_ALLGATHERV && args->root != ctx->team->rank)
        return go(ctx, args, form);
    if ((st = tern_api_read_blocks(ctx, blocks, form->what, &b)) < 0)
        return st;
    st = listed(ctx, args, &b, form);
    free(b.offset);
    return st;
}

tern_status tern_api_alltoall(tern_ctx *ctx, struct tern_coll_args *args, const struct form *form)
{
    size_t      all;
    tern_status st = begin(ctx, args, false);

    if (st < 0 || (st = tern_api_multiply((size_t)ctx->team->size, args->len, form->what, &all)) < 0 ||
        (st = need(args->src, all, "src", form->what)) < 0 || (st = need(args->dst, all, "dst", form->what)) < 0 ||
        (st = tern_api_apart(args->src, all, args->dst, all, NULL, form->what)) < 0)
        return st;
    args->from.each = args->to.each = args->amount = args->len;
    return go(ctx, args, form);
}

static tern_status exchange(tern_ctx *ctx, struct tern_coll_args *args, const struct tern_api_blocks *from,
                            const struct tern_api_blocks *to, const struct form *form)
{
    int                   me = ctx->team->rank, size = ctx->team->size;
    struct tern_api_array src = { args->src, from->of.len, from->of.offset, size, false, "src" };
    struct tern_api_array dst = { args->dst, to->of.len, to->of.offset, size, true, "the result" };
    tern_status           st;

    if (from->of.len[me] != to->of.len[me])
        return tern_base_fail(TERN_ERR_ARG, "%s: this rank, %d, sends %zu bytes to itself, but expects %zu", form->what,
                              me, from->of.len[me], to->of.len[me]);
    if ((st = need(args->src, from->sum, "src", form->what)) < 0 ||
        (st = need(args->dst, to->sum, "dst", form->what)) < 0 ||
        (st = tern_api_blocks_apart(&src, &dst, -1, form->what)) < 0)
        return st;
    args->from = from->of;
    args->to = to->of;
    args->len = from->of.len[me];
    return go(ctx, args, form);
}

tern_status tern_api_alltoallv(tern_ctx *ctx, struct tern_coll_args *args, const tern_blocks *src,
                               const tern_blocks *dst, const struct form *form)
{
    struct tern_api_blocks from, to;
    tern_status            st = begin(ctx, args, false);

    if (st < 0 || (st = tern_api_read_blocks(ctx, src, form->what, &from)) < 0)
        return st;
    if ((st = tern_api_read_blocks(ctx, dst, form->what, &to)) == TERN_OK) {
        st = exchange(ctx, args, &from, &to, form);
        free(to.offset);
    }
    free(from.offset);
    return st;
}

tern_status tern_api_alltoalls(tern_ctx *ctx, struct tern_coll_args *args, const tern_alltoalls_args *strided,
                               const struct form *form)
{
    tern_alltoalls_args copy;
    size_t              n, src, dst;
    tern_status         st = begin(ctx, args, false);

    if (st < 0)
        return st;
    if (!strided)
        return tern_api_null(form->what, "args");
    if (!(strided = TERN_API_SIZED(tern_alltoalls_args, strided, &copy, form->what)))
        return TERN_ERR_ARG;
    if (strided->elem == 0 || strided->src_stride == 0 || strided->dst_stride == 0)
        return refuse(form->what, "args->elem and the strides are at least 1");
    if ((st = tern_api_multiply((size_t)ctx->team->size, strided->count, form->what, &n)) < 0 ||
        (st = tern_api_multiply(n, strided->src_stride, form->what, &src)) < 0 ||
        (st = tern_api_multiply(src, strided->elem, form->what, &src)) < 0 ||
        (st = tern_api_multiply(n, strided->dst_stride, form->what, &dst)) < 0 ||
        (st = tern_api_multiply(dst, strided->elem, form->what, &dst)) < 0 ||
        (st = need(args->src, src, "src", form->what)) < 0 || (st = need(args->dst, dst, "dst", form->what)) < 0)
        return st;
    src -= n > 0 ? (strided->src_stride - 1) * strided->elem : 0; /* up to the end of the last element */
    dst -= n > 0 ? (strided->dst_stride - 1) * strided->elem : 0;
    if ((st = tern_api_apart(args->src, src, args->dst, dst, NULL, form->what)) < 0)
        return st;
    args->strided = strided;
    args->len = strided->elem * strided->count;
    args->amount = strided->count;
    args->digest = mix(args->digest, strided->elem);
    return go(ctx, args, form);
}

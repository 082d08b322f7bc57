/* acc.c: the public calls of tern/acc.h: check that all elements are whole and aligned, then make the checks of
 * shapes. */
#include <tern/acc.h>

#include "api/shape.h"
#include "api/check.h"
#include "api/shared.h"
#include "api/use.h"
#include "base/bits.h"
#include "op/atomic/acc.h"

/* ---- checks ---- */

static __attribute__((cold, noinline)) tern_status is_cut(const struct tern_api_call *c, uint64_t bytes)
{
    return tern_base_fail(TERN_ERR_ARG, "%s: a piece of %llu bytes does not consist of whole elements of %zu bytes",
                          c->what, (unsigned long long)bytes, tern_acc_op_bytes(c->sum.type));
}

static __attribute__((cold, noinline)) tern_status is_astray(const struct tern_api_call *c,
                                                             const struct tern_shape *shape, uint64_t offset)
{
    return tern_base_fail(TERN_ERR_ARG, "%s: offset %llu of rank %d is address 0x%llx there, no multiple of %zu",
                          c->what, (unsigned long long)offset, c->rank, (unsigned long long)shape->part->addr + offset,
                          tern_acc_op_align(c->sum.type));
}

static tern_status check_strided(const struct tern_api_call *c, const struct tern_shape *shape)
{
    const struct tern_stride *s = shape->stride;
    uint64_t first = shape->remote_first + (uint64_t)s->remote, low = tern_acc_op_align(c->sum.type) - 1;

    if (s->run & (tern_acc_op_bytes(c->sum.type) - 1)) /* powers of two */
        return is_cut(c, s->run);
    if ((shape->part->addr + first) & low)
        return is_astray(c, shape, first);
    for (unsigned i = 0; i < s->dims; i++)
        if ((uint64_t)s->dim[i].remote & low)
            return is_astray(c, shape, first + (uint64_t)s->dim[i].remote);
    return TERN_OK;
}

/* Check that the pieces of a list consist of whole elements. */
static tern_status check_cuts(const struct tern_api_call *c, const struct tern_layout *layout)
{
    const struct tern_layout_extent *list = layout->list;
    uint64_t                         low = tern_acc_op_bytes(c->sum.type) - 1; /* a power of two */

    if (layout->kind == TERN_LAYOUT_INDEXED)
        return layout->run & low ? is_cut(c, layout->run) : TERN_OK;
    for (uint64_t i = 0; i < layout->count; i++)
        if (list[i].len & low)
            return is_cut(c, list[i].len);
    return TERN_OK;
}

static tern_status check_places(const struct tern_api_call *c, const struct tern_shape *shape)
{
    const struct tern_layout *remote = &shape->remote;
    uint64_t                  low = tern_acc_op_align(c->sum.type) - 1; /* a power of two */

    for (uint64_t i = 0; i < remote->count; i++) {
        bool empty =
            remote->kind == TERN_LAYOUT_VECTOR && ((const struct tern_layout_extent *)remote->list)[i].len == 0;
        uint64_t at = remote->kind == TERN_LAYOUT_INDEXED ? ((const tern_layout_offset *)remote->list)[i]
                                                          : ((const struct tern_layout_extent *)remote->list)[i].at;

        at += remote->first;
        if (!empty && ((shape->part->addr + at) & low))
            return is_astray(c, shape, at);
    }
    return TERN_OK;
}

tern_status tern_api_acc_check(const struct tern_api_call *c, const struct tern_shape *shape)
{
    tern_status st;

    if (shape->stride)
        return check_strided(c, shape);
    if ((st = check_cuts(c, &shape->remote)) < 0 || (st = check_cuts(c, &shape->local)) < 0)
        return st;
    return check_places(c, shape);
}

#define AS_REDUCTION_TEXT(name, number, text) [number] = (text),
static const char *const reduction_text[] = { TERN_REDUCTION_LIST(AS_REDUCTION_TEXT) };
_Static_assert(sizeof(reduction_text) / sizeof(reduction_text[0]) == TERN_REDUCTIONS, "every reduction has its name");
#define AS_TYPE_TEXT(name, type, bytes, text) [name] = (text),
static const char *const type_text[] = { TERN_TYPE_LIST(AS_TYPE_TEXT) };

/* Report why the reduction, the type and the factor do not fit together. */
static __attribute__((cold, noinline)) tern_status is_undefined(const struct tern_api_call *c,
                                                                const tern_acc_args        *args)
{
    if ((unsigned)args->type >= TERN_TYPES)
        return tern_base_fail(TERN_ERR_ARG, "%s: there is no type %d", c->what, (int)args->type);
    if ((unsigned)args->op >= TERN_REDUCTIONS)
        return tern_base_fail(TERN_ERR_ARG, "%s: there is no reduction %d of %s", c->what, (int)args->op,
                              type_text[args->type]);
    if (!tern_op_acc_has(args->op, args->type))
        return tern_base_fail(TERN_ERR_ARG, "%s: the reduction %s is not defined for %s", c->what,
                              reduction_text[args->op], type_text[args->type]);
    return tern_base_fail(TERN_ERR_ARG, "%s: the reduction %s of %s takes no factor; only sum does", c->what,
                          reduction_text[args->op], type_text[args->type]);
}

/* Read the operation of an accumulate. */
static tern_status read_args(struct tern_api_call *c, const tern_acc_args *args, bool fetch)
{
    tern_acc_args copy;

    if (!args)
        return tern_api_null(c->what, "args");
    if (!(args = TERN_API_SIZED(tern_acc_args, args, &copy, c->what)))
        return TERN_ERR_ARG;
    if (!tern_op_acc_has((unsigned)args->op, (unsigned)args->type) || (args->factor && args->op != TERN_SUM))
        return is_undefined(c, args);
    c->adds = true;
    tern_op_acc_op_make(&c->sum, args, fetch);
    return TERN_OK;
}

/* Prepare the blocking form of a call. */
static tern_status blocking(struct tern_api_call *c, const tern_acc_args *args, bool fetch)
{
    c->opts = &tern_op_blocking;
    return read_args(c, args, fetch);
}

/* Prepare the form of a call with options, which are read into *o. */
static tern_status with(struct tern_api_call *c, const tern_opts *opts, bool fetch, struct tern_api_opts *o)
{
    tern_status st = tern_api_opts(c->ctx, opts, TERN_API_NOTIFY | TERN_API_ACC, c->what, o);

    c->opts = o->opts;
    c->what = o->what;
    if (st >= 0 && !o->opts->acc)
        return tern_base_fail(TERN_ERR_ARG, "%s: opts->acc is NULL", c->what);
    return st < 0 ? st : read_args(c, o->opts->acc, fetch);
}

/* ---- contiguous ---- */

static tern_status piece(const struct tern_api_call *c, uint64_t offset, const void *local, size_t len);

/* Run a contiguous accumulate on the inner context of a shared context. */
static __attribute__((cold, noinline)) tern_status piece_shared(const struct tern_api_call *c, uint64_t offset,
                                                                const void *local, size_t len)
{
    struct tern_api_call call = *c;

    return TERN_API_LOCKED(inner, c->ctx, (call.ctx = inner, piece(&call, offset, local, len)));
}

/* Run a contiguous accumulate: a strided shape without dimensions. */
static tern_status piece(const struct tern_api_call *c, uint64_t offset, const void *local, size_t len)
{
    struct tern_stride stride;
    struct tern_shape  shape;
    tern_status        st;

    if ((st = tern_api_part(c->ctx, c->region, c->rank, c->what, &shape.part)) < 0)
        return st == TERN_API_IS_SHARED ? piece_shared(c, offset, local, len) : st;
    if (!local && len > 0)
        return tern_base_fail(TERN_ERR_ARG, "%s: the local buffer is NULL, but its length is %zu", c->what, len);
    if (tern_api_is_dynamic(shape.part)) {
        struct tern_api_location location = { .part = shape.part, .offset = offset, .len = len };

        if ((st = tern_api_locate(c->ctx, c->region, c->rank, c->what, &location)) < 0)
            return st;
        shape.part = location.part;
        offset = location.len > 0 ? location.offset : 0;
    }
    if (!tern_base_covers(tern_link_part_size(shape.part), offset, len))
        return tern_api_outside(shape.part, c->rank, offset, len, c->what);
    if ((st = tern_api_alive(c->ctx, c->rank, c->what)) < 0)
        return st;
    stride.total = stride.run = len;
    stride.remote = stride.local = 0;
    stride.dims = 0;
    shape.total = len;
    shape.stride = &stride;
    shape.local_first = (uint64_t)(uintptr_t)local;
    shape.remote_first = offset;
    return tern_api_shape_go(c, &shape);
}

/* ---- the calls ---- */

tern_status tern_acc(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src, size_t len,
                     const tern_acc_args *args)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_acc");

    if (use.status < 0)
        return use.status;

    struct tern_api_call call = { .ctx = ctx, .region = region, .rank = rank, .what = "tern_acc" };
    tern_status          st = blocking(&call, args, false);

    return st < 0 ? st : piece(&call, offset, src, len);
}

tern_status tern_acc_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, const void *src, size_t len,
                          const tern_opts *opts)
{
    TERN_API_USE use = tern_api_use(ctx, tern_api_use_name(opts, "tern_acc_with", "tern_acc_with"));

    if (use.status < 0)
        return use.status;

    struct tern_api_call call = { .ctx = ctx, .region = region, .rank = rank, .what = "tern_acc_with" };
    struct tern_api_opts o;
    tern_status          st = with(&call, opts, false, &o);

    return st < 0 ? st : piece(&call, offset, src, len);
}

tern_status tern_get_acc(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *buffer, size_t len,
                         const tern_acc_args *args)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_get_acc");

    if (use.status < 0)
        return use.status;

    struct tern_api_call call = { .ctx = ctx, .region = region, .rank = rank, .what = "tern_get_acc" };
    tern_status          st = blocking(&call, args, true);

    return st < 0 ? st : piece(&call, offset, buffer, len);
}

tern_status tern_get_acc_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, void *buffer, size_t len,
                              const tern_opts *opts)
{
    TERN_API_USE use = tern_api_use(ctx, tern_api_use_name(opts, "tern_get_acc_with", "tern_get_acc_with"));

    if (use.status < 0)
        return use.status;

    struct tern_api_call call = { .ctx = ctx, .region = region, .rank = rank, .what = "tern_get_acc_with" };
    struct tern_api_opts o;
    tern_status          st = with(&call, opts, true, &o);

    return st < 0 ? st : piece(&call, offset, buffer, len);
}

tern_status tern_acc_vector(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                            const tern_acc_args *args)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_acc_vector");

    if (use.status < 0)
        return use.status;

    struct tern_api_call call = { .ctx = ctx, .region = region, .rank = rank, .what = "tern_acc_vector" };
    tern_status          st = blocking(&call, args, false);

    return st < 0 ? st : tern_api_vector(&call, vector);
}

tern_status tern_acc_vector_with(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                 const tern_opts *opts)
{
    TERN_API_USE use = tern_api_use(ctx, tern_api_use_name(opts, "tern_acc_vector_with", "tern_acc_vector_with"));

    if (use.status < 0)
        return use.status;

    struct tern_api_call call = { .ctx = ctx, .region = region, .rank = rank, .what = "tern_acc_vector_with" };
    struct tern_api_opts o;
    tern_status          st = with(&call, opts, false, &o);

    return st < 0 ? st : tern_api_vector(&call, vector);
}

tern_status tern_acc_indexed(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                             const tern_acc_args *args)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_acc_indexed");

    if (use.status < 0)
        return use.status;

    struct tern_api_call call = { .ctx = ctx, .region = region, .rank = rank, .what = "tern_acc_indexed" };
    tern_status          st = blocking(&call, args, false);

    return st < 0 ? st : tern_api_indexed(&call, indexed);
}

tern_status tern_acc_indexed_with(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                  const tern_opts *opts)
{
    TERN_API_USE use = tern_api_use(ctx, tern_api_use_name(opts, "tern_acc_indexed_with", "tern_acc_indexed_with"));

    if (use.status < 0)
        return use.status;

    struct tern_api_call call = { .ctx = ctx, .region = region, .rank = rank, .what = "tern_acc_indexed_with" };
    struct tern_api_opts o;
    tern_status          st = with(&call, opts, false, &o);

    return st < 0 ? st : tern_api_indexed(&call, indexed);
}

tern_status tern_acc_strided(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                             const tern_acc_args *args)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_acc_strided");

    if (use.status < 0)
        return use.status;

    struct tern_api_call call = { .ctx = ctx, .region = region, .rank = rank, .what = "tern_acc_strided" };
    tern_status          st = blocking(&call, args, false);

    return st < 0 ? st : tern_api_strided(&call, strided);
}

tern_status tern_acc_strided_with(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                  const tern_opts *opts)
{
    TERN_API_USE use = tern_api_use(ctx, tern_api_use_name(opts, "tern_acc_strided_with", "tern_acc_strided_with"));

    if (use.status < 0)
        return use.status;

    struct tern_api_call call = { .ctx = ctx, .region = region, .rank = rank, .what = "tern_acc_strided_with" };
    struct tern_api_opts o;
    tern_status          st = with(&call, opts, false, &o);

    return st < 0 ? st : tern_api_strided(&call, strided);
}

tern_status tern_get_acc_vector(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                const tern_acc_args *args)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_get_acc_vector");

    if (use.status < 0)
        return use.status;

    struct tern_api_call call = { .ctx = ctx, .region = region, .rank = rank, .what = "tern_get_acc_vector" };
    tern_status          st = blocking(&call, args, true);

    return st < 0 ? st : tern_api_vector(&call, vector);
}

tern_status tern_get_acc_vector_with(tern_ctx *ctx, tern_region *region, int rank, const tern_vector *vector,
                                     const tern_opts *opts)
{
    TERN_API_USE use =
        tern_api_use(ctx, tern_api_use_name(opts, "tern_get_acc_vector_with", "tern_get_acc_vector_with"));

    if (use.status < 0)
        return use.status;

    struct tern_api_call call = { .ctx = ctx, .region = region, .rank = rank, .what = "tern_get_acc_vector_with" };
    struct tern_api_opts o;
    tern_status          st = with(&call, opts, true, &o);

    return st < 0 ? st : tern_api_vector(&call, vector);
}

tern_status tern_get_acc_indexed(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                 const tern_acc_args *args)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_get_acc_indexed");

    if (use.status < 0)
        return use.status;

    struct tern_api_call call = { .ctx = ctx, .region = region, .rank = rank, .what = "tern_get_acc_indexed" };
    tern_status          st = blocking(&call, args, true);

    return st < 0 ? st : tern_api_indexed(&call, indexed);
}

tern_status tern_get_acc_indexed_with(tern_ctx *ctx, tern_region *region, int rank, const tern_indexed *indexed,
                                      const tern_opts *opts)
{
    TERN_API_USE use =
        tern_api_use(ctx, tern_api_use_name(opts, "tern_get_acc_indexed_with", "tern_get_acc_indexed_with"));

    if (use.status < 0)
        return use.status;

    struct tern_api_call call = { .ctx = ctx, .region = region, .rank = rank, .what = "tern_get_acc_indexed_with" };
    struct tern_api_opts o;
    tern_status          st = with(&call, opts, true, &o);

    return st < 0 ? st : tern_api_indexed(&call, indexed);
}

tern_status tern_get_acc_strided(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                 const tern_acc_args *args)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_get_acc_strided");

    if (use.status < 0)
        return use.status;

    struct tern_api_call call = { .ctx = ctx, .region = region, .rank = rank, .what = "tern_get_acc_strided" };
    tern_status          st = blocking(&call, args, true);

    return st < 0 ? st : tern_api_strided(&call, strided);
}

tern_status tern_get_acc_strided_with(tern_ctx *ctx, tern_region *region, int rank, const tern_strided *strided,
                                      const tern_opts *opts)
{
    TERN_API_USE use =
        tern_api_use(ctx, tern_api_use_name(opts, "tern_get_acc_strided_with", "tern_get_acc_strided_with"));

    if (use.status < 0)
        return use.status;

    struct tern_api_call call = { .ctx = ctx, .region = region, .rank = rank, .what = "tern_get_acc_strided_with" };
    struct tern_api_opts o;
    tern_status          st = with(&call, opts, true, &o);

    return st < 0 ? st : tern_api_strided(&call, strided);
}

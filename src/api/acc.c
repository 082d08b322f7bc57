/* acc.c: the public calls of tern/acc.h: check that all elements are whole, then proceed as for shapes. */
#include <tern/acc.h>
#include <tern/notify.h>

#include "api/shape.h"
#include "api/check.h"
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
                          c->what, (unsigned long long)offset, c->rank,
                          (unsigned long long)(shape->part->addr + offset), tern_acc_op_align(c->sum.type));
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

/* Fill in the operand and check the options. */
static tern_status check_call(struct tern_api_call *c, const tern_scale *scale, bool fetch)
{
    if (!scale)
        return tern_base_fail(TERN_ERR_ARG, "%s: scale is NULL", c->what);
    if ((unsigned)scale->type >= TERN_TYPES)
        return tern_base_fail(TERN_ERR_ARG, "%s: there is no type %d", c->what, (int)scale->type);
    c->adds = true;
    tern_op_acc_op_make(&c->sum, scale->type, scale->by, fetch);
    return c->checks_opts ? tern_api_opts(c->ctx, c->opts, c->what) : TERN_OK;
}

/* ---- contiguous ---- */

/* Run a contiguous accumulate: a strided shape without dimensions. */
static tern_status piece(const struct tern_api_call *c, uint64_t offset, const void *local, size_t len)
{
    struct tern_stride stride;
    struct tern_shape  shape;
    tern_status        st;

    if (!local && len > 0 && c->ctx && c->region)
        return tern_base_fail(TERN_ERR_ARG, "%s: the local buffer is NULL", c->what);
    if ((st = tern_api_part(c->ctx, c->region, c->rank, c->what, &shape.part)) < 0)
        return st;
    if (!tern_base_covers(shape.part->size, offset, len))
        return tern_base_fail(TERN_ERR_RANGE, "%s: %zu bytes at offset %llu do not lie in the %llu bytes of rank %d",
                              c->what, len, (unsigned long long)offset, (unsigned long long)shape.part->size, c->rank);
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

#define CALL(name, options)                                                                  \
    {                                                                                        \
        .ctx = ctx, .region = region, .rank = rank, .opts = (options), .what = "tern_" #name \
    }

/* The contiguous calls. */
#define PIECE(verb, buffer, fetch)                                                                                   \
    tern_status tern_##verb(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, buffer local, size_t len, \
                            const tern_scale *scale)                                                                 \
    {                                                                                                                \
        struct tern_api_call call = CALL(verb, &tern_op_blocking);                                                   \
        tern_status          st = check_call(&call, scale, fetch);                                                   \
                                                                                                                     \
        return st < 0 ? st : piece(&call, offset, local, len);                                                       \
    }                                                                                                                \
    tern_status tern_##verb##_notify(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, buffer local,    \
                                     size_t len, const tern_scale *scale, uint32_t tag)                              \
    {                                                                                                                \
        const tern_opts      opts = { .flags = TERN_NOTIFY | TERN_OP_BLOCKING, .tag = tag };                         \
        struct tern_api_call call = CALL(verb##_notify, &opts);                                                      \
        tern_status          st = check_call(&call, scale, fetch);                                                   \
                                                                                                                     \
        return st < 0 ? st : piece(&call, offset, local, len);                                                       \
    }                                                                                                                \
    tern_status tern_##verb##_with(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, buffer local,      \
                                   size_t len, const tern_scale *scale, const tern_opts *opts)                       \
    {                                                                                                                \
        const tern_opts      nbi = { 0 };                                                                            \
        struct tern_api_call call = CALL(verb, opts ? opts : &nbi);                                                  \
        tern_status          st;                                                                                     \
                                                                                                                     \
        call.checks_opts = true;                                                                                     \
        st = check_call(&call, scale, fetch);                                                                        \
        return st < 0 ? st : piece(&call, offset, local, len);                                                       \
    }
PIECE(acc, const void *, false)
PIECE(get_acc, void *, true)

/* The calls of one verb and shape. */
#define SHAPE(verb, shape, fetch)                                                                                      \
    tern_status tern_##verb##_##shape(tern_ctx *ctx, tern_region *region, int rank, const tern_##shape *description,   \
                                      const tern_scale *scale)                                                         \
    {                                                                                                                  \
        struct tern_api_call call = CALL(verb##_##shape, &tern_op_blocking);                                           \
        tern_status          st = check_call(&call, scale, fetch);                                                     \
                                                                                                                       \
        return st < 0 ? st : tern_api_##shape(&call, description);                                                     \
    }                                                                                                                  \
    tern_status tern_##verb##_##shape##_notify(tern_ctx *ctx, tern_region *region, int rank,                           \
                                               const tern_##shape *description, const tern_scale *scale, uint32_t tag) \
    {                                                                                                                  \
        const tern_opts      opts = { .flags = TERN_NOTIFY | TERN_OP_BLOCKING, .tag = tag };                           \
        struct tern_api_call call = CALL(verb##_##shape##_notify, &opts);                                              \
        tern_status          st = check_call(&call, scale, fetch);                                                     \
                                                                                                                       \
        return st < 0 ? st : tern_api_##shape(&call, description);                                                     \
    }                                                                                                                  \
    tern_status tern_##verb##_##shape##_with(tern_ctx *ctx, tern_region *region, int rank,                             \
                                             const tern_##shape *description, const tern_scale *scale,                 \
                                             const tern_opts *opts)                                                    \
    {                                                                                                                  \
        const tern_opts      nbi = { 0 };                                                                              \
        struct tern_api_call call = CALL(verb##_##shape, opts ? opts : &nbi);                                          \
        tern_status          st;                                                                                       \
                                                                                                                       \
        call.checks_opts = true;                                                                                       \
        st = check_call(&call, scale, fetch);                                                                          \
        return st < 0 ? st : tern_api_##shape(&call, description);                                                     \
    }
SHAPE(acc, vector, false)
SHAPE(get_acc, vector, true)
SHAPE(acc, indexed, false)
SHAPE(get_acc, indexed, true)
SHAPE(acc, strided, false)
SHAPE(get_acc, strided, true)

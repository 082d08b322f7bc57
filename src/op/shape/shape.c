/* shape.c: choosing the method for a noncontiguous transfer. See shape.h. */
#include "op/shape/shape.h"

#include "base/options.h"
#include "op/atomic/acc.h"
#include "op/shape/multi.h"

void tern_op_shape_layouts(struct tern_shape *shape, struct tern_layout_dim *local_dim,
                           struct tern_layout_dim *remote_dim)
{
    if (!shape->stride)
        return;
    tern_op_layout_local(&shape->local, shape->stride, shape->local_first, local_dim);
    tern_op_layout_remote(&shape->remote, shape->stride, shape->remote_first, remote_dim);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct tern_link_iov tern_op_shape_piece(const struct tern_shape *shape, struct tern_shape_cursors *cursors,
                                         uint64_t most)
{
    uint64_t local, remote, local_end, remote_end, len = 0, part;

    local = local_end = remote = remote_end = 0;
    do {
        uint64_t local_run = tern_op_layout_run(&shape->local, &cursors->local, &local_end);
        uint64_t remote_run = tern_op_layout_run(&shape->remote, &cursors->remote, &remote_end);

        if (len == 0)
            local = local_end, remote = remote_end;
        else if (local_end != local + len || remote_end != remote + len)
            break;
        part = least(least(local_run, remote_run), most - len);
        tern_op_layout_skip(&shape->local, &cursors->local, part);
        tern_op_layout_skip(&shape->remote, &cursors->remote, part);
        len += part;
    } while (len < most && cursors->remote.at < shape->total &&
             shape->local.kind != TERN_LAYOUT_STRIDED); /* strided layouts are already folded */
    return (struct tern_link_iov){ .offset = remote, .local = (void *)(uintptr_t)local, .len = (size_t)len };
}

/* Whether loads and stores reach the part. */
static inline bool is_direct(const struct tern_link_part *part)
{
    return part->path->instant && part->base;
}

static void do_direct(const struct tern_shape *shape)
{
    if (shape->accumulates)
        tern_op_acc_direct(shape);
    else
        tern_op_direct(shape);
}

static tern_status direct_start(struct tern_multi *m, struct tern_op *op, struct tern_shape_cursors *cursors)
{
    (void)op, (void)cursors;
    do_direct(&m->shape);
    return TERN_OK;
}

const struct tern_multi_method tern_op_method_direct = { .start = direct_start };

/* The length of a contiguous run; the average for lists. */
static uint64_t run_of(const struct tern_layout *side)
{
    return side->kind == TERN_LAYOUT_STRIDED ? side->run : side->total / side->count;
}

/* Choose the method of a transfer that loads and stores do not reach. */
static const struct tern_multi_method *choose_by_length(struct tern_shape *shape)
{
    struct tern_layout_dim local_dim[TERN_STRIDE_DIMS], remote_dim[TERN_STRIDE_DIMS];
    uint64_t               local, remote;

    tern_op_shape_layouts(shape, local_dim, remote_dim);
    local = run_of(&shape->local);
    remote = run_of(&shape->remote);
    if ((local > tern_opt.pack && remote > tern_opt.pack) || (local == shape->total && remote == shape->total))
        return &tern_op_method_pieces;
    if (remote > tern_opt.pack || remote == shape->total)
        return &tern_op_method_staged;
    return shape->part->path->prefers_packing ? &tern_op_method_packed : &tern_op_method_pieces;
}

static const struct tern_multi_method *choose(struct tern_shape *shape)
{
    const struct tern_link_path *path = shape->part->path;

    if (is_direct(shape->part))
        return &tern_op_method_direct;
    if (shape->accumulates) /* chaos delays direct access */
        return shape->part->base ? &tern_op_method_acc_visit : &tern_op_method_acc;
    return path->instant && path->iov ? &tern_op_method_iov : choose_by_length(shape);
}

tern_status tern_op_shape(struct tern_ctx *ctx, struct tern_shape *shape, const tern_opts *opts, const char *call)
{
    if (TERN_UNLIKELY(!is_direct(shape->part) || (opts->flags & TERN_NOTIFY) || tern_op_is_parked(opts) ||
                      tern_core_ctx_must_follow(ctx, shape->part->rank)))
        return tern_op_multi_go(ctx, shape, choose(shape), opts, call);
    do_direct(shape);
    tern_op_no_events(opts);
    return TERN_OK;
}

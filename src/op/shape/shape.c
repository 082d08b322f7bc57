/* shape.c: choosing the method for a noncontiguous transfer. See shape.h. */
#include "op/shape/shape.h"

#include "base/options.h"
#include "op/start.h"
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

struct shaped {
    struct tern_op_start attempt; /* must be first */
    struct tern_shape   *shape;
    struct tern_multi   *bundle; /* NULL: the path is instant */
};

/* Whether loads and stores reach the part. */
static inline bool is_direct(const struct tern_link_part *part)
{
    return part->path->instant && part->base;
}

static tern_status shape_start(struct tern_op_start *attempt)
{
    struct shaped *s = (struct shaped *)attempt;

    if (s->bundle)
        return tern_op_multi_first(s->bundle);
    if (!is_direct(attempt->part))
        return tern_op_iov(attempt->ctx, s->shape);
    tern_op_direct(s->shape);
    return TERN_OK;
}

/* The length of a contiguous run; the average for lists. */
static uint64_t run_of(const struct tern_layout *side)
{
    return side->kind == TERN_LAYOUT_STRIDED ? side->run : side->total / side->count;
}

static const struct tern_multi_method *choose(struct tern_shape *shape)
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

/* Start a transfer that does not take the fast path: it is not direct, has a notification, or must follow other
 * operations. */
static __attribute__((noinline)) tern_status start_any(struct tern_ctx *ctx, struct tern_shape *shape,
                                                       const tern_opts *opts, const char *what)
{
    const struct tern_link_path *path = shape->part->path;
    struct shaped                s = {
                       .attempt = { .ctx = ctx,
                                    .part = shape->part,
                                    .what = what,
                                    .len = shape->total,
                                    .notification = shape->notification,
                                    .notify_now = is_direct(shape->part) || (path->instant && path->start_iov),
                                    .start = shape_start },
                       .shape = shape,
    };
    tern_status st;

    if (!s.attempt.notify_now && !(s.bundle = tern_op_multi_make(ctx, shape, choose(shape))))
        return tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for one more operation under way", what);
    st = tern_op_start(&s.attempt, opts->flags);
    if (st == TERN_OK)
        tern_op_fill_events(opts, s.bundle ? s.bundle->compound.pending : NULL);
    if (st == TERN_OK && s.bundle)
        tern_op_multi_go(s.bundle);
    else if (s.bundle)
        tern_op_multi_free(s.bundle);
    return st;
}

tern_status tern_op_shape_start(struct tern_ctx *ctx, struct tern_shape *shape, const tern_opts *opts, const char *what)
{
    if (TERN_UNLIKELY(!is_direct(shape->part) || shape->notification ||
                      tern_core_ctx_must_follow(ctx, shape->part->rank)))
        return start_any(ctx, shape, opts, what);
    tern_op_direct(shape);
    tern_op_fill_events(opts, NULL);
    return TERN_OK;
}

tern_status tern_op_shape_run(struct tern_ctx *ctx, struct tern_shape *shape, const char *what)
{
    tern_event    event = TERN_EVENT_INIT;
    tern_opts     opts = { .event = &event };
    tern_deadline deadline;
    tern_status   st;

    if (TERN_LIKELY(is_direct(shape->part) && !shape->notification &&
                    !tern_core_ctx_must_follow(ctx, shape->part->rank))) {
        tern_op_direct(shape);
        return TERN_OK;
    }
    deadline = tern_core_ctx_deadline(ctx);
    st = start_any(ctx, shape, &opts, what);
    return st == TERN_OK ? tern_op_wait(ctx, shape->part, &event, deadline) : st;
}

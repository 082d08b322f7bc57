/* shape.c: choosing the method for a noncontiguous transfer, and keeping its transfers in flight. See shape.h. */
#include "op/shape/shape.h"

#include <string.h>

#include "base/options.h"
#include "core/job.h"
#include "op/atomic/acc.h"
#include "op/notify/signal.h"

void tern_op_shape_layouts(struct tern_shape *shape, struct tern_layout_dim *local_dim,
                           struct tern_layout_dim *remote_dim)
{
    if (!shape->stride)
        return;
    tern_op_layout_make(&shape->local, shape->stride, false, shape->local_first, local_dim);
    tern_op_layout_make(&shape->remote, shape->stride, true, shape->remote_first, remote_dim);
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
             shape->local.kind != TERN_LAYOUT_STRIDED); /* a strided layout is folded: its runs are not adjacent */
    return (struct tern_link_iov){ .offset = remote, .local = (void *)(uintptr_t)local, .len = (size_t)len };
}

/* ---- keeping the transfers of one operation in flight ---- */

/* Count the bytes of a transfer as copied, unless they were counted before: their source may be overwritten. */
static void count_copied(struct tern_multi *m, struct tern_op *transfer)
{
    if (!transfer->done)
        m->op.link.copied += transfer->link.xfer.len;
    transfer->done = true;
}

static tern_status start_one(struct tern_multi *m)
{
    struct tern_op           *transfer = tern_core_op_new(m->op.ctx, m->op.kind, m->op.call);
    struct tern_shape_cursors cursors = m->cursors;
    tern_status               st;

    if (!transfer)
        return tern_base_fail(TERN_ERR_NOMEM, "%s: out of memory for another outstanding transfer", m->op.call);
    transfer->parent = &m->op;
    st = m->method->start(m, transfer, &cursors);
    if (st == TERN_OK || st == TERN_PENDING)
        m->cursors = cursors;
    if (st == TERN_OK ||
        (st == TERN_PENDING && (m->method->copies_source || transfer->link.copied == transfer->link.xfer.len)))
        count_copied(m, transfer);
    if (st == TERN_PENDING) {
        tern_base_list_push(&m->transfers, &transfer->node);
        m->in_flight++;
    } else {
        tern_core_op_drop(transfer);
    }
    return st;
}

static void multi_ended(struct tern_op *op, struct tern_op *transfer, tern_status status)
{
    struct tern_multi *m = (struct tern_multi *)op;

    if (m->method->ended)
        m->method->ended(m, transfer, status);
    count_copied(m, transfer);
    tern_base_list_remove(&transfer->node);
    m->in_flight--;
    if (TERN_UNLIKELY(status < 0))
        tern_core_op_keep_reason(op);
    if (status < 0 && m->status == TERN_OK)
        m->status = status;
    m->stopped |= status < 0;
}

static void multi_advance(struct tern_op *op)
{
    struct tern_multi *m = (struct tern_multi *)op;
    tern_status        st = TERN_OK;

    while (!m->stopped && st != TERN_AGAIN && m->cursors.remote.at < m->shape.total && m->in_flight < m->method->most) {
        st = start_one(m);
        if (TERN_UNLIKELY(st < 0))
            tern_core_op_keep_reason(op);
        m->status = st < 0 ? st : m->status;
        m->stopped = st < 0;
    }
    if (m->in_flight == 0 && (m->stopped || m->cursors.remote.at == m->shape.total))
        tern_core_op_complete(op, m->status);
}

static void multi_cancel(struct tern_op *op)
{
    struct tern_multi *m = (struct tern_multi *)op;

    m->stopped = true;
    TERN_LIST_EACH(struct tern_op, transfer, &m->transfers, node)
        tern_core_op_cancel_transfer(transfer);
}

/* Start the first transfer; the context starts the others when it advances the operation. */
static tern_status multi_start(struct tern_op *op)
{
    tern_status st = start_one((struct tern_multi *)op);

    return st == TERN_OK ? TERN_PENDING : st;
}

static const struct tern_op_kind several = {
    .start = multi_start, .advance = multi_advance, .ended = multi_ended, .cancel = multi_cancel
};

static tern_status whole_start(struct tern_op *op)
{
    struct tern_multi *m = (struct tern_multi *)op;

    return m->method->start(m, op, &m->cursors);
}

static const struct tern_op_kind at_once = { .start = whole_start };

/* ---- creation ---- */

static void multi_init(struct tern_multi *m, const struct tern_shape *shape, const struct tern_multi_method *method)
{
    m->method = method;
    m->shape = *shape;
    m->cursors = (struct tern_shape_cursors){ { 0, 0, 0 }, { 0, 0, 0 } };
    tern_base_list_init(&m->transfers);
    m->in_flight = 0;
    m->stopped = false;
    m->status = TERN_OK;
    m->op.instant = method->most == 0;
    m->op.needs_target = shape->accumulates && !tern_link_loads(shape->part);
    m->op.link.xfer = (struct tern_xfer){ .part = shape->part,
                                          .len = shape->total,
                                          .get = shape->accumulates ? shape->acc.fetch : shape->get,
                                          .what = shape->accumulates ? "accumulate" : NULL };
}

/* Copy the list of a layout, which belongs to the application, to buf. Returns the end of the copy. */
static unsigned char *keep_list(struct tern_layout *layout, unsigned char *buf)
{
    size_t bytes = tern_op_layout_list_bytes(layout);

    memcpy(buf, layout->list, bytes);
    layout->list = buf;
    return buf + bytes;
}

/* Copy the lists or the stride of the shape, which belong to the application or to the public call. A stride becomes
 * two layouts, unless the start executes the whole operation. */
static void keep_description(struct tern_multi *m, unsigned char *buf)
{
    struct tern_shape        *shape = &m->shape;
    const struct tern_stride *stride = shape->stride;

    if (!stride) {
        keep_list(&shape->remote, keep_list(&shape->local, buf));
    } else if (m->op.instant) {
        memcpy(buf, stride, tern_op_stride_bytes(stride));
        shape->stride = (const struct tern_stride *)(const void *)buf;
    } else {
        struct tern_layout_dim *dim = (struct tern_layout_dim *)(void *)buf;

        tern_op_shape_layouts(shape, dim, dim + stride->dims);
        shape->stride = NULL;
    }
}

static struct tern_multi *multi_new(struct tern_ctx *ctx, const struct tern_shape *shape,
                                    const struct tern_multi_method *method, const tern_opts *opts, const char *call)
{
    const struct tern_stride *stride = shape->stride;
    size_t more = !stride ? tern_op_layout_list_bytes(&shape->local) + tern_op_layout_list_bytes(&shape->remote)
                  : method->most == 0 ? tern_op_stride_bytes(stride)
                                      : (size_t)2 * stride->dims * sizeof(struct tern_layout_dim);
    struct tern_multi *m = tern_op_new(ctx, sizeof(*m) + more, method->most == 0 ? &at_once : &several, opts, call);

    if (!m)
        return NULL;
    multi_init(m, shape, method);
    keep_description(m, (unsigned char *)(m + 1));
    return m;
}

/* Execute the shape by the method, as opts says. */
static tern_status multi_go(struct tern_ctx *ctx, const struct tern_shape *shape,
                            const struct tern_multi_method *method, const tern_opts *opts, const char *call)
{
    struct tern_multi now, *m = &now;

    if (method->most == 0 && !shape->signal && !tern_op_is_parked(opts)) {
        tern_core_op_init(&m->op, ctx, &at_once, call);
        multi_init(m, shape, method);
    } else if (!(m = multi_new(ctx, shape, method, opts, call))) {
        return TERN_ERR_NOMEM;
    }
    if (method->most > 0) /* for reports */
        tern_op_layout_run(&m->shape.remote, &m->cursors.remote, &m->op.link.xfer.offset);
    tern_op_then_notify(&m->op, shape->part, shape->total, opts);
    if (shape->signal)
        tern_op_then_signal(&m->op, shape->signal);
    return tern_op_go(&m->op, opts);
}

/* ---- the method "pieces": each contiguous piece is a transfer with a record of its own ---- */

static tern_status piece_start(struct tern_multi *m, struct tern_op *transfer, struct tern_shape_cursors *cursors)
{
    const struct tern_link_part *part = m->shape.part;
    struct tern_link_iov         piece = tern_op_shape_piece(&m->shape, cursors, UINT64_MAX);
    struct tern_xfer             xfer = {
                    .part = part, .offset = piece.offset, .local = piece.local, .len = piece.len, .get = m->shape.get
    };

    transfer->link.xfer = xfer;
    return part->path->start(m->op.ctx->lane[part->link], &xfer, &transfer->link);
}

static const struct tern_multi_method method_pieces = { .most = 16, .start = piece_start };

/* ---- the choice of the method ---- */

/* Return whether loads and stores reach the part. */
static inline bool is_direct(const struct tern_link_part *part)
{
    return part->path->instant && tern_link_loads(part);
}

static void do_direct(const struct tern_shape *shape)
{
    if (shape->accumulates)
        tern_op_acc_direct(shape);
    else
        tern_op_direct(shape);
    if (!shape->get)
        tern_link_written(shape->part);
}

static tern_status direct_start(struct tern_multi *m, struct tern_op *op, struct tern_shape_cursors *cursors)
{
    (void)op, (void)cursors;
    do_direct(&m->shape);
    return TERN_OK;
}

static const struct tern_multi_method method_direct = { .start = direct_start };

/* Return the length of a contiguous run; for lists, the average length. */
static uint64_t run_of(const struct tern_layout *side)
{
    return side->kind == TERN_LAYOUT_STRIDED ? side->run : side->total / side->count;
}

/* Choose the method of a transfer to a part that loads and stores do not reach. */
static const struct tern_multi_method *choose_by_length(struct tern_shape *shape)
{
    struct tern_layout_dim local_dim[TERN_STRIDE_DIMS], remote_dim[TERN_STRIDE_DIMS];
    uint64_t               local, remote;

    tern_op_shape_layouts(shape, local_dim, remote_dim);
    local = run_of(&shape->local);
    remote = run_of(&shape->remote);
    if ((local > tern_opt.pack && remote > tern_opt.pack) || (local == shape->total && remote == shape->total))
        return &method_pieces;
    if (remote > tern_opt.pack || remote == shape->total)
        return &tern_op_method_staged;
    return shape->part->path->prefers_packing ? &tern_op_method_packed : &method_pieces;
}

static const struct tern_multi_method *choose(struct tern_shape *shape)
{
    const struct tern_link_path *path = shape->part->path;

    if (is_direct(shape->part))
        return &method_direct;
    if (shape->accumulates) /* chaos delays direct access */
        return tern_link_loads(shape->part) ? &tern_op_method_acc_visit : &tern_op_method_packed;
    return path->instant && path->iov ? &tern_op_method_iov : choose_by_length(shape);
}

tern_status tern_op_shape(struct tern_ctx *ctx, struct tern_shape *shape, const tern_opts *opts, const char *call)
{
    shape->signal = NULL;
    if (TERN_UNLIKELY(!is_direct(shape->part) || (opts->flags & TERN_NOTIFY) || tern_op_is_parked(opts) ||
                      tern_core_ctx_must_follow(ctx, shape->part->rank)))
        return multi_go(ctx, shape, choose(shape), opts, call);
    do_direct(shape);
    tern_op_no_events(opts);
    return TERN_OK;
}

tern_status tern_op_shape_signal(struct tern_ctx *ctx, struct tern_shape *shape, const struct tern_op_atomic *signal,
                                 const tern_opts *opts, const char *call)
{
    shape->signal = signal;
    if (!is_direct(shape->part) || !is_direct(signal->part) || tern_op_is_parked(opts) ||
        tern_core_ctx_must_follow(ctx, shape->part->rank))
        return multi_go(ctx, shape, choose(shape), opts, call);
    do_direct(shape);
    tern_op_signal_now(signal);
    tern_op_no_events(opts);
    return TERN_OK;
}

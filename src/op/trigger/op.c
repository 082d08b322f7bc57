/* op.c: see op.h. */
#include "op/trigger/op.h"

#include <stdlib.h>
#include <string.h>

#include "core/region.h"
#include "op/atomic/acc.h"
#include "op/am/am.h"
#include "op/atomic/exec.h"
#include "op/start.h"
#include "op/contig.h"
#include "op/trigger/engine.h"
#include "op/notify/signal.h"

#define FLAGS (TERN_IMMEDIATE | TERN_OP_ONCE)

static struct tern_trigger_op *make(const tern_opts *opts, int rank, uint64_t bytes, const char *what, size_t more)
{
    struct tern_trigger_op *op = malloc(sizeof(*op) + more);

    if (!op)
        return NULL;
    memset(op, 0, sizeof(*op));
    op->armed.threshold = opts->threshold;
    op->when = opts->when;
    op->counter = opts->counter;
    op->flags = opts->flags;
    op->tag = opts->tag;
    op->bytes = bytes;
    op->rank = rank;
    op->what = what;
    op->silent = opts->event != NULL;
    return op;
}

/* The options for the start: with an event, and without waiting for space. */
static tern_opts opts_of(const struct tern_trigger_op *op, tern_event *event)
{
    return (tern_opts){ .flags = FLAGS | (op->flags & TERN_NOTIFY), .event = event, .tag = op->tag };
}

/* ---- contiguous transfers ---- */

static tern_status start_contig(struct tern_trigger_op *op, struct tern_ctx *ctx, tern_event *event)
{
    const tern_opts opts = opts_of(op, event);

    if (opts.flags & TERN_NOTIFY)
        return tern_op_contig_start_noted(ctx, &op->xfer, &opts, op->what);
    return op->xfer.len > 0 ? tern_op_contig_start(ctx, &op->xfer, &opts, op->what) : TERN_OK;
}

struct tern_trigger_op *tern_op_trigger_contig(const struct tern_xfer *xfer, const tern_opts *opts, const char *what)
{
    struct tern_trigger_op *op = make(opts, xfer->part->rank, xfer->len, what, 0);

    if (op) {
        op->xfer = *xfer;
        op->start = start_contig;
    }
    return op;
}

/* ---- shapes ---- */

static tern_status start_shape(struct tern_trigger_op *op, struct tern_ctx *ctx, tern_event *event)
{
    const tern_opts opts = opts_of(op, event);

    return tern_op_shape_start(ctx, &op->shape, &opts, op->what);
}

static tern_status start_acc(struct tern_trigger_op *op, struct tern_ctx *ctx, tern_event *event)
{
    const tern_opts opts = opts_of(op, event);

    return tern_op_acc_start(ctx, &op->shape, &opts, op->what);
}

/* The size of the part that is filled in. */
static size_t stride_bytes(const struct tern_stride *stride)
{
    return offsetof(struct tern_stride, dim) + stride->dims * sizeof(stride->dim[0]);
}

/* Copy the lists or strides, which belong to the program or to the public call. */
static void keep_description(struct tern_trigger_op *op, size_t local, size_t remote)
{
    struct tern_shape *shape = &op->shape;
    unsigned char     *room = (unsigned char *)(op + 1);

    if (shape->stride) {
        memcpy(room, shape->stride, stride_bytes(shape->stride));
        shape->stride = (const struct tern_stride *)(const void *)room;
        return;
    }
    memcpy(room, shape->local.list, local);
    memcpy(room + local, shape->remote.list, remote);
    shape->local.list = room;
    shape->remote.list = room + local;
}

struct tern_trigger_op *tern_op_trigger_shape(const struct tern_shape *shape, bool adds, const tern_opts *opts,
                                              const char *what)
{
    size_t                  local = shape->stride ? 0 : tern_op_layout_list_bytes(&shape->local);
    size_t                  remote = shape->stride ? 0 : tern_op_layout_list_bytes(&shape->remote);
    size_t                  more = shape->stride ? stride_bytes(shape->stride) : local + remote;
    struct tern_trigger_op *op = make(opts, shape->part->rank, shape->total, what, more);

    if (!op)
        return NULL;
    op->shape = *shape;
    keep_description(op, local, remote);
    if (shape->notification) {
        op->notification = *shape->notification;
        op->shape.notification = &op->notification;
    }
    op->start = adds ? start_acc : start_shape;
    return op;
}

/* ---- atomic operations ---- */

static tern_status start_atomic(struct tern_trigger_op *op, struct tern_ctx *ctx, tern_event *event)
{
    const tern_opts opts = opts_of(op, event);

    return tern_op_atomic_start(ctx, &op->atomic, &opts, op->what);
}

struct tern_trigger_op *tern_op_trigger_atomic(const struct tern_op_atomic *atomic, const tern_opts *opts,
                                               const char *what)
{
    struct tern_trigger_op *op = make(opts, atomic->part->rank, tern_op_exec_size(atomic->type), what, 0);

    if (!op)
        return NULL;
    op->atomic = *atomic;
    if (atomic->notification) {
        op->notification = *atomic->notification;
        op->atomic.notification = &op->notification;
    }
    op->start = start_atomic;
    return op;
}

/* ---- transfers with a signal ---- */

static tern_status start_signal(struct tern_trigger_op *op, struct tern_ctx *ctx, tern_event *event)
{
    const tern_opts opts = opts_of(op, event);

    return tern_op_signal_start(ctx, &op->xfer, &op->atomic, &opts, op->what);
}

struct tern_trigger_op *tern_op_trigger_signal(const struct tern_xfer *xfer, const struct tern_op_atomic *word,
                                               const tern_opts *opts, const char *what)
{
    struct tern_trigger_op *op = make(opts, word->part->rank, xfer->len, what, 0);

    if (op) {
        op->xfer = *xfer;
        op->atomic = *word;
        op->start = start_signal;
    }
    return op;
}

/* ---- active messages ---- */

/* Send the message whose payload is in place. Clears placed unless there is no space. */
static tern_status send_placed(struct tern_trigger_op *op, struct tern_ctx *ctx)
{
    tern_status st = tern_op_am_send_placed(ctx, op->rank, &op->am);

    op->placed = st == TERN_AGAIN;
    return st;
}

/* A message is complete when it has been sent. The payload of a long message may take longer, and is transferred
 * first. */
static tern_status start_am(struct tern_trigger_op *op, struct tern_ctx *ctx, tern_event *event)
{
    const tern_am               *am = &op->am;
    const tern_opts              opts = { .flags = FLAGS, .event = event };
    const struct tern_link_part *part = am->kind == TERN_AM_LONG ? &am->region->part[op->rank] : NULL;

    if (op->placed)
        return send_placed(op, ctx);
    if (part && am->len > 0 && !part->path->instant) {
        const struct tern_xfer xfer = {
            .part = part, .offset = am->offset, .local = (void *)(uintptr_t)am->payload, .len = am->len
        };
        tern_status st = tern_op_contig_start(ctx, &xfer, &opts, op->what);

        op->placed = st == TERN_OK;
        return st == TERN_OK && !event->pending ? send_placed(op, ctx) : st;
    }
    return tern_op_am_send(ctx, op->rank, am);
}

struct tern_trigger_op *tern_op_trigger_am(int peer, const tern_am *am, const tern_opts *opts)
{
    struct tern_trigger_op *op = make(opts, peer, am->len, "tern_am_request", 0);

    if (!op)
        return NULL;
    op->am = *am;
    op->am.flags = TERN_IMMEDIATE;
    op->am.local = NULL;
    if (am->nargs > 0)
        memcpy(op->args, am->args, am->nargs * sizeof(*am->args));
    op->am.args = op->args;
    op->start = start_am;
    return op;
}

bool tern_op_trigger_continues(struct tern_trigger_op *op, tern_status status)
{
    return status == TERN_OK && op->placed;
}

/* ---- counter additions and watches ---- */

static tern_status start_add(struct tern_trigger_op *op, struct tern_ctx *ctx, tern_event *event)
{
    (void)ctx;
    (void)event;
    return tern_op_engine_add(op->target, op->value);
}

struct tern_trigger_op *tern_op_trigger_add(struct tern_counter *target, uint64_t value, const tern_opts *opts)
{
    struct tern_trigger_op *op = make(opts, -1, 0, "tern_counter_add", 0);

    if (!op)
        return NULL;
    op->target = target;
    op->value = value;
    op->start = start_add;
    return op;
}

static tern_status start_nothing(struct tern_trigger_op *op, struct tern_ctx *ctx, tern_event *event)
{
    (void)op;
    (void)ctx;
    (void)event;
    return TERN_OK;
}

struct tern_trigger_op *tern_op_trigger_watch(const tern_opts *opts)
{
    struct tern_trigger_op *op = make(opts, -1, 0, "tern_counter_event", 0);

    if (!op)
        return NULL;
    op->watch = true;
    op->start = start_nothing;
    return op;
}

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
    struct tern_trigger_op *later = malloc(sizeof(*later) + more);

    if (!later)
        return NULL;
    memset(later, 0, sizeof(*later));
    later->armed.threshold = opts->threshold;
    later->when = opts->when;
    later->counter = opts->counter;
    later->flags = opts->flags;
    later->tag = opts->tag;
    later->bytes = bytes;
    later->rank = rank;
    later->what = what;
    later->silent = opts->event != NULL;
    return later;
}

/* The options for the start: with an event, and without waiting for space. */
static tern_opts opts_of(const struct tern_trigger_op *later, tern_event *event)
{
    return (tern_opts){ .flags = FLAGS | (later->flags & TERN_NOTIFY), .event = event, .tag = later->tag };
}

/* ---- contiguous transfers ---- */

static tern_status start_contig(struct tern_trigger_op *later, struct tern_ctx *ctx, tern_event *event)
{
    const tern_opts opts = opts_of(later, event);

    if (opts.flags & TERN_NOTIFY)
        return tern_op_contig_start_noted(ctx, &later->xfer, &opts, later->what);
    return later->xfer.len > 0 ? tern_op_contig_start(ctx, &later->xfer, &opts, later->what) : TERN_OK;
}

struct tern_trigger_op *tern_op_trigger_contig(const struct tern_xfer *xfer, const tern_opts *opts, const char *what)
{
    struct tern_trigger_op *later = make(opts, xfer->part->rank, xfer->len, what, 0);

    if (later) {
        later->xfer = *xfer;
        later->start = start_contig;
    }
    return later;
}

/* ---- shapes ---- */

static tern_status start_shape(struct tern_trigger_op *later, struct tern_ctx *ctx, tern_event *event)
{
    const tern_opts opts = opts_of(later, event);

    return tern_op_shape_start(ctx, &later->shape, &opts, later->what);
}

static tern_status start_acc(struct tern_trigger_op *later, struct tern_ctx *ctx, tern_event *event)
{
    const tern_opts opts = opts_of(later, event);

    return tern_op_acc_start(ctx, &later->shape, &opts, later->what);
}

/* The size of the part that is filled in. */
static size_t stride_bytes(const struct tern_stride *stride)
{
    return offsetof(struct tern_stride, dim) + stride->dims * sizeof(stride->dim[0]);
}

/* Copy the lists or strides, which belong to the program or to the public call. */
static void keep_description(struct tern_trigger_op *later, size_t near, size_t far)
{
    struct tern_shape *shape = &later->shape;
    unsigned char     *room = (unsigned char *)(later + 1);

    if (shape->stride) {
        memcpy(room, shape->stride, stride_bytes(shape->stride));
        shape->stride = (const struct tern_stride *)(const void *)room;
        return;
    }
    memcpy(room, shape->local.list, near);
    memcpy(room + near, shape->remote.list, far);
    shape->local.list = room;
    shape->remote.list = room + near;
}

struct tern_trigger_op *tern_op_trigger_shape(const struct tern_shape *shape, bool adds, const tern_opts *opts,
                                              const char *what)
{
    size_t                  near = shape->stride ? 0 : tern_op_layout_list_bytes(&shape->local);
    size_t                  far = shape->stride ? 0 : tern_op_layout_list_bytes(&shape->remote);
    size_t                  more = shape->stride ? stride_bytes(shape->stride) : near + far;
    struct tern_trigger_op *later = make(opts, shape->part->rank, shape->total, what, more);

    if (!later)
        return NULL;
    later->shape = *shape;
    keep_description(later, near, far);
    if (shape->notification) {
        later->notification = *shape->notification;
        later->shape.notification = &later->notification;
    }
    later->start = adds ? start_acc : start_shape;
    return later;
}

/* ---- atomic operations ---- */

static tern_status start_atomic(struct tern_trigger_op *later, struct tern_ctx *ctx, tern_event *event)
{
    const tern_opts opts = opts_of(later, event);

    return tern_op_atomic_start(ctx, &later->atomic, &opts, later->what);
}

struct tern_trigger_op *tern_op_trigger_atomic(const struct tern_op_atomic *atomic, const tern_opts *opts,
                                               const char *what)
{
    struct tern_trigger_op *later = make(opts, atomic->part->rank, tern_op_exec_size(atomic->type), what, 0);

    if (!later)
        return NULL;
    later->atomic = *atomic;
    if (atomic->notification) {
        later->notification = *atomic->notification;
        later->atomic.notification = &later->notification;
    }
    later->start = start_atomic;
    return later;
}

/* ---- transfers with a signal ---- */

static tern_status start_signal(struct tern_trigger_op *later, struct tern_ctx *ctx, tern_event *event)
{
    const tern_opts opts = opts_of(later, event);

    return tern_op_signal_start(ctx, &later->xfer, &later->atomic, &opts, later->what);
}

struct tern_trigger_op *tern_op_trigger_signal(const struct tern_xfer *xfer, const struct tern_op_atomic *word,
                                               const tern_opts *opts, const char *what)
{
    struct tern_trigger_op *later = make(opts, word->part->rank, xfer->len, what, 0);

    if (later) {
        later->xfer = *xfer;
        later->atomic = *word;
        later->start = start_signal;
    }
    return later;
}

/* ---- active messages ---- */

/* Send the message whose payload is in place. Clears placed unless there is no space. */
static tern_status send_placed(struct tern_trigger_op *later, struct tern_ctx *ctx)
{
    tern_status st = tern_op_am_send_placed(ctx, later->rank, &later->am);

    later->placed = st == TERN_AGAIN;
    return st;
}

/* A message is complete when it has been sent. The payload of a long message may take longer, and is transferred
 * first. */
static tern_status start_am(struct tern_trigger_op *later, struct tern_ctx *ctx, tern_event *event)
{
    const tern_am               *am = &later->am;
    const tern_opts              opts = { .flags = FLAGS, .event = event };
    const struct tern_link_part *part = am->kind == TERN_AM_LONG ? &am->region->part[later->rank] : NULL;

    if (later->placed)
        return send_placed(later, ctx);
    if (part && am->len > 0 && !part->path->instant) {
        const struct tern_xfer xfer = {
            .part = part, .offset = am->offset, .local = (void *)(uintptr_t)am->payload, .len = am->len
        };
        tern_status st = tern_op_contig_start(ctx, &xfer, &opts, later->what);

        later->placed = st == TERN_OK;
        return st == TERN_OK && !event->pending ? send_placed(later, ctx) : st;
    }
    return tern_op_am_send(ctx, later->rank, am);
}

struct tern_trigger_op *tern_op_trigger_am(int peer, const tern_am *am, const tern_opts *opts)
{
    struct tern_trigger_op *later = make(opts, peer, am->len, "tern_am_request", 0);

    if (!later)
        return NULL;
    later->am = *am;
    later->am.flags = TERN_IMMEDIATE;
    later->am.local = NULL;
    if (am->nargs > 0)
        memcpy(later->args, am->args, am->nargs * sizeof(*am->args));
    later->am.args = later->args;
    later->start = start_am;
    return later;
}

bool tern_op_trigger_continues(struct tern_trigger_op *later, tern_status status)
{
    return status == TERN_OK && later->placed;
}

/* ---- counter additions and watches ---- */

static tern_status start_add(struct tern_trigger_op *later, struct tern_ctx *ctx, tern_event *event)
{
    (void)ctx;
    (void)event;
    return tern_op_engine_add(later->target, later->value);
}

struct tern_trigger_op *tern_op_trigger_add(struct tern_counter *target, uint64_t value, const tern_opts *opts)
{
    struct tern_trigger_op *later = make(opts, -1, 0, "tern_counter_add", 0);

    if (!later)
        return NULL;
    later->target = target;
    later->value = value;
    later->start = start_add;
    return later;
}

static tern_status start_nothing(struct tern_trigger_op *later, struct tern_ctx *ctx, tern_event *event)
{
    (void)later;
    (void)ctx;
    (void)event;
    return TERN_OK;
}

struct tern_trigger_op *tern_op_trigger_watch(const tern_opts *opts)
{
    struct tern_trigger_op *later = make(opts, -1, 0, "tern_counter_event", 0);

    if (!later)
        return NULL;
    later->watch = true;
    later->start = start_nothing;
    return later;
}

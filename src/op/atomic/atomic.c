/* atomic.c: see atomic.h. An operation that is not executed within the call has a record of the context, which
 * stores the operation: the operand has been read when the call returns, and the result is written when the response
 * arrives. */
#include "op/atomic/atomic.h"

#include <string.h>

#include "base/bits.h"
#include "base/float.h"
#include "base/read_once.h"
#include "core/job.h"
#include "op/atomic/exec.h"
#include "op/start.h"
#include "op/notify/two_step.h"
#include "op/notify/signal.h"

/* The operation as it is stored in the scratch words of a record. The record's stage points to the result. */
struct kept {
    uint64_t operand, compare;
    uint32_t op;
    uint32_t type;
};
_Static_assert(sizeof(struct kept) == sizeof(((struct tern_pending *)0)->scratch),
               "a record's notes hold an operation");

struct atomic {
    struct tern_op_start         attempt; /* must be first */
    const struct tern_op_atomic *what;
    struct tern_pending         *pending;
};

static void give_result(void *result, uint64_t value, tern_type type)
{
    if (result)
        memcpy(result, &value, tern_op_exec_size(type)); /* little-endian: the lower half comes first */
}

/* Whether the operation can be executed within the call: loads and stores reach the part, there is no notification,
 * and no earlier operation has to complete first. */
static inline bool is_at_once(const struct tern_ctx *ctx, const struct tern_op_atomic *a)
{
    return !a->network && a->part->base && a->part->path->instant && !a->notification &&
           !tern_core_ctx_must_follow(ctx, a->part->rank);
}

static void do_it(const struct tern_op_atomic *a)
{
    give_result(a->result, tern_op_exec(a->part->base + a->offset, a->type, a->op, a->operand, a->compare), a->type);
}

/* ---- starting ---- */

/* Visit callback of a path that delays direct access: executes the operation in the record. */
static void visit(const struct tern_xfer *xfer, unsigned char *there)
{
    const struct tern_pending *pending = xfer->local;
    struct kept                k;

    memcpy(&k, pending->scratch, sizeof(k));
    give_result(pending->stage, tern_op_exec(there, (tern_type)k.type, k.op, k.operand, k.compare), (tern_type)k.type);
}

/* Store the old value from the response. */
static void take_response(struct tern_link_op *op, const unsigned char *bytes, size_t len)
{
    if (len == op->xfer.len)
        memcpy(((struct tern_pending *)op)->stage, bytes, len);
}

static tern_status start_rpc(struct atomic *a, const struct tern_xfer *xfer)
{
    const struct tern_op_atomic *what = a->what;
    const struct tern_link_ops  *ops = tern_job.ops[what->part->link];
    struct tern_lane            *lane = a->attempt.ctx->lane[what->part->link];
    struct tern_link_op         *op = &a->pending->op;
    struct wire_atomic           request = { .verb = WIRE_ATOMIC,
                                             .type = (uint8_t)what->type,
                                             .op = what->op,
                                             .offset = what->offset,
                                             .operand = what->operand,
                                             .compare = what->compare };
    tern_status                  st = ops->rpc_open(lane, xfer, op);

    if (st != TERN_OK)
        return st;
    memcpy(op->rpc_buf, &request, sizeof(request));
    op->on_response = what->result ? take_response : NULL;
    ops->rpc_send(lane, op, sizeof(request), what->result ? xfer->len : 0);
    return TERN_PENDING;
}

/* Start the operation with the network's own atomics. */
static tern_status start_network(struct atomic *a, const struct tern_xfer *xfer)
{
    const struct tern_op_atomic  *what = a->what;
    const struct tern_link_atomic network = { .xfer = *xfer,
                                              .type = what->type,
                                              .op = what->op,
                                              .operand = what->operand,
                                              .compare = what->compare,
                                              .on_result = what->result ? take_response : NULL };

    return tern_job.ops[what->part->link]->atomic_start(a->attempt.ctx->lane[what->part->link], &network,
                                                        &a->pending->op);
}

static tern_status atomic_start(struct tern_op_start *attempt)
{
    struct atomic               *a = (struct atomic *)attempt;
    const struct tern_op_atomic *what = a->what;
    struct tern_xfer             xfer = { .part = what->part,
                                          .offset = what->offset,
                                          .local = a->pending,
                                          .len = tern_op_exec_size(what->type),
                                          .get = what->result != NULL,
                                          .small_rpc = true,
                                          .what = "atomic operation",
                                          .visit = visit };

    if (attempt->notify_now) {
        do_it(what);
        return TERN_OK;
    }
    a->pending->op.xfer = xfer; /* for a start that completes at once */
    if (what->network)
        return start_network(a, &xfer);
    if (what->part->base)
        return what->part->path->start(attempt->ctx->lane[what->part->link], &xfer, &a->pending->op);
    return start_rpc(a, &xfer);
}

/* Store the operation in the record. */
static void keep(struct tern_pending *pending, const struct tern_op_atomic *what)
{
    const struct kept k = { what->operand, what->compare, what->op, (uint32_t)what->type };

    memcpy(pending->scratch, &k, sizeof(k));
    pending->stage = what->result;
}

static tern_status nobody(const struct tern_op_atomic *what, const char *call)
{
    return tern_base_fail(TERN_ERR_STATE,
                          "%s: nobody does atomic operations on the part of rank %d, which is reached through %s", call,
                          what->part->rank, what->part->path->name);
}

tern_status tern_op_atomic_step(struct tern_ctx *ctx, const struct tern_op_atomic *what, struct tern_pending *pending)
{
    struct atomic a = { .attempt = { .ctx = ctx, .notify_now = what->part->base && what->part->path->instant },
                        .what = what,
                        .pending = pending };

    if (!what->part->base && !what->part->path->rpc)
        return nobody(what, "a signal");
    keep(pending, what);
    return atomic_start(&a.attempt);
}

/* Enlist or drop the record after a start that returned st, and fill in the events. */
static tern_status end_plain(struct tern_pending *pending, const tern_opts *opts, tern_status st)
{
    if (st == TERN_PENDING) {
        tern_op_fill_events(opts, pending);
        tern_core_pending_enlist(pending);
        return TERN_OK;
    }
    tern_core_pending_drop(pending);
    if (st == TERN_OK)
        tern_op_fill_events(opts, NULL);
    return st;
}

/* Start an operation that cannot be executed within the call. */
static __attribute__((noinline)) tern_status start_any(struct tern_ctx *ctx, const struct tern_op_atomic *what,
                                                       const tern_opts *opts, const char *call)
{
    struct atomic a = {
        .attempt = { .ctx = ctx,
                     .part = what->part,
                     .what = call,
                     .len = tern_op_exec_size(what->type),
                     .notification = what->notification,
                     .notify_now =
                         what->notification && !what->network && what->part->base && what->part->path->instant,
                     .start = atomic_start,
                     .needs_target = !what->part->base },
        .what = what,
    };
    struct tern_two_step *two_step = NULL;
    tern_status           st;

    if (!what->network && !what->part->base && !what->part->path->rpc)
        return nobody(what, call);
    if (what->notification && !a.attempt.notify_now)
        a.pending = (two_step = tern_op_two_step_new(ctx, what->notification)) ? two_step->transfer : NULL;
    else
        a.pending = tern_core_pending_new(ctx);
    if (!a.pending)
        return tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for one more operation under way", call);
    keep(a.pending, what);
    st = tern_op_start(&a.attempt, opts->flags);
    return two_step ? tern_op_two_step_go(two_step, opts, st) : end_plain(a.pending, opts, st);
}

/* Complete all outstanding operations of the context before the atomic operation (TERN_RELEASE). Returns TERN_AGAIN
 * if the flags forbid waiting and operations are outstanding. */
static tern_status release(struct tern_ctx *ctx, uint32_t flags, const char *call)
{
    if (!tern_core_ctx_is_busy(ctx))
        return TERN_OK;
    if (!(flags & TERN_IMMEDIATE))
        return tern_core_ctx_drain(ctx, tern_core_ctx_deadline(ctx), call);
    return tern_core_ctx_flush(ctx) ? TERN_OK : TERN_AGAIN;
}

tern_status tern_op_atomic_start(struct tern_ctx *ctx, const struct tern_op_atomic *atomic, const tern_opts *opts,
                                 const char *what)
{
    tern_opts   events = { .flags = opts->flags, .event = opts->event };
    tern_status st = opts->flags & TERN_RELEASE ? release(ctx, opts->flags, what) : TERN_OK;

    if (st != TERN_OK)
        return st;
    if (is_at_once(ctx, atomic)) {
        do_it(atomic);
        tern_op_fill_events(&events, NULL);
    } else {
        st = start_any(ctx, atomic, &events, what);
    }
    if (st == TERN_OK && opts->local)
        *opts->local = TERN_EVENT_INIT; /* the operand has been read */
    return st;
}

tern_status tern_op_atomic_run(struct tern_ctx *ctx, const struct tern_op_atomic *atomic, const char *what)
{
    tern_event    event = TERN_EVENT_INIT;
    tern_opts     opts = { .event = &event };
    tern_deadline deadline;
    tern_status   st;

    if (TERN_LIKELY(is_at_once(ctx, atomic))) {
        do_it(atomic);
        return TERN_OK;
    }
    deadline = tern_core_ctx_deadline(ctx);
    /* release, and acquire below: this thread's stores before the operation, its loads after it. Pairs with the
     * thread that executes the operation at the target. */
    atomic_thread_fence(memory_order_release);
    st = start_any(ctx, atomic, &opts, what);
    if (st == TERN_OK)
        st = tern_op_wait(ctx, atomic->part, &event, deadline);
    atomic_thread_fence(memory_order_acquire);
    return st;
}

/* ---- target ---- */

/* Whether a request is valid. The sender is not trusted, so w is a private copy. */
static bool is_sound(const struct wire_atomic *w, const struct tern_target_mem *target)
{
    size_t size;

    if (w->verb != WIRE_ATOMIC || w->zero != 0 || !tern_op_exec_supports(w->type, w->op))
        return false;
    size = tern_op_exec_size((tern_type)w->type);
    return tern_base_covers(target->size, w->offset, size) && ((uintptr_t)target->base + w->offset) % size == 0 &&
           (!target->is_mapped || target->is_mapped(target->base + w->offset, size, w->op != TERN_ATOMIC_GET));
}

tern_status tern_op_atomic_rpc(const struct tern_target_mem *target, const unsigned char *request, size_t len,
                               unsigned char *response, size_t room, size_t *response_len)
{
    struct wire_atomic w;
    uint64_t           was, mode;

    if (len != sizeof(w))
        return TERN_ERR_LINK;
    tern_base_copy_once(&w, request, sizeof(w));
    if (!is_sound(&w, target))
        return TERN_ERR_LINK;
    mode = tern_base_float_enter();
    was = tern_op_exec(target->base + w.offset, (tern_type)w.type, w.op, w.operand, w.compare);
    tern_base_float_leave(mode);
    if (w.op != TERN_ATOMIC_GET)
        tern_op_signal_wake(tern_job.boot.rank); /* the value may be a signal */
    if (room < tern_op_exec_size((tern_type)w.type))
        return TERN_OK; /* the initiator does not want the old value */
    *response_len = tern_op_exec_size((tern_type)w.type);
    memcpy(response, &was, *response_len);
    return TERN_OK;
}

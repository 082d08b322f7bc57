/* atomic.c: see atomic.h. If an operation is not executed within the call, its operands are stored in the operation
 * object. So the caller's operand has been read when the call returns. The result is written when the response
 * arrives. */
#include "op/atomic/atomic.h"

#include <string.h>

#include "base/bits.h"
#include "base/float.h"
#include "base/read_once.h"
#include "core/job.h"
#include "core/quiet.h"
#include "core/shared.h"
#include "op/atomic/exec.h"
#include "op/notify/signal.h"

static void give_result(void *result, uint64_t value, tern_type type)
{
    if (result)
        tern_op_exec_copy(result, &value, tern_op_exec_size(type)); /* little-endian: the lower bytes come first */
}

/* Return whether the CPU can execute the operation on the part. */
static inline bool is_direct(const struct tern_op_atomic *a)
{
    return !a->network && tern_link_loads(a->part) && a->part->path->instant;
}

static void execute(const struct tern_op_atomic *a)
{
    give_result(a->result, tern_op_exec(a->part->base + a->offset, a->type, a->op, a->operand, a->compare), a->type);
    tern_link_written(a->part);
}

/* ---- starting ---- */

/* Execute the operation that is stored in an operation object, on memory that loads and stores reach. */
static void execute_stored(const struct tern_op *op, unsigned char *there)
{
    const struct tern_op_operands *k = &op->operands;

    give_result(op->data, tern_op_exec(there, (tern_type)k->type, k->op, k->operand, k->compare), (tern_type)k->type);
}

/* The function that a path with delayed direct access calls when the memory may be accessed. */
static void visit(const struct tern_xfer *xfer, unsigned char *there)
{
    execute_stored(xfer->local, there);
}

/* Store the old value from the response. */
static void take_response(struct tern_link_op *link, const unsigned char *bytes, size_t len)
{
    if (len == link->xfer.len)
        memcpy(((struct tern_op *)link)->data, bytes, len);
}

static tern_status start_rpc(struct tern_op *op)
{
    const struct tern_xfer         xfer = op->link.xfer;
    const struct tern_op_operands *k = &op->operands;
    const struct wire_atomic       request = { .verb = WIRE_ATOMIC,
                                               .type = (uint8_t)k->type,
                                               .op = k->op,
                                               .offset = xfer.offset,
                                               .operand = k->operand,
                                               .compare = k->compare };

    if (tern_link_loads(xfer.part))
        return xfer.part->path->start(op->ctx->lane[xfer.part->link], &xfer, &op->link);
    return tern_op_rpc_start(op, &request, sizeof(request), 0, op->data ? take_response : NULL,
                             op->data ? xfer.len : 0);
}

/* Start the operation with the network's own atomics. */
static tern_status start_network(struct tern_op *op)
{
    const struct tern_op_operands *k = &op->operands;
    const struct tern_link_atomic  network = { .xfer = op->link.xfer,
                                               .type = k->type,
                                               .op = k->op,
                                               .operand = k->operand,
                                               .compare = k->compare,
                                               .on_result = op->data ? take_response : NULL };
    unsigned                       link = op->link.xfer.part->link;

    return tern_job.ops[link]->atomic->start(op->ctx->lane[link], &network, &op->link);
}

static tern_status start_direct(struct tern_op *op)
{
    execute_stored(op, op->link.xfer.part->base + op->link.xfer.offset);
    tern_link_written(op->link.xfer.part);
    return TERN_OK;
}

static const struct tern_op_kind direct_kind = { .start = start_direct }, rpc_kind = { .start = start_rpc },
                                 network_kind = { .start = start_network };

static const struct tern_op_kind *kind_of(const struct tern_op_atomic *a)
{
    return a->network ? &network_kind : is_direct(a) ? &direct_kind : &rpc_kind;
}

/* Store the operation in the object, whose data points to the result. */
static void store(struct tern_op *op, const struct tern_op_atomic *a)
{
    op->operands = (struct tern_op_operands){ a->operand, a->compare, a->op, (uint32_t)a->type };
    op->data = a->result;
    op->link.xfer = (struct tern_xfer){ .part = a->part,
                                        .offset = a->offset,
                                        .local = op,
                                        .len = tern_op_exec_size(a->type),
                                        .get = a->result != NULL,
                                        .small_rpc = true,
                                        .what = "atomic operation",
                                        .visit = visit };
}

static tern_status check_served(const struct tern_op_atomic *a, const char *call)
{
    if (a->network || tern_link_loads(a->part) || a->part->path->rpc)
        return TERN_OK;
    return tern_base_fail(TERN_ERR_STATE,
                          "%s: no process executes atomic operations on the part of rank %d, which is reached "
                          "through %s",
                          call, a->part->rank, a->part->path->name);
}

tern_status tern_op_atomic_step(struct tern_op *op, const struct tern_op_atomic *atomic)
{
    tern_status st = check_served(atomic, op->call);

    if (st < 0)
        return st;
    store(op, atomic);
    return kind_of(atomic)->start(op);
}

/* Start an operation that needs an operation object. */
static __attribute__((noinline)) tern_status start_any(struct tern_ctx *ctx, const struct tern_op_atomic *atomic,
                                                       const struct tern_link_part *home, const tern_opts *opts,
                                                       const char *call)
{
    bool           on_stack = is_direct(atomic) && !tern_op_is_parked(opts);
    struct tern_op now, *op = &now;
    tern_status    st = check_served(atomic, call);

    if (st < 0)
        return st;
    if (on_stack)
        tern_core_op_init(op, ctx, kind_of(atomic), call);
    else if (!(op = tern_op_new(ctx, sizeof(*op), kind_of(atomic), opts, call)))
        return TERN_ERR_NOMEM;
    store(op, atomic);
    op->instant = is_direct(atomic);
    op->needs_target = !tern_link_loads(atomic->part);
    tern_op_then_notify(op, home, op->link.xfer.len, opts);
    /* release, and acquire below: this thread's stores before the operation, its loads after it. Pairs with the
     * thread that executes the operation at the target. */
    atomic_thread_fence(memory_order_release);
    st = tern_op_go(op, opts);
    atomic_thread_fence(memory_order_acquire);
    return st;
}

/* Complete all outstanding operations of the context before the atomic operation (TERN_RELEASE). Returns TERN_AGAIN
 * if the flags forbid waiting and operations are outstanding. */
static tern_status release(struct tern_ctx *ctx, uint32_t flags, const char *call)
{
    if (!tern_core_ctx_is_busy(ctx) && !ctx->shared)
        return TERN_OK;
    if (!(flags & TERN_IMMEDIATE))
        return tern_core_quiet_all(ctx, call, tern_core_ctx_deadline(ctx));
    if (ctx->shared)
        tern_core_shared_take_unflushed(ctx);
    return tern_core_ctx_flush(ctx) ? TERN_OK : TERN_AGAIN;
}

tern_status tern_op_atomic(struct tern_ctx *ctx, const struct tern_op_atomic *atomic, const struct tern_link_part *home,
                           const tern_opts *opts, const char *call)
{
    tern_opts   remote;
    tern_status st = opts->flags & TERN_RELEASE ? release(ctx, opts->flags, call) : TERN_OK;

    if (st != TERN_OK)
        return st;
    if (TERN_LIKELY(is_direct(atomic) && !(opts->flags & TERN_NOTIFY) && !tern_op_is_parked(opts) &&
                    !tern_core_ctx_must_follow(ctx, atomic->part->rank))) {
        execute(atomic);
        tern_op_no_events(opts);
        return TERN_OK;
    }
    if (tern_op_is_parked(opts))
        return start_any(ctx, atomic, home, opts, call);
    remote = *opts;
    remote.local = NULL;
    st = start_any(ctx, atomic, home, &remote, call);
    if (st == TERN_OK && opts->local)
        *opts->local = TERN_EVENT_INIT; /* the operand has been read */
    return st;
}

/* ---- target ---- */

/* Return whether a request is valid. The sender is not trusted, so w is a private copy. */
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
                               unsigned char *response, size_t capacity, size_t *response_len)
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
    if (capacity < tern_op_exec_size((tern_type)w.type))
        return TERN_OK; /* the initiator does not want the old value */
    *response_len = tern_op_exec_size((tern_type)w.type);
    memcpy(response, &was, *response_len);
    return TERN_OK;
}

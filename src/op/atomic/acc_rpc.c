/* acc_rpc.c: accumulates by RPC, at both ends.
 *
 * A request starts with the operation (struct wire_acc), followed by a put request, as if the operands were to be
 * stored. So an accumulate supports everything that a put does: pieces of any shape, and many requests in flight, in
 * any order. The target adds the operands under the locks that the ranks of its node use. If the old values are
 * wanted, the response contains them, and the initiator unpacks them over the corresponding operands.
 */
#include <string.h>

#include "base/bits.h"
#include "base/float.h"
#include "base/read_once.h"
#include "core/job.h"
#include "op/atomic/acc.h"
#include "op/shape/packed.h"

static const struct tern_layout_memory here = { NULL, UINT64_MAX };

/* ---- initiator ---- */

/* Unpack the old values over the operands. Any thread may call this. */
static void unpack_old(struct tern_link_op *op, const unsigned char *bytes, size_t len)
{
    struct tern_op    *transfer = (struct tern_op *)op;
    struct tern_multi *m = (struct tern_multi *)transfer->parent;
    struct tern_cursor cursor = { transfer->scratch[0], transfer->scratch[1], transfer->scratch[2] };

    tern_op_layout_unpack(&m->shape.local, &here, &cursor, len, bytes);
}

/* Space for operands in an RPC buffer of `room` bytes, if a fetch needs as much space for the response. */
static size_t room_for(const struct tern_acc_op *sum, size_t room)
{
    room -= sizeof(struct wire_acc);
    return sum->fetch ? (room - WIRE_PAYLOAD) / 2 : room;
}

static tern_status acc_rpc_start(struct tern_multi *m, struct tern_op *transfer, struct tern_shape_cursors *cursors)
{
    const struct tern_link_part *part = m->shape.part;
    const struct tern_acc_op    *sum = &m->shape.acc;
    const struct tern_link_ops  *ops = tern_job.ops[part->link];
    struct tern_lane            *lane = m->op.ctx->lane[part->link];
    struct tern_xfer             xfer = { .part = part, .get = m->shape.acc.fetch, .what = "accumulate" };
    struct tern_link_op         *op = &transfer->link;
    struct wire_acc              head = { .verb = WIRE_ACC, .sum = *sum };
    struct tern_op_batch         batch;
    size_t                       payload;
    tern_status                  st = ops->rpc->open(lane, &xfer, op);

    if (st != TERN_OK)
        return st;
    tern_op_batch_fill(&batch, WIRE_PUT, &m->shape.remote, &cursors->remote, room_for(sum, op->rpc_bytes));
    batch.request.len -= batch.request.len % tern_acc_op_bytes(sum->type); /* do not split elements */
    memcpy(op->rpc_buf, &head, sizeof(head));
    tern_op_batch_write(&batch, op->rpc_buf + sizeof(head));
    payload = sizeof(head) + wire_payload_at(batch.list_bytes);
    if (sum->fetch) {
        memcpy(transfer->scratch, &cursors->local, sizeof(transfer->scratch));
        op->on_response = unpack_old;
    }
    tern_op_layout_pack(&m->shape.local, &here, &cursors->local, batch.request.len, op->rpc_buf + payload);
    tern_op_layout_skip(&m->shape.remote, &cursors->remote, batch.request.len);
    op->xfer.len = batch.request.len;
    ops->rpc->send(lane, op, payload + batch.request.len, sum->fetch ? batch.request.len : 0);
    return TERN_PENDING;
}

const struct tern_multi_method tern_op_method_acc = { .most = 8, .start = acc_rpc_start };

/* ---- delayed by chaos ---- */

static void acc_now(const struct tern_xfer *xfer, unsigned char *there)
{
    const struct tern_multi *m = xfer->local;

    (void)there; /* only the first of many offsets */
    tern_op_acc_direct(&m->shape);
}

static tern_status acc_visit(struct tern_multi *m, struct tern_op *transfer, struct tern_shape_cursors *cursors)
{
    const struct tern_link_part *part = m->shape.part;
    struct tern_xfer             xfer = m->op.link.xfer;

    xfer.local = m;
    xfer.visit = acc_now;
    transfer->link.xfer = xfer;
    cursors->local.at = cursors->remote.at = m->shape.total;
    return part->path->start(m->op.ctx->lane[part->link], &xfer, &transfer->link);
}

const struct tern_multi_method tern_op_method_acc_visit = { .most = 1, .start = acc_visit };

/* ---- target ---- */

/* Whether an address and a length are those of whole elements. */
static bool is_whole(const struct tern_acc_adding *a, const unsigned char *place, uint64_t len)
{
    return (uintptr_t)place % tern_acc_op_align(a->sum->type) == 0 && len % a->element == 0;
}

/* Add the operands. Returns false if a piece does not lie in the memory or splits an element; everything before that
 * piece has been added. */
static bool add_all(struct tern_acc_adding *a, const struct tern_target_mem *target, struct tern_op_rpc_request *r,
                    unsigned char *from)
{
    for (uint64_t left = r->len; left > 0;) {
        uint64_t where = 0, n = tern_op_layout_run(&r->layout, &r->cursor, &where);

        n = n < left ? n : left;
        if (n == 0 || !tern_base_covers(target->size, where, n) || !is_whole(a, target->base + where, n))
            return false;
        tern_op_acc_add(a, target->base + where, target->origin + where, from, n);
        tern_op_layout_skip(&r->layout, &r->cursor, n);
        from += n;
        left -= n;
    }
    return true;
}

/* Decode a request. Returns false if it is not valid. */
static bool decode(const struct tern_target_mem *target, const unsigned char *bytes, size_t len,
                   struct tern_acc_op *sum, struct tern_op_rpc_request *r)
{
    struct wire_acc head;

    if (len < sizeof(head))
        return false;
    tern_base_copy_once(&head, bytes, sizeof(head));
    *sum = head.sum;
    return sum->type < TERN_TYPES && sum->fetch <= 1 && sum->plain <= 1 &&
           tern_op_rpc_decode(bytes + sizeof(head), len - sizeof(head), target->size, r) && r->verb == WIRE_PUT;
}

tern_status tern_op_acc_rpc(const struct tern_target_mem *target, const unsigned char *request, size_t len,
                            unsigned char *response, size_t room, size_t *response_len)
{
    struct tern_acc_op         sum;
    struct tern_op_rpc_request r;
    struct tern_acc_adding     a;
    unsigned char             *from;
    uint64_t                   mode;
    bool                       done;

    if (!decode(target, request, len, &sum, &r) || (sum.fetch && r.len > room) || !tern_op_rpc_mem_present(target, &r))
        return TERN_ERR_LINK;
    from = (unsigned char *)(uintptr_t)r.payload; /* only written if it is the response */
    if (sum.fetch) {
        memcpy(response, r.payload, r.len);
        from = response;
        *response_len = r.len;
    }
    a = tern_op_acc_begin(&sum);
    mode = tern_base_float_enter();
    done = add_all(&a, target, &r, from);
    tern_base_float_leave(mode);
    tern_op_acc_end(&a);
    return done ? TERN_OK : TERN_ERR_LINK;
}

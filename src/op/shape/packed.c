/* packed.c: transfers that pack small pieces into a buffer: an RPC buffer (packed), or a buffer of their own (staged).
 *
 * Packed: many small pieces travel in one message. The link sends directly from the RPC buffer, or the target reads it.
 * A put packs its pieces into this buffer, behind a description of their destinations, and the target unpacks them. The
 * request of a get consists only of the description; the initiator unpacks the response out of the buffer in which it
 * arrives. Only the description of the remote side is sent, in its optimized form. Each request is self-contained, so
 * requests may overtake each other. While one request is being packed, others are in flight or being unpacked. The
 * request of an accumulate starts with the operation (struct wire_acc), followed by a put request, as if the operands
 * were to be stored; if the old values are wanted, the response contains them, and the initiator unpacks them over the
 * corresponding operands.
 *
 * Staged: the remote side is contiguous in long runs, and the local side is not. These transfers need no help from the
 * target. A put packs its pieces into a buffer and writes the buffer to the remote run as one transfer. A get reads a
 * remote run into a buffer and unpacks the pieces from there. Several buffers are in flight at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "core/job.h"
#include "op/shape/shape.h"
#include "op/wire.h"

#define STAGE (256u << 10) /* maximum size of a buffer of a staged transfer, in bytes */

static const struct tern_layout_memory here = { NULL, UINT64_MAX };

/* ---- batches ---- */

/* A part of a transfer that fits into an RPC buffer. */
struct batch {
    struct wire_request request;
    const void         *list; /* dimensions or list entries */
    size_t              list_bytes;
    uint64_t            shift; /* added to the offset in each entry */
};

static void batch_strided(struct batch *batch, const struct tern_layout *remote, const struct tern_cursor *cursor,
                          size_t capacity)
{
    uint64_t left = remote->total - cursor->at, fits;

    batch->list = remote->dim;
    batch->list_bytes = remote->dims * sizeof(*remote->dim);
    batch->request.dims = (uint16_t)remote->dims;
    batch->request.first = remote->first;
    batch->request.total = remote->total;
    batch->request.at = cursor->at;
    fits = capacity - wire_payload_at(batch->list_bytes);
    if (fits > remote->run) /* whole runs only */
        fits -= (cursor->at + fits) % remote->run;
    batch->request.len = left < fits ? left : fits;
}

/* Add as many entries as fit together with their data. */
static void batch_listed(struct batch *batch, const struct tern_layout *remote, const struct tern_cursor *cursor,
                         size_t capacity)
{
    size_t   each = remote->kind == TERN_LAYOUT_VECTOR ? sizeof(struct tern_layout_extent) : sizeof(tern_layout_offset);
    uint64_t len = 0, count = 0;

    batch->list = (const unsigned char *)remote->list + cursor->index * each;
    while (cursor->index + count < remote->count && wire_payload_at((count + 1) * each) + len < capacity) {
        const struct tern_layout_extent *e = (const struct tern_layout_extent *)remote->list + cursor->index + count;
        uint64_t                         bytes = remote->kind == TERN_LAYOUT_VECTOR ? e->len : remote->run;

        len += count == 0 ? bytes - cursor->within : bytes;
        count++;
    }
    batch->list_bytes = count * each;
    batch->shift = remote->first;
    batch->request.count = (uint32_t)count;
    batch->request.at = cursor->within;
    batch->request.len =
        len < capacity - wire_payload_at(batch->list_bytes) ? len : capacity - wire_payload_at(batch->list_bytes);
}

/* Describe as much of the remote layout, starting at the cursor, as fits into `capacity` bytes: the request, the list,
 * and the data. */
static void batch_fill(struct batch *batch, enum wire_verb verb, const struct tern_layout *remote,
                       const struct tern_cursor *cursor, size_t capacity)
{
    *batch = (struct batch){ .request = { .verb = (uint8_t)verb, .kind = (uint8_t)remote->kind, .run = remote->run } };
    if (remote->kind == TERN_LAYOUT_STRIDED)
        batch_strided(batch, remote, cursor, capacity);
    else
        batch_listed(batch, remote, cursor, capacity);
}

/* Turn the remote addresses in a list into offsets. */
static __attribute__((noinline)) void shift_list(const struct batch *batch, unsigned char *list)
{
    size_t each =
        batch->request.kind == TERN_LAYOUT_VECTOR ? sizeof(struct tern_layout_extent) : sizeof(tern_layout_offset);

    for (size_t at = 0; at < batch->list_bytes; at += each) {
        uint64_t offset;

        memcpy(&offset, list + at, sizeof(offset));
        offset += batch->shift;
        memcpy(list + at, &offset, sizeof(offset));
    }
}

/* Write the request and the list. Returns the number of bytes written. */
static size_t batch_write(const struct batch *batch, unsigned char *to)
{
    memcpy(to, &batch->request, sizeof(batch->request));
    memcpy(to + sizeof(batch->request), batch->list, batch->list_bytes);
    if (TERN_UNLIKELY(batch->shift != 0))
        shift_list(batch, to + sizeof(batch->request));
    return sizeof(batch->request) + batch->list_bytes;
}

/* ---- packed ---- */

/* Pack the data of a put into the RPC buffer. With fixed payload, the data goes through a temporary buffer. */
static void pack(const struct tern_layout *local, struct tern_cursor *cursor, uint64_t len, unsigned char *to)
{
    unsigned char *between = tern_opt.payload == TERN_PAYLOAD_FIXED ? malloc(len) : NULL;

    tern_op_layout_pack(local, &here, cursor, len, between ? between : to);
    if (between)
        memcpy(to, between, len);
    free(between);
}

/* Unpack the response: the data of a get, or the old values of an accumulate. Any thread may call this. */
static void unpack_response(struct tern_link_op *op, const unsigned char *bytes, size_t len)
{
    struct tern_op    *transfer = (struct tern_op *)op;
    struct tern_multi *m = (struct tern_multi *)transfer->parent;
    struct tern_cursor cursor = { transfer->scratch[0], transfer->scratch[1], transfer->scratch[2] };

    tern_op_layout_unpack(&m->shape.local, &here, &cursor, len, bytes);
}

/* Return the space for a batch in an RPC buffer of `capacity` bytes. An accumulate needs space for its operation, and,
 * if it fetches, as much space for the response as for the operands. */
static size_t capacity_for(const struct tern_shape *shape, size_t capacity)
{
    if (!shape->accumulates)
        return capacity;
    capacity -= sizeof(struct wire_acc);
    return shape->acc.fetch ? (capacity - WIRE_PAYLOAD) / 2 : capacity;
}

static tern_status packed_start(struct tern_multi *m, struct tern_op *transfer, struct tern_shape_cursors *cursors)
{
    const struct tern_shape   *shape = &m->shape;
    const struct tern_rpc_ops *rpc = tern_job.ops[shape->part->link]->rpc;
    struct tern_lane          *lane = m->op.ctx->lane[shape->part->link];
    bool                       puts = shape->accumulates || !shape->get, fetches = m->op.link.xfer.get;
    struct tern_xfer           xfer = { .part = shape->part, .get = fetches, .what = m->op.link.xfer.what };
    struct tern_link_op       *op = &transfer->link;
    size_t                     head = shape->accumulates ? sizeof(struct wire_acc) : 0, request;
    struct batch               batch;
    tern_status                st = rpc->open(lane, &xfer, op);

    if (st != TERN_OK)
        return st;
    batch_fill(&batch, puts ? WIRE_PUT : WIRE_GET, &shape->remote, &cursors->remote,
               capacity_for(shape, op->rpc_bytes));
    if (shape->accumulates) {
        memcpy(op->rpc_buf, &(struct wire_acc){ .verb = WIRE_ACC, .sum = shape->acc }, head);
        batch.request.len -= batch.request.len % tern_acc_op_bytes(shape->acc.type); /* do not split elements */
    }
    request = head + batch_write(&batch, op->rpc_buf + head);
    if (fetches) {
        memcpy(transfer->scratch, &cursors->local, sizeof(transfer->scratch));
        op->on_response = unpack_response;
    }
    if (puts) {
        request = head + wire_payload_at(batch.list_bytes);
        pack(&shape->local, &cursors->local, batch.request.len, op->rpc_buf + request);
        request += batch.request.len;
    } else {
        tern_op_layout_skip(&shape->local, &cursors->local, batch.request.len);
    }
    tern_op_layout_skip(&shape->remote, &cursors->remote, batch.request.len);
    op->xfer.len = batch.request.len;
    rpc->send(lane, op, request, fetches ? batch.request.len : 0);
    return TERN_PENDING;
}

_Static_assert(sizeof(((struct tern_op *)0)->scratch) == sizeof(struct tern_cursor), "the scratch words hold a cursor");

const struct tern_multi_method tern_op_method_packed = { .most = 8, .start = packed_start };

/* ---- staged ---- */

static void staged_ended(struct tern_multi *m, struct tern_op *transfer, tern_status status)
{
    struct tern_cursor cursor;

    memcpy(&cursor, transfer->scratch, sizeof(cursor));
    if (m->shape.get && status == TERN_OK && !m->stopped)
        tern_op_layout_unpack(&m->shape.local, &here, &cursor, transfer->link.xfer.len, transfer->data);
    if (!transfer->link.buffer_in_use)
        free(transfer->data);
}

static tern_status staged_start(struct tern_multi *m, struct tern_op *transfer, struct tern_shape_cursors *cursors)
{
    const struct tern_link_part *part = m->shape.part;
    struct tern_xfer             xfer = { .part = part, .get = m->shape.get, .heap = true };
    uint64_t                     run = tern_op_layout_run(&m->shape.remote, &cursors->remote, &xfer.offset);
    tern_status                  st;

    xfer.len = run < STAGE ? run : STAGE;
    if (!(transfer->data = xfer.local = malloc(xfer.len)))
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a buffer of %zu bytes", xfer.len);
    transfer->link.xfer = xfer;
    transfer->link.buffer_in_use = false;
    if (m->shape.get) {
        memcpy(transfer->scratch, &cursors->local, sizeof(cursors->local));
        tern_op_layout_skip(&m->shape.local, &cursors->local, xfer.len);
    } else {
        tern_op_layout_pack(&m->shape.local, &here, &cursors->local, xfer.len, xfer.local);
    }
    tern_op_layout_skip(&m->shape.remote, &cursors->remote, xfer.len);
    st = part->path->start(m->op.ctx->lane[part->link], &xfer, &transfer->link);
    if (st != TERN_PENDING)
        staged_ended(m, transfer, st);
    return st;
}

const struct tern_multi_method tern_op_method_staged = {
    .most = 4, .copies_source = true, .start = staged_start, .ended = staged_ended
};

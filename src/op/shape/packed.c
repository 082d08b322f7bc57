/* packed.c: transfers by RPC: many small pieces travel in one message.
 *
 * The link sends directly from the RPC buffer, or the target reads it. A put packs its pieces into this buffer,
 * behind a description of their destinations, and the target unpacks them. The request of a get is only the
 * description; the initiator unpacks the response where it arrives. Only the description of the remote side is sent,
 * in its optimized form. Each request is self-contained, so requests may overtake each other. While one request is
 * being packed, others are in flight or being unpacked.
 */
#include "op/shape/packed.h"

#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "core/job.h"
#include "op/shape/multi.h"

static const struct tern_layout_memory here = { NULL, UINT64_MAX };

static void batch_strided(struct tern_op_batch *batch, const struct tern_layout *remote,
                          const struct tern_cursor *cursor, size_t room)
{
    uint64_t left = remote->total - cursor->at, fits;

    batch->list = remote->dim;
    batch->list_bytes = remote->dims * sizeof(*remote->dim);
    batch->request.dims = (uint16_t)remote->dims;
    batch->request.first = remote->first;
    batch->request.total = remote->total;
    batch->request.at = cursor->at;
    fits = room - wire_payload_at(batch->list_bytes);
    if (fits > remote->run) /* whole runs only */
        fits -= (cursor->at + fits) % remote->run;
    batch->request.len = left < fits ? left : fits;
}

/* Add as many entries as fit together with their data. */
static void batch_listed(struct tern_op_batch *batch, const struct tern_layout *remote,
                         const struct tern_cursor *cursor, size_t room)
{
    size_t   each = remote->kind == TERN_LAYOUT_VECTOR ? sizeof(struct tern_layout_extent) : sizeof(tern_layout_offset);
    uint64_t len = 0, count = 0;

    batch->list = (const unsigned char *)remote->list + cursor->index * each;
    while (cursor->index + count < remote->count && wire_payload_at((count + 1) * each) + len < room) {
        const struct tern_layout_extent *e = (const struct tern_layout_extent *)remote->list + cursor->index + count;
        uint64_t                         bytes = remote->kind == TERN_LAYOUT_VECTOR ? e->len : remote->run;

        len += count == 0 ? bytes - cursor->within : bytes;
        count++;
    }
    batch->list_bytes = count * each;
    batch->request.count = (uint32_t)count;
    batch->request.at = cursor->within;
    batch->request.len =
        len < room - wire_payload_at(batch->list_bytes) ? len : room - wire_payload_at(batch->list_bytes);
}

void tern_op_batch_fill(struct tern_op_batch *batch, enum wire_verb verb, const struct tern_layout *remote,
                        const struct tern_cursor *cursor, size_t room)
{
    *batch = (struct tern_op_batch){ .request = {
                                         .verb = (uint8_t)verb, .kind = (uint8_t)remote->kind, .run = remote->run } };
    if (remote->kind == TERN_LAYOUT_STRIDED)
        batch_strided(batch, remote, cursor, room);
    else
        batch_listed(batch, remote, cursor, room);
}

size_t tern_op_batch_write(const struct tern_op_batch *batch, unsigned char *to)
{
    memcpy(to, &batch->request, sizeof(batch->request));
    memcpy(to + sizeof(batch->request), batch->list, batch->list_bytes);
    return sizeof(batch->request) + batch->list_bytes;
}

/* Pack the data of a put into the RPC buffer. With fixed payload, the data goes through a temporary buffer. */
static void pack(const struct tern_layout *local, struct tern_cursor *cursor, uint64_t len, unsigned char *to)
{
    unsigned char *between = tern_opt.payload == TERN_PAYLOAD_FIXED ? malloc(len) : NULL;

    tern_op_layout_pack(local, &here, cursor, len, between ? between : to);
    if (between)
        memcpy(to, between, len);
    free(between);
}

/* Unpack the response of a get. Any thread may call this. */
static void unpack_response(struct tern_link_op *op, const unsigned char *bytes, size_t len)
{
    struct tern_op    *transfer = (struct tern_op *)op;
    struct tern_multi *m = (struct tern_multi *)transfer->parent;
    struct tern_cursor cursor = { transfer->scratch[0], transfer->scratch[1], transfer->scratch[2] };

    tern_op_layout_unpack(&m->shape.local, &here, &cursor, len, bytes);
}

static tern_status packed_start(struct tern_multi *m, struct tern_op *transfer, struct tern_shape_cursors *cursors)
{
    const struct tern_link_part *part = m->shape.part;
    const struct tern_link_ops  *ops = tern_job.ops[part->link];
    struct tern_lane            *lane = m->op.ctx->lane[part->link];
    struct tern_xfer             xfer = { .part = part, .get = m->shape.get };
    struct tern_link_op         *op = &transfer->link;
    struct tern_op_batch         batch;
    size_t                       request;
    tern_status                  st = ops->rpc->open(lane, &xfer, op);

    if (st != TERN_OK)
        return st;
    tern_op_batch_fill(&batch, m->shape.get ? WIRE_GET : WIRE_PUT, &m->shape.remote, &cursors->remote, op->rpc_bytes);
    request = tern_op_batch_write(&batch, op->rpc_buf);
    op->xfer.len = batch.request.len;
    if (m->shape.get) {
        memcpy(transfer->scratch, &cursors->local, sizeof(transfer->scratch));
        op->on_response = unpack_response;
        tern_op_layout_skip(&m->shape.local, &cursors->local, batch.request.len);
        ops->rpc->send(lane, op, request, batch.request.len);
    } else {
        request = wire_payload_at(batch.list_bytes);
        pack(&m->shape.local, &cursors->local, batch.request.len, op->rpc_buf + request);
        ops->rpc->send(lane, op, request + batch.request.len, 0);
    }
    tern_op_layout_skip(&m->shape.remote, &cursors->remote, batch.request.len);
    return TERN_PENDING;
}

_Static_assert(sizeof(((struct tern_op *)0)->scratch) == sizeof(struct tern_cursor), "a note holds a mark");

const struct tern_multi_method tern_op_method_packed = { .most = 8, .start = packed_start };

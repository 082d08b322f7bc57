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

static void load_strided(struct tern_op_batch *load, const struct tern_layout *far, const struct tern_cursor *mark,
                         size_t room)
{
    uint64_t left = far->total - mark->at, fits;

    load->list = far->dim;
    load->list_bytes = far->dims * sizeof(*far->dim);
    load->request.dims = (uint16_t)far->dims;
    load->request.first = far->first;
    load->request.total = far->total;
    load->request.at = mark->at;
    fits = room - wire_payload_at(load->list_bytes);
    if (fits > far->run) /* whole runs only */
        fits -= (mark->at + fits) % far->run;
    load->request.len = left < fits ? left : fits;
}

/* Add as many entries as fit together with their data. */
static void load_listed(struct tern_op_batch *load, const struct tern_layout *far, const struct tern_cursor *mark,
                        size_t room)
{
    size_t   each = far->kind == TERN_LAYOUT_VECTOR ? sizeof(struct tern_layout_extent) : sizeof(tern_layout_offset);
    uint64_t len = 0, count = 0;

    load->list = (const unsigned char *)far->list + mark->index * each;
    while (mark->index + count < far->count && wire_payload_at((count + 1) * each) + len < room) {
        const struct tern_layout_extent *e = (const struct tern_layout_extent *)far->list + mark->index + count;
        uint64_t                         bytes = far->kind == TERN_LAYOUT_VECTOR ? e->len : far->run;

        len += count == 0 ? bytes - mark->within : bytes;
        count++;
    }
    load->list_bytes = count * each;
    load->request.count = (uint32_t)count;
    load->request.at = mark->within;
    load->request.len = len < room - wire_payload_at(load->list_bytes) ? len : room - wire_payload_at(load->list_bytes);
}

void tern_op_batch_fill(struct tern_op_batch *load, enum wire_verb verb, const struct tern_layout *far,
                        const struct tern_cursor *mark, size_t room)
{
    *load = (struct tern_op_batch){ .request = { .verb = (uint8_t)verb, .kind = (uint8_t)far->kind, .run = far->run } };
    if (far->kind == TERN_LAYOUT_STRIDED)
        load_strided(load, far, mark, room);
    else
        load_listed(load, far, mark, room);
}

size_t tern_op_batch_write(const struct tern_op_batch *load, unsigned char *to)
{
    memcpy(to, &load->request, sizeof(load->request));
    memcpy(to + sizeof(load->request), load->list, load->list_bytes);
    return sizeof(load->request) + load->list_bytes;
}

/* Pack the data of a put into the RPC buffer. With fixed payload, the data goes through a temporary buffer. */
static void pack(const struct tern_layout *near, struct tern_cursor *mark, uint64_t len, unsigned char *to)
{
    unsigned char *between = tern_opt.payload == TERN_PAYLOAD_FIXED ? malloc(len) : NULL;

    tern_op_layout_pack(near, &here, mark, len, between ? between : to);
    if (between)
        memcpy(to, between, len);
    free(between);
}

/* Unpack the response of a get. Any thread may call this. */
static void unpack_answer(struct tern_link_op *op, const unsigned char *bytes, size_t len)
{
    struct tern_pending *transfer = (struct tern_pending *)op;
    struct tern_multi   *b = (struct tern_multi *)transfer->owner;
    struct tern_cursor   mark = { transfer->scratch[0], transfer->scratch[1], transfer->scratch[2] };

    tern_op_layout_unpack(&b->shape.local, &here, &mark, len, bytes);
}

static tern_status packed_start(struct tern_multi *b, struct tern_pending *transfer, struct tern_shape_cursors *marks)
{
    const struct tern_link_part *part = b->shape.part;
    const struct tern_link_ops  *ops = tern_job.ops[part->link];
    struct tern_lane            *lane = b->ctx->lane[part->link];
    struct tern_xfer             xfer = { .part = part, .get = b->shape.get };
    struct tern_link_op         *op = &transfer->op;
    struct tern_op_batch         load;
    size_t                       request;
    tern_status                  st = ops->rpc_open(lane, &xfer, op);

    if (st != TERN_OK)
        return st;
    tern_op_batch_fill(&load, b->shape.get ? WIRE_GET : WIRE_PUT, &b->shape.remote, &marks->remote, op->rpc_bytes);
    request = tern_op_batch_write(&load, op->rpc_buf);
    op->xfer.len = load.request.len;
    if (b->shape.get) {
        memcpy(transfer->scratch, &marks->local, sizeof(transfer->scratch));
        op->on_response = unpack_answer;
        tern_op_layout_skip(&b->shape.local, &marks->local, load.request.len);
        ops->rpc_send(lane, op, request, load.request.len);
    } else {
        request = wire_payload_at(load.list_bytes);
        pack(&b->shape.local, &marks->local, load.request.len, op->rpc_buf + request);
        ops->rpc_send(lane, op, request + load.request.len, 0);
    }
    tern_op_layout_skip(&b->shape.remote, &marks->remote, load.request.len);
    return TERN_PENDING;
}

_Static_assert(sizeof(((struct tern_pending *)0)->scratch) == sizeof(struct tern_cursor), "a note holds a mark");

const struct tern_multi_method tern_op_method_packed = { .most = 8, .start = packed_start };

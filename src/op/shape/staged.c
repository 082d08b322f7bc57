/* staged.c: transfers whose remote side is contiguous in long runs and whose local side is not.
 *
 * These transfers need no help from the target. A put packs its pieces into a buffer and writes the buffer to the
 * remote run as one transfer. A get reads a remote run into a buffer and unpacks the pieces from there. Several
 * buffers are in flight at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "op/shape/multi.h"

#define STAGE (256u << 10) /* maximum size of a buffer in bytes */

static const struct tern_layout_memory here = { NULL, UINT64_MAX };

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

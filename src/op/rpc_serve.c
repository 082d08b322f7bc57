/* rpc_serve.c: serving RPC requests of peers: calls of the handlers by verb, and the handler of puts and gets. The
 * sender may be hostile, and may change the request while it is read. So only copies are checked, and each list entry
 * is read once. */
#include "op/rpc_serve.h"

#include <string.h>

#include "base/bits.h"
#include "base/read_once.h"
#include "base/status.h"
#include "op/atomic/acc.h"
#include "op/atomic/atomic.h"
#include "op/atomic/mutex.h"
#include "op/notify/signal.h"

#define PAGE 4096u

/* Return the size of the dimensions or of the list in bytes; SIZE_MAX: the request is invalid. */
static size_t list_bytes(const struct wire_request *w)
{
    switch (w->kind) {
    case TERN_LAYOUT_STRIDED: return w->dims <= TERN_STRIDE_DIMS ? w->dims * sizeof(struct tern_layout_dim) : SIZE_MAX;
    case TERN_LAYOUT_VECTOR: return w->count * sizeof(struct tern_layout_extent);
    case TERN_LAYOUT_INDEXED: return w->count * sizeof(tern_layout_offset);
    default: return SIZE_MAX;
    }
}

bool tern_op_rpc_decode(const unsigned char *bytes, size_t len, uint64_t size, struct tern_op_rpc_request *out)
{
    struct wire_request w;
    size_t              list, payload;

    if (len < sizeof(w))
        return false;
    tern_base_copy_once(&w, bytes, sizeof(w));
    if ((w.verb != WIRE_PUT && w.verb != WIRE_GET) || (list = list_bytes(&w)) > len - sizeof(w))
        return false;
    payload = w.verb == WIRE_PUT ? wire_payload_at(list) : len;
    if (payload > len || (w.verb == WIRE_PUT && w.len != len - payload))
        return false;
    out->verb = (enum wire_verb)w.verb;
    out->len = w.len;
    out->payload = bytes + payload;
    out->layout = (struct tern_layout){ .kind = (enum tern_layout_kind)w.kind, .run = w.run };
    if (w.kind != TERN_LAYOUT_STRIDED) {
        out->layout.count = w.count;
        out->layout.list = bytes + sizeof(w);
        out->cursor = (struct tern_cursor){ 0, 0, w.at };
        return true;
    }
    tern_base_copy_once(out->dim, bytes + sizeof(w), list);
    out->layout.dims = w.dims;
    out->layout.dim = out->dim;
    out->layout.first = w.first;
    out->layout.total = w.total;
    out->cursor = (struct tern_cursor){ w.at, 0, 0 };
    return tern_op_layout_valid(&out->layout, size) && tern_base_covers(w.total, w.at, w.len);
}

/* Return the number of bytes of the stream, from the cursor on, whose memory covers a range of pages without a gap: the
 * rest of a row, or a run. *where and *span receive the offset and the length of that memory. */
static uint64_t close_together(const struct tern_layout *layout, const struct tern_cursor *cursor, uint64_t left,
                               uint64_t *where, uint64_t *span)
{
    uint64_t                      run = tern_op_layout_run(layout, cursor, where), runs;
    const struct tern_layout_dim *row =
        layout->kind == TERN_LAYOUT_STRIDED && layout->dims > 0 ? &layout->dim[0] : NULL;

    if (row && run == layout->run && row->step <= PAGE && run < left) {
        runs = row->count - cursor->at / run % row->count;
        runs = runs < left / run ? runs : left / run;
        *span = run + (runs - 1) * (uint64_t)row->step;
        return runs * run;
    }
    return *span = run < left ? run : left;
}

bool tern_op_rpc_mem_present(const struct tern_target_mem *mem, const struct tern_op_rpc_request *r)
{
    struct tern_cursor cursor = r->cursor;
    uint64_t           end = r->cursor.at + r->len, low = 0, high = 0, where = 0, span, before;

    if (!mem->is_mapped)
        return true;
    while (cursor.at < end) {
        uint64_t bytes = close_together(&r->layout, &cursor, end - cursor.at, &where, &span);

        if (bytes == 0 || !tern_base_covers(mem->size, where, span))
            return false;
        if (where < low || where + span > high) {
            if (!mem->is_mapped(mem->base + where, span, r->verb == WIRE_PUT))
                return false;
            before = (uintptr_t)(mem->base + where) % PAGE; /* a page is present or absent as a whole */
            low = where > before ? where - before : 0;
            high = where + span + (PAGE - (uintptr_t)(mem->base + where + span) % PAGE) % PAGE;
        }
        tern_op_layout_skip(&r->layout, &cursor, bytes);
    }
    return true;
}

/* Serve a put or get. */
static tern_status serve_transfer(const struct tern_target_mem *mem, const unsigned char *request, size_t len,
                                  unsigned char *response, size_t capacity, size_t *response_len)
{
    struct tern_layout_memory  memory = { mem->base, mem->size };
    struct tern_op_rpc_request r;
    bool                       done;

    if (!tern_op_rpc_decode(request, len, mem->size, &r) || (r.verb == WIRE_GET && r.len > capacity) ||
        !tern_op_rpc_mem_present(mem, &r))
        return TERN_ERR_LINK;
    if (r.verb == WIRE_PUT) {
        done = tern_op_layout_unpack(&r.layout, &memory, &r.cursor, r.len, r.payload);
    } else {
        done = tern_op_layout_pack(&r.layout, &memory, &r.cursor, r.len, response);
        *response_len = r.len;
    }
    return done ? TERN_OK : TERN_ERR_LINK;
}

/* The handler of each verb. A handler checks everything that it reads. */
static tern_op_rpc_handler *const server[WIRE_VERBS] = {
    [WIRE_PUT] = serve_transfer,  [WIRE_GET] = serve_transfer,      [WIRE_ATOMIC] = tern_op_atomic_rpc,
    [WIRE_ACC] = tern_op_acc_rpc, [WIRE_MUTEX] = tern_op_mutex_rpc, [WIRE_SIGNAL] = tern_op_signal_rpc,
};

tern_status tern_op_rpc_serve(const struct tern_target_mem *mem, const unsigned char *request, size_t len,
                              unsigned char *response, size_t capacity, size_t *response_len)
{
    unsigned verb = len > 0 ? *(const volatile unsigned char *)request : WIRE_VERBS; /* read once: it may change */

    *response_len = 0;
    return verb < WIRE_VERBS ? server[verb](mem, request, len, response, capacity, response_len) : TERN_ERR_LINK;
}

/* serve.c: errands of peers: who serves each verb, and puts and gets. The sender may be hostile, and may change what it
 * sent while it is read: what is checked is a copy, and entries of lists are read once each. */
#include "op/serve.h"

#include <string.h>

#include "base/bits.h"
#include "base/once.h"
#include "base/status.h"
#include "op/acc.h"
#include "op/atomic.h"
#include "op/mutex.h"
#include "op/signal.h"

#define PAGE 4096u

/* Bytes of the dimensions or of the list; SIZE_MAX: there is no such kind. */
static size_t list_bytes(const struct wire_request *w)
{
    switch (w->kind) {
    case TERN_SIDE_STRIDED: return w->dims <= TERN_STRIDE_DIMS ? w->dims * sizeof(struct tern_side_dim) : SIZE_MAX;
    case TERN_SIDE_VECTOR: return w->count * sizeof(struct tern_side_entry);
    case TERN_SIDE_INDEXED: return w->count * sizeof(tern_side_at);
    default: return SIZE_MAX;
    }
}

bool tern_op_request_read(const unsigned char *bytes, size_t len, uint64_t size, struct tern_op_request *out)
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
    out->side = (struct tern_side){ .kind = (enum tern_side_kind)w.kind, .run = w.run };
    if (w.kind != TERN_SIDE_STRIDED) {
        out->side.count = w.count;
        out->side.list = bytes + sizeof(w);
        out->mark = (struct tern_side_mark){ 0, 0, w.at };
        return true;
    }
    tern_base_copy_once(out->dim, bytes + sizeof(w), list);
    out->side.dims = w.dims;
    out->side.dim = out->dim;
    out->side.first = w.first;
    out->side.total = w.total;
    out->mark = (struct tern_side_mark){ w.at, 0, 0 };
    return tern_op_side_sound(&out->side, size) && tern_base_covers(w.total, w.at, w.len);
}

/* Bytes of the stream from the mark on whose memory has no page between them that is not touched, and the span of that
 * memory: the rest of a row, or a run. */
static uint64_t close_together(const struct tern_side *side, const struct tern_side_mark *mark, uint64_t left,
                               uint64_t *where, uint64_t *span)
{
    uint64_t                    run = tern_op_side_run(side, mark, where), runs;
    const struct tern_side_dim *row = side->kind == TERN_SIDE_STRIDED && side->dims > 0 ? &side->dim[0] : NULL;

    if (row && run == side->run && row->step <= PAGE && run < left) {
        runs = row->count - mark->at / run % row->count;
        runs = runs < left / run ? runs : left / run;
        *span = run + (runs - 1) * (uint64_t)row->step;
        return runs * run;
    }
    return *span = run < left ? run : left;
}

bool tern_op_request_there(const struct tern_link_ground *ground, const struct tern_op_request *r)
{
    struct tern_side_mark mark = r->mark;
    uint64_t              end = r->mark.at + r->len, low = 0, high = 0, where = 0, span, before;

    if (!ground->there)
        return true;
    while (mark.at < end) {
        uint64_t bytes = close_together(&r->side, &mark, end - mark.at, &where, &span);

        if (bytes == 0 || !tern_base_covers(ground->size, where, span))
            return false;
        if (where < low || where + span > high) {
            if (!ground->there(ground->base + where, span, r->verb == WIRE_PUT))
                return false;
            before = (uintptr_t)(ground->base + where) % PAGE; /* whole pages are there, or are not */
            low = where > before ? where - before : 0;
            high = where + span + (PAGE - (uintptr_t)(ground->base + where + span) % PAGE) % PAGE;
        }
        tern_op_side_skip(&r->side, &mark, bytes);
    }
    return true;
}

/* A put or get. */
static tern_status serve_transfer(const struct tern_link_ground *ground, const unsigned char *request, size_t len,
                                  unsigned char *answer, size_t room, size_t *answered)
{
    struct tern_side_memory memory = { ground->base, ground->size };
    struct tern_op_request  r;
    bool                    done;

    if (!tern_op_request_read(request, len, ground->size, &r) || (r.verb == WIRE_GET && r.len > room) ||
        !tern_op_request_there(ground, &r))
        return TERN_ERR_LINK;
    if (r.verb == WIRE_PUT) {
        done = tern_op_side_unpack(&r.side, &memory, &r.mark, r.len, r.payload);
    } else {
        done = tern_op_side_pack(&r.side, &memory, &r.mark, r.len, answer);
        *answered = r.len;
    }
    return done ? TERN_OK : TERN_ERR_LINK;
}

/* Who serves what. Each checks all that it reads. */
static tern_op_server *const server[WIRE_VERBS] = {
    [WIRE_PUT] = serve_transfer,    [WIRE_GET] = serve_transfer,        [WIRE_ATOMIC] = tern_op_atomic_serve,
    [WIRE_ACC] = tern_op_acc_serve, [WIRE_MUTEX] = tern_op_mutex_serve, [WIRE_SIGNAL] = tern_op_signal_serve,
};

tern_status tern_op_serve(const struct tern_link_ground *ground, const unsigned char *request, size_t len,
                          unsigned char *answer, size_t room, size_t *answered)
{
    unsigned verb = len > 0 ? *(const volatile unsigned char *)request : WIRE_VERBS; /* it may change: read once */

    *answered = 0;
    return verb < WIRE_VERBS ? server[verb](ground, request, len, answer, room, answered) : TERN_ERR_LINK;
}

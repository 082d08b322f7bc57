/* rndv.c: the rendezvous protocol.
 *
 * The sender exposes its buffer to the receiver's link and sends an RTS, which carries the memory handle and the first
 * bytes. The receiver attaches the sender's memory like a part of a region, or it is one, and fetches the rest from
 * there: up to TERN_MSG_CHUNKED bytes with one get, more with gets of TERN_MSG_CHUNK bytes, of which at most
 * TERN_MSG_WINDOW are in flight. A message therefore uses the network only as fast as the receiver's memory takes the
 * data. Chunks may land in any order. On a path whose gets complete immediately, at most one window of gets is made
 * before other work is polled. The sender's buffer stays exposed until the FIN arrives.
 */
#include "base/bits.h"
#include "base/options.h"
#include "core/links.h"
#include "core/region.h"
#include "core/helper.h"
#include "op/tagged/tagged.h"

/* ---- the sender ---- */

const struct tern_region *tern_op_tagged_region(struct tern_ctx *ctx, int rank, uint64_t addr, uint64_t size)
{
    const struct tern_region *region = tern_core_region_find(ctx, rank, addr);

    return region && tern_base_covers(region->part[rank].size, addr - region->part[rank].addr, size) ? region : NULL;
}

/* Fill in the handle if the buffer is in a region that the receiver has too: then the receiver reaches it already, on
 * the same node by loads. Returns false otherwise. */
static bool handle_of_region(struct tern_tagged_op *op)
{
    const struct tern_request   *request = op->request;
    uint64_t                     addr = (uint64_t)(uintptr_t)request->buffer;
    const struct tern_region    *region = tern_op_tagged_region(request->ctx, tern_job.boot.rank, addr, request->size);
    const struct tern_link_part *part = region ? &region->part[tern_job.boot.rank] : NULL;

    if (!region || region->part[request->peer].region == 0)
        return false;
    op->handle = (struct tern_mem_handle){
        .region = part->region, .size = request->size, .offset = addr - part->addr, .mem_kind = part->mem_kind
    };
    return true;
}

static tern_status expose(struct tern_tagged_op *op)
{
    static _Atomic uint64_t    offers;
    const struct tern_request *request = op->request;
    unsigned                   link = tern_job.peer_link[request->peer];
    tern_status                st;

    if (handle_of_region(op))
        return TERN_OK;
    op->handle = (struct tern_mem_handle){
        .region = WIRE_TAGGED_OWN | (uint64_t)tern_job.boot.rank << 40 | (atomic_fetch_add(&offers, 1) & 0xffffffffff),
        .addr = (uint64_t)(uintptr_t)request->buffer,
        .size = request->size,
        .probe = (uint64_t)(uintptr_t)&tern_link_probe,
        .mem_kind = TERN_MEM_PRIVATE,
        .pid = atomic_load(&tern_core_job_slot(tern_job.boot.rank)->pid),
    };
    st = tern_core_links_expose(link, &op->handle);
    /* The kernel may forbid a receiver on this node to read the memory itself. */
    if (st == TERN_OK && tern_job.ops[link]->maps && request->peer != tern_job.boot.rank)
        st = tern_core_service_start();
    if (st < 0)
        op->handle.size = 0;
    return st;
}

void tern_op_tagged_conceal(struct tern_tagged_op *op)
{
    int peer = op->request->peer;

    if (op->handle.size > 0 && op->handle.region & WIRE_TAGGED_OWN)
        tern_core_ops_to(peer)->unexpose(tern_core_link_to(peer), op->handle.region);
    op->handle.size = 0;
}

tern_status tern_op_tagged_send_rts(struct tern_ctx *ctx, int rank, uint64_t tag, const void *data, size_t len,
                                    struct tern_tagged_op *op)
{
    size_t      longest = tern_op_tagged_longest(rank);
    tern_status st = op->handle.size > 0 ? TERN_OK : expose(op);

    if (st < 0)
        return st;
    if (len > tern_opt.msg_first)
        len = tern_opt.msg_first;
    if (len > longest)
        len = longest;
    return tern_op_tagged_send_data(ctx, rank, tag, data, len, op, WIRE_TAGGED_RTS);
}

/* ---- the receiver ---- */

/* Find the part of a region that both ranks have. */
static tern_status find_part(struct tern_tagged_op *op)
{
    const struct tern_mem_handle *handle = &op->handle;
    int                           source = op->request->source;

    if (!tern_core_region_named(handle->region, source, &op->part) || !op->part.path ||
        !tern_base_covers(op->part.size, handle->offset, handle->size))
        return tern_base_fail(TERN_ERR_LINK, "rank %d offered a message in a region that this rank has not", source);
    op->begin = handle->offset;
    return TERN_OK;
}

tern_status tern_op_tagged_reach(int rank, const struct tern_mem_handle *handle, struct tern_link_part *part)
{
    *part = (struct tern_link_part){ .rank = rank,
                                     .link = tern_job.peer_link[rank],
                                     .size = handle->size,
                                     .addr = handle->addr,
                                     .offset = handle->offset,
                                     .mem_kind = handle->mem_kind,
                                     .region = handle->region,
                                     .pid = handle->pid };
    return tern_core_links_attach(part->link, handle, "", part);
}

tern_status tern_op_tagged_attach(struct tern_tagged_op *op)
{
    uint64_t    left = op->want - op->fetched;
    tern_status st;

    op->chunk = left > tern_opt.msg_chunked ? tern_opt.msg_chunk : left;
    if (!(op->handle.region & WIRE_TAGGED_OWN))
        return find_part(op);
    st = tern_op_tagged_reach(op->request->source, &op->handle, &op->part);
    op->attached = st == TERN_OK;
    return st;
}

void tern_op_tagged_detach(struct tern_tagged_op *op)
{
    if (op->attached)
        tern_job.ops[op->part.link]->detach(tern_job.link[op->part.link], &op->part);
    op->attached = false;
}

static const struct tern_op_kind chunk_kind = { .start = NULL }; /* one get, whose parent is the fetch */

tern_status tern_op_tagged_get(struct tern_tagged_op *op, uint64_t at, uint64_t len)
{
    const struct tern_link_path *path = op->part.path;
    struct tern_ctx             *ctx = op->request->ctx->engine->ctx;
    struct tern_xfer             xfer = { .part = &op->part,
                                          .offset = op->begin + at,
                                          .local = (unsigned char *)op->request->buffer + at,
                                          .len = len,
                                          .get = true,
                                          .what = "get of a tagged message" };
    struct tern_op              *transfer = NULL;
    tern_status                  st;

    if (!path->instant) {
        if (!(transfer = tern_core_op_new(ctx, &chunk_kind, "tern_recv")))
            return TERN_ERR_NOMEM;
        transfer->parent = &op->fetch;
        transfer->link.xfer = xfer;
    }
    st = path->start(ctx->lane[op->part.link], &xfer, transfer ? &transfer->link : NULL);
    if (transfer && st != TERN_PENDING)
        tern_core_op_drop(transfer);
    op->in_flight += st == TERN_PENDING;
    return st;
}

/* Start as many gets as flow control permits. */
static bool fetch(struct tern_tagged_op *op)
{
    uint32_t now = 0, window = (uint32_t)tern_opt.msg_window; /* now: gets that completed immediately */

    while (op->fetched < op->want && !tern_op_tagged_has_failed(op)) {
        uint64_t    left = op->want - op->fetched, len = left < op->chunk ? left : op->chunk;
        tern_status st;

        if (op->in_flight >= window)
            return false;
        if (now == window) {
            tern_core_message_keep_awake(); /* no bell will ring for the rest */
            return false;
        }
        if ((st = tern_op_tagged_get(op, op->fetched, len)) == TERN_AGAIN)
            return false;
        tern_op_tagged_fail(op, st);
        op->fetched += len;
        now += st == TERN_OK;
    }
    return op->in_flight == 0;
}

const struct tern_tagged_protocol tern_tagged_rndv = { .name = "rendezvous",
                                                       .send = tern_op_tagged_send_rts,
                                                       .revoke = tern_op_tagged_conceal,
                                                       .fetch = fetch,
                                                       .stop = tern_op_tagged_detach };

/* rndv.c: fetching the data of a rendezvous message: the receiver's side.
 *
 * The sender's memory is attached like a part of a region, or is one. The data that did not come with the RTS is
 * fetched from there: up to TERN_MSG_CHUNKED bytes with one get, more with gets of TERN_MSG_CHUNK bytes, of which at
 * most TERN_MSG_WINDOW are in flight. A message therefore uses the network only as fast as the receiver's memory takes
 * the data. Chunks may land in any order. On a path whose gets complete immediately, at most one window of gets is made
 * before other work is polled. The same number of bytes is open to the sender at a time, which may copy some of them
 * (rndv_assist.c).
 *
 * After the last chunk has landed, the receiver sends the FIN. From the first get to the FIN the receive is a compound
 * operation (core/op.h) on the engine's context. It therefore makes progress like a triggered operation: in any
 * thread that makes progress for the receive's context, and in the helper thread while the program computes. The caller
 * of every function here except tern_op_tagged_rndv_start() and tern_op_tagged_has_helper() holds the engine's lock.
 */
#include <sched.h>
#include <stdio.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/options.h"
#include "boot/bell.h"
#include "core/links.h"
#include "core/message.h"
#include "core/region.h"
#include "op/trigger/helper.h"
#include "op/tagged/tagged.h"
#include "op/wire.h"

#define PAGE 4096u            /* granularity of copies by the kernel */
#define LEAST_SPLIT 32768u    /* bytes: smaller messages are not split with the sender */
#define PATIENCE 1000000000ll /* ns: how long split_abort() waits */
#define ABSENT 50000ll        /* ns without a store after which the sender is assumed to be outside of Tern calls */
#define UNASKED 16u           /* number of messages before such a sender is waited for again */

static struct tern_engine *engine_of(const struct tern_request *request)
{
    return (struct tern_engine *)request->ctx->engine;
}

static void fail(struct tern_request *request, tern_status st)
{
    if (st < 0 && (request->status == TERN_OK || request->status == TERN_ERR_TRUNCATED))
        request->status = st;
}

static bool has_failed(const struct tern_request *request)
{
    return request->status < 0 && request->status != TERN_ERR_TRUNCATED;
}

static void detach(struct tern_request *request)
{
    if (request->attached)
        tern_job.ops[request->part.link]->detach(tern_job.link[request->part.link], &request->part);
    request->attached = false;
}

static const struct tern_op_kind chunk_kind = { .start = NULL }; /* one get, whose parent is the fetch */

/* Start one get. Returns TERN_AGAIN if nothing was started. */
static tern_status get_chunk(struct tern_request *request, uint64_t at, uint64_t len)
{
    const struct tern_link_path *path = request->part.path;
    struct tern_ctx             *ctx = engine_of(request)->ctx;
    struct tern_xfer             xfer = { .part = &request->part,
                                          .offset = request->begin + at,
                                          .local = (unsigned char *)request->buffer + at,
                                          .len = len,
                                          .get = true,
                                          .what = "get of a tagged message" };
    struct tern_op              *transfer = NULL;
    tern_status                  st;

    if (!path->instant) {
        if (!(transfer = tern_core_op_new(ctx, &chunk_kind, "tern_recv")))
            return TERN_ERR_NOMEM;
        transfer->parent = request->fetch;
        transfer->link.xfer = xfer;
    }
    st = path->start(ctx->lane[request->part.link], &xfer, transfer ? &transfer->link : NULL);
    if (transfer && st != TERN_PENDING)
        tern_core_op_drop(transfer);
    return st;
}

/* The length of the next get. */
static uint64_t next_len(const struct tern_request *request)
{
    uint64_t left = request->want - request->fetched;

    return left < request->chunk ? left : request->chunk;
}

/* Start as many gets as flow control permits. Returns true if all gets were started or the receive has failed. */
static bool pump(struct tern_request *request)
{
    struct tern_window *window = &request->window;
    uint32_t            now = 0; /* gets that completed immediately */

    while (request->fetched < request->want && !has_failed(request)) {
        uint64_t    len = next_len(request);
        tern_status st;

        if (!tern_op_window_open(window))
            return false;
        if (now == window->limit) {
            tern_core_message_keep_awake(); /* no bell will ring for the rest */
            return false;
        }
        if ((st = get_chunk(request, request->fetched, len)) == TERN_AGAIN)
            return false;
        fail(request, st);
        if (st < 0)
            break;
        request->fetched += len;
        window->started++;
        window->landed += st == TERN_OK;
        now += st == TERN_OK;
    }
    return true;
}

/* ---- splitting the copy with the sender ---- */

/* bit set of this rank's work splits that no message uses */
static _Atomic uint32_t free_splits = UINT32_MAX >> (32 - TERN_LINK_SPLITS);

static struct tern_work_split *splits_of(const struct tern_request *request)
{
    return tern_job.ops[request->part.link]->inject->work_splits(tern_job.link[request->part.link], tern_job.boot.rank);
}

/* Allocate a work split; NULL: all are in use. */
static struct tern_work_split *split_alloc(const struct tern_request *request)
{
    uint32_t seen = atomic_load_explicit(&free_splits, memory_order_relaxed);

    do {
        if (seen == 0)
            return NULL;
        /* acquire: the previous owner's use of the split. Pairs with split_free(). */
    } while (!atomic_compare_exchange_weak_explicit(&free_splits, &seen, seen & (seen - 1), memory_order_acquire,
                                                    memory_order_relaxed));
    return splits_of(request) + __builtin_ctz(seen);
}

static void split_free(struct tern_request *request)
{
    /* release: this thread's use of the split before the next owner's. Pairs with split_alloc(). */
    atomic_fetch_or_explicit(&free_splits, 1u << (request->split - splits_of(request)), memory_order_release);
    request->split = NULL;
}

/* The number of bytes that may be in flight. */
static uint64_t split_window(void)
{
    return (uint64_t)tern_opt.msg_window * tern_opt.msg_chunk;
}

/* Whether the buffer is in a region that this rank allocated, so that a sender that has the region can fill it by
 * stores. */
static bool is_stored(const struct tern_request *request)
{
    uint64_t                     addr = (uint64_t)(uintptr_t)request->buffer;
    int                          me = tern_job.boot.rank;
    const struct tern_region    *region = tern_core_region_find(engine_of(request)->ctx, me, addr);
    const struct tern_link_part *part = region ? &region->part[me] : NULL;

    return part && part->mem_kind != TERN_MEM_PRIVATE && region->part[request->source].base &&
           tern_base_covers(part->size, addr - part->addr, request->want);
}

/* Whether the sender should copy too: the message is long enough, the link supports it, and the sender has a core of
 * its own. If this rank has long sends outstanding, other ranks are busy with those, and only a copy by stores is worth
 * it. */
static bool is_split(const struct tern_request *request, uint64_t left)
{
    return left >= LEAST_SPLIT && split_window() >= 2 * PAGE && tern_opt.msg_piece > 0 && request->attached &&
           request->part.path->instant && request->source != tern_job.boot.rank &&
           tern_job.ops[request->part.link]->inject && tern_job.spin_ns > 0 &&
           (request->stored || atomic_load_explicit(&tern_op_tagged_awaiting_fin, memory_order_relaxed) == 0);
}

static struct tern_tagged_peer *flow_of(const struct tern_request *request)
{
    return &((struct tern_tagged *)request->ctx->tagged)->peer[request->source];
}

/* Set up a work split. Pieces are counted from the beginning of the message, whatever came with the RTS. */
static void split_begin(struct tern_request *request, uint64_t left)
{
    static _Atomic uint32_t keys;
    uint64_t                args[TERN_SPLIT_ARGS], piece;

    request->stored = is_stored(request);
    request->split = is_split(request, left) ? split_alloc(request) : NULL;
    if (!request->split)
        return;
    piece = tern_opt.msg_piece < left / 4 ? tern_opt.msg_piece : left / 4;
    piece = piece < split_window() / 2 ? piece : split_window() / 2;
    request->chunk = piece > PAGE ? piece & ~(uint64_t)(PAGE - 1) : PAGE;
    request->opened = request->fetched / request->chunk;
    request->taken = request->opened;
    request->assist_sent = false;
    if (request->stored && flow_of(request)->absent > 0)
        flow_of(request)->absent--;
    args[TERN_SPLIT_ADDR] = (uint64_t)(uintptr_t)request->buffer;
    args[TERN_SPLIT_SIZE] = request->want;
    args[TERN_SPLIT_PROBE] = (uint64_t)(uintptr_t)&tern_link_probe;
    args[TERN_SPLIT_PIECE] = request->chunk;
    tern_base_split_begin(request->split, atomic_fetch_add_explicit(&keys, 1, memory_order_relaxed), args);
}

static uint64_t split_pieces(const struct tern_request *request)
{
    return (request->want + request->chunk - 1) / request->chunk;
}

/* The number of pieces that the sender has taken and that may not have landed yet. No pieces may be open. */
static uint64_t split_in_flight(const struct tern_request *request)
{
    return request->opened - request->taken - tern_base_split_completed(request->split);
}

/* Open as many pieces as may be in flight, and send an ASSIST or ring the sender's bell. Returns false if the sender's
 * pieces in flight already fill the window. */
static bool split_open(struct tern_request *request)
{
    uint64_t most = split_window() / request->chunk, away = split_in_flight(request);
    uint64_t left = split_pieces(request) - request->opened;
    uint64_t count = most > away ? most - away : 0;
    uint32_t key = atomic_load_explicit(&request->split->key, memory_order_relaxed);

    count = count < left ? count : left;
    count = count < TERN_SPLIT_MAX ? count : TERN_SPLIT_MAX;
    if (count == 0)
        return false;
    tern_base_split_open(request->split, request->opened, (unsigned)count);
    request->opened += count;
    if (request->assist_sent)
        tern_boot_wake(tern_core_job_slot(request->source));
    else
        request->assist_sent =
            tern_op_tagged_send_assist(request->source, request->id, (unsigned)(request->split - splits_of(request)),
                                       key) == TERN_OK;
    return true;
}

/* Record that the sender was asked to store, or has stored. */
static void split_asked(struct tern_request *request)
{
    request->seen = tern_base_split_helper_end(request->split);
    flow_of(request)->asked = tern_base_now();
}

/* Whether to leave the copy to the sender, whose stores are several times as fast as this rank's copy through the
 * kernel. This holds as long as the sender keeps storing for this context. A sender that did not respond is not waited
 * for again until it has stored something or has sent UNASKED more messages. */
static bool split_is_left(struct tern_request *request)
{
    struct tern_tagged_peer *flow = flow_of(request);

    if (request->seen != tern_base_split_helper_end(request->split)) {
        split_asked(request);
        flow->absent = 0;
    }
    if (flow->absent == 0 && tern_base_now() - flow->asked > ABSENT)
        flow->absent = UNASKED;
    return flow->absent == 0;
}

/* Copy one piece. The piece number comes from memory that the sender can write, so it is checked: only pieces of the
 * message are fetched, and no more of them than the message has. */
static void share_copy(struct tern_request *request, uint64_t piece)
{
    uint64_t pieces = split_pieces(request), at, end;
    bool     sound = piece < pieces && request->taken < pieces;

    at = sound ? piece * request->chunk : 0;
    end = at + request->chunk < request->want ? at + request->chunk : request->want;
    at = at > request->fetched ? at : request->fetched;
    request->taken++;
    if (sound && at < end)
        fail(request, get_chunk(request, at, end - at));
    else
        fail(request, tern_base_fail(TERN_ERR_LINK, "rank %d changed which pieces of its message are left to copy",
                                     request->source));
}

/* Withdraw the open pieces, so that no more are started. */
static void split_close(struct tern_request *request)
{
    request->opened -= tern_base_split_close(request->split);
}

/* Like pump() for a split copy. Returns true if all pieces have landed, including those of the sender, or the receive
 * has failed and none of the sender's pieces is in flight, or the sender is dead. */
static bool split_pump(struct tern_request *request)
{
    bool     again = false;
    uint64_t piece;

    while (!has_failed(request)) {
        if (request->stored && tern_base_split_left(request->split) && split_is_left(request)) {
            tern_core_message_keep_awake();
            return false;
        }
        if (tern_base_split_take_front(request->split, &piece)) {
            share_copy(request, piece);
            if (!request->stored)
                continue;
            tern_core_message_keep_awake(); /* storing for other ranks takes precedence over this copy */
            return false;
        }
        if (request->opened == split_pieces(request))
            break;
        if (again) {
            tern_core_message_keep_awake(); /* no bell will ring for the rest */
            return false;
        }
        if (!split_open(request))
            break;
        split_asked(request);
        again = true;
    }
    if (has_failed(request))
        split_close(request);
    if (split_in_flight(request) > 0 || (!has_failed(request) && request->opened < split_pieces(request))) {
        if (!tern_core_job_lost(request->source))
            return false;
        fail(request, tern_base_fail(TERN_ERR_PEER, "rank %d is gone", request->source));
    }
    /* relaxed: split_in_flight() orders it */
    fail(request, atomic_load_explicit(&request->split->status, memory_order_relaxed));
    split_free(request);
    request->fetched = request->want;
    return true;
}

/* Make sure that the sender does not write to the buffer any more, before the program gets it back. A sender copies the
 * pieces that it has taken at once, so the wait is short; but the sender may be stopped, so the wait is bounded. */
static void split_abort(struct tern_request *request)
{
    int64_t until = tern_base_now() + PATIENCE;

    split_close(request);
    while (split_in_flight(request) > 0 && !tern_core_job_lost(request->source) && tern_base_now() < until)
        sched_yield();
    if (split_in_flight(request) == 0) /* otherwise the split is never reused */
        split_free(request);
}

/* ---- the compound operation ---- */

/* Send the FIN after the data was fetched. Returns false if it must be retried later. */
static bool send_fin(struct tern_request *request)
{
    tern_status st =
        tern_op_tagged_send_fin(request->source, request->id, has_failed(request) ? request->status : TERN_OK);

    return st != TERN_AGAIN;
}

static void end(struct tern_request *request)
{
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock); /* the request may be an orphan */

    request->id = 0;
    tern_op_request_end(request, request->status);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

static void fetch_advance(struct tern_op *op)
{
    struct tern_request *request = op->data;

    if (request->split && !split_pump(request))
        return;
    if (!pump(request) || request->window.landed < request->window.started)
        return;
    detach(request);
    if (!send_fin(request))
        return;
    op->data = NULL;
    tern_core_op_complete(op, TERN_OK); /* the request has its own status */
    tern_op_engine_busy_dec(engine_of(request));
    end(request);
}

static void fetch_ended(struct tern_op *op, struct tern_op *transfer, tern_status status)
{
    struct tern_request *request = op->data;

    (void)transfer;
    request->window.landed++;
    fail(request, status);
}

/* The program gave up waiting: start no more gets. */
static void fetch_cancel(struct tern_op *op)
{
    fail(op->data, TERN_ERR_TIMEOUT);
}

/* The context is closed, unless the fetch has ended. */
static void fetch_release(struct tern_op *op)
{
    struct tern_request *request = op->data;

    if (request && request->split)
        split_abort(request);
    if (request)
        detach(request);
}

static void fetch_describe(const struct tern_op *op, char *text, size_t size)
{
    snprintf(text, size, "receive of a tagged message of rank %d", op->link.xfer.part->rank);
}

static const struct tern_op_kind fetch_kind = { .advance = fetch_advance,
                                                .ended = fetch_ended,
                                                .cancel = fetch_cancel,
                                                .describe = fetch_describe,
                                                .release = fetch_release };

/* Find the part of a region that both ranks have. */
static tern_status find_part(struct tern_request *request)
{
    const struct tern_mem_handle *handle = &request->handle;

    if (!tern_core_region_named(handle->region, request->source, &request->part) || !request->part.path ||
        !tern_base_covers(request->part.size, handle->offset, handle->size))
        return tern_base_fail(TERN_ERR_LINK, "rank %d offered a message in a region that this rank has not",
                              request->source);
    request->begin = handle->offset;
    return TERN_OK;
}

/* Attach the sender's memory. */
static tern_status attach(struct tern_request *request)
{
    const struct tern_mem_handle *handle = &request->handle;
    tern_status                   st;

    request->begin = 0;
    if (request->fetched >= request->want)
        return TERN_OK;
    if (!(handle->region & WIRE_TAGGED_OWN))
        return find_part(request);
    request->part.size = handle->size;
    request->part.addr = handle->addr;
    request->part.offset = handle->offset;
    request->part.mem_kind = handle->mem_kind;
    request->part.region = handle->region;
    request->part.pid = handle->pid;
    st = tern_core_links_attach(request->part.link, handle, "", &request->part);
    request->attached = st == TERN_OK;
    return st;
}

/* End a receive whose data cannot be fetched, and send the FIN. If the FIN cannot be sent now, the receive returns to
 * the list of matched receives, and this function is called again when its context makes progress. */
static void give_up(struct tern_request *request, tern_status st)
{
    bool alone;

    fail(request, st);
    detach(request);
    if (send_fin(request)) {
        end(request);
        return;
    }
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    tern_op_request_matched(request);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

static void start_fetch(struct tern_engine *engine, struct tern_request *request)
{
    uint64_t left;

    if (TERN_UNLIKELY(has_failed(request))) {
        give_up(request, request->status);
        return;
    }
    request->want = request->len < request->size ? request->len : request->size;
    left = request->want > request->fetched ? request->want - request->fetched : 0;
    request->chunk = left > tern_opt.msg_chunked ? tern_opt.msg_chunk : left;
    request->window = (struct tern_window){ .limit = (uint32_t)tern_opt.msg_window };
    request->part = (struct tern_link_part){ .rank = request->source, .link = tern_job.peer_link[request->source] };
    fail(request, attach(request));
    if (!(request->fetch = tern_core_op_new(engine->ctx, &fetch_kind, "tern_recv"))) {
        give_up(request, TERN_ERR_NOMEM);
        return;
    }
    split_begin(request, left);
    request->fetch->data = request;
    request->fetch->link.xfer = (struct tern_xfer){ .part = &request->part, .len = left, .get = true };
    tern_op_engine_busy_inc(engine);
    tern_core_op_enlist(request->fetch);
}

bool tern_op_tagged_rndv_start_for(struct tern_engine *engine, struct tern_tagged *tagged)
{
    struct tern_request *first = tern_op_request_take_matched(tagged);

    for (struct tern_request *request = first, *next; request; request = next) {
        next = request->next;
        start_fetch(engine, request);
    }
    return first != NULL;
}

/* Make sure that the context has an engine. */
static tern_status need_engine(struct tern_ctx *ctx)
{
    struct tern_engine *engine;
    tern_status         st = ctx->engine ? TERN_OK : tern_op_engine_open(ctx);

    if (st < 0)
        return st;
    engine = (struct tern_engine *)ctx->engine;
    /* release: the context's tagged state. Pairs with the helper thread. */
    atomic_store_explicit(&engine->tagged, (struct tern_tagged *)ctx->tagged, memory_order_release);
    return TERN_OK;
}

void tern_op_tagged_rndv_start(struct tern_ctx *ctx)
{
    struct tern_tagged *tagged = (struct tern_tagged *)ctx->tagged;
    tern_status         st = need_engine(ctx);
    struct tern_engine *engine = (struct tern_engine *)ctx->engine;

    if (TERN_UNLIKELY(st < 0)) {
        for (struct tern_request *request = tern_op_request_take_matched(tagged), *next; request; request = next) {
            next = request->next;
            give_up(request, st);
        }
        return;
    }
    pthread_mutex_lock(&engine->lock);
    tern_op_tagged_rndv_start_for(engine, tagged);
    pthread_mutex_unlock(&engine->lock);
}

bool tern_op_tagged_has_helper(struct tern_ctx *ctx)
{
    return need_engine(ctx) == TERN_OK && tern_op_helper_start() == TERN_OK;
}

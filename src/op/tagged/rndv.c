/* rndv.c: fetching the data of an offer: the receiver's side of rendezvous.
 *
 * The sender's memory is reached like a part of a region (attach), or is one, and what did not come along is got from
 * it: up to TERN_MSG_CHUNKED bytes by one get, more by gets of TERN_MSG_CHUNK bytes of which at most TERN_MSG_WINDOW
 * are under way. So what a message takes of the network is what the receiver's memory takes of it. Chunks may land in
 * any order. Where a get is done when it returns, no more than a window of them are made before everything else gets
 * its turn; and as many bytes are opened to the sender at a time, which may copy some of them (rndv_assist.c).
 *
 * When the last has landed the sender is told. It is a work (core/context.h) of the context of the engine from the
 * first get to the word: so it goes on as triggered operations do, by whoever makes progress for the receive's context,
 * and by the thread beside the program while that computes. Everything here but tern_op_tagged_rndv_start() and
 * tern_op_tagged_has_helper() has the lock of the engine.
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
#include "op/trigger/thread.h"
#include "op/tagged/tagged.h"
#include "op/wire.h"

#define PAGE 4096u            /* what the kernel copies by */
#define LEAST_SHARED 32768u   /* bytes */
#define PATIENCE 1000000000ll /* ns */
#define ABSENT 50000ll        /* ns without a store, after which a sender is in no call */
#define UNASKED 16u           /* messages before such a sender is waited for again */

static struct tern_request *request_of(struct tern_compound *work)
{
    return (struct tern_request *)(void *)((unsigned char *)work - offsetof(struct tern_request, compound));
}

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

/* One get. TERN_AGAIN: nothing was started. */
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
    struct tern_pending         *transfer = NULL;
    tern_status                  st;

    if (!path->instant) {
        if (!(transfer = tern_core_pending_new(ctx)))
            return TERN_ERR_NOMEM;
        transfer->owner = &request->compound;
        transfer->op.xfer = xfer;
    }
    st = path->start(ctx->lane[request->part.link], &xfer, transfer ? &transfer->op : NULL);
    if (transfer && st != TERN_PENDING)
        tern_core_pending_drop(transfer);
    return st;
}

/* Bytes of the next get. */
static uint64_t next_len(const struct tern_request *request)
{
    uint64_t left = request->want - request->fetched;

    return left < request->chunk ? left : request->chunk;
}

/* Start what may be started. True: all of it has been, or it has failed. */
static bool pump(struct tern_request *request)
{
    struct tern_window *window = &request->window;
    uint32_t            now = 0; /* gets that were done at once */

    while (request->fetched < request->want && !has_failed(request)) {
        uint64_t    len = next_len(request);
        tern_status st;

        if (!tern_op_window_open(window))
            return false;
        if (now == window->limit) {
            tern_core_message_keep_awake(); /* nobody will ring for the rest */
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

/* ---- together with the sender ---- */

static _Atomic uint32_t shares = UINT32_MAX >> (32 - TERN_LINK_SPLITS); /* of this rank, that no message uses */

static struct tern_work_split *shares_of(const struct tern_request *request)
{
    return tern_job.ops[request->part.link]->work_splits(tern_job.link[request->part.link], tern_job.boot.rank);
}

/* Take one; NULL: all are in use. */
static struct tern_work_split *share_take(const struct tern_request *request)
{
    uint32_t seen = atomic_load_explicit(&shares, memory_order_relaxed);

    do {
        if (seen == 0)
            return NULL;
        /* acquire: what the thread that gave it back did with it. Pairs with share_give(). */
    } while (!atomic_compare_exchange_weak_explicit(&shares, &seen, seen & (seen - 1), memory_order_acquire,
                                                    memory_order_relaxed));
    return shares_of(request) + __builtin_ctz(seen);
}

static void share_give(struct tern_request *request)
{
    /* release: this thread's use before the next. Pairs with share_take(). */
    atomic_fetch_or_explicit(&shares, 1u << (request->split - shares_of(request)), memory_order_release);
    request->split = NULL;
}

/* Bytes that may be under way. */
static uint64_t share_window(void)
{
    return (uint64_t)tern_opt.msg_window * tern_opt.msg_chunk;
}

/* Whether the buffer is memory of a region that this rank allocated, so that the sender, if it has the region, fills it
 * by stores. */
static bool is_stored(const struct tern_request *request)
{
    uint64_t                     addr = (uint64_t)(uintptr_t)request->buffer;
    int                          me = tern_job.boot.rank;
    const struct tern_region    *region = tern_core_region_find(engine_of(request)->ctx, me, addr);
    const struct tern_link_part *part = region ? &region->part[me] : NULL;

    return part && part->mem_kind != TERN_MEM_PRIVATE && region->part[request->source].base &&
           tern_base_covers(part->size, addr - part->addr, request->want);
}

/* Whether the sender is to copy too: there is enough for two, it can, and it has a core of its own. Where this rank has
 * sent long messages, others are busy with those; but stores are worth it. */
static bool is_shared(const struct tern_request *request, uint64_t left)
{
    return left >= LEAST_SHARED && share_window() >= 2 * PAGE && tern_opt.msg_piece > 0 && request->attached &&
           request->part.path->instant && request->source != tern_job.boot.rank &&
           tern_job.ops[request->part.link]->work_splits && tern_job.spin_ns > 0 &&
           (request->stored || atomic_load_explicit(&tern_op_tagged_awaiting_fin, memory_order_relaxed) == 0);
}

static struct tern_tagged_peer *flow_of(const struct tern_request *request)
{
    return &((struct tern_tagged *)request->ctx->tagged)->peer[request->source];
}

/* Pieces count from the beginning of the message, whatever came along. */
static void share_begin(struct tern_request *request, uint64_t left)
{
    static _Atomic uint32_t keys;
    uint64_t                note[TERN_SPLIT_ARGS], piece;

    request->stored = is_stored(request);
    request->split = is_shared(request, left) ? share_take(request) : NULL;
    if (!request->split)
        return;
    piece = tern_opt.msg_piece < left / 4 ? tern_opt.msg_piece : left / 4;
    piece = piece < share_window() / 2 ? piece : share_window() / 2;
    request->chunk = piece > PAGE ? piece & ~(uint64_t)(PAGE - 1) : PAGE;
    request->opened = request->fetched / request->chunk;
    request->taken = request->opened;
    request->assist_sent = false;
    if (request->stored && flow_of(request)->absent > 0)
        flow_of(request)->absent--;
    note[TERN_SPLIT_ADDR] = (uint64_t)(uintptr_t)request->buffer;
    note[TERN_SPLIT_SIZE] = request->want;
    note[TERN_SPLIT_PROBE] = (uint64_t)(uintptr_t)&tern_link_probe;
    note[TERN_SPLIT_PIECE] = request->chunk;
    tern_base_split_begin(request->split, atomic_fetch_add_explicit(&keys, 1, memory_order_relaxed), note);
}

static uint64_t share_pieces(const struct tern_request *request)
{
    return (request->want + request->chunk - 1) / request->chunk;
}

/* Pieces that the sender has taken, of which nobody knows whether they have landed. Nothing is left. */
static uint64_t share_away(const struct tern_request *request)
{
    return request->opened - request->taken - tern_base_split_completed(request->split);
}

/* Open as much as may be under way, and see that the sender knows. False: what it has taken is as much. */
static bool share_open(struct tern_request *request)
{
    uint64_t          most = share_window() / request->chunk, away = share_away(request);
    uint64_t          left = share_pieces(request) - request->opened;
    uint64_t          count = most > away ? most - away : 0;
    struct tern_slot *slot = tern_core_job_slot(request->source);
    uint32_t          key = atomic_load_explicit(&request->split->key, memory_order_relaxed);

    count = count < left ? count : left;
    count = count < TERN_SPLIT_MAX ? count : TERN_SPLIT_MAX;
    if (count == 0)
        return false;
    tern_base_split_open(request->split, request->opened, (unsigned)count);
    request->opened += count;
    if (request->assist_sent)
        tern_boot_bell_ring(&slot->bell, &slot->sleepers);
    else
        request->assist_sent =
            tern_op_tagged_send_assist(request->source, request->id, (unsigned)(request->split - shares_of(request)),
                                       key) == TERN_OK;
    return true;
}

/* The sender has been asked to store, or has. */
static void share_asked(struct tern_request *request)
{
    request->seen = tern_base_split_helper_end(request->split);
    flow_of(request)->asked = tern_base_now();
}

/* Whether to leave it to the sender, which copies several times as fast as this rank would through the kernel: as long
 * as it is seen to store anything for this context. One that was in no call when it was asked is not waited for again
 * before it has come, or has sent some more. */
static bool share_is_left(struct tern_request *request)
{
    struct tern_tagged_peer *flow = flow_of(request);

    if (request->seen != tern_base_split_helper_end(request->split)) {
        share_asked(request);
        flow->absent = 0;
    }
    if (flow->absent == 0 && tern_base_now() - flow->asked > ABSENT)
        flow->absent = UNASKED;
    return flow->absent == 0;
}

/* The number of the piece comes from memory that the sender can write: only pieces that are this rank's to fetch are,
 * and no more than there are. */
static void share_copy(struct tern_request *request, uint64_t piece)
{
    uint64_t pieces = share_pieces(request), at, end;
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

/* Start no more. */
static void share_close(struct tern_request *request)
{
    request->opened -= tern_base_split_close(request->split);
}

/* The same as pump(): and what the sender has taken has landed. */
static bool share_pump(struct tern_request *request)
{
    bool     again = false;
    uint64_t piece;

    while (!has_failed(request)) {
        if (request->stored && tern_base_split_left(request->split) && share_is_left(request)) {
            tern_core_message_keep_awake();
            return false;
        }
        if (tern_base_split_take_front(request->split, &piece)) {
            share_copy(request, piece);
            if (!request->stored)
                continue;
            tern_core_message_keep_awake(); /* what this rank stores for others is better than this */
            return false;
        }
        if (request->opened == share_pieces(request))
            break;
        if (again) {
            tern_core_message_keep_awake(); /* nobody will ring for the rest */
            return false;
        }
        if (!share_open(request))
            break;
        share_asked(request);
        again = true;
    }
    if (has_failed(request))
        share_close(request);
    if (share_away(request) > 0 || (!has_failed(request) && request->opened < share_pieces(request))) {
        if (!tern_core_job_lost(request->source))
            return false;
        fail(request, tern_base_fail(TERN_ERR_PEER, "rank %d is gone", request->source));
    }
    fail(request, atomic_load_explicit(&request->split->status, memory_order_relaxed)); /* share_away() orders */
    share_give(request);
    request->fetched = request->want;
    return true;
}

/* The memory is the program's again: see that the sender does not write there any more. What it has taken it copies at
 * once, so this is short; but it may be stopped. */
static void share_abort(struct tern_request *request)
{
    int64_t until = tern_base_now() + PATIENCE;

    share_close(request);
    while (share_away(request) > 0 && !tern_core_job_lost(request->source) && tern_base_now() < until)
        sched_yield();
    if (share_away(request) == 0) /* otherwise nobody uses it again */
        share_give(request);
}

/* ---- the work ---- */

/* Fetched: tell the sender. False: later. */
static bool tell(struct tern_request *request)
{
    tern_status st =
        tern_op_tagged_send_fin(request->source, request->id, has_failed(request) ? request->status : TERN_OK);

    return st != TERN_AGAIN;
}

static void end(struct tern_request *request)
{
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock); /* for an orphan */

    request->id = 0;
    tern_op_request_end(request, request->status);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

static void advance(struct tern_compound *work)
{
    struct tern_request *request = request_of(work);

    if (request->split && !share_pump(request))
        return;
    if (!pump(request) || request->window.landed < request->window.started)
        return;
    detach(request);
    if (!tell(request))
        return;
    tern_core_compound_end(work, TERN_OK); /* the request has its status */
    tern_op_engine_busy_dec(engine_of(request));
    end(request);
}

static void ended(struct tern_compound *work, struct tern_pending *transfer, tern_status status)
{
    struct tern_request *request = request_of(work);

    (void)transfer;
    request->window.landed++;
    fail(request, status);
}

/* Nobody waits: start no more. */
static void cancel(struct tern_compound *work)
{
    fail(request_of(work), TERN_ERR_TIMEOUT);
}

static void release(struct tern_compound *work)
{
    if (request_of(work)->split)
        share_abort(request_of(work));
    detach(request_of(work)); /* of a context that is closed */
}

static void describe(const struct tern_pending *record, char *text, size_t size)
{
    snprintf(text, size, "receive of a tagged message of rank %d", record->op.xfer.part->rank);
}

/* Memory of a region that both ranks have. */
static tern_status find_part(struct tern_request *request)
{
    const struct tern_mem_handle *card = &request->handle;
    bool                          found = false;

    pthread_mutex_lock(&tern_job.lock);
    for (const struct tern_region *region = tern_job.regions; region && !found; region = region->next) {
        const struct tern_link_part *part = &region->part[request->source];

        if ((found = part->region == card->region && part->path != NULL))
            request->part = *part;
    }
    pthread_mutex_unlock(&tern_job.lock);
    if (!found || !tern_base_covers(request->part.size, card->offset, card->size))
        return tern_base_fail(TERN_ERR_LINK, "rank %d offered a message in a region that this rank has not",
                              request->source);
    request->begin = card->offset;
    return TERN_OK;
}

/* Bring the sender's memory into reach. */
static tern_status attach(struct tern_request *request)
{
    const struct tern_mem_handle *card = &request->handle;
    tern_status                   st;

    request->begin = 0;
    if (request->fetched >= request->want)
        return TERN_OK;
    if (!(card->region & WIRE_TAGGED_OWN))
        return find_part(request);
    request->part.size = card->size;
    request->part.addr = card->addr;
    request->part.offset = card->offset;
    request->part.mem_kind = card->mem_kind;
    request->part.region = card->region;
    request->part.pid = card->pid;
    st = tern_core_links_attach(request->part.link, card, "", &request->part);
    request->attached = st == TERN_OK;
    return st;
}

/* There is no memory to fetch it: tell the sender. Where that cannot be done now, the receive stays among those that
 * are to be fetched, and is given up again when its context makes progress. */
static void give_up(struct tern_request *request, tern_status st)
{
    bool alone;

    fail(request, st);
    detach(request);
    if (tell(request)) {
        end(request);
        return;
    }
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    tern_op_request_matched(request);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

static void pull(struct tern_engine *engine, struct tern_request *request)
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
    request->compound =
        (struct tern_compound){ .advance = advance, .ended = ended, .cancel = cancel, .release = release };
    fail(request, attach(request));
    if (!(request->compound.pending = tern_core_pending_new(engine->ctx))) {
        give_up(request, TERN_ERR_NOMEM);
        return;
    }
    share_begin(request, left);
    request->compound.pending->describe = describe;
    request->compound.pending->op.xfer = (struct tern_xfer){ .part = &request->part, .len = left, .get = true };
    tern_core_compound_enlist(&request->compound);
    tern_op_engine_busy_inc(engine);
    advance(&request->compound);
}

bool tern_op_tagged_rndv_start_for(struct tern_engine *engine, struct tern_tagged *tagged)
{
    struct tern_request *first = tern_op_request_take_matched(tagged);

    for (struct tern_request *request = first, *next; request; request = next) {
        next = request->next;
        pull(engine, request);
    }
    return first != NULL;
}

/* The context has an engine from now on. */
static tern_status need_engine(struct tern_ctx *ctx)
{
    struct tern_engine *engine;
    tern_status         st = ctx->engine ? TERN_OK : tern_op_engine_open(ctx);

    if (st < 0)
        return st;
    engine = (struct tern_engine *)ctx->engine;
    /* release: what a context has of messages. Pairs with the thread beside. */
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

/* tagged.c: requests for tagged messages, and the tagged state of a context. */
#include "op/tagged/tagged.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "core/message.h"
#include "core/wait.h"
#include "op/trigger/helper.h"

#define PER_SLAB 32u

struct tern_tagged_slab {
    struct tern_tagged_slab *next;
    struct tern_request      request[PER_SLAB];
};

struct tern_biased_lock tern_op_tagged_lock;

static struct tern_tagged *tagged_of(const struct tern_ctx *ctx)
{
    return (struct tern_tagged *)ctx->tagged;
}

/* ---- contexts ---- */

/* Reverse a list that is newest first. */
static struct tern_request *oldest_first(struct tern_request *newest)
{
    struct tern_request *oldest = NULL;

    while (newest) {
        struct tern_request *next = newest->next;

        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

/* Stop counting a receive in wishes. The caller holds the lock. */
static void unwish(struct tern_request *request)
{
    struct tern_tagged *tagged = tagged_of(request->ctx);

    request->wished = false;
    atomic_store_explicit(&tagged->wishes, atomic_load_explicit(&tagged->wishes, memory_order_relaxed) - 1,
                          memory_order_relaxed); /* relaxed: a hint for the helper thread */
}

struct tern_request *tern_op_request_take_matched(struct tern_tagged *tagged)
{
    bool                 alone = tern_base_biased_lock(&tern_op_tagged_lock);
    struct tern_request *newest = tagged->matched;

    tagged->matched = NULL;
    for (struct tern_request *request = newest; request; request = request->next)
        if (request->wished)
            unwish(request);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return oldest_first(newest);
}

/* Take the completed orphans of a context. *matched: whether receives are waiting to be fetched. */
static struct tern_request *take_orphans(struct tern_tagged *tagged, bool *matched)
{
    bool                 alone = tern_base_biased_lock(&tern_op_tagged_lock);
    struct tern_request *orphans = tagged->ended;

    tagged->ended = NULL;
    *matched = tagged->matched != NULL;
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return orphans;
}

/* Whether only a dead rank could complete the request, possibly with a message that the rank sent before its death. */
static bool is_doomed(const struct tern_request *request)
{
    struct tern_match_name name;

    if (tern_op_request_state(request) != TERN_REQUEST_ACTIVE)
        return false;
    if (request->kind == TERN_REQUEST_RECV) {
        name = tern_op_request_name(request);
        return tern_op_tagged_senders_dead(request->ctx, &name);
    }
    return request->phase == TERN_REQUEST_OFFERED && tern_core_job_lost(request->peer);
}

/* Complete the requests that wait for dead ranks. Returns true if some may still be completed by messages in flight
 * from a dead rank, and must be checked again. */
static bool end_doomed(struct tern_tagged *tagged)
{
    bool again = false;

    for (struct tern_tagged_slab *slab = tagged->slabs; slab; slab = slab->next)
        for (unsigned i = 0; i < PER_SLAB; i++)
            again |= is_doomed(&slab->request[i]) && !tern_op_request_hopeless(&slab->request[i]);
    return again;
}

static void advance(struct tern_ctx *ctx)
{
    struct tern_tagged  *tagged = tagged_of(ctx);
    struct tern_request *request;
    uint32_t             losses;
    bool                 matched;

    /* Clear the flag before taking the work that it announces. acquire: deaths; pairs with tern_core_job_mark_dead().
     * The lock orders everything else. */
    (void)atomic_exchange_explicit(&ctx->attention, false, memory_order_acquire);
    for (struct tern_request *next = request = take_orphans(tagged, &matched); request; request = next) {
        next = request->next;
        tern_op_request_drop(request);
    }
    if (matched)
        tern_op_tagged_rndv_start(ctx);
    if (tagged->queue)
        tern_op_tagged_progress_sends(tagged);
    if (TERN_UNLIKELY(atomic_load_explicit(&tagged->assists, memory_order_relaxed) > 0)) /* a hint; the lock orders */
        tern_op_tagged_assist(ctx);
    losses = atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed);
    if (TERN_UNLIKELY(losses != tagged->losses || tagged->doomed)) {
        tagged->losses = losses;
        tagged->doomed = end_doomed(tagged);
    }
    if (tagged->queue || tagged->doomed || atomic_load_explicit(&tagged->assists, memory_order_relaxed) > 0)
        atomic_store_explicit(&ctx->attention, true, memory_order_relaxed); /* this thread reads it */
}

/* ---- the end of a context ---- */

/* Whether the request is a receive that is not matched yet. The caller holds the lock. */
static bool is_posted(const struct tern_request *request)
{
    return request->kind == TERN_REQUEST_RECV && request->phase == TERN_REQUEST_POSTED &&
           atomic_load_explicit(&request->state, memory_order_relaxed) == TERN_REQUEST_ACTIVE;
}

/* Describe a finished send or receive. */
static void request_describe(const struct tern_request *request, char *text, size_t size)
{
    struct tern_match_name name = tern_op_request_name(request);

    if (request->kind != TERN_REQUEST_RECV)
        snprintf(text, size, "send of %" PRIu64 " bytes to rank %d of the job", request->len, request->source);
    else if (request->source >= 0)
        snprintf(text, size, "receive of %" PRIu64 " bytes from rank %d of the job", request->len, request->source);
    else if (tern_op_match_any_source(&name)) /* no message was matched */
        snprintf(text, size, "receive of at most %" PRIu64 " bytes from any rank", request->size);
    else
        snprintf(text, size, "receive of at most %" PRIu64 " bytes from rank %d of the job", request->size,
                 (int)name.source);
}

/* Retire a request of a context that is closing and has no other outstanding messages: withdraw a receive without a
 * message, and record the first failure that the program has not asked for. The caller holds the lock. */
static void request_retire(struct tern_ctx *ctx, struct tern_request *request)
{
    unsigned state = tern_op_request_state(request);

    if (is_posted(request)) {
        tern_op_tagged_unpost(request);
        tern_op_request_end(request, TERN_ERR_CANCELLED);
    } else if (state == TERN_REQUEST_DONE && request->status < 0 && ctx->failed == TERN_OK) {
        ctx->failed = request->status;
        request_describe(request, ctx->failed_op, sizeof(ctx->failed_op));
    }
}

static bool retire_if_idle(struct tern_ctx *ctx)
{
    struct tern_tagged *tagged = tagged_of(ctx);
    bool                alone = tern_base_biased_lock(&tern_op_tagged_lock);
    bool                idle = !tagged->queue && tagged->awaiting_fin == 0 && !tagged->matched;

    for (struct tern_tagged_slab *slab = idle ? tagged->slabs : NULL; slab; slab = slab->next)
        for (unsigned i = 0; i < PER_SLAB; i++)
            request_retire(ctx, &slab->request[i]);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return idle;
}

/* Taking the engine's lock makes sure that the helper thread has not taken a receive that is not counted as busy
 * yet. */
static tern_status retire(struct tern_ctx *ctx)
{
    struct tern_engine *engine = (struct tern_engine *)ctx->engine;
    bool                idle;

    if (tern_op_tagged_has_probed(ctx))
        return tern_base_fail(TERN_ERR_STATE,
                              "tern_ctx_destroy: a message that a matched probe of the context has found "
                              "was not received; receive it with tern_mrecv first");
    if (!engine)
        return retire_if_idle(ctx) ? TERN_OK : TERN_PENDING;
    pthread_mutex_lock(&engine->lock);
    idle = tern_op_engine_busy(engine) == 0 && retire_if_idle(ctx);
    pthread_mutex_unlock(&engine->lock);
    return idle ? TERN_OK : TERN_PENDING;
}

/* Describe what delays the closing of a context: the first active request that is not a receive without a message. */
static void describe_active(const struct tern_ctx *ctx, char *text, size_t size)
{
    for (struct tern_tagged_slab *slab = tagged_of(ctx)->slabs; slab; slab = slab->next) {
        for (unsigned i = 0; i < PER_SLAB; i++) {
            const struct tern_request *request = &slab->request[i];

            if (tern_op_request_state(request) == TERN_REQUEST_ACTIVE && request->kind != TERN_REQUEST_RECV) {
                tern_op_request_describe(request, text, size);
                return;
            }
        }
    }
    snprintf(text, size, "to fetch the data of a tagged message");
}

/* Clean up a request of a context that is closed without having retired, because tern_finalize gave up. */
static void request_close(struct tern_request *request)
{
    bool alone;

    if (request->id != 0 && request->kind != TERN_REQUEST_RECV)
        tern_op_tagged_withdraw(request);
    else if (request->id != 0)
        (void)tern_op_tagged_send_fin(request->source, request->id, TERN_ERR_PEER); /* its sender waits for a FIN */
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    if (request->bound)
        tern_op_tagged_unpost(request);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

static void tagged_close(struct tern_ctx *ctx)
{
    struct tern_tagged *tagged = tagged_of(ctx);

    while (tagged->slabs) {
        struct tern_tagged_slab *slab = tagged->slabs;

        tagged->slabs = slab->next;
        for (unsigned i = 0; i < PER_SLAB; i++)
            request_close(&slab->request[i]);
        free(slab);
    }
    free(tagged);
    ctx->tagged = NULL;
}

static bool tagged_make(struct tern_ctx *ctx)
{
    size_t              ranks = (size_t)tern_job.boot.ranks;
    struct tern_tagged *tagged = calloc(1, sizeof(*tagged) + ranks * sizeof(tagged->peer[0]));

    if (!tagged)
        return false;
    tagged->base = (struct tern_ctx_tagged){
        .advance = advance, .retire = retire, .describe = describe_active, .close = tagged_close
    };
    tagged->queue_end = &tagged->queue;
    ctx->tagged = &tagged->base;
    return true;
}

/* ---- requests ---- */

static bool slab_add(struct tern_ctx *ctx)
{
    struct tern_tagged      *tagged = tagged_of(ctx);
    struct tern_tagged_slab *slab = aligned_alloc(_Alignof(struct tern_tagged_slab), sizeof(*slab));

    if (!slab)
        return false;
    memset(slab, 0, sizeof(*slab));
    slab->next = tagged->slabs;
    tagged->slabs = slab;
    for (unsigned i = 0; i < PER_SLAB; i++) {
        slab->request[i].ctx = ctx;
        slab->request[i].next = tagged->unused;
        tagged->unused = &slab->request[i];
    }
    return true;
}

bool tern_op_request_make(struct tern_ctx *ctx)
{
    if (!ctx->tagged && !tagged_make(ctx))
        return false;
    return tagged_of(ctx)->unused || slab_add(ctx);
}

static void want_attention(struct tern_ctx *ctx)
{
    atomic_store_explicit(&ctx->attention, true, memory_order_relaxed); /* the lock orders it */
}

void tern_op_request_matched(struct tern_request *request)
{
    struct tern_tagged *tagged = tagged_of(request->ctx);

    request->next = tagged->matched;
    tagged->matched = request;
    want_attention(request->ctx);
    if (request->wished && atomic_load_explicit(&tern_bias.revoked, memory_order_relaxed)) /* a hint */
        tern_op_helper_wake(); /* the delivering thread may not be the context's thread, which may be computing */
}

void tern_op_request_end_watched(struct tern_request *request, tern_status status)
{
    request->status = status;
    request->watched = false;
    if (request->wished)
        unwish(request);
    if (request->record) {
        request->record->status = status;
        __atomic_store_n(&request->record->done, true, __ATOMIC_RELEASE); /* pairs with tern_core_event_done() */
        request->record = NULL;
    }
    if (request->orphan) {
        atomic_store_explicit(&request->state, TERN_REQUEST_IDLE, memory_order_relaxed);
        request->next = tagged_of(request->ctx)->ended;
        tagged_of(request->ctx)->ended = request;
        want_attention(request->ctx);
        return;
    }
    /* release: the source, tag, length and data of the message. Pairs with tern_op_request_state(). */
    atomic_store_explicit(&request->state, TERN_REQUEST_DONE, memory_order_release);
}

/* Remove a send from the queue before it was handed to the link. Must be called by the context's thread. */
static void unqueue(struct tern_request *request)
{
    struct tern_tagged   *tagged = tagged_of(request->ctx);
    struct tern_request **at = &tagged->queue;

    while (*at != request)
        at = &(*at)->next;
    *at = request->next;
    if (!*at)
        tagged->queue_end = at;
    tagged->peer[request->peer].queued--;
}

bool tern_op_request_cancel(struct tern_request *request)
{
    bool alone, cancelled;

    if (request->kind != TERN_REQUEST_RECV) {
        if (request->phase != TERN_REQUEST_QUEUED)
            return false;
        unqueue(request);
        tern_op_tagged_withdraw(request);
        tern_op_request_end(request, TERN_ERR_CANCELLED);
        return true;
    }
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    if ((cancelled = is_posted(request))) {
        tern_op_tagged_unpost(request);
        tern_op_request_end(request, TERN_ERR_CANCELLED);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return cancelled;
}

void tern_op_request_abandon(struct tern_request *request)
{
    bool alone;

    if (tern_op_request_state(request) == TERN_REQUEST_ACTIVE && tern_op_request_cancel(request)) {
        tern_op_request_drop(request);
        return;
    }
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    if (tern_op_request_state(request) == TERN_REQUEST_DONE)
        tern_op_request_drop(request);
    else
        request->watched = request->orphan = true;
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

/* ---- deaths ---- */

static bool recv_hopeless(struct tern_request *request)
{
    struct tern_match_name name = tern_op_request_name(request);
    bool                   alone, hopeless;

    if (!tern_op_tagged_deserted(request->ctx, &name))
        return false;
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    if ((hopeless = is_posted(request))) {
        tern_op_tagged_unpost(request);
        request->source = -1;
        tern_op_request_end(request, TERN_ERR_PEER);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return hopeless;
}

bool tern_op_request_hopeless(struct tern_request *request)
{
    if (TERN_LIKELY(atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) == 0))
        return false;
    if (request->kind == TERN_REQUEST_RECV)
        return recv_hopeless(request);
    if (request->phase != TERN_REQUEST_OFFERED || !tern_core_job_lost(request->peer) ||
        tern_core_message_has_from(request->peer, TERN_CHANNEL_REPLY) || !tern_op_tagged_withdraw(request))
        return false;
    tern_op_request_end(request, TERN_ERR_PEER);
    return true;
}

void tern_op_request_doomed(struct tern_request *request)
{
    tagged_of(request->ctx)->doomed = true;
    atomic_store_explicit(&request->ctx->attention, true, memory_order_relaxed); /* this thread reads it */
}

/* ---- events and descriptions ---- */

static void describe_record(const struct tern_op *record, char *text, size_t size)
{
    snprintf(text, size, "%s of a tagged message, rank %d of the job", record->scratch[0] ? "receive" : "send",
             (int)record->scratch[1]);
}

static const struct tern_op_kind record_kind = { .describe = describe_record };

bool tern_op_request_event(struct tern_request *request, tern_event *event)
{
    struct tern_op *fresh = tern_core_op_new(request->ctx, &record_kind, NULL);
    bool            alone;

    if (!fresh)
        return false;
    fresh->scratch[0] = request->kind == TERN_REQUEST_RECV;
    fresh->scratch[1] = (uint64_t)request->peer;
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    if (tern_op_request_state(request) == TERN_REQUEST_ACTIVE && !request->record) {
        request->record = fresh;
        request->watched = true;
        fresh = NULL;
    }
    *event = TERN_EVENT_INIT;
    if (request->record) {
        request->record->events++;
        *event = tern_core_event_make(request->record, false);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    if (fresh)
        tern_core_op_drop(fresh);
    return true;
}

void tern_op_request_describe(const struct tern_request *request, char *text, size_t size)
{
    static const char *const phase[] = { "for which none has come", "whose data is being fetched",
                                         "for which there is no room", "which was not received yet" };
    char                     source[24] = "any rank", tag[40] = "any tag";
    struct tern_match_name   name = tern_op_request_name(request);
    bool                     recv = request->kind == TERN_REQUEST_RECV;
    bool                     alone = tern_base_biased_lock(&tern_op_tagged_lock);
    unsigned                 phase_now = request->phase;

    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    if (!recv || !tern_op_match_any_source(&name))
        snprintf(source, sizeof(source), "rank %d", name.source);
    if (!recv || name.class >= TERN_MATCH_BITS || !(name.class & TERN_MATCH_ANY_TAG))
        snprintf(tag, sizeof(tag), "tag %" PRIu64 "%s", name.tag,
                 recv && name.class >= TERN_MATCH_BITS ? " in some bits" : "");
    snprintf(text, size,
             "%s %s of the job a message of %" PRIu64 " bytes%s with %s, %s; %" PRIu64 " bytes of others are kept",
             recv ? "to receive from" : "to send to", source, request->size, recv ? " at most" : "", tag,
             phase[phase_now], tern_op_tagged_unexpected_bytes());
}

/* ---- setup and shutdown ---- */

void tern_op_tagged_open(void)
{
    tern_op_tagged_recv_open();
    tern_op_tagged_send_open();
    tern_op_tagged_assist_open();
}

static bool has_matched(struct tern_tagged *tagged)
{
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock), some = tagged->matched != NULL;

    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return some;
}

static tern_status leave_poll(void *arg)
{
    bool left = tern_op_tagged_forget();

    (void)arg;
    for (struct tern_ctx *ctx = tern_job.contexts; ctx; ctx = ctx->next) {
        tern_core_ctx_progress(ctx);
        left &= !ctx->tagged || (!tagged_of(ctx)->queue && !has_matched(tagged_of(ctx)));
    }
    return left ? TERN_OK : TERN_PENDING;
}

static void leave_describe(void *arg, char *text, size_t size)
{
    (void)arg;
    snprintf(
        text, size,
        "tern_finalize waits for room for tagged messages that have not left, or to fetch those that were matched");
}

tern_status tern_op_tagged_leave(void)
{
    struct tern_wait wait = { .poll = leave_poll, .describe = leave_describe, .deadline = tern_core_job_deadline() };

    tern_op_tagged_refuse();
    return tern_core_wait(&wait);
}

void tern_op_tagged_close(void)
{
    tern_op_tagged_recv_close();
    tern_op_tagged_send_close();
}

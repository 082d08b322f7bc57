/* request.c: the life of a request: completion, cancellation, events and reports. See request.h. */
#include "op/tagged/tagged.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct tern_biased_lock tern_op_tagged_lock;

void tern_op_request_wish_toggle(struct tern_request *request)
{
    struct tern_tagged *tagged = request->ctx->tagged;
    uint32_t            wishes = atomic_load_explicit(&tagged->wishes, memory_order_relaxed);

    request->watch ^= TERN_REQUEST_WISHED;
    /* relaxed: a hint for the helper thread; tern_op_helper_wake() orders it */
    atomic_store_explicit(&tagged->wishes, request->watch & TERN_REQUEST_WISHED ? wishes + 1 : wishes - 1,
                          memory_order_relaxed);
}

void tern_op_request_end_watched(struct tern_request *request, tern_status status)
{
    tern_op_request_wish(request, false);
    request->status = status;
    if (request->watch & TERN_REQUEST_EVENT) {
        request->record->status = status;
        __atomic_store_n(&request->record->done, true, __ATOMIC_RELEASE); /* pairs with tern_core_event_done() */
    }
    request->watch &= TERN_REQUEST_ORPHAN;
    /* release: the source, tag, length and data of the message. Pairs with tern_op_request_state(). */
    atomic_store_explicit(&request->state, TERN_REQUEST_DONE, memory_order_release);
}

/* Return whether the request is a receive that is not matched yet. The caller holds the lock. */
static bool is_posted(const struct tern_request *request)
{
    return request->kind == TERN_REQUEST_RECV && !request->op && tern_op_request_state(request) == TERN_REQUEST_ACTIVE;
}

/* Withdraw a receive that is not matched, or a send whose FIN has not arrived, and complete the request. The caller
 * holds the lock. */
static void undo(struct tern_request *request, tern_status status)
{
    if (request->op)
        tern_op_tagged_unsend(request->op);
    else
        tern_op_tagged_unpost(request);
    tern_op_request_end(request, status);
}

bool tern_op_request_take_back(struct tern_request *request, tern_status status)
{
    bool waits = is_posted(request) || (request->op && request->op->queued);

    if (waits)
        undo(request, status);
    return waits;
}

bool tern_op_request_cancel(struct tern_request *request)
{
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock),
         cancelled = tern_op_request_take_back(request, TERN_ERR_CANCELLED);

    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return cancelled;
}

void tern_op_request_abandon(struct tern_request *request)
{
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock);

    if (tern_op_request_state(request) == TERN_REQUEST_DONE || tern_op_request_take_back(request, TERN_ERR_CANCELLED))
        tern_op_request_drop(request);
    else
        request->watch |= TERN_REQUEST_ORPHAN;
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

void tern_op_request_leave(struct tern_request *request)
{
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock);

    if (tern_op_request_state(request) == TERN_REQUEST_DONE)
        tern_op_request_drop(request);
    else
        request->watch |= TERN_REQUEST_ORPHAN;
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

void tern_op_request_free(struct tern_request *request)
{
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock);

    tern_op_tagged_unpost(request);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    request->persistent = false;
    tern_op_request_drop(request);
}

static void describe_record(const struct tern_op *record, char *text, size_t size)
{
    snprintf(text, size, "%s of a tagged message, rank %d of the job", record->scratch[0] ? "receive" : "send",
             (int)record->scratch[1]);
}

static const struct tern_op_kind record_kind = { .describe = describe_record };

bool tern_op_request_event(struct tern_request *request, tern_event *event)
{
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock);
    bool active = tern_op_request_state(request) == TERN_REQUEST_ACTIVE;

    *event = TERN_EVENT_INIT;
    if (active && !(request->watch & TERN_REQUEST_EVENT) &&
        (request->record = tern_core_op_new(request->ctx, &record_kind, NULL))) {
        request->record->scratch[0] = request->kind == TERN_REQUEST_RECV;
        request->record->scratch[1] = (uint64_t)request->peer;
        request->watch |= TERN_REQUEST_EVENT;
    }
    if (request->watch & TERN_REQUEST_EVENT) {
        request->record->events++;
        *event = tern_core_event_make(request->record, false);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return !active || event->pending;
}

struct tern_tagged_text tern_op_tagged_text(const struct tern_match_name *name, bool recv)
{
    struct tern_tagged_text text = { "any rank", "any tag" };

    if (!recv || !tern_op_match_any_source(name))
        snprintf(text.source, sizeof(text.source), "rank %d", name->source);
    if (!recv || name->class >= TERN_MATCH_BITS || !(name->class & TERN_MATCH_ANY_TAG))
        snprintf(text.tag, sizeof(text.tag), "tag %" PRIu64 "%s", name->tag,
                 recv && name->class >= TERN_MATCH_BITS ? " in some bits" : "");
    return text;
}

void tern_op_request_describe(const struct tern_request *request, char *text, size_t size)
{
    struct tern_match_name  name = tern_op_request_name(request);
    bool                    recv = request->kind == TERN_REQUEST_RECV;
    struct tern_tagged_text of = tern_op_tagged_text(&name, recv);
    bool                    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    const char             *progress = recv ? "which has not arrived" : "which the receiver has not received";

    if (request->op && (recv || request->op->queued))
        progress = recv ? "whose data is being fetched" : "which waits for space at the receiver";
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    snprintf(text, size,
             "%s %s of the job a message of %" PRIu64 " bytes%s with %s, %s; this rank stores %" PRIu64
             " bytes of unexpected messages",
             recv ? "to receive from" : "to send to", of.source, request->size, recv ? " at most" : "", of.tag,
             progress, tern_op_tagged_kept_bytes);
}

bool tern_op_request_hopeless(struct tern_request *request)
{
    struct tern_match_name name;
    bool                   recv = request->kind == TERN_REQUEST_RECV, alone, hopeless;

    if (TERN_LIKELY(atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) == 0))
        return false;
    name = tern_op_request_name(request);
    if (recv ? !tern_op_tagged_deserted(request->ctx, &name)
             : !tern_core_job_lost(request->peer) || tern_core_message_has_from(request->peer, TERN_CHANNEL_REPLY))
        return false;
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    if ((hopeless = recv ? is_posted(request) : request->op && !request->op->queued)) {
        request->source = recv ? -1 : request->source;
        undo(request, TERN_ERR_PEER);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return hopeless;
}

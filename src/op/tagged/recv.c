/* recv.c: incoming tagged messages: matching, and storing unexpected messages.
 *
 * An incoming message is matched with the oldest receive that accepts it (match.h), and its bytes go straight into that
 * receive's buffer. A message that matches no receive is copied and stored, up to TERN_MSG_KEEP bytes in all. Beyond
 * that limit only messages that match a posted receive are accepted; the others stay in the queues of the links, which
 * exert back-pressure on the senders. One message is stored in any case, however long it is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/options.h"
#include "core/message.h"
#include "op/trigger/helper.h"
#include "op/tagged/tagged.h"
#include "op/tagged/decode.h"

/* bytes per stored message in addition to its data */
#define OVERHEAD (sizeof(struct tern_message) + sizeof(struct tern_match_arrival))

struct tern_match           tern_op_tagged_match;
static uint64_t             kept_bytes;
static struct tern_message *probed; /* all messages that matched probes hold */
static bool                 leaving;

/* ---- delivering ---- */

static inline void copy(unsigned char *to, const unsigned char *from, size_t len)
{
    if (TERN_LIKELY(len == sizeof(uint64_t)))
        memcpy(to, from, sizeof(uint64_t));
    else if (len > 0)
        memcpy(to, from, len);
}

/* Deliver a message to a receive. The caller holds the lock, and the receive is not posted any more. */
static inline void deliver(struct tern_request *request, const struct tern_tagged_arrival *arrived)
{
    request->source = arrived->name.source;
    request->tag = arrived->name.tag;
    request->len = arrived->len;
    request->status = TERN_UNLIKELY(arrived->len > request->size) ? TERN_ERR_TRUNCATED : TERN_OK;
    copy(request->buffer, arrived->data, arrived->bytes < request->size ? arrived->bytes : request->size);
    if (TERN_LIKELY(arrived->id == 0)) {
        tern_op_request_end(request, request->status);
        return;
    }
    request->phase = TERN_REQUEST_MATCHED;
    request->id = arrived->id;
    request->handle = arrived->handle;
    request->fetched = arrived->bytes;
    tern_op_request_matched(request);
}

/* Unbind a matched receive. A persistent receive stays bound. */
static inline void unbind(struct tern_request *request)
{
    if (request->persistent)
        return;
    tern_op_match_unbind(&tern_op_tagged_match, &request->match.request);
    request->bound = false;
}

void tern_op_tagged_unpost(struct tern_request *request)
{
    if (request->match.request.turn != 0)
        tern_op_match_withdraw(&tern_op_tagged_match, &request->match.request);
    tern_op_match_unbind(&tern_op_tagged_match, &request->match.request);
    request->bound = false;
}

/* ---- unexpected messages ---- */

/* Store a message that matches no receive. Returns false if there is no space. The caller holds the lock. */
static __attribute__((noinline)) bool store_unexpected(const struct tern_tagged_arrival *arrived)
{
    uint64_t             need = OVERHEAD + arrived->bytes;
    struct tern_message *message;

    if (leaving) /* a sender that waits for a FIN must not wait forever */
        return arrived->id == 0 ||
               tern_op_tagged_send_fin_now(arrived->name.source, arrived->id, TERN_ERR_PEER) != TERN_AGAIN;
    /* Messages from dead ranks are always stored, like their notifications (op/notify/notify.c). */
    if (kept_bytes > 0 && !tern_core_job_lost(arrived->name.source) &&
        need > tern_opt.msg_keep - (kept_bytes < tern_opt.msg_keep ? kept_bytes : tern_opt.msg_keep))
        return false;
    if (!(message = malloc(sizeof(*message) + arrived->bytes)))
        return false;
    *message = (struct tern_message){ .name = arrived->name,
                                      .len = arrived->len,
                                      .id = arrived->id,
                                      .handle = arrived->handle,
                                      .bytes = arrived->bytes };
    if (arrived->bytes > 0)
        memcpy(message->data, arrived->data, arrived->bytes);
    if (!tern_op_match_keep(&tern_op_tagged_match, arrived->name, (uint64_t)(uintptr_t)message)) {
        free(message);
        return false;
    }
    kept_bytes += need;
    return true;
}

static __attribute__((noinline)) bool receive_any(int from, const unsigned char *head, const unsigned char *data,
                                                  size_t len)
{
    struct tern_tagged_arrival arrived;
    struct tern_match_request *request = NULL;
    bool                       alone, taken = true;

    if (TERN_UNLIKELY(!tern_op_tagged_decode(head, data, len, &arrived)))
        tern_core_message_protocol_error(from, "a tagged message");
    arrived.name.source = from;
    if (arrived.handle.size > 0)
        arrived.handle.pid = atomic_load(&tern_core_job_slot(from)->pid); /* the pid in the message is not trusted */
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    if (TERN_LIKELY(!leaving)) /* a message matched during tern_finalize would not be fetched any more */
        request = tern_op_match_find(&tern_op_tagged_match, arrived.name.scope, arrived.name.tag, arrived.name.source);
    if (TERN_LIKELY(request != NULL)) {
        tern_op_match_withdraw(&tern_op_tagged_match, request);
        unbind((struct tern_request *)request);
        deliver((struct tern_request *)request, &arrived);
    } else {
        taken = store_unexpected(&arrived);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    if (TERN_UNLIKELY(!taken))
        tern_core_message_full(TERN_CHANNEL_TAGGED, true);
    return taken;
}

/* Deliver a message. The fast path handles the usual case: the message is short, its sender wants no FIN, and a posted
 * receive with a large enough buffer matches it. Returns false if the message cannot be accepted now. */
bool tern_op_tagged_receive(int from, const unsigned char *head, const unsigned char *data, size_t len)
{
    const volatile uint64_t *word = (const volatile uint64_t *)(const void *)head;
    uint64_t                 first = word[0], tag = word[1]; /* read once: the checked values must not change */
    size_t                   bytes = wire_tagged_len(first);
    struct tern_request     *request;
    bool                     alone;

    if (TERN_UNLIKELY(!wire_tagged_is_plain(first) || bytes > wire_tagged_room(false) || len != 0 ||
                      tag > (uint64_t)TERN_TAG_MAX))
        return receive_any(from, head, data, len);
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    request = (struct tern_request *)tern_op_match_find(&tern_op_tagged_match, wire_tagged_scope(first), tag, from);
    if (TERN_UNLIKELY(!request || bytes > request->size)) {
        tern_base_biased_unlock(&tern_op_tagged_lock, alone);
        return receive_any(from, head, data, len);
    }
    tern_op_match_withdraw(&tern_op_tagged_match, &request->match.request);
    unbind(request);
    request->source = from;
    request->tag = tag;
    request->len = bytes;
    copy(request->buffer, head + wire_tagged_at(false), bytes);
    tern_op_request_end(request, TERN_OK);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return true;
}

/* Remove a stored message from the table. The caller holds the lock and then owns the message. */
static struct tern_message *unstore(struct tern_match_arrival *arrival)
{
    struct tern_message *message = (struct tern_message *)(uintptr_t)arrival->bytes;

    tern_op_match_drop(&tern_op_tagged_match, arrival);
    kept_bytes -= OVERHEAD + message->bytes;
    return message;
}

static void deliver_stored(struct tern_request *request, struct tern_message *message)
{
    struct tern_tagged_arrival arrived = { .name = message->name,
                                           .len = message->len,
                                           .id = message->id,
                                           .handle = message->handle,
                                           .data = message->data,
                                           .bytes = message->bytes };

    deliver(request, &arrived);
    free(message);
}

/* ---- receives ---- */

/* Called when space was freed: messages that were refused may be accepted now. */
static void has_room(void)
{
    tern_core_message_full(TERN_CHANNEL_TAGGED, false);
}

/* Count a receive in wishes, so that it makes progress while the program computes. The caller holds the lock. */
static void wish(struct tern_request *request)
{
    struct tern_tagged *tagged = (struct tern_tagged *)request->ctx->tagged;

    request->watched = request->wished = true;
    atomic_store_explicit(&tagged->wishes, atomic_load_explicit(&tagged->wishes, memory_order_relaxed) + 1,
                          memory_order_relaxed); /* relaxed: tern_op_helper_wake() orders it */
}

bool tern_op_tagged_start_recv(struct tern_request *request, bool waits)
{
    struct tern_match_request *asks = &request->match.request;
    bool                       helped =
        TERN_UNLIKELY(!waits && request->size > tern_op_tagged_eager_max()) && tern_op_tagged_has_helper(request->ctx);
    bool                       alone = tern_base_biased_lock(&tern_op_tagged_lock);
    struct tern_match_arrival *arrival;

    if (!request->bound &&
        !(request->bound = tern_op_match_bind(&tern_op_tagged_match, asks, tern_op_request_name(request)))) {
        tern_base_biased_unlock(&tern_op_tagged_lock, alone);
        return false;
    }
    request->phase = TERN_REQUEST_POSTED;
    atomic_store_explicit(&request->state, TERN_REQUEST_ACTIVE, memory_order_relaxed); /* the lock orders it */
    if (helped)
        wish(request);
    if (tern_op_tagged_match.kept > 0 && (arrival = tern_op_match_oldest(asks))) {
        unbind(request);
        deliver_stored(request, unstore(arrival));
    } else {
        tern_op_match_post(&tern_op_tagged_match, asks);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    if (helped)
        tern_op_helper_wake();
    tern_op_tagged_posted(request);
    return true;
}

void tern_op_tagged_start_mrecv(struct tern_request *request, struct tern_message *message, bool waits)
{
    bool helped = !waits && message->handle.size > 0 && tern_op_tagged_has_helper(request->ctx);
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock);

    *message->link = message->next;
    if (message->next)
        message->next->link = message->link;
    request->match.tag = message->name.tag;
    request->peer = message->name.source;
    request->class = 0;
    atomic_store_explicit(&request->state, TERN_REQUEST_ACTIVE, memory_order_relaxed); /* the lock orders it */
    if (helped)
        wish(request);
    deliver_stored(request, message);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    if (helped)
        tern_op_helper_wake();
}

/* ---- probes ---- */

/* Move a stored message to a matched probe of the context. The caller holds the lock. */
static struct tern_message *hold_for_probe(struct tern_ctx *ctx, struct tern_match_arrival *arrival)
{
    struct tern_message *message = unstore(arrival);

    message->ctx = ctx;
    message->next = probed;
    message->link = &probed;
    if (message->next)
        message->next->link = &message->next;
    probed = message;
    return message;
}

/* Look for a stored message that matches; at least one is stored. The caller holds the lock. */
static tern_status find(struct tern_ctx *ctx, const struct tern_match_name *name, uint64_t care,
                        struct tern_op_seen *seen, struct tern_message **out)
{
    struct tern_match_bits     bits = { .tag = name->tag, .care = care };
    struct tern_match_arrival *arrival;

    if (!tern_op_match_bind(&tern_op_tagged_match, &bits.request, *name))
        return tern_base_fail(TERN_ERR_NOMEM, "no memory to look for a message");
    if ((arrival = tern_op_match_oldest(&bits.request)))
        *seen = (struct tern_op_seen){ .source = arrival->name.source,
                                       .tag = arrival->name.tag,
                                       .len = ((const struct tern_message *)(uintptr_t)arrival->bytes)->len };
    if (arrival && out)
        *out = hold_for_probe(ctx, arrival);
    tern_op_match_unbind(&tern_op_tagged_match, &bits.request);
    return arrival ? TERN_OK : TERN_PENDING;
}

tern_status tern_op_tagged_find(struct tern_ctx *ctx, const struct tern_match_name *name, uint64_t care,
                                struct tern_op_seen *seen, struct tern_message **out)
{
    bool        alone = tern_base_biased_lock(&tern_op_tagged_lock);
    tern_status st = tern_op_tagged_match.kept > 0 ? find(ctx, name, care, seen, out) : TERN_PENDING;

    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    if (st == TERN_OK && out)
        has_room();
    return st;
}

bool tern_op_tagged_has_probed(const struct tern_ctx *ctx)
{
    bool                       alone = tern_base_biased_lock(&tern_op_tagged_lock);
    const struct tern_message *message = probed;

    while (message && message->ctx != ctx)
        message = message->next;
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return message != NULL;
}

bool tern_op_tagged_senders_dead(const struct tern_ctx *ctx, const struct tern_match_name *name)
{
    if (TERN_LIKELY(atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) == 0))
        return false;
    if (!tern_op_match_any_source(name))
        return tern_core_job_lost(name->source);
    return tern_core_team_deserted(ctx->team);
}

bool tern_op_tagged_deserted(const struct tern_ctx *ctx, const struct tern_match_name *name)
{
    if (TERN_LIKELY(!tern_op_tagged_senders_dead(ctx, name)))
        return false;
    if (!tern_op_match_any_source(name))
        return !tern_core_message_has_from(name->source, TERN_CHANNEL_TAGGED);
    return !tern_core_team_has_sent(ctx->team, TERN_CHANNEL_TAGGED);
}

uint64_t tern_op_tagged_unexpected_bytes(void)
{
    return kept_bytes; /* a hint, for reports */
}

/* ---- setup and shutdown ---- */

void tern_op_tagged_recv_open(void)
{
    tern_op_match_open(&tern_op_tagged_match);
    leaving = false;
    kept_bytes = 0;
    probed = NULL;
}

void tern_op_tagged_refuse(void)
{
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock);

    leaving = true;
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    has_room();
}

/* Send a FIN with an error to the sender of a message that will not be received. Returns false if it cannot be sent
 * now. */
static bool reject(const struct tern_message *message)
{
    return message->id == 0 ||
           tern_op_tagged_send_fin_now(message->name.source, message->id, TERN_ERR_PEER) != TERN_AGAIN;
}

bool tern_op_tagged_forget(void)
{
    bool                 alone, all = true;
    struct tern_message *message;

    if (tern_op_tagged_match.kept == 0 && !probed)
        return true;
    if (!tern_core_message_hold()) /* no thread is delivering now, so FINs can be sent */
        return false;
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    while (all && tern_op_tagged_match.oldest)
        if ((all = reject((struct tern_message *)(uintptr_t)tern_op_tagged_match.oldest->bytes)))
            free(unstore(tern_op_tagged_match.oldest));
    while (all && (message = probed))
        if ((all = reject(message))) {
            probed = message->next;
            free(message);
        }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    tern_core_message_release();
    return all;
}

void tern_op_tagged_recv_close(void)
{
    while (tern_op_tagged_match.oldest)
        free(unstore(tern_op_tagged_match.oldest));
    tern_op_match_close(&tern_op_tagged_match);
}

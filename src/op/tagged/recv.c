/* recv.c: incoming tagged messages: matching, storing unexpected messages, and sending FINs.
 *
 * An incoming message is matched with the oldest receive that accepts it (match.h), and its bytes are copied directly
 * into the buffer of the receive. A message that matches no receive is copied and stored, up to TERN_MSG_KEEP bytes in
 * all. Beyond that limit only messages that match a posted receive are accepted; the others stay in the queues of the
 * links, which exert back-pressure on the senders. One message is stored in any case, however long it is.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/options.h"
#include "core/message.h"
#include "op/trigger/helper.h"
#include "op/tagged/tagged.h"

/* Memory of a stored message in addition to its data, in bytes. */
#define OVERHEAD (sizeof(struct tern_message) + sizeof(struct tern_match_arrival))

struct tern_match       tern_op_tagged_match;
uint64_t                tern_op_tagged_kept_bytes;
static struct tern_list probed; /* all messages that matched probes hold */
static bool             leaving;

/* ---- delivering ---- */

void tern_op_tagged_unpost(struct tern_request *request)
{
    if (!request->bound)
        return;
    if (request->match.request.sequence != 0)
        tern_op_match_withdraw(&tern_op_tagged_match, &request->match.request);
    tern_op_match_unbind(&tern_op_tagged_match, &request->match.request);
    request->bound = false;
}

/* Withdraw a posted receive that a message has matched. A persistent receive stays bound. */
static inline void withdraw(struct tern_request *request)
{
    tern_op_match_withdraw(&tern_op_tagged_match, &request->match.request);
    if (request->persistent)
        return;
    tern_op_match_unbind(&tern_op_tagged_match, &request->match.request);
    request->bound = false;
}

/* Deliver a message to a receive, which is no longer posted when the function returns true. Returns false, with no
 * effect, if there is no memory. The caller holds the lock. */
static bool deliver(struct tern_request *request, const struct tern_tagged_arrival *arrived)
{
    struct tern_tagged_op *op = NULL;
    uint64_t               bytes = arrived->bytes < request->size ? arrived->bytes : request->size;

    if (arrived->id != 0 && !(op = tern_op_tagged_op_new(request, false)))
        return false;
    if (request->match.request.sequence != 0)
        withdraw(request);
    else if (!request->persistent)
        tern_op_tagged_unpost(request);
    request->source = arrived->name.source;
    request->tag = arrived->name.tag;
    request->len = arrived->len;
    request->status = TERN_UNLIKELY(arrived->len > request->size) ? TERN_ERR_TRUNCATED : TERN_OK;
    if (bytes > 0)
        memcpy(request->buffer, arrived->data, bytes);
    if (!op) {
        tern_op_request_end(request, request->status);
        return true;
    }
    op->id = arrived->id;
    op->handle = arrived->handle;
    op->fetched = arrived->bytes;
    tern_op_tagged_matched(op);
    return true;
}

/* ---- FINs ---- */

static tern_status send_fin(int rank, unsigned channel, uint64_t id, tern_status status)
{
    const uint32_t args[3] = { (uint32_t)id, (uint32_t)(id >> 32), (uint32_t)status };

    if (tern_core_job_lost(rank))
        return TERN_OK; /* a dead sender needs no FIN */
    return tern_op_am_reply_own(rank, channel, TERN_OP_AM_FIN, args, 3);
}

tern_status tern_op_tagged_send_fin(const struct tern_request *request, uint64_t id, tern_status status)
{
    tern_status st;

    if (request->watch & TERN_REQUEST_BACKGROUND)
        return send_fin(request->source, TERN_CHANNEL_HELPER_REPLY, id, status);
    if (!tern_core_message_hold())
        return TERN_AGAIN;
    st = send_fin(request->source, TERN_CHANNEL_REPLY, id, status);
    tern_core_message_release();
    return st;
}

/* ---- unexpected messages ---- */

/* Send a FIN with an error to a sender, if it waits for one, because its message will not be received. Only the
 * delivering thread calls this function. Returns false if the FIN cannot be sent now. */
static bool reject(const struct tern_tagged_arrival *arrived)
{
    return arrived->id == 0 ||
           send_fin(arrived->name.source, TERN_CHANNEL_REPLY, arrived->id, TERN_ERR_PEER) != TERN_AGAIN;
}

/* Store a message that matches no receive. Returns false if there is no space. The caller holds the lock. */
static __attribute__((noinline)) bool store_unexpected(const struct tern_tagged_arrival *arrived)
{
    uint64_t             need = OVERHEAD + arrived->bytes;
    struct tern_message *message;

    if (leaving) /* a sender that waits for a FIN must not wait forever */
        return reject(arrived);
    /* Messages from dead ranks are always stored, like their notifications (op/notify/notify.c). */
    if (tern_op_tagged_kept_bytes > 0 && !tern_core_job_lost(arrived->name.source) &&
        need > tern_opt.msg_keep -
                   (tern_op_tagged_kept_bytes < tern_opt.msg_keep ? tern_op_tagged_kept_bytes : tern_opt.msg_keep))
        return false;
    if (!(message = malloc(sizeof(*message) + arrived->bytes)))
        return false;
    message->arrived = *arrived;
    message->arrived.data = message->data;
    if (arrived->bytes > 0)
        memcpy(message->data, arrived->data, arrived->bytes);
    if (!tern_op_match_keep(&tern_op_tagged_match, arrived->name, (uint64_t)(uintptr_t)message)) {
        free(message);
        return false;
    }
    tern_op_tagged_kept_bytes += need;
    return true;
}

/* Return the result of a delivery to a receive, which says whether other receives are posted for further messages. The
 * caller holds the lock. */
static inline enum tern_link_delivered matched(void)
{
    return tern_op_match_has_posted(&tern_op_tagged_match) ? TERN_LINK_TAKEN : TERN_LINK_TAKEN_LAST;
}

static __attribute__((noinline)) enum tern_link_delivered receive_any(int from, const unsigned char *head,
                                                                      const unsigned char *data, size_t len)
{
    struct tern_tagged_arrival arrived;
    struct tern_match_request *request = NULL;
    enum tern_link_delivered   delivered = TERN_LINK_REFUSED;
    bool                       alone;

    if (TERN_UNLIKELY(!tern_op_tagged_decode(head, data, len, &arrived)))
        tern_core_message_protocol_error(from, "a tagged message");
    arrived.name.source = from;
    if (arrived.handle.size > 0)
        arrived.handle.pid = atomic_load(&tern_core_job_slot(from)->pid); /* the pid in the message is not trusted */
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    if (TERN_LIKELY(!leaving)) /* a message matched during tern_finalize would not be fetched any more */
        request = tern_op_match_find(&tern_op_tagged_match, arrived.name.scope, arrived.name.tag, arrived.name.source);
    if (TERN_UNLIKELY(request == NULL) && store_unexpected(&arrived))
        delivered = TERN_LINK_TAKEN;
    else if (request && deliver((struct tern_request *)request, &arrived))
        delivered = matched();
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    if (TERN_UNLIKELY(delivered == TERN_LINK_REFUSED))
        tern_core_message_full(TERN_CHANNEL_TAGGED, true);
    return delivered;
}

/* Deliver a message. The fast path handles the usual case: the message is short, its sender wants no FIN, and a posted
 * receive with a large enough buffer matches it. */
enum tern_link_delivered tern_op_tagged_receive(int from, const unsigned char *head, const unsigned char *data,
                                                size_t len)
{
    const volatile uint64_t *word = (const volatile uint64_t *)(const void *)head;
    uint64_t                 first = word[0], tag = word[1]; /* read once: the checked values must not change */
    size_t                   bytes = wire_tagged_len(first);
    struct tern_request     *request;
    enum tern_link_delivered delivered;
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
    withdraw(request);
    request->source = from;
    request->tag = tag;
    request->len = bytes;
    if (TERN_LIKELY(bytes == sizeof(uint64_t)))
        memcpy(request->buffer, head + wire_tagged_at(false), sizeof(uint64_t));
    else if (bytes > 0)
        memcpy(request->buffer, head + wire_tagged_at(false), bytes);
    tern_op_request_end(request, TERN_OK);
    delivered = matched();
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return delivered;
}

static struct tern_message *message_of(const struct tern_match_arrival *arrival)
{
    return (struct tern_message *)(uintptr_t)arrival->bytes;
}

/* Remove a stored message from the table. The caller holds the lock and then owns the message. */
static struct tern_message *unstore(struct tern_match_arrival *arrival)
{
    struct tern_message *message = message_of(arrival);

    tern_op_match_drop(&tern_op_tagged_match, arrival);
    tern_op_tagged_kept_bytes -= OVERHEAD + message->arrived.bytes;
    return message;
}

/* ---- receives ---- */

/* Match a bound receive with the oldest stored message that it accepts, or post the receive. Returns false if there is
 * no memory. The caller holds the lock. */
static bool match_or_post(struct tern_request *request)
{
    struct tern_match_request *asks = &request->match.request;
    struct tern_match_arrival *arrival = tern_op_tagged_match.kept > 0 ? tern_op_match_oldest(asks) : NULL;

    if (!arrival)
        tern_op_match_post(&tern_op_tagged_match, asks);
    else if (deliver(request, &message_of(arrival)->arrived))
        free(unstore(arrival));
    else
        return false;
    return true;
}

/* Start a receive with a message that a matched probe holds, or, if message is NULL, with any message. helped: the
 * helper thread serves the receive. Returns false if there is no memory; then the request is not active. */
static bool start(struct tern_request *request, struct tern_message *message, bool helped)
{
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock), started;

    tern_op_request_set(request, TERN_REQUEST_ACTIVE);
    tern_op_request_wish(request, helped);
    if (message)
        started = deliver(request, &message->arrived);
    else
        started =
            (request->bound || (request->bound = tern_op_match_bind(&tern_op_tagged_match, &request->match.request,
                                                                    tern_op_request_name(request)))) &&
            match_or_post(request);
    if (started && message)
        tern_base_list_remove(&message->node);
    if (!started) {
        tern_op_request_wish(request, false);
        tern_op_tagged_unpost(request);
        tern_op_request_set(request, TERN_REQUEST_IDLE);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    if (helped)
        tern_op_helper_wake();
    return started;
}

bool tern_op_tagged_start_recv(struct tern_request *request, bool waits)
{
    bool helped =
        TERN_UNLIKELY(!waits && request->size > tern_op_tagged_eager_max) && tern_op_tagged_has_helper(request->ctx);

    if (!start(request, NULL, helped))
        return false;
    tern_op_tagged_posted(request);
    return true;
}

bool tern_op_tagged_start_mrecv(struct tern_request *request, struct tern_message *message, bool waits)
{
    request->match.tag = message->arrived.name.tag;
    request->peer = message->arrived.name.source;
    request->class = 0;
    if (!start(request, message, !waits && message->arrived.handle.size > 0 && tern_op_tagged_has_helper(request->ctx)))
        return false;
    free(message);
    return true;
}

/* ---- probes ---- */

tern_status tern_op_tagged_find(struct tern_ctx *ctx, const struct tern_match_name *name, uint64_t care,
                                tern_request_info *info, struct tern_message **out)
{
    struct tern_match_bits     bits = { .tag = name->tag, .care = care };
    struct tern_match_arrival *arrival = NULL;
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock), some = tern_op_tagged_match.kept > 0;
    bool bound = some && tern_op_match_bind(&tern_op_tagged_match, &bits.request, *name);

    if (bound && (arrival = tern_op_match_oldest(&bits.request)))
        *info = (tern_request_info){ .source = tern_core_team_rank(ctx->team, arrival->name.source),
                                     .tag = (int64_t)arrival->name.tag,
                                     .len = message_of(arrival)->arrived.len };
    if (arrival && out) {
        *out = unstore(arrival);
        (*out)->ctx = ctx;
        tern_base_list_push(&probed, &(*out)->node);
    }
    if (bound)
        tern_op_match_unbind(&tern_op_tagged_match, &bits.request);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    if (arrival && out)
        tern_core_message_full(TERN_CHANNEL_TAGGED, false); /* messages that were refused may be accepted now */
    if (some && !bound)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory to look for a message");
    return arrival ? TERN_OK : TERN_PENDING;
}

bool tern_op_tagged_has_probed(const struct tern_ctx *ctx)
{
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock), some = false;

    TERN_LIST_EACH(const struct tern_message, message, &probed, node) {
        some |= message->ctx == ctx;
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return some;
}

bool tern_op_tagged_senders_dead(const struct tern_ctx *ctx, const struct tern_match_name *name)
{
    return TERN_UNLIKELY(atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) > 0) &&
           tern_core_team_deserted(ctx->team, tern_op_match_source(name));
}

bool tern_op_tagged_deserted(const struct tern_ctx *ctx, const struct tern_match_name *name)
{
    return tern_op_tagged_senders_dead(ctx, name) &&
           !tern_core_team_has_sent(ctx->team, tern_op_match_source(name), TERN_CHANNEL_TAGGED);
}

/* ---- setup and shutdown ---- */

void tern_op_tagged_open(void)
{
    tern_op_match_open(&tern_op_tagged_match);
    leaving = false;
    tern_op_tagged_kept_bytes = 0;
    tern_base_list_init(&probed);
    tern_op_am_register(TERN_OP_AM_FIN, tern_op_tagged_on_fin, NULL);
    tern_op_am_register(TERN_OP_AM_ASSIST, tern_op_tagged_on_assist, NULL);
}

bool tern_op_tagged_forget(void)
{
    bool alone, all = true;

    if (!tern_core_message_hold()) /* no thread is delivering now, so FINs can be sent */
        return false;
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    leaving = true;
    while (all && tern_op_tagged_match.oldest)
        if ((all = reject(&message_of(tern_op_tagged_match.oldest)->arrived)))
            free(unstore(tern_op_tagged_match.oldest));
    TERN_LIST_EACH(struct tern_message, message, &probed, node) {
        if (!all || !(all = reject(&message->arrived)))
            break;
        tern_base_list_remove(&message->node);
        free(message);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    tern_core_message_release();
    tern_core_message_full(TERN_CHANNEL_TAGGED, false); /* messages that were refused are dropped now */
    return all;
}

uint32_t tern_op_tagged_forget_scope(uint64_t scope)
{
    uint32_t dropped = 0;
    bool     alone;

    while (!tern_core_message_hold()) /* no thread is delivering now, so FINs can be sent */
        sched_yield();
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    for (struct tern_match_arrival *arrival = tern_op_tagged_match.oldest, *next; arrival; arrival = next) {
        next = arrival->all.next;
        if (arrival->name.scope == scope && reject(&message_of(arrival)->arrived)) {
            free(unstore(arrival));
            dropped++;
        }
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    tern_core_message_release();
    if (dropped > 0)
        tern_core_message_full(TERN_CHANNEL_TAGGED, false); /* messages that were refused may be accepted now */
    return dropped;
}

void tern_op_tagged_close(void)
{
    while (tern_op_tagged_match.oldest)
        free(unstore(tern_op_tagged_match.oldest));
    tern_op_match_close(&tern_op_tagged_match);
    tern_op_tagged_op_close();
}

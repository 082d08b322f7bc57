/* notify.c: see notify.h. */
#include "op/notify/notify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/retired.h"
#include "base/bits.h"
#include "base/notify_queue.h"
#include "base/biased_lock.h"
#include "base/log.h"
#include "base/options.h"
#include "core/message.h"
#include "op/notify/expected.h"
#include "op/wire.h"

#define LOCAL_PARTS 16 /* a power of two */

struct tern_biased_lock tern_op_notify_lock;
struct tern_match       tern_op_notify_match;
static struct tern_list notify_requests = TERN_LIST_INIT(notify_requests);
static bool             leaving; /* the program accepts no more notifications */

/* ---- incoming notifications ---- */

/* Recently used regions of this rank. Only the thread that delivers messages accesses them. */
static struct tern_notify_part local_parts[LOCAL_PARTS];

static __attribute__((noinline)) bool local_part_find(struct tern_notify_part *local_part, uint64_t scope,
                                                      uint64_t changes)
{
    struct tern_link_part part;

    if (!tern_core_region_named(scope, tern_job.boot.rank, &part))
        return false;
    *local_part = (struct tern_notify_part){ .scope = scope, .changes = changes, .base = part.base, .size = part.size };
    if (!tern_link_loads(&part)) { /* there is no byte to copy to; the base must only not be NULL */
        local_part->base = (unsigned char *)local_part;
        local_part->size = 0;
    }
    return true;
}

/* Look up a region; NULL: this rank has no region of that name. */
static inline const struct tern_notify_part *local_part_of(uint64_t scope)
{
    struct tern_notify_part *local_part = &local_parts[scope % LOCAL_PARTS];
    uint64_t                 changes = atomic_load_explicit(&tern_job.region_changes, memory_order_relaxed);

    if (TERN_LIKELY(local_part->scope == scope && local_part->changes == changes) ||
        local_part_find(local_part, scope, changes))
        return local_part;
    return NULL;
}

/* Complete the events of a request. The caller holds the lock. */
static inline void end_event(struct tern_notify_request *notify_request, tern_status status)
{
    if (TERN_LIKELY(!notify_request->recorded))
        return;
    notify_request->record->status = status;
    __atomic_store_n(&notify_request->record->done, true, __ATOMIC_RELEASE); /* pairs with tern_core_event_done() */
    notify_request->recorded = false;
}

static inline void complete(struct tern_notify_request *notify_request)
{
    end_event(notify_request, TERN_OK);
    /* release: the fields of the last match. Pairs with tern_op_notify_request_state(). The data of the access came
     * before. */
    atomic_store_explicit(&notify_request->state, TERN_NOTIFY_REQUEST_DONE, memory_order_release);
}

/* Store a notification that no request matches. Returns false if the limit is reached. The caller holds the lock. */
static __attribute__((noinline)) bool store_unexpected(uint64_t scope, uint32_t tag, int source, uint64_t bytes)
{
    const struct tern_match_name name = { .scope = scope, .tag = tag, .source = source };

    if (leaving)
        return true;
    /* Notifications from a dead rank are always stored; their number is bounded by the size of its queue. There is no
     * sender to push back on, and a wait for one of these notifications must not depend on the ones before it. */
    if ((tern_op_notify_match.kept < (uint64_t)tern_opt.notify_keep || tern_core_job_lost(source)) &&
        tern_op_match_keep(&tern_op_notify_match, name, bytes))
        return true;
    tern_core_message_full(TERN_CHANNEL_NOTIFY, true);
    return false;
}

/* Count one more match of a request. Returns whether it was the last one. The caller holds the lock. */
static inline bool was_last(struct tern_notify_request *notify_request, int source, uint32_t tag, uint64_t bytes)
{
    tern_op_notify_request_count(notify_request, source, tag, bytes);
    if (TERN_UNLIKELY(notify_request->left > 0))
        return false;
    tern_op_match_withdraw(&tern_op_notify_match, &notify_request->request);
    complete(notify_request);
    return true;
}

/* Deliver a notification to the request that matches it, or store it; inline data is copied to its destination first.
 * The words are read once before they are checked, because the source can change them at any time. The length is
 * checked for every kind, because tern_op_expected_update() passes the words of the last match to the link, and the
 * length there must fit the cell and the region. A notification for a region that this rank no longer has is dropped:
 * the region was freed while the notification was in flight and no request waited for it. */
enum tern_link_delivered tern_op_notify_receive(int from, const unsigned char *head, bool copy)
{
    const volatile uint64_t *word = (const volatile uint64_t *)(const volatile void *)head; /* struct wire_notify */
    uint64_t                 first = word[0], scope = word[1], bytes = word[2];
    unsigned                 kind = (uint8_t)(first >> 32), len = (uint8_t)(first >> 40);
    const struct tern_notify_part *local_part = local_part_of(scope);
    unsigned char                 *to = NULL;
    struct tern_notify_request    *notify_request;
    enum tern_link_delivered       took;
    bool                           alone;

    if (TERN_UNLIKELY(!local_part))
        return TERN_LINK_TAKEN;
    if (TERN_LIKELY(kind == WIRE_NOTIFY_INLINE)) {
        if (TERN_UNLIKELY(len > TERN_LINK_INLINE || !tern_base_covers(local_part->size, bytes, len)))
            tern_core_message_protocol_error(from, "a notification");
        to = copy ? local_part->base + bytes : NULL;
        bytes = len;
    } else if (TERN_UNLIKELY(kind != WIRE_NOTIFY || len > 0)) {
        tern_core_message_protocol_error(from, "a notification");
    }
    alone = tern_base_biased_lock(&tern_op_notify_lock);
    notify_request =
        (struct tern_notify_request *)tern_op_match_find(&tern_op_notify_match, scope, (uint32_t)first, from);
    if (TERN_LIKELY(notify_request != NULL) || store_unexpected(scope, (uint32_t)first, from, bytes)) {
        if (to)
            tern_base_nq_copy(to, head + offsetof(struct wire_notify, data), bytes);
        if (notify_request)
            tern_op_expected_update(notify_request, first, from, local_part);
        took = notify_request && was_last(notify_request, from, (uint32_t)first, bytes) ? TERN_LINK_TAKEN_LAST
                                                                                        : TERN_LINK_TAKEN;
    } else {
        took = TERN_LINK_REFUSED;
    }
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    return took;
}

/* Return whether the request is in the table of requests. The caller holds the lock. */
static bool is_posted(const struct tern_notify_request *notify_request)
{
    unsigned state = atomic_load_explicit(&notify_request->state, memory_order_relaxed);

    return state == TERN_NOTIFY_REQUEST_STARTED || state == TERN_NOTIFY_REQUEST_HOPELESS;
}

bool tern_op_notify_find_hopeless(struct tern_ctx *ctx)
{
    bool alone = tern_base_biased_lock(&tern_op_notify_lock), again = false;

    TERN_LIST_EACH(struct tern_notify_request, notify_request, &notify_requests, all) {
        int source = tern_op_match_source(&notify_request->name);

        if (notify_request->ctx != ctx || !is_posted(notify_request) ||
            !tern_core_team_deserted(notify_request->team, source))
            continue;
        if (tern_core_team_has_sent(notify_request->team, source, TERN_CHANNEL_NOTIFY)) {
            again = true;
            continue;
        }
        /* relaxed: only the context's thread, which is this one, distinguishes this state from STARTED */
        atomic_store_explicit(&notify_request->state, TERN_NOTIFY_REQUEST_HOPELESS, memory_order_relaxed);
        end_event(notify_request, TERN_ERR_PEER);
    }
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    return again;
}

void tern_op_notify_write_head(unsigned char *head, uint64_t region, uint32_t tag, uint64_t bytes)
{
    const uint64_t words[TERN_LINK_HEAD / sizeof(uint64_t)] = { wire_notify_first(tag, WIRE_NOTIFY, 0), region, bytes };

    memcpy(head, words, sizeof(words));
}

void tern_op_notify_open(void)
{
    tern_op_match_open(&tern_op_notify_match);
    leaving = false;
    memset(local_parts, 0xff, sizeof(local_parts)); /* matches no lookup, not even of the scope 0 */
}

void tern_op_notify_leave(void)
{
    bool alone = tern_base_biased_lock(&tern_op_notify_lock);

    leaving = true;
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    TERN_LIST_EACH(struct tern_notify_request, notify_request, &notify_requests, all)
        tern_op_notify_request_free(notify_request);
    tern_core_message_full(TERN_CHANNEL_NOTIFY, false);
}

void tern_op_notify_close(void)
{
    tern_op_match_close(&tern_op_notify_match);
}

void tern_op_notify_forget(uint64_t scope)
{
    bool     alone = tern_base_biased_lock(&tern_op_notify_lock);
    uint32_t dropped = tern_op_match_forget(&tern_op_notify_match, scope);

    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    if (dropped > 0)
        tern_core_message_full(TERN_CHANNEL_NOTIFY, false);
}

/* ---- requests ---- */

static struct tern_retired freed = TERN_RETIRED_INIT(freed); /* requests */
static struct tern_roster  allocated;                        /* the memory of all requests, including freed ones */

/* Mark a request as freed. A wait takes a freed request for a complete one, and then reports the error. */
static void invalidate(struct tern_notify_request *notify_request)
{
    static struct tern_team nobody;
    static struct tern_ctx  none = { .team = &nobody, .outstanding = TERN_LIST_INIT(none.outstanding) };

    notify_request->ctx = &none;
    atomic_store_explicit(&notify_request->state, TERN_NOTIFY_REQUEST_FREED, memory_order_relaxed);
}

static void retire(struct tern_notify_request *notify_request)
{
    invalidate(notify_request);
    tern_base_list_remove(&notify_request->all);
    tern_base_retire(&freed, &notify_request->all);
}

void tern_op_notify_disable(void)
{
    tern_op_expected.notify_request = NULL;
    TERN_ROSTER_EACH(struct tern_notify_request, notify_request, &allocated, ever)
        invalidate(notify_request);
}

tern_status tern_op_notify_request_new(struct tern_ctx *ctx, const struct tern_region *region,
                                       struct tern_match_name name, uint32_t count, struct tern_notify_request **out)
{
    struct tern_list           *node = tern_base_retired_reuse(&freed);
    struct tern_notify_request *notify_request =
        node ? TERN_LIST_ITEM(node, struct tern_notify_request, all)
             : aligned_alloc(_Alignof(struct tern_notify_request), sizeof(*notify_request));
    const struct tern_notify_request fresh = {
        .ctx = ctx, .team = region->team, .name = name, .count = count, .source = -1
    };
    bool alone, bound;

    if (!notify_request)
        return tern_base_fail(TERN_ERR_NOMEM, "tern_notify_create: no memory for a request");
    memcpy(notify_request, &fresh, offsetof(struct tern_notify_request, ever));
    if (!node)
        tern_base_roster_add(&allocated, &notify_request->ever);
    tern_base_list_init(&notify_request->all);
    alone = tern_base_biased_lock(&tern_op_notify_lock);
    bound = tern_op_match_bind(&tern_op_notify_match, &notify_request->request, name);
    if (bound)
        tern_base_list_push(&notify_requests, &notify_request->all);
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    if (!bound) {
        retire(notify_request);
        return tern_base_fail(TERN_ERR_NOMEM, "tern_notify_create: no memory to match a request");
    }
    *out = notify_request;
    return TERN_OK;
}

/* Stop a request. Its events complete with an error. The caller holds the lock. */
static void stop(struct tern_notify_request *notify_request)
{
    if (is_posted(notify_request))
        tern_op_match_withdraw(&tern_op_notify_match, &notify_request->request);
    end_event(notify_request, TERN_ERR_CANCELLED);
    atomic_store_explicit(&notify_request->state, TERN_NOTIFY_REQUEST_IDLE, memory_order_relaxed);
}

void tern_op_notify_request_free(struct tern_notify_request *notify_request)
{
    bool alone = tern_base_biased_lock(&tern_op_notify_lock);

    stop(notify_request);
    if (tern_op_expected.notify_request == notify_request)
        tern_op_expected.notify_request = NULL;
    tern_op_match_unbind(&tern_op_notify_match, &notify_request->request);
    tern_base_list_remove(&notify_request->all);
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    retire(notify_request);
}

/* Return a request of the context; NULL: the context has none. */
static struct tern_notify_request *notify_request_of(const struct tern_ctx *ctx)
{
    bool                        alone = tern_base_biased_lock(&tern_op_notify_lock);
    struct tern_notify_request *found = NULL;

    TERN_LIST_EACH(struct tern_notify_request, notify_request, &notify_requests, all)
        found = notify_request->ctx == ctx ? notify_request : found;
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    return found;
}

void tern_op_notify_release(const struct tern_ctx *ctx)
{
    struct tern_notify_request *notify_request;

    while ((notify_request = notify_request_of(ctx)))
        tern_op_notify_request_free(notify_request);
}

bool tern_op_notify_request_cancel(struct tern_notify_request *notify_request)
{
    bool alone = tern_base_biased_lock(&tern_op_notify_lock);
    bool started = is_posted(notify_request);

    if (started)
        stop(notify_request);
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    return started;
}

/* Match stored notifications with a request. Returns their number. The caller holds the lock. */
static uint32_t match_stored(struct tern_notify_request *notify_request)
{
    struct tern_match_arrival *arrival;
    uint32_t                   taken = 0;

    if (TERN_LIKELY(tern_op_notify_match.kept == 0))
        return 0;
    for (; notify_request->left > 0 && (arrival = tern_op_match_oldest(&notify_request->request)) != NULL; taken++) {
        tern_op_notify_request_count(notify_request, arrival->name.source, (uint32_t)arrival->name.tag, arrival->bytes);
        tern_op_match_drop(&tern_op_notify_match, arrival);
    }
    return taken;
}

/* After a death, let the next progress find out whether the request waits for dead ranks. */
static inline void check_deaths(const struct tern_notify_request *notify_request)
{
    if (TERN_UNLIKELY(atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) > 0))
        atomic_store_explicit(&notify_request->ctx->attention, true, memory_order_relaxed); /* this thread reads it */
}

void tern_op_notify_request_started(const struct tern_notify_request *notify_request)
{
    if (tern_core_message_refuses(TERN_CHANNEL_NOTIFY)) /* refused notifications may be accepted now */
        tern_core_message_full(TERN_CHANNEL_NOTIFY, false);
    check_deaths(notify_request);
}

bool tern_op_notify_request_start_slowly(struct tern_notify_request *notify_request)
{
    bool     alone = tern_base_biased_lock(&tern_op_notify_lock);
    uint32_t taken;

    notify_request->left = notify_request->count;
    notify_request->source = -1;
    taken = match_stored(notify_request);
    if (notify_request->left == 0) {
        complete(notify_request);
    } else {
        tern_op_match_post(&tern_op_notify_match, &notify_request->request);
        atomic_store_explicit(&notify_request->state, TERN_NOTIFY_REQUEST_STARTED,
                              memory_order_relaxed); /* the lock orders it */
    }
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    if (taken > 0)
        tern_core_message_full(TERN_CHANNEL_NOTIFY, false); /* there is space for refused notifications now */
    tern_op_notify_request_started(notify_request);
    return true;
}

bool tern_op_notify_request_peek(struct tern_notify_request *notify_request, struct tern_match_name *name,
                                 uint64_t *bytes)
{
    bool                             alone = tern_base_biased_lock(&tern_op_notify_lock);
    const struct tern_match_arrival *arrival = tern_op_match_oldest(&notify_request->request);

    if (arrival) {
        *name = arrival->name;
        *bytes = arrival->bytes;
    }
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    return arrival != NULL;
}

/* ---- events and descriptions ---- */

static void describe_record(const struct tern_op *record, char *text, size_t size)
{
    char source[32] = "any rank";

    if (record->scratch[1] != UINT64_MAX)
        snprintf(source, sizeof(source), "rank %d of the job", (int)record->scratch[1]);
    snprintf(text, size, "request for %" PRIu64 " notifications from %s", record->scratch[0], source);
}

static const struct tern_op_kind record_kind = { .describe = describe_record };

bool tern_op_notify_request_event(struct tern_notify_request *notify_request, tern_event *event)
{
    struct tern_op *fresh = tern_core_op_new(notify_request->ctx, &record_kind, NULL);
    bool            alone;

    if (!fresh)
        return false;
    fresh->scratch[0] = notify_request->count;
    fresh->scratch[1] = (uint64_t)tern_op_match_source(&notify_request->name);
    alone = tern_base_biased_lock(&tern_op_notify_lock);
    if (is_posted(notify_request) && !notify_request->recorded) {
        notify_request->record = fresh;
        notify_request->recorded = true;
        fresh = NULL;
    }
    *event = TERN_EVENT_INIT;
    if (notify_request->recorded) {
        notify_request->record->events++;
        *event = tern_core_event_make(notify_request->record, false);
    }
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    if (fresh)
        tern_core_op_drop(fresh);
    check_deaths(notify_request);
    return true;
}

void tern_op_notify_request_describe(const struct tern_notify_request *notify_request, char *text, size_t size)
{
    char source[24] = "any rank", tag[24] = "any tag";

    if (!(notify_request->name.class & TERN_MATCH_ANY_SOURCE))
        snprintf(source, sizeof(source), "rank %d", notify_request->name.source);
    if (!(notify_request->name.class & TERN_MATCH_ANY_TAG))
        snprintf(tag, sizeof(tag), "tag %" PRIu64, notify_request->name.tag);
    snprintf(text, size, "for %u of %u notifications from %s of the job with %s; %u others are kept%s",
             notify_request->left, notify_request->count, source, tag, tern_op_notify_match.kept,
             tern_op_notify_match.kept >= (uint64_t)tern_opt.notify_keep ? ", and no more fit (TERN_NOTIFY_KEEP)" : "");
}

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
static struct tern_list notices = TERN_LIST_INIT(notices);
static bool             leaving; /* the program accepts no more notifications */

/* ---- incoming notifications ---- */

/* Recently used regions of this rank. Accessed only by the delivering thread. */
static struct tern_notify_part local_parts[LOCAL_PARTS];

static __attribute__((noinline)) bool local_part_find(struct tern_notify_part *local_part, uint64_t scope,
                                                      uint64_t changes)
{
    struct tern_link_part part;

    if (!tern_core_region_named(scope, tern_job.boot.rank, &part))
        return false;
    *local_part = (struct tern_notify_part){
        .scope = scope, .changes = changes, .base = (unsigned char *)(uintptr_t)part.addr, .size = part.size
    };
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
static inline void end_event(struct tern_notify_request *notice, tern_status status)
{
    if (TERN_LIKELY(!notice->recorded))
        return;
    notice->record->status = status;
    __atomic_store_n(&notice->record->done, true, __ATOMIC_RELEASE); /* pairs with tern_core_event_done() */
    notice->recorded = false;
}

static inline void complete(struct tern_notify_request *notice)
{
    end_event(notice, TERN_OK);
    /* release: the fields of the last match. Pairs with tern_op_notify_request_state(). The data of the access came
     * before. */
    atomic_store_explicit(&notice->state, TERN_NOTIFY_REQUEST_DONE, memory_order_release);
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
static inline bool was_last(struct tern_notify_request *notice, int source, uint32_t tag, uint64_t bytes)
{
    tern_op_notify_request_count(notice, source, tag, bytes);
    if (TERN_UNLIKELY(notice->left > 0))
        return false;
    tern_op_match_withdraw(&tern_op_notify_match, &notice->request);
    complete(notice);
    return true;
}

/* Deliver a notification to the request that matches it, or store it; inline data is copied to its destination first.
 * The words are read once before they are checked, because the source can change them at any time. The length is
 * checked for every kind, because tern_op_expected_update() passes the words of the last match to the link, and the
 * length there must fit the cell and the region. A notification for a region that this rank no longer has is dropped:
 * the region was freed while the notification was in flight and no request waited for it. */
enum tern_link_delivered tern_op_notify_receive(int from, const unsigned char *head, bool carried)
{
    const volatile uint64_t *word = (const volatile uint64_t *)(const volatile void *)head; /* struct wire_notify */
    uint64_t                 first = word[0], scope = word[1], bytes = word[2];
    unsigned                 kind = (uint8_t)(first >> 32), len = (uint8_t)(first >> 40);
    const struct tern_notify_part *local_part = local_part_of(scope);
    unsigned char                 *to = NULL;
    struct tern_notify_request    *notice;
    enum tern_link_delivered       took;
    bool                           alone;

    if (TERN_UNLIKELY(!local_part))
        return TERN_LINK_TAKEN;
    if (TERN_LIKELY(kind == WIRE_NOTIFY_INLINE)) {
        if (TERN_UNLIKELY(len > TERN_LINK_INLINE || !tern_base_covers(local_part->size, bytes, len)))
            tern_core_message_protocol_error(from, "a notification");
        to = carried ? local_part->base + bytes : NULL;
        bytes = len;
    } else if (TERN_UNLIKELY(kind != WIRE_NOTIFY || len > 0)) {
        tern_core_message_protocol_error(from, "a notification");
    }
    alone = tern_base_biased_lock(&tern_op_notify_lock);
    notice = (struct tern_notify_request *)tern_op_match_find(&tern_op_notify_match, scope, (uint32_t)first, from);
    if (TERN_LIKELY(notice != NULL) || store_unexpected(scope, (uint32_t)first, from, bytes)) {
        if (to)
            tern_base_nq_copy(to, head + offsetof(struct wire_notify, data), bytes);
        if (notice)
            tern_op_expected_update(notice, first, from, local_part);
        took = notice && was_last(notice, from, (uint32_t)first, bytes) ? TERN_LINK_TAKEN_LAST : TERN_LINK_TAKEN;
    } else {
        took = TERN_LINK_REFUSED;
    }
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    return took;
}

/* Whether the request is in the table of requests. The caller holds the lock. */
static bool is_posted(const struct tern_notify_request *notice)
{
    unsigned state = atomic_load_explicit(&notice->state, memory_order_relaxed);

    return state == TERN_NOTIFY_REQUEST_STARTED || state == TERN_NOTIFY_REQUEST_HOPELESS;
}

bool tern_op_notify_find_hopeless(struct tern_ctx *ctx)
{
    bool alone = tern_base_biased_lock(&tern_op_notify_lock), again = false;

    TERN_LIST_EACH(struct tern_notify_request, notice, &notices, all) {
        int source = tern_op_match_source(&notice->name);

        if (notice->ctx != ctx || !is_posted(notice) || !tern_core_team_deserted(notice->team, source))
            continue;
        if (tern_core_team_has_sent(notice->team, source, TERN_CHANNEL_NOTIFY)) {
            again = true;
            continue;
        }
        /* relaxed: only the context's thread, which is this one, distinguishes this state from STARTED */
        atomic_store_explicit(&notice->state, TERN_NOTIFY_REQUEST_HOPELESS, memory_order_relaxed);
        end_event(notice, TERN_ERR_PEER);
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
    memset(local_parts, 0xff,
           sizeof(local_parts)); /* matches no lookup: no name, not even 0, is known before there is a region */
}

void tern_op_notify_leave(void)
{
    bool alone = tern_base_biased_lock(&tern_op_notify_lock);

    leaving = true;
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    TERN_LIST_EACH(struct tern_notify_request, notice, &notices, all)
        tern_op_notify_request_free(notice);
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

/* Mark a request as freed. Waits take it for one that is complete, and then report the error. */
static void invalidate(struct tern_notify_request *notice)
{
    static struct tern_team nobody;
    static struct tern_ctx  none = { .team = &nobody, .outstanding = TERN_LIST_INIT(none.outstanding) };

    notice->ctx = &none;
    atomic_store_explicit(&notice->state, TERN_NOTIFY_REQUEST_FREED, memory_order_relaxed);
}

static void retire(struct tern_notify_request *notice)
{
    invalidate(notice);
    tern_base_list_remove(&notice->all);
    tern_base_retire(&freed, &notice->all);
}

void tern_op_notify_disable(void)
{
    tern_op_expected.notice = NULL;
    TERN_LIST_EACH(struct tern_notify_request, notice, &notices, all)
        invalidate(notice);
}

tern_status tern_op_notify_request_new(struct tern_ctx *ctx, const struct tern_region *region,
                                       struct tern_match_name name, uint32_t count, struct tern_notify_request **out)
{
    struct tern_list           *node = tern_base_retired_reuse(&freed);
    struct tern_notify_request *notice = node ? TERN_LIST_ITEM(node, struct tern_notify_request, all)
                                              : aligned_alloc(_Alignof(struct tern_notify_request), sizeof(*notice));
    bool                        alone, bound;

    if (!notice)
        return tern_base_fail(TERN_ERR_NOMEM, "tern_notify_create: no memory for a request");
    *notice =
        (struct tern_notify_request){ .ctx = ctx, .team = region->team, .name = name, .count = count, .source = -1 };
    tern_base_list_init(&notice->all);
    alone = tern_base_biased_lock(&tern_op_notify_lock);
    bound = tern_op_match_bind(&tern_op_notify_match, &notice->request, name);
    if (bound)
        tern_base_list_push(&notices, &notice->all);
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    if (!bound) {
        retire(notice);
        return tern_base_fail(TERN_ERR_NOMEM, "tern_notify_create: no memory to match a request");
    }
    *out = notice;
    return TERN_OK;
}

/* Stop a request. Its events complete with an error. The caller holds the lock. */
static void stop(struct tern_notify_request *notice)
{
    if (is_posted(notice))
        tern_op_match_withdraw(&tern_op_notify_match, &notice->request);
    end_event(notice, TERN_ERR_CANCELLED);
    atomic_store_explicit(&notice->state, TERN_NOTIFY_REQUEST_IDLE, memory_order_relaxed);
}

void tern_op_notify_request_free(struct tern_notify_request *notice)
{
    bool alone = tern_base_biased_lock(&tern_op_notify_lock);

    stop(notice);
    if (tern_op_expected.notice == notice)
        tern_op_expected.notice = NULL;
    tern_op_match_unbind(&tern_op_notify_match, &notice->request);
    tern_base_list_remove(&notice->all);
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    retire(notice);
}

/* Return a request of the context; NULL: it has none. */
static struct tern_notify_request *notice_of(const struct tern_ctx *ctx)
{
    bool                        alone = tern_base_biased_lock(&tern_op_notify_lock);
    struct tern_notify_request *found = NULL;

    TERN_LIST_EACH(struct tern_notify_request, notice, &notices, all)
        found = notice->ctx == ctx ? notice : found;
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    return found;
}

void tern_op_notify_release(const struct tern_ctx *ctx)
{
    struct tern_notify_request *notice;

    while ((notice = notice_of(ctx)))
        tern_op_notify_request_free(notice);
}

bool tern_op_notify_request_cancel(struct tern_notify_request *notice)
{
    bool alone = tern_base_biased_lock(&tern_op_notify_lock);
    bool started = is_posted(notice);

    if (started)
        stop(notice);
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    return started;
}

/* Match stored notifications with a request. Returns their number. The caller holds the lock. */
static uint32_t match_stored(struct tern_notify_request *notice)
{
    struct tern_match_arrival *arrival;
    uint32_t                   taken = 0;

    for (; notice->left > 0 && (arrival = tern_op_match_oldest(&notice->request)) != NULL; taken++) {
        tern_op_notify_request_count(notice, arrival->name.source, (uint32_t)arrival->name.tag, arrival->bytes);
        tern_op_match_drop(&tern_op_notify_match, arrival);
    }
    return taken;
}

/* After a death, let the next progress find out whether the request waits for dead ranks. */
static inline void check_deaths(const struct tern_notify_request *notice)
{
    if (TERN_UNLIKELY(atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) > 0))
        atomic_store_explicit(&notice->ctx->attention, true, memory_order_relaxed); /* this thread reads it */
}

bool tern_op_notify_request_start(struct tern_notify_request *notice)
{
    bool     alone;
    uint32_t taken;

    /* One comparison: neither IDLE nor DONE, that is STARTED, HOPELESS or FREED. */
    if (TERN_UNLIKELY(
            (atomic_load_explicit(&notice->state, memory_order_relaxed) & ~(unsigned)TERN_NOTIFY_REQUEST_DONE) != 0))
        return false;
    alone = tern_base_biased_lock(&tern_op_notify_lock);
    notice->left = notice->count;
    notice->source = -1;
    taken = match_stored(notice);
    if (notice->left == 0) {
        complete(notice);
    } else {
        tern_op_match_post(&tern_op_notify_match, &notice->request);
        atomic_store_explicit(&notice->state, TERN_NOTIFY_REQUEST_STARTED,
                              memory_order_relaxed); /* the lock orders it */
    }
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    if (taken > 0 ||
        TERN_UNLIKELY(tern_core_message_refuses(TERN_CHANNEL_NOTIFY))) /* refused notifications may be accepted now */
        tern_core_message_full(TERN_CHANNEL_NOTIFY, false);
    check_deaths(notice);
    return true;
}

bool tern_op_notify_request_peek(struct tern_notify_request *notice, struct tern_match_name *name, uint64_t *bytes)
{
    bool                             alone = tern_base_biased_lock(&tern_op_notify_lock);
    const struct tern_match_arrival *arrival = tern_op_match_oldest(&notice->request);

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

bool tern_op_notify_request_event(struct tern_notify_request *notice, tern_event *event)
{
    struct tern_op *fresh = tern_core_op_new(notice->ctx, &record_kind, NULL);
    bool            alone;

    if (!fresh)
        return false;
    fresh->scratch[0] = notice->count;
    fresh->scratch[1] = (uint64_t)tern_op_match_source(&notice->name);
    alone = tern_base_biased_lock(&tern_op_notify_lock);
    if (is_posted(notice) && !notice->recorded) {
        notice->record = fresh;
        notice->recorded = true;
        fresh = NULL;
    }
    *event = TERN_EVENT_INIT;
    if (notice->recorded) {
        notice->record->events++;
        *event = tern_core_event_make(notice->record, false);
    }
    tern_base_biased_unlock(&tern_op_notify_lock, alone);
    if (fresh)
        tern_core_op_drop(fresh);
    check_deaths(notice);
    return true;
}

void tern_op_notify_request_describe(const struct tern_notify_request *notice, char *text, size_t size)
{
    char source[24] = "any rank", tag[24] = "any tag";

    if (!(notice->name.class & TERN_MATCH_ANY_SOURCE))
        snprintf(source, sizeof(source), "rank %d", notice->name.source);
    if (!(notice->name.class & TERN_MATCH_ANY_TAG))
        snprintf(tag, sizeof(tag), "tag %" PRIu64, notice->name.tag);
    snprintf(text, size, "for %u of %u notifications from %s of the job with %s; %u others are kept%s", notice->left,
             notice->count, source, tag, tern_op_notify_match.kept,
             tern_op_notify_match.kept >= (uint64_t)tern_opt.notify_keep ? ", and no more fit (TERN_NOTIFY_KEEP)" : "");
}

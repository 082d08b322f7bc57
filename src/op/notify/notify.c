/* notify.c: see notify.h. */
#include "op/notify/notify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/notify_queue.h"
#include "base/biased_lock.h"
#include "base/log.h"
#include "base/options.h"
#include "core/message.h"
#include "op/wire.h"

#define LOCAL_PARTS 16 /* a power of two */

static struct tern_biased_lock lock;
static struct tern_match       match;
static struct tern_notice     *notices;
static bool                    leaving; /* the program accepts no more notifications */

/* ---- incoming notifications ---- */

/* A cached lookup of this rank's part of a region. */
struct local_part {
    uint64_t       scope, changes; /* changes: the job's region_changes at the time of the lookup */
    unsigned char *base;
    uint64_t       size;
};

/* Recently used regions of this rank. Accessed only by the delivering thread. */
static struct local_part local_parts[LOCAL_PARTS];

/* The last match, because the next notification is usually the same. Guarded by the lock. */
static struct {
    const struct tern_notice *notice;
    uint64_t                  changes; /* the job's region_changes at that time */
    struct tern_link_expected want;
} last_match;

static __attribute__((noinline)) bool local_part_find(struct local_part *local_part, uint64_t scope)
{
    bool found = false;

    pthread_mutex_lock(&tern_job.lock);
    for (const struct tern_region *region = tern_job.regions; region && !found; region = region->next) {
        const struct tern_link_part *part = &region->part[tern_job.boot.rank];

        if ((found = region->name == scope))
            *local_part =
                (struct local_part){ .scope = scope,
                                     .changes = atomic_load_explicit(&tern_job.region_changes, memory_order_relaxed),
                                     .base = (unsigned char *)(uintptr_t)part->addr,
                                     .size = part->size };
    }
    pthread_mutex_unlock(&tern_job.lock);
    return found;
}

/* Look up a region; NULL: this rank has no region of that name. */
static inline const struct local_part *local_part_of(uint64_t scope)
{
    struct local_part *local_part = &local_parts[scope % LOCAL_PARTS];
    uint64_t           changes = atomic_load_explicit(&tern_job.region_changes, memory_order_relaxed);

    if (TERN_LIKELY(local_part->scope == scope && local_part->changes == changes) || local_part_find(local_part, scope))
        return local_part;
    return NULL;
}

/* Complete the events of a request. The caller holds the lock. */
static inline void end_event(struct tern_notice *notice, tern_status status)
{
    if (TERN_LIKELY(!notice->recorded))
        return;
    notice->record->status = status;
    __atomic_store_n(&notice->record->done, true, __ATOMIC_RELEASE); /* pairs with tern_core_event_done() */
    notice->recorded = false;
}

static inline void complete(struct tern_notice *notice)
{
    end_event(notice, TERN_OK);
    /* release: the fields of the last match. Pairs with tern_op_notice_state(). The data of the access came before. */
    atomic_store_explicit(&notice->state, TERN_NOTICE_DONE, memory_order_release);
}

static inline void count_match(struct tern_notice *notice, int source, uint32_t tag, uint64_t bytes)
{
    notice->source = source;
    notice->tag = tag;
    notice->bytes = bytes;
    notice->left--;
}

/* Store a notification that no request matches. Returns false if the limit is reached. The caller holds the lock. */
static __attribute__((noinline)) bool store_unexpected(uint64_t scope, uint32_t tag, int source, uint64_t bytes)
{
    const struct tern_match_name name = { .scope = scope, .tag = tag, .source = source };

    if (leaving)
        return true;
    /* Notifications from a dead rank are always stored; their number is bounded by the size of its queue. There is no
     * sender to push back on, and a wait for one of these notifications must not depend on the ones before it. */
    if ((match.kept < (uint64_t)tern_opt.notify_keep || tern_core_job_lost(source)) &&
        tern_op_match_keep(&match, name, bytes))
        return true;
    tern_core_message_notify_full(true);
    return false;
}

/* Count one more match of a request. Returns whether it was the last one. The caller holds the lock. */
static inline bool was_last(struct tern_notice *notice, int source, uint32_t tag, uint64_t bytes)
{
    count_match(notice, source, tag, bytes);
    if (TERN_UNLIKELY(notice->left > 0))
        return false;
    tern_op_match_withdraw(&match, &notice->request);
    complete(notice);
    return true;
}

static inline void expect_again(const struct tern_notice *notice, uint64_t first, int from,
                                const struct local_part *local_part)
{
    unsigned len = (uint8_t)(first >> 40);

    if (TERN_LIKELY(last_match.notice == notice && ((last_match.want.first ^ first) & last_match.want.mask) == 0 &&
                    last_match.want.from == from && last_match.changes == local_part->changes))
        return;
    last_match.notice = notice;
    last_match.changes = local_part->changes;
    last_match.want =
        (struct tern_link_expected){ .first = first,
                                     .region = local_part->scope,
                                     .mask =
                                         notice->name.class & TERN_MATCH_ANY_TAG ? ~(uint64_t)UINT32_MAX : UINT64_MAX,
                                     .base = local_part->base,
                                     .max_offset = local_part->size - len,
                                     .len = len,
                                     .from = from,
                                     .to = local_part->base };
}

/* Deliver a notification to the request that matches it, or store it; inline data is copied to its destination first.
 * The words are read once before they are checked, because the source can change them at any time. The length is
 * checked for every kind, because expect_again() passes the words of the last match to the link, and the length there
 * must fit the cell and the region. A notification for a region that this rank no longer has is dropped: the region was
 * freed while the notification was in flight and no request waited for it. */
enum tern_link_delivered tern_op_notify_receive(int from, const unsigned char *head, bool carried)
{
    const volatile uint64_t *word = (const volatile uint64_t *)(const volatile void *)head; /* struct wire_notify */
    uint64_t                 first = word[0], scope = word[1], bytes = word[2];
    unsigned                 kind = (uint8_t)(first >> 32), len = (uint8_t)(first >> 40);
    const struct local_part *local_part = local_part_of(scope);
    unsigned char           *to = NULL;
    struct tern_notice      *notice;
    enum tern_link_delivered took;
    bool                     alone;

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
    alone = tern_base_biased_lock(&lock);
    notice = (struct tern_notice *)tern_op_match_find(&match, scope, (uint32_t)first, from);
    if (TERN_LIKELY(notice != NULL) || store_unexpected(scope, (uint32_t)first, from, bytes)) {
        if (to)
            tern_base_nq_copy(to, head + offsetof(struct wire_notify, data), bytes);
        if (notice)
            expect_again(notice, first, from, local_part);
        took = notice && was_last(notice, from, (uint32_t)first, bytes) ? TERN_LINK_TAKEN_LAST : TERN_LINK_TAKEN;
    } else {
        took = TERN_LINK_REFUSED;
    }
    tern_base_biased_unlock(&lock, alone);
    return took;
}

/* Whether every rank that could notify the request is dead. */
static bool senders_dead(const struct tern_notice *notice)
{
    const struct tern_team *team = notice->team;

    if (!tern_op_match_any_source(&notice->name))
        return tern_core_job_lost(notice->name.source);
    for (int rank = 0; rank < team->size; rank++) {
        int world = tern_core_team_world(team, rank);

        if (world != tern_job.boot.rank && !tern_core_job_lost(world))
            return false;
    }
    return team->size > 1;
}

static bool are_refused(void)
{
    return atomic_load_explicit(&tern_core_message_notify_refused, memory_order_relaxed); /* a hint */
}

/* Whether matching notifications may still arrive: sent by dead ranks before their death, or by this rank itself and
 * not refused. */
static bool has_in_flight(const struct tern_notice *notice)
{
    const struct tern_team *team = notice->team;

    if (!tern_op_match_any_source(&notice->name))
        return tern_core_message_has_from(notice->name.source, TERN_CHANNEL_NOTIFY);
    for (int rank = 0; rank < team->size; rank++) {
        int world = tern_core_team_world(team, rank);

        if (tern_core_message_has_from(world, TERN_CHANNEL_NOTIFY) && (world != tern_job.boot.rank || !are_refused()))
            return true;
    }
    return false;
}

#define SOON 64 /* polls */

/* Poll briefly for the expected notification, which would be the last match of the request. The resulting state is
 * written before the notification arrives, because stores between its arrival and the program's response delay the
 * response. */
static bool expect(struct tern_notice *notice)
{
    tern_op_match_withdraw(&match, &notice->request);
    count_match(notice, last_match.want.from, (uint32_t)last_match.want.first, last_match.want.len);
    atomic_store_explicit(&notice->state, TERN_NOTICE_IDLE, memory_order_relaxed); /* only this thread waits for it */
    if (TERN_LIKELY(tern_core_message_expect(&last_match.want, SOON))) {
        if (TERN_UNLIKELY(last_match.want.len == 0))
            notice->bytes = last_match.want.third;
        if (TERN_UNLIKELY(last_match.want.mask != UINT64_MAX))
            notice->tag = (uint32_t)last_match.want.first;
        return true;
    }
    notice->left = 1; /* the other fields are reported only when left is 0 */
    atomic_store_explicit(&notice->state, TERN_NOTICE_STARTED, memory_order_relaxed);
    tern_op_match_post(&match, &notice->request); /* it is still the only one */
    return false;
}

/* If the bias is held, no other thread has ever taken the lock, so this thread may use the guarded state as long as it
 * likes. */
bool tern_op_notice_spin(struct tern_notice *notice)
{
    bool taken = false;

    if (TERN_UNLIKELY(!tern_base_bias_enter(&lock.biased)))
        return false;
    if (TERN_LIKELY(last_match.notice == notice && match.sole == &notice->request && notice->left == 1 &&
                    !notice->recorded &&
                    last_match.changes == atomic_load_explicit(&tern_job.region_changes, memory_order_relaxed)))
        taken = expect(notice);
    tern_base_biased_unlock(&lock, true);
    return taken;
}

/* Whether the request is in the table of requests. The caller holds the lock. */
static bool is_posted(const struct tern_notice *notice)
{
    unsigned state = atomic_load_explicit(&notice->state, memory_order_relaxed);

    return state == TERN_NOTICE_STARTED || state == TERN_NOTICE_HOPELESS;
}

/* Find the requests of a context that wait for dead ranks, and complete their events. Returns true if matching
 * notifications are still in flight. */
static bool find_hopeless(struct tern_ctx *ctx)
{
    bool alone = tern_base_biased_lock(&lock), again = false;

    for (struct tern_notice *notice = notices; notice; notice = notice->next) {
        if (notice->ctx != ctx || !is_posted(notice) || !senders_dead(notice))
            continue;
        if (has_in_flight(notice)) {
            again = true;
            continue;
        }
        /* relaxed: only the context's thread, which is this one, distinguishes this state from STARTED */
        atomic_store_explicit(&notice->state, TERN_NOTICE_HOPELESS, memory_order_relaxed);
        end_event(notice, TERN_ERR_PEER);
    }
    tern_base_biased_unlock(&lock, alone);
    return again;
}

void tern_op_notify_write_head(unsigned char *head, uint64_t region, uint32_t tag, uint64_t bytes)
{
    const uint64_t words[TERN_LINK_HEAD / sizeof(uint64_t)] = { wire_notify_first(tag, WIRE_NOTIFY, 0), region, bytes };

    memcpy(head, words, sizeof(words));
}

void tern_op_notify_open(void)
{
    tern_op_match_open(&match);
    leaving = false;
    memset(local_parts, 0xff,
           sizeof(local_parts)); /* matches no lookup: no name, not even 0, is known before there is a region */
    tern_core_ctx_on_death = find_hopeless;
}

/* Called when space for unexpected notifications was freed. */
static void has_room(void)
{
    tern_core_message_notify_full(false);
}

void tern_op_notify_leave(void)
{
    bool alone = tern_base_biased_lock(&lock);

    leaving = true;
    tern_base_biased_unlock(&lock, alone);
    while (notices)
        tern_op_notice_free(notices);
    has_room();
}

void tern_op_notify_close(void)
{
    tern_op_match_close(&match);
}

void tern_op_notify_forget(uint64_t scope)
{
    bool     alone = tern_base_biased_lock(&lock);
    uint32_t dropped = tern_op_match_forget(&match, scope);

    tern_base_biased_unlock(&lock, alone);
    if (dropped > 0)
        has_room();
}

/* ---- requests ---- */

tern_status tern_op_notice_new(struct tern_ctx *ctx, const struct tern_region *region, struct tern_match_name name,
                               uint32_t count, struct tern_notice **out)
{
    struct tern_notice *notice = aligned_alloc(_Alignof(struct tern_notice), sizeof(*notice));
    bool                alone, bound;

    if (!notice)
        return tern_base_fail(TERN_ERR_NOMEM, "tern_notice_init: no memory for a request");
    *notice = (struct tern_notice){ .ctx = ctx, .team = region->team, .name = name, .count = count, .source = -1 };
    alone = tern_base_biased_lock(&lock);
    bound = tern_op_match_bind(&match, &notice->request, name);
    if (bound) {
        notice->next = notices;
        notice->link = &notices;
        if (notice->next)
            notice->next->link = &notice->next;
        notices = notice;
    }
    tern_base_biased_unlock(&lock, alone);
    if (!bound) {
        free(notice);
        return tern_base_fail(TERN_ERR_NOMEM, "tern_notice_init: no memory to match a request");
    }
    *out = notice;
    return TERN_OK;
}

/* Stop a request. Its events complete with an error. The caller holds the lock. */
static void stop(struct tern_notice *notice)
{
    if (is_posted(notice))
        tern_op_match_withdraw(&match, &notice->request);
    end_event(notice, TERN_ERR_STATE);
    atomic_store_explicit(&notice->state, TERN_NOTICE_IDLE, memory_order_relaxed);
}

void tern_op_notice_free(struct tern_notice *notice)
{
    bool alone = tern_base_biased_lock(&lock);

    stop(notice);
    if (last_match.notice == notice)
        last_match.notice = NULL;
    tern_op_match_unbind(&match, &notice->request);
    *notice->link = notice->next;
    if (notice->next)
        notice->next->link = notice->link;
    tern_base_biased_unlock(&lock, alone);
    free(notice);
}

bool tern_op_notice_cancel(struct tern_notice *notice)
{
    bool alone = tern_base_biased_lock(&lock);
    bool started = is_posted(notice);

    if (started)
        stop(notice);
    tern_base_biased_unlock(&lock, alone);
    return started;
}

/* Match stored notifications with a request. Returns their number. The caller holds the lock. */
static uint32_t match_stored(struct tern_notice *notice)
{
    struct tern_match_arrival *arrival;
    uint32_t                   taken = 0;

    for (; notice->left > 0 && (arrival = tern_op_match_oldest(&notice->request)) != NULL; taken++) {
        count_match(notice, arrival->name.source, (uint32_t)arrival->name.tag, arrival->bytes);
        tern_op_match_drop(&match, arrival);
    }
    return taken;
}

/* After a death, let the next progress find out whether the request waits for dead ranks. */
static inline void check_deaths(const struct tern_notice *notice)
{
    if (TERN_UNLIKELY(atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) > 0))
        atomic_store_explicit(&notice->ctx->attention, true, memory_order_relaxed); /* this thread reads it */
}

bool tern_op_notice_start(struct tern_notice *notice)
{
    bool     alone;
    uint32_t taken;

    if (TERN_UNLIKELY(is_posted(notice)))
        return false;
    alone = tern_base_biased_lock(&lock);
    notice->left = notice->count;
    notice->source = -1;
    taken = match_stored(notice);
    if (notice->left == 0) {
        complete(notice);
    } else {
        tern_op_match_post(&match, &notice->request);
        atomic_store_explicit(&notice->state, TERN_NOTICE_STARTED, memory_order_relaxed); /* the lock orders it */
    }
    tern_base_biased_unlock(&lock, alone);
    if (taken > 0 || TERN_UNLIKELY(are_refused())) /* refused notifications may be accepted now */
        has_room();
    check_deaths(notice);
    return true;
}

bool tern_op_notice_peek(struct tern_notice *notice, struct tern_match_name *name, uint64_t *bytes)
{
    bool                             alone = tern_base_biased_lock(&lock);
    const struct tern_match_arrival *arrival = tern_op_match_oldest(&notice->request);

    if (arrival) {
        *name = arrival->name;
        *bytes = arrival->bytes;
    }
    tern_base_biased_unlock(&lock, alone);
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

bool tern_op_notice_event(struct tern_notice *notice, tern_event *event)
{
    struct tern_op *fresh = tern_core_op_new(notice->ctx, &record_kind, NULL);
    bool            alone;

    if (!fresh)
        return false;
    fresh->scratch[0] = notice->count;
    fresh->scratch[1] = tern_op_match_any_source(&notice->name) ? UINT64_MAX : (uint64_t)notice->name.source;
    alone = tern_base_biased_lock(&lock);
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
    tern_base_biased_unlock(&lock, alone);
    if (fresh)
        tern_core_op_drop(fresh);
    check_deaths(notice);
    return true;
}

void tern_op_notice_describe(const struct tern_notice *notice, char *text, size_t size)
{
    char source[24] = "any rank", tag[24] = "any tag";

    if (!(notice->name.class & TERN_MATCH_ANY_SOURCE))
        snprintf(source, sizeof(source), "rank %d", notice->name.source);
    if (!(notice->name.class & TERN_MATCH_ANY_TAG))
        snprintf(tag, sizeof(tag), "tag %" PRIu64, notice->name.tag);
    snprintf(text, size, "for %u of %u notifications from %s of the job with %s; %u others are kept%s", notice->left,
             notice->count, source, tag, match.kept,
             match.kept >= (uint64_t)tern_opt.notify_keep ? ", and no more fit (TERN_NOTIFY_KEEP)" : "");
}

/* ---- outgoing notifications ---- */

tern_status tern_op_notify_find_inject(struct tern_link_part *part)
{
    struct tern_inject_notify *handle = NULL;
    tern_status                st = TERN_OK;

    if (atomic_load_explicit(&part->inject, memory_order_relaxed))
        return TERN_OK;
    if ((st = tern_job.ops[part->link]->inject->notify(tern_job.link[part->link], part->rank, &handle)) == TERN_OK)
        /* release: the contents of the handle before the pointer */
        atomic_store_explicit(&part->inject, handle, memory_order_release);
    return st;
}

bool tern_op_notify_inline(struct tern_ctx *ctx, const struct tern_link_part *part, uint32_t tag, uint64_t offset,
                           unsigned char *to, const void *src, size_t len)
{
    const uint64_t             word[] = { wire_notify_first(tag, WIRE_NOTIFY_INLINE, len), part->region, offset };
    /* acquire: the handle before its contents. Pairs with tern_op_notify_find_inject(). */
    struct tern_inject_notify *handle = atomic_load_explicit(&part->inject, memory_order_acquire);

    if (!tern_inject_inline(handle, word, to, src, len))
        return false;
    ctx->inline_unflushed = true;
    tern_link_ring(handle->slot);
    return true;
}

tern_status tern_op_notify_reserve(int rank, struct tern_link_msg *msg)
{
    msg->peer = rank;
    msg->channel = TERN_CHANNEL_NOTIFY;
    return tern_core_ops_to(rank)->msg->open(tern_core_link_to(rank), msg, 0, 0);
}

void tern_op_notify_send(const struct tern_link_msg *msg, const struct tern_notification *notification)
{
    uint64_t *words = (uint64_t *)(void *)msg->head; /* write only the words that are needed */

    words[0] = wire_notify_first(notification->tag, WIRE_NOTIFY, 0);
    words[1] = notification->scope;
    words[2] = notification->bytes;
    tern_core_ops_to(msg->peer)->msg->send(tern_core_link_to(msg->peer), msg, 0);
}

void tern_op_notify_drop(const struct tern_link_msg *msg)
{
    tern_core_ops_to(msg->peer)->msg->drop(tern_core_link_to(msg->peer), msg);
}

tern_status tern_op_notify_try(int rank, const struct tern_notification *notification)
{
    struct tern_link_msg msg;
    tern_status          st = tern_op_notify_reserve(rank, &msg);

    if (st == TERN_OK)
        tern_op_notify_send(&msg, notification);
    return st;
}

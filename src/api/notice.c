/* notice.c: the public calls of tern/notice.h. */
#include <tern/notice.h>

#include <stdio.h>

#include "api/check.h"
#include "core/region.h"
#include "core/wait_set.h"
#include "op/notify/expected.h"

tern_status tern_notice_init(tern_ctx *ctx, tern_region *region, int source, int64_t tag, uint32_t count,
                             tern_notice **out)
{
    struct tern_match_name name = { .class = 0 };

    if (!ctx || !region || !out)
        return tern_api_null("tern_notice_init");
    if (count == 0)
        return tern_base_fail(TERN_ERR_ARG, "tern_notice_init: a request for 0 notifications");
    if (source != TERN_ANY_SOURCE && (source < 0 || source >= ctx->team->size))
        return tern_base_fail(TERN_ERR_RANGE, "tern_notice_init: no rank %d in a team of %d", source, ctx->team->size);
    if (tag != TERN_ANY_TAG && (tag < 0 || tag > UINT32_MAX))
        return tern_base_fail(TERN_ERR_RANGE, "tern_notice_init: tag %lld does not fit in 32 bits", (long long)tag);
    name.scope = region->name;
    name.class =
        (source == TERN_ANY_SOURCE ? TERN_MATCH_ANY_SOURCE : 0) | (tag == TERN_ANY_TAG ? TERN_MATCH_ANY_TAG : 0);
    name.source = source == TERN_ANY_SOURCE ? 0 : tern_core_team_world(ctx->team, source);
    name.tag = tag == TERN_ANY_TAG ? 0 : (uint64_t)tag;
    return tern_op_notice_new(ctx, region, name, count, out);
}

tern_status tern_notice_start(tern_notice *notice)
{
    if (TERN_UNLIKELY(!notice))
        return tern_api_null("tern_notice_start");
    if (TERN_UNLIKELY(!tern_op_notice_start(notice)))
        return tern_base_fail(TERN_ERR_STATE, "tern_notice_start: the request is started; wait for it or cancel it");
    return TERN_OK;
}

static inline void tell(const struct tern_notice *notice, tern_notice_info *info)
{
    if (!info)
        return;
    info->source = tern_core_team_rank(notice->ctx->team, notice->source);
    info->tag = notice->tag;
    info->bytes = notice->bytes;
    info->matches = notice->count - notice->left;
}

/* Make a completed request idle and report its last match to the program. */
static inline tern_status found_done(struct tern_notice *notice, tern_notice_info *info)
{
    tell(notice, info);
    tern_op_notice_seen(notice);
    return TERN_OK;
}

static __attribute__((cold, noinline)) tern_status not_started(const char *what)
{
    return tern_base_fail(TERN_ERR_STATE, "%s: the request is not started", what);
}

static __attribute__((cold, noinline)) tern_status hopeless(const struct tern_notice *notice, const char *what)
{
    if (notice->name.class & TERN_MATCH_ANY_SOURCE)
        return tern_base_fail(TERN_ERR_PEER, "%s: all other ranks of the region are gone", what);
    return tern_base_fail(TERN_ERR_PEER, "%s: rank %d of the job, which was to notify, is gone", what,
                          notice->name.source);
}

/* ---- waiting ---- */

static enum tern_waitable_state notice_state(const void *object)
{
    const struct tern_notice *notice = *(tern_notice *const *)object;

    return notice ? tern_op_notice_state(notice) : TERN_WAITABLE_IDLE;
}

static struct tern_ctx *notice_ctx(const void *object)
{
    return (*(tern_notice *const *)object)->ctx;
}

static tern_status notice_take(void *object, void *info, const char *what)
{
    struct tern_notice *notice = *(tern_notice *const *)object;

    return tern_op_notice_state(notice) == TERN_NOTICE_DONE ? found_done(notice, info) : hopeless(notice, what);
}

static void notice_describe(const void *object, char *text, size_t size)
{
    tern_op_notice_describe(*(tern_notice *const *)object, text, size);
}

static tern_status                notices_poll(void *set);
static const struct tern_waitable notices_kind = { .poll = notices_poll,
                                                   .state = notice_state,
                                                   .ctx = notice_ctx,
                                                   .take = notice_take,
                                                   .describe = notice_describe,
                                                   .info_size = sizeof(tern_notice_info),
                                                   .notify = true };

static tern_status notices_poll(void *set)
{
    return tern_core_wait_set_poll(set, &notices_kind);
}

tern_status tern_notice_test(tern_notice *notice, tern_notice_info *info)
{
    uint32_t polls = 0;
    unsigned state;

    if (!notice)
        return tern_api_null("tern_notice_test");
    if ((state = tern_op_notice_state(notice)) == TERN_NOTICE_IDLE)
        return not_started("tern_notice_test");
    if (state != TERN_NOTICE_DONE)
        tern_core_ctx_poll_notify(notice->ctx, &polls);
    if (TERN_LIKELY((state = tern_op_notice_state(notice)) == TERN_NOTICE_DONE))
        return found_done(notice, info);
    return state == TERN_NOTICE_STARTED ? TERN_PENDING : hopeless(notice, "tern_notice_test");
}

#define FIRST_POLLS 128 /* polls for notifications only, before a wait polls for everything */

struct first_polls {
    const struct tern_notice *notice;
    uint32_t                  polls;
};

/* Poll for notifications only, mostly in the queue in which the last one arrived. */
static tern_status first_poll(void *arg)
{
    struct first_polls *first = arg;

    if (TERN_LIKELY(++first->polls % 4 != 0))
        tern_core_message_poll_notify_last();
    else
        tern_core_message_poll_notify();
    return tern_op_notice_state(first->notice) == TERN_NOTICE_DONE ? TERN_OK : TERN_PENDING;
}

static inline bool may_spin(const struct tern_notice *notice)
{
    return !tern_core_message_polls_links && !tern_core_ctx_has_ops(notice->ctx) && tern_job.spin_ns != 0;
}

static __attribute__((noinline)) tern_status wait_for_one(tern_notice *notice, tern_deadline deadline,
                                                          tern_notice_info *info)
{
    const struct tern_waitables of = { &notices_kind, &notice, 1, "tern_notice_wait" };
    struct first_polls          first = { notice, 0 };
    const struct tern_wait      spin = { .poll = first_poll, .arg = &first };

    if (deadline > TERN_NOW && may_spin(notice) && tern_core_spin(&spin, FIRST_POLLS, false) == TERN_OK)
        return found_done(notice, info);
    return tern_core_wait_any(&of, &deadline, &(size_t){ 0 }, info);
}

tern_status tern_notice_wait(tern_notice *notice, tern_deadline deadline, tern_notice_info *info)
{
    unsigned state;

    if (TERN_UNLIKELY(!notice))
        return tern_api_null("tern_notice_wait");
    if (TERN_UNLIKELY((state = tern_op_notice_state(notice)) == TERN_NOTICE_IDLE))
        return not_started("tern_notice_wait");
    if (TERN_LIKELY(state == TERN_NOTICE_STARTED && deadline > TERN_NOW && may_spin(notice) &&
                    tern_op_expected_wait(notice))) {
        tell(notice, info);
        return TERN_OK;
    }
    return state == TERN_NOTICE_DONE ? found_done(notice, info) : wait_for_one(notice, deadline, info);
}

tern_status tern_notice_probe(tern_notice *notice, tern_notice_info *info)
{
    struct tern_match_name name;
    uint64_t               bytes;
    uint32_t               polls = 0;

    if (!notice)
        return tern_api_null("tern_notice_probe");
    tern_core_ctx_poll_notify(notice->ctx, &polls);
    if (!tern_op_notice_peek(notice, &name, &bytes))
        return TERN_PENDING;
    if (info)
        *info = (tern_notice_info){ .source = tern_core_team_rank(notice->ctx->team, name.source),
                                    .tag = (uint32_t)name.tag,
                                    .bytes = bytes };
    return TERN_OK;
}

tern_status tern_notice_cancel(tern_notice *notice, tern_notice_info *info)
{
    if (!notice)
        return tern_api_null("tern_notice_cancel");
    if (!tern_op_notice_cancel(notice))
        return not_started("tern_notice_cancel");
    tell(notice, info);
    return TERN_OK;
}

tern_status tern_notice_free(tern_notice *notice)
{
    if (!notice)
        return tern_api_null("tern_notice_free");
    tern_op_notice_free(notice);
    return TERN_OK;
}

tern_status tern_notice_event(tern_notice *notice, tern_event *event)
{
    if (!notice || !event)
        return tern_api_null("tern_notice_event");
    if (tern_op_notice_state(notice) == TERN_NOTICE_IDLE)
        return not_started("tern_notice_event");
    if (!tern_op_notice_event(notice, event))
        return tern_base_fail(TERN_ERR_NOMEM, "tern_notice_event: no memory for an event");
    return TERN_OK;
}

/* ---- several requests ---- */

static struct tern_waitables several(tern_notice *const *notices, size_t n, const char *what)
{
    return (struct tern_waitables){ &notices_kind, (void *)(uintptr_t)notices, n, what };
}

tern_status tern_notice_test_any(tern_notice *const *notices, size_t n, size_t *index, tern_notice_info *info)
{
    const struct tern_waitables of = several(notices, n, "tern_notice_test_any");

    return tern_core_wait_any(&of, NULL, index, info);
}

tern_status tern_notice_wait_any(tern_notice *const *notices, size_t n, tern_deadline deadline, size_t *index,
                                 tern_notice_info *info)
{
    const struct tern_waitables of = several(notices, n, "tern_notice_wait_any");

    return tern_core_wait_any(&of, &deadline, index, info);
}

static tern_status all(tern_notice *const *notices, size_t n, const tern_deadline *deadline, tern_notice_info *infos,
                       const char *what)
{
    const struct tern_waitables of = several(notices, n, what);

    return tern_core_wait_all(&of, &notices_kind, deadline, infos, NULL);
}

tern_status tern_notice_test_all(tern_notice *const *notices, size_t n, tern_notice_info *infos)
{
    return all(notices, n, NULL, infos, "tern_notice_test_all");
}

tern_status tern_notice_wait_all(tern_notice *const *notices, size_t n, tern_deadline deadline, tern_notice_info *infos)
{
    return all(notices, n, &deadline, infos, "tern_notice_wait_all");
}

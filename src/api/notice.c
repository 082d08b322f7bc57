/* notice.c: the public calls of tern/notice.h. */
#include <tern/notice.h>

#include <stdio.h>

#include "core/region.h"
#include "core/wait.h"
#include "op/notify/notify.h"

#define SOON 128 /* polls before a wait begins that polls everything */

static __attribute__((cold, noinline)) tern_status is_null(const char *what)
{
    return tern_base_fail(TERN_ERR_ARG, "%s: a pointer is NULL", what);
}

tern_status tern_notice_init(tern_ctx *ctx, tern_region *region, int source, int64_t tag, uint32_t count,
                             tern_notice **out)
{
    struct tern_match_name name = { .class = 0 };

    if (!ctx || !region || !out)
        return is_null("tern_notice_init");
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
        return is_null("tern_notice_start");
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

/* The status of a started request after a poll: TERN_OK, TERN_PENDING or TERN_ERR_PEER. */
static inline tern_status see(const struct tern_notice *notice, const char *what)
{
    if (tern_op_notice_state(notice) == TERN_NOTICE_DONE)
        return TERN_OK;
    if (TERN_UNLIKELY(tern_op_notice_hopeless(notice)) && tern_op_notice_state(notice) != TERN_NOTICE_DONE)
        return hopeless(notice, what);
    return TERN_PENDING;
}

tern_status tern_notice_test(tern_notice *notice, tern_notice_info *info)
{
    uint32_t    looks = 0;
    tern_status st;

    if (!notice)
        return is_null("tern_notice_test");
    if (tern_op_notice_state(notice) == TERN_NOTICE_IDLE)
        return not_started("tern_notice_test");
    if (tern_op_notice_state(notice) == TERN_NOTICE_STARTED)
        tern_op_notice_poll(notice->ctx, &looks);
    st = see(notice, "tern_notice_test");
    return st == TERN_OK ? found_done(notice, info) : st;
}

/* A wait for one or several requests. */
struct await {
    tern_notice *const *notice;
    size_t              n, index; /* index of the request that ended the wait, when waiting for any */
    uint32_t            looks;
    bool                all;
    const char         *what;
};

static tern_status one_poll(void *arg)
{
    struct await             *a = arg;
    const struct tern_notice *notice = *a->notice;

    tern_op_notice_poll(notice->ctx, &a->looks);
    return see(notice, a->what);
}

/* The first request that is started and not done; NULL: none. */
static const struct tern_notice *first_pending(const struct await *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->notice[i] && tern_op_notice_state(a->notice[i]) == TERN_NOTICE_STARTED)
            return a->notice[i];
    return NULL;
}

static void await_describe(void *arg, char *text, size_t size)
{
    const struct await       *a = arg;
    const struct tern_notice *notice = first_pending(a);
    char                      one[256] = "nothing";

    if (notice)
        tern_op_notice_describe(notice, one, sizeof(one));
    snprintf(text, size, "%s waits %.200s", a->what, one);
}

/* Poll briefly for notifications only, mostly in the queue in which the last one arrived. Returns whether the request
 * is done. */
static __attribute__((noinline)) bool comes_soon(struct tern_notice *notice)
{
    for (unsigned i = 1; i <= SOON; i++) {
        if (TERN_LIKELY(i % 4 != 0))
            tern_core_message_poll_notify_last();
        else
            tern_core_message_poll_notify();
        if (tern_op_notice_state(notice) == TERN_NOTICE_DONE)
            return true;
    }
    return false;
}

static inline bool may_spin(const struct tern_notice *notice)
{
    return !tern_core_message_polls_links && !tern_core_ctx_has_ops(notice->ctx) && tern_job.spin_ns != 0;
}

static __attribute__((noinline)) tern_status wait_for_one(tern_notice *notice, tern_deadline deadline)
{
    struct await     a = { .notice = &notice, .n = 1, .looks = 1, .what = "tern_notice_wait" };
    struct tern_wait wait = { .poll = one_poll, .describe = await_describe, .arg = &a, .deadline = deadline };

    return tern_core_wait(&wait);
}

tern_status tern_notice_wait(tern_notice *notice, tern_deadline deadline, tern_notice_info *info)
{
    unsigned    state;
    tern_status st;

    if (TERN_UNLIKELY(!notice))
        return is_null("tern_notice_wait");
    if (TERN_UNLIKELY((state = tern_op_notice_state(notice)) == TERN_NOTICE_IDLE))
        return not_started("tern_notice_wait");
    if (TERN_LIKELY(state != TERN_NOTICE_DONE && deadline > TERN_NOW && may_spin(notice))) {
        if (TERN_LIKELY(tern_op_notice_spin(notice))) {
            tell(notice, info);
            return TERN_OK;
        }
        if (comes_soon(notice))
            return found_done(notice, info);
    }
    st = state == TERN_NOTICE_DONE ? TERN_OK : wait_for_one(notice, deadline);
    return st == TERN_OK ? found_done(notice, info) : st;
}

tern_status tern_notice_probe(tern_notice *notice, tern_notice_info *info)
{
    struct tern_match_name name;
    uint64_t               bytes;
    uint32_t               looks = 0;

    if (!notice)
        return is_null("tern_notice_probe");
    tern_op_notice_poll(notice->ctx, &looks);
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
        return is_null("tern_notice_cancel");
    if (!tern_op_notice_cancel(notice))
        return not_started("tern_notice_cancel");
    tell(notice, info);
    return TERN_OK;
}

tern_status tern_notice_free(tern_notice *notice)
{
    if (!notice)
        return is_null("tern_notice_free");
    tern_op_notice_free(notice);
    return TERN_OK;
}

tern_status tern_notice_event(tern_notice *notice, tern_event *event)
{
    if (!notice || !event)
        return is_null("tern_notice_event");
    if (tern_op_notice_state(notice) == TERN_NOTICE_IDLE)
        return not_started("tern_notice_event");
    if (!tern_op_notice_event(notice, event))
        return tern_base_fail(TERN_ERR_NOMEM, "tern_notice_event: no memory for an event");
    return TERN_OK;
}

/* ---- several requests ---- */

static __attribute__((cold, noinline)) tern_status is_none(const char *what)
{
    return tern_base_fail(TERN_ERR_ARG, "%s: any of 0 requests will never be done", what);
}

/* Poll once for the context of each request that is waited for. Requests of one context are usually adjacent. */
static void look_all(struct await *a)
{
    struct tern_ctx *last = NULL;

    for (size_t i = 0; i < a->n; i++) {
        const struct tern_notice *notice = a->notice[i];

        if (!notice || notice->ctx == last || tern_op_notice_state(notice) != TERN_NOTICE_STARTED)
            continue;
        last = notice->ctx;
        tern_op_notice_poll(last, &a->looks);
    }
}

/* The status of several requests. Returns TERN_ERR_STATE for a wait for any if no request is started. */
static tern_status see_several(struct await *a)
{
    bool waits = false;

    for (a->index = 0; a->index < a->n; a->index++) {
        const struct tern_notice *notice = a->notice[a->index];
        tern_status               st;

        if (!notice || tern_op_notice_state(notice) == TERN_NOTICE_IDLE)
            continue;
        st = see(notice, a->what);
        if (st < 0 || (st == TERN_OK && !a->all))
            return st;
        waits |= st == TERN_PENDING;
    }
    if (waits)
        return TERN_PENDING;
    return a->all ? TERN_OK : tern_base_fail(TERN_ERR_STATE, "%s: none of the requests is started", a->what);
}

static tern_status several_poll(void *arg)
{
    look_all(arg);
    return see_several(arg);
}

static tern_status any_found(const struct await *a, tern_status st, size_t *index, tern_notice_info *info)
{
    if (st != TERN_OK && st != TERN_ERR_PEER)
        return st;
    if (a->index < a->n)
        *index = a->index;
    return st == TERN_OK ? found_done(a->notice[a->index], info) : st;
}

static tern_status all_found(const struct await *a, tern_status st, tern_notice_info *infos)
{
    for (size_t i = 0; i < a->n && st == TERN_OK; i++)
        if (a->notice[i] && tern_op_notice_state(a->notice[i]) == TERN_NOTICE_DONE)
            found_done(a->notice[i], infos ? &infos[i] : NULL);
    return st;
}

tern_status tern_notice_test_any(tern_notice *const *notices, size_t n, size_t *index, tern_notice_info *info)
{
    struct await a = { .notice = notices, .n = n, .what = "tern_notice_test_any" };

    if (!notices || !index)
        return is_null("tern_notice_test_any");
    if (n == 0)
        return is_none("tern_notice_test_any");
    return any_found(&a, several_poll(&a), index, info);
}

tern_status tern_notice_wait_any(tern_notice *const *notices, size_t n, tern_deadline deadline, size_t *index,
                                 tern_notice_info *info)
{
    struct await     a = { .notice = notices, .n = n, .what = "tern_notice_wait_any" };
    struct tern_wait wait = { .poll = several_poll, .describe = await_describe, .arg = &a, .deadline = deadline };

    if (!notices || !index)
        return is_null("tern_notice_wait_any");
    if (n == 0)
        return is_none("tern_notice_wait_any");
    return any_found(&a, tern_core_wait(&wait), index, info);
}

tern_status tern_notice_test_all(tern_notice *const *notices, size_t n, tern_notice_info *infos)
{
    struct await a = { .notice = notices, .n = n, .all = true, .what = "tern_notice_test_all" };

    if (!notices && n > 0)
        return is_null("tern_notice_test_all");
    return all_found(&a, several_poll(&a), infos);
}

tern_status tern_notice_wait_all(tern_notice *const *notices, size_t n, tern_deadline deadline, tern_notice_info *infos)
{
    struct await     a = { .notice = notices, .n = n, .all = true, .what = "tern_notice_wait_all" };
    struct tern_wait wait = { .poll = several_poll, .describe = await_describe, .arg = &a, .deadline = deadline };

    if (!notices && n > 0)
        return is_null("tern_notice_wait_all");
    return all_found(&a, tern_core_wait(&wait), infos);
}

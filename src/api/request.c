/* request.c: the public calls of tern/request.h, on requests of tagged messages and on notification requests.
 *
 * A handle tells which of the two a request is (api/request.h). Arrays may contain both. A wait for notification
 * requests only polls mostly for notifications, and has a table of its own for that. */
#include <tern/request.h>

#include <stdio.h>

#include "api/check.h"
#include "api/request.h"
#include "api/use.h"
#include "core/region.h"
#include "core/wait_set.h"
#include "op/notify/expected.h"

static __attribute__((cold, noinline)) tern_status not_started(const tern_request *request, const char *what)
{
    tern_status st = tern_core_job_running(what);

    if (st < 0)
        return st;
    if (!request)
        return tern_base_fail(TERN_ERR_STATE,
                              "%s: the request is not started: its handle is NULL, because it has completed or was "
                              "cancelled or freed",
                              what);
    return tern_base_fail(TERN_ERR_STATE, "%s: the request is not started%s", what,
                          !tern_api_notify_request(request) && !request->persistent ? ": it was freed" : "");
}

/* Report that a request cannot be freed, cancelled or watched: its handle is a copy from before it was freed. */
static __attribute__((cold, noinline)) tern_status was_freed(const char *what)
{
    return tern_api_freed(what, "the request");
}

/* Whether the handle of a notification request is a copy from before it was freed. */
static inline bool is_freed(const struct tern_notify_request *notice)
{
    return tern_op_notify_request_state(notice) == TERN_NOTIFY_REQUEST_FREED;
}

/* A request is not complete. Report it if it never will be, because this process is no rank. */
static tern_status pending(const struct tern_ctx *ctx, const char *what)
{
    return TERN_UNLIKELY(ctx->gone) ? tern_core_ctx_check(ctx, what) : TERN_PENDING;
}

/* Debug builds: the context of a request, and of the first request of an array; NULL: none. */
static inline struct tern_ctx *ctx_of(const tern_request *handle)
{
    const struct tern_notify_request *notice = tern_api_notify_request(handle);

    if (!TERN_BASE_DEBUG || !handle)
        return NULL;
    return notice ? (is_freed(notice) ? NULL : notice->ctx) : handle->ctx;
}

static inline struct tern_ctx *first_ctx(tern_request *const *requests, size_t n)
{
    struct tern_ctx *ctx = NULL;

    for (size_t i = 0; TERN_BASE_DEBUG && requests && i < n && !ctx; i++)
        ctx = ctx_of(requests[i]);
    return ctx;
}

/* Returns the state of either kind of request; NULL is idle. */
static inline enum tern_waitable_state state_of(const tern_request *handle)
{
    const struct tern_notify_request *notice = tern_api_notify_request(handle);

    if (notice)
        return tern_op_notify_request_state(notice);
    return handle ? tern_op_request_state(handle) : TERN_WAITABLE_IDLE;
}

static inline bool is_started(const tern_request *handle)
{
    return state_of(handle) != TERN_WAITABLE_IDLE;
}

static __attribute__((cold, noinline)) void tell_failure(const struct tern_request *request, const char *what)
{
    struct tern_match_name name = tern_op_request_name(request);
    bool                   recv = request->kind == TERN_REQUEST_RECV;

    if (request->status == TERN_ERR_TRUNCATED)
        tern_base_fail(request->status,
                       "%s: a message of %llu bytes with tag %llu from rank %d of the job exceeds the "
                       "buffer of %llu bytes; the rest of the message is lost",
                       what, (unsigned long long)request->len, (unsigned long long)request->tag, request->source,
                       (unsigned long long)request->size);
    else if (request->status == TERN_ERR_PEER && recv && request->source < 0)
        tern_api_deserted(&name, what);
    else
        tern_base_fail(request->status, "%s: the %s of a message of %llu bytes %s rank %d of the job failed: %s", what,
                       recv ? "receive" : "send", (unsigned long long)request->len, recv ? "from" : "to",
                       request->source, tern_strerror(request->status));
}

/* ---- completion ---- */

static inline void tell_notice(const struct tern_notify_request *notice, tern_request_info *info)
{
    if (!info)
        return;
    info->source = tern_core_team_rank(notice->ctx->team, notice->source);
    info->tag = notice->tag;
    info->len = notice->bytes;
    info->matches = notice->count - notice->left;
}

static __attribute__((cold, noinline)) tern_status hopeless(const struct tern_notify_request *notice, const char *what)
{
    if (is_freed(notice))
        return was_freed(what);
    if (notice->name.class & TERN_MATCH_ANY_SOURCE)
        return tern_base_fail(TERN_ERR_PEER, "%s: all other ranks of the region are gone", what);
    return tern_base_fail(TERN_ERR_PEER, "%s: rank %d of the job, which was to notify, is gone", what,
                          notice->name.source);
}

/* Report a notification request that is complete, and make it idle; or report that it never will be complete. */
static inline tern_status take_notice(struct tern_notify_request *notice, tern_request_info *info, const char *what)
{
    if (TERN_UNLIKELY(tern_op_notify_request_state(notice) != TERN_NOTIFY_REQUEST_DONE))
        return hopeless(notice, what);
    tell_notice(notice, info);
    tern_op_notify_request_seen(notice);
    return TERN_OK;
}

/* Report a complete request of a message, and release it, or make it idle if it is persistent. Returns its status. */
static inline tern_status take_message(tern_request **at, tern_request_info *info, const char *what)
{
    struct tern_request *request = *at;
    tern_status          st = request->status;

    if (info) {
        info->source = tern_core_team_rank(request->ctx->team, request->source);
        info->tag = (int64_t)request->tag;
        info->len = request->len;
        info->matches = 1;
    }
    if (TERN_UNLIKELY(st < 0))
        tell_failure(request, what);
    if (TERN_LIKELY(!request->persistent)) {
        tern_op_request_drop(request);
        *at = NULL;
    } else {
        /* relaxed: only the context's thread accesses it now */
        atomic_store_explicit(&request->state, TERN_REQUEST_IDLE, memory_order_relaxed);
    }
    return st;
}

/* ---- waiting for several requests ---- */

static enum tern_waitable_state request_state(const void *object)
{
    return state_of(*(tern_request *const *)object);
}

static struct tern_ctx *request_ctx(const void *object)
{
    tern_request                     *handle = *(tern_request *const *)object;
    const struct tern_notify_request *notice = tern_api_notify_request(handle);

    return notice ? notice->ctx : handle->ctx;
}

static tern_status request_take(void *object, void *info, const char *what)
{
    struct tern_notify_request *notice = tern_api_notify_request(*(tern_request **)object);

    return notice ? take_notice(notice, info, what) : take_message(object, info, what);
}

static void request_describe(const void *object, char *text, size_t size)
{
    const tern_request               *handle = *(tern_request *const *)object;
    const struct tern_notify_request *notice = tern_api_notify_request(handle);

    if (notice)
        tern_op_notify_request_describe(notice, text, size);
    else
        tern_op_request_describe(handle, text, size);
}

/* The same for requests that are known to be notification requests, or NULL; and for requests that are known to be
 * requests of messages, or NULL. */
static enum tern_waitable_state notice_state(const void *object)
{
    const struct tern_notify_request *notice = tern_api_notify_request(*(tern_request *const *)object);

    return notice ? tern_op_notify_request_state(notice) : TERN_WAITABLE_IDLE;
}

static enum tern_waitable_state message_state(const void *object)
{
    const struct tern_request *request = *(tern_request *const *)object;

    return request ? tern_op_request_state(request) : TERN_WAITABLE_IDLE;
}

static inline tern_status message_take(void *object, void *info, const char *what)
{
    return take_message(object, info, what);
}

static tern_status                requests_poll(void *set);
static tern_status                notices_poll(void *set);
static tern_status                messages_poll(void *set);
static const struct tern_waitable requests_kind = { .poll = requests_poll,
                                                    .state = request_state,
                                                    .ctx = request_ctx,
                                                    .take = request_take,
                                                    .describe = request_describe,
                                                    .info_size = sizeof(tern_request_info) };
static const struct tern_waitable notices_kind = { .poll = notices_poll,
                                                   .state = notice_state,
                                                   .ctx = request_ctx,
                                                   .take = request_take,
                                                   .describe = request_describe,
                                                   .info_size = sizeof(tern_request_info),
                                                   .notify = true };
static const struct tern_waitable messages_kind = { .poll = messages_poll,
                                                    .state = message_state,
                                                    .ctx = request_ctx,
                                                    .take = message_take,
                                                    .describe = request_describe,
                                                    .info_size = sizeof(tern_request_info) };

static tern_status requests_poll(void *set)
{
    return tern_core_wait_set_poll(set, &requests_kind);
}

static tern_status notices_poll(void *set)
{
    return tern_core_wait_set_poll(set, &notices_kind);
}

static tern_status messages_poll(void *set)
{
    return tern_core_wait_set_poll(set, &messages_kind);
}

/* Choose the table for an array. */
static inline struct tern_waitables several(tern_request **requests, size_t n, const char *what)
{
    struct tern_waitables of = { &messages_kind, requests, n, what };
    size_t                notices = 0, messages = 0;

    for (size_t i = 0; requests && i < n; i++) {
        notices += (uintptr_t)requests[i] & 1;
        messages += requests[i] && ((uintptr_t)requests[i] & 1) == 0;
    }
    if (TERN_UNLIKELY(notices > 0))
        of.kind = messages > 0 ? &requests_kind : &notices_kind;
    return of;
}

/* ---- one request ---- */

static tern_status test_notice(struct tern_notify_request *notice, tern_request_info *info)
{
    uint32_t polls = 0;

    if (TERN_UNLIKELY(is_freed(notice)))
        return was_freed("tern_request_test");
    if (tern_op_notify_request_state(notice) != TERN_NOTIFY_REQUEST_DONE)
        tern_core_ctx_poll_notify(notice->ctx, &polls);
    if (tern_op_notify_request_state(notice) == TERN_NOTIFY_REQUEST_STARTED)
        return pending(notice->ctx, "tern_request_test");
    return take_notice(notice, info, "tern_request_test");
}

tern_status tern_request_test(tern_request **request, tern_request_info *info)
{
    TERN_API_USE use = tern_api_use(request ? ctx_of(*request) : NULL, "tern_request_test");

    if (use.status < 0)
        return use.status;

    struct tern_notify_request *notice;

    if (TERN_UNLIKELY(!request))
        return tern_api_null("tern_request_test", "request");
    if (TERN_UNLIKELY(!is_started(*request)))
        return not_started(*request, "tern_request_test");
    if ((notice = tern_api_notify_request(*request)))
        return test_notice(notice, info);
    if (tern_op_request_state(*request) != TERN_REQUEST_DONE)
        tern_core_ctx_progress((*request)->ctx);
    if (tern_op_request_state(*request) != TERN_REQUEST_DONE)
        return pending((*request)->ctx, "tern_request_test");
    return take_message(request, info, "tern_request_test");
}

#define FIRST_POLLS 128 /* polls for notifications only, before a wait polls for everything */

struct first_polls {
    const struct tern_notify_request *notice;
    uint32_t                          polls;
};

/* Poll for notifications only, mostly in the queue in which the last one arrived. */
static tern_status first_poll(void *arg)
{
    struct first_polls *first = arg;

    if (TERN_LIKELY(++first->polls % 4 != 0))
        tern_core_message_poll_notify_last();
    else
        tern_core_message_poll_notify();
    return tern_op_notify_request_state(first->notice) == TERN_NOTIFY_REQUEST_DONE ? TERN_OK : TERN_PENDING;
}

static inline bool may_spin(const struct tern_notify_request *notice)
{
    return !tern_core_message_polls_links && !tern_core_ctx_has_ops(notice->ctx) && tern_job.spin_ns != 0;
}

static __attribute__((noinline)) tern_status wait_for_notice(tern_request **request, tern_deadline deadline,
                                                             tern_request_info *info)
{
    struct tern_notify_request *notice = tern_api_notify_request(*request);
    const struct tern_waitables of = { &notices_kind, request, 1, "tern_request_wait" };
    struct first_polls          first = { notice, 0 };
    const struct tern_wait      spin = { .poll = first_poll, .arg = &first };

    if (is_freed(notice))
        return was_freed(of.what);
    if (deadline > TERN_NOW && may_spin(notice) && tern_core_spin(&spin, FIRST_POLLS, false) == TERN_OK)
        return take_notice(notice, info, of.what);
    return tern_core_wait_any(&of, &deadline, &(size_t){ 0 }, info);
}

static tern_status one_poll(void *of)
{
    struct tern_request *request = *(tern_request **)((struct tern_waitables *)of)->objects;

    tern_core_ctx_progress(request->ctx);
    return tern_op_request_state(request) == TERN_REQUEST_DONE ? TERN_OK : TERN_PENDING;
}

tern_status tern_api_request_wait(tern_request **request, tern_deadline deadline, tern_request_info *info,
                                  const char *what)
{
    struct tern_waitables of = { &requests_kind, request, 1, what };
    struct tern_wait      wait = { one_poll, tern_core_waitables_describe, &of, deadline, false };
    tern_status           st;

    if (tern_op_request_state(*request) != TERN_REQUEST_DONE && (st = tern_core_wait(&wait)) != TERN_OK)
        return st;
    return take_message(request, info, what);
}

tern_status tern_request_wait(tern_request **request, tern_deadline deadline, tern_request_info *info)
{
    TERN_API_USE use = tern_api_use_waiting(request ? ctx_of(*request) : NULL, "tern_request_wait");

    if (use.status < 0)
        return use.status;

    struct tern_notify_request *notice;
    unsigned                    state;

    if (TERN_UNLIKELY(!request))
        return tern_api_null("tern_request_wait", "request");
    if (TERN_LIKELY((notice = tern_api_notify_request(*request)) != NULL)) {
        state = tern_op_notify_request_state(notice);
        if (TERN_LIKELY(state == TERN_NOTIFY_REQUEST_STARTED && deadline > TERN_NOW && may_spin(notice) &&
                        tern_op_expected_wait(notice))) {
            tell_notice(notice, info);
            return TERN_OK;
        }
        if (state == TERN_NOTIFY_REQUEST_DONE)
            return take_notice(notice, info, "tern_request_wait");
        if (state != TERN_NOTIFY_REQUEST_IDLE)
            return wait_for_notice(request, deadline, info);
    }
    if (TERN_UNLIKELY(!is_started(*request)))
        return not_started(*request, "tern_request_wait");
    return tern_api_request_wait(request, deadline, info, "tern_request_wait");
}

/* ---- several requests ---- */

tern_status tern_request_test_any(tern_request **requests, size_t n, size_t *index, tern_request_info *info)
{
    TERN_API_USE use = tern_api_use(first_ctx(requests, n), "tern_request_test_any");

    if (use.status < 0)
        return use.status;

    const struct tern_waitables of = several(requests, n, "tern_request_test_any");

    if (index)
        *index = n;
    return tern_core_wait_any(&of, NULL, index, info);
}

tern_status tern_request_wait_any(tern_request **requests, size_t n, tern_deadline deadline, size_t *index,
                                  tern_request_info *info)
{
    TERN_API_USE use = tern_api_use_waiting(first_ctx(requests, n), "tern_request_wait_any");

    if (use.status < 0)
        return use.status;

    const struct tern_waitables of = several(requests, n, "tern_request_wait_any");

    if (index)
        *index = n;
    return tern_core_wait_any(&of, &deadline, index, info);
}

static inline tern_status all(const struct tern_waitables *of, const tern_deadline *deadline, tern_request_info *infos,
                              tern_status *statuses)
{
    if (TERN_LIKELY(of->kind == &messages_kind))
        return infos || statuses ? tern_core_wait_all(of, &messages_kind, deadline, infos, statuses)
                                 : tern_core_wait_all(of, &messages_kind, deadline, NULL, NULL);
    return of->kind == &notices_kind ? tern_core_wait_all(of, &notices_kind, deadline, infos, statuses)
                                     : tern_core_wait_all(of, &requests_kind, deadline, infos, statuses);
}

tern_status tern_request_test_all(tern_request **requests, size_t n, tern_request_info *infos, tern_status *statuses)
{
    TERN_API_USE use = tern_api_use(first_ctx(requests, n), "tern_request_test_all");

    if (use.status < 0)
        return use.status;

    const struct tern_waitables of = several(requests, n, "tern_request_test_all");

    return all(&of, NULL, infos, statuses);
}

tern_status tern_request_wait_all(tern_request **requests, size_t n, tern_deadline deadline, tern_request_info *infos,
                                  tern_status *statuses)
{
    TERN_API_USE use = tern_api_use_waiting(first_ctx(requests, n), "tern_request_wait_all");

    if (use.status < 0)
        return use.status;

    const struct tern_waitables of = several(requests, n, "tern_request_wait_all");

    return all(&of, &deadline, infos, statuses);
}

tern_status tern_request_wait_some(tern_request **requests, size_t n, tern_deadline deadline, size_t *count,
                                   size_t *indices, tern_request_info *infos, tern_status *statuses)
{
    TERN_API_USE use = tern_api_use_waiting(first_ctx(requests, n), "tern_request_wait_some");

    if (use.status < 0)
        return use.status;

    const struct tern_waitables of = several(requests, n, "tern_request_wait_some");

    return tern_core_wait_some(&of, deadline, count, indices, infos, statuses);
}

/* ---- starting, cancelling, freeing ---- */

static __attribute__((cold, noinline)) tern_status already_started(const struct tern_notify_request *notice)
{
    if (notice && is_freed(notice))
        return was_freed("tern_request_start");
    return tern_base_fail(TERN_ERR_STATE, "tern_request_start: the request is started; wait for it or cancel it");
}

tern_status tern_request_start(tern_request *request)
{
    TERN_API_USE use = tern_api_use(ctx_of(request), "tern_request_start");

    if (use.status < 0)
        return use.status;

    struct tern_notify_request *notice = tern_api_notify_request(request);
    tern_status                 st;

    if (TERN_LIKELY(notice != NULL))
        return TERN_LIKELY(tern_op_notify_request_start(notice)) ? TERN_OK : already_started(notice);
    if (!request)
        return tern_api_null("tern_request_start", "request");
    if (!request->persistent && !is_started(request))
        return was_freed("tern_request_start");
    if (!request->persistent)
        return tern_base_fail(TERN_ERR_ARG, "tern_request_start: the request is not persistent; it was started when it "
                                            "was made");
    if (is_started(request))
        return already_started(NULL);
    if (TERN_UNLIKELY(request->ctx->gone))
        return tern_core_ctx_check(request->ctx, "tern_request_start");
    if (request->kind != TERN_REQUEST_RECV) {
        tern_core_job_check_deaths();
        st = tern_op_tagged_start_send(request);
        return st < 0 ? tern_api_send_refused(st, request, "tern_request_start") : st;
    }
    if (!tern_op_tagged_start_recv(request, false))
        return tern_base_fail(TERN_ERR_NOMEM, "tern_request_start: no memory to match a request");
    return TERN_OK;
}

tern_status tern_request_cancel(tern_request **at, tern_request_info *info)
{
    TERN_API_USE use = tern_api_use(at ? ctx_of(*at) : NULL, "tern_request_cancel");

    if (use.status < 0)
        return use.status;

    struct tern_request        *request;
    struct tern_notify_request *notice;

    if (!at)
        return tern_api_null("tern_request_cancel", "request");
    request = *at;
    if (!is_started(request))
        return not_started(request, "tern_request_cancel");
    if ((notice = tern_api_notify_request(request))) {
        if (is_freed(notice))
            return was_freed("tern_request_cancel");
        if (!tern_op_notify_request_cancel(notice))
            return TERN_PENDING;
        tell_notice(notice, info);
        return TERN_OK;
    }
    if (TERN_UNLIKELY(request->ctx->gone))
        return tern_core_ctx_check(request->ctx, "tern_request_cancel");
    if (tern_op_request_state(request) == TERN_REQUEST_DONE || !tern_op_request_cancel(request))
        return TERN_PENDING;
    if (info)
        *info = (tern_request_info){ .source = -1 };
    tern_op_request_set(request, TERN_REQUEST_IDLE);
    if (!request->persistent) {
        tern_op_request_drop(request);
        *at = NULL;
    }
    return TERN_OK;
}

tern_status tern_request_free(tern_request **at)
{
    TERN_API_USE use = tern_api_use(at ? ctx_of(*at) : NULL, "tern_request_free");

    if (use.status < 0)
        return use.status;

    struct tern_notify_request *notice;

    if (!at || !*at)
        return tern_api_null("tern_request_free", at ? "*request" : "request");
    notice = tern_api_notify_request(*at);
    if (notice ? is_freed(notice) : !is_started(*at) && !(*at)->persistent)
        return was_freed("tern_request_free");
    if (!notice && (*at)->ctx->gone)
        return tern_core_ctx_check((*at)->ctx, "tern_request_free");
    if (notice)
        tern_op_notify_request_free(notice);
    else if (is_started(*at))
        return tern_base_fail(TERN_ERR_STATE,
                              "tern_request_free: the request is active; wait for it or cancel it first");
    else
        tern_op_request_free(*at);
    *at = NULL;
    return TERN_OK;
}

tern_status tern_request_event(tern_request *request, tern_event *event)
{
    TERN_API_USE use = tern_api_use(ctx_of(request), "tern_request_event");

    if (use.status < 0)
        return use.status;

    struct tern_notify_request *notice = tern_api_notify_request(request);

    if (!request || !event)
        return tern_api_null("tern_request_event", request ? "event" : "request");
    if (!is_started(request))
        return not_started(request, "tern_request_event");
    if (notice && is_freed(notice))
        return was_freed("tern_request_event");
    if (!notice && request->ctx->gone)
        return tern_core_ctx_check(request->ctx, "tern_request_event");
    if (notice ? !tern_op_notify_request_event(notice, event) : !tern_op_request_event(request, event))
        return tern_base_fail(TERN_ERR_NOMEM, "tern_request_event: no memory for an event");
    return TERN_OK;
}

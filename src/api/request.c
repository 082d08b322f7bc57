/* request.c: the public calls of tern/request.h, on requests of tagged messages and on notification requests.
 *
 * The kind of a request is encoded in its handle (api/request.h). Arrays may contain requests of both kinds. A wait for
 * an array that contains only notification requests mostly polls for notifications, and has a table of its own for
 * this. The calls that start, cancel and free requests are in request_start.c. */
#include <tern/request.h>

#include <stdio.h>

#include "api/check.h"
#include "api/request.h"
#include "api/shared.h"
#include "api/use.h"
#include "core/region.h"
#include "core/wait_set.h"
#include "op/notify/expected.h"

tern_status tern_api_not_started(const tern_request *request, const char *what)
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

tern_status tern_api_was_freed(const char *what)
{
    return tern_api_freed(what, "the request");
}

/* Return TERN_PENDING for a request that is not complete, or an error if it cannot complete because its context cannot
 * be used any more. */
static tern_status pending(const struct tern_ctx *ctx, const char *what)
{
    return TERN_UNLIKELY(ctx->gone) ? tern_core_ctx_check(ctx, what) : TERN_PENDING;
}

/* Return the context of an entry of an array in debug builds; NULL: none. */
static inline struct tern_ctx *ctx_at(const void *entry)
{
    return tern_api_request_ctx(*(tern_request *const *)entry);
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

static __attribute__((cold, noinline)) tern_status hopeless(const struct tern_notify_request *notify_request,
                                                            const char                       *what)
{
    if (tern_api_request_is_freed(notify_request))
        return tern_api_was_freed(what);
    if (notify_request->name.class & TERN_MATCH_ANY_SOURCE)
        return tern_base_fail(TERN_ERR_PEER, "%s: all other ranks of the region are gone", what);
    return tern_base_fail(TERN_ERR_PEER, "%s: rank %d of the job, which was to notify, is gone", what,
                          notify_request->name.source);
}

/* Report a notification request that is complete, and make it idle; or report that it cannot complete. */
static inline tern_status take_notify_request(struct tern_notify_request *notify_request, tern_request_info *info,
                                              const char *what)
{
    if (TERN_UNLIKELY(tern_op_notify_request_state(notify_request) != TERN_NOTIFY_REQUEST_DONE))
        return hopeless(notify_request, what);
    tern_api_tell_notify(notify_request, info);
    tern_op_notify_request_seen(notify_request);
    return TERN_OK;
}

/* Make a persistent request idle, or release a request of a shared context. */
static __attribute__((noinline)) void drop_special(tern_request **at)
{
    struct tern_request *request = *at;
    struct tern_ctx     *inner = request->ctx;

    if (request->persistent) {
        /* relaxed: only the thread that uses the request accesses it now */
        atomic_store_explicit(&request->state, TERN_REQUEST_IDLE, memory_order_relaxed);
        return;
    }
    tern_core_shared_lock(inner);
    tern_op_request_drop(request);
    tern_core_shared_unlock(inner);
    *at = NULL;
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
        info->reserved = 0;
    }
    if (TERN_UNLIKELY(st < 0))
        tell_failure(request, what);
    if (TERN_LIKELY(request->special == 0)) {
        tern_op_request_drop(request);
        *at = NULL;
    } else {
        drop_special(at);
    }
    return st;
}

/* ---- waiting for several requests ---- */

static enum tern_waitable_state request_state(const void *object)
{
    return tern_api_request_state(*(tern_request *const *)object);
}

static struct tern_ctx *request_ctx(const void *object)
{
    tern_request                     *handle = *(tern_request *const *)object;
    const struct tern_notify_request *notify_request = tern_api_notify_request(handle);

    return notify_request ? notify_request->ctx : handle->ctx->handle;
}

static tern_status request_take(void *object, void *info, const char *what)
{
    struct tern_notify_request *notify_request = tern_api_notify_request(*(tern_request **)object);

    return notify_request ? take_notify_request(notify_request, info, what) : take_message(object, info, what);
}

static void request_describe(const void *object, char *text, size_t size)
{
    const tern_request               *handle = *(tern_request *const *)object;
    const struct tern_notify_request *notify_request = tern_api_notify_request(handle);

    if (notify_request)
        tern_op_notify_request_describe(notify_request, text, size);
    else
        tern_op_request_describe(handle, text, size);
}

/* The functions of the tables for arrays that contain only notification requests and NULL, or only requests of messages
 * and NULL. */
static enum tern_waitable_state notify_request_state(const void *object)
{
    const struct tern_notify_request *notify_request = tern_api_notify_request(*(tern_request *const *)object);

    return notify_request ? tern_op_notify_request_state(notify_request) : TERN_WAITABLE_IDLE;
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
static tern_status                notify_requests_poll(void *set);
static tern_status                messages_poll(void *set);
static const struct tern_waitable requests_kind = { .poll = requests_poll,
                                                    .state = request_state,
                                                    .ctx = request_ctx,
                                                    .take = request_take,
                                                    .describe = request_describe,
                                                    .info_size = sizeof(tern_request_info) };
static const struct tern_waitable notify_requests_kind = { .poll = notify_requests_poll,
                                                           .state = notify_request_state,
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

static tern_status notify_requests_poll(void *set)
{
    return tern_core_wait_set_poll(set, &notify_requests_kind);
}

static tern_status messages_poll(void *set)
{
    return tern_core_wait_set_poll(set, &messages_kind);
}

/* Choose the table for an array. */
static inline struct tern_waitables several(tern_request **requests, size_t n, const char *what)
{
    struct tern_waitables of = { &messages_kind, requests, n, what };
    size_t                notify_requests = 0, messages = 0;

    for (size_t i = 0; requests && i < n; i++) {
        notify_requests += (uintptr_t)requests[i] & 1;
        messages += requests[i] && ((uintptr_t)requests[i] & 1) == 0;
    }
    if (TERN_UNLIKELY(notify_requests > 0))
        of.kind = messages > 0 ? &requests_kind : &notify_requests_kind;
    return of;
}

/* ---- one request ---- */

static tern_status test_notify_request(struct tern_notify_request *notify_request, tern_request_info *info)
{
    uint32_t polls = 0;

    if (TERN_UNLIKELY(tern_api_request_is_freed(notify_request)))
        return tern_api_was_freed("tern_request_test");
    if (tern_op_notify_request_state(notify_request) != TERN_NOTIFY_REQUEST_DONE)
        tern_core_ctx_poll_notify(notify_request->ctx, &polls);
    if (tern_op_notify_request_state(notify_request) == TERN_NOTIFY_REQUEST_STARTED)
        return pending(notify_request->ctx, "tern_request_test");
    return take_notify_request(notify_request, info, "tern_request_test");
}

tern_status tern_request_test(tern_request **request, tern_request_info *info)
{
    TERN_API_USE use = tern_api_use(request ? tern_api_request_ctx(*request) : NULL, "tern_request_test");

    if (use.status < 0)
        return use.status;

    struct tern_notify_request *notify_request;

    if (TERN_UNLIKELY(!request))
        return tern_api_null("tern_request_test", "request");
    if (TERN_UNLIKELY(!tern_api_request_is_started(*request)))
        return tern_api_not_started(*request, "tern_request_test");
    if ((notify_request = tern_api_notify_request(*request)))
        return test_notify_request(notify_request, info);
    if (tern_op_request_state(*request) != TERN_REQUEST_DONE)
        tern_core_ctx_progress((*request)->ctx->handle);
    if (tern_op_request_state(*request) != TERN_REQUEST_DONE)
        return pending((*request)->ctx, "tern_request_test");
    return take_message(request, info, "tern_request_test");
}

#define EXPECTED_POLLS 64 /* polls for the expected notification, before a wait polls for any notification */
#define FIRST_POLLS 128   /* polls for notifications only, before a wait polls for everything */

struct first_polls {
    const struct tern_notify_request *notify_request;
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
    return tern_op_notify_request_state(first->notify_request) == TERN_NOTIFY_REQUEST_DONE ? TERN_OK : TERN_PENDING;
}

/* Return whether a wait may begin with polls for notifications only. */
static inline bool may_expect(const struct tern_notify_request *notify_request)
{
    return !tern_core_message_polls_links() && !tern_core_ctx_has_ops(notify_request->ctx);
}

/* Return the number of polls for notifications only: 1 if the peer may need this core. */
static inline unsigned polls_at_most(unsigned polls)
{
    return TERN_LIKELY(tern_job.spin_ns != 0) ? polls : 1;
}

static __attribute__((noinline)) tern_status wait_for_notify_request(tern_request **request, tern_deadline deadline,
                                                                     tern_request_info *info)
{
    struct tern_notify_request *notify_request = tern_api_notify_request(*request);
    const struct tern_waitables of = { &notify_requests_kind, request, 1, "tern_request_wait" };
    struct first_polls          first = { notify_request, 0 };
    const struct tern_wait      spin = { .poll = first_poll, .arg = &first };

    if (tern_api_request_is_freed(notify_request))
        return tern_api_was_freed(of.what);
    if (deadline > TERN_NOW && may_expect(notify_request) &&
        tern_core_spin(&spin, polls_at_most(FIRST_POLLS), false) == TERN_OK)
        return take_notify_request(notify_request, info, of.what);
    return tern_core_wait_any(&of, &deadline, &(size_t){ 0 }, info);
}

static tern_status one_poll(void *of)
{
    struct tern_request *request = *(tern_request **)((struct tern_waitables *)of)->objects;

    tern_core_ctx_progress(request->ctx->handle);
    return tern_op_request_state(request) == TERN_REQUEST_DONE ? TERN_OK : TERN_PENDING;
}

tern_status tern_api_request_wait(tern_request **request, tern_deadline deadline, tern_request_info *info,
                                  const char *what)
{
    struct tern_waitables of = { &requests_kind, request, 1, what };
    struct tern_wait      wait = {
             .poll = one_poll, .describe = tern_core_waitables_describe, .arg = &of, .deadline = deadline
    };
    tern_status st;

    if (tern_op_request_state(*request) != TERN_REQUEST_DONE && (st = tern_core_wait(&wait)) != TERN_OK)
        return st;
    return take_message(request, info, what);
}

/* Wait for a request in any state. */
static __attribute__((noinline)) tern_status wait_for_request(tern_request **request, tern_deadline deadline,
                                                              tern_request_info *info)
{
    struct tern_notify_request *notify_request = tern_api_notify_request(*request);
    unsigned                    state;

    if (notify_request) {
        state = tern_op_notify_request_state(notify_request);
        if (state == TERN_NOTIFY_REQUEST_DONE)
            return take_notify_request(notify_request, info, "tern_request_wait");
        if (state != TERN_NOTIFY_REQUEST_IDLE)
            return wait_for_notify_request(request, deadline, info);
    }
    if (TERN_UNLIKELY(!tern_api_request_is_started(*request)))
        return tern_api_not_started(*request, "tern_request_wait");
    return tern_api_request_wait(request, deadline, info, "tern_request_wait");
}

tern_status tern_request_wait(tern_request **request, tern_deadline deadline, tern_request_info *info)
{
    TERN_API_USE use = tern_api_use_waiting(request ? tern_api_request_ctx(*request) : NULL, "tern_request_wait");

    if (use.status < 0)
        return use.status;

    struct tern_notify_request *notify_request;

    if (TERN_UNLIKELY(!request))
        return tern_api_null("tern_request_wait", "request");
    notify_request = tern_api_notify_request(*request);
    if (TERN_LIKELY(notify_request && tern_op_notify_request_state(notify_request) == TERN_NOTIFY_REQUEST_STARTED &&
                    deadline > TERN_NOW && may_expect(notify_request) &&
                    tern_op_expected_wait(notify_request, polls_at_most(EXPECTED_POLLS)))) {
        tern_api_tell_notify(notify_request, info);
        return TERN_OK;
    }
    return wait_for_request(request, deadline, info);
}

/* ---- several requests ---- */

tern_status tern_request_test_any(tern_request **requests, size_t n, size_t *index, tern_request_info *info)
{
    TERN_API_USE use = tern_api_use_all(requests, n, ctx_at, false, "tern_request_test_any");

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
    TERN_API_USE use = tern_api_use_all(requests, n, ctx_at, true, "tern_request_wait_any");

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
    return of->kind == &notify_requests_kind ? tern_core_wait_all(of, &notify_requests_kind, deadline, infos, statuses)
                                             : tern_core_wait_all(of, &requests_kind, deadline, infos, statuses);
}

tern_status tern_request_test_all(tern_request **requests, size_t n, tern_request_info *infos, tern_status *statuses)
{
    TERN_API_USE use = tern_api_use_all(requests, n, ctx_at, false, "tern_request_test_all");

    if (use.status < 0)
        return use.status;

    const struct tern_waitables of = several(requests, n, "tern_request_test_all");

    return all(&of, NULL, infos, statuses);
}

tern_status tern_request_wait_all(tern_request **requests, size_t n, tern_deadline deadline, tern_request_info *infos,
                                  tern_status *statuses)
{
    TERN_API_USE use = tern_api_use_all(requests, n, ctx_at, true, "tern_request_wait_all");

    if (use.status < 0)
        return use.status;

    const struct tern_waitables of = several(requests, n, "tern_request_wait_all");

    return all(&of, &deadline, infos, statuses);
}

tern_status tern_request_wait_some(tern_request **requests, size_t n, tern_deadline deadline, size_t *count,
                                   size_t *indices, tern_request_info *infos, tern_status *statuses)
{
    TERN_API_USE use = tern_api_use_all(requests, n, ctx_at, true, "tern_request_wait_some");

    if (use.status < 0)
        return use.status;

    const struct tern_waitables of = several(requests, n, "tern_request_wait_some");

    return tern_core_wait_some(&of, deadline, count, indices, infos, statuses);
}

/* request.c: the public calls of tern/request.h. */
#include <tern/request.h>

#include <stdio.h>

#include "api/check.h"
#include "api/request.h"
#include "core/wait_set.h"

static __attribute__((cold, noinline)) tern_status not_started(const char *what)
{
    return tern_base_fail(TERN_ERR_STATE, "%s: the request is not started", what);
}

static bool is_started(const struct tern_request *request)
{
    return request && tern_op_request_state(request) != TERN_REQUEST_IDLE;
}

__attribute__((cold)) tern_status tern_api_send_refused(tern_status st, const struct tern_request *request,
                                                        const char *what)
{
    if (st == TERN_ERR_PEER)
        tern_base_fail(st, "%s: rank %d of the job is gone", what, request->source);
    else if (st == TERN_ERR_NOMEM)
        tern_base_fail(st, "%s: out of memory for another message that waits for its receiver", what);
    return st;
}

__attribute__((cold)) tern_status tern_api_deserted(const struct tern_match_name *name, const char *what)
{
    if (tern_op_match_any_source(name))
        return tern_base_fail(TERN_ERR_PEER, "%s: all other ranks, which could send, are gone", what);
    return tern_base_fail(TERN_ERR_PEER, "%s: rank %d of the job, which was to send, is gone", what, name->source);
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

/* Release a completed request, or make it idle if it is persistent, and report its message. Returns its status. */
static inline tern_status found_done(void *object, void *told, const char *what)
{
    tern_request       **at = object;
    struct tern_request *request = *at;
    tern_message_info   *info = told;
    tern_status          st = request->status;

    if (info) {
        info->source = tern_core_team_rank(request->ctx->team, request->source);
        info->tag = (int64_t)request->tag;
        info->len = request->len;
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

/* ---- waiting ---- */

static enum tern_waitable_state request_state(const void *object)
{
    const struct tern_request *request = *(tern_request *const *)object;

    return request ? tern_op_request_state(request) : TERN_WAITABLE_IDLE;
}

static struct tern_ctx *request_ctx(const void *object)
{
    return (*(tern_request *const *)object)->ctx;
}

static void request_describe(const void *object, char *text, size_t size)
{
    tern_op_request_describe(*(tern_request *const *)object, text, size);
}

static tern_status                requests_poll(void *set);
static const struct tern_waitable requests_kind = { .poll = requests_poll,
                                                    .state = request_state,
                                                    .ctx = request_ctx,
                                                    .take = found_done,
                                                    .describe = request_describe,
                                                    .info_size = sizeof(tern_message_info) };

static tern_status requests_poll(void *set)
{
    return tern_core_wait_set_poll(set, &requests_kind);
}

tern_status tern_request_test(tern_request **request, tern_message_info *info)
{
    if (TERN_UNLIKELY(!request))
        return tern_api_null("tern_request_test");
    if (TERN_UNLIKELY(!is_started(*request)))
        return not_started("tern_request_test");
    if (tern_op_request_state(*request) != TERN_REQUEST_DONE)
        tern_core_ctx_progress((*request)->ctx);
    if (tern_op_request_state(*request) != TERN_REQUEST_DONE)
        return TERN_PENDING;
    return found_done(request, info, "tern_request_test");
}

static tern_status one_poll(void *of)
{
    struct tern_request *request = *(tern_request **)((struct tern_waitables *)of)->objects;

    tern_core_ctx_progress(request->ctx);
    return tern_op_request_state(request) == TERN_REQUEST_DONE ? TERN_OK : TERN_PENDING;
}

tern_status tern_api_request_wait(tern_request **request, tern_deadline deadline, tern_message_info *info,
                                  const char *what)
{
    struct tern_waitables of = { &requests_kind, request, 1, what };
    struct tern_wait      wait = { one_poll, tern_core_waitables_describe, &of, deadline, false };
    tern_status           st;

    if (tern_op_request_state(*request) != TERN_REQUEST_DONE && (st = tern_core_wait(&wait)) != TERN_OK)
        return st;
    return found_done(request, info, what);
}

tern_status tern_request_wait(tern_request **request, tern_deadline deadline, tern_message_info *info)
{
    if (TERN_UNLIKELY(!request))
        return tern_api_null("tern_request_wait");
    if (TERN_UNLIKELY(!is_started(*request)))
        return not_started("tern_request_wait");
    return tern_api_request_wait(request, deadline, info, "tern_request_wait");
}

tern_status tern_request_test_any(tern_request **requests, size_t n, size_t *index, tern_message_info *info)
{
    const struct tern_waitables of = { &requests_kind, requests, n, "tern_request_test_any" };

    if (index)
        *index = n;
    return tern_core_wait_any(&of, NULL, index, info);
}

tern_status tern_request_wait_any(tern_request **requests, size_t n, tern_deadline deadline, size_t *index,
                                  tern_message_info *info)
{
    const struct tern_waitables of = { &requests_kind, requests, n, "tern_request_wait_any" };

    if (index)
        *index = n;
    return tern_core_wait_any(&of, &deadline, index, info);
}

static inline tern_status all(const struct tern_waitables *of, const tern_deadline *deadline, tern_message_info *infos,
                              tern_status *statuses)
{
    return infos || statuses ? tern_core_wait_all(of, &requests_kind, deadline, infos, statuses)
                             : tern_core_wait_all(of, &requests_kind, deadline, NULL, NULL);
}

tern_status tern_request_test_all(tern_request **requests, size_t n, tern_message_info *infos, tern_status *statuses)
{
    const struct tern_waitables of = { &requests_kind, requests, n, "tern_request_test_all" };

    return all(&of, NULL, infos, statuses);
}

tern_status tern_request_wait_all(tern_request **requests, size_t n, tern_deadline deadline, tern_message_info *infos,
                                  tern_status *statuses)
{
    const struct tern_waitables of = { &requests_kind, requests, n, "tern_request_wait_all" };

    return all(&of, &deadline, infos, statuses);
}

tern_status tern_request_wait_some(tern_request **requests, size_t n, tern_deadline deadline, size_t *count,
                                   size_t *indices, tern_message_info *infos, tern_status *statuses)
{
    const struct tern_waitables of = { &requests_kind, requests, n, "tern_request_wait_some" };

    return tern_core_wait_some(&of, deadline, count, indices, infos, statuses);
}

/* ---- starting, cancelling, freeing ---- */

tern_status tern_request_start(tern_request *request)
{
    tern_status st;

    if (!request)
        return tern_api_null("tern_request_start");
    if (!request->persistent)
        return tern_base_fail(TERN_ERR_ARG, "tern_request_start: the request is not persistent; it was started when it "
                                            "was made");
    if (is_started(request))
        return tern_base_fail(TERN_ERR_STATE, "tern_request_start: the request is started; wait for it or cancel it");
    if (request->kind != TERN_REQUEST_RECV) {
        tern_core_job_check_deaths();
        st = tern_op_tagged_start_send(request);
        return st < 0 ? tern_api_send_refused(st, request, "tern_request_start") : st;
    }
    if (!tern_op_tagged_start_recv(request, false))
        return tern_base_fail(TERN_ERR_NOMEM, "tern_request_start: no memory to match a request");
    return TERN_OK;
}

tern_status tern_request_cancel(tern_request **at)
{
    struct tern_request *request;

    if (!at)
        return tern_api_null("tern_request_cancel");
    request = *at;
    if (!is_started(request))
        return not_started("tern_request_cancel");
    if (tern_op_request_state(request) == TERN_REQUEST_DONE || !tern_op_request_cancel(request))
        return TERN_PENDING;
    tern_op_request_set(request, TERN_REQUEST_IDLE);
    if (!request->persistent) {
        tern_op_request_drop(request);
        *at = NULL;
    }
    return TERN_OK;
}

tern_status tern_request_free(tern_request **at)
{
    if (!at || !*at)
        return tern_api_null("tern_request_free");
    if (is_started(*at))
        return tern_base_fail(TERN_ERR_STATE,
                              "tern_request_free: the request is active; wait for it or cancel it first");
    tern_op_request_free(*at);
    *at = NULL;
    return TERN_OK;
}

tern_status tern_request_event(tern_request *request, tern_event *event)
{
    if (!request || !event)
        return tern_api_null("tern_request_event");
    if (!is_started(request))
        return not_started("tern_request_event");
    if (!tern_op_request_event(request, event))
        return tern_base_fail(TERN_ERR_NOMEM, "tern_request_event: no memory for an event");
    return TERN_OK;
}

/* request.c: the public calls of tern/request.h. */
#include <tern/request.h>

#include <stdio.h>

#include "api/request.h"
#include "core/wait.h"

static __attribute__((cold, noinline)) tern_status is_null(const char *what)
{
    return tern_base_fail(TERN_ERR_ARG, "%s: a pointer is NULL", what);
}

static __attribute__((cold, noinline)) tern_status not_started(const char *what)
{
    return tern_base_fail(TERN_ERR_STATE, "%s: the request is not started", what);
}

static bool is_started(const struct tern_request *request)
{
    return request && tern_op_request_state(request) != TERN_REQUEST_IDLE;
}

/* Whether the request is done. Makes no progress. */
static inline bool is_done(struct tern_request *request)
{
    return tern_op_request_state(request) == TERN_REQUEST_DONE || TERN_UNLIKELY(tern_op_request_hopeless(request));
}

__attribute__((cold)) tern_status tern_api_send_refused(tern_status st, const struct tern_request *request,
                                                        const char *what)
{
    if (st == TERN_ERR_PEER)
        tern_base_fail(st, "%s: rank %d of the job is gone", what, request->source);
    else if (st == TERN_ERR_NOMEM)
        tern_base_fail(st, "%s: no memory for one more message that waits for its receiver", what);
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
                       "%s: a message of %llu bytes with tag %llu from rank %d of the job came to a "
                       "buffer of %llu bytes; the rest of it is gone",
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
static inline tern_status found_done(tern_request **at, tern_message_info *info, const char *what)
{
    struct tern_request *request = *at;
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

tern_status tern_request_test(tern_request **request, tern_message_info *info)
{
    if (TERN_UNLIKELY(!request))
        return is_null("tern_request_test");
    if (TERN_UNLIKELY(!is_started(*request)))
        return not_started("tern_request_test");
    if (tern_op_request_state(*request) != TERN_REQUEST_DONE)
        tern_core_ctx_progress((*request)->ctx);
    return is_done(*request) ? found_done(request, info, "tern_request_test") : TERN_PENDING;
}

/* A wait for one or several requests. */
struct await {
    tern_request   **request;
    size_t           n, index; /* index of the request that ended the wait, when waiting for any */
    size_t           past;     /* when waiting for all: the requests before this one are done or not started */
    struct tern_ctx *ctx;      /* when waiting for all: the context of the requests from past on; NULL: there are
                                * several */
    bool             all;
    const char      *what;
};

static tern_status one_poll(void *arg)
{
    struct tern_request *request = *((struct await *)arg)->request;

    tern_core_ctx_progress(request->ctx);
    return is_done(request) ? TERN_OK : TERN_PENDING;
}

/* The first request that is not done; NULL: none. */
static const struct tern_request *first_pending(const struct await *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->request[i] && tern_op_request_state(a->request[i]) == TERN_REQUEST_ACTIVE)
            return a->request[i];
    return NULL;
}

static void await_describe(void *arg, char *text, size_t size)
{
    const struct await        *a = arg;
    const struct tern_request *request = first_pending(a);
    char                       one[220] = "for nothing";

    if (request)
        tern_op_request_describe(request, one, sizeof(one));
    snprintf(text, size, "%s waits %s", a->what, one);
}

static inline tern_status wait_for_one(tern_request **request, tern_deadline deadline, tern_message_info *info,
                                       const char *what)
{
    struct await     a = { .request = request, .n = 1, .what = what };
    struct tern_wait wait = { .poll = one_poll, .describe = await_describe, .arg = &a, .deadline = deadline };
    tern_status      st;

    if (tern_op_request_state(*request) != TERN_REQUEST_DONE && (st = tern_core_wait(&wait)) != TERN_OK)
        return st;
    return found_done(request, info, what);
}

tern_status tern_request_wait(tern_request **request, tern_deadline deadline, tern_message_info *info)
{
    if (TERN_UNLIKELY(!request))
        return is_null("tern_request_wait");
    if (TERN_UNLIKELY(!is_started(*request)))
        return not_started("tern_request_wait");
    return wait_for_one(request, deadline, info, "tern_request_wait");
}

tern_status tern_api_request_wait(tern_request **request, tern_deadline deadline, tern_message_info *info,
                                  const char *what)
{
    return wait_for_one(request, deadline, info, what);
}

/* ---- several requests ---- */

/* Find the common context of all requests, so that a wait for all of them need not check each one at every poll. */
static void choose_ctx(struct await *a)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct tern_request *request = a->request[i];

        if (!request || request->ctx == a->ctx)
            continue;
        if (a->ctx) {
            a->ctx = NULL;
            return;
        }
        a->ctx = request->ctx;
    }
}

/* Make progress on the context of each request that is not done. Requests of one context are usually adjacent. */
static void progress_all(const struct await *a)
{
    struct tern_ctx *last = NULL;

    if (a->ctx) {
        tern_core_ctx_progress(a->ctx);
        return;
    }
    for (size_t i = a->past; i < a->n; i++) {
        const struct tern_request *request = a->request[i];

        if (!request || request->ctx == last || tern_op_request_state(request) != TERN_REQUEST_ACTIVE)
            continue;
        last = request->ctx;
        tern_core_ctx_progress(last);
    }
}

/* Returns TERN_OK if a request is done, and TERN_ERR_STATE if none is started. */
static tern_status see_any(struct await *a)
{
    bool waits = false;

    for (a->index = 0; a->index < a->n; a->index++) {
        struct tern_request *request = a->request[a->index];

        if (!is_started(request))
            continue;
        if (is_done(request))
            return TERN_OK;
        waits = true;
    }
    return waits ? TERN_PENDING : tern_base_fail(TERN_ERR_STATE, "%s: none of the requests is started", a->what);
}

static tern_status see_all(struct await *a)
{
    for (; a->past < a->n; a->past++)
        if (is_started(a->request[a->past]) && !is_done(a->request[a->past]))
            return TERN_PENDING;
    return TERN_OK;
}

static tern_status several_poll(void *arg)
{
    struct await *a = arg;

    progress_all(a);
    return a->all ? see_all(a) : see_any(a);
}

static tern_status any_found(const struct await *a, tern_status st, size_t *index, tern_message_info *info)
{
    *index = st == TERN_OK ? a->index : a->n;
    return st == TERN_OK ? found_done(&a->request[a->index], info, a->what) : st;
}

tern_status tern_request_test_any(tern_request **requests, size_t n, size_t *index, tern_message_info *info)
{
    struct await a = { .request = requests, .n = n, .what = "tern_request_test_any" };

    if (!requests || !index || n == 0)
        return is_null("tern_request_test_any");
    return any_found(&a, several_poll(&a), index, info);
}

tern_status tern_request_wait_any(tern_request **requests, size_t n, tern_deadline deadline, size_t *index,
                                  tern_message_info *info)
{
    struct await     a = { .request = requests, .n = n, .what = "tern_request_wait_any" };
    struct tern_wait wait = { .poll = several_poll, .describe = await_describe, .arg = &a, .deadline = deadline };

    if (!requests || !index || n == 0)
        return is_null("tern_request_wait_any");
    return any_found(&a, tern_core_wait(&wait), index, info);
}

/* Release all requests, which are done or not started, and report their messages. This goes from the last to the first,
 * so that the error detail is that of the lowest index. */
static inline tern_status take_all(const struct await *a, tern_message_info *infos, tern_status *statuses)
{
    tern_status st = TERN_OK;

    for (size_t i = a->n; i-- > 0;) {
        tern_status one = TERN_OK;

        if (is_started(a->request[i]))
            one = found_done(&a->request[i], infos ? &infos[i] : NULL, a->what);
        if (statuses)
            statuses[i] = one;
        st = one < 0 ? one : st;
    }
    return st;
}

static tern_status all_found(const struct await *a, tern_status st, tern_message_info *infos, tern_status *statuses)
{
    if (st == TERN_PENDING || st == TERN_ERR_TIMEOUT)
        return st;
    return infos || statuses ? take_all(a, infos, statuses) : take_all(a, NULL, NULL);
}

tern_status tern_request_test_all(tern_request **requests, size_t n, tern_message_info *infos, tern_status *statuses)
{
    struct await a = { .request = requests, .n = n, .all = true, .what = "tern_request_test_all" };

    if (!requests && n > 0)
        return is_null("tern_request_test_all");
    choose_ctx(&a);
    return all_found(&a, several_poll(&a), infos, statuses);
}

tern_status tern_request_wait_all(tern_request **requests, size_t n, tern_deadline deadline, tern_message_info *infos,
                                  tern_status *statuses)
{
    struct await     a = { .request = requests, .n = n, .all = true, .what = "tern_request_wait_all" };
    struct tern_wait wait = { .poll = several_poll, .describe = await_describe, .arg = &a, .deadline = deadline };
    tern_status      st;

    if (!requests && n > 0)
        return is_null("tern_request_wait_all");
    choose_ctx(&a);
    st = tern_core_wait(&wait);
    return st == TERN_ERR_STATE ? st : all_found(&a, st, infos, statuses);
}

tern_status tern_request_wait_some(tern_request **requests, size_t n, tern_deadline deadline, size_t *count,
                                   size_t *indices, tern_message_info *infos, tern_status *statuses)
{
    struct await     a = { .request = requests, .n = n, .what = "tern_request_wait_some" };
    struct tern_wait wait = { .poll = several_poll, .describe = await_describe, .arg = &a, .deadline = deadline };
    tern_status      st;

    if (!requests || !count || !indices || n == 0)
        return is_null("tern_request_wait_some");
    *count = 0;
    if ((st = tern_core_wait(&wait)) != TERN_OK)
        return st;
    for (size_t i = a.index; i < n; i++) {
        size_t      k = *count;
        tern_status one;

        if (!is_started(requests[i]) || !is_done(requests[i]))
            continue;
        one = found_done(&requests[i], infos ? &infos[k] : NULL, a.what);
        indices[k] = i;
        if (statuses)
            statuses[k] = one;
        st = st == TERN_OK ? one : st;
        ++*count;
    }
    return st;
}

/* ---- starting, cancelling, freeing ---- */

tern_status tern_request_start(tern_request *request)
{
    tern_status st;

    if (!request)
        return is_null("tern_request_start");
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
        return is_null("tern_request_cancel");
    request = *at;
    if (!is_started(request))
        return not_started("tern_request_cancel");
    if (tern_op_request_state(request) == TERN_REQUEST_DONE || !tern_op_request_cancel(request))
        return TERN_PENDING;
    /* relaxed: only the context's thread accesses it now */
    atomic_store_explicit(&request->state, TERN_REQUEST_IDLE, memory_order_relaxed);
    if (!request->persistent) {
        tern_op_request_drop(request);
        *at = NULL;
    }
    return TERN_OK;
}

tern_status tern_request_free(tern_request **at)
{
    struct tern_request *request;
    bool                 alone;

    if (!at || !*at)
        return is_null("tern_request_free");
    request = *at;
    if (is_started(request))
        return tern_base_fail(TERN_ERR_STATE,
                              "tern_request_free: the request is active; wait for it or cancel it first");
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    if (request->bound)
        tern_op_tagged_unpost(request);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    tern_op_request_drop(request);
    *at = NULL;
    return TERN_OK;
}

tern_status tern_request_event(tern_request *request, tern_event *event)
{
    if (!request || !event)
        return is_null("tern_request_event");
    if (!is_started(request))
        return not_started("tern_request_event");
    if (!tern_op_request_event(request, event))
        return tern_base_fail(TERN_ERR_NOMEM, "tern_request_event: no memory for an event");
    return TERN_OK;
}

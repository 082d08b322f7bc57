/* request_start.c: the public calls of tern/request.h that start, cancel and free requests, and make events of them. */
#include <tern/request.h>

#include "api/check.h"
#include "api/request.h"
#include "api/shared.h"
#include "api/use.h"

static __attribute__((cold, noinline)) tern_status already_started(const struct tern_notify_request *notify_request)
{
    if (notify_request && tern_api_request_is_freed(notify_request))
        return tern_api_was_freed("tern_request_start");
    return tern_base_fail(TERN_ERR_STATE, "tern_request_start: the request is started; wait for it or cancel it");
}

/* Start a persistent request of a message. */
static tern_status start(tern_request *request)
{
    tern_status st;

    if (tern_api_request_is_started(request))
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

/* Start a persistent request of a shared context, or report that the request is not persistent. */
static __attribute__((cold, noinline)) tern_status start_special(tern_request *request)
{
    if (request->persistent)
        return TERN_API_LOCKED(inner, request->ctx->handle, start(request));
    if (!tern_api_request_is_started(request))
        return tern_api_was_freed("tern_request_start");
    return tern_base_fail(TERN_ERR_ARG, "tern_request_start: the request is not persistent; it was started when it "
                                        "was made");
}

tern_status tern_request_start(tern_request *request)
{
    TERN_API_USE use = tern_api_use(tern_api_request_ctx(request), "tern_request_start");

    if (use.status < 0)
        return use.status;

    struct tern_notify_request *notify_request = tern_api_notify_request(request);

    if (TERN_LIKELY(notify_request != NULL))
        return TERN_LIKELY(tern_op_notify_request_start(notify_request)) ? TERN_OK : already_started(notify_request);
    if (!request)
        return tern_api_null("tern_request_start", "request");
    if (TERN_UNLIKELY(request->special != TERN_REQUEST_PERSISTENT))
        return start_special(request);
    return start(request);
}

tern_status tern_request_cancel(tern_request **at, tern_request_info *info)
{
    TERN_API_USE use = tern_api_use(at ? tern_api_request_ctx(*at) : NULL, "tern_request_cancel");

    if (use.status < 0)
        return use.status;

    struct tern_request        *request;
    struct tern_notify_request *notify_request;

    if (!at)
        return tern_api_null("tern_request_cancel", "request");
    request = *at;
    if (!tern_api_request_is_started(request))
        return tern_api_not_started(request, "tern_request_cancel");
    if ((notify_request = tern_api_notify_request(request))) {
        if (tern_api_request_is_freed(notify_request))
            return tern_api_was_freed("tern_request_cancel");
        if (!tern_op_notify_request_cancel(notify_request))
            return TERN_PENDING;
        tern_api_tell_notify(notify_request, info);
        return TERN_OK;
    }
    if (TERN_UNLIKELY(request->ctx->gone))
        return tern_core_ctx_check(request->ctx, "tern_request_cancel");
    if (request->shared && !tern_core_shared_holds(request->ctx))
        return TERN_API_LOCKED(inner, request->ctx->handle, tern_request_cancel(at, info));
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
    TERN_API_USE use = tern_api_use(at ? tern_api_request_ctx(*at) : NULL, "tern_request_free");

    if (use.status < 0)
        return use.status;

    struct tern_notify_request *notify_request;

    if (!at || !*at)
        return tern_api_null("tern_request_free", at ? "*request" : "request");
    notify_request = tern_api_notify_request(*at);
    if (notify_request ? tern_api_request_is_freed(notify_request)
                       : !tern_api_request_is_started(*at) && !(*at)->persistent)
        return tern_api_was_freed("tern_request_free");
    if (!notify_request && (*at)->ctx->gone)
        return tern_core_ctx_check((*at)->ctx, "tern_request_free");
    if (!notify_request && (*at)->shared && !tern_core_shared_holds((*at)->ctx))
        return TERN_API_LOCKED(inner, (*at)->ctx->handle, tern_request_free(at));
    if (notify_request)
        tern_op_notify_request_free(notify_request);
    else if (tern_api_request_is_started(*at))
        return tern_base_fail(TERN_ERR_STATE,
                              "tern_request_free: the request is active; wait for it or cancel it first");
    else
        tern_op_request_free(*at);
    *at = NULL;
    return TERN_OK;
}

/* Make an event of a started request. */
static tern_status event_of(tern_request *request, tern_event *event)
{
    struct tern_notify_request *notify_request = tern_api_notify_request(request);

    if (notify_request ? !tern_op_notify_request_event(notify_request, event) : !tern_op_request_event(request, event))
        return tern_base_fail(TERN_ERR_NOMEM, "tern_request_event: no memory for an event");
    return TERN_OK;
}

tern_status tern_request_event(tern_request *request, tern_event *event)
{
    TERN_API_USE use = tern_api_use(tern_api_request_ctx(request), "tern_request_event");

    if (use.status < 0)
        return use.status;

    struct tern_notify_request *notify_request = tern_api_notify_request(request);

    if (!request || !event)
        return tern_api_null("tern_request_event", request ? "event" : "request");
    if (!tern_api_request_is_started(request))
        return tern_api_not_started(request, "tern_request_event");
    if (notify_request && tern_api_request_is_freed(notify_request))
        return tern_api_was_freed("tern_request_event");
    if (!notify_request && request->ctx->gone)
        return tern_core_ctx_check(request->ctx, "tern_request_event");
    if (notify_request ? notify_request->ctx->inner != NULL : request->shared)
        return TERN_API_LOCKED(inner, notify_request ? notify_request->ctx : request->ctx->handle,
                               event_of(request, event));
    return event_of(request, event);
}

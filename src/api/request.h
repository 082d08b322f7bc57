/* request.h: functions that the calls on requests share with the calls on tagged messages and on notifications. */
#pragma once

#include <tern/notify.h>

#include "base/debug.h"
#include "core/team.h"
#include "core/wait_set.h"
#include "op/notify/notify.h"
#include "op/tagged/tagged.h"

/* Wait until a started request of a message is complete, or the deadline passes, and report the request. what is the
 * public call that error texts name. Returns the status of the request or of the wait. */
tern_status tern_api_request_wait(tern_request **request, tern_deadline deadline, tern_request_info *info,
                                  const char *what);

/* Report that a send could not be started. */
tern_status tern_api_send_refused(tern_status st, const struct tern_request *request, const char *what);

/* Report that every rank that could send a matching message is dead. */
tern_status tern_api_deserted(const struct tern_match_name *name, const char *what);

/* A handle of the program is the address of a request of a message or, with the lowest bit set, of a notification
 * request. Both objects are aligned to cache lines. */
static inline tern_request *tern_api_notify_handle(struct tern_notify_request *notify_request)
{
    return (tern_request *)((uintptr_t)notify_request | 1);
}

/* Return the notification request of a handle; NULL: the handle is NULL, or belongs to a request of a message. */
static inline struct tern_notify_request *tern_api_notify_request(const tern_request *handle)
{
    return ((uintptr_t)handle & 1) != 0 ? (struct tern_notify_request *)((uintptr_t)handle - 1) : NULL;
}

/* tern_api_not_started reports that a request is not started, and why. tern_api_was_freed reports that a handle is a
 * copy of the handle of a freed request. */
tern_status tern_api_not_started(const tern_request *request, const char *what) __attribute__((cold, noinline));
tern_status tern_api_was_freed(const char *what) __attribute__((cold, noinline));

/* Return whether a notification request was freed. */
static inline bool tern_api_request_is_freed(const struct tern_notify_request *notify_request)
{
    return tern_op_notify_request_state(notify_request) == TERN_NOTIFY_REQUEST_FREED;
}

/* Return the context of a request in debug builds; NULL: none. */
static inline struct tern_ctx *tern_api_request_ctx(const tern_request *handle)
{
    const struct tern_notify_request *notify_request = tern_api_notify_request(handle);

    if (!TERN_BASE_DEBUG || !handle)
        return NULL;
    return notify_request ? (tern_api_request_is_freed(notify_request) ? NULL : notify_request->ctx) : handle->ctx;
}

/* Return the state of a request of either kind. A NULL handle is idle. */
static inline enum tern_waitable_state tern_api_request_state(const tern_request *handle)
{
    const struct tern_notify_request *notify_request = tern_api_notify_request(handle);

    if (notify_request)
        return tern_op_notify_request_state(notify_request);
    return handle ? tern_op_request_state(handle) : TERN_WAITABLE_IDLE;
}

static inline bool tern_api_request_is_started(const tern_request *handle)
{
    return tern_api_request_state(handle) != TERN_WAITABLE_IDLE;
}

/* Describe the last match of a notification request. info may be NULL. */
static inline void tern_api_tell_notify(const struct tern_notify_request *notify_request, tern_request_info *info)
{
    if (!info)
        return;
    info->source = tern_core_team_rank(notify_request->ctx->team, notify_request->source);
    info->tag = notify_request->tag;
    info->len = notify_request->bytes;
    info->matches = notify_request->count - notify_request->left;
    info->reserved = 0;
}

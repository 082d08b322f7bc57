/* request.h: functions that the calls on tagged messages and on notifications share with those on requests. */
#pragma once

#include <tern/notify.h>

#include "op/notify/notify.h"
#include "op/tagged/tagged.h"

/* Wait for a started request, like tern_request_wait. what is the public call that errors name. */
tern_status tern_api_request_wait(tern_request **request, tern_deadline deadline, tern_request_info *info,
                                  const char *what);

/* Report that a send could not be started. */
tern_status tern_api_send_refused(tern_status st, const struct tern_request *request, const char *what);

/* Report that every rank that could send a matching message is dead. */
tern_status tern_api_deserted(const struct tern_match_name *name, const char *what);

/* A handle of the program is the address of a request of a message or, with the lowest bit set, of a notification
 * request. Both objects are aligned to cache lines. */
static inline tern_request *tern_api_notify_handle(struct tern_notify_request *notice)
{
    return (tern_request *)((uintptr_t)notice | 1);
}

/* The notification request of a handle; NULL: the handle is NULL or of a request of a message. */
static inline struct tern_notify_request *tern_api_notify_request(const tern_request *handle)
{
    return ((uintptr_t)handle & 1) != 0 ? (struct tern_notify_request *)((uintptr_t)handle - 1) : NULL;
}

/* tagged.h: functions that the calls which send tagged messages share with the calls which receive them. */
#pragma once

#include "api/request.h"

/* Report that a rank or a tag is out of range, that no request could be created, or which argument is NULL.
 * tern_api_bad_rank and tern_api_no_request return TERN_API_IS_SHARED (api/shared.h) if the reason is that the context
 * is shared. */
tern_status tern_api_bad_rank(const tern_ctx *ctx, int rank, const char *what) __attribute__((cold, noinline));
tern_status tern_api_bad_tag(int64_t tag, const char *what) __attribute__((cold, noinline));
tern_status tern_api_no_request(const tern_ctx *ctx, const char *what) __attribute__((cold, noinline));
tern_status tern_api_tagged_null(const tern_ctx *ctx, const void *buf, size_t len, const char *what)
    __attribute__((cold, noinline));

/* Report that a handler must not wait. */
tern_status tern_api_tagged_in_handler(const char *what) __attribute__((cold, noinline));

/* Wait for the request of a blocking call, and release it. */
tern_status tern_api_tagged_finish(tern_ctx *ctx, tern_request **request, tern_request_info *info, const char *what);

/* Mark the request as one of a shared context, if the call that creates it has returned TERN_OK. Returns st. */
static inline tern_status tern_api_mark_shared(tern_status st, tern_request **out)
{
    if (st == TERN_OK)
        (*out)->shared = true;
    return st;
}

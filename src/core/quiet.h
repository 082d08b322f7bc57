/* quiet.h: markers, which complete when earlier operations of a context have completed.
 *
 * A marker is an operation without a transfer. It is on the context's list of outstanding operations, which is in the
 * order of their starts, and completes when none of the earlier operations that it waits for is left. Operations that
 * start later do not delay it. */
#pragma once

#include "core/context.h"

/* The operations for which a marker waits. */
enum tern_quiet_scope {
    TERN_QUIET_ALL,
    TERN_QUIET_RANK,  /* the operations towards one rank of the job */
    TERN_QUIET_LOCAL, /* puts whose sources may not be overwritten yet */
};

/* Start a marker for everything that the context has started. call is the public call. *event is complete at once if
 * there is nothing to wait for; otherwise it reports the first error of an operation without an event. Returns TERN_OK,
 * or TERN_ERR_NOMEM. */
tern_status tern_core_quiet_start(struct tern_ctx *ctx, const char *call, tern_event *event);

/* Call then(arg, status, failed) once when everything that the context has started is complete, which may be at once.
 * failed describes the first operation without an event that has failed, if status is an error; TERN_ERR_CANCELLED: the
 * context is closed. Returns TERN_OK, or TERN_ERR_NOMEM: then is not called. */
typedef void tern_quiet_then(void *arg, tern_status status, const char *failed);
tern_status  tern_core_quiet_then(struct tern_ctx *ctx, const char *call, tern_quiet_then *then, void *arg);

/* Wait for everything that the context has started. Operations that other threads start meanwhile on a shared context,
 * whose lock the caller holds, do not delay the call. Returns TERN_OK, TERN_ERR_TIMEOUT, TERN_ERR_STATE in a handler,
 * or TERN_ERR_NOMEM. */
tern_status tern_core_quiet_all(struct tern_ctx *ctx, const char *call, tern_deadline deadline);

/* Wait for everything in the scope that the context has started. rank is a rank of the job, for TERN_QUIET_RANK.
 * Returns TERN_OK, TERN_ERR_TIMEOUT, TERN_ERR_STATE in a handler, or TERN_ERR_NOMEM. */
tern_status tern_core_quiet_wait(struct tern_ctx *ctx, enum tern_quiet_scope scope, int rank, const char *call,
                                 tern_deadline deadline);

/* notify_request.h: notification requests, and requests of outstanding accesses, as requests of MPI.
 *
 * Each request has the handle of a generalized request of MPI, so that no other request has this handle. A table by
 * handle finds the record. MPI does not start a generalized request, and completes such a request only when this
 * library asks MPI to do so. Therefore, if a program passes the handle to MPI without the PMPI library, MPI_Start
 * returns an error, and MPI_Test does not report that the request is complete.
 */
#ifndef TERN_NOTIFY_REQUEST_H
#define TERN_NOTIFY_REQUEST_H

#include "notify_window.h"

/* A request. */
struct tern_notify_request {
    MPI_Request                 handle;
    struct tern_notify_window  *window;  /* NULL: the window was freed */
    tern_request               *request; /* NULL if the source is MPI_PROC_NULL, or for an access */
    bool                        started; /* active, in the terms of MPI */
    bool                        ready;   /* complete, and not reported: info is valid */
    bool                        cancelled;
    bool                        access; /* the request of an access, which is freed when it is reported */
    int                         error;  /* result of the last poll. The error of an access is kept until it is
                                         * reported */
    MPI_Status                  done;   /* status of the completed request; source and tag are set later */
    tern_request_info           info;   /* describes the notifications */
    struct tern_notify_request *next;   /* list of a slot of the table */
    tern_event                  event;  /* completion of an access */

    /* List of the window: the next record, and the pointer that points to this record. */
    struct tern_notify_request *next_other, **link_other;
};

/* The number of slots of the table is large, so that a search takes the same time with thousands of live requests. */
#define TERN_NOTIFY_REQUEST_BITS 14
extern struct tern_notify_request *tern_notify_requests[1 << TERN_NOTIFY_REQUEST_BITS]
    __attribute__((visibility("hidden")));

static inline unsigned tern_notify_request_slot(MPI_Request handle)
{
    return (unsigned)(((uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15u) >> (64 - TERN_NOTIFY_REQUEST_BITS));
}

/* Find the record of a request. NULL: it is an ordinary request of MPI, or MPI_REQUEST_NULL, which is the handle of the
 * records that are not in use. */
static inline struct tern_notify_request *tern_notify_request_of(MPI_Request handle)
{
    if (TERN_UNLIKELY(handle == MPI_REQUEST_NULL))
        return NULL;
    /* acquire: the record behind the pointer, which is never freed. Pairs with the release in notify_request.c. */
    struct tern_notify_request *r =
        __atomic_load_n(&tern_notify_requests[tern_notify_request_slot(handle)], __ATOMIC_ACQUIRE);

    /* relaxed: this thread made the record with this handle, or synchronized with the thread that made it. Pairs with
     * the stores in notify_request.c, which may concern other records of the list at this time. */
    while (r != NULL && __atomic_load_n(&r->handle, __ATOMIC_RELAXED) != handle)
        r = __atomic_load_n(&r->next, __ATOMIC_ACQUIRE);
    return r;
}

/* Find the record of a request by a pointer that a program passes. If the pointer is NULL, the result is NULL, and the
 * call of MPI reports the pointer. */
static inline struct tern_notify_request *tern_notify_request_at(const MPI_Request *request)
{
    return TERN_LIKELY(request != NULL) ? tern_notify_request_of(*request) : NULL;
}

/* Check the source and the tag of a request or a probe. Returns MPI_SUCCESS, or an error code for which the error
 * handler has been called. */
int tern_notify_check(struct tern_notify_window *w, int source, int tag, const char *call);

/* Create a request of Tern for a source and a tag, which may be the wildcards of MPI. */
tern_status tern_notify_expect(struct tern_notify_window *w, int source, int tag, int count, tern_request **out);

/* Create the request of an access on a window, which is started. The access fills r->event. NULL: there is no memory,
 * or MPI has no more requests. */
struct tern_notify_request *tern_notify_access_request(struct tern_notify_window *w);

/* Free a record and its handle. */
void tern_notify_request_drop(struct tern_notify_request *r);

/* Advance a request once. The function sets r->ready if the request is complete, and r->error to MPI_SUCCESS or to an
 * error code. The function does not call the error handler. An access that has failed is complete, and keeps its error
 * until tern_notify_report. A request that is not started has no error. */
void tern_notify_poll(struct tern_notify_request *r, const char *call);

/* Wait until a request is complete or has failed. The function sets the same fields as tern_notify_poll. */
void tern_notify_complete(struct tern_notify_request *r, const char *call);

/* Call the error handler with r->error, unless r->error is MPI_SUCCESS. Returns r->error. */
int tern_notify_raised(struct tern_notify_request *r);

/* Advance a request once, or wait for the request, and call the error handler if the request has failed. Returns
 * MPI_SUCCESS or the error code. */
int tern_notify_advance(struct tern_notify_request *r, const char *call);
int tern_notify_await(struct tern_notify_request *r, const char *call);

/* Return whether the next report of a request ends: the request is complete or not started. */
static inline bool tern_notify_over(const struct tern_notify_request *r)
{
    return r->ready || !r->started;
}

/* Report a request, with the error that the last poll has found. Without an error, the function fills the status; with
 * an error, the function leaves the status. If the request is complete, the function makes the request inactive, and
 * frees the request of an access: *handle becomes MPI_REQUEST_NULL. */
void tern_notify_report(struct tern_notify_request *r, int error, MPI_Request *handle, MPI_Status *status);

/* Fill a status. */
void tern_notify_set_status(MPI_Status *status, int source, int tag, MPI_Count count, bool cancelled);

/* Call the error handler for a call of Tern on a request that has failed. Returns the error code. */
int tern_notify_request_failed(struct tern_notify_request *r, tern_status status, const char *call)
    __attribute__((cold));

#endif

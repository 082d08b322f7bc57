/* notify_request.c: the records of requests: creating, starting, cancelling and freeing them, and waiting for one.
 * The request of an access is created in the started state; the calls that complete requests treat both kinds alike.
 *
 * The records of a slot of the table form a list that only grows: a record that is not in use has the handle
 * MPI_REQUEST_NULL, and the next request with the same slot takes it. So threads may search the lists at any time.
 */
#include <pthread.h>
#include <stdlib.h>

#include "notify_request.h"

#include "notify_access.h"

struct tern_notify_request *tern_notify_requests[1 << TERN_NOTIFY_REQUEST_BITS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Make the error code of a request that has failed. */
static __attribute__((cold)) int code_of(const struct tern_notify_request *r, tern_status status, const char *call)
{
    if (r->window == NULL)
        return tern_mpi_code(MPI_ERR_REQUEST, call, "the window of the notification request was freed");
    return tern_mpi_code_of(status, call, r->access ? "the access" : "the request");
}

/* Call the error handler that belongs to a request. Returns the code. */
static __attribute__((cold)) int raise_code(struct tern_notify_request *r, int code)
{
    if (r->window != NULL)
        return tern_notify_raise(r->window, code);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
    return code;
}

int tern_notify_request_failed(struct tern_notify_request *r, tern_status status, const char *call)
{
    return raise_code(r, code_of(r, status, call));
}

int tern_notify_raised(struct tern_notify_request *r)
{
    return r->error == MPI_SUCCESS ? MPI_SUCCESS : raise_code(r, r->error);
}

/* ---- the generalized requests behind the handles ---- */

static int query(void *extra, MPI_Status *status)
{
    (void)extra;
    tern_notify_set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
    return MPI_SUCCESS;
}

static int free_nothing(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

/* MPI_Cancel without the PMPI library cannot cancel the request of Tern. */
static int refuse_cancel(void *extra, int complete)
{
    (void)extra;
    (void)complete;
    return MPI_ERR_REQUEST;
}

/* Free the handle of a request. */
static void free_handle(MPI_Request handle)
{
    (void)MPI_Grequest_complete(handle);
    (void)PMPI_Wait(&handle, MPI_STATUS_IGNORE); /* the request is complete, and MPI frees it */
}

/* ---- records ---- */

/* Take a record out of use. The caller holds the lock. */
static void forget(struct tern_notify_request *r)
{
    if (r->window != NULL) {
        *r->link_other = r->next_other;
        if (r->next_other != NULL)
            r->next_other->link_other = r->link_other;
    }
    if (r->request != NULL)
        (void)tern_request_free(&r->request); /* a notification request can always be freed */
    r->window = NULL;
    __atomic_store_n(&r->handle, MPI_REQUEST_NULL, __ATOMIC_RELAXED); /* see tern_notify_request_of */
}

/* Find a record for a handle, and put it into the table. A record that has this handle belonged to a request that the
 * program freed by MPI_Request_free. The caller holds the lock. NULL: there is no memory. */
static struct tern_notify_request *take_record(MPI_Request handle)
{
    struct tern_notify_request **head = &tern_notify_requests[tern_notify_request_slot(handle)], *r;

    while ((r = tern_notify_request_of(handle)) != NULL)
        forget(r);
    r = *head;
    while (r != NULL && r->handle != MPI_REQUEST_NULL)
        r = r->next;
    if (r == NULL) {
        r = calloc(1, sizeof *r);
        if (r == NULL)
            return NULL;
        r->next = *head;
        r->handle = MPI_REQUEST_NULL;
        /* release: the record before its place in the list. Pairs with the acquire in tern_notify_request_of. */
        __atomic_store_n(head, r, __ATOMIC_RELEASE);
    }
    return r;
}

/* Fill in a record that is not in use, except for its handle, and except for next, which other threads may read. The
 * caller holds the lock. */
static void use_record(struct tern_notify_request *r, struct tern_notify_window *w)
{
    r->window = w;
    r->request = NULL;
    r->event = TERN_EVENT_INIT;
    r->started = r->ready = r->cancelled = r->access = false;
    r->error = MPI_SUCCESS;
    r->next_other = w->requests;
    r->link_other = &w->requests;
    if (w->requests != NULL)
        w->requests->link_other = &r->next_other;
    w->requests = r;
}

/* Make a record with a handle of its own. NULL: there is no memory, or MPI has no more requests. */
static struct tern_notify_request *make(struct tern_notify_window *w)
{
    struct tern_notify_request *r;
    MPI_Request                 handle;

    if (MPI_Grequest_start(query, free_nothing, refuse_cancel, NULL, &handle) != MPI_SUCCESS)
        return NULL;
    pthread_mutex_lock(&lock);
    r = take_record(handle);
    if (r != NULL) {
        use_record(r, w);
        __atomic_store_n(&r->handle, handle, __ATOMIC_RELAXED); /* see tern_notify_request_of */
    }
    pthread_mutex_unlock(&lock);
    if (r == NULL)
        free_handle(handle);
    return r;
}

struct tern_notify_request *tern_notify_access_request(struct tern_notify_window *w)
{
    struct tern_notify_request *r = make(w);

    if (r != NULL)
        r->access = r->started = true;
    return r;
}

void tern_notify_request_drop(struct tern_notify_request *r)
{
    MPI_Request handle = r->handle;

    pthread_mutex_lock(&lock);
    forget(r);
    pthread_mutex_unlock(&lock);
    free_handle(handle);
}

void tern_notify_orphan_requests(struct tern_notify_window *w)
{
    pthread_mutex_lock(&lock);
    for (struct tern_notify_request *r = w->requests; r != NULL; r = r->next_other) {
        if (r->request != NULL)
            (void)tern_request_free(&r->request); /* a notification request can always be freed */
        if (r->access) {                          /* all accesses of the window are complete or have failed */
            tern_notify_poll(r, "MPI_Win_free");
            r->ready = true;
        }
        r->window = NULL;
    }
    w->requests = NULL;
    pthread_mutex_unlock(&lock);
}

int tern_notify_check(struct tern_notify_window *w, int source, int tag, const char *call)
{
    int error = MPI_SUCCESS;

    if (source != MPI_ANY_SOURCE && source != MPI_PROC_NULL && (source < 0 || source >= w->size))
        error = tern_mpi_code(MPI_ERR_RANK, call, "there is no rank %d in the window, which has the ranks 0 to %d",
                              source, w->size - 1);
    else if (tag < 0 && tag != MPI_ANY_TAG)
        error = tern_mpi_code(MPI_ERR_TAG, call, "the tag is %d; tags are 0 to %d, or MPI_ANY_TAG", tag,
                              MPIX_NOTIFY_TAG_UB);
    return error != MPI_SUCCESS ? tern_notify_raise(w, error) : MPI_SUCCESS;
}

tern_status tern_notify_expect(struct tern_notify_window *w, int source, int tag, int count, tern_request **out)
{
    return tern_notify_create(w->ctx, w->region, source == MPI_ANY_SOURCE ? TERN_ANY_SOURCE : source,
                              tag == MPI_ANY_TAG ? TERN_ANY_TAG : tag, (uint32_t)count, out);
}

NOTIFY_EXPORT int MPIX_Notify_init(MPI_Win win, int source, int tag, int expected_count, MPI_Request *request)
{
    const char                 *call = "MPIX_Notify_init";
    struct tern_notify_window  *w = tern_notify_window_of(win);
    struct tern_notify_request *r;
    tern_request               *own = NULL;
    tern_status                 status = TERN_OK;
    int                         error;

    if (w == NULL)
        return tern_notify_no_window(win, call);
    error = tern_notify_check(w, source, tag, call);
    if (error != MPI_SUCCESS)
        return error;
    if (request == NULL)
        return tern_notify_raise(w, tern_mpi_code(MPI_ERR_ARG, call, "the pointer to the request is NULL"));
    if (expected_count <= 0)
        return tern_notify_raise(w, tern_mpi_code(MPI_ERR_COUNT, call,
                                                  "the request expects %d notifications; it must "
                                                  "expect at least one",
                                                  expected_count));
    if (source != MPI_PROC_NULL)
        status = tern_notify_expect(w, source, tag, expected_count, &own);
    if (status != TERN_OK)
        return tern_notify_finish(w, status, call);
    r = make(w);
    if (r == NULL) {
        if (own != NULL)
            (void)tern_request_free(&own);
        return tern_notify_raise(w, tern_mpi_code(MPI_ERR_NO_MEM, call, "there is no memory for a request"));
    }
    r->request = own;
    tern_notify_set_status(&r->done, MPI_ANY_SOURCE, MPI_ANY_TAG, expected_count, false);
    *request = r->handle;
    return MPI_SUCCESS;
}

/* Report that a program starts the request of an access. Returns the code. */
static __attribute__((cold, noinline)) int access_started(void)
{
    int code = tern_mpi_code(MPI_ERR_REQUEST, "MPIX_Start", "the request is that of an access, not of notifications");

    MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
    return code;
}

NOTIFY_EXPORT int MPIX_Start(MPI_Request *request)
{
    struct tern_notify_request *r = tern_notify_request_at(request);
    tern_status                 status;
    int                         error;

    if (r == NULL)
        return PMPI_Start(request);
    if (r->window == NULL)
        return tern_notify_request_failed(r, TERN_ERR_STATE, "MPIX_Start");
    if (TERN_UNLIKELY(r->started)) { /* the request keeps its matches, unless it is complete */
        if (r->access)
            return access_started();
        error = tern_notify_advance(r, "MPIX_Start");
        if (error != MPI_SUCCESS || !r->ready)
            return error;
    }
    r->ready = r->cancelled = false;
    status = r->request != NULL ? tern_request_start(r->request) : TERN_OK;
    if (TERN_UNLIKELY(status != TERN_OK))
        return tern_notify_request_failed(r, status, "MPIX_Start");
    r->started = true;
    return MPI_SUCCESS;
}

NOTIFY_EXPORT int MPIX_Startall(int count, MPI_Request array_of_requests[])
{
    int error = MPI_SUCCESS;

    for (int i = 0; i < count && error == MPI_SUCCESS; i++)
        error = MPIX_Start(&array_of_requests[i]);
    return error;
}

NOTIFY_EXPORT int MPIX_Cancel(MPI_Request *request)
{
    struct tern_notify_request *r = tern_notify_request_at(request);
    tern_status                 status;

    if (r == NULL)
        return PMPI_Cancel(request);
    if (r->access)
        return MPI_SUCCESS; /* an access cannot be cancelled, and completes */
    if (r->window == NULL)
        return tern_notify_request_failed(r, TERN_ERR_STATE, "MPIX_Cancel");
    if (r->request == NULL || !r->started || r->ready)
        return MPI_SUCCESS; /* it is too late */
    status = tern_request_cancel(&r->request, &r->info);
    if (status == TERN_PENDING)
        return MPI_SUCCESS;
    if (status != TERN_OK)
        return tern_notify_request_failed(r, status, "MPIX_Cancel");
    r->ready = r->cancelled = true;
    r->error = MPI_SUCCESS;
    return MPI_SUCCESS;
}

NOTIFY_EXPORT int MPIX_Request_free(MPI_Request *request)
{
    struct tern_notify_request *r = tern_notify_request_at(request);
    int                         error = MPI_SUCCESS;

    if (r == NULL)
        return PMPI_Request_free(request);
    if (!tern_mpi_running)
        return tern_notify_request_failed(r, TERN_ERR_STATE, "MPIX_Request_free");
    if (r->access) /* the record contains the event */
        error = tern_notify_await(r, "MPIX_Request_free");
    tern_notify_request_drop(r);
    *request = MPI_REQUEST_NULL;
    return error;
}

/* ---- completion ---- */

/* Record what a test or a wait of Tern has found. The event of an access that has failed is complete, and reports its
 * error only once; after an error such as a timeout, the event is still outstanding. */
static void settle(struct tern_notify_request *r, tern_status status, const char *call)
{
    r->error = status < 0 ? code_of(r, status, call) : MPI_SUCCESS;
    r->ready = status == TERN_OK || (status < 0 && r->access && tern_event_peek(&r->event) != TERN_PENDING);
}

/* Return whether a poll or a wait has to ask Tern. Otherwise r->error is valid. */
static bool is_open(struct tern_notify_request *r)
{
    if (!r->started)
        r->error = MPI_SUCCESS;
    return r->started && !r->ready;
}

void tern_notify_poll(struct tern_notify_request *r, const char *call)
{
    tern_status status = TERN_OK;

    if (!is_open(r))
        return;
    if (r->window == NULL)
        status = TERN_ERR_STATE;
    else if (r->access)
        status = tern_event_test(&r->event);
    else if (r->request != NULL)
        status = tern_request_test(&r->request, &r->info);
    settle(r, status, call);
}

void tern_notify_complete(struct tern_notify_request *r, const char *call)
{
    tern_status status = TERN_OK;

    if (!is_open(r))
        return;
    if (r->window == NULL)
        status = TERN_ERR_STATE;
    else if (r->access)
        status = tern_event_wait(&r->event, TERN_FOREVER);
    else if (r->request != NULL)
        status = tern_request_wait(&r->request, TERN_FOREVER, &r->info);
    settle(r, status, call);
}

int tern_notify_advance(struct tern_notify_request *r, const char *call)
{
    tern_notify_poll(r, call);
    return tern_notify_raised(r);
}

int tern_notify_await(struct tern_notify_request *r, const char *call)
{
    tern_notify_complete(r, call);
    return tern_notify_raised(r);
}

void tern_notify_set_status(MPI_Status *status, int source, int tag, MPI_Count count, bool cancelled)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    status->MPI_ERROR = MPI_SUCCESS;
    (void)MPI_Status_set_elements_x(status, MPI_BYTE, count);
    (void)MPI_Status_set_cancelled(status, cancelled);
}

/* Fill the status of a request that has completed. */
static inline void fill(const struct tern_notify_request *r, const tern_request_info *info, MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    *status = r->done;
    status->MPI_SOURCE = info->source;
    status->MPI_TAG = (int)info->tag;
}

/* Fill the status of a request that is complete or not started. */
static void describe(const struct tern_notify_request *r, MPI_Status *status)
{
    if (!r->started) /* an empty status */
        tern_notify_set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
    else if (r->request == NULL)
        tern_notify_set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, r->cancelled);
    else if (r->cancelled)
        tern_notify_set_status(status, r->info.source, (int)r->info.tag, (MPI_Count)r->info.matches, true);
    else
        fill(r, &r->info, status);
}

void tern_notify_report(struct tern_notify_request *r, int error, MPI_Request *handle, MPI_Status *status)
{
    if (error == MPI_SUCCESS)
        describe(r, status);
    if (!tern_notify_over(r))
        return;
    r->started = r->ready = r->cancelled = false;
    if (r->access) {
        tern_notify_request_drop(r);
        *handle = MPI_REQUEST_NULL;
    }
}

/* Wait in all cases but the usual one. */
static __attribute__((noinline)) int wait_any(MPI_Request *request, MPI_Status *status)
{
    struct tern_notify_request *r = tern_notify_request_at(request);
    int                         error;

    if (r == NULL)
        return PMPI_Wait(request, status);
    error = tern_notify_await(r, "MPIX_Wait");
    tern_notify_report(r, error, request, status);
    return error;
}

/* Wait for a request. The usual case is a notification request that is started. */
NOTIFY_EXPORT int MPIX_Wait(MPI_Request *request, MPI_Status *status)
{
    struct tern_notify_request *r = tern_notify_request_at(request);
    tern_request_info           info;
    tern_status                 result;

    if (TERN_UNLIKELY(r == NULL || !r->started || r->ready || r->request == NULL))
        return wait_any(request, status);
    result = tern_request_wait(&r->request, TERN_FOREVER, status != MPI_STATUS_IGNORE ? &info : NULL);
    if (TERN_UNLIKELY(result != TERN_OK))
        return tern_notify_request_failed(r, result, "MPIX_Wait");
    r->started = false;
    fill(r, &info, status);
    return MPI_SUCCESS;
}

NOTIFY_EXPORT int MPIX_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct tern_notify_request *r = tern_notify_request_at(request);
    int                         error;

    if (r == NULL)
        return PMPI_Test(request, flag, status);
    if (TERN_UNLIKELY(flag == NULL))
        return tern_notify_no_place(r->window, "MPIX_Test");
    error = tern_notify_advance(r, "MPIX_Test");
    *flag = tern_notify_over(r);
    if (*flag || error != MPI_SUCCESS)
        tern_notify_report(r, error, request, status);
    return error;
}

NOTIFY_EXPORT int MPIX_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    struct tern_notify_request *r = tern_notify_request_of(request);
    int                         error;

    if (r == NULL)
        return PMPI_Request_get_status(request, flag, status);
    if (flag == NULL)
        return tern_notify_no_place(r->window, "MPIX_Request_get_status");
    error = tern_notify_advance(r, "MPIX_Request_get_status");
    *flag = tern_notify_over(r);
    if (*flag && error == MPI_SUCCESS)
        describe(r, status);
    return error;
}

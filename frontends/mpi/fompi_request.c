/* fompi_request.c: requests of accesses and of notifications.
 *
 * Requests are in a list of their window. When the window is freed, the accesses are complete or have failed, and their
 * requests keep the errors. No more notifications can arrive: requests for notifications stay as orphans, which can
 * only be freed.
 */
#include <pthread.h>

#include "fompi_state.h"
#include "job.h"

static struct tern_fompi_request *spare; /* for reuse; their memory stays, so that handles can be checked */
static pthread_mutex_t            spare_lock = PTHREAD_MUTEX_INITIALIZER; /* only taken if there are threads */

static struct tern_fompi_request *take_spare(void)
{
    bool                       threads = tern_mpi_has_threads();
    struct tern_fompi_request *request;

    if (threads)
        pthread_mutex_lock(&spare_lock);
    if ((request = spare) != NULL)
        spare = request->next;
    if (threads)
        pthread_mutex_unlock(&spare_lock);
    return request;
}

static void keep_spare(struct tern_fompi_request *request)
{
    bool threads = tern_mpi_has_threads();

    if (threads)
        pthread_mutex_lock(&spare_lock);
    request->next = spare;
    spare = request;
    if (threads)
        pthread_mutex_unlock(&spare_lock);
}

struct tern_fompi_request *tern_fompi_request_new(struct tern_fompi_win *win)
{
    struct tern_fompi_request *request = take_spare();

    if (request == NULL && (request = malloc(sizeof *request)) == NULL)
        return NULL;
    *request = (struct tern_fompi_request){
        .magic = TERN_FOMPI_MAGIC, .win = win, .event = TERN_EVENT_INIT, .next = win->requests
    };
    if (win->requests != NULL)
        win->requests->previous = request;
    win->requests = request;
    return request;
}

/* Remove a request from the list of its window. */
static void unlink_request(struct tern_fompi_request *request)
{
    if (request->win == NULL)
        return;
    if (request->previous != NULL)
        request->previous->next = request->next;
    else
        request->win->requests = request->next;
    if (request->next != NULL)
        request->next->previous = request->previous;
    request->win = NULL;
}

void tern_fompi_request_drop(struct tern_fompi_request *request)
{
    unlink_request(request);
    request->magic = 0;
    keep_spare(request);
}

void tern_fompi_orphan_requests(struct tern_fompi_win *win)
{
    struct tern_fompi_request *request;

    while ((request = win->requests) != NULL) {
        if (request->notify != NULL)
            (void)tern_request_free(&request->notify);
        else
            request->failed = tern_event_wait(&request->event, TERN_FOREVER); /* the access is complete or has failed */
        unlink_request(request);
    }
}

/* Return the request with this handle; NULL if the handle is not valid. */
static struct tern_fompi_request *request_of(foMPI_Request handle)
{
    struct tern_fompi_request *request = (struct tern_fompi_request *)(void *)handle;

    return TERN_LIKELY(request != NULL && request->magic == TERN_FOMPI_MAGIC) ? request : NULL;
}

tern_ctx *tern_fompi_request_ctx(foMPI_Request handle)
{
    struct tern_fompi_request *request = request_of(handle);

    return request != NULL && request->active && request->win != NULL ? request->win->sync_ctx : NULL;
}

bool tern_fompi_request_active(foMPI_Request handle)
{
    struct tern_fompi_request *request = request_of(handle);

    return request != NULL ? request->active : handle != foMPI_REQUEST_NULL;
}

/* Fill a status. */
static void tell(MPI_Status *status, int source, int tag, int count)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    MPI_Status_set_elements(status, MPI_INT, count);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    status->MPI_ERROR = MPI_SUCCESS;
}

void tern_fompi_tell_nothing(MPI_Status *status)
{
    tell(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
}

/* Report a handle that is not valid. */
static __attribute__((cold)) int bad_request(const char *call)
{
    return tern_fompi_error(MPI_ERR_REQUEST, call, "the handle is no request; it may be complete or freed");
}

/* Wait until the deadline for the notifications of an active request. */
static int finish_notify(struct tern_fompi_request *request, tern_deadline deadline, int *flag, MPI_Status *status,
                         const char *call)
{
    tern_request_info info = { .source = MPI_ANY_SOURCE, .tag = MPI_ANY_TAG };
    tern_status       result = TERN_OK;

    if (TERN_UNLIKELY(request->win == NULL))
        return tern_fompi_error(MPI_ERR_WIN, call, "the window of the request is freed");
    if (TERN_LIKELY(request->notify != NULL))
        result = tern_request_wait(&request->notify, deadline, &info);
    if (result == TERN_PENDING) {
        *flag = 0;
        return MPI_SUCCESS;
    }
    if (result != TERN_OK)
        return tern_fompi_error_of(result, call, "waiting for notifications");
    request->active = false;
    *flag = 1;
    if (status != MPI_STATUS_IGNORE) {
        *status = request->done;
        status->MPI_SOURCE = info.source;
        status->MPI_TAG = (int)info.tag;
    }
    return MPI_SUCCESS;
}

/* Wait until the deadline for an access. *flag returns whether the access is complete or has failed. */
static int wait_access(struct tern_fompi_request *request, tern_deadline deadline, int *flag, const char *call)
{
    tern_status result;

    *flag = 1;
    if (TERN_UNLIKELY(request->failed != TERN_OK))
        return tern_fompi_error_kept(request->failed, call, "the access");
    result = tern_event_wait(&request->event, deadline);
    *flag = result != TERN_PENDING;
    return *flag ? tern_fompi_result(result, call, "the access") : MPI_SUCCESS;
}

static int finish_access(struct tern_fompi_request *request, tern_deadline deadline, int *flag, MPI_Status *status,
                         const char *call)
{
    int error = wait_access(request, deadline, flag, call);

    if (*flag) {
        tern_fompi_request_drop(request);
        tern_fompi_tell_nothing(status);
    }
    return error;
}

int tern_fompi_finish(foMPI_Request *handle, tern_deadline deadline, int *flag, MPI_Status *status, const char *call)
{
    struct tern_fompi_request *request;
    int                        error;

    if (TERN_UNLIKELY(handle == NULL || flag == NULL))
        return tern_fompi_error(MPI_ERR_ARG, call, "a pointer is NULL");
    request = request_of(*handle);
    if (TERN_UNLIKELY(request == NULL && *handle != foMPI_REQUEST_NULL))
        return bad_request(call);
    if (request == NULL || !request->active) {
        tern_fompi_tell_nothing(status);
        *flag = 1;
        return MPI_SUCCESS;
    }
    if (TERN_LIKELY(request->notifies))
        return finish_notify(request, deadline, flag, status, call);
    error = finish_access(request, deadline, flag, status, call);
    if (*flag)
        *handle = foMPI_REQUEST_NULL;
    return error;
}

FOMPI_EXPORT int foMPI_Wait(foMPI_Request *request, MPI_Status *status)
{
    int flag;

    return tern_fompi_finish(request, TERN_FOREVER, &flag, status, __func__);
}

FOMPI_EXPORT int foMPI_Test(foMPI_Request *request, int *flag, MPI_Status *status)
{
    return tern_fompi_finish(request, TERN_NOW, flag, status, __func__);
}

FOMPI_EXPORT int foMPI_Notify_init(foMPI_Win handle, int src_rank, int tag, int count, foMPI_Request *out)
{
    struct tern_fompi_win     *win = tern_fompi_win(handle);
    struct tern_fompi_request *request;
    tern_status                status = TERN_OK;

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (tag != foMPI_ANY_TAG && (tag < 0 || tag > foMPI_TAG_UB))
        return tern_fompi_error(MPI_ERR_TAG, __func__, "the tag is %d; tags are 0 to %d and foMPI_ANY_TAG", tag,
                                foMPI_TAG_UB);
    if (src_rank != foMPI_ANY_SOURCE && (unsigned)src_rank >= (unsigned)win->size)
        return tern_fompi_bad_rank(__func__, win, src_rank);
    if (count < 0 || out == NULL)
        return tern_fompi_error(count < 0 ? MPI_ERR_COUNT : MPI_ERR_ARG, __func__,
                                count < 0 ? "the count is negative" : "the pointer to the request is NULL");
    request = tern_fompi_request_new(win);
    if (request == NULL)
        return tern_fompi_error(MPI_ERR_NO_MEM, __func__, "there is no memory for a request");
    request->notifies = true;
    tell(&request->done, MPI_ANY_SOURCE, MPI_ANY_TAG, count);
    if (count > 0)
        status = tern_notify_create(win->ctx, win->region, src_rank == foMPI_ANY_SOURCE ? TERN_ANY_SOURCE : src_rank,
                                    tag == foMPI_ANY_TAG ? TERN_ANY_TAG : tag, (uint32_t)count, &request->notify);
    if (status != TERN_OK) {
        tern_fompi_request_drop(request);
        return tern_fompi_error_of(status, __func__, "creating the request");
    }
    *out = (foMPI_Request)(void *)request;
    return MPI_SUCCESS;
}

FOMPI_EXPORT int foMPI_Start(foMPI_Request *handle)
{
    struct tern_fompi_request *request = handle != NULL ? request_of(*handle) : NULL;
    tern_status                status = TERN_OK;

    if (TERN_UNLIKELY(request == NULL))
        return handle != NULL && *handle == foMPI_REQUEST_NULL ? MPI_SUCCESS : bad_request(__func__);
    if (TERN_UNLIKELY(!request->notifies))
        return tern_fompi_error(MPI_ERR_REQUEST, __func__, "the request is that of an access, not of notifications");
    if (TERN_UNLIKELY(request->win == NULL))
        return tern_fompi_error(MPI_ERR_WIN, __func__, "the window of the request is freed");
    if (request->active)
        return MPI_SUCCESS; /* the request keeps its matches */
    if (request->notify != NULL)
        status = tern_request_start(request->notify);
    request->active = status == TERN_OK;
    return tern_fompi_result(status, __func__, "starting the request");
}

FOMPI_EXPORT int foMPI_Request_free(foMPI_Request *handle)
{
    struct tern_fompi_request *request = handle != NULL ? request_of(*handle) : NULL;
    int                        error = MPI_SUCCESS, flag;

    if (request == NULL)
        return handle != NULL && *handle == foMPI_REQUEST_NULL ? MPI_SUCCESS : bad_request(__func__);
    if (request->notify != NULL)
        error = tern_fompi_result(tern_request_free(&request->notify), __func__, "freeing the request");
    else if (!request->notifies) /* the event belongs to the request */
        error = wait_access(request, TERN_FOREVER, &flag, __func__);
    tern_fompi_request_drop(request);
    *handle = foMPI_REQUEST_NULL;
    return error;
}

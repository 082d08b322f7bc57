/* notify_id.c: waits for one notification with a given tag from any process, without a request of the program. The
 * window keeps the request of Tern that the last such wait used. */
#include <pthread.h>

#include "notify_access.h"
#include "notify_request.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the requests that windows keep */

/* Take the request that the window keeps, if it has this tag, or make one. */
static tern_status take(struct tern_notify_window *w, int tag, tern_request **out)
{
    *out = NULL;
    pthread_mutex_lock(&lock);
    if (w->waiter_tag == tag) {
        *out = w->waiter;
        w->waiter = NULL;
    }
    pthread_mutex_unlock(&lock);
    return *out != NULL ? TERN_OK : tern_notify_expect(w, MPI_ANY_SOURCE, tag, 1, out);
}

/* Let the window keep a request that is not started, in place of the one that it has. */
static void keep(struct tern_notify_window *w, int tag, tern_request *request)
{
    tern_request *old;

    pthread_mutex_lock(&lock);
    old = w->waiter;
    w->waiter = request;
    w->waiter_tag = tag;
    pthread_mutex_unlock(&lock);
    if (old != NULL)
        (void)tern_request_free(&old); /* the request is not started */
}

/* Take a notification that has arrived. Returns TERN_PENDING if there is none. A notification that another thread takes
 * after the probe is not there. */
static tern_status test(tern_request *request)
{
    tern_request_info info;
    tern_status       status = tern_notify_probe(request, &info);

    if (status == TERN_OK)
        status = tern_request_start(request);
    if (status != TERN_OK)
        return status;
    status = tern_request_test(&request, &info);
    if (status != TERN_PENDING)
        return status;
    status = tern_request_cancel(&request, &info);
    if (status == TERN_OK)
        return TERN_PENDING;
    return status == TERN_PENDING ? tern_request_wait(&request, TERN_FOREVER, &info) : status;
}

/* Test, or wait if flag is NULL. */
static int take_one(MPI_Win win, int tag, int *flag, const char *call)
{
    struct tern_notify_window *w = tern_notify_window_of(win);
    tern_request              *request;
    tern_request_info          info;
    tern_status                status;

    if (w == NULL)
        return tern_notify_no_window(win, call);
    if (tag < 0)
        return tern_notify_raise(
            w, tern_mpi_code(MPI_ERR_TAG, call, "the tag is %d; tags are 0 to %d", tag, MPIX_NOTIFY_TAG_UB));
    status = take(w, tag, &request);
    if (status != TERN_OK)
        return tern_notify_finish(w, status, call);
    if (flag != NULL) {
        status = test(request);
        *flag = status == TERN_OK;
    } else {
        status = tern_request_start(request);
        if (status == TERN_OK)
            status = tern_request_wait(&request, TERN_FOREVER, &info);
    }
    if (status == TERN_OK || status == TERN_PENDING) {
        keep(w, tag, request);
        return MPI_SUCCESS;
    }
    (void)tern_request_free(&request); /* a notification request can always be freed */
    return tern_notify_finish(w, status, call);
}

NOTIFY_EXPORT int MPIX_Win_wait_notify(MPI_Win win, int tag)
{
    return take_one(win, tag, NULL, "MPIX_Win_wait_notify");
}

NOTIFY_EXPORT int MPIX_Win_test_notify(MPI_Win win, int tag, int *flag)
{
    if (flag == NULL)
        return tern_notify_no_place(tern_notify_window_of(win), "MPIX_Win_test_notify");
    return take_one(win, tag, flag, "MPIX_Win_test_notify");
}

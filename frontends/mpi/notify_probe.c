/* notify_probe.c: probes for notifications that no request has matched. */
#include <pthread.h>

#include "notify_access.h"
#include "notify_request.h"

/* Look for a notification. The window keeps the request for the source and the tag of the last probe; that request is
 * never started. Threads that probe the same window take turns. */
static tern_status look(struct tern_notify_window *w, int source, int tag, tern_request_info *info)
{
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    tern_status            status = TERN_OK;

    pthread_mutex_lock(&turn);
    if (w->probe == NULL || w->probe_source != source || w->probe_tag != tag) {
        if (w->probe != NULL)
            (void)tern_request_free(&w->probe); /* the request is not started */
        w->probe = NULL;
        status = tern_notify_expect(w, source, tag, 1, &w->probe);
        w->probe_source = source;
        w->probe_tag = tag;
    }
    if (status == TERN_OK)
        status = tern_notify_probe(w->probe, info);
    pthread_mutex_unlock(&turn);
    return status;
}

/* Probe, and wait if flag is NULL. */
static int probe(int source, int tag, MPI_Win win, int *flag, MPI_Status *out, const char *call)
{
    struct tern_notify_window *w = tern_notify_window_of(win);
    tern_idle                  idle = TERN_IDLE(.name = call);
    tern_request_info          info;
    tern_status                status;
    int                        error;

    if (w == NULL)
        return tern_notify_no_window(win, call);
    error = tern_notify_check(w, source, tag, call);
    if (error != MPI_SUCCESS)
        return error;
    if (source == MPI_PROC_NULL) {
        tern_notify_set_status(out, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
        status = TERN_OK;
    } else {
        status = look(w, source, tag, &info);
        while (status == TERN_PENDING && flag == NULL) {
            status = tern_idle_step(w->ctx, &idle);
            if (status == TERN_OK)
                status = look(w, source, tag, &info);
        }
        if (status == TERN_OK)
            tern_notify_set_status(out, info.source, (int)info.tag, (MPI_Count)info.len, false);
    }
    if (flag != NULL)
        *flag = status == TERN_OK;
    return status == TERN_PENDING ? MPI_SUCCESS : tern_notify_finish(w, status, call);
}

NOTIFY_EXPORT int MPIX_Iprobe_notify(int source, int tag, MPI_Win win, int *flag, MPI_Status *status)
{
    if (flag == NULL)
        return tern_notify_no_place(tern_notify_window_of(win), "MPIX_Iprobe_notify");
    return probe(source, tag, win, flag, status, "MPIX_Iprobe_notify");
}

NOTIFY_EXPORT int MPIX_Probe_notify(int source, int tag, MPI_Win win, MPI_Status *status)
{
    return probe(source, tag, win, NULL, status, "MPIX_Probe_notify");
}

/* fompi_several.c: tests and waits for several requests, which may belong to several windows.
 *
 * Each poll begins at another request, so that none is favoured. A wait polls all requests, and sleeps on the context
 * of one of their windows. Every change of the memory of this process and every notification ends the sleep.
 */
#include "fompi_state.h"

#define NAP_US \
    200 /* completions of accesses belong to the contexts of several windows; look at all of them this often */

static int check(int count, const foMPI_Request *requests, bool pointers, const char *call)
{
    if (count < 0)
        return tern_fompi_error(MPI_ERR_COUNT, call, "the number of requests is %d", count);
    if (!pointers || (requests == NULL && count > 0))
        return tern_fompi_error(MPI_ERR_ARG, call, "a pointer is NULL");
    return MPI_SUCCESS;
}

/* Return the index at which a poll of several requests begins. */
static int begin_at(int count)
{
    static __thread unsigned turn;

    return (int)(turn++ % (unsigned)count);
}

/* Test all requests until one is complete. *index is MPI_UNDEFINED if there is none; *flag is also set if no request is
 * active. */
static int poll_any(int count, foMPI_Request *requests, int *index, int *flag, MPI_Status *status, const char *call)
{
    int first = count > 0 ? begin_at(count) : 0, active = 0;

    *index = MPI_UNDEFINED;
    *flag = 0;
    for (int i = 0; i < count; i++) {
        int at = (first + i) % count, error;

        if (!tern_fompi_request_active(requests[at]))
            continue;
        active++;
        error = tern_fompi_finish(&requests[at], TERN_NOW, flag, status, call);
        if (*flag || error != MPI_SUCCESS) {
            *index = at;
            return error;
        }
    }
    if (active > 0)
        return MPI_SUCCESS;
    *flag = 1;
    tern_fompi_tell_nothing(status);
    return MPI_SUCCESS;
}

/* Test all requests and report those that are complete. *outcount is MPI_UNDEFINED if no request is active. */
static int poll_some(int count, foMPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses,
                     const char *call)
{
    int error = MPI_SUCCESS, active = 0;

    *outcount = 0;
    for (int at = 0; at < count; at++) {
        MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[*outcount];
        int         flag = 0, last;

        if (!tern_fompi_request_active(requests[at]))
            continue;
        active++;
        last = tern_fompi_finish(&requests[at], TERN_NOW, &flag, status, call);
        if (last != MPI_SUCCESS && status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = last;
        if (last != MPI_SUCCESS)
            error = MPI_ERR_IN_STATUS;
        if (flag || last != MPI_SUCCESS)
            indices[(*outcount)++] = at;
    }
    if (active == 0)
        *outcount = MPI_UNDEFINED;
    return error;
}

/* Sleep until one of the requests may have advanced. */
static int rest(int count, const foMPI_Request *requests, tern_idle *idle, const char *call)
{
    tern_ctx *ctx = NULL;

    for (int i = 0; i < count && ctx == NULL; i++)
        ctx = tern_fompi_request_ctx(requests[i]);
    return ctx != NULL ? tern_fompi_result(tern_idle_step(ctx, idle), call, "waiting") : MPI_SUCCESS;
}

FOMPI_EXPORT int foMPI_Testany(int count, foMPI_Request array_of_requests[], int *index, int *flag, MPI_Status *status)
{
    int error = check(count, array_of_requests, index != NULL && flag != NULL, __func__);

    return error != MPI_SUCCESS ? error : poll_any(count, array_of_requests, index, flag, status, __func__);
}

FOMPI_EXPORT int foMPI_Waitany(int count, foMPI_Request array_of_requests[], int *index, MPI_Status *status)
{
    tern_idle idle = TERN_IDLE(.nap_us = NAP_US, .name = __func__);
    int       flag = 0, error = check(count, array_of_requests, index != NULL, __func__);

    while (error == MPI_SUCCESS) {
        error = poll_any(count, array_of_requests, index, &flag, status, __func__);
        if (flag || error != MPI_SUCCESS)
            break;
        error = rest(count, array_of_requests, &idle, __func__);
    }
    return error;
}

FOMPI_EXPORT int foMPI_Testsome(int incount, foMPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                                MPI_Status array_of_statuses[])
{
    int error = check(incount, array_of_requests, outcount != NULL && array_of_indices != NULL, __func__);

    if (error != MPI_SUCCESS)
        return error;
    return poll_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses, __func__);
}

FOMPI_EXPORT int foMPI_Waitsome(int incount, foMPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                                MPI_Status array_of_statuses[])
{
    tern_idle idle = TERN_IDLE(.nap_us = NAP_US, .name = __func__);
    int       error = check(incount, array_of_requests, outcount != NULL && array_of_indices != NULL, __func__);

    while (error == MPI_SUCCESS) {
        error = poll_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses, __func__);
        if (*outcount != 0 || error != MPI_SUCCESS)
            break;
        error = rest(incount, array_of_requests, &idle, __func__);
    }
    return error;
}

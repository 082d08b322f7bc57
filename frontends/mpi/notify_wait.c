/* notify_wait.c: waiting for several requests, notification requests and ordinary ones mixed.
 *
 * MPI makes progress while Tern waits, through the idle hook, and Tern needs no progress of a process that waits in
 * MPI. So a call that waits for all requests first waits for the requests of Tern, and then for the others in MPI. A
 * call that waits for any of a mixture polls both.
 */
#include <stdlib.h>

#include "notify_request.h"

/* The requests of a call, divided: ordinary[] contains the requests of MPI, and MPI_REQUEST_NULL in place of the
 * others. */
struct mixture {
    int          count, own, ordinary_count;
    MPI_Request *all;
    MPI_Request *ordinary;
    tern_ctx    *ctx;  /* of one of the requests of Tern, or NULL */
    const char  *call; /* name of the public call */
    MPI_Request  few[16];
};

/* Count the requests of a call that are Tern's. */
static int count_own(int count, const MPI_Request *requests)
{
    int own = 0;

    for (int i = 0; requests != NULL && i < count; i++)
        own += tern_notify_request_of(requests[i]) != NULL;
    return own;
}

/* Divide the requests of a call. Returns MPI_SUCCESS or an error code. */
static int divide(struct mixture *m, int count, MPI_Request *requests, const char *call)
{
    m->count = count;
    m->all = requests;
    m->call = call;
    m->own = m->ordinary_count = 0;
    m->ctx = NULL;
    m->ordinary = m->few;
    if (count > (int)(sizeof m->few / sizeof *m->few))
        m->ordinary = malloc((size_t)count * sizeof *m->ordinary);
    if (m->ordinary == NULL) {
        int code = tern_mpi_code(MPI_ERR_NO_MEM, call, "there is no memory to wait for %d requests", count);

        MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
        return code;
    }
    for (int i = 0; i < count; i++) {
        struct tern_notify_request *r = tern_notify_request_of(requests[i]);

        m->ordinary[i] = r != NULL ? MPI_REQUEST_NULL : requests[i];
        m->own += r != NULL;
        m->ordinary_count += m->ordinary[i] != MPI_REQUEST_NULL;
        if (r != NULL && r->window != NULL)
            m->ctx = r->window->ctx;
    }
    return MPI_SUCCESS;
}

/* Take back the ordinary requests, which MPI may have freed. */
static void join(struct mixture *m)
{
    for (int i = 0; i < m->count; i++) {
        if (tern_notify_request_of(m->all[i]) == NULL)
            m->all[i] = m->ordinary[i];
    }
    if (m->ordinary != m->few)
        free(m->ordinary);
}

static MPI_Status *status_at(MPI_Status *statuses, int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/* Return the statuses from the given index on. The function is not inlined, because compilers treat
 * MPI_STATUSES_IGNORE, which is not an address, as an array without elements. */
static __attribute__((noinline)) MPI_Status *statuses_from(MPI_Status *statuses, int first)
{
    return statuses == MPI_STATUSES_IGNORE ? statuses : statuses + first;
}

/* Poll the requests of a mixture once for one that is complete. *index is MPI_UNDEFINED if no request is active. *flag
 * is set if the polling call is over. */
static int poll_any(struct mixture *m, int *index, int *flag, MPI_Status *status)
{
    bool active = false;
    int  error;

    *flag = 0;
    *index = MPI_UNDEFINED;
    for (int i = 0; i < m->count; i++) {
        struct tern_notify_request *r = tern_notify_request_of(m->all[i]);

        if (r == NULL || !r->started)
            continue;
        active = true;
        error = tern_notify_advance(r, m->call);
        if (error == MPI_SUCCESS && !r->ready)
            continue;
        *flag = 1;
        *index = i;
        tern_notify_report(r, error, &m->all[i], status);
        return error;
    }
    if (m->ordinary_count > 0) {
        error = PMPI_Testany(m->count, m->ordinary, index, flag, status);
        if (error != MPI_SUCCESS || !(*flag && *index == MPI_UNDEFINED && active))
            return error;
        *flag = 0; /* no ordinary request is active */
    }
    if (!active) {
        *flag = 1;
        tern_notify_set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
    }
    return MPI_SUCCESS;
}

/* Make one idle step between the polls of a wait. */
static int rest(struct mixture *m, tern_idle *idle)
{
    tern_status status = m->ctx != NULL ? tern_idle_step(m->ctx, idle) : TERN_OK;
    int         code;

    if (status == TERN_OK)
        return MPI_SUCCESS;
    code = tern_mpi_code_of(status, idle->name, "waiting");
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
    return code;
}

NOTIFY_EXPORT int MPIX_Testany(int count, MPI_Request array_of_requests[], int *index, int *flag, MPI_Status *status)
{
    struct mixture m;
    int            error;

    if (count_own(count, array_of_requests) == 0)
        return PMPI_Testany(count, array_of_requests, index, flag, status);
    if (index == NULL || flag == NULL)
        return tern_notify_no_place(NULL, "MPIX_Testany");
    error = divide(&m, count, array_of_requests, "MPIX_Testany");
    if (error != MPI_SUCCESS)
        return error;
    error = poll_any(&m, index, flag, status);
    join(&m);
    return error;
}

NOTIFY_EXPORT int MPIX_Waitany(int count, MPI_Request array_of_requests[], int *index, MPI_Status *status)
{
    struct mixture m;
    tern_idle      idle = TERN_IDLE(.name = "MPIX_Waitany");
    int            error, flag = 0;

    if (count_own(count, array_of_requests) == 0)
        return PMPI_Waitany(count, array_of_requests, index, status);
    if (index == NULL)
        return tern_notify_no_place(NULL, idle.name);
    error = divide(&m, count, array_of_requests, idle.name);
    if (error != MPI_SUCCESS)
        return error;
    for (;;) {
        error = poll_any(&m, index, &flag, status);
        if (error != MPI_SUCCESS || flag)
            break;
        error = rest(&m, &idle);
        if (error != MPI_SUCCESS)
            break;
    }
    join(&m);
    return error;
}

/* Set the error of a status, if there is one. */
static void set_error(MPI_Status *status, int error)
{
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = error;
}

/* Report all notification requests of a mixture that are complete or have failed. Returns MPI_SUCCESS, or
 * MPI_ERR_IN_STATUS if one has failed. *active is set if one is active. */
static int poll_own(struct mixture *m, int *outcount, int *indices, MPI_Status *statuses, bool *active)
{
    int result = MPI_SUCCESS;

    for (int i = 0; i < m->count; i++) {
        struct tern_notify_request *r = tern_notify_request_of(m->all[i]);
        int                         error;

        if (r == NULL || !r->started)
            continue;
        *active = true;
        error = tern_notify_advance(r, m->call);
        if (error == MPI_SUCCESS && !r->ready)
            continue;
        tern_notify_report(r, error, &m->all[i], status_at(statuses, *outcount));
        if (error != MPI_SUCCESS)
            result = MPI_ERR_IN_STATUS;
        set_error(status_at(statuses, *outcount), error);
        indices[(*outcount)++] = i;
    }
    return result;
}

/* Poll all requests of a mixture, and report all that are complete. *outcount is MPI_UNDEFINED if no request is
 * active. */
static int poll_some(struct mixture *m, int *outcount, int *indices, MPI_Status *statuses)
{
    bool active = false;
    int  error, own, others = 0;

    *outcount = 0;
    own = poll_own(m, outcount, indices, statuses, &active);
    if (m->ordinary_count == 0) {
        if (!active)
            *outcount = MPI_UNDEFINED;
        return own;
    }
    error = PMPI_Testsome(m->count, m->ordinary, &others, indices + *outcount, statuses_from(statuses, *outcount));
    active = active || others != MPI_UNDEFINED;
    if (others == MPI_UNDEFINED)
        others = 0;
    for (int i = 0; i < others && own != MPI_SUCCESS && error == MPI_SUCCESS; i++)
        set_error(status_at(statuses, *outcount + i), MPI_SUCCESS);
    *outcount = active ? *outcount + others : MPI_UNDEFINED;
    return error != MPI_SUCCESS ? error : own;
}

NOTIFY_EXPORT int MPIX_Testsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                                MPI_Status *array_of_statuses)
{
    struct mixture m;
    int            error;

    if (count_own(incount, array_of_requests) == 0)
        return PMPI_Testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
    if (outcount == NULL || array_of_indices == NULL)
        return tern_notify_no_place(NULL, "MPIX_Testsome");
    error = divide(&m, incount, array_of_requests, "MPIX_Testsome");
    if (error != MPI_SUCCESS)
        return error;
    error = poll_some(&m, outcount, array_of_indices, array_of_statuses);
    join(&m);
    return error;
}

NOTIFY_EXPORT int MPIX_Waitsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                                MPI_Status *array_of_statuses)
{
    struct mixture m;
    tern_idle      idle = TERN_IDLE(.name = "MPIX_Waitsome");
    int            error;

    if (count_own(incount, array_of_requests) == 0)
        return PMPI_Waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
    if (outcount == NULL || array_of_indices == NULL)
        return tern_notify_no_place(NULL, idle.name);
    error = divide(&m, incount, array_of_requests, idle.name);
    if (error != MPI_SUCCESS)
        return error;
    for (;;) {
        error = poll_some(&m, outcount, array_of_indices, array_of_statuses);
        if (error != MPI_SUCCESS || *outcount != 0)
            break;
        error = rest(&m, &idle);
        if (error != MPI_SUCCESS)
            break;
    }
    join(&m);
    return error;
}

/* Complete the ordinary requests of a mixture, call the error handlers of the requests of Tern that have failed, and
 * report all requests. The requests of Tern must be complete, or have failed. */
static int finish_all(struct mixture *m, MPI_Status *statuses)
{
    int  error = m->ordinary_count > 0 ? PMPI_Waitall(m->count, m->ordinary, statuses) : MPI_SUCCESS;
    bool failed = false;

    for (int i = 0; i < m->count; i++) {
        struct tern_notify_request *r = tern_notify_request_of(m->all[i]);

        failed = (r != NULL && tern_notify_raised(r) != MPI_SUCCESS) || failed;
    }
    for (int i = 0; i < m->count; i++) {
        struct tern_notify_request *r = tern_notify_request_of(m->all[i]);
        MPI_Status                 *status = status_at(statuses, i);

        if (r != NULL) {
            int own = r->error;

            tern_notify_report(r, own, &m->all[i], status);
            if (own != MPI_SUCCESS)
                set_error(status, own);
        } else if (m->ordinary_count == 0) {
            tern_notify_set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
        } else if (failed && error == MPI_SUCCESS) {
            set_error(status, MPI_SUCCESS);
        }
    }
    join(m);
    return error == MPI_SUCCESS && failed ? MPI_ERR_IN_STATUS : error;
}

NOTIFY_EXPORT int MPIX_Waitall(int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses)
{
    struct mixture m;
    int            error;

    if (count_own(count, array_of_requests) == 0)
        return PMPI_Waitall(count, array_of_requests, array_of_statuses);
    error = divide(&m, count, array_of_requests, "MPIX_Waitall");
    if (error != MPI_SUCCESS)
        return error;
    for (int i = 0; i < count; i++) {
        struct tern_notify_request *r = tern_notify_request_of(array_of_requests[i]);

        if (r != NULL)
            tern_notify_complete(r, m.call);
    }
    return finish_all(&m, array_of_statuses);
}

/* Test whether all requests of a mixture are complete or have failed. Returns MPI_SUCCESS, or an error of MPI. */
static int poll_all(struct mixture *m, int *flag)
{
    int error = MPI_SUCCESS;

    *flag = 1;
    for (int i = 0; i < m->count && *flag && error == MPI_SUCCESS; i++) {
        struct tern_notify_request *r = tern_notify_request_of(m->all[i]);

        if (r != NULL) {
            tern_notify_poll(r, m->call);
            *flag = tern_notify_over(r) || r->error != MPI_SUCCESS;
        } else if (m->all[i] != MPI_REQUEST_NULL) {
            error = PMPI_Request_get_status(m->all[i], flag, MPI_STATUS_IGNORE);
        }
    }
    *flag = *flag && error == MPI_SUCCESS;
    return error;
}

NOTIFY_EXPORT int MPIX_Testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status *array_of_statuses)
{
    struct mixture m;
    int            error;

    if (count_own(count, array_of_requests) == 0)
        return PMPI_Testall(count, array_of_requests, flag, array_of_statuses);
    if (flag == NULL)
        return tern_notify_no_place(NULL, "MPIX_Testall");
    error = divide(&m, count, array_of_requests, "MPIX_Testall");
    if (error != MPI_SUCCESS)
        return error;
    error = poll_all(&m, flag);
    if (*flag)
        return finish_all(&m, array_of_statuses);
    join(&m);
    return error;
}

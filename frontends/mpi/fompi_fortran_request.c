/* fompi_fortran_request.c: the Fortran interface of foMPI: requests and statuses. Indices count from 1 in Fortran. */
#include "fompi_fortran.h"

#ifndef MPI_F_STATUS_SIZE /* MPI 3 does not have this name for the number of integers of a status */
#define MPI_F_STATUS_SIZE (sizeof(MPI_Status) / sizeof(MPI_Fint))
#endif

/* The handles of several requests in C. */
struct several {
    int            count;
    MPI_Fint      *requests; /* [count] in Fortran */
    foMPI_Request *handles;  /* [count] */
    foMPI_Request  few[64];
};

/* Convert the requests. Returns MPI_SUCCESS or MPI_ERR_NO_MEM. */
static int take(struct several *all, int count, MPI_Fint *requests, const char *call)
{
    all->count = count > 0 ? count : 0; /* the function of fompi.h reports a negative count */
    all->requests = requests;
    all->handles = all->few;
    if (all->count > (int)(sizeof all->few / sizeof *all->few))
        all->handles = malloc((size_t)all->count * sizeof *all->handles);
    if (all->handles == NULL)
        return tern_fompi_error(MPI_ERR_NO_MEM, call, "there is no memory for %d requests", count);
    for (int i = 0; i < all->count; i++)
        all->handles[i] = tern_fompi_request_f2c(requests[i]);
    return MPI_SUCCESS;
}

/* Update the requests in Fortran, and free the memory. */
static void give_back(struct several *all)
{
    for (int i = 0; i < all->count; i++)
        tern_fompi_request_update(all->handles[i], &all->requests[i]);
    if (all->handles != all->few)
        free(all->handles);
}

/* Return whether the program passes MPI_STATUS_IGNORE, or MPI_STATUSES_IGNORE. */
static bool ignored(const MPI_Fint *status)
{
    tern_fompi_find_ignored();
    return status == MPI_F_STATUS_IGNORE || status == MPI_F_STATUSES_IGNORE;
}

/* Store a status, unless the program ignores it. */
static void store(const MPI_Status *from, MPI_Fint *status)
{
    if (!ignored(status))
        MPI_Status_c2f(from, status);
}

FOMPI_EXPORT void fompi_notify_init_(const MPI_Fint *win, const MPI_Fint *src_rank, const MPI_Fint *tag,
                                     const MPI_Fint *count, MPI_Fint *request, MPI_Fint *ierror)
{
    foMPI_Request handle = foMPI_REQUEST_NULL;

    *ierror = foMPI_Notify_init(tern_fompi_win_f2c(*win), *src_rank, *tag, *count, &handle);
    *ierror = tern_fompi_request_made(*ierror, handle, request, "foMPI_Notify_init");
}

FOMPI_EXPORT void fompi_start_(MPI_Fint *request, MPI_Fint *ierror)
{
    foMPI_Request handle = tern_fompi_request_f2c(*request);

    *ierror = foMPI_Start(&handle);
}

FOMPI_EXPORT void fompi_wait_(MPI_Fint *request, MPI_Fint *status, MPI_Fint *ierror)
{
    foMPI_Request handle = tern_fompi_request_f2c(*request);
    MPI_Status    result;

    *ierror = foMPI_Wait(&handle, &result);
    tern_fompi_request_update(handle, request);
    if (*ierror == MPI_SUCCESS)
        store(&result, status);
}

FOMPI_EXPORT void fompi_test_(MPI_Fint *request, MPI_Fint *flag, MPI_Fint *status, MPI_Fint *ierror)
{
    foMPI_Request handle = tern_fompi_request_f2c(*request);
    MPI_Status    result;

    *ierror = foMPI_Test(&handle, flag, &result);
    tern_fompi_request_update(handle, request);
    if (*ierror == MPI_SUCCESS && *flag)
        store(&result, status);
}

FOMPI_EXPORT void fompi_request_free_(MPI_Fint *request, MPI_Fint *ierror)
{
    foMPI_Request handle = tern_fompi_request_f2c(*request);

    *ierror = foMPI_Request_free(&handle);
    tern_fompi_request_update(handle, request);
}

FOMPI_EXPORT void fompi_waitany_(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index, MPI_Fint *status,
                                 MPI_Fint *ierror)
{
    struct several all;
    MPI_Status     result;
    int            at = MPI_UNDEFINED;

    if ((*ierror = take(&all, *count, requests, "foMPI_Waitany")) != MPI_SUCCESS)
        return;
    *ierror = foMPI_Waitany(*count, all.handles, &at, &result);
    give_back(&all);
    *index = at != MPI_UNDEFINED ? at + 1 : at;
    if (*ierror == MPI_SUCCESS)
        store(&result, status);
}

FOMPI_EXPORT void fompi_testany_(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index, MPI_Fint *flag,
                                 MPI_Fint *status, MPI_Fint *ierror)
{
    struct several all;
    MPI_Status     result;
    int            at = MPI_UNDEFINED;

    if ((*ierror = take(&all, *count, requests, "foMPI_Testany")) != MPI_SUCCESS)
        return;
    *ierror = foMPI_Testany(*count, all.handles, &at, flag, &result);
    give_back(&all);
    *index = at != MPI_UNDEFINED ? at + 1 : at;
    if (*ierror == MPI_SUCCESS && *flag)
        store(&result, status);
}

/* Wait for some of the requests, or test them. */
static int some(bool wait, int incount, MPI_Fint *requests, MPI_Fint *outcount, MPI_Fint *indices, MPI_Fint *statuses)
{
    const char    *call = wait ? "foMPI_Waitsome" : "foMPI_Testsome";
    struct several all;
    MPI_Status    *results = MPI_STATUSES_IGNORE;
    int            error = take(&all, incount, requests, call);

    if (error != MPI_SUCCESS)
        return error;
    *outcount = 0;
    if (!ignored(statuses) && all.count > 0 && (results = calloc((size_t)all.count, sizeof *results)) == NULL)
        error = tern_fompi_error(MPI_ERR_NO_MEM, call, "there is no memory for %d statuses", incount);
    else if (wait)
        error = foMPI_Waitsome(incount, all.handles, outcount, indices, results);
    else
        error = foMPI_Testsome(incount, all.handles, outcount, indices, results);
    give_back(&all);
    for (int i = 0; i < *outcount; i++) {
        indices[i]++;
        if (results != MPI_STATUSES_IGNORE)
            MPI_Status_c2f(&results[i], statuses + (size_t)i * MPI_F_STATUS_SIZE);
    }
    if (results != MPI_STATUSES_IGNORE)
        free(results);
    return error;
}

FOMPI_EXPORT void fompi_waitsome_(const MPI_Fint *incount, MPI_Fint *requests, MPI_Fint *outcount, MPI_Fint *indices,
                                  MPI_Fint *statuses, MPI_Fint *ierror)
{
    *ierror = some(true, *incount, requests, outcount, indices, statuses);
}

FOMPI_EXPORT void fompi_testsome_(const MPI_Fint *incount, MPI_Fint *requests, MPI_Fint *outcount, MPI_Fint *indices,
                                  MPI_Fint *statuses, MPI_Fint *ierror)
{
    *ierror = some(false, *incount, requests, outcount, indices, statuses);
}

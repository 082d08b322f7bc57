/* notify_access.h: checking the arguments of a notified access, and translating them for Tern. */
#ifndef TERN_NOTIFY_ACCESS_H
#define TERN_NOTIFY_ACCESS_H

#include "notify_window.h"
#include "transfer.h"

/* The arguments of an access, as the program passes them. */
struct tern_notify_args {
    const char  *call;
    void        *origin;
    int          origin_count;
    MPI_Datatype origin_type;
    int          rank;
    MPI_Aint     disp;
    int          target_count;
    MPI_Datatype target_type;
    MPI_Win      win;
    int          tag;
};

/* Find the datatype of one side of an access, which errors call by the name `which`. Returns MPI_SUCCESS, or an error
 * code. */
int tern_notify_side(struct tern_mpi_side *side, int count, MPI_Datatype type, const char *call, const char *which);

/* Check the arguments of an access, and fill in *access, whose kind is set, and *w. Returns MPI_SUCCESS, or an error
 * code for which the error handler has been called. *access has the rank MPI_PROC_NULL if there is nothing to do. */
int tern_notify_prepare(const struct tern_notify_args *args, struct tern_mpi_access *access,
                        struct tern_notify_window **w);

/* Whether requests of accesses may be outstanding when the call that makes them returns (MPIX_Notify_defer). */
extern bool tern_notify_deferred __attribute__((visibility("hidden")));

/* Return a request that is complete, in *request. Returns MPI_SUCCESS or an error code. */
int tern_notify_complete_request(MPI_Request *request);

/* Return the result of a call: MPI_SUCCESS, or the error code of a failed access, after a call of the error handler. */
int tern_notify_finish(struct tern_notify_window *w, tern_status status, const char *call);

#endif

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

/* Check the arguments of an access, and fill in *access, whose kind is set, and *w. Returns MPI_SUCCESS, or an error
 * code for which the error handler has been called. *access has the rank MPI_PROC_NULL if there is nothing to do. */
int tern_notify_prepare(const struct tern_notify_args *args, struct tern_mpi_access *access,
                        struct tern_notify_window **w);

/* Return the result of a call: MPI_SUCCESS, or the error code of a failed access, after a call of the error handler. */
int tern_notify_finish(struct tern_notify_window *w, tern_status status, const char *call);

#endif

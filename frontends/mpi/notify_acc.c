/* notify_acc.c: notified accumulates. acc.h describes the mechanisms, and docs/mpi-notify.md says which accumulates are
 * atomic with respect to each other.
 *
 * All accumulates are complete when they return, so that the accumulates of one origin to one target have the order
 * that MPI demands.
 */
#include "acc.h"
#include "notify_access.h"
#include "reduction.h"

/* A notified accumulate. */
struct accumulate {
    struct tern_mpi_access     access;
    struct tern_notify_window *w;
    struct tern_mpi_acc        acc;
    tern_event                 event;
};

/* Check the arguments of an accumulate, and prepare it. Returns MPI_SUCCESS, or a code for which the error handler has
 * been called. a->access.rank is MPI_PROC_NULL if there is nothing to do. */
static int prepare(struct accumulate *a, const struct tern_notify_args *args, MPI_Op op)
{
    int error = tern_notify_prepare(args, &a->access, &a->w);

    if (error != MPI_SUCCESS || a->access.rank == MPI_PROC_NULL)
        return error;
    a->event = TERN_EVENT_INIT;
    a->acc = (struct tern_mpi_acc){ .op = op,
                                    .opts = TERN_OPTS(.flags = TERN_NOTIFY, .tag = (uint32_t)args->tag,
                                                      .call = args->call, .event = &a->event),
                                    .mutexes = a->w->mutexes,
                                    .base = a->w->peers[a->access.rank].base,
                                    .move = tern_mpi_move };
    if (!tern_mpi_predefined(op))
        return tern_notify_raise(
            a->w, tern_mpi_code(MPI_ERR_OP, args->call, "the operation is not a predefined one, as accumulates need"));
    if (tern_mpi_side_bytes(a->access.here) > 0 &&
        !tern_mpi_basic_same(a->access.here.type->basic, a->access.there.type->basic))
        return tern_notify_raise(
            a->w, tern_mpi_code(MPI_ERR_TYPE, args->call, "the basic elements of the origin and of the target differ"));
    return MPI_SUCCESS;
}

/* Complete an accumulate that was started with this status. Returns MPI_SUCCESS, or a code for which the error handler
 * has been called. */
static int finish(struct accumulate *a, tern_status status)
{
    const char *call = a->acc.opts.call;

    if (a->acc.why != NULL)
        return tern_notify_raise(a->w, tern_mpi_code(a->acc.class, call, "%s", a->acc.why));
    if (status == TERN_OK)
        status = tern_event_wait(&a->event, TERN_FOREVER);
    return tern_notify_finish(a->w, status, call);
}

/* Notify the target, and change nothing. */
static int notify_only(struct accumulate *a)
{
    a->access.kind = TERN_MPI_PUT;
    a->access.here.count = a->access.there.count = 0;
    return finish(a, tern_mpi_move(&a->access, &a->acc.opts));
}

/* Make an accumulate that is prepared. */
static int accumulate(struct accumulate *a)
{
    return finish(a, tern_mpi_accumulate(&a->access, &a->acc));
}

/* Check the arguments of an accumulate that returns no values, and make it. */
static int accumulate_any(const struct tern_notify_args *args, MPI_Op op)
{
    struct accumulate a = { .access.kind = TERN_MPI_ACC };
    int               error = prepare(&a, args, op);

    if (error != MPI_SUCCESS || a.access.rank == MPI_PROC_NULL)
        return error;
    if (op == MPI_NO_OP || tern_mpi_side_bytes(a.access.there) == 0)
        return notify_only(&a);
    return accumulate(&a);
}

NOTIFY_EXPORT int MPIX_Accumulate_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                         int target_rank, MPI_Aint target_disp, int target_count,
                                         MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, int tag)
{
    struct tern_notify_args args = { "MPIX_Accumulate_notify",
                                     (void *)(uintptr_t)origin_addr,
                                     origin_count,
                                     origin_datatype,
                                     target_rank,
                                     target_disp,
                                     target_count,
                                     target_datatype,
                                     win,
                                     tag };

    return accumulate_any(&args, op);
}

NOTIFY_EXPORT int MPIX_Raccumulate_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                          int target_rank, MPI_Aint target_disp, int target_count,
                                          MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, int tag,
                                          MPI_Request *request)
{
    struct tern_notify_args args = { "MPIX_Raccumulate_notify",
                                     (void *)(uintptr_t)origin_addr,
                                     origin_count,
                                     origin_datatype,
                                     target_rank,
                                     target_disp,
                                     target_count,
                                     target_datatype,
                                     win,
                                     tag };
    int                     error;

    if (request == NULL)
        return tern_notify_no_place(tern_notify_window_of(win), args.call);
    error = accumulate_any(&args, op);
    return error != MPI_SUCCESS ? error : tern_notify_complete_request(request);
}

/* Describe the buffer that receives the previous values of the target of a. Returns MPI_SUCCESS, or a code for which
 * the error handler has been called. */
static int set_result(struct accumulate *a, void *result, int count, MPI_Datatype type)
{
    const char *call = a->acc.opts.call;
    int         error = tern_notify_side(&a->acc.result_side, count, type, call, "result");

    a->acc.result = result;
    if (error == MPI_SUCCESS && tern_mpi_side_bytes(a->acc.result_side) != tern_mpi_side_bytes(a->access.there))
        error = tern_mpi_code(MPI_ERR_TRUNCATE, call, "the result has %zu bytes, and the target %zu",
                              tern_mpi_side_bytes(a->acc.result_side), tern_mpi_side_bytes(a->access.there));
    return error != MPI_SUCCESS ? tern_notify_raise(a->w, error) : MPI_SUCCESS;
}

NOTIFY_EXPORT int MPIX_Get_accumulate_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                             void *result_addr, int result_count, MPI_Datatype result_datatype,
                                             int target_rank, MPI_Aint target_disp, int target_count,
                                             MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, int tag)
{
    bool                    reads = op == MPI_NO_OP; /* the origin does not matter */
    struct tern_notify_args args = { "MPIX_Get_accumulate_notify",
                                     reads ? NULL : (void *)(uintptr_t)origin_addr,
                                     reads ? target_count : origin_count,
                                     reads ? target_datatype : origin_datatype,
                                     target_rank,
                                     target_disp,
                                     target_count,
                                     target_datatype,
                                     win,
                                     tag };
    struct accumulate       a = { .access.kind = TERN_MPI_GET_ACC };
    int                     error = prepare(&a, &args, op);

    if (error != MPI_SUCCESS || a.access.rank == MPI_PROC_NULL)
        return error;
    error = set_result(&a, result_addr, result_count, result_datatype);
    if (error != MPI_SUCCESS)
        return error;
    return tern_mpi_side_bytes(a.access.there) == 0 ? notify_only(&a) : accumulate(&a);
}

/* Check that a datatype is a single basic element. */
static int check_single(const struct accumulate *a)
{
    const struct tern_mpi_type *type = a->access.there.type;

    if (type->basic.size != 0 && type->size == type->basic.size)
        return MPI_SUCCESS;
    return tern_notify_raise(a->w,
                             tern_mpi_code(MPI_ERR_TYPE, a->acc.opts.call, "the datatype is not a predefined one"));
}

NOTIFY_EXPORT int MPIX_Fetch_and_op_notify(const void *origin_addr, void *result_addr, MPI_Datatype datatype,
                                           int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win, int tag)
{
    struct tern_notify_args args = { "MPIX_Fetch_and_op_notify",
                                     (void *)(uintptr_t)origin_addr,
                                     1,
                                     datatype,
                                     target_rank,
                                     target_disp,
                                     1,
                                     datatype,
                                     win,
                                     tag };
    struct accumulate       a = { .access.kind = TERN_MPI_GET_ACC };
    int                     error = prepare(&a, &args, op);

    if (error != MPI_SUCCESS || a.access.rank == MPI_PROC_NULL)
        return error;
    error = check_single(&a);
    if (error != MPI_SUCCESS)
        return error;
    a.acc.result = result_addr;
    a.acc.result_side = a.access.here;
    return accumulate(&a);
}

NOTIFY_EXPORT int MPIX_Compare_and_swap_notify(const void *origin_addr, const void *compare_addr, void *result_addr,
                                               MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
                                               MPI_Win win, int tag)
{
    struct tern_notify_args args = { "MPIX_Compare_and_swap_notify",
                                     (void *)(uintptr_t)origin_addr,
                                     1,
                                     datatype,
                                     target_rank,
                                     target_disp,
                                     1,
                                     datatype,
                                     win,
                                     tag };
    struct accumulate       a = { .access.kind = TERN_MPI_GET_ACC };
    int                     error = prepare(&a, &args, MPI_REPLACE);

    if (error != MPI_SUCCESS || a.access.rank == MPI_PROC_NULL)
        return error;
    a.acc.result = result_addr;
    return finish(&a, tern_mpi_compare_and_swap(&a.access, &a.acc, compare_addr));
}

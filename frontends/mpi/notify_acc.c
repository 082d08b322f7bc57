/* notify_acc.c: notified accumulates.
 *
 * MPIX_Accumulate_notify and MPIX_Fetch_and_op_notify are accumulates of Tern, and atomic with each other.
 * MPIX_Compare_and_swap_notify is an atomic operation of Tern, and atomic with other compare-and-swaps. All of them are
 * complete when they return, so that the accumulates of one origin to one target have the order that MPI demands.
 */
#include "notify_access.h"
#include "reduction.h"

/* Check the arguments of an accumulate, and find what it computes. Returns MPI_SUCCESS, or a
 * code for which the error handler has been called. */
static int prepare_acc(const struct tern_notify_args *args, MPI_Op op, struct tern_mpi_access *access,
                       struct tern_notify_window **w, tern_acc_args *acc)
{
    struct tern_mpi_basic here, there;
    const char           *why = "";
    int                   error = tern_notify_prepare(args, access, w);

    if (error != MPI_SUCCESS || access->rank == MPI_PROC_NULL)
        return error;
    here = access->here.type->basic;
    there = access->there.type->basic;
    if (tern_mpi_side_bytes(access->here) > 0 && (here.class != there.class || here.size != there.size))
        return tern_notify_raise(
            *w, tern_mpi_code(MPI_ERR_TYPE, args->call, "the basic elements of the origin and of the target differ"));
    if (op != MPI_NO_OP)
        error = tern_mpi_reduction(op, there, acc, &why);
    if (error != MPI_SUCCESS)
        return tern_notify_raise(*w, tern_mpi_code(error, args->call, "%s", why));
    return MPI_SUCCESS;
}

NOTIFY_EXPORT int MPIX_Accumulate_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                         int target_rank, MPI_Aint target_disp, int target_count,
                                         MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, int tag)
{
    struct tern_notify_args    args = { "MPIX_Accumulate_notify",
                                        (void *)(uintptr_t)origin_addr,
                                        origin_count,
                                        origin_datatype,
                                        target_rank,
                                        target_disp,
                                        target_count,
                                        target_datatype,
                                        win,
                                        tag };
    struct tern_mpi_access     access = { .kind = TERN_MPI_ACC };
    struct tern_notify_window *w;
    tern_acc_args              acc;
    tern_opts opts = TERN_OPTS(.flags = TERN_NOTIFY, .tag = (uint32_t)tag, .call = args.call, .acc = &acc);
    int       error = prepare_acc(&args, op, &access, &w, &acc);

    if (error != MPI_SUCCESS || access.rank == MPI_PROC_NULL)
        return error;
    if (op == MPI_NO_OP) { /* the target is notified, and nothing changes */
        access.kind = TERN_MPI_PUT;
        access.here.count = access.there.count = 0;
        opts.acc = NULL;
    }
    return tern_notify_finish(w, tern_notify_start(&access, &opts), args.call);
}

/* Check that a datatype is a single basic element. */
static int check_single(struct tern_notify_window *w, const struct tern_mpi_type *type, const char *call)
{
    if (type->dense && type->size == type->basic.size)
        return MPI_SUCCESS;
    return tern_notify_raise(w, tern_mpi_code(MPI_ERR_TYPE, call, "the datatype is not a predefined one"));
}

NOTIFY_EXPORT int MPIX_Fetch_and_op_notify(const void *origin_addr, void *result_addr, MPI_Datatype datatype,
                                           int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win, int tag)
{
    struct tern_notify_args args = {
        "MPIX_Fetch_and_op_notify", result_addr, 1, datatype, target_rank, target_disp, 1, datatype, win, tag
    };
    struct tern_mpi_access     access = { .kind = TERN_MPI_GET_ACC };
    struct tern_notify_window *w;
    tern_acc_args              acc;
    tern_opts opts = TERN_OPTS(.flags = TERN_NOTIFY, .tag = (uint32_t)tag, .call = args.call, .acc = &acc);
    int       error = prepare_acc(&args, op, &access, &w, &acc);

    if (error != MPI_SUCCESS || access.rank == MPI_PROC_NULL)
        return error;
    error = check_single(w, access.here.type, args.call);
    if (error != MPI_SUCCESS)
        return error;
    if (op == MPI_NO_OP) {
        access.kind = TERN_MPI_GET;
        opts.acc = NULL;
    } else if (origin_addr == NULL || result_addr == NULL) {
        return tern_notify_raise(w, tern_mpi_code(MPI_ERR_BUFFER, args.call, "a buffer is NULL"));
    } else {
        tern_mpi_copy(result_addr, access.here, origin_addr, access.here);
    }
    return tern_notify_finish(w, tern_notify_start(&access, &opts), args.call);
}

NOTIFY_EXPORT int MPIX_Compare_and_swap_notify(const void *origin_addr, const void *compare_addr, void *result_addr,
                                               MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
                                               MPI_Win win, int tag)
{
    struct tern_notify_args args = {
        "MPIX_Compare_and_swap_notify", result_addr, 1, datatype, target_rank, target_disp, 1, datatype, win, tag
    };
    struct tern_mpi_access     access = { .kind = TERN_MPI_GET_ACC };
    struct tern_notify_window *w;
    tern_acc_args              acc;
    tern_opts                  opts = TERN_OPTS(.flags = TERN_NOTIFY, .tag = (uint32_t)tag, .call = args.call);
    tern_atomic_args           swap =
        TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_CAS, .operand = origin_addr, .compare = compare_addr, .result = result_addr);
    tern_event  event = TERN_EVENT_INIT;
    tern_status status;
    int         error = prepare_acc(&args, MPI_REPLACE, &access, &w, &acc);

    if (error != MPI_SUCCESS || access.rank == MPI_PROC_NULL)
        return error;
    error = check_single(w, access.here.type, args.call);
    if (error != MPI_SUCCESS)
        return error;
    if (access.here.type->basic.class == TERN_MPI_COMPLEX || access.here.type->size > 8)
        return tern_notify_raise(w, tern_mpi_code(MPI_ERR_TYPE, args.call, "the elements are not integers"));
    swap.type = acc.type;
    opts.event = &event;
    status = tern_atomic_with(access.ctx, NULL, w->region, access.rank, access.offset, &swap, &opts);
    if (status == TERN_OK)
        status = tern_event_wait(&event, TERN_FOREVER);
    return tern_notify_finish(w, status, args.call);
}

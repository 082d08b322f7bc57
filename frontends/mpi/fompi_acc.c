/* fompi_acc.c: accumulates of foMPI. acc.h describes the mechanisms. */
#include "acc.h"
#include "fompi_state.h"

/* An accumulate: the operation, and the buffer for the previous values. */
struct accumulate {
    const char          *call;
    foMPI_Op             op;
    void                *result;      /* receives the previous values */
    struct tern_mpi_side result_side; /* its type is NULL if the previous values are not wanted */
    tern_event          *event;       /* receives the completion; NULL: the next flush completes the accumulate */
};

/* Return MPI's operation. MPI_OP_NULL: there is no such operation. */
static MPI_Op mpi_op(foMPI_Op op)
{
    static const MPI_Op ops[] = {
        [foMPI_SUM] = MPI_SUM,         [foMPI_PROD] = MPI_PROD,     [foMPI_MAX] = MPI_MAX,
        [foMPI_MIN] = MPI_MIN,         [foMPI_LAND] = MPI_LAND,     [foMPI_LOR] = MPI_LOR,
        [foMPI_LXOR] = MPI_LXOR,       [foMPI_BAND] = MPI_BAND,     [foMPI_BOR] = MPI_BOR,
        [foMPI_BXOR] = MPI_BXOR,       [foMPI_MAXLOC] = MPI_MAXLOC, [foMPI_MINLOC] = MPI_MINLOC,
        [foMPI_REPLACE] = MPI_REPLACE, [foMPI_NO_OP] = MPI_NO_OP,
    };

    return op >= 0 && (size_t)op < sizeof ops / sizeof *ops ? ops[op] : MPI_OP_NULL;
}

/* Fill in the parts of an accumulate that depend on the window and on the target. */
static struct tern_mpi_acc acc_of(const struct tern_fompi_win *win, int rank, const struct accumulate *acc)
{
    return (struct tern_mpi_acc){ .op = mpi_op(acc->op),
                                  .result = acc->result,
                                  .result_side = acc->result_side,
                                  .opts = TERN_OPTS(.call = acc->call, .event = acc->event),
                                  .mutexes = win->mutexes,
                                  .mutex = TERN_FOMPI_COMBINE,
                                  .base = win->peers[rank].base,
                                  .move = tern_fompi_mover(win) };
}

/* Return the result of an accumulate that was started with this status. */
static int result_of(const struct tern_mpi_acc *acc, foMPI_Op op, tern_status status)
{
    const char *call = acc->opts.call;

    if (acc->why != NULL && acc->class == MPI_ERR_OP)
        return tern_fompi_error(MPI_ERR_OP, call, "the elements do not have the operation %d", op);
    if (acc->why != NULL)
        return tern_fompi_error(acc->class, call, "%s", acc->why);
    return tern_fompi_result(status, call, "the accumulate");
}

/* Make an accumulate. */
static int go(struct tern_fompi_args *args, const struct accumulate *acc)
{
    struct tern_mpi_access access = { .kind = TERN_MPI_ACC };
    struct tern_mpi_acc    what;
    struct tern_fompi_win *win;
    tern_status            status;
    int                    error;

    if (mpi_op(acc->op) == MPI_OP_NULL)
        return tern_fompi_error(MPI_ERR_OP, args->call, "there is no operation %d", acc->op);
    if (acc->op == foMPI_NO_OP) { /* the origin does not matter */
        args->origin_count = args->target_count;
        args->origin_type = args->target_type;
    }
    error = tern_fompi_prepare(args, true, &access);
    if (error != MPI_SUCCESS)
        return error == TERN_FOMPI_NOTHING ? MPI_SUCCESS : error;
    if (acc->result_side.type != NULL && tern_mpi_side_bytes(acc->result_side) != tern_mpi_side_bytes(access.there))
        return tern_fompi_error(foMPI_ERROR_RMA_DATATYPE_MISMATCH, args->call,
                                "the result has %zu bytes and the target has %zu",
                                tern_mpi_side_bytes(acc->result_side), tern_mpi_side_bytes(access.there));
    if (tern_mpi_side_bytes(access.there) == 0)
        return MPI_SUCCESS;
    if (!tern_mpi_basic_same(access.here.type->basic, access.there.type->basic))
        return tern_fompi_error(foMPI_ERROR_RMA_DATATYPE_MISMATCH, args->call,
                                "the basic elements of the origin and of the target differ");
    win = tern_fompi_win(args->win);
    win->combines = true;
    what = acc_of(win, access.rank, acc);
    status = tern_mpi_accumulate(&access, &what);
    return result_of(&what, acc->op, status);
}

/* Make an accumulate with a request. */
static int go_later(struct tern_fompi_args *args, struct accumulate *acc, foMPI_Request *out)
{
    struct tern_fompi_win     *win = tern_fompi_win(args->win);
    struct tern_fompi_request *request;
    int                        error;

    if (win == NULL || out == NULL)
        return win == NULL ? tern_fompi_bad_win(args->call, args->win)
                           : tern_fompi_error(MPI_ERR_ARG, args->call, "the pointer to the request is NULL");
    request = tern_fompi_request_new(win);
    if (request == NULL)
        return tern_fompi_error(MPI_ERR_NO_MEM, args->call, "there is no memory for a request");
    acc->event = &request->event;
    error = go(args, acc);
    if (error != MPI_SUCCESS) {
        tern_fompi_request_drop(request);
        return error;
    }
    request->active = true;
    *out = (foMPI_Request)(void *)request;
    return MPI_SUCCESS;
}

/* Describe the buffer for the previous values. */
static int set_result(struct accumulate *acc, void *result, int count, MPI_Datatype datatype)
{
    acc->result = result;
    return tern_fompi_side(acc->call, count, datatype, &acc->result_side);
}

FOMPI_EXPORT int foMPI_Accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                  int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
                                  foMPI_Op op, foMPI_Win win)
{
    struct tern_fompi_args args = TERN_FOMPI_ARGS(false);
    struct accumulate      acc = { .call = __func__, .op = op };

    return go(&args, &acc);
}

FOMPI_EXPORT int foMPI_Raccumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                   int target_rank, MPI_Aint target_disp, int target_count,
                                   MPI_Datatype target_datatype, foMPI_Op op, foMPI_Win win, foMPI_Request *request)
{
    struct tern_fompi_args args = TERN_FOMPI_ARGS(false);
    struct accumulate      acc = { .call = __func__, .op = op };

    return go_later(&args, &acc, request);
}

FOMPI_EXPORT int foMPI_Get_accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                      void *result_addr, int result_count, MPI_Datatype result_datatype,
                                      int target_rank, MPI_Aint target_disp, int target_count,
                                      MPI_Datatype target_datatype, foMPI_Op op, foMPI_Win win)
{
    struct tern_fompi_args args = TERN_FOMPI_ARGS(false);
    struct accumulate      acc = { .call = __func__, .op = op };
    int                    error = set_result(&acc, result_addr, result_count, result_datatype);

    return error != MPI_SUCCESS ? error : go(&args, &acc);
}

FOMPI_EXPORT int foMPI_Rget_accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                       void *result_addr, int result_count, MPI_Datatype result_datatype,
                                       int target_rank, MPI_Aint target_disp, int target_count,
                                       MPI_Datatype target_datatype, foMPI_Op op, foMPI_Win win, foMPI_Request *request)
{
    struct tern_fompi_args args = TERN_FOMPI_ARGS(false);
    struct accumulate      acc = { .call = __func__, .op = op };
    int                    error = set_result(&acc, result_addr, result_count, result_datatype);

    return error != MPI_SUCCESS ? error : go_later(&args, &acc, request);
}

FOMPI_EXPORT int foMPI_Fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank,
                                    MPI_Aint target_disp, foMPI_Op op, foMPI_Win win)
{
    const int              origin_count = 1, target_count = 1;
    const MPI_Datatype     origin_datatype = datatype, target_datatype = datatype;
    struct tern_fompi_args args = TERN_FOMPI_ARGS(false);
    struct accumulate      acc = { .call = __func__, .op = op };
    int                    error = set_result(&acc, result_addr, 1, datatype);

    return error != MPI_SUCCESS ? error : go(&args, &acc);
}

FOMPI_EXPORT int foMPI_Compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr,
                                        MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, foMPI_Win win)
{
    const int              origin_count = 1, target_count = 1;
    const MPI_Datatype     origin_datatype = datatype, target_datatype = datatype;
    struct tern_fompi_args args = TERN_FOMPI_ARGS(false);
    struct accumulate      acc = { .call = __func__, .op = foMPI_REPLACE, .result = result_addr };
    struct tern_mpi_access access = { .kind = TERN_MPI_GET_ACC };
    struct tern_mpi_acc    what;
    tern_status            status;
    int                    error = tern_fompi_prepare(&args, true, &access);

    if (error != MPI_SUCCESS)
        return error == TERN_FOMPI_NOTHING ? MPI_SUCCESS : error;
    what = acc_of(tern_fompi_win(win), access.rank, &acc);
    tern_fompi_win(win)->combines = true;
    status = tern_mpi_compare_and_swap(&access, &what, compare_addr);
    return result_of(&what, foMPI_REPLACE, status);
}

/* fompi_acc.c: accumulates.
 *
 * MPI promises that the accumulates of several processes to one location are atomic if they have the same operation, or
 * the operation NO_OP. This front end also keeps foMPI_REPLACE and foMPI_Compare_and_swap atomic with each other, which
 * distributed locks need: previous values that foMPI_REPLACE fetches come from atomic swaps of each element.
 * All other reductions are accumulates of Tern, and what Tern lacks is computed under a mutex (fompi_combine.c).
 */
#include "fompi_state.h"
#include "reduction.h"

/* A position in the elements of one side of an access. */
struct elements {
    struct tern_mpi_cursor cursor;
    struct tern_mpi_piece  piece;
};

static struct elements elements_of(struct tern_mpi_side side)
{
    return (struct elements){ .cursor = tern_mpi_cursor_begin(&side.type->layout, side.count, side.type->extent) };
}

/* The displacement of the next element. The caller knows that there is one. */
static ptrdiff_t next_element(struct elements *e, size_t size)
{
    ptrdiff_t at;

    if (e->piece.len == 0)
        (void)tern_mpi_cursor_next(&e->cursor, &e->piece);
    at = e->piece.at;
    e->piece.at += (ptrdiff_t)size;
    e->piece.len -= size;
    return at;
}

/* Tern's type of unsigned integers of this size, for swaps of bits; false if there is none. */
static bool bits_of(size_t size, tern_type *type)
{
    switch (size) {
    case 1: *type = TERN_UINT8; return true;
    case 2: *type = TERN_UINT16; return true;
    case 4: *type = TERN_UINT32; return true;
    case 8: *type = TERN_UINT64; return true;
    default: return false;
    }
}

/* Swap each element of the origin with that of the target, and store the previous values in the result. */
static tern_status swap_all(const struct tern_mpi_access *access, const struct tern_fompi_acc *acc, tern_type type)
{
    size_t          size = access->there.type->basic.size, n = tern_mpi_side_bytes(access->there) / size;
    struct elements from = elements_of(access->here), to = elements_of(access->there);
    struct elements result = elements_of(acc->result_side);
    tern_opts       opts = TERN_OPTS(.call = acc->call);
    tern_status     status = TERN_OK;

    for (size_t i = 0; i < n && status == TERN_OK; i++) {
        tern_atomic_args args = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_SWAP, .type = type);

        args.operand = (unsigned char *)access->local + next_element(&from, size);
        args.result = (unsigned char *)acc->result + next_element(&result, size);
        status = tern_atomic_with(access->ctx, NULL, access->region, access->rank,
                                  access->offset + (uint64_t)next_element(&to, size), &args, &opts);
    }
    if (status == TERN_OK && acc->event != NULL)
        status = tern_quiet_nb(access->ctx, acc->event);
    return status;
}

/* Fetch the target without changing it. */
static tern_status fetch(const struct tern_fompi_win *win, struct tern_mpi_access *access,
                         const struct tern_fompi_acc *acc)
{
    tern_opts opts = TERN_OPTS(.call = acc->call, .event = acc->event);

    access->kind = TERN_MPI_GET;
    access->local = acc->result;
    access->here = acc->result_side;
    return tern_fompi_move(win, access, &opts);
}

/* Copy the operands to where the previous values will be. */
static void copy_operands(const struct tern_mpi_access *access, const struct tern_fompi_acc *acc)
{
    if (access->here.type->dense && acc->result_side.type->dense)
        tern_copy((unsigned char *)acc->result + acc->result_side.type->at,
                  (unsigned char *)access->local + access->here.type->at, tern_mpi_side_bytes(access->here));
    else
        tern_mpi_copy(acc->result, acc->result_side, access->local, access->here);
}

/* An accumulate of Tern. If the previous values are wanted, they replace the operands, which are copied first. */
static tern_status accumulate(const struct tern_fompi_win *win, struct tern_mpi_access *access,
                              const struct tern_fompi_acc *acc, const tern_acc_args *args)
{
    tern_opts opts = TERN_OPTS(.call = acc->call, .acc = args, .event = acc->event);

    access->kind = TERN_MPI_ACC;
    if (acc->result != NULL) {
        copy_operands(access, acc);
        access->kind = TERN_MPI_GET_ACC;
        access->local = acc->result;
        access->here = acc->result_side;
    }
    return tern_fompi_move(win, access, &opts);
}

/* Choose how to make an accumulate. The arguments are checked. */
static int choose(struct tern_fompi_win *win, struct tern_mpi_access *access, MPI_Datatype type,
                  const struct tern_fompi_acc *acc)
{
    struct tern_mpi_basic basic = access->there.type->basic;
    tern_acc_args         args;
    tern_type             bits;
    const char           *why;
    tern_status           status;

    if (basic.class == TERN_MPI_OPAQUE || basic.class == TERN_MPI_MIXED)
        return tern_fompi_combine(win, access, type, acc);
    if (acc->op == foMPI_NO_OP)
        status = acc->result != NULL ? fetch(win, access, acc) : TERN_OK;
    else if (acc->op == foMPI_REPLACE && acc->result != NULL && bits_of(basic.size, &bits))
        status = swap_all(access, acc, bits);
    else if (tern_mpi_reduction(tern_fompi_mpi_op(acc->op), basic, &args, &why) != MPI_SUCCESS)
        return tern_fompi_combine(win, access, type, acc);
    else
        status = accumulate(win, access, acc, &args);
    return tern_fompi_result(status, acc->call, "the accumulate");
}

/* Make an accumulate. */
static int go(struct tern_fompi_args *args, struct tern_fompi_acc *acc)
{
    struct tern_mpi_access access = { .kind = TERN_MPI_ACC };
    struct tern_fompi_win *win;
    int                    error;

    if (tern_fompi_mpi_op(acc->op) == MPI_OP_NULL)
        return tern_fompi_error(MPI_ERR_OP, args->call, "there is no operation %d", acc->op);
    if (acc->op == foMPI_NO_OP) { /* the origin does not matter */
        args->origin_count = args->target_count;
        args->origin_type = args->target_type;
    }
    error = tern_fompi_prepare(args, true, &access);
    if (error != MPI_SUCCESS)
        return error == TERN_FOMPI_NOTHING ? MPI_SUCCESS : error;
    if (acc->result != NULL && tern_mpi_side_bytes(acc->result_side) != tern_mpi_side_bytes(access.there))
        return tern_fompi_error(foMPI_ERROR_RMA_DATATYPE_MISMATCH, args->call,
                                "the result has %zu bytes and the target has %zu",
                                tern_mpi_side_bytes(acc->result_side), tern_mpi_side_bytes(access.there));
    if (tern_mpi_side_bytes(access.there) == 0)
        return MPI_SUCCESS;
    if (access.here.type->basic.class != access.there.type->basic.class ||
        access.here.type->basic.size != access.there.type->basic.size)
        return tern_fompi_error(foMPI_ERROR_RMA_DATATYPE_MISMATCH, args->call,
                                "the basic elements of the origin and of the target differ");
    win = tern_fompi_win(args->win);
    win->combines = true;
    return choose(win, &access, args->target_type, acc);
}

/* Make an accumulate with a request. */
static int go_later(struct tern_fompi_args *args, struct tern_fompi_acc *acc, foMPI_Request *out)
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

/* Describe where the previous values go. */
static int set_result(struct tern_fompi_acc *acc, void *result, int count, MPI_Datatype datatype)
{
    acc->result = result;
    return tern_fompi_side(acc->call, count, datatype, &acc->result_side);
}

FOMPI_EXPORT int foMPI_Accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                  int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
                                  foMPI_Op op, foMPI_Win win)
{
    struct tern_fompi_args args = TERN_FOMPI_ARGS(false);
    struct tern_fompi_acc  acc = { .call = __func__, .op = op };

    return go(&args, &acc);
}

FOMPI_EXPORT int foMPI_Raccumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                   int target_rank, MPI_Aint target_disp, int target_count,
                                   MPI_Datatype target_datatype, foMPI_Op op, foMPI_Win win, foMPI_Request *request)
{
    struct tern_fompi_args args = TERN_FOMPI_ARGS(false);
    struct tern_fompi_acc  acc = { .call = __func__, .op = op };

    return go_later(&args, &acc, request);
}

FOMPI_EXPORT int foMPI_Get_accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                      void *result_addr, int result_count, MPI_Datatype result_datatype,
                                      int target_rank, MPI_Aint target_disp, int target_count,
                                      MPI_Datatype target_datatype, foMPI_Op op, foMPI_Win win)
{
    struct tern_fompi_args args = TERN_FOMPI_ARGS(false);
    struct tern_fompi_acc  acc = { .call = __func__, .op = op };
    int                    error = set_result(&acc, result_addr, result_count, result_datatype);

    return error != MPI_SUCCESS ? error : go(&args, &acc);
}

FOMPI_EXPORT int foMPI_Rget_accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                       void *result_addr, int result_count, MPI_Datatype result_datatype,
                                       int target_rank, MPI_Aint target_disp, int target_count,
                                       MPI_Datatype target_datatype, foMPI_Op op, foMPI_Win win, foMPI_Request *request)
{
    struct tern_fompi_args args = TERN_FOMPI_ARGS(false);
    struct tern_fompi_acc  acc = { .call = __func__, .op = op };
    int                    error = set_result(&acc, result_addr, result_count, result_datatype);

    return error != MPI_SUCCESS ? error : go_later(&args, &acc, request);
}

FOMPI_EXPORT int foMPI_Fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank,
                                    MPI_Aint target_disp, foMPI_Op op, foMPI_Win win)
{
    const int              origin_count = 1, target_count = 1;
    const MPI_Datatype     origin_datatype = datatype, target_datatype = datatype;
    struct tern_fompi_args args = TERN_FOMPI_ARGS(false);
    struct tern_fompi_acc  acc = { .call = __func__, .op = op };
    int                    error = set_result(&acc, result_addr, 1, datatype);

    return error != MPI_SUCCESS ? error : go(&args, &acc);
}

FOMPI_EXPORT int foMPI_Compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr,
                                        MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, foMPI_Win win)
{
    const int              origin_count = 1, target_count = 1;
    const MPI_Datatype     origin_datatype = datatype, target_datatype = datatype;
    struct tern_fompi_args args = TERN_FOMPI_ARGS(false);
    tern_atomic_args       cas =
        TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_CAS, .operand = origin_addr, .compare = compare_addr, .result = result_addr);
    tern_opts              opts = TERN_OPTS(.call = __func__);
    struct tern_mpi_access access;
    tern_status            status;
    int                    error = tern_fompi_prepare(&args, true, &access);

    if (error != MPI_SUCCESS)
        return error == TERN_FOMPI_NOTHING ? MPI_SUCCESS : error;
    if (!access.there.type->dense || !bits_of(access.there.type->size, &cas.type))
        return tern_fompi_error(MPI_ERR_TYPE, __func__, "the datatype is not a single element of 1, 2, 4 or 8 bytes");
    tern_fompi_win(win)->combines = true;
    status = tern_atomic_with(access.ctx, NULL, access.region, access.rank, access.offset, &cas, &opts);
    return tern_fompi_result(status, __func__, "the compare-and-swap");
}

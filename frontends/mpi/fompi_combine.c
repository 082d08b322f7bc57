/* fompi_combine.c: accumulates that Tern lacks: logical operations, MINLOC and MAXLOC, and elements such as pairs and
 * long double.
 *
 * The origin fetches the target, lets MPI combine the elements (MPI_Reduce_local), and puts the result back. It holds a
 * mutex at the target meanwhile, so that these accumulates are atomic with respect to each other.
 */
#include "fompi_state.h"

MPI_Op tern_fompi_mpi_op(foMPI_Op op)
{
    switch (op) {
    case foMPI_SUM: return MPI_SUM;
    case foMPI_PROD: return MPI_PROD;
    case foMPI_MAX: return MPI_MAX;
    case foMPI_MIN: return MPI_MIN;
    case foMPI_LAND: return MPI_LAND;
    case foMPI_LOR: return MPI_LOR;
    case foMPI_LXOR: return MPI_LXOR;
    case foMPI_BAND: return MPI_BAND;
    case foMPI_BOR: return MPI_BOR;
    case foMPI_BXOR: return MPI_BXOR;
    case foMPI_MAXLOC: return MPI_MAXLOC;
    case foMPI_MINLOC: return MPI_MINLOC;
    case foMPI_REPLACE: return MPI_REPLACE;
    case foMPI_NO_OP: return MPI_NO_OP;
    default: return MPI_OP_NULL;
    }
}

/* The predefined datatype of which a datatype consists; MPI_DATATYPE_NULL if there is none. Datatypes with several
 * kinds of elements are not looked at: their accumulates are refused. */
static MPI_Datatype element_of(MPI_Datatype type)
{
    int           integers, addresses, types, combiner, inner;
    int          *i = NULL;
    MPI_Aint     *a = NULL;
    MPI_Datatype *t = NULL, found = MPI_DATATYPE_NULL;

    if (MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS)
        return MPI_DATATYPE_NULL;
    if (combiner == MPI_COMBINER_NAMED)
        return type;
    i = calloc((size_t)integers + 1, sizeof *i);
    a = calloc((size_t)addresses + 1, sizeof *a);
    t = calloc((size_t)types + 1, sizeof *t);
    if (i != NULL && a != NULL && t != NULL && types > 0 &&
        MPI_Type_get_contents(type, integers, addresses, types, i, a, t) == MPI_SUCCESS) {
        found = element_of(t[0]);
        for (int n = 0; n < types; n++) {
            if (n > 0 && element_of(t[n]) != found)
                found = MPI_DATATYPE_NULL;
        }
        for (int n = 0; n < types; n++) {
            if (MPI_Type_get_envelope(t[n], &integers, &addresses, &inner, &combiner) == MPI_SUCCESS &&
                combiner != MPI_COMBINER_NAMED)
                MPI_Type_free(&t[n]);
        }
    }
    free(i);
    free(a);
    free(t);
    return found;
}

/* Combine elements as MPI does. MPI would end the job if it does not have the operation for the elements. */
static int reduce(const void *in, void *inout, size_t n, MPI_Datatype element, MPI_Op op)
{
    MPI_Comm       comms[] = { MPI_COMM_WORLD, MPI_COMM_SELF }; /* MPI 3 and MPI 4 report errors to different ones */
    MPI_Errhandler handlers[2];
    int            error;

    for (int i = 0; i < 2; i++) {
        MPI_Comm_get_errhandler(comms[i], &handlers[i]);
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    }
    error = MPI_Reduce_local(in, inout, (int)n, element, op);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_set_errhandler(comms[i], handlers[i]);
        MPI_Errhandler_free(&handlers[i]);
    }
    return error;
}

/* The buffers of an accumulate, as arrays of predefined elements. */
struct buffers {
    struct tern_mpi_side side;
    MPI_Datatype         element;
    size_t               bytes; /* from the first to the last */
    unsigned char       *operand, *value;
};

static int open_buffers(struct buffers *b, const struct tern_mpi_access *access, MPI_Datatype type, const char *call)
{
    int error;

    b->element = element_of(type);
    if (b->element == MPI_DATATYPE_NULL)
        return tern_fompi_error(MPI_ERR_TYPE, call,
                                "an accumulate needs a datatype whose basic elements all have one type");
    error = tern_fompi_side(call, 1, b->element, &b->side);
    if (error != MPI_SUCCESS)
        return error;
    b->side.count = tern_mpi_side_bytes(access->there) / b->side.type->size;
    b->bytes = b->side.count * (size_t)b->side.type->extent;
    b->operand = calloc(2, b->bytes);
    if (b->operand == NULL)
        return tern_fompi_error(MPI_ERR_NO_MEM, call, "there is no memory for %zu elements", b->side.count);
    b->value = b->operand + b->bytes;
    return MPI_SUCCESS;
}

/* Move the values between the target and the buffer, and wait until they are there. */
static tern_status move_values(struct tern_fompi_win *win, const struct tern_mpi_access *access,
                               const struct buffers *b, enum tern_mpi_kind kind)
{
    struct tern_mpi_access values = *access;
    tern_event             event = TERN_EVENT_INIT;
    tern_opts              opts = TERN_OPTS(.event = &event);
    tern_status            status;

    values.kind = kind;
    values.local = b->value;
    values.here = b->side;
    status = tern_fompi_move(win, &values, &opts);
    return status == TERN_OK ? tern_event_wait(&event, TERN_FOREVER) : status;
}

/* Read, combine and write, under the mutex. */
static int combine_locked(struct tern_fompi_win *win, const struct tern_mpi_access *access, struct buffers *b,
                          const struct tern_fompi_acc *acc)
{
    tern_status status = move_values(win, access, b, TERN_MPI_GET);

    if (status == TERN_OK && acc->result != NULL)
        tern_mpi_copy(acc->result, acc->result_side, b->value, b->side);
    if (status != TERN_OK || acc->op == foMPI_NO_OP)
        return tern_fompi_result(status, acc->call, "reading the target of the accumulate");
    if (acc->op == foMPI_REPLACE)
        memcpy(b->value, b->operand, b->bytes);
    else if (reduce(b->operand, b->value, b->side.count, b->element, tern_fompi_mpi_op(acc->op)) != MPI_SUCCESS)
        return tern_fompi_error(foMPI_OP_NOT_SUPPORTED, acc->call, "the elements do not have the operation %d",
                                acc->op);
    return tern_fompi_result(move_values(win, access, b, TERN_MPI_PUT), acc->call,
                             "writing the target of the accumulate");
}

int tern_fompi_combine(struct tern_fompi_win *win, const struct tern_mpi_access *access, MPI_Datatype type,
                       const struct tern_fompi_acc *acc)
{
    struct buffers b;
    tern_status    status;
    int            error = open_buffers(&b, access, type, acc->call), last;

    if (error != MPI_SUCCESS)
        return error;
    if (acc->op != foMPI_NO_OP)
        tern_mpi_copy(b.operand, b.side, access->local, access->here);
    status = tern_mutex_lock(win->acc_ctx, win->mutexes, access->rank, TERN_FOMPI_COMBINE);
    if (status == TERN_OK) {
        error = combine_locked(win, access, &b, acc);
        last = tern_fompi_result(tern_mutex_unlock(win->acc_ctx, win->mutexes, access->rank, TERN_FOMPI_COMBINE),
                                 acc->call, "releasing the mutex of accumulates");
        error = error != MPI_SUCCESS ? error : last;
    } else {
        error = tern_fompi_error_of(status, acc->call, "taking the mutex of accumulates");
    }
    free(b.operand);
    return error;
}

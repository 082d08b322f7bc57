/* combine.c: accumulates that Tern lacks: logical operations, MPI_MINLOC and MPI_MAXLOC, and elements such as pairs and
 * long double.
 *
 * The origin fetches the target, lets MPI combine the elements (MPI_Reduce_local), and puts the result back. During
 * these steps it holds a mutex at the target, so that these accumulates are atomic with respect to each other. Only one
 * thread of a process at a time holds such a mutex, because a mutex of Tern belongs to a context and not to a thread.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "acc.h"

static pthread_mutex_t one_thread = PTHREAD_MUTEX_INITIALIZER;

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
    size_t               bytes; /* from the first to the last */
    unsigned char       *operand, *value;
};

static tern_status open_buffers(struct buffers *b, const struct tern_mpi_access *access)
{
    int error = tern_mpi_type_of(access->there.type->basic.element, &b->side.type);

    if (error != MPI_SUCCESS)
        return error == MPI_ERR_NO_MEM ? TERN_ERR_NOMEM : TERN_ERR_ARG;
    b->side.count = tern_mpi_side_bytes(access->there) / b->side.type->size;
    if (b->side.count > INT32_MAX) /* MPI_Reduce_local has no larger counts */
        return TERN_ERR_NOMEM;
    b->bytes = b->side.count * (size_t)b->side.type->extent;
    b->operand = calloc(2, b->bytes);
    b->value = b->operand + b->bytes;
    return b->operand != NULL ? TERN_OK : TERN_ERR_NOMEM;
}

/* Move the values between the target and the buffer, and wait for the completion. last: the target is notified, if the
 * accumulate notifies. */
static tern_status move_values(const struct tern_mpi_access *access, const struct tern_mpi_acc *acc,
                               const struct buffers *b, enum tern_mpi_kind kind, bool last)
{
    struct tern_mpi_access values = *access;
    tern_event             event = TERN_EVENT_INIT;
    tern_opts              opts = last ? acc->opts : TERN_OPTS(.call = acc->opts.call);
    tern_status            status;

    opts.event = &event;
    values.kind = kind;
    values.local = b->value;
    values.here = b->side;
    status = acc->move(&values, &opts);
    return status == TERN_OK ? tern_event_wait(&event, TERN_FOREVER) : status;
}

/* Read, combine and write, under the mutex. */
static tern_status combine_locked(const struct tern_mpi_access *access, struct tern_mpi_acc *acc, struct buffers *b)
{
    tern_status status = move_values(access, acc, b, TERN_MPI_GET, acc->op == MPI_NO_OP);

    if (status == TERN_OK && tern_mpi_fetches(acc))
        tern_mpi_copy(acc->result, acc->result_side, b->value, b->side);
    if (status != TERN_OK || acc->op == MPI_NO_OP)
        return status;
    if (acc->op == MPI_REPLACE) {
        memcpy(b->value, b->operand, b->bytes);
    } else if (reduce(b->operand, b->value, b->side.count, b->side.type->handle, acc->op) != MPI_SUCCESS) {
        acc->class = MPI_ERR_OP;
        acc->why = "the elements of this datatype do not have the operation";
        return TERN_ERR_ARG;
    }
    return move_values(access, acc, b, TERN_MPI_PUT, true);
}

tern_status tern_mpi_combine(const struct tern_mpi_access *access, struct tern_mpi_acc *acc)
{
    struct buffers b = { .operand = NULL };
    tern_status    status = open_buffers(&b, access), last;

    if (status == TERN_OK) {
        if (acc->op != MPI_NO_OP)
            tern_mpi_copy(b.operand, b.side, access->local, access->here);
        pthread_mutex_lock(&one_thread);
        status = tern_mutex_lock(access->ctx, acc->mutexes, access->rank, acc->mutex);
        if (status == TERN_OK) {
            status = combine_locked(access, acc, &b);
            last = tern_mutex_unlock(access->ctx, acc->mutexes, access->rank, acc->mutex);
            status = status != TERN_OK ? status : last;
        }
        pthread_mutex_unlock(&one_thread);
    }
    free(b.operand);
    return status;
}

/* acc.c: accumulates with the semantics of MPI. acc.h describes the mechanisms. */
#include <stdlib.h>

#include "acc.h"

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

/* Return the displacement of the next element. The caller guarantees that there is a next element. */
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

/* Find Tern's type of unsigned integers with which the bits of an element can be swapped. Returns false if there is
 * none, as for complex elements, which need not be aligned to their size. */
static bool bits_of(struct tern_mpi_basic basic, tern_type *type)
{
    if (basic.class == TERN_MPI_COMPLEX)
        return false;
    switch (basic.size) {
    case 1: *type = TERN_UINT8; return true;
    case 2: *type = TERN_UINT16; return true;
    case 4: *type = TERN_UINT32; return true;
    case 8: *type = TERN_UINT64; return true;
    default: return false;
    }
}

/* Notify the target of swaps. The swaps are separate operations, which a relaxed context completes in any order, so the
 * function first waits for all of them. A get of the elements, whose data is dropped, then sends the notification, so
 * that the notification reports the number of bytes of the whole accumulate. */
static tern_status notify_swaps(const struct tern_mpi_access *access, const struct tern_mpi_acc *acc)
{
    struct tern_mpi_access read = *access;
    tern_opts              opts = acc->opts;
    tern_event             event = TERN_EVENT_INIT;
    size_t                 bytes = tern_mpi_side_bytes(access->there);
    tern_status            status = TERN_ERR_NOMEM;

    read.kind = TERN_MPI_GET;
    read.local = malloc(bytes);
    opts.event = &event;
    if (read.local != NULL && tern_mpi_type_of(access->there.type->basic.element, &read.here.type) == MPI_SUCCESS) {
        read.here.count = bytes / read.here.type->size;
        status = tern_quiet_rank(access->ctx, access->rank);
        if (status == TERN_OK)
            status = acc->move(&read, &opts);
        if (status == TERN_OK)
            status = tern_event_wait(&event, TERN_FOREVER);
    }
    free(read.local);
    return status;
}

/* Swap each element of the origin with the element of the target, and store the previous values in the result. A single
 * swap notifies the target itself. */
static tern_status swap_all(const struct tern_mpi_access *access, const struct tern_mpi_acc *acc, tern_type type)
{
    size_t          size = access->there.type->basic.size, n = tern_mpi_side_bytes(access->there) / size;
    struct elements from = elements_of(access->here), to = elements_of(access->there);
    struct elements result = elements_of(acc->result_side);
    const tern_opts plain = TERN_OPTS(.call = acc->opts.call);
    tern_status     status = TERN_OK;

    for (size_t i = 0; i < n && status == TERN_OK; i++) {
        tern_atomic_args args = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_SWAP, .type = type);

        args.operand = (unsigned char *)access->local + next_element(&from, size);
        args.result = (unsigned char *)acc->result + next_element(&result, size);
        status =
            tern_atomic_with(access->ctx, NULL, access->region, access->rank,
                             access->offset + (uint64_t)next_element(&to, size), &args, n == 1 ? &acc->opts : &plain);
    }
    if (status != TERN_OK || n == 1)
        return status;
    if (acc->opts.flags & TERN_NOTIFY)
        status = notify_swaps(access, acc);
    if (status == TERN_OK && acc->opts.event != NULL)
        status = tern_quiet_nb(access->ctx, acc->opts.event);
    return status;
}

/* Make an accumulate of Tern. If the previous values are wanted, they replace the operands, which have been copied to
 * the result. */
static tern_status reduce(struct tern_mpi_access *access, const struct tern_mpi_acc *acc, const tern_acc_args *args)
{
    tern_opts opts = acc->opts;

    opts.acc = args;
    access->kind = TERN_MPI_ACC;
    if (tern_mpi_fetches(acc)) {
        access->kind = TERN_MPI_GET_ACC;
        access->local = acc->result;
        access->here = acc->result_side;
    }
    return acc->move(access, &opts);
}

/* Fetch complex numbers as wholes, by an addition of -0, which changes no number. */
static tern_status fetch_complex(struct tern_mpi_access *access, const struct tern_mpi_acc *acc)
{
    static const float  floats[2] = { -0.0F, -0.0F };
    static const double doubles[2] = { -0.0, -0.0 };
    size_t              size = access->there.type->basic.size;
    bool                single = size == sizeof floats;
    const tern_acc_args sum = TERN_ACC_ARGS(.type = single ? TERN_COMPLEX_FLOAT : TERN_COMPLEX_DOUBLE, .op = TERN_SUM);
    struct elements     at = elements_of(acc->result_side);

    for (size_t i = 0; i < tern_mpi_side_bytes(acc->result_side) / size; i++)
        tern_copy((unsigned char *)acc->result + next_element(&at, size), single ? (const void *)floats : doubles,
                  size);
    return reduce(access, acc, &sum);
}

/* Fetch the target without changing it. */
static tern_status fetch(struct tern_mpi_access *access, const struct tern_mpi_acc *acc)
{
    if (access->there.type->basic.class == TERN_MPI_COMPLEX)
        return fetch_complex(access, acc);
    access->kind = TERN_MPI_GET;
    access->local = acc->result;
    access->here = acc->result_side;
    return acc->move(access, &acc->opts);
}

/* Copy the operands to the buffer that receives the previous values. */
static void copy_operands(const struct tern_mpi_access *access, const struct tern_mpi_acc *acc)
{
    if (access->here.type->dense && acc->result_side.type->dense)
        tern_copy((unsigned char *)acc->result + acc->result_side.type->at,
                  (unsigned char *)access->local + access->here.type->at, tern_mpi_side_bytes(access->here));
    else
        tern_mpi_copy(acc->result, acc->result_side, access->local, access->here);
}

/* Refuse an accumulate. Returns TERN_ERR_ARG. */
static __attribute__((cold)) tern_status refuse(struct tern_mpi_acc *acc, int class, const char *why)
{
    acc->class = class;
    acc->why = why;
    return TERN_ERR_ARG;
}

/* Check the elements and the buffers of an accumulate. */
static tern_status check(const struct tern_mpi_access *access, struct tern_mpi_acc *acc)
{
    struct tern_mpi_basic basic = access->there.type->basic;

    acc->why = NULL;
    if (basic.class == TERN_MPI_MIXED)
        return refuse(acc, MPI_ERR_TYPE, "an accumulate needs a datatype whose basic elements all have one type");
    if (!tern_mpi_defined(acc->op, basic))
        return refuse(acc, MPI_ERR_OP, "the elements of this datatype do not have the operation");
    if (acc->op != MPI_NO_OP && tern_mpi_missing(access->local, access->here))
        return refuse(acc, MPI_ERR_BUFFER, "the origin buffer is NULL");
    if (!tern_mpi_fetches(acc))
        return TERN_OK;
    if (!tern_mpi_basic_same(acc->result_side.type->basic, basic))
        return refuse(acc, MPI_ERR_TYPE, "the basic elements of the result and of the target differ");
    if (tern_mpi_missing(acc->result, acc->result_side))
        return refuse(acc, MPI_ERR_BUFFER, "the result buffer is NULL");
    return TERN_OK;
}

/* Return whether all elements at the target are aligned to their size, complex numbers to that of their parts. Tern's
 * accumulates and atomic operations need this. The elements are not pairs or others that only MPI combines. */
static bool aligned(const struct tern_mpi_access *access, const struct tern_mpi_acc *acc)
{
    const struct tern_mpi_type   *type = access->there.type;
    const struct tern_mpi_layout *layout = &type->layout;
    uint64_t                      first = acc->base + access->offset, places = 0;
    uint64_t low = (type->basic.class == TERN_MPI_COMPLEX ? type->basic.size / 2 : type->basic.size) - 1;

    if (type->dense)
        return ((first + (uint64_t)type->at) & low) == 0;
    if (access->there.count > 1)
        places |= (uint64_t)type->extent;
    if (layout->pieces == NULL)
        places |= first + (uint64_t)layout->at;
    for (unsigned i = 0; layout->pieces == NULL && i < layout->dims; i++)
        places |= (uint64_t)layout->dim[i].stride;
    for (size_t i = 0; layout->pieces != NULL && i < layout->count; i++)
        places |= first + (uint64_t)layout->pieces[i].at;
    return (places & low) == 0;
}

tern_status tern_mpi_accumulate(struct tern_mpi_access *access, struct tern_mpi_acc *acc)
{
    struct tern_mpi_basic basic = access->there.type->basic;
    bool                  fetches = tern_mpi_fetches(acc);
    tern_acc_args         args;
    tern_type             bits;
    tern_status           status = check(access, acc);

    if (status != TERN_OK)
        return status;
    if (basic.class >= TERN_MPI_PAIR || !aligned(access, acc))
        return tern_mpi_combine(access, acc);
    if (acc->op == MPI_NO_OP)
        return fetches ? fetch(access, acc) : TERN_OK;
    if (acc->op == MPI_REPLACE && fetches && bits_of(basic, &bits))
        return swap_all(access, acc, bits);
    if (!tern_mpi_reduction(acc->op, basic, &args))
        return tern_mpi_combine(access, acc);
    if (fetches)
        copy_operands(access, acc);
    return reduce(access, acc, &args);
}

/* Return whether MPI permits compare-and-swap for elements of a class: integers, logical values and bytes. The others
 * are numbers whose equality is not that of their bits, and pairs. */
static bool has_compare(enum tern_mpi_class class)
{
    return class == TERN_MPI_SIGNED || class == TERN_MPI_UNSIGNED || class == TERN_MPI_BITS ||
           class == TERN_MPI_LOGICAL;
}

tern_status tern_mpi_compare_and_swap(const struct tern_mpi_access *access, struct tern_mpi_acc *acc,
                                      const void *compare)
{
    const struct tern_mpi_type *type = access->there.type;
    tern_atomic_args            args = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_CAS);

    acc->why = NULL;
    if (!type->dense || type->size != type->basic.size || !has_compare(type->basic.class) ||
        !bits_of(type->basic, &args.type))
        return refuse(acc, MPI_ERR_TYPE,
                      "the datatype is not an integer, a logical value or a byte, of 1, 2, 4 or 8 bytes");
    if (access->local == NULL || acc->result == NULL || compare == NULL)
        return refuse(acc, MPI_ERR_BUFFER, "a buffer is NULL");
    args.operand = (unsigned char *)access->local + access->here.type->at;
    args.result = (unsigned char *)acc->result + type->at;
    args.compare = (const unsigned char *)compare + type->at;
    return tern_atomic_with(access->ctx, NULL, access->region, access->rank, access->offset + (uint64_t)type->at, &args,
                            &acc->opts);
}

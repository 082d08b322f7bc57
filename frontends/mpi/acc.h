/* acc.h: accumulates with the semantics of MPI: all operations of MPI on all elements for which MPI defines them.
 *
 * There are three mechanisms. Accumulates of the same mechanism are atomic with respect to each other:
 *
 *   Tern's accumulates  sum, product, minimum, maximum and bitwise operations of integers, floating-point and complex
 *                       numbers
 *   atomic operations   MPI_REPLACE of numbers of up to 8 bytes that returns the previous values, and compare-and-swap
 *   a mutex             logical operations, MPI_MINLOC and MPI_MAXLOC, everything on elements with which only MPI
 *                       computes, such as pairs and long double, and every accumulate of which an element at the
 *                       target is not aligned to its size (combine.c)
 *
 * MPI_REPLACE of numbers that returns nothing is atomic with respect to the first two mechanisms. MPI_NO_OP reads each
 * number as it is before or after an accumulate of any mechanism.
 */
#ifndef TERN_MPI_ACC_H
#define TERN_MPI_ACC_H

#include "transfer.h"

/* An accumulate. */
struct tern_mpi_acc {
    MPI_Op               op;
    void                *result;      /* displacement 0 of the buffer that receives the previous values */
    struct tern_mpi_side result_side; /* its type is NULL if the previous values are not wanted */
    tern_opts            opts;        /* options of the access; the field acc is not used */
    tern_mutexes        *mutexes;     /* the mutexes of the window */
    uint64_t             mutex;       /* index of the mutex for accumulates */
    uint64_t             base;        /* remainder by 16 of the address of offset 0 at the target */
    tern_status (*move)(const struct tern_mpi_access *access, const tern_opts *opts); /* tern_mpi_move, or similar */
    const char *why; /* set by the call: the reason why the accumulate was refused, or NULL */
    int class;       /* set by the call if it refuses the accumulate: MPI_ERR_TYPE, MPI_ERR_OP or MPI_ERR_BUFFER */
};

/* Return whether the previous values are wanted. */
static inline bool tern_mpi_fetches(const struct tern_mpi_acc *acc)
{
    return acc->result_side.type != NULL;
}

/* Start an accumulate from the origin to the target in *access, which have the same basic elements. The accumulate may
 * be complete when the call returns. Returns TERN_OK, TERN_ERR_ARG with acc->why if the accumulate is refused, or
 * another error of Tern. */
tern_status tern_mpi_accumulate(struct tern_mpi_access *access, struct tern_mpi_acc *acc);

/* Start a compare-and-swap of one element: an integer, a logical value or a byte, which must be aligned. The swap takes
 * place if the element at the target is equal to *compare. Returns TERN_OK, TERN_ERR_ARG with acc->why if the
 * compare-and-swap is refused, or another error of Tern. */
tern_status tern_mpi_compare_and_swap(const struct tern_mpi_access *access, struct tern_mpi_acc *acc,
                                      const void *compare);

/* Accumulate under the mutex. The accumulate is complete when the call returns TERN_OK (combine.c). */
tern_status tern_mpi_combine(const struct tern_mpi_access *access, struct tern_mpi_acc *acc);

#endif

/* acc.h: accumulates in the manner of MPI: all operations of MPI on all elements for which MPI defines them.
 *
 * Three mechanisms carry them out. Accumulates of the same mechanism are atomic with each other:
 *
 *   Tern's accumulates  sum, product, minimum, maximum and bitwise operations of integers, floating-point and complex
 *                       numbers
 *   atomic operations   MPI_REPLACE of numbers of up to 8 bytes that returns the previous values, and compare-and-swap
 *   a mutex             logical operations, MPI_MINLOC and MPI_MAXLOC, and everything on elements with which only MPI
 *                       computes, such as pairs and long double (combine.c)
 *
 * MPI_REPLACE of numbers that returns nothing is atomic with the first two. MPI_NO_OP reads each number as it is before
 * or after an accumulate, whatever carries that out.
 */
#ifndef TERN_MPI_ACC_H
#define TERN_MPI_ACC_H

#include "transfer.h"

/* An accumulate. */
struct tern_mpi_acc {
    MPI_Op               op;
    void                *result; /* NULL: the previous values are not wanted */
    struct tern_mpi_side result_side;
    tern_opts            opts;    /* those of the access; the field acc is not used */
    tern_mutexes        *mutexes; /* of the window */
    uint64_t             mutex;   /* index of the mutex for accumulates */
    tern_status (*move)(const struct tern_mpi_access *access, const tern_opts *opts); /* tern_mpi_move, or like it */
    const char *why; /* the call sets it: why the accumulate was refused, or NULL */
};

/* Start an accumulate of the origin to the target in *access, which have the same basic elements. It may be complete
 * when the call returns. Returns TERN_OK, or TERN_ERR_ARG with acc->why: the elements do not have the operation. Other
 * errors are those of Tern. */
tern_status tern_mpi_accumulate(struct tern_mpi_access *access, struct tern_mpi_acc *acc);

/* Start a compare-and-swap of one element. compare is the value to compare with. Returns as tern_mpi_accumulate. */
tern_status tern_mpi_compare_and_swap(const struct tern_mpi_access *access, struct tern_mpi_acc *acc,
                                      const void *compare);

/* Accumulate under the mutex, and wait for the end (combine.c). */
tern_status tern_mpi_combine(const struct tern_mpi_access *access, struct tern_mpi_acc *acc);

#endif

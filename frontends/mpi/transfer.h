/* transfer.h: one-sided accesses between two layouts.
 *
 * An access has a number of elements of a datatype on each side. Depending on the two layouts, it becomes a contiguous,
 * a strided or a vector operation of Tern. The side that receives the data may have more bytes than the other one.
 */
#ifndef TERN_MPI_TRANSFER_H
#define TERN_MPI_TRANSFER_H

#include "datatype.h"

/* One side of an access: elements of a datatype. */
struct tern_mpi_side {
    const struct tern_mpi_type *type;
    size_t                      count;
};

/* The kind of an access. */
enum tern_mpi_kind { TERN_MPI_PUT, TERN_MPI_GET, TERN_MPI_ACC, TERN_MPI_GET_ACC };

/* An access. */
struct tern_mpi_access {
    enum tern_mpi_kind   kind;
    int                  rank; /* rank in the team of ctx */
    tern_ctx            *ctx;
    tern_region         *region;
    uint64_t             offset;      /* offset of displacement 0 at the target, in its part of the region */
    void                *local;       /* displacement 0 at the origin */
    struct tern_mpi_side here, there; /* origin and target, with the same number of bytes unless part is set */
    size_t               part;        /* number of bytes to move, if a side ends within an element; otherwise 0 */
};

static inline size_t tern_mpi_side_bytes(struct tern_mpi_side side)
{
    return side.count * side.type->size;
}

/* Return whether the length of the data of a side, and the distance between its elements, are within TERN_MPI_REACH.
 * The front ends refuse other sides. */
static inline bool tern_mpi_side_fits(struct tern_mpi_side side)
{
    int64_t bytes, distance;

    return !__builtin_mul_overflow(side.count, side.type->size, &bytes) && bytes <= TERN_MPI_REACH &&
           !__builtin_mul_overflow((int64_t)side.count, side.type->extent, &distance) && distance <= TERN_MPI_REACH &&
           distance >= -TERN_MPI_REACH;
}

/* Compute the offset of displacement disp, which is not negative, in units of unit bytes. Returns false if the offset
 * is beyond TERN_MPI_REACH, and thus beyond the end of every window. */
static inline bool tern_mpi_offset(MPI_Aint disp, uint64_t unit, uint64_t *offset)
{
    return !__builtin_mul_overflow((uint64_t)disp, unit, offset) && *offset <= (uint64_t)TERN_MPI_REACH;
}

/* Return whether a buffer of the program is missing: it is NULL, and the data begins there. Datatypes with absolute
 * addresses are relative to MPI_BOTTOM, which is NULL, too; their data begins elsewhere. */
bool tern_mpi_missing(const void *buffer, struct tern_mpi_side side);

/* Let the side that receives the data end where the other side ends, as MPI demands of messages and one-sided accesses.
 * Returns false if the data does not fit, or if an accumulate would end within an element; nothing is changed then. */
bool tern_mpi_fit(struct tern_mpi_access *access);

/* Start an access. opts are those of Tern's _with calls; accumulates need opts->acc. Returns the status of the call of
 * Tern, or TERN_ERR_NOMEM. */
tern_status tern_mpi_move(const struct tern_mpi_access *access, const tern_opts *opts);

/* Copy data within this process, from one layout to another with the same number of bytes. */
void tern_mpi_copy(void *to, struct tern_mpi_side to_side, const void *from, struct tern_mpi_side from_side);

#endif

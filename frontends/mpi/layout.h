/* layout.h: layouts, which describe the bytes of a datatype in the order of its type map.
 *
 * A layout is a box if its bytes are blocks of equal length at regular distances: up to TERN_MPI_DIMS nested loops.
 * Contiguous memory is a box without loops. All other layouts are lists of pieces. Layouts are built from the inside to
 * the outside: a layout of basic elements is repeated, and layouts are appended to each other. Neighbouring blocks are
 * merged on the way, and a list that turns out to be regular becomes a box.
 */
#ifndef TERN_MPI_LAYOUT_H
#define TERN_MPI_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TERN_MPI_DIMS 8

/* The greatest offset, displacement, distance and number of bytes in an access. The sum of three of them does not
 * overflow. Accesses and datatypes that are larger are refused. */
#define TERN_MPI_REACH ((int64_t)1 << 61)

/* A loop of a box. */
struct tern_mpi_dim {
    size_t    count;
    ptrdiff_t stride; /* in bytes */
};

/* A contiguous piece of a list. */
struct tern_mpi_piece {
    ptrdiff_t at; /* displacement in bytes */
    size_t    len;
};

/* A layout. An empty layout has bytes == 0; an all-zero struct is one. */
struct tern_mpi_layout {
    size_t                 bytes;              /* total length of the blocks */
    ptrdiff_t              at;                 /* a box: displacement of the first block */
    size_t                 block;              /* a box: length of a block */
    unsigned               dims;               /* a box: number of loops */
    struct tern_mpi_dim    dim[TERN_MPI_DIMS]; /* a box: the loops, the innermost one first */
    struct tern_mpi_piece *pieces;             /* a list: its pieces. NULL: a box */
    size_t                 count, space;       /* a list: number of pieces, and its capacity */
};

/* A position in a layout that is repeated. It moves over all blocks in the order of the type map. */
struct tern_mpi_cursor {
    const struct tern_mpi_layout *layout;
    size_t                        times; /* remaining repetitions, including the current one */
    ptrdiff_t                     extent, base;
    size_t                        index[TERN_MPI_DIMS]; /* of a box */
    size_t                        piece;                /* of a list */
};

/* Return the layout of one block. */
struct tern_mpi_layout tern_mpi_layout_block(ptrdiff_t at, size_t len);

/* Repeat a layout count times, at a distance of stride bytes. Returns false if there is no memory, or if the result has
 * more than TERN_MPI_REACH bytes; the layout is unchanged then. */
bool tern_mpi_layout_repeat(struct tern_mpi_layout *layout, size_t count, ptrdiff_t stride);

/* Append a layout, displaced by at bytes. Returns false if there is no memory. */
bool tern_mpi_layout_append(struct tern_mpi_layout *layout, const struct tern_mpi_layout *more, ptrdiff_t at);

/* Turn a list that is regular into a box. */
void tern_mpi_layout_tidy(struct tern_mpi_layout *layout);

/* Copy a layout. Returns false if there is no memory. */
bool tern_mpi_layout_copy(struct tern_mpi_layout *to, const struct tern_mpi_layout *from);

/* Release the memory of a layout, which is then empty. */
void tern_mpi_layout_free(struct tern_mpi_layout *layout);

/* Return whether all bytes of a layout have displacements within TERN_MPI_REACH. */
bool tern_mpi_layout_fits(const struct tern_mpi_layout *layout);

/* Return the number of blocks of a layout. */
size_t tern_mpi_layout_blocks(const struct tern_mpi_layout *layout);

/* Return a cursor at the beginning of `times` repetitions of a layout, which are extent bytes apart. */
struct tern_mpi_cursor tern_mpi_cursor_begin(const struct tern_mpi_layout *layout, size_t times, ptrdiff_t extent);

/* Get the next block. Returns false at the end. */
bool tern_mpi_cursor_next(struct tern_mpi_cursor *cursor, struct tern_mpi_piece *piece);

#endif

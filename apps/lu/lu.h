/* lu.h: the factorisation A = L U of a dense matrix by blocks, without pivoting (the ARMCI paper, section 4.1.1: the
 * program LU of SPLASH-2).
 *
 * The matrix is divided into square blocks, and the ranks form a grid of rows and columns. With the block-cyclic
 * distribution, neighbouring blocks belong to neighbouring ranks of the grid, which balances the load. With the block
 * distribution, each rank owns a rectangle of blocks, which needs less communication. Step k of the factorisation is:
 *
 *     diagonal:   factor block(k, k)
 *     perimeter:  block(i, k) = block(i, k) U(k, k)^-1, and block(k, j) = L(k, k)^-1 block(k, j), for i, j > k
 *     interior:   block(i, j) -= block(i, k) block(k, j), for i, j > k
 *
 * Each block is computed by its owner, which needs the final blocks in the same row and column from other ranks. A rank
 * keeps the blocks of other ranks in an array of its own, at the place that they have in the matrix.
 */
#ifndef APPS_LU_H
#define APPS_LU_H

#include <stdbool.h>
#include <stddef.h>

struct lu {
    int     blocks, side; /* blocks from top to bottom of the matrix; rows of a block */
    size_t  bytes;        /* bytes of a block */
    double *matrix;       /* memory of the style: this rank's blocks, each in column-major order */
    double *others;       /* the blocks of other ranks; may be the same array as matrix */
    bool   *here;         /* [number] this rank has the final block */
    int    *to;           /* [ranks] the ranks that need the block of the current lu_style.give */
    int    *list;         /* [2 * blocks] the numbers of blocks for the current lu_style.need */
};

/* Return the rank that owns a block, and that of the block with the given number. */
int lu_owner(int row, int column);
int lu_owner_of(const struct lu *lu, int number);

static inline int lu_number(const struct lu *lu, int row, int column)
{
    return column * lu->blocks + row;
}

static inline size_t lu_offset(const struct lu *lu, int number)
{
    return (size_t)number * lu->bytes;
}

static inline size_t lu_bytes(const struct lu *lu)
{
    return (size_t)lu->blocks * (size_t)lu->blocks * lu->bytes;
}

/* A communication style. open sets matrix and others. give makes a final block of this rank available to the count
 * ranks in lu->to. phase is called after each of the two phases of a step whose results other ranks need. need waits
 * until the count blocks in lu->list, which belong to other ranks, are in lu->others. finish ends a factorisation, and
 * close frees the memory. */
struct lu_style {
    void (*open)(struct lu *lu);
    void (*give)(struct lu *lu, int number, int count);
    void (*phase)(void);
    void (*need)(struct lu *lu, int count);
    void (*finish)(void);
    void (*close)(struct lu *lu);
};
extern const struct lu_style lu_message, lu_onesided, lu_notified, lu_armci;

#endif

/* stencil.h: a wavefront across a grid whose columns are spread over the ranks (Sync_p2p of the parallel research
 * kernels; paper 5, section VI.A).
 *
 * Each point becomes its upper plus its left minus its upper left neighbour. A rank updates its columns of a row when
 * the rank on its left has done so, and gives the last value on to its right: all ranks are busy in different rows, and
 * for each row one double goes from rank to rank. At the end of an iteration the value of the far corner goes, negated,
 * to the first corner of the grid, on which the next iteration depends: so no rank is ever ahead by more than one
 * iteration, and after n of them the corner must be n (rows + columns - 2).
 */
#ifndef APPS_STENCIL_H
#define APPS_STENCIL_H

#include <stddef.h>

enum { HALO, CORNER }; /* tags */

struct stencil {
    size_t  rows, columns; /* of the whole grid; the first of each is the boundary, and stays as it is */
    size_t  width;         /* columns of this rank */
    size_t  pitch;         /* doubles from one row in memory to the next; the same on all ranks */
    int     iterations;
    int     left, right; /* ranks beside this one; -1: none */
    int     first, last; /* those with the first and the last column */
    double *grid; /* [rows][pitch]; in each row first what comes from the left, or the boundary; then its columns */
};

static inline double *stencil_row(const struct stencil *s, size_t row)
{
    return s->grid + row * s->pitch;
}

/* Where a row begins in the memory of any rank. */
static inline size_t stencil_offset(const struct stencil *s, size_t row)
{
    return row * s->pitch * sizeof(double);
}

/* Update this rank's columns of a row; [0] has come. Returns where the last of them is. */
static inline double *stencil_update(const struct stencil *s, size_t row)
{
    double       *at = stencil_row(s, row);
    const double *up = at - s->pitch;
    double        left = at[0];

    for (size_t j = 1; j <= s->width; j++)
        at[j] = left = left + (up[j] - up[j - 1]);
    return at + s->width;
}

/* A style: the memory for a grid, the iterations, the end. */
struct stencil_style {
    void *(*open)(const struct stencil *s, size_t bytes);
    void (*run)(const struct stencil *s, int rank);
    void (*close)(void *memory);
};
extern const struct stencil_style stencil_message, stencil_onesided, stencil_notified;

#endif

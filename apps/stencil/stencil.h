/* stencil.h: a wavefront across a grid whose columns are distributed over the ranks (Sync_p2p of the parallel research
 * kernels; the Notified Access paper, section VI.A).
 *
 * Each point becomes the sum of its upper and its left neighbour, minus its upper left neighbour. A rank updates its
 * columns of a row after its left neighbour has done so, and sends the last value to its right neighbour. All ranks are
 * busy in different rows, and for each row one double travels from rank to rank. At the end of an iteration the value
 * of the last corner of the grid is negated and sent to the first corner, on which the next iteration depends.
 * Therefore no rank is ever ahead by more than one iteration, and after n iterations the corner must be n (rows +
 * columns - 2).
 */
#ifndef APPS_STENCIL_H
#define APPS_STENCIL_H

#include <stddef.h>

enum { HALO, CORNER }; /* tags */

struct stencil {
    size_t  rows, columns; /* of the whole grid; the first row and the first column are the constant boundary */
    size_t  width;         /* columns of this rank */
    size_t  pitch;         /* doubles from one row in memory to the next; equal on all ranks */
    int     iterations;
    int     left, right; /* neighbouring ranks; -1: none */
    int     first, last; /* the ranks with the first and the last column */
    double *grid; /* [rows][pitch]; each row: the value from the left, or the boundary; then this rank's columns */
};

static inline double *stencil_row(const struct stencil *s, size_t row)
{
    return s->grid + row * s->pitch;
}

/* Return the offset of a row in the memory of any rank. */
static inline size_t stencil_offset(const struct stencil *s, size_t row)
{
    return row * s->pitch * sizeof(double);
}

/* Update this rank's columns of a row and return the address of the last one. Element [0] of the row must have
 * arrived. */
static inline double *stencil_update(const struct stencil *s, size_t row)
{
    double       *at = stencil_row(s, row);
    const double *up = at - s->pitch;
    double        left = at[0];

    for (size_t j = 1; j <= s->width; j++)
        at[j] = left = left + (up[j] - up[j - 1]);
    return at + s->width;
}

/* A communication style: allocate the memory of the grid, run the iterations, free the memory. */
struct stencil_style {
    void *(*open)(const struct stencil *s, size_t bytes);
    void (*run)(const struct stencil *s, int rank);
    void (*close)(void *memory);
};
extern const struct stencil_style stencil_message, stencil_onesided, stencil_notified;

#endif

/* cholesky.h: A = L L' by tiles (paper 5, section VI.C).
 *
 * The lower triangle of a symmetric matrix is cut into tiles. Rank m mod ranks has the tiles of row m, and walks
 * through them column by column, in an order that is fixed from the beginning. For tile (m, k), looking left:
 *
 *     for n < k:  dgemm  tile(m, k) -= tile(m, n) tile(k, n)'      (dsyrk, where m = k)
 *     then:       dpotrf tile(k, k), where m = k;  dtrsm with tile(k, k), where it is not
 *
 * Rows k of other ranks have to be there for that. So each tile is given to all other ranks as soon as it is made,
 * along a binary tree whose root is the rank that made it; who gets a tile gives it on. Nobody knows which tile comes
 * next: the number of the tile, which is the tag, tells.
 */
#ifndef APPS_CHOLESKY_H
#define APPS_CHOLESKY_H

#include <stdbool.h>
#include <stddef.h>

struct cholesky {
    int     tiles, side; /* rows of tiles; rows of a tile */
    size_t  bytes;       /* of a tile */
    double *matrix;      /* all tiles of the lower triangle, one after the other, each by columns */
    bool   *here;        /* [number] this rank has the tile in its final form */
    int     missing;     /* how many are still to come */
};

/* The number of a tile; row >= column. */
static inline int cholesky_number(int row, int column)
{
    return row * (row + 1) / 2 + column;
}

static inline size_t cholesky_offset(const struct cholesky *c, int number)
{
    return (size_t)number * c->bytes;
}

static inline double *cholesky_tile(const struct cholesky *c, int number)
{
    return c->matrix + cholesky_offset(c, number) / sizeof(double);
}

/* Has come: what is known of it, and to whom this rank gives it on. Returns how many ranks that are, at most 2. */
int cholesky_arrived(struct cholesky *c, int number, int to[2]);

/* The ranks that get a tile from this one, in the tree of the rank that made it. */
int cholesky_next(const struct cholesky *c, int number, int to[2]);

/* A style: the memory for the tiles; give a tile that this rank has made to the next ones; take in one that comes, and
 * give it on: one at least, or only if there is one; the end of a factorisation, when all have come; the end. */
struct cholesky_style {
    void *(*open)(const struct cholesky *c, size_t bytes);
    void (*give)(struct cholesky *c, int number);
    bool (*take)(struct cholesky *c, bool wait);
    void (*finish)(void);
    void (*close)(void *memory);
};
extern const struct cholesky_style cholesky_message, cholesky_onesided, cholesky_notified;

#endif

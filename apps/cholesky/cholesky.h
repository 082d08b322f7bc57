/* cholesky.h: the factorisation A = L L' by tiles (the Notified Access paper, section VI.C).
 *
 * The lower triangle of a symmetric matrix is divided into tiles. Rank m mod ranks owns the tiles of row m and
 * processes them column by column, in a fixed order. The left-looking algorithm for tile (m, k) is:
 *
 *     for n < k:  dgemm  tile(m, k) -= tile(m, n) tile(k, n)'      (dsyrk, where m = k)
 *     then:       dpotrf tile(k, k), where m = k;  dtrsm with tile(k, k), otherwise
 *
 * This needs the tiles of row k, which another rank owns. Therefore each finished tile is broadcast to all other ranks
 * along a binary tree whose root is the owner of the tile; a rank that receives a tile forwards it. No rank knows which
 * tile arrives next. The tag of the message is the number of the tile.
 */
#ifndef APPS_CHOLESKY_H
#define APPS_CHOLESKY_H

#include <stdbool.h>
#include <stddef.h>

struct cholesky {
    int     tiles, side; /* rows of tiles; rows of a tile */
    size_t  bytes;       /* bytes of a tile */
    double *matrix;      /* all tiles of the lower triangle, one after the other, each in column-major order */
    bool   *here;        /* [number] this rank has the final tile */
    int     missing;     /* number of tiles that have not arrived yet */
};

/* Return the number of a tile. row must not be less than column. */
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

/* Record that a tile has arrived. Stores the ranks to which this rank forwards the tile in to, and returns how many
 * they are (at most 2). */
int cholesky_arrived(struct cholesky *c, int number, int to[2]);

/* Store the children of this rank, in the broadcast tree of the tile's owner, in to. Returns how many they are (at most
 * 2). */
int cholesky_next(const struct cholesky *c, int number, int to[2]);

/* A communication style. open returns the memory for the tiles. give sends a tile that this rank has computed to its
 * children in the tree. take receives and forwards a tile: at least one if wait is set, otherwise only a tile that has
 * already arrived. finish ends a factorisation, after all tiles have arrived. close frees the memory. */
struct cholesky_style {
    void *(*open)(const struct cholesky *c, size_t bytes);
    void (*give)(struct cholesky *c, int number);
    bool (*take)(struct cholesky *c, bool wait);
    void (*finish)(void);
    void (*close)(void *memory);
};
extern const struct cholesky_style cholesky_message, cholesky_onesided, cholesky_notified;

#endif

/* transpose.c: copying planes whose two sides have their shortest strides in different dimensions.
 *
 * If a plane were copied row by row, one side would touch a new cache line, and often a new page, for every element. So
 * the plane is copied in tiles of TILE by TILE elements, whose lines stay in the L1 cache. Where both sides are dense
 * in their shortest dimension and elements have 1, 2, 4 or 8 bytes, a tile consists of blocks that are transposed in
 * registers. A block has as many rows of 16 bytes as there are elements in a row. Interleaving row i with row i + n/2,
 * log2(n) times, turns n rows into n columns.
 *
 * The macros BLOCK and DENSE define the functions for elements of 8, 16, 32 and 64 bits:
 *
 *   block_8, block_16, block_32, block_64       transpose a block in registers
 *   square_8, square_16, square_32, square_64   transpose the blocks of a square
 *   tile_8, tile_16, tile_32, tile_64           transpose a tile; tile_any, which is not from a macro, copies any tile
 */
#include "base/simd.h"
#include "op/shape/copy.h"

#define INLINE static inline __attribute__((always_inline))
#define TILE 32 /* elements; a multiple of every block's side */

/* A tile, or the rest of a plane at its edges: the number of elements across and along, and the strides of both
 * sides. */
struct tile {
    uint64_t across, along;
    int64_t  to_across, to_along, from_across, from_along;
};

typedef void tile_loop(unsigned char *to, const unsigned char *from, size_t run, const struct tile *t);

/* Copy any tile, run by run. */
static void tile_any(unsigned char *to, const unsigned char *from, size_t run, const struct tile *t)
{
    struct tern_copy_dim row = { t->across, t->to_across, t->from_across };

    for (uint64_t i = 0; i < t->along; i++, to += t->to_along, from += t->from_along)
        tern_op_copy(to, from, run, 1, &row, false);
}

/* Transpose a block of n by n elements: n rows of 16 bytes become the n rows of the destination. All loops are
 * unrolled. */
#define BLOCK(bits, n, rounds)                                                                               \
    INLINE void block_##bits(unsigned char *to, const unsigned char *from, int64_t to_row, int64_t from_row) \
    {                                                                                                        \
        tern_v##bits a[n], b[n];                                                                             \
                                                                                                             \
        for (int i = 0; i < (n); i++)                                                                        \
            a[i] = *(const tern_v##bits *)(const void *)(from + i * from_row);                               \
        for (int round = 0; round < (rounds); round++) {                                                     \
            for (int i = 0; i < (n) / 2; i++) {                                                              \
                b[2 * i] = TERN_SIMD_LOW_##bits(a[i], a[i + (n) / 2]);                                       \
                b[2 * i + 1] = TERN_SIMD_HIGH_##bits(a[i], a[i + (n) / 2]);                                  \
            }                                                                                                \
            for (int i = 0; i < (n); i++)                                                                    \
                a[i] = b[i];                                                                                 \
        }                                                                                                    \
        for (int i = 0; i < (n); i++)                                                                        \
            *(tern_v##bits *)(void *)(to + i * to_row) = a[i];                                               \
    }

/* Transpose a whole tile of blocks, in squares whose side is a cache line or the side of the tile. */
#define DENSE(bits, n, rounds, square)                                                                          \
    BLOCK(bits, n, rounds)                                                                                      \
    static void square_##bits(unsigned char *to, const unsigned char *from, const struct tile *t)               \
    {                                                                                                           \
        for (int along = 0; along < (square); along += (n))                                                     \
            for (int across = 0; across < (square); across += (n))                                              \
                block_##bits(to + along * t->to_along + across * (bits) / 8,                                    \
                             from + across * t->from_across + along * (bits) / 8, t->to_along, t->from_across); \
    }                                                                                                           \
    static void tile_##bits(unsigned char *to, const unsigned char *from, size_t run, const struct tile *t)     \
    {                                                                                                           \
        if (t->across < TILE || t->along < TILE) {                                                              \
            tile_any(to, from, run, t);                                                                         \
            return;                                                                                             \
        }                                                                                                       \
        for (int along = 0; along < TILE; along += (square))                                                    \
            for (int across = 0; across < TILE; across += (square))                                             \
                square_##bits(to + along * t->to_along + across * (bits) / 8,                                   \
                              from + across * t->from_across + along * (bits) / 8, t);                          \
    }
DENSE(8, 16, 4, 32)
DENSE(16, 8, 3, 32)
DENSE(32, 4, 2, 16)
DENSE(64, 2, 1, 8)

static tile_loop *choose(size_t run, const struct tile *t)
{
    if (t->to_across != (int64_t)run || t->from_along != (int64_t)run)
        return tile_any;
    switch (run) {
    case 1: return tile_8;
    case 2: return tile_16;
    case 4: return tile_32;
    case 8: return tile_64;
    default: return tile_any;
    }
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void tern_op_transpose(unsigned char *to, const unsigned char *from, size_t run, const struct tern_copy_dim *across,
                       const struct tern_copy_dim *along)
{
    struct tile t = { 0, 0, across->to, along->to, across->from, along->from };
    tile_loop  *copy = choose(run, &t);

    for (uint64_t i = 0; i < across->count; i += TILE) {
        unsigned char       *to_row = to + (int64_t)i * t.to_across;
        const unsigned char *from_row = from + (int64_t)i * t.from_across;

        t.across = least(across->count - i, TILE);
        for (uint64_t j = 0; j < along->count; j += TILE) {
            t.along = least(along->count - j, TILE);
            copy(to_row + (int64_t)j * t.to_along, from_row + (int64_t)j * t.from_along, run, &t);
        }
    }
}

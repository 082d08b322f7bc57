/* onesided.c: tiles by plain puts without notifications. The source knows the address of a tile, but the target must
 * learn which tile has arrived. For this, each rank has a list. A source that has put a tile reserves the next free
 * line by a fetch-and-add on the target's count of lines, and writes the number of the tile to the line after the
 * tile. The target polls its next line.
 */
#include <string.h>

#include "cholesky/cholesky.h"
#include "common/check.h"

static tern_region *region;
static uint64_t     taken, list; /* offsets of the count and of the lines in each rank's part, after the tiles */
static uint64_t    *lines;       /* this rank's lines; 1 + the number of a tile; 0: empty */
static int          count, next; /* the number of lines; the line that is polled */

static void *onesided_begin(const struct cholesky *c, size_t bytes)
{
    char *memory;

    count = cholesky_number(c->tiles, 0);
    taken = bytes;
    list = taken + 64; /* a cache line of its own */
    CHECK(tern_region_create(TERN_WORLD, list + (uint64_t)count * sizeof(uint64_t), NULL, &region));
    memory = tern_region_ptr(region, tern_rank());
    lines = (uint64_t *)(void *)(memory + list);
    return memory;
}

static void put_all(const struct cholesky *c, int number, const int *to, int ranks)
{
    for (int i = 0; i < ranks; i++) {
        uint64_t line = 0;

        CHECK(tern_put_nbi(TERN_WORLD, region, to[i], cholesky_offset(c, number), cholesky_tile(c, number), c->bytes));
        CHECK(tern_fadd(TERN_WORLD, region, to[i], taken, 1, &line));
        CHECK(tern_fence(TERN_WORLD)); /* the tile must arrive before its number */
        CHECK(tern_put_value(TERN_WORLD, region, to[i], list + line * sizeof(uint64_t), (uint64_t)number + 1));
    }
}

static void onesided_give(struct cholesky *c, int number)
{
    int to[2], ranks = cholesky_next(c, number, to);

    put_all(c, number, to, ranks);
}

static bool onesided_take(struct cholesky *c, bool wait)
{
    int to[2], ranks, number;

    if (wait)
        await_word(&lines[next], 1);
    /* acquire: the tile is visible. Pairs with the fence between the put of the tile and the put of its number. */
    number = (int)__atomic_load_n(&lines[next], __ATOMIC_ACQUIRE) - 1;
    if (number < 0)
        return false;
    next++;
    ranks = cholesky_arrived(c, number, to);
    put_all(c, number, to, ranks);
    return true;
}

/* Does nothing: all tiles have arrived, so no rank puts anything more before the next barrier. */
static void onesided_finish(void)
{
    CHECK(tern_quiet(TERN_WORLD));
    memset(lines, 0, (size_t)count * sizeof(*lines));
    CHECK(tern_put_value(TERN_WORLD, region, tern_rank(), taken, (uint64_t)0));
    next = 0;
}

static void onesided_end(void *memory)
{
    (void)memory;
    CHECK(tern_region_free(region));
}

const struct cholesky_style cholesky_onesided = { onesided_begin, onesided_give, onesided_take, onesided_finish,
                                                  onesided_end };

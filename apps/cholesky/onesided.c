/* onesided.c: tiles by puts that tell nobody. The source knows where a tile goes; the trouble is to tell the target
 * which one has come. Each rank has a list for that: who has put a tile takes the next free line by a fetch-and-add on
 * the target's count of lines, and writes the number of the tile there when the tile is in place. The target looks at
 * its next line. */
#include <string.h>

#include "cholesky/cholesky.h"
#include "common/check.h"

static tern_region *region;
static uint64_t     taken, list; /* where in each rank's part the count and the lines are: behind the tiles */
static uint64_t    *lines;       /* this rank's; 1 + the number of a tile; 0: nothing yet */
static int          count, next; /* of all lines; of the one that is looked at */

static void *onesided_begin(const struct cholesky *c, size_t bytes)
{
    char *memory;

    count = cholesky_number(c->tiles, 0);
    taken = bytes;
    list = taken + 64; /* a cache line of its own */
    CHECK(tern_region_alloc(TERN_WORLD, list + (uint64_t)count * sizeof(uint64_t), NULL, &region));
    memory = tern_region_ptr(region, tern_rank());
    lines = (uint64_t *)(void *)(memory + list);
    return memory;
}

static void put_all(const struct cholesky *c, int number, const int *to, int ranks)
{
    for (int i = 0; i < ranks; i++) {
        uint64_t line = 0;

        CHECK(tern_put_nbi(TERN_WORLD, region, to[i], cholesky_offset(c, number), cholesky_tile(c, number), c->bytes));
        CHECK(tern_fadd_u64(TERN_WORLD, region, to[i], taken, 1, &line));
        CHECK(tern_fence(TERN_WORLD)); /* the tile before its number */
        CHECK(tern_put_u64(TERN_WORLD, region, to[i], list + line * sizeof(uint64_t), (uint64_t)number + 1));
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
    /* acquire: the tile. Pairs with the fence before its number was put. */
    number = (int)__atomic_load_n(&lines[next], __ATOMIC_ACQUIRE) - 1;
    if (number < 0)
        return false;
    next++;
    ranks = cholesky_arrived(c, number, to);
    put_all(c, number, to, ranks);
    return true;
}

/* Nobody puts anything more before the next barrier: all tiles have come. */
static void onesided_finish(void)
{
    CHECK(tern_quiet(TERN_WORLD));
    memset(lines, 0, (size_t)count * sizeof(*lines));
    CHECK(tern_put_u64(TERN_WORLD, region, tern_rank(), taken, 0));
    next = 0;
}

static void onesided_end(void *memory)
{
    (void)memory;
    CHECK(tern_region_free(region));
}

const struct cholesky_style cholesky_onesided = { onesided_begin, onesided_give, onesided_take, onesided_finish,
                                                  onesided_end };

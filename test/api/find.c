/* find.c: tern_region_find, which finds the region of an address of another rank.
 *
 * Promise: tern_region_find returns a region that contains the address, and the offset in it, for every rank; with many
 * regions, also overlapping ones, and as regions are created and freed; an address outside all regions is
 * TERN_ERR_RANGE.
 */
#include "job_test.h"

#define REGIONS 60
#define POOL 65536u

static tern_region *region[REGIONS];
static uint64_t     start[REGIONS][64], size[REGIONS][64]; /* of each region on each rank */

static void note(int i, void *addr, uint64_t len)
{
    uint64_t at = (uint64_t)(uintptr_t)addr;

    OK(tern_allgather(TERN_WORLD, &at, sizeof(at), start[i]));
    OK(tern_allgather(TERN_WORLD, &len, sizeof(len), size[i]));
}

static bool holds(int i, int rank, uint64_t addr)
{
    return region[i] && addr - start[i][rank] < size[i][rank];
}

/* Compare with a linear search. The rank is one of the context's team. */
static void check(tern_ctx *ctx, int member, uint64_t addr)
{
    tern_region *found = NULL;
    uint64_t     offset = UINT64_MAX;
    tern_status  st = tern_region_find(ctx, member, (void *)(uintptr_t)addr, &found, &offset);
    int          at = -1, rank = job_world(ctx, member);
    bool         any = false;

    for (int i = 0; i < REGIONS; i++) {
        any = any || holds(i, rank, addr);
        if (region[i] && region[i] == found)
            at = i;
    }
    if (!any) {
        RETURNS(TERN_ERR_RANGE, st);
        CHECK(found == NULL && offset == UINT64_MAX);
        return;
    }
    OK(st);
    CHECK(at >= 0 && holds(at, rank, addr));
    SAME(offset, addr - start[at][rank]);
}

static void check_all(tern_ctx *ctx)
{
    for (int member = 0; member < job_ranks(ctx); member++) {
        int rank = job_world(ctx, member);

        for (int i = 0; i < REGIONS; i++) {
            uint64_t first = start[i][rank], end = first + size[i][rank];
            check(ctx, member, first);
            check(ctx, member, first - 1);
            check(ctx, member, end - 1);
            check(ctx, member, end);
            check(ctx, member, first + size[i][rank] / 2);
        }
        check(ctx, member, 0);
        check(ctx, member, UINT64_MAX);
    }
}

static void drop(int i)
{
    OK(tern_region_free(region[i]));
    region[i] = NULL;
}

static void arguments(void)
{
    tern_region *found = NULL;
    uint64_t     offset = 5;

    RETURNS(TERN_ERR_ARG, tern_region_find(NULL, 0, &found, &found, &offset));
    RETURNS(TERN_ERR_ARG, tern_region_find(TERN_WORLD, 0, &found, NULL, &offset));
    RETURNS(TERN_ERR_ARG, tern_region_find(TERN_WORLD, 0, &found, &found, NULL));
    RETURNS(TERN_ERR_RANGE, tern_region_find(TERN_WORLD, -1, &found, &found, &offset));
    RETURNS(TERN_ERR_RANGE, tern_region_find(TERN_WORLD, tern_size(), &found, &found, &offset));
    RETURNS(TERN_ERR_RANGE, tern_region_find(TERN_WORLD, INT_MIN, &found, &found, &offset));
    RETURNS(TERN_ERR_RANGE, tern_region_find(TERN_WORLD, INT_MAX, &found, &found, &offset));
    CHECK(found == NULL && offset == 5);
}

int main(void)
{
    unsigned char *pool = job_new(POOL);
    uint64_t       seed = 4711;
    tern_ctx      *other;
    int            last;

    OK(tern_init());
    OK(tern_ctx_create(tern_team_node(), TERN_RELAXED, &other));
    arguments();
    seed += (uint64_t)tern_rank(); /* the layout differs between ranks */
    for (int i = 0; i < REGIONS; i++) {
        if (i % 3 == 0) {
            OK(tern_region_create(TERN_WORLD, 1000 + 1000 * (uint64_t)i, NULL, &region[i]));
            note(i, tern_region_ptr(region[i], tern_rank()), 1000 + 1000 * (uint64_t)i);
        } else { /* parts of one pool, which overlap; the first few cover all of it, or nothing */
            uint64_t at = i < 3 ? 0 : job_random(&seed) % POOL, len = i == 1 ? POOL : job_random(&seed) % (POOL - at);
            OK(tern_region_register(TERN_WORLD, pool + at, len, &region[i]));
            note(i, pool + at, len);
        }
    }
    check_all(TERN_WORLD);
    check_all(other);
    last = job_ranks(other) - 1;
    for (int i = 0; i < REGIONS; i += 2) {
        drop(i);
        check(TERN_WORLD, 0, start[i][0]);
        check(other, last, start[i][job_world(other, last)]);
    }
    check_all(TERN_WORLD);
    check_all(other);
    for (int i = 1; i < REGIONS; i += 2)
        drop(i);
    check_all(TERN_WORLD); /* none is left */
    OK(tern_finalize());
    free(pool);
    return 0;
}

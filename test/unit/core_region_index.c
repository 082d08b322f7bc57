/* core_region_index.c: the table that finds a region by address.
 *
 * Promise: among regions that overlap, nest, touch, begin at the same address or end at the end of memory, a region
 * that contains the address is found whenever there is one; the cache of a context never outlives a change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/job.h"
#include "core/region.h"

#define RANKS 3
#define REGIONS 40

static struct tern_region    region[REGIONS];
static struct tern_link_part part[REGIONS][RANKS];

/* Put the first n regions on the job's list, as the core does. */
static void publish(int n)
{
    tern_job.boot.ranks = RANKS;
    tern_base_list_init(&tern_job.regions);
    for (int i = 0; i < n; i++) {
        region[i] = (struct tern_region){ .part = part[i] };
        tern_base_list_push(&tern_job.regions, &region[i].node);
    }
    atomic_fetch_add(&tern_job.region_changes, 1);
}

static void set(int i, int rank, uint64_t addr, uint64_t size)
{
    part[i][rank].addr = addr;
    part[i][rank].size = size;
}

/* The result of a linear search. */
static bool holds(const struct tern_region *r, int rank, uint64_t addr)
{
    return addr - r->part[rank].addr < r->part[rank].size;
}

static void check(struct tern_ctx *ctx, int n, int rank, uint64_t addr)
{
    struct tern_region *found = tern_core_region_find(ctx, rank, addr);
    bool                any = false;

    for (int i = 0; i < n; i++)
        any = any || holds(&region[i], rank, addr);
    assert_int_equal(found != NULL, any);
    if (found)
        assert_true(holds(found, rank, addr));
}

static int clear(void **state)
{
    (void)state;
    memset(part, 0, sizeof(part));
    tern_core_region_index_close();
    tern_base_list_init(&tern_job.regions);
    return 0;
}

static void nothing_there(void **state)
{
    struct tern_ctx ctx = { 0 };

    (void)state;
    publish(0);
    check(&ctx, 0, 0, 0);
    check(&ctx, 0, 2, UINT64_MAX);
    publish(1); /* a region without memory on that rank */
    check(&ctx, 1, 0, 0);
}

static void nests_and_neighbours(void **state)
{
    static const uint64_t at[] = { 0,
                                   1,
                                   99,
                                   100,
                                   101,
                                   149,
                                   150,
                                   151,
                                   199,
                                   200,
                                   249,
                                   250,
                                   299,
                                   300,
                                   301,
                                   399,
                                   400,
                                   499,
                                   500,
                                   501,
                                   999,
                                   1000,
                                   1001,
                                   UINT64_MAX - 101,
                                   UINT64_MAX - 100,
                                   UINT64_MAX - 1,
                                   UINT64_MAX };
    struct tern_ctx       ctx = { 0 };

    (void)state;
    set(0, 1, 100, 900); /* contains all that follow */
    set(1, 1, 150, 50);
    set(2, 1, 150, 10); /* begins where another does */
    set(3, 1, 200, 50); /* touches it */
    set(4, 1, 400, 1);
    set(5, 1, UINT64_MAX - 100, 100); /* up to the end of memory */
    set(6, 1, 100, 0);                /* empty */
    set(7, 0, 300, 10);               /* another rank's */
    publish(8);
    for (int rank = 0; rank < RANKS; rank++) {
        for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
            check(&ctx, 8, rank, at[i]);
        for (size_t i = sizeof(at) / sizeof(at[0]); i-- > 0;)
            check(&ctx, 8, rank, at[i]);
    }
}

/* A long region under many short ones: a search that checks only the nearest beginning gets this case wrong. */
static void a_long_one_under_many_short_ones(void **state)
{
    struct tern_ctx ctx = { 0 };

    (void)state;
    set(0, 0, 1000, 100000);
    for (int i = 1; i < REGIONS; i++)
        set(i, 0, 2000 + (uint64_t)i * 100, 10);
    publish(REGIONS);
    for (uint64_t addr = 900; addr < 102000; addr += 7)
        check(&ctx, REGIONS, 0, addr);
}

static void what_was_found_is_forgotten(void **state)
{
    struct tern_ctx ctx = { 0 };

    (void)state;
    set(0, 0, 1000, 100);
    publish(1);
    assert_ptr_equal(tern_core_region_find(&ctx, 0, 1050), &region[0]);
    assert_ptr_equal(tern_core_region_find(&ctx, 0, 1099), &region[0]);
    assert_null(tern_core_region_find(&ctx, 1, 1050)); /* not for another rank */
    assert_ptr_equal(tern_core_region_find(&ctx, 0, 1050), &region[0]);
    publish(0);
    assert_null(tern_core_region_find(&ctx, 0, 1050));
    publish(1);
    assert_ptr_equal(tern_core_region_find(&ctx, 0, 1050), &region[0]);
}

static void random_ones(void **state)
{
    struct tern_ctx ctx = { 0 };
    uint64_t        seed = 88172645463325252ull;

    (void)state;
    for (int round = 0; round < 60; round++) {
        int n = 1 + round % REGIONS;
        for (int i = 0; i < n; i++) {
            for (int rank = 0; rank < RANKS; rank++) {
                seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
                set(i, rank, 1000 + seed % 1000, (seed >> 20) % (seed % 3 ? 30 : 600));
            }
        }
        publish(n);
        for (uint64_t addr = 990; addr < 2700; addr += 3)
            check(&ctx, n, (int)(addr % RANKS), addr);
    }
}

#define FRESH(test) cmocka_unit_test_setup_teardown(test, clear, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(nothing_there),
        FRESH(nests_and_neighbours),
        FRESH(a_long_one_under_many_short_ones),
        FRESH(what_was_found_is_forgotten),
        FRESH(random_ones),
    };

    return cmocka_run_group_tests_name("core index", tests, NULL, NULL);
}

/* acc_twice.c: accumulates to memory that is mapped more than once.
 *
 * Promise: every summand is added once, also where ranks reach the same memory through different regions: through two
 * regions of the same file, and through a region and the registration of a pointer to it. The ranks add to the same few
 * numbers at the same time. Whether unsynchronised additions get lost is a matter of luck, so the test also compares
 * the identities by which the locks are chosen.
 *
 * env: TERN_CMA=off
 * ranks: 2 4
 */
#include "core/region.h"
#include "job_test.h"

#define NUMBERS 4u

static const tern_acc_args plain = { .size = sizeof(tern_acc_args), .type = TERN_INT64 };
static const int64_t       one[NUMBERS] = { 1, 1, 1, 1 };

/* How often each rank adds: fewer times on slow paths. */
static int rounds(const char *path)
{
    return !job_chaos() && (strcmp(path, "shm") == 0 || strcmp(path, "self") == 0) ? 50000 : 1000;
}

/* Add many times. Returns the number of additions. */
static int add(tern_region *region, int rank, uint64_t offset)
{
    int times = rounds(tern_region_path(region, rank));

    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < times; i++)
        OK(tern_acc(TERN_WORLD, region, rank, offset, one, sizeof(one), &plain));
    return times;
}

/* Check that all additions of all ranks have reached these numbers of rank 0. */
static void check(const int64_t *sum, int times)
{
    int all[64], total = 0;

    OK(tern_allgather(TERN_WORLD, &times, sizeof(times), all));
    for (int rank = 0; rank < tern_size(); rank++)
        total += all[rank];
    for (unsigned i = 0; tern_rank() == 0 && i < NUMBERS; i++)
        CHECK(sum[i] == total);
    OK(tern_barrier(TERN_WORLD));
}

static void two_regions_of_a_file(void)
{
    tern_region     *even, *odd;
    char             path[64], mine[96];
    tern_region_opts opts = TERN_REGION_OPTS(.memory = TERN_MEMORY_FILE, .path = path);

    job_file_name(path, sizeof(path), 7);
    snprintf(mine, sizeof(mine), "%s.%d", path, tern_rank());
    OK(tern_region_create(TERN_WORLD, 64 + sizeof(one), &opts, &even));
    OK(tern_region_create(TERN_WORLD, 64 + sizeof(one), &opts, &odd));
    for (int rank = 0; rank < tern_size(); rank++)
        CHECK(even->part[rank].origin == odd->part[rank].origin);
    check((const int64_t *)tern_region_ptr(even, tern_rank()) + 8, add(tern_rank() % 2 == 0 ? even : odd, 0, 64));
    CHECK(unlink(mine) == 0);
    OK(tern_region_free(odd));
    OK(tern_region_free(even));
}

/* Rank 1 registers rank 0's part of a region, at an address that is not the beginning of a page. */
static void a_region_and_a_pointer_to_it(void)
{
    static int64_t dummy[NUMBERS];
    const uint64_t at = 20000 * sizeof(int64_t);
    tern_region   *region, *again;
    unsigned char *to, *addr = (unsigned char *)dummy;
    int            mapped, all[64], times;

    OK(tern_region_create(TERN_WORLD, at + sizeof(dummy), NULL, &region));
    to = tern_region_ptr(region, 0);
    mapped = tern_rank() == 1 && to;
    if (mapped)
        addr = to + at;
    OK(tern_region_register(TERN_WORLD, addr, sizeof(dummy), &again));
    CHECK(!mapped || again->part[1].origin == region->part[0].origin + at);
    OK(tern_allgather(TERN_WORLD, &mapped, sizeof(mapped), all)); /* else rank 1 has its own memory there */
    times = tern_rank() % 2 == 1 && all[1] ? add(again, 1, 0) : add(region, 0, at);
    check((const int64_t *)(tern_rank() == 0 ? (void *)(to + at) : NULL), times);
    OK(tern_region_free(again));
    OK(tern_region_free(region));
}

int main(void)
{
    OK(tern_init());
    two_regions_of_a_file();
    a_region_and_a_pointer_to_it();
    OK(tern_finalize());
    return 0;
}

/* histogram.c: counts of all ranks added up in one array by accumulates, and a line of output at a time by a mutex.
 *
 *     ternrun -n 4 histogram
 *
 * Every rank counts for itself and then adds its counts to those of rank 0, all at the same time: each sum is exact.
 * Then each rank says what it did, one after the other, in whatever order they come.
 */
#include <stdio.h>
#include <tern.h>

#define CHECK(call)                             \
    do {                                        \
        if ((call) != TERN_OK)                  \
            tern_abort(1, tern_error_detail()); \
    } while (0)

#define BINS 8
#define EACH 100000

int main(void)
{
    const tern_scale ones = { TERN_INT64, NULL };
    tern_region     *region;
    tern_mutexes    *mutexes;
    int64_t          counts[BINS] = { 0 }, sums[BINS], all = 0;
    uint32_t         seed;

    CHECK(tern_init());
    CHECK(tern_region_alloc(TERN_WORLD, sizeof(counts), NULL, &region)); /* all 0 */
    CHECK(tern_mutex_create(TERN_WORLD, 1, &mutexes));
    seed = (uint32_t)tern_rank() + 1;
    for (int i = 0; i < EACH; i++) {
        seed = seed * 1664525u + 1013904223u;
        counts[seed >> 29]++;
    }
    CHECK(tern_acc(TERN_WORLD, region, 0, 0, counts, sizeof(counts), &ones));
    CHECK(tern_barrier(TERN_WORLD));
    CHECK(tern_get(TERN_WORLD, region, 0, 0, sums, sizeof(sums)));
    for (int i = 0; i < BINS; i++)
        all += sums[i];
    CHECK(tern_mutex_lock(TERN_WORLD, mutexes, 0, 0));
    printf("rank %d counted %d of %lld; the first of %d bins has %lld\n", tern_rank(), EACH, (long long)all, BINS,
           (long long)sums[0]);
    fflush(stdout);
    CHECK(tern_mutex_unlock(TERN_WORLD, mutexes, 0, 0));
    CHECK(tern_mutex_destroy(mutexes));
    CHECK(tern_region_free(region));
    CHECK(tern_finalize());
    return 0;
}

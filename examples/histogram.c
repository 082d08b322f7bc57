/* histogram.c: adds up the counts of all ranks in one array by accumulates, and prints one line at a time under a
 * mutex.
 *
 *     ternrun -n 4 histogram
 *
 * Every rank counts locally and then adds its counts to those of rank 0. All ranks add at the same time, and each
 * sum is exact. Then each rank reports what it did, one rank after the other, in any order.
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
    tern_region  *region;
    tern_mutexes *mutexes;
    int64_t       counts[BINS] = { 0 }, sums[BINS], all = 0;
    uint32_t      seed;

    CHECK(tern_init());
    CHECK(tern_region_create(TERN_WORLD, sizeof(counts), NULL, &region)); /* initially all 0 */
    CHECK(tern_mutex_create(TERN_WORLD, 1, &mutexes));
    seed = (uint32_t)tern_rank() + 1;
    for (int i = 0; i < EACH; i++) {
        seed = seed * 1664525u + 1013904223u;
        counts[seed >> 29]++;
    }
    CHECK(tern_acc(TERN_WORLD, region, 0, 0, counts, sizeof(counts), &TERN_ACC_ARGS(.type = TERN_INT64)));
    CHECK(tern_barrier(TERN_WORLD));
    CHECK(tern_get(TERN_WORLD, region, 0, 0, sums, sizeof(sums)));
    for (int i = 0; i < BINS; i++)
        all += sums[i];
    CHECK(tern_mutex_lock(TERN_WORLD, mutexes, 0, 0));
    printf("rank %d counted %d of %lld; the first of %d bins has %lld\n", tern_rank(), EACH, (long long)all, BINS,
           (long long)sums[0]);
    fflush(stdout);
    CHECK(tern_mutex_unlock(TERN_WORLD, mutexes, 0, 0));
    CHECK(tern_mutex_free(mutexes));
    CHECK(tern_region_free(region));
    CHECK(tern_finalize());
    return 0;
}

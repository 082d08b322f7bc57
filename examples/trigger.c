/* trigger.c: triggered gets: a rank fetches a large array in chunks at its own pace, while it computes.
 *
 *     ternrun -n 2 trigger
 *
 * Each rank gets a large array from its right neighbour in chunks, with at most four gets outstanding: get number i
 * waits until i - 3 earlier gets have completed. The rank describes all gets once, and then computes; Tern starts
 * each get when its threshold is reached.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tern.h>

#define CHECK(call)                             \
    do {                                        \
        if ((call) != TERN_OK)                  \
            tern_abort(1, tern_error_detail()); \
    } while (0)

enum { CHUNKS = 256, CHUNK = 4096, AT_A_TIME = 4 };

/* Some computation: return the number of primes below n. */
static unsigned primes(unsigned n)
{
    unsigned found = 0;

    for (unsigned i = 2; i < n; i++) {
        unsigned k = 2;

        while (k * k <= i && i % k != 0)
            k++;
        found += k * k > i;
    }
    return found;
}

int main(void)
{
    tern_region   *region;
    tern_counter  *arrived;
    unsigned char *mine, *copy = calloc(CHUNKS, CHUNK);
    uint64_t       early, wrong = 0;
    unsigned       found;
    int            right;

    CHECK(tern_init());
    if (!copy)
        tern_abort(1, "no memory");
    right = (tern_rank() + 1) % tern_size();
    CHECK(tern_region_create(TERN_WORLD, CHUNKS * CHUNK, NULL, &region));
    CHECK(tern_counter_create(TERN_WORLD, &arrived));
    mine = tern_region_ptr(region, tern_rank());
    for (int i = 0; i < CHUNKS * CHUNK; i++)
        mine[i] = (unsigned char)(i / CHUNK + tern_rank());
    CHECK(tern_barrier(TERN_WORLD));

    for (uint64_t i = 0; i < CHUNKS; i++) {
        tern_opts opts = TERN_OPTS(.counter = arrived);

        if (i >= AT_A_TIME) {
            opts.when = arrived;
            opts.threshold = i - AT_A_TIME + 1;
        }
        CHECK(tern_get_with(TERN_WORLD, region, right, i * CHUNK, copy + i * CHUNK, CHUNK, &opts));
    }
    found = primes(200000); /* calls no function of Tern */
    CHECK(tern_counter_read(arrived, &early, NULL));
    CHECK(tern_counter_wait(arrived, CHUNKS, TERN_FOREVER));

    for (int i = 0; i < CHUNKS * CHUNK; i++)
        wrong += copy[i] != (unsigned char)(i / CHUNK + right);
    printf("rank %d counted %u primes while %llu of %d chunks arrived; %llu bytes are wrong\n", tern_rank(), found,
           (unsigned long long)early, CHUNKS, (unsigned long long)wrong);
    CHECK(tern_counter_free(arrived));
    CHECK(tern_barrier(TERN_WORLD));
    CHECK(tern_region_free(region));
    CHECK(tern_finalize());
    free(copy);
    return wrong > 0;
}

/* hello.c: each rank writes a number into its right neighbour's memory, and reads the number that it received. The
 * README shows this program. */
#include <stdio.h>
#include <tern.h>

#define CHECK(call)                             \
    do {                                        \
        if ((call) != TERN_OK)                  \
            tern_abort(1, tern_error_detail()); \
    } while (0)

int main(void)
{
    tern_region *region;
    uint64_t     got;

    CHECK(tern_init());
    int me = tern_rank(), right = (me + 1) % tern_size();

    CHECK(tern_region_alloc(TERN_WORLD, 4096, NULL, &region));             /* 4096 bytes on every rank */
    CHECK(tern_put_u64(TERN_WORLD, region, right, 0, 100 + (uint64_t)me)); /* visible there on return */
    CHECK(tern_barrier(TERN_WORLD));
    CHECK(tern_get_u64(TERN_WORLD, region, me, 0, &got));
    printf("rank %d of %d got %lu\n", me, tern_size(), (unsigned long)got);

    CHECK(tern_region_free(region));
    CHECK(tern_finalize());
    return 0;
}

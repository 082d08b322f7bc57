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
    int          got;

    CHECK(tern_init());
    int me = tern_rank(), right = (me + 1) % tern_size();

    CHECK(tern_region_create(TERN_WORLD, 4096, NULL, &region));    /* 4096 bytes on every rank */
    CHECK(tern_put_value(TERN_WORLD, region, right, 0, 100 + me)); /* visible there on return */
    CHECK(tern_barrier(TERN_WORLD));
    CHECK(tern_get_value(TERN_WORLD, region, me, 0, &got));
    printf("rank %d of %d got %d\n", me, tern_size(), got);

    CHECK(tern_region_free(region));
    CHECK(tern_finalize());
    return 0;
}

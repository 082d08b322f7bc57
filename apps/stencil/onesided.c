/* onesided.c: the wavefront by plain puts without notifications. A second put follows each value and writes the
 * number of values put so far to a word of the target. A fence between the two puts keeps them in order. The target
 * polls the word until it has reached the count of the row.
 */
#include "common/check.h"
#include "stencil/stencil.h"

static tern_region *region;
static uint64_t     halo_count, corner_count; /* offsets of the words in each rank's part, after the grid */

static void *onesided_begin(const struct stencil *s, size_t bytes)
{
    (void)s;
    halo_count = (bytes + 63) / 64 * 64; /* a cache line each */
    corner_count = halo_count + 64;
    CHECK(tern_region_create(TERN_WORLD, corner_count + 64, NULL, &region));
    return tern_region_ptr(region, tern_rank());
}

static void put_counted(int rank, uint64_t offset, const double *value, uint64_t counter, uint64_t count)
{
    CHECK(tern_put_nbi(TERN_WORLD, region, rank, offset, value, sizeof(*value)));
    CHECK(tern_fence(TERN_WORLD)); /* the value must arrive before its count */
    CHECK(tern_put_value(TERN_WORLD, region, rank, counter, count));
}

static void onesided_run(const struct stencil *s, int rank)
{
    static uint64_t rows, corners; /* since the region was created: the words are never reset */
    const uint64_t *halos_here = (const uint64_t *)(const void *)((char *)s->grid + halo_count);
    const uint64_t *corners_here = (const uint64_t *)(const void *)((char *)s->grid + corner_count);

    for (int i = 0; i < s->iterations; i++) {
        double *end = s->grid, corner;

        for (size_t row = 1; row < s->rows; row++) {
            rows++;
            if (s->left >= 0)
                await_word(halos_here, rows);
            end = stencil_update(s, row);
            if (s->right >= 0)
                put_counted(s->right, stencil_offset(s, row), end, halo_count, rows);
        }
        corner = -*end;
        corners++;
        if (rank == s->last)
            put_counted(s->first, 0, &corner, corner_count, corners);
        if (rank == s->first)
            await_word(corners_here, corners);
        CHECK(tern_quiet(TERN_WORLD)); /* the source buffers may be overwritten */
    }
}

static void onesided_end(void *memory)
{
    (void)memory;
    CHECK(tern_region_free(region));
}

const struct stencil_style stencil_onesided = { onesided_begin, onesided_run, onesided_end };

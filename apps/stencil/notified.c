/* notified.c: the wavefront by notified puts: each value is put to its destination, and its target is notified. The
 * tag is the row, because puts may overtake each other. Row 0 is the corner.
 *
 * No rank waits for its own puts before the end. A rank overwrites a value that it has put only after the next
 * iteration has reached it. That iteration begins with the corner, and the corner was put after the last rank had
 * been notified of all values that it depends on.
 */
#include <stdlib.h>

#include "common/app.h"
#include "common/check.h"
#include "stencil/stencil.h"

static tern_region  *region;
static tern_request *any;
static int          *came; /* [row] the number of notifications received */

static void *notified_begin(const struct stencil *s, size_t bytes)
{
    CHECK(tern_region_create(TERN_WORLD, bytes, NULL, &region));
    CHECK(tern_notify_create(TERN_WORLD, region, TERN_ANY_SOURCE, TERN_ANY_TAG, 1, &any));
    came = app_memory(s->rows * sizeof(*came));
    return tern_region_ptr(region, tern_rank());
}

/* Consume notifications until the row has arrived for the count-th time. */
static void await(size_t row, int count)
{
    while (came[row] < count) {
        tern_request_info info;

        CHECK(tern_request_start(any));
        CHECK(tern_request_wait(&any, TERN_FOREVER, &info));
        came[info.tag]++;
    }
}

static void put(const struct stencil *s, int rank, size_t row, const double *value)
{
    CHECK(tern_put_notify_nbi(TERN_WORLD, region, rank, stencil_offset(s, row), value, sizeof(*value), (uint32_t)row));
}

static void notified_run(const struct stencil *s, int rank)
{
    static int count;
    double     corner;

    for (int i = 0; i < s->iterations; i++) {
        double *end = s->grid;

        count++;
        for (size_t row = 1; row < s->rows; row++) {
            if (s->left >= 0)
                await(row, count);
            end = stencil_update(s, row);
            if (s->right >= 0)
                put(s, s->right, row, end);
        }
        corner = -*end;
        if (rank == s->last)
            put(s, s->first, 0, &corner);
        if (rank == s->first)
            await(0, count);
    }
    CHECK(tern_quiet(TERN_WORLD));
}

static void notified_end(void *memory)
{
    (void)memory;
    free(came);
    CHECK(tern_request_free(&any));
    CHECK(tern_region_free(region));
}

const struct stencil_style stencil_notified = { notified_begin, notified_run, notified_end };

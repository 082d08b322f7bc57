/* onesided.c: blocks by gets, as in the ARMCI paper: a barrier separates the phases, and a rank then fetches the blocks
 * that it needs from their owners, all at once. */
#include <stdlib.h>

#include "common/app.h"
#include "common/check.h"
#include "lu/lu.h"

static tern_region *region;

static void onesided_begin(struct lu *lu)
{
    CHECK(tern_region_create(TERN_WORLD, lu_bytes(lu), NULL, &region));
    lu->matrix = tern_region_ptr(region, tern_rank());
    lu->others = app_memory(lu_bytes(lu));
}

/* Does nothing: the other ranks fetch the block after the next barrier. */
static void onesided_give(struct lu *lu, int number, int count)
{
    (void)lu;
    (void)number;
    (void)count;
}

static void onesided_phase(void)
{
    CHECK(tern_barrier(TERN_WORLD));
}

static void onesided_need(struct lu *lu, int count)
{
    for (int i = 0; i < count; i++) {
        int number = lu->list[i];

        CHECK(tern_get_nbi(TERN_WORLD, region, lu_owner_of(lu, number), lu_offset(lu, number),
                           lu->others + lu_offset(lu, number) / sizeof(double), lu->bytes));
        lu->here[number] = true;
    }
    CHECK(tern_quiet(TERN_WORLD));
}

static void onesided_finish(void)
{
}

static void onesided_end(struct lu *lu)
{
    CHECK(tern_region_free(region));
    free(lu->others);
}

const struct lu_style lu_onesided = { onesided_begin, onesided_give,   onesided_phase,
                                      onesided_need,  onesided_finish, onesided_end };

/* notified.c: blocks by notified puts to the ranks that need them. The tag is the number of the block; one request
 * matches all notifications. There are no barriers: a rank begins the next step as soon as it has its blocks. */
#include "common/check.h"
#include "lu/lu.h"

static tern_region  *region;
static tern_request *any;

static void notified_begin(struct lu *lu)
{
    CHECK(tern_region_create(TERN_WORLD, lu_bytes(lu), NULL, &region));
    CHECK(tern_notify_create(TERN_WORLD, region, TERN_ANY_SOURCE, TERN_ANY_TAG, 1, &any));
    CHECK(tern_request_start(any));
    lu->matrix = lu->others = tern_region_ptr(region, tern_rank());
}

static void notified_give(struct lu *lu, int number, int count)
{
    for (int i = 0; i < count; i++)
        CHECK(tern_put_notify_nbi(TERN_WORLD, region, lu->to[i], lu_offset(lu, number),
                                  lu->matrix + lu_offset(lu, number) / sizeof(double), lu->bytes, (uint32_t)number));
}

static void notified_phase(void)
{
}

static void notified_need(struct lu *lu, int count)
{
    tern_request_info info;

    for (int i = 0; i < count; i++) {
        while (!lu->here[lu->list[i]]) {
            CHECK(tern_request_wait(&any, TERN_FOREVER, &info));
            CHECK(tern_request_start(any));
            lu->here[info.tag] = true;
        }
    }
}

static void notified_finish(void)
{
    CHECK(tern_quiet(TERN_WORLD));
}

static void notified_end(struct lu *lu)
{
    (void)lu;
    CHECK(tern_request_free(&any));
    CHECK(tern_region_free(region));
}

const struct lu_style lu_notified = { notified_begin, notified_give,   notified_phase,
                                      notified_need,  notified_finish, notified_end };

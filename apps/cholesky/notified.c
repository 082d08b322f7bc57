/* notified.c: tiles by notified puts. The tag is the number of the tile; one request matches all notifications. */
#include "cholesky/cholesky.h"
#include "common/check.h"

static tern_region  *region;
static tern_request *any;

static void *notified_begin(const struct cholesky *c, size_t bytes)
{
    (void)c;
    CHECK(tern_region_create(TERN_WORLD, bytes, NULL, &region));
    CHECK(tern_notify_create(TERN_WORLD, region, TERN_ANY_SOURCE, TERN_ANY_TAG, 1, &any));
    CHECK(tern_request_start(any));
    return tern_region_ptr(region, tern_rank());
}

static void put_all(const struct cholesky *c, int number, const int *to, int ranks)
{
    for (int i = 0; i < ranks; i++)
        CHECK(tern_put_notify_nbi(TERN_WORLD, region, to[i], cholesky_offset(c, number), cholesky_tile(c, number),
                                  c->bytes, (uint32_t)number));
}

static void notified_give(struct cholesky *c, int number)
{
    int to[2], ranks = cholesky_next(c, number, to);

    put_all(c, number, to, ranks);
}

static bool notified_take(struct cholesky *c, bool wait)
{
    tern_request_info info;
    tern_status       st = wait ? tern_request_wait(&any, TERN_FOREVER, &info) : tern_request_test(&any, &info);
    int               to[2], ranks;

    if (st == TERN_PENDING)
        return false;
    CHECK(st);
    CHECK(tern_request_start(any));
    ranks = cholesky_arrived(c, (int)info.tag, to);
    put_all(c, (int)info.tag, to, ranks);
    return true;
}

static void notified_finish(void)
{
    CHECK(tern_quiet(TERN_WORLD));
}

static void notified_end(void *memory)
{
    (void)memory;
    CHECK(tern_request_free(&any));
    CHECK(tern_region_free(region));
}

const struct cholesky_style cholesky_notified = { notified_begin, notified_give, notified_take, notified_finish,
                                                  notified_end };

/* timeouts.c: waits that end although the other ranks do not arrive.
 *
 * Promise: a barrier that one rank enters late returns TERN_ERR_TIMEOUT with a text that names that rank, can be called
 * again, and then continues with the same barrier; meanwhile other collective calls return TERN_ERR_STATE. An
 * all-gather or the creation of a region that times out ends collective calls on that team, and nothing else. The late
 * rank's memory can be used all the time.
 *
 * ranks: 2 3 4 8
 * env: TERN_SPIN=0 TERN_YIELDS=0
 * env: TERN_CMA=off
 * env: TERN_TEST=apart=2
 * env: HWLOC_SYNTHETIC=core:8~pu:1 HWLOC_THISSYSTEM=0 TERN_SPIN=0 TERN_YIELDS=4
 */
#include <math.h>

#include "job_test.h"

/* Whether the job has several nodes. */
static bool has_nodes(void)
{
    return tern_team_size(tern_team_node()) < tern_size();
}

static void wait_for(tern_region *region, uint64_t offset, uint64_t value)
{
    uint64_t got = 0;

    while (got != value) {
        OK(tern_get_u64(TERN_WORLD, region, tern_rank(), offset, &got));
        usleep(100);
    }
}

/* The last rank does not arrive until rank 0 has seen the time limit pass. */
static void late_barrier(tern_region *region, uint64_t round)
{
    int       last = tern_size() - 1;
    tern_ctx *ctx;
    char      text[32], byte = 0, all[64];
    uint64_t  got;

    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
    OK(tern_ctx_set_timeout(ctx, 0.02));
    if (tern_rank() == last) {
        for (int rank = 0; rank < last; rank++)
            wait_for(region, 8 * (uint64_t)rank, round);
        OK(tern_ctx_set_timeout(ctx, 0));
        OK(tern_barrier(ctx));
    } else {
        /* The other ranks may be slow as well; a rank that waits for another node only knows whom it waits for
         * there. */
        snprintf(text, sizeof(text), "rank %d of %d", last, last + 1);
        do
            RETURNS(TERN_ERR_TIMEOUT, tern_barrier(ctx));
        while (!strstr(tern_error_detail(), has_nodes() ? "waits for rank" : text));
        RETURNS(TERN_ERR_STATE, tern_allgather(ctx, &byte, 1, all));
        SAYS("tern_barrier");
        RETURNS(TERN_ERR_STATE, tern_region_create(ctx, 4096, NULL, &(tern_region *){ NULL }));
        OK(tern_ctx_set_timeout(ctx, 0));
        OK(tern_put_u64(ctx, region, last, 4088, round)); /* the late rank can be reached */
        OK(tern_get_u64(ctx, region, last, 4088, &got));
        SAME(got, round);
        OK(tern_put_u64(TERN_WORLD, region, last, 8 * (uint64_t)tern_rank(), round));
        OK(tern_barrier(TERN_WORLD)); /* of any context of the team */
    }
    OK(tern_ctx_free(ctx));
}

/* The last rank of the node never makes the call; the node team is no longer usable, but the world is. */
static void broken_team(tern_region *region)
{
    tern_team   *team = tern_team_node();
    int          last = tern_team_size(team) - 1;
    tern_region *none = NULL;
    tern_ctx    *ctx;
    char         byte = 0, all[64];

    if (tern_team_rank(team) != last) {
        OK(tern_ctx_create(team, TERN_RELAXED, &ctx));
        OK(tern_ctx_set_timeout(ctx, 0.02));
        if (tern_rank() % 2)
            RETURNS(TERN_ERR_TIMEOUT, tern_allgather(ctx, &byte, 1, all));
        else
            RETURNS(TERN_ERR_TIMEOUT, tern_region_create(ctx, 4096, NULL, &none));
        SAYS("gave up");
        RETURNS(TERN_ERR_STATE, tern_region_create(ctx, 4096, NULL, &none));
        RETURNS(TERN_ERR_STATE, tern_region_register(ctx, all, sizeof(all), &none));
        RETURNS(TERN_ERR_STATE, tern_allgather(ctx, &byte, 1, all));
        RETURNS(TERN_ERR_STATE, tern_barrier(ctx));
        SAYS("tern_finalize");
        CHECK(none == NULL);
        OK(tern_ctx_set_timeout(ctx, 0));
        OK(tern_put_u64(ctx, region, last, 0, 1));
        OK(tern_quiet(ctx));
        OK(tern_ctx_free(ctx));
    }
    OK(tern_barrier(TERN_WORLD));
}

static void deadlines_count_right(void)
{
    int64_t before = tern_clock();

    CHECK(tern_deadline_in(0) == TERN_NOW && tern_deadline_in(-1) == TERN_NOW && tern_deadline_in(nan("")) == TERN_NOW);
    CHECK(tern_deadline_in(1e300) == TERN_FOREVER && tern_deadline_in(1e10) == TERN_FOREVER);
    CHECK(tern_deadline_in(1) >= before + 1000000000);
    CHECK(tern_clock() >= before);
}

int main(void)
{
    struct job_region r;

    OK(tern_init());
    deadlines_count_right();
    job_region_make(&r, getenv("TERN_CMA") ? JOB_REGISTERED : JOB_HOST, 4096);
    for (uint64_t round = 1; round <= 3; round++)
        late_barrier(r.region, round);
    broken_team(r.region);
    job_region_drop(&r);
    OK(tern_finalize());
    return 0;
}

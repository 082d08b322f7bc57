/* mixed.c: promise: ranks that make different collective calls at the same time get an error, instead of each other's
 * data of an earlier call. mismatch.c tests all pairs of calls.
 *
 * ranks: 2 3 4 8
 * env: TERN_TEST=apart=2
 * env: HWLOC_SYNTHETIC=core:8~pu:1 HWLOC_THISSYSTEM=0 TERN_SPIN=0 TERN_YIELDS=4
 */
#include "job_test.h"

/* Ranks free different regions at the same time: all get an error, and both regions remain usable. */
static void frees(void)
{
    tern_region *a, *b;
    int          other = (tern_rank() + 1) % tern_size();
    uint64_t     got;

    OK(tern_region_create(TERN_WORLD, 64, NULL, &a));
    OK(tern_region_create(TERN_WORLD, 64, NULL, &b));
    RETURNS(TERN_ERR_ARG, tern_region_free(tern_rank() == 0 ? a : b));
    SAYS("same order");
    OK(tern_put_u64(TERN_WORLD, a, other, 0, 7));
    OK(tern_put_u64(TERN_WORLD, b, other, 8, 9));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_get_u64(TERN_WORLD, a, tern_rank(), 0, &got));
    SAME(got, 7);
    OK(tern_get_u64(TERN_WORLD, b, tern_rank(), 8, &got));
    SAME(got, 9);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(b));
    OK(tern_region_free(a));
}

int main(void)
{
    uint64_t  mine, all[64] = { 0 };
    tern_ctx *node;

    OK(tern_init());
    OK(tern_ctx_create(tern_team_node(), TERN_RELAXED, &node));
    mine = (uint64_t)job_me(node);
    OK(tern_allgather(node, &mine, sizeof(mine), all));
    OK(tern_allgather(node, &mine, sizeof(mine), all)); /* now contributions of both parities look valid */
    if (job_me(node) == 0) {
        RETURNS(job_ranks(node) > 1 ? TERN_ERR_ARG : TERN_OK, tern_barrier(node));
    } else {
        CHECK(tern_allgather(node, &mine, sizeof(mine), all) == TERN_ERR_ARG);
        CHECK(strstr(tern_error_detail(), "rank 0") && strstr(tern_error_detail(), "same order"));
    }
    /* The team remains usable: the next calls match each other. */
    mine += 100;
    OK(tern_allgather(node, &mine, sizeof(mine), all));
    for (int i = 0; i < job_ranks(node); i++)
        SAME(all[i], 100 + i);
    OK(tern_barrier(node));
    frees();
    OK(tern_finalize());
    return 0;
}

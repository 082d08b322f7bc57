/* sync.c: barrier, all-gather, fence, quiet, and teams.
 *
 * Promise: all ranks see after a barrier what any rank did before it; an all-gather returns the bytes of all ranks in
 * rank order, whatever the number of ranks, also in place; lengths that differ, and different collective calls at the
 * same time, are TERN_ERR_ARG on all ranks with a text that names the culprit, and the team remains usable.
 *
 * hosts: a:2,b:1 a:2,b:2 a:1,b:2,c:1
 * env: TERN_CMA=off
 * env: TERN_SPIN=0 TERN_YIELDS=0
 * env: TERN_TEST=apart=1
 * env: TERN_TEST=apart=2
 * env: TERN_TEST=apart=2 TERN_ON_FAILURE=return
 * env: HWLOC_SYNTHETIC=core:8~pu:1 HWLOC_THISSYSTEM=0 TERN_SPIN=0 TERN_YIELDS=4
 */
#include "job_test.h"

static void arguments(void)
{
    char byte = 1, all[64];
    int  out = 77;

    RETURNS(TERN_ERR_ARG, tern_fence(NULL));
    RETURNS(TERN_ERR_ARG, tern_quiet(NULL));
    RETURNS(TERN_ERR_ARG, tern_barrier(NULL));
    RETURNS(TERN_ERR_ARG, tern_progress(NULL));
    RETURNS(TERN_ERR_ARG, tern_allgather(NULL, &byte, 1, all));
    RETURNS(TERN_ERR_ARG, tern_allgather(TERN_WORLD, NULL, 1, all));
    RETURNS(TERN_ERR_ARG, tern_allgather(TERN_WORLD, &byte, 1, NULL));
    OK(tern_fence(TERN_WORLD));
    OK(tern_quiet(TERN_WORLD));
    OK(tern_progress(TERN_WORLD));
    RETURNS(TERN_ERR_ARG, tern_team_translate(NULL, 0, tern_team_world(), &out));
    RETURNS(TERN_ERR_ARG, tern_team_translate(tern_team_world(), 0, NULL, &out));
    RETURNS(TERN_ERR_ARG, tern_team_translate(tern_team_world(), 0, tern_team_node(), NULL));
    RETURNS(TERN_ERR_RANGE, tern_team_translate(tern_team_world(), -1, tern_team_node(), &out));
    RETURNS(TERN_ERR_RANGE, tern_team_translate(tern_team_world(), tern_size(), tern_team_node(), &out));
    RETURNS(TERN_ERR_RANGE, tern_team_translate(tern_team_world(), INT_MAX, tern_team_node(), &out));
    RETURNS(TERN_ERR_RANGE, tern_team_translate(tern_team_world(), INT_MIN, tern_team_node(), &out));
    CHECK(out == 77);
}

static void teams(void)
{
    tern_team *world = tern_team_world(), *node = tern_team_node();
    int        out;

    CHECK(world != NULL && node != NULL && world != node);
    CHECK(tern_team_rank(world) == tern_rank() && tern_team_size(world) == tern_size());
    CHECK(tern_team_size(node) >= 1 && tern_team_size(node) <= tern_size());
    CHECK(tern_ctx_team(TERN_WORLD) == world && tern_ctx_order(TERN_WORLD) == TERN_RELAXED);
    OK(tern_team_translate(node, tern_team_rank(node), world, &out));
    CHECK(out == tern_rank());
    for (int rank = 0, found = 0; rank < tern_size(); rank++) { /* in the order of the job */
        if (tern_team_translate(world, rank, node, &out) < 0)
            continue;
        CHECK(out == found++);
        OK(tern_team_translate(node, out, world, &out));
        CHECK(out == rank);
        CHECK(rank < tern_size() - 1 || found == tern_team_size(node));
    }
}

static void contexts(void)
{
    tern_ctx    *ctx = NULL, *many[100];
    const double none = 0.0;

    RETURNS(TERN_ERR_ARG, tern_ctx_create(NULL, TERN_RELAXED, &ctx));
    RETURNS(TERN_ERR_ARG, tern_ctx_create(tern_team_world(), TERN_RELAXED, NULL));
    RETURNS(TERN_ERR_ARG, tern_ctx_create(tern_team_world(), (tern_order)2, &ctx));
    RETURNS(TERN_ERR_ARG, tern_ctx_create(tern_team_world(), (tern_order)-1, &ctx));
    CHECK(ctx == NULL);
    RETURNS(TERN_ERR_ARG, tern_ctx_free(NULL));
    RETURNS(TERN_ERR_ARG, tern_ctx_free(TERN_WORLD));
    RETURNS(TERN_ERR_ARG, tern_ctx_set_timeout(NULL, 1));
    RETURNS(TERN_ERR_ARG, tern_ctx_set_timeout(TERN_WORLD, none / none));
    for (int i = 0; i < 100; i++) {
        OK(tern_ctx_create(i % 2 ? tern_team_node() : tern_team_world(), i % 3 ? TERN_STRICT : TERN_RELAXED, &many[i]));
        CHECK(tern_ctx_team(many[i]) == (i % 2 ? tern_team_node() : tern_team_world()));
        CHECK(tern_ctx_order(many[i]) == (i % 3 ? TERN_STRICT : TERN_RELAXED));
        OK(tern_ctx_set_timeout(many[i], -1.0));
        OK(tern_ctx_set_timeout(many[i], 1e300));
    }
    OK(tern_barrier(many[0])); /* with a limit of 1e300 seconds */
    for (int i = 0; i < 100; i++)
        OK(tern_ctx_free(many[(i * 37) % 100])); /* in another order */
}

/* Each rank counts up in its own part, without any other synchronization. */
static void barrier_orders(tern_ctx *ctx, struct job_region *r)
{
    bool     slow = JOB_SANITIZED || job_network() || tern_team_size(tern_team_node()) < tern_size();
    uint64_t rounds = slow ? 200 : 1000, got;
    int      size = job_ranks(ctx);

    for (uint64_t i = 1; i <= rounds; i++) {
        memcpy(r->mine, &i, sizeof(i)); /* a plain store to this rank's own memory */
        OK(tern_put_nbi(ctx, r->region, (job_me(ctx) + 1) % size, 8, &i, sizeof(i)));
        OK(tern_barrier(ctx));
        for (int rank = 0; rank < size; rank++) {
            OK(tern_get_u64(ctx, r->region, rank, 0, &got));
            SAME(got, i);
        }
        memcpy(&got, r->mine + 8, sizeof(got));
        SAME(got, i);
        OK(tern_barrier(ctx));
    }
    OK(tern_barrier(TERN_WORLD)); /* the next barrier is on another team */
}

static void gather(tern_ctx *ctx, size_t len, unsigned when, bool in_place)
{
    size_t         size = (size_t)job_ranks(ctx), me = (size_t)job_me(ctx);
    unsigned char *all = job_new(len * size + 16), *own = job_new(len);
    unsigned char *src = in_place ? all + me * len : own;

    memset(all, 0x5a, len * size + 16);
    job_fill(src, len, (unsigned)me, when);
    OK(tern_allgather(ctx, src, len, all));
    for (size_t rank = 0; rank < size; rank++)
        HOLDS(all + rank * len, len, (unsigned)rank, when);
    ALL_ARE(all + size * len, 16, 0x5a);
    free(all);
    free(own);
}

static void gathers(tern_ctx *ctx)
{
    static const size_t lens[] = { 0, 1, 100, 4063, 4064, 4065, 5000, 8128, 8129, 1u << 20 };

    for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        gather(ctx, lens[i], i, false);
        gather(ctx, lens[i], i + 50, true);
    }
    OK(tern_allgather(ctx, NULL, 0, NULL));
    for (unsigned i = 0; i < 500; i++)
        gather(ctx, 1 + i % 9, i, i % 2);
}

/* One rank differs: all get an error, and continue. */
static void mismatches(tern_ctx *ctx)
{
    int            size = job_ranks(ctx), me = job_me(ctx);
    unsigned char *all = job_new((size_t)size * 10000), mine[10000] = { 0 };

    if (size == 1) {
        free(all);
        return;
    }
    for (int odd = 0; odd < size; odd++) {
        memset(all, 0x5a, (size_t)size * 10000);
        RETURNS(TERN_ERR_ARG, tern_allgather(ctx, mine, me == odd ? 9000 : 8, all));
        SAYS("length");
        SAYS("9000");
        ALL_ARE(all, (size_t)size * 10000, 0x5a);
        RETURNS(TERN_ERR_ARG, tern_allgather(ctx, mine, me == odd ? 0 : 10000, all));
        ALL_ARE(all, (size_t)size * 10000, 0x5a);
        gather(ctx, 77, (unsigned)odd, false);
    }
    free(all);
}

static void different_calls(tern_ctx *ctx)
{
    int           size = job_ranks(ctx), me = job_me(ctx);
    tern_region  *region = NULL;
    unsigned char all[64], byte = 1;

    for (int odd = 0; odd < size && size > 1; odd++) {
        if (me == odd)
            RETURNS(TERN_ERR_ARG, tern_allgather(ctx, &byte, 1, all));
        else
            RETURNS(TERN_ERR_ARG, tern_region_create(ctx, 4096, NULL, &region));
        SAYS("same collective calls");
        CHECK(region == NULL);
        gather(ctx, 100, (unsigned)odd, true);
    }
}

int main(void)
{
    tern_ctx         *node, *strict;
    struct job_region r;

    OK(tern_init());
    arguments();
    teams();
    contexts();
    OK(tern_ctx_create(tern_team_node(), TERN_RELAXED, &node));
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &strict));
    for (int kind = 0; kind < JOB_KINDS; kind += JOB_REGISTERED) {
        job_region_make(&r, (enum job_kind)kind, 4096);
        barrier_orders(TERN_WORLD, &r);
        barrier_orders(node, &r);
        barrier_orders(strict, &r);
        job_region_drop(&r);
    }
    gathers(TERN_WORLD);
    gathers(node);
    mismatches(TERN_WORLD);
    mismatches(node);
    different_calls(TERN_WORLD);
    OK(tern_ctx_free(node));
    OK(tern_ctx_free(strict));
    OK(tern_finalize());
    return 0;
}

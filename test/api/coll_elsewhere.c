/* coll_elsewhere.c: a rank makes a collective call that does not belong to tern/coll.h, and the others one that does.
 *
 * Promise: on one node, all ranks get TERN_ERR_ARG, and the text names both calls. The test keeps the safety net of
 * waits: a rank that sleeps when another one enters the wrong call detects that at its next periodic poll, because a
 * rank that enters a barrier wakes only those that wait for the barrier.
 *
 * ranks: 2 3 4
 * env: TERN_SPIN=0 TERN_YIELDS=0
 * chaos: off, because chaos has no memory that the ranks share for collective calls
 * network: off, because only ranks that share memory find it
 * hosts: off, because only ranks that share memory find it
 */
#include "job_test.h"

#define WORDS 4000

static int      me, size;
static uint64_t src[WORDS], dst[WORDS];

static const tern_reduce_args sum = { .size = sizeof(sum), .type = TERN_UINT64 };

/* The last rank calls tern_barrier or creates a region, and the others reduce count words. */
static void elsewhere(bool creates, size_t count)
{
    tern_team   *team;
    tern_ctx    *ctx;
    tern_region *region;
    tern_status  st;

    OK(tern_team_dup(TERN_WORLD, &team));
    OK(tern_ctx_create(team, TERN_RELAXED, &ctx));
    OK(tern_sync(ctx));
    if (me == size - 1)
        st = creates ? tern_region_create(ctx, 64, NULL, &region) : tern_barrier(ctx);
    else
        st = tern_allreduce(ctx, src, dst, count, &sum);
    RETURNS(TERN_ERR_ARG, st);
    SAYS(creates ? "tern_region_create" : "tern_barrier");
    SAYS("tern_allreduce");
    RETURNS(me == size - 1 ? TERN_ERR_ARG : TERN_ERR_STATE, tern_sync(ctx));
    OK(tern_ctx_free(ctx));
    OK(tern_team_free(team));
    OK(tern_sync(TERN_WORLD));
}

int main(void)
{
    CHECK(unsetenv("TERN_TEST") == 0);
    OK(tern_init());
    me = tern_rank();
    size = tern_size();
    for (int i = 0; i < 3; i++) {
        elsewhere(false, 1);
        elsewhere(false, WORDS);
        elsewhere(true, 1);
    }
    OK(tern_finalize());
    return 0;
}

/* many.c: a process with more contexts than its bounce buffer has chunks.
 *
 * Promise: every context can use registered memory, whatever other contexts have outstanding; contexts with uncollected
 * operations do not hold up another context, be it for an atomic operation, a get or a put of many chunks. One thread
 * uses all contexts here, so a call that waited until another context is collected would wait for ever. When all
 * operations have completed, no context keeps a chunk.
 *
 * ranks: 2 3
 * network: 2
 * env: TERN_CMA=off
 * env: TERN_CMA=off TERN_BOUNCE_CHUNKS=1 TERN_BOUNCE_CHUNK=4K
 */
#include "core/job.h"
#include "job_test.h"
#include "link/shm/shm.h"

#define CONTEXTS 200
#define PART (1u << 17)
#define WORD 64u   /* bytes for each context */
#define LARGE 4096 /* where the large put goes */

static tern_ctx  *ctx[CONTEXTS];
static tern_event event[CONTEXTS];

/* One after the other. */
static void in_turn(tern_region *region, int to)
{
    uint64_t old;

    for (int i = 0; i < CONTEXTS; i++)
        OK(tern_fadd(ctx[i], region, to, 0, 1, &old));
    SAME(old, CONTEXTS - 1);
}

/* All contexts have an operation outstanding, and another context starts one. */
static void at_once(tern_region *region, int to, const unsigned char *large)
{
    static unsigned char got[CONTEXTS][WORD];
    uint64_t             old = 0;

    for (int i = 0; i < CONTEXTS; i++)
        OK(tern_get_nb(ctx[i], region, to, LARGE, got[i], WORD, &event[i]));
    OK(tern_fadd(TERN_WORLD, region, to, 0, 1, &old));
    SAME(old, CONTEXTS);
    OK(tern_put(TERN_WORLD, region, to, LARGE, large, PART - LARGE));
    for (int i = CONTEXTS; i-- > 0;)
        OK(tern_event_wait(&event[i], TERN_FOREVER));
    for (int i = 0; i < CONTEXTS; i++)
        OK(tern_get_nb(ctx[i], region, to, LARGE, got[i], WORD, &event[i]));
    for (int i = 0; i < CONTEXTS; i++) {
        OK(tern_event_wait(&event[i], TERN_FOREVER));
        CHECK(memcmp(got[i], large, WORD) == 0);
    }
}

/* Puts that are not waited for before the next context has started its own. */
static void without_events(tern_region *region, int to, const unsigned char *large)
{
    for (int i = 0; i < CONTEXTS; i++)
        OK(tern_put_nbi(ctx[i], region, to, 8 + 8 * (uint64_t)i, large + i, 8));
    for (int i = 0; i < CONTEXTS; i++)
        OK(tern_quiet(ctx[i]));
}

/* A context whose operations have completed keeps no chunk: such chunks would be missing when others need them. */
static void all_are_free(void)
{
    for (unsigned i = 0; i < tern_job.links; i++) {
        struct shm_link *shm = (struct shm_link *)tern_job.link[i];

        if (strcmp(tern_job.ops[i]->name, "shm") == 0 && !job_chaos() && shm->data)
            SAME(atomic_load(&shm->free_chunks) | atomic_load(&shm->lane_chunks), UINT64_MAX);
    }
}

int main(void)
{
    struct job_region r;
    unsigned char    *large;
    int               me, to;

    OK(tern_init());
    me = tern_rank();
    to = (me + 1) % tern_size();
    large = job_new(PART);
    job_fill(large, PART, (unsigned)me, 1);
    job_region_make(&r, JOB_REGISTERED, PART);
    for (int i = 0; i < CONTEXTS; i++)
        OK(tern_ctx_create(tern_team_world(), i % 2 ? TERN_STRICT : TERN_RELAXED, &ctx[i]));
    OK(tern_barrier(TERN_WORLD));
    in_turn(r.region, to);
    at_once(r.region, to, large);
    without_events(r.region, to, large);
    all_are_free();
    OK(tern_barrier(TERN_WORLD));
    job_fill(large, PART, (unsigned)((me + tern_size() - 1) % tern_size()), 1);
    CHECK(job_differ(r.mine + LARGE, large, PART - LARGE) == 0);
    for (int i = 0; i < CONTEXTS; i++)
        CHECK(job_differ(r.mine + 8 + 8 * i, large + i, 8) == 0);
    for (int i = 0; i < CONTEXTS; i++)
        OK(tern_ctx_free(ctx[i]));
    job_region_drop(&r);
    free(large);
    OK(tern_finalize());
    return 0;
}

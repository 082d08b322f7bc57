/* crowd.c: more contexts than there are chunks of the bounce buffer.
 *
 * Promise: one thread may leave operations of very many contexts uncollected; an operation on a further context then
 * completes, or is refused with a text, but never waits for operations that only the program itself could collect.
 *
 * ranks: 1 2 4
 * chaos: off, because chaos holds transfers back before the link can refuse them
 * env: TERN_CMA=off TERN_BOUNCE_CHUNK=4K
 * env: TERN_CMA=off TERN_BOUNCE_CHUNK=4K TERN_BOUNCE_CHUNKS=32
 */
#include "job_test.h"

#define CONTEXTS 90u
#define SLICE 10000u

int main(void)
{
    struct job_region r;
    tern_ctx         *ctx[CONTEXTS];
    tern_event        event[CONTEXTS];
    bool              refused[CONTEXTS];
    unsigned char    *src = job_new(CONTEXTS * SLICE);
    unsigned          me, size, done = 0;

    OK(tern_init());
    me = (unsigned)tern_rank(), size = (unsigned)tern_size();
    job_region_make(&r, JOB_REGISTERED, CONTEXTS * SLICE);
    for (unsigned i = 0; i < CONTEXTS; i++) {
        OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx[i]));
        job_fill(src + i * SLICE, SLICE, me, i);
        tern_status st =
            tern_put_nb(ctx[i], r.region, (int)((me + 1) % size), i * SLICE, src + i * SLICE, SLICE, &event[i]);
        refused[i] = st == TERN_ERR_NOMEM;
        if (refused[i])
            SAYS("contexts");
        else
            OK(st);
        done += !refused[i];
    }
    CHECK(done >= 32); /* at least this many can be outstanding at the same time */
    OK(tern_put(ctx[0], r.region, (int)((me + 1) % size), 0, src, SLICE)); /* served contexts still work */
    for (unsigned i = 0; i < CONTEXTS; i++)
        if (!refused[i])
            OK(tern_event_wait(&event[i], TERN_FOREVER));
    OK(tern_barrier(TERN_WORLD));
    for (unsigned i = 0; i < CONTEXTS; i++)
        if (!refused[i])
            HOLDS(r.mine + i * SLICE, SLICE, (me + size - 1) % size, i);
        else
            ALL_ARE(r.mine + i * SLICE, SLICE, 0);
    for (unsigned i = 0; i < CONTEXTS; i++)
        OK(tern_ctx_free(ctx[i])); /* releases its chunk */
    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx[0]));
    OK(tern_put(ctx[0], r.region, (int)((me + 1) % size), 0, src, SLICE));
    OK(tern_ctx_free(ctx[0]));
    OK(tern_barrier(TERN_WORLD));
    job_region_drop(&r);
    OK(tern_finalize());
    free(src);
    return 0;
}

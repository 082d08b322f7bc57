/* immediate.c: operations that may not wait.
 *
 * Promise: with TERN_IMMEDIATE an operation that finds no space returns TERN_AGAIN, with nothing started and no event
 * filled; after progress it succeeds. Without the flag it waits for space, at most for the context's time limit.
 *
 * Space runs out in the bounce buffer with one chunk, and on the network with a window of two work requests (-poor).
 * Over a network that has more space, and under chaos, only the data is checked.
 *
 * env: TERN_CMA=off TERN_BOUNCE_CHUNK=4K TERN_BOUNCE_CHUNKS=1
 * keep: poor
 */
#include "job_test.h"

#define LEN (256u * 1024)
#define TRIES 50u
#define NOT_AN_EVENT ((struct tern_pending *)(uintptr_t)0xabcd0)

enum space { PLENTY, ONE_CHUNK, SMALL_WINDOW, UNKNOWN };

/* How much space there is for transfers to a rank. */
static enum space space_for(tern_region *region, int to)
{
    if (job_chaos())
        return UNKNOWN;
    if (strcmp(tern_region_path(region, to), "bounce") == 0)
        return ONE_CHUNK;
    if (job_far(to))
        return getenv("TERN_NET_WINDOW") ? SMALL_WINDOW : UNKNOWN;
    return PLENTY;
}

/* A long transfer takes all space, so that the second one finds none. Returns how often the second one is refused. */
static unsigned refused_then_done(tern_ctx *ctx, tern_region *region, int to, unsigned char *src)
{
    tern_event  first, second = { NOT_AN_EVENT }, near = { NOT_AN_EVENT };
    tern_opts   opts = TERN_OPTS(.flags = TERN_IMMEDIATE, .local = &near, .event = &second);
    unsigned    refused = 0;
    tern_status st;

    OK(tern_put_nb(ctx, region, to, 0, src, LEN, &first));
    while ((st = tern_put_with(ctx, region, to, LEN, src + LEN, LEN, &opts)) == TERN_AGAIN) {
        CHECK(second.pending == NOT_AN_EVENT && near.pending == NOT_AN_EVENT);
        refused++;
        OK(tern_progress(ctx));
    }
    OK(st);
    OK(tern_event_wait(&second, TERN_FOREVER));
    OK(tern_event_wait(&near, TERN_FOREVER));
    OK(tern_event_wait(&first, TERN_FOREVER));
    return refused;
}

/* The second transfer is refused where there is no space for it, and only there. On the network a progress thread makes
 * space, even before the second transfer starts if this thread does not get a core; one refusal in many attempts is
 * enough there. */
static void refused_for_want_of_space(tern_ctx *ctx, tern_region *region, int to, unsigned char *src)
{
    enum space space = space_for(region, to);
    unsigned   refused = refused_then_done(ctx, region, to, src);

    for (unsigned tries = 1; space == SMALL_WINDOW && refused == 0 && tries < TRIES; tries++)
        refused = refused_then_done(ctx, region, to, src);
    CHECK(space == UNKNOWN || (space == PLENTY ? refused == 0 : refused > 0));
}

/* A refused transfer has no effect: the target keeps its old bytes if the program does not try again. Returns false if
 * a transfer was not refused. */
static bool refused_is_nothing(tern_ctx *ctx, tern_region *region, int to, unsigned char *src, unsigned char *check)
{
    tern_opts   opts = TERN_OPTS(.flags = TERN_IMMEDIATE, .local = NULL, .event = NULL);
    tern_status put, get;

    memset(check, 0x33, LEN);
    OK(tern_put(ctx, region, to, LEN, check, LEN));
    OK(tern_put_nbi(ctx, region, to, 0, src, LEN));
    put = tern_put_with(ctx, region, to, LEN, src + LEN, LEN, &opts);
    OK(tern_quiet(ctx));
    memset(check, 0, LEN);
    OK(tern_get(ctx, region, to, LEN, check, LEN));
    if (put == TERN_AGAIN)
        ALL_ARE(check, LEN, 0x33);
    else
        OK(put);
    OK(tern_get_nbi(ctx, region, to, 0, check, LEN));
    memset(src + LEN, 0x44, LEN);
    get = tern_get_with(ctx, region, to, 0, src + LEN, LEN, &opts);
    OK(tern_quiet(ctx));
    if (get == TERN_AGAIN)
        ALL_ARE(src + LEN, LEN, 0x44);
    else
        OK(get);
    job_fill(src + LEN, LEN, (unsigned)tern_rank(), 2);
    return put == TERN_AGAIN && get == TERN_AGAIN;
}

static void refusals(tern_ctx *ctx, tern_region *region, int to, unsigned char *src, unsigned char *check)
{
    enum space space = space_for(region, to);
    unsigned   tries = space == ONE_CHUNK ? 1 : space == SMALL_WINDOW ? TRIES : 0;
    bool       refused = tries == 0;

    while (!refused && tries-- > 0)
        refused = refused_is_nothing(ctx, region, to, src, check);
    CHECK(refused);
}

/* Many more transfers than chunks, without waiting for any: back-pressure, no loss. */
static void flood(tern_ctx *ctx, tern_region *region, int to, unsigned char *src)
{
    for (unsigned i = 0; i < 64; i++)
        OK(tern_put_nbi(ctx, region, to, i * (LEN / 64) * 2, src + i * (LEN / 64) * 2, LEN / 64 * 2));
    OK(tern_quiet(ctx));
}

int main(void)
{
    struct job_region r;
    unsigned char    *src = job_new(2 * LEN), *check = job_new(LEN);
    unsigned          me, size, right, left;
    bool              bounce;

    OK(tern_init());
    me = (unsigned)tern_rank(), size = (unsigned)tern_size();
    right = (me + 1) % size, left = (me + size - 1) % size;
    job_region_make(&r, JOB_REGISTERED, 2 * LEN);
    bounce = strcmp(tern_region_path(r.region, (int)right), "bounce") == 0;
    CHECK(bounce == (size > 1 && getenv("TERN_CMA") != NULL && !job_far((int)right)));
    for (int strict = 0; strict < 2; strict++) {
        tern_ctx *ctx;

        OK(tern_ctx_create(tern_team_world(), strict ? TERN_STRICT : TERN_RELAXED, &ctx));
        job_fill(src, LEN, me, 1);
        job_fill(src + LEN, LEN, me, 2);
        refused_for_want_of_space(ctx, r.region, (int)right, src);
        refusals(ctx, r.region, (int)right, src, check);
        flood(ctx, r.region, (int)right, src);
        OK(tern_barrier(TERN_WORLD));
        HOLDS(r.mine, LEN, left, 1);
        HOLDS(r.mine + LEN, LEN, left, 2);
        OK(tern_barrier(TERN_WORLD));
        OK(tern_ctx_free(ctx));
    }
    job_region_drop(&r);
    OK(tern_finalize());
    free(src);
    free(check);
    return 0;
}

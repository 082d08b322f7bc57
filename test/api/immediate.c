/* immediate.c: operations that may not wait.
 *
 * env: TERN_CMA=off TERN_BOUNCE_CHUNK=4K TERN_BOUNCE_CHUNKS=1
 *
 * Promise: with TERN_IMMEDIATE an operation that finds no room is TERN_AGAIN, with nothing started and no event filled;
 * after progress it succeeds. Without the flag it waits for room, at most as long as the context's time limit. Under
 * chaos it is not known when there is room.
 */
#include "job_test.h"

#define LEN (256u * 1024)
#define NOT_AN_EVENT ((struct tern_pending *)(uintptr_t)0xabcd0)

/* A long transfer takes every chunk; the second finds none. */
static void refused_then_done(tern_ctx *ctx, tern_region *region, int to, unsigned char *src, bool bounce)
{
    tern_event  first, second = { NOT_AN_EVENT }, near = { NOT_AN_EVENT };
    tern_opts   opts = { .flags = TERN_IMMEDIATE, .local = &near, .event = &second };
    unsigned    refused = 0;
    tern_status st;

    OK(tern_put_nb(ctx, region, to, 0, src, LEN, &first));
    while ((st = tern_put_with(ctx, region, to, LEN, src + LEN, LEN, &opts)) == TERN_AGAIN) {
        CHECK(second.pending == NOT_AN_EVENT && near.pending == NOT_AN_EVENT);
        refused++;
        OK(tern_progress(ctx));
    }
    OK(st);
    CHECK(job_chaos() || job_far(to) || (bounce ? refused > 0 : refused == 0));
    OK(tern_event_wait(&second, TERN_FOREVER));
    OK(tern_event_wait(&near, TERN_FOREVER));
    OK(tern_event_wait(&first, TERN_FOREVER));
}

/* What was refused did not happen: the target keeps its old bytes when the program does not try again. */
static void refused_is_nothing(tern_ctx *ctx, tern_region *region, int to, unsigned char *src, unsigned char *check)
{
    tern_opts opts = { .flags = TERN_IMMEDIATE, .local = NULL, .event = NULL };

    memset(check, 0x33, LEN);
    OK(tern_put(ctx, region, to, LEN, check, LEN));
    OK(tern_put_nbi(ctx, region, to, 0, src, LEN));
    RETURNS(TERN_AGAIN, tern_put_with(ctx, region, to, LEN, src + LEN, LEN, &opts));
    OK(tern_quiet(ctx));
    memset(check, 0, LEN);
    OK(tern_get(ctx, region, to, LEN, check, LEN));
    ALL_ARE(check, LEN, 0x33);
    OK(tern_get_nbi(ctx, region, to, 0, check, LEN));
    memset(src + LEN, 0x44, LEN);
    RETURNS(TERN_AGAIN, tern_get_with(ctx, region, to, 0, src + LEN, LEN, &opts));
    OK(tern_quiet(ctx));
    ALL_ARE(src + LEN, LEN, 0x44);
    job_fill(src + LEN, LEN, (unsigned)tern_rank(), 2);
}

/* Many more transfers than chunks, none waited for: back-pressure, no loss. */
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
        refused_then_done(ctx, r.region, (int)right, src, bounce);
        if (bounce && !job_chaos())
            refused_is_nothing(ctx, r.region, (int)right, src, check);
        flood(ctx, r.region, (int)right, src);
        OK(tern_barrier(TERN_WORLD));
        HOLDS(r.mine, LEN, left, 1);
        HOLDS(r.mine + LEN, LEN, left, 2);
        OK(tern_barrier(TERN_WORLD));
        OK(tern_ctx_destroy(ctx));
    }
    job_region_drop(&r);
    OK(tern_finalize());
    free(src);
    free(check);
    return 0;
}

/* threads.c: many threads of each rank, each with its own context.
 *
 * Promise: threads with a context each move data at the same time through every path and never disturb each other,
 * while one thread creates and frees regions on the world team and another does so on the node team. A second
 * collective call on a team at the same time is TERN_ERR_STATE, never a mix-up. Written for the thread sanitizer.
 *
 * ranks: 1 2 3 4
 * env: TERN_CMA=off
 * env: TERN_CMA=off TERN_BOUNCE_CHUNK=4K TERN_BOUNCE_CHUNKS=1
 * env: TERN_TEST=apart=1
 */
#include <pthread.h>

#include "job_test.h"

#define THREADS 8
#define SLICE 20000u

struct worker {
    int                number;
    pthread_t          thread;
    struct job_region *regions; /* [JOB_KINDS] */
    _Atomic bool      *stop;
};

/* Each (rank, thread) owns one slice of every rank's part. */
static uint64_t slice(int thread)
{
    return (uint64_t)(tern_rank() * THREADS + thread) * SLICE;
}

static void one_round(tern_ctx *ctx, struct worker *w, unsigned round, unsigned char *src, unsigned char *dst)
{
    unsigned who = (unsigned)(tern_rank() * THREADS + w->number);
    size_t   len = 1 + (round * 7919u) % (SLICE - 1);

    for (int kind = 0; kind < JOB_KINDS; kind++) {
        tern_region *region = w->regions[kind].region, *found;
        int          to = (int)(round + (unsigned)kind) % job_ranks(ctx);
        uint64_t     at = slice(w->number), value = 0, offset;
        tern_event   event[2];

        job_fill(src, len, who, round);
        OK(tern_put(ctx, region, to, at, src, len));
        OK(tern_get_nb(ctx, region, to, at, dst, len, &event[0]));
        OK(tern_event_wait(&event[0], TERN_FOREVER));
        HOLDS(dst, len, who, round);
        OK(tern_put_nb(ctx, region, to, at, src, len / 2, &event[0]));
        OK(tern_put_nb(ctx, region, to, at + len / 2, src, len - len / 2, &event[1]));
        OK(tern_event_wait_all(event, 2, TERN_FOREVER));
        OK(tern_put_nbi(ctx, region, to, at, src, len));
        OK(tern_fence(ctx));
        OK(tern_put_u64(ctx, region, to, at + SLICE - 8, round));
        OK(tern_quiet(ctx));
        OK(tern_get_u64(ctx, region, to, at + SLICE - 8, &value));
        SAME(value, round);
        OK(tern_region_find(ctx, job_me(ctx), w->regions[kind].mine + at, &found, &offset));
        CHECK(found == region && offset == at);
    }
}

static void *mover(void *arg)
{
    struct worker *w = arg;
    unsigned char *src = job_new(SLICE), *dst = job_new(SLICE);
    tern_ctx      *ctx;

    OK(tern_ctx_create(w->number % 2 ? tern_team_node() : tern_team_world(), w->number % 3 ? TERN_RELAXED : TERN_STRICT,
                       &ctx));
    for (unsigned round = 0; round < (JOB_SANITIZED ? 20 : 100); round++)
        one_round(ctx, w, round, src, dst);
    OK(tern_ctx_free(ctx));
    free(src);
    free(dst);
    return NULL;
}

/* Create, use and free regions on one team, a fixed number of times. */
static void *maker(void *arg)
{
    struct worker *w = arg;
    tern_team     *team = w->number ? tern_team_node() : tern_team_world();
    unsigned char *memory = job_new(10000);
    tern_region   *a, *b;
    uint64_t       got;
    tern_ctx      *ctx;

    OK(tern_ctx_create(team, TERN_RELAXED, &ctx));
    for (unsigned round = 0; round < (JOB_SANITIZED ? 10 : 60); round++) {
        OK(tern_region_register(ctx, memory, 10000, &a)); /* the first of them may start the helper thread */
        OK(tern_region_create(ctx, 5000, NULL, &b));
        OK(tern_put_u64(ctx, a, (job_me(ctx) + 1) % job_ranks(ctx), 8, round));
        OK(tern_put_u64(ctx, b, (job_me(ctx) + 1) % job_ranks(ctx), 8, round));
        OK(tern_barrier(ctx));
        OK(tern_get_u64(ctx, a, job_me(ctx), 8, &got));
        SAME(got, round);
        OK(tern_get_u64(ctx, b, job_me(ctx), 8, &got));
        SAME(got, round);
        OK(tern_region_free(a));
        OK(tern_region_free(b));
    }
    OK(tern_ctx_free(ctx));
    free(memory);
    return NULL;
}

/* Two threads that both call a collective on one team: one of them gets an error. */
static void *intruder(void *arg)
{
    struct worker *w = arg;
    tern_ctx      *ctx;
    tern_status    st;

    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
    do
        st = tern_barrier(ctx);
    while (st == TERN_ERR_STATE && !*w->stop);
    CHECK(st == TERN_OK || *w->stop);
    OK(tern_ctx_free(ctx));
    return NULL;
}

static void run(struct worker *workers, int count, void *(*body)(void *))
{
    for (int i = 0; i < count; i++)
        CHECK(pthread_create(&workers[i].thread, NULL, body, &workers[i]) == 0);
}

static void finish(struct worker *workers, int count)
{
    for (int i = 0; i < count; i++)
        CHECK(pthread_join(workers[i].thread, NULL) == 0);
}

int main(void)
{
    struct job_region regions[JOB_KINDS];
    struct worker     movers[THREADS], makers[2], two[2];
    _Atomic bool      stop = false;

    OK(tern_init());
    for (int i = 0; i < 2; i++)
        makers[i] = (struct worker){ .number = i };
    run(makers, 2, maker); /* first by themselves: they race to start what exists once */
    finish(makers, 2);
    for (int kind = 0; kind < JOB_KINDS; kind++)
        job_region_make(&regions[kind], (enum job_kind)kind, (uint64_t)tern_size() * THREADS * SLICE);
    for (int i = 0; i < THREADS; i++)
        movers[i] = (struct worker){ .number = i, .regions = regions };
    run(movers, THREADS, mover);
    run(makers, 2, maker);
    finish(movers, THREADS);
    finish(makers, 2);
    for (int i = 0; i < 2; i++)
        two[i] = (struct worker){ .stop = &stop };
    run(two, 2, intruder); /* each rank enters two barriers, in either order */
    finish(two, 2);
    for (int kind = 0; kind < JOB_KINDS; kind++)
        job_region_drop(&regions[kind]);
    OK(tern_finalize());
    return 0;
}

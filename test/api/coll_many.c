/* coll_many.c: many nonblocking collective operations at once, triggered ones, and threads on overlapping teams.
 *
 * Promise: hundreds of collective operations may be outstanding on a team, and the program may wait for them in any
 * order. A counter starts an operation, and a counter counts its end. Threads use overlapping teams at the same time.
 * While a rank sleeps, its operations make progress. tern_finalize completes what is outstanding.
 *
 * ranks: 1 2 3 4 8
 * env: TERN_TEST=net=off
 * sanitized: 2 4
 * hosts: a:2,b:2
 */
#include <pthread.h>
#include <unistd.h>

#include "job_test.h"

#define MANY 120
#define LONG 20000 /* words */

static int me, size;

static const tern_reduce_args sum = { .size = sizeof(sum), .type = TERN_UINT64 };

/* Start many operations, and wait in an order that differs between the ranks. */
static void many(tern_ctx *ctx)
{
    static uint64_t from[MANY], to[MANY];
    tern_event      event[MANY];

    for (int i = 0; i < MANY; i++) {
        from[i] = (uint64_t)(me + i);
        to[i] = from[i];
        if (i % 3 == 0)
            OK(tern_broadcast_with(ctx, i % size, &to[i], 8, &TERN_OPTS(.event = &event[i])));
        else
            OK(tern_allreduce_with(ctx, &from[i], &to[i], 1, &sum, &TERN_OPTS(.event = &event[i])));
    }
    for (int i = 0; i < MANY; i++)
        OK(tern_event_wait(&event[(i * 7 + me * 13) % MANY], TERN_FOREVER));
    for (int i = 0; i < MANY; i++)
        SAME(to[i], i % 3 == 0 ? (uint64_t)(i % size + i) : (uint64_t)(size * i + size * (size - 1) / 2));
}

/* Blocking calls between nonblocking ones. */
static void between(tern_ctx *ctx)
{
    uint64_t   one = 1, early = 0, late = 0, now = 0;
    tern_event event[2];

    OK(tern_allreduce_with(ctx, &one, &early, 1, &sum, &TERN_OPTS(.event = &event[0])));
    OK(tern_allreduce(ctx, &one, &now, 1, &sum));
    OK(tern_allreduce_with(ctx, &one, &late, 1, &sum, &TERN_OPTS(.event = &event[1])));
    OK(tern_barrier(ctx));
    OK(tern_event_wait(&event[1], TERN_FOREVER));
    OK(tern_event_wait(&event[0], TERN_FOREVER));
    CHECK(early == (uint64_t)size && late == early && now == early);
}

/* An operation that a counter starts, and that a counter counts. */
static void triggered(tern_ctx *ctx)
{
    static uint64_t from[LONG], to[LONG];
    tern_counter   *start, *ended;
    tern_event      event;
    size_t          cancelled;

    for (int i = 0; i < LONG; i++)
        from[i] = (uint64_t)i;
    OK(tern_counter_create(ctx, &start));
    OK(tern_counter_create(ctx, &ended));
    OK(tern_allreduce_with(ctx, from, to, LONG, &sum,
                           &TERN_OPTS(.event = &event, .counter = ended, .when = start, .threshold = 2)));
    RETURNS(TERN_PENDING, tern_event_test(&event));
    OK(tern_counter_add(start, 1));
    OK(tern_sync(ctx));
    RETURNS(TERN_PENDING, tern_event_test(&event));
    OK(tern_counter_add(start, 1));
    OK(tern_event_wait(&event, TERN_FOREVER));
    OK(tern_counter_wait(ended, 1, TERN_FOREVER));
    for (int i = 0; i < LONG; i++)
        SAME(to[i], (uint64_t)i * (uint64_t)size);
    OK(tern_sync_with(ctx, &TERN_OPTS(.event = &event, .when = start, .threshold = 100)));
    OK(tern_counter_cancel(start, &cancelled));
    SAME(cancelled, 1u);
    RETURNS(TERN_ERR_CANCELLED, tern_event_wait(&event, TERN_FOREVER));
    OK(tern_counter_free(start));
    OK(tern_counter_free(ended));
}

/* A barrier that completes the puts before it, nonblocking and triggered. */
static void barriers(tern_ctx *ctx)
{
    enum { PUTS = 20, BYTES = 3000 };
    static unsigned char bytes[PUTS][BYTES];
    int                  to = (me + 1) % size;
    tern_region         *region;
    tern_counter        *start;
    tern_event           event;

    OK(tern_region_create(ctx, (uint64_t)PUTS * BYTES, NULL, &region));
    OK(tern_counter_create(ctx, &start));
    for (int round = 0; round < 3; round++) {
        memset(bytes, 10 * me + round + 1, sizeof(bytes));
        for (int i = 0; i < PUTS; i++)
            OK(tern_put_nbi(ctx, region, to, (uint64_t)i * BYTES, bytes[i], BYTES));
        OK(tern_barrier_with(ctx, &TERN_OPTS(.event = &event, .when = round == 1 ? start : NULL, .threshold = 1)));
        if (round == 1) {
            OK(tern_quiet(ctx));
            RETURNS(TERN_PENDING, tern_event_test(&event));
            OK(tern_counter_add(start, 1));
        }
        OK(tern_event_wait(&event, TERN_FOREVER));
        for (uint64_t i = 0; i < (uint64_t)PUTS * BYTES; i++)
            CHECK(((unsigned char *)tern_region_ptr(region, me))[i] == 10 * ((me + size - 1) % size) + round + 1);
        OK(tern_sync(ctx)); /* before the next puts arrive */
    }
    OK(tern_counter_free(start));
    OK(tern_region_free(region));
}

static void *on_team(void *arg)
{
    tern_ctx *ctx = arg;
    uint64_t  one = 1, all;

    for (int i = 0; i < 50; i++) {
        OK(tern_allreduce(ctx, &one, &all, 1, &sum));
        SAME(all, (uint64_t)size);
        many(ctx);
        i += 24;
    }
    return NULL;
}

static void *alone(void *arg)
{
    tern_ctx *ctx = arg;
    uint64_t  one = 1, all;

    for (int i = 0; i < 200; i++) {
        OK(tern_allreduce(ctx, &one, &all, 1, &sum));
        SAME(all, (uint64_t)size);
    }
    return NULL;
}

/* Two threads, each on a team of its own. */
static void threads(void)
{
    pthread_t  thread[2];
    tern_team *team[2];
    tern_ctx  *ctx[2];

    for (int i = 0; i < 2; i++) {
        OK(tern_team_dup(TERN_WORLD, &team[i]));
        OK(tern_ctx_create(team[i], TERN_RELAXED, &ctx[i]));
    }
    CHECK(pthread_create(&thread[0], NULL, on_team, ctx[0]) == 0);
    CHECK(pthread_create(&thread[1], NULL, alone, ctx[1]) == 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        OK(tern_ctx_free(ctx[i]));
    }
    for (int i = 0; i < 2; i++)
        OK(tern_team_free(team[i]));
}

/* A team that overlaps another one, and this rank's thread on it. */
struct overlap {
    tern_team *team; /* NULL: this rank is not a member */
    tern_ctx  *ctx;
    int        first, size; /* the first rank of the team in the job */
    pthread_t  thread;
};

/* Calls of all ways on the team of a thread. */
static void *on_overlap(void *arg)
{
    const struct overlap *o = arg;
    size_t                words = 3000, n = (size_t)o->size;
    uint64_t             *from = job_new(words * sizeof(*from)), *to = job_new(n * words * sizeof(*to)), one = 1, all;
    tern_event            event;

    for (size_t i = 0; i < 60; i++) {
        size_t len = i % 3 == 0 ? words : 200; /* words */
        int    root = (int)(i % n);

        for (size_t k = 0; k < words; k++)
            from[k] = (uint64_t)me * 100000 + i + k;
        OK(tern_allreduce_with(o->ctx, from, to, len, &sum, &TERN_OPTS(.event = &event)));
        OK(tern_allreduce(o->ctx, &one, &all, 1, &sum));
        SAME(all, n);
        OK(tern_event_wait(&event, TERN_FOREVER));
        for (size_t k = 0; k < len; k++)
            SAME(to[k], (2 * (uint64_t)o->first + n - 1) * n / 2 * 100000 + n * (i + k));
        OK(tern_allgather(o->ctx, from, len * sizeof(*from), to));
        for (size_t k = 0; k < n * len; k++)
            SAME(to[k], ((uint64_t)o->first + k / len) * 100000 + i + k % len);
        OK(tern_broadcast(o->ctx, root, from, len * sizeof(*from)));
        for (size_t k = 0; k < len; k++)
            SAME(from[k], (uint64_t)(o->first + root) * 100000 + i + k);
    }
    free(from);
    free(to);
    return NULL;
}

/* Two threads, of which one uses the team of all ranks but the last one, and the other the team of all ranks but the
 * first one. The first and the last rank have one of the threads only. */
static void overlapping(void)
{
    struct overlap o[2] = { { .first = 0, .size = size - 1 }, { .first = 1, .size = size - 1 } };
    int            list[16];

    for (int i = 0; i < 2 && size > 2; i++) {
        if (me < o[i].first || me >= o[i].first + o[i].size)
            continue;
        for (int k = 0; k < o[i].size; k++)
            list[k] = o[i].first + k;
        OK(tern_team_create(tern_team_world(), list, o[i].size, 40 + (uint64_t)i, &o[i].team));
        OK(tern_ctx_create(o[i].team, TERN_RELAXED, &o[i].ctx));
    }
    for (int i = 0; i < 2; i++)
        if (o[i].team)
            CHECK(pthread_create(&o[i].thread, NULL, on_overlap, &o[i]) == 0);
    for (int i = 0; i < 2; i++) {
        if (!o[i].team)
            continue;
        pthread_join(o[i].thread, NULL);
        OK(tern_ctx_free(o[i].ctx));
        OK(tern_team_free(o[i].team));
    }
}

/* A rank that sleeps does not delay the others. */
static void asleep(void)
{
    static uint64_t from[LONG], to[LONG];
    tern_event      event;
    int64_t         begin;

    OK(tern_sync(TERN_WORLD));
    OK(tern_allreduce_with(TERN_WORLD, from, to, LONG, &sum, &TERN_OPTS(.event = &event)));
    begin = tern_clock();
    if (me == 0)
        usleep(400000);
    OK(tern_event_wait(&event, TERN_FOREVER));
    if (me != 0 && getenv("TERN_CHAOS") == NULL)
        CHECK(tern_clock() - begin < 390000000);
}

int main(void)
{
    static uint64_t   one = 1, last;
    static tern_event event; /* never waited for */

    OK(tern_init());
    me = tern_rank();
    size = tern_size();
    many(TERN_WORLD);
    between(TERN_WORLD);
    triggered(TERN_WORLD);
    barriers(TERN_WORLD);
    asleep();
    threads();
    overlapping();
    OK(tern_allreduce_with(TERN_WORLD, &one, &last, 1, &sum, &TERN_OPTS(.event = &event)));
    OK(tern_finalize());
    SAME(last, (uint64_t)size);
    return 0;
}

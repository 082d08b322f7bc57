/* quiet.c: fences that complete nothing, completion towards one rank, of everything by an event, and of sources.
 *
 * Promise: tern_fence completes no operation, and yet orders later operations behind earlier ones, whatever their kinds
 * and paths. tern_quiet_rank completes the operations to its rank. The event of tern_quiet_nb completes when all
 * operations that were started before it are complete, however many are started later. After tern_quiet_local the
 * sources may be overwritten. tern_event_peek makes no progress, and so runs no handlers.
 *
 * providers: net sockets shm
 * env: TERN_CMA=off TERN_BOUNCE_CHUNK=4K TERN_BOUNCE_CHUNKS=4
 * env: TERN_CMA=off TERN_SPIN=0 TERN_YIELDS=0
 */
#include "job_test.h"

#define LONG 30000u
#define WINDOW 8u

static unsigned handled, expected;

static void arguments(void)
{
    tern_event event = TERN_EVENT_INIT;

    RETURNS(TERN_ERR_ARG, tern_event_peek(NULL));
    OK(tern_event_peek(&event));
    RETURNS(TERN_ERR_ARG, tern_quiet_rank(NULL, 0));
    REFUSES(TERN_ERR_RANGE, tern_quiet_rank(TERN_WORLD, -1));
    REFUSES(TERN_ERR_RANGE, tern_quiet_rank(TERN_WORLD, tern_size()));
    RETURNS(TERN_ERR_ARG, tern_quiet_local(NULL));
    RETURNS(TERN_ERR_ARG, tern_quiet_nb(NULL, &event));
    REFUSES(TERN_ERR_ARG, tern_quiet_nb(TERN_WORLD, NULL));
    OK(tern_quiet_nb(TERN_WORLD, &event));
    CHECK(event.pending == NULL); /* nothing is outstanding */
    OK(tern_quiet_local(TERN_WORLD));
    OK(tern_quiet_rank(TERN_WORLD, tern_rank()));
}

/* A fence makes no progress: what is outstanding before it is outstanding after it. */
static void fence_leaves(tern_ctx *ctx, struct job_region *r, unsigned char *src)
{
    int        to = (job_me(ctx) + 1) % job_ranks(ctx);
    tern_event event[WINDOW];
    unsigned   left = 0, still = 0;

    for (unsigned i = 0; i < WINDOW; i++) {
        OK(tern_put_nb(ctx, r->region, to, i * LONG, src + i * LONG, LONG, &event[i]));
        left += event[i].pending != NULL;
    }
    for (unsigned i = left = 0; i < WINDOW; i++)
        left += tern_event_peek(&event[i]) == TERN_PENDING;
    OK(tern_fence(ctx));
    for (unsigned i = 0; i < WINDOW; i++)
        still += tern_event_peek(&event[i]) == TERN_PENDING;
    SAME(left, still);
    if (job_network() && tern_size() > 1) /* the test would show nothing if all had completed before */
        CHECK(left > 0);
    OK(tern_event_wait_all(event, WINDOW, TERN_FOREVER));
}

/* What operations do to one word between fences is what they would do one after the other. */
static void fence_orders(tern_ctx *ctx, struct job_region *r, uint64_t rounds)
{
    int            to = (job_me(ctx) + 1) % job_ranks(ctx);
    const uint64_t one = 1;
    tern_acc_args  add = TERN_ACC_ARGS(.type = TERN_UINT64);
    uint64_t       got[3], word, three[3];

    for (uint64_t i = 1; i <= rounds; i++) {
        OK(tern_put_nbi(ctx, r->region, to, 0, (word = 10 * i, &word), 8));
        OK(tern_quiet_local(ctx)); /* word is written again */
        OK(tern_fence(ctx));
        OK(tern_acc_with(ctx, r->region, to, 0, &one, 8, &TERN_OPTS(.acc = &add)));
        OK(tern_fence(ctx));
        OK(tern_get_nbi(ctx, r->region, to, 0, &got[0], 8));
        OK(tern_fence(ctx));
        OK(tern_put_u64(ctx, r->region, to, 0, 20 * i));
        OK(tern_fence(ctx));
        OK(tern_get_nbi(ctx, r->region, to, 0, &got[1], 8));
        OK(tern_fence(ctx));
        three[0] = three[1] = three[2] = i;
        OK(tern_put_nbi(ctx, r->region, to, 0, three, sizeof(three)));
        OK(tern_fence(ctx));
        OK(tern_get_u64(ctx, r->region, to, 16, &got[2]));
        OK(tern_quiet(ctx));
        SAME(got[0], 10 * i + 1);
        SAME(got[1], 20 * i);
        SAME(got[2], i);
    }
}

/* One rank is complete, and an event of everything is not delayed by what follows. */
static void one_rank_and_all(tern_ctx *ctx, struct job_region *r, unsigned char *src)
{
    int        size = job_ranks(ctx), me = job_me(ctx);
    tern_event event[8], all, more;
    uint64_t   sum = 0;

    for (int to = 0; to < size; to++)
        OK(tern_put_nb(ctx, r->region, to, (uint64_t)(me % 4) * LONG, src, LONG, &event[to]));
    OK(tern_quiet_nb(ctx, &all));
    OK(tern_quiet_rank(ctx, (me + 1) % size));
    OK(tern_event_peek(&event[(me + 1) % size]));
    OK(tern_event_wait(&all, TERN_FOREVER));
    for (int to = 0; to < size; to++)
        OK(tern_event_peek(&event[to])); /* started before */
    OK(tern_put_nbi(ctx, r->region, (me + 1) % size, 4 * LONG, src, LONG));
    OK(tern_quiet_nb(ctx, &all));
    while (all.pending && tern_event_test(&all) == TERN_PENDING) { /* at any time, something newer is outstanding */
        OK(tern_put_nb(ctx, r->region, (me + 1) % size, 5 * LONG, src, LONG, &more));
        CHECK(++sum < 10000000);
        OK(tern_event_wait(&more, TERN_FOREVER));
    }
    OK(tern_quiet(ctx));
}

static void sources(tern_ctx *ctx, struct job_region *r, unsigned char *src)
{
    int      size = job_ranks(ctx), me = job_me(ctx), to = (me + 1) % size, from = (me + size - 1) % size;
    unsigned rounds = 20;

    for (unsigned i = 0; i < rounds; i++) {
        for (unsigned k = 0; k < WINDOW; k++)
            job_fill(src + k * LONG, LONG, (unsigned)me, i * WINDOW + k);
        for (unsigned k = 0; k < WINDOW; k++)
            OK(tern_put_nbi(ctx, r->region, to, k * LONG, src + k * LONG, k % 2 ? LONG : 100));
        OK(tern_quiet_local(ctx));
        memset(src, 0xee, WINDOW * LONG);
        OK(tern_barrier(ctx));
        for (unsigned k = 0; k < WINDOW; k++)
            HOLDS(r->mine + k * LONG, k % 2 ? LONG : 100, (unsigned)from, i * WINDOW + k);
        OK(tern_barrier(ctx));
    }
}

static void handler(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    handled++;
}

/* A peek runs no handler, although messages have arrived. */
static void peek_is_passive(tern_ctx *ctx, struct job_region *r)
{
    int        size = job_ranks(ctx), me = job_me(ctx);
    tern_event event;
    unsigned   before;

    expected++; /* a message of the peer may have been handled already */
    OK(tern_am_short(ctx, (me + 1) % size, 1, NULL, 0));
    OK(tern_signal_event(ctx, r->region, 0, TERN_EQ, 77, &event));
    before = handled;
    for (unsigned i = 0; i < 100000; i++)
        RETURNS(TERN_PENDING, tern_event_peek(&event));
    SAME(handled, before);
    __atomic_store_n((uint64_t *)(void *)r->mine, 77, __ATOMIC_RELEASE);
    OK(tern_event_peek(&event));
    OK(tern_event_peek(&event));
    SAME(handled, before);
    while (handled < expected)
        OK(tern_progress(ctx));
    OK(tern_barrier(ctx));
    memset(r->mine, 0, 8);
    OK(tern_barrier(ctx));
}

/* Fences, and the scopes of quiet, see operations with counters too. */
static void with_counters(tern_ctx *ctx, struct job_region *r, unsigned char *src)
{
    int           to = (job_me(ctx) + 1) % job_ranks(ctx);
    tern_counter *counter;
    tern_event    all;
    uint64_t      value;

    OK(tern_put_nbi(ctx, r->region, to, LONG, src, LONG));
    OK(tern_fence(ctx)); /* before the context has counters */
    OK(tern_counter_create(ctx, &counter));
    for (unsigned i = 1; i <= 3; i++) {
        for (unsigned k = 0; k < WINDOW; k++)
            OK(tern_put_with(ctx, r->region, to, k * LONG, src + k * LONG, LONG, &TERN_OPTS(.counter = counter)));
        if (i == 1)
            OK(tern_fence(ctx));
        else if (i == 2)
            OK(tern_quiet_rank(ctx, to));
        OK(tern_quiet_nb(ctx, &all));
        OK(tern_event_wait(&all, TERN_FOREVER));
        OK(tern_counter_read(counter, &value, NULL));
        SAME(value, i * WINDOW);
    }
    OK(tern_put_with(ctx, r->region, to, 0, src, 8, &TERN_OPTS(.when = counter, .threshold = 1000)));
    OK(tern_quiet_nb(ctx, &all)); /* does not wait for the counter */
    OK(tern_event_wait(&all, TERN_FOREVER));
    OK(tern_quiet_local(ctx));
    OK(tern_counter_cancel(counter, NULL));
    OK(tern_counter_free(counter));
}

static void all_of(tern_ctx *ctx, struct job_region *r, unsigned char *src)
{
    uint64_t rounds = JOB_SANITIZED || job_network() ? 50 : 300;

    for (unsigned i = 0; i < 10; i++)
        fence_leaves(ctx, r, src);
    OK(tern_barrier(ctx));
    fence_orders(ctx, r, rounds);
    OK(tern_barrier(ctx));
    for (unsigned i = 0; i < 10; i++)
        one_rank_and_all(ctx, r, src);
    OK(tern_barrier(ctx));
    sources(ctx, r, src);
    peek_is_passive(ctx, r);
    for (unsigned i = 0; i < 20 && tern_ctx_order(ctx) == TERN_RELAXED; i++)
        with_counters(ctx, r, src);
    OK(tern_barrier(ctx));
}

int main(void)
{
    struct job_region r;
    tern_ctx         *strict, *relaxed;
    unsigned char    *src = job_new(WINDOW * LONG);

    OK(tern_init());
    OK(tern_am_register(1, handler, NULL));
    arguments();
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &strict));
    for (int kind = 0; kind < JOB_KINDS; kind += JOB_REGISTERED) {
        OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &relaxed));
        job_region_make(&r, (enum job_kind)kind, WINDOW * LONG);
        all_of(relaxed, &r, src);
        all_of(strict, &r, src);
        job_region_drop(&r);
        OK(tern_ctx_free(relaxed));
    }
    OK(tern_ctx_free(strict));
    OK(tern_finalize());
    free(src);
    return 0;
}

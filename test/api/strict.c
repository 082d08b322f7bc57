/* strict.c: order as the target sees it.
 *
 * Promise: in a strict context operations to one target are delivered in program order, whichever paths they take
 * (loads and stores, the kernel, bounced in chunks), and whether they are puts or atomic operations; in a relaxed
 * context tern_fence gives the same order. The target polls both places without calling Tern. Gets of a strict context
 * follow the puts before them.
 *
 * ranks: 2 3 4 8
 * providers: net sockets shm
 * env: TERN_CMA=off TERN_BOUNCE_CHUNK=4K TERN_BOUNCE_CHUNKS=4
 */
#include <sched.h>

#include "job_test.h"

#define LONG 50000u

static tern_atomic_domain *adding;

/* Read without a call of Tern. The thread sanitizer cannot know that the accesses are ordered, and ignores them. */
static __attribute__((noinline, no_sanitize("thread"))) uint64_t load(const unsigned char *at)
{
    return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

/* Order two operations: nothing in a strict context, a fence in a relaxed one. */
static void order(tern_ctx *ctx)
{
    if (tern_ctx_order(ctx) == TERN_RELAXED)
        OK(tern_fence(ctx));
}

/* Data by the slow path, then the flag by the fast path; then the other way round. */
static void producer(tern_ctx *ctx, tern_region *slow, tern_region *fast, int to, uint64_t rounds)
{
    const uint64_t   one = 1;
    tern_atomic_args add = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_ADD, .operand = &one);
    uint64_t        *data = job_new(LONG);
    tern_event       event;
    uint64_t         got = 0;

    for (uint64_t i = 1; i <= rounds; i++) {
        for (size_t k = 0; k < LONG / 8; k++)
            data[k] = i;
        OK(tern_put_nb(ctx, slow, to, 0, data, LONG, &event));
        order(ctx);
        OK(tern_atomic_nbi(ctx, adding, slow, to, LONG + 8, &add));
        order(ctx);
        OK(tern_put_nbi(ctx, fast, to, 0, &i, 8)); /* inlined, except behind an outstanding operation */
        order(ctx);
        OK(tern_put_nbi(ctx, slow, to, LONG, &i, 8));
        order(ctx);
        OK(tern_get_nbi(ctx, slow, to, LONG, &got, 8));
        order(ctx);
        OK(tern_put_u64(ctx, fast, to, 8, i));
        OK(tern_event_wait(&event, TERN_FOREVER));
        OK(tern_quiet(ctx));
        SAME(got, i);
        while (got != 0) /* the target resets the flag when it has checked */
            OK(tern_get_u64(ctx, fast, to, 8, &got));
    }
    free(data);
}

/* Poll without calling Tern: the target is passive. */
static void consumer(unsigned char *slow, unsigned char *fast, uint64_t rounds)
{
    for (uint64_t i = 1; i <= rounds; i++) {
        while (load(slow + LONG + 8) != i && load(fast) != i && load(fast + 8) != i)
            sched_yield();
        for (size_t k = 0; k < LONG / 8; k++) /* the flag is here, so the data is too */
            SAME(load(slow + 8 * k), i);
        while (load(fast + 8) != i)
            sched_yield();
        SAME(load(slow + LONG), i);
        SAME(load(slow + LONG + 8), i);
        SAME(load(fast), i);
        __atomic_store_n((uint64_t *)(void *)(fast + 8), 0, __ATOMIC_RELEASE);
    }
}

int main(void)
{
    struct job_region fast, slow;
    tern_ctx         *strict;
    uint64_t          rounds = JOB_SANITIZED ? 20 : 150;
    int               me;

    OK(tern_init());
    me = tern_rank();
    job_region_make(&fast, JOB_HOST, 4096);
    job_region_make(&slow, JOB_REGISTERED, LONG + 16);
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &strict));
    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_ADD, 0, &adding));
    for (int relaxed = 0; relaxed < 2; relaxed++) { /* pairs: even ranks produce for the odd ones after them */
        if (me % 2 == 0 && me + 1 < tern_size())
            producer(relaxed ? TERN_WORLD : strict, slow.region, fast.region, me + 1, rounds);
        else if (me % 2 == 1)
            consumer(slow.mine, fast.mine, rounds);
        memset(fast.mine, 0, 64);
        memset(slow.mine + LONG, 0, 16);
        OK(tern_barrier(TERN_WORLD));
    }
    OK(tern_atomic_domain_free(adding));
    OK(tern_ctx_free(strict));
    job_region_drop(&slow);
    job_region_drop(&fast);
    OK(tern_finalize());
    return 0;
}

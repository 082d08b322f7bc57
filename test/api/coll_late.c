/* coll_late.c: members of a team on one node that give up a collective call because their time limit passes, while
 * other members are behind them, or access their arrays.
 *
 * Promise: a member that gives up does not disturb the calls before, which others may not have completed yet. After a
 * call has returned, with or without an error, no other rank accesses the arrays of the caller. A call that succeeds
 * has the right result, also if its sources are short enough to be copied to memory that the ranks share. Nobody waits
 * forever: a rank without a time limit gets an error from its next call at the latest.
 *
 * ranks: 2 3 4
 * env: TERN_CMA=off
 * env: TERN_SPIN=0 TERN_YIELDS=0
 * chaos: off, because chaos has no memory that the ranks share for collective calls
 * network: off, because only ranks that share memory access the arrays of each other
 * tcp: off, because only ranks that share memory access the arrays of each other
 * hosts: off, because only ranks that share memory access the arrays of each other
 */
#include <stdatomic.h>

#include "job_test.h"

#define WORDS 12000
#define AHEAD 63 /* broadcasts that a root makes while the others have not completed the call before */
#define STOP 1   /* handler */

static int           me, size;
static tern_region  *region;
static _Atomic int  *flag; /* in the memory of rank 0 */
static bool          slow; /* this rank's function sleeps */
static unsigned char src[8 * WORDS], dst[8 * WORDS];
enum { CALLING, STOPPED, GO_ON, COMBINES };

static const tern_reduce_args sum = { .size = sizeof(sum), .type = TERN_UINT64 };

struct stage {
    tern_team *team;
    tern_ctx  *ctx;
};

static struct stage open_stage(void)
{
    struct stage stage;

    OK(tern_team_dup(TERN_WORLD, &stage.team));
    OK(tern_ctx_create(stage.team, TERN_RELAXED, &stage.ctx));
    if (me == 0)
        for (int i = 0; i < 4; i++)
            atomic_store(&flag[i], 0);
    OK(tern_barrier(TERN_WORLD));
    return stage;
}

static void close_stage(struct stage *stage)
{
    OK(tern_barrier(TERN_WORLD));
    OK(tern_ctx_free(stage->ctx));
    OK(tern_team_free(stage->team));
}

static void await_flag(int which)
{
    for (int i = 0; i < 10000 && atomic_load(&flag[which]) == 0; i++)
        usleep(1000);
}

/* Keep this rank, which waits in a call, from looking at what the others do there. */
static void stop(const tern_am_event *event, void *user)
{
    (void)event;
    (void)user;
    atomic_store(&flag[STOPPED], 1);
    await_flag(GO_ON);
}

/* Let a rank that is about to make a call stop in it. */
static void stop_in_call(int rank)
{
    await_flag(CALLING);
    usleep(20000);
    OK(tern_am_short(TERN_WORLD, rank, STOP, NULL, 0));
    await_flag(STOPPED);
}

/* The root is as far ahead of rank 1 as it can, and gives up a long call. */
static void behind(void)
{
    struct stage stage = open_stage();
    uint64_t     one = 1, all = 0;

    OK(tern_broadcast(stage.ctx, 0, dst, sizeof(dst)));
    OK(tern_sync(stage.ctx));
    if (me == 0)
        stop_in_call(1);
    else if (me == 1)
        atomic_store(&flag[CALLING], 1);
    OK(tern_allreduce(stage.ctx, &one, &all, 1, &sum));
    SAME(all, (uint64_t)size);
    for (uint64_t i = 0; i < AHEAD; i++) {
        uint64_t word = me == 0 ? i : 0;

        OK(tern_broadcast(stage.ctx, 0, &word, sizeof(word)));
        SAME(word, i);
    }
    if (me == 0)
        OK(tern_ctx_set_timeout(stage.ctx, 0.02));
    RETURNS(me == 0 ? TERN_ERR_TIMEOUT : TERN_ERR_ARG, tern_broadcast(stage.ctx, 0, dst, sizeof(dst)));
    if (me == 0)
        atomic_store(&flag[GO_ON], 1);
    close_stage(&stage);
}

static void add(const void *in, void *inout, size_t count, void *user)
{
    (void)user;
    for (size_t i = 0; i < count * 8; i++)
        ((unsigned char *)inout)[i] = (unsigned char)(((unsigned char *)inout)[i] + ((const unsigned char *)in)[i]);
    if (slow) {
        slow = false;
        atomic_store(&flag[COMBINES], 1);
        usleep(100000);
        atomic_store(&flag[GO_ON], 1);
        usleep(100000);
    }
}

/* Rank 0 gives up while rank 1 combines, and rank 2 finds that rank 0 has given up. */
static void accessed(void)
{
    struct stage           stage = open_stage();
    const tern_reduce_args how = { .size = sizeof(how), .op = TERN_USER, .elem = 8, .fn = add };
    tern_status            st;

    slow = me == 1;
    OK(tern_broadcast(stage.ctx, 0, dst, sizeof(dst)));
    if (me == 0) {
        stop_in_call(2);
        OK(tern_ctx_set_timeout(stage.ctx, 0.05));
    } else if (me == 2) {
        atomic_store(&flag[CALLING], 1);
    }
    st = tern_allreduce(stage.ctx, src, dst, WORDS, &how);
    CHECK(st == TERN_OK || st == TERN_ERR_TIMEOUT || st == TERN_ERR_STATE || st == TERN_ERR_ARG);
    memset(dst, 0x5a, sizeof(dst));
    OK(tern_barrier(TERN_WORLD));
    for (size_t i = 0; i < sizeof(dst); i++)
        SAME(dst[i], 0x5a);
    close_stage(&stage);
}

/* Word i of the source of a rank, in a round. */
static uint64_t word(uint64_t round, int rank, size_t i)
{
    return round << 32 | (uint64_t)rank << 16 | i;
}

/* Make a call of n words for all ranks together, which are copied to shared memory. */
static tern_status copied(tern_ctx *ctx, uint64_t choice, size_t n)
{
    const size_t each = n / (size_t)size, mine = (size_t)me * each;
    uint64_t     round = choice >> 48;
    int          call = (int)(choice % 3), root = (int)(round % (uint64_t)size);
    uint64_t    *in = (uint64_t *)(void *)src, *out = (uint64_t *)(void *)dst, all;
    tern_status  st;

    for (size_t i = 0; i < n; i++)
        in[i] = word(round, me, i);
    switch (call) {
    case 0: st = tern_alltoall(ctx, in, out, each * sizeof(*in)); break;
    case 1: st = tern_scatter(ctx, root, in, out, each * sizeof(*in)); break;
    default: st = tern_reduce_scatter(ctx, in, out, each, &sum); break;
    }
    for (size_t i = 0; st == TERN_OK && i < (call == 0 ? each * (size_t)size : each); i++)
        switch (call) {
        case 0: SAME(out[i], word(round, (int)(i / each), mine + i % each)); break;
        case 1: SAME(out[i], word(round, root, mine + i)); break;
        default:
            all = 0;
            for (int rank = 0; rank < size; rank++)
                all += word(round, rank, mine + i);
            SAME(out[i], all);
        }
    memset(in, 0, n * sizeof(*in)); /* the array belongs to this rank again */
    return st;
}

/* Random calls, which some ranks are late for, and others give up soon. */
static void at_random(uint64_t *seed, uint64_t *own)
{
    struct stage stage = open_stage();
    tern_status  st = TERN_OK;

    if (job_random(own) % 2)
        OK(tern_ctx_set_timeout(stage.ctx, 0.001 * (double)(job_random(own) % 3 + 1)));
    for (int i = 0; i < 4 && st == TERN_OK; i++) {
        bool           shared = job_random(own) % 2;
        unsigned char *array = shared ? tern_region_ptr(region, me) : dst;
        size_t         n = job_random(seed) % 2 ? WORDS : 1;
        int            root = (int)(job_random(seed) % (uint64_t)size);

        if (job_random(own) % 3 == 0)
            usleep((useconds_t)(job_random(own) % 4000));
        switch (job_random(seed) % 6) {
        case 0: st = tern_allreduce(stage.ctx, src, array, n, &sum); break;
        case 1: st = tern_broadcast(stage.ctx, root, array, 8 * n); break;
        case 2: st = tern_reduce(stage.ctx, root, src, array, n, &sum); break;
        default: st = copied(stage.ctx, job_random(seed), n == 1 ? 500 : 1900); break;
        }
    }
    CHECK(st == TERN_OK || st == TERN_ERR_TIMEOUT || st == TERN_ERR_STATE || st == TERN_ERR_ARG);
    close_stage(&stage);
}

int main(void)
{
    uint64_t seed = 11, own;

    OK(tern_init());
    me = tern_rank();
    size = tern_size();
    own = (uint64_t)me + 100;
    OK(tern_am_register(STOP, stop, NULL));
    OK(tern_region_create(TERN_WORLD, sizeof(dst) + 4096, NULL, &region));
    flag = (_Atomic int *)(void *)((unsigned char *)tern_region_ptr(region, 0) + sizeof(dst));
    OK(tern_barrier(TERN_WORLD));
    if (!TEST_DEBUG_LIBRARY) /* which exchanges messages before each call, so that no rank is ahead */
        behind();
    if (size > 2 && !TEST_DEBUG_LIBRARY)
        accessed();
    for (int i = 0; i < 90; i++) {
        seed = (uint64_t)i;
        at_random(&seed, &own);
    }
    OK(tern_region_free(region));
    OK(tern_finalize());
    return 0;
}

/* coll_job.c: collective calls of a job in which one rank dies; started by coll.sh with --on-failure return.
 *
 *   coll_job HOW US VICTIM
 *
 * The rank VICTIM dies US microseconds after it began to make collective calls in a loop. Every other rank gets
 * TERN_ERR_PEER, and continues with a team of the survivors. A rank that has passed prints "survived RANK".
 *
 *   brief     allreduces of 8 bytes
 *   staged    calls with sources of 4 to 16 KiB, which members of a node copy to shared memory
 *   full      allreduces and broadcasts of 300 KB
 *   with      nonblocking ones of both kinds, of which several are outstanding
 *   mixed     random calls of all kinds, blocking, nonblocking and triggered, on two overlapping teams
 *   reading   a nonblocking allreduce with a function that takes long on the rank behind the victim, and in which the
 *             victim dies. The arrays of the next rank belong to the program again when its event is complete, even
 *             though the slow rank goes on
 *   asleep    one nonblocking allreduce; the victim does not take part, and the others sleep until their events
 *             complete
 *   leaf      one gatherv after the death; the ranks have called nothing of Tern since. All but the root only send
 */
#include <sched.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/job.h"
#include "fault/fault_job.h"

#define WORDS 40000
#define AHEAD 8

static int                    victim;
static const tern_reduce_args sum = { .size = sizeof(sum), .type = TERN_UINT64 };
static uint64_t               from[WORDS], to[AHEAD][WORDS];

static void set_timer(long us)
{
    struct itimerval when = { .it_value = { .tv_sec = us / 1000000, .tv_usec = us % 1000000 } };

    signal(SIGALRM, SIG_DFL);
    setitimer(ITIMER_REAL, &when, NULL);
}

/* Nonblocking calls, until one fails. */
static tern_status several(tern_ctx *ctx)
{
    tern_event  event[AHEAD];
    tern_status st = TERN_OK, first = TERN_OK;
    int         n = 0;

    for (; n < AHEAD && st == TERN_OK; n += st == TERN_OK)
        st = tern_allreduce_with(ctx, from, to[n], n % 2 ? WORDS : 1, &sum, &TERN_OPTS(.event = &event[n]));
    first = st;
    for (int i = 0; i < n; i++)
        if ((st = tern_event_wait(&event[i], TERN_FOREVER)) < 0 && first == TERN_OK)
            first = st;
    return first;
}

/* Calls whose sources have 4 to 16 KiB. The results of calls that succeed are right. */
static tern_status staged(tern_ctx *ctx)
{
    static uint64_t round;
    size_t          size = (size_t)tern_size(), block = 1500 / size; /* words */
    int             root = (int)(++round % size);
    tern_status     st;

    for (size_t i = 0; i < size * block; i++)
        to[1][i] = round + i;
    if ((st = tern_alltoall(ctx, to[1], to[0], block * sizeof(to[0][0]))) < 0)
        return st;
    for (size_t i = 0; i < size * block; i++)
        REQUIRE(to[0][i] == round + (size_t)tern_rank() * block + i % block);
    if ((st = tern_scatter(ctx, root, to[1], to[0], block * sizeof(to[0][0]))) < 0)
        return st;
    for (size_t i = 0; i < block; i++)
        REQUIRE(to[0][i] == round + (size_t)tern_rank() * block + i);
    return tern_reduce_scatter(ctx, to[1], to[0], block, &sum);
}

/* ---- random calls on two teams ---- */

#define TEAMS 2

static struct {
    tern_ctx     *ctx;
    tern_counter *start;
    uint64_t      starts;
} teams[TEAMS];

static uint64_t seed; /* the same on all ranks */

/* Start a random nonblocking call, with a random length. */
static tern_status start_one(int team, int slot, tern_event *event)
{
    static const size_t lengths[] = { 1, 5, 700, 4000 }; /* words */
    tern_ctx           *ctx = teams[team].ctx;
    size_t              n = lengths[job_random(&seed) % 4];
    tern_opts           opts = TERN_OPTS(.event = event);
    int                 root = (int)(job_random(&seed) % (unsigned)tern_size());
    tern_status         st;

    if (job_random(&seed) % 3 == 0) {
        opts.when = teams[team].start;
        opts.threshold = ++teams[team].starts;
    }
    switch (job_random(&seed) % 7) {
    case 0: st = tern_allreduce_with(ctx, from, to[slot], n, &sum, &opts); break;
    case 1: st = tern_broadcast_with(ctx, root, to[slot], 8 * n, &opts); break;
    case 2: st = tern_gather_with(ctx, root, from, 8 * n, to[slot], &opts); break;
    case 3: st = tern_alltoall_with(ctx, from, to[slot], 8 * n, &opts); break;
    case 4: st = tern_scan_with(ctx, from, to[slot], n, &sum, &opts); break;
    case 5: st = tern_reduce_scatter_with(ctx, from, to[slot], n, &sum, &opts); break;
    default: st = tern_barrier_with(ctx, &opts);
    }
    if (opts.when)
        OK(tern_counter_add(opts.when, 1));
    return st;
}

static tern_status block_one(int team)
{
    tern_ctx *ctx = teams[team].ctx;

    switch (job_random(&seed) % 5) {
    case 0: return tern_sync(ctx);
    case 4: return tern_alltoall(ctx, from, to[0], 12000 / (size_t)tern_size());
    case 1: return tern_allreduce(ctx, from, to[0], WORDS, &sum);
    case 2: return tern_broadcast(ctx, 0, to[0], 8);
    default: return tern_exscan(ctx, from, to[0], 3, &sum);
    }
}

/* Several calls on both teams; every one of them ends. */
static tern_status mixed(void)
{
    tern_event  event[AHEAD];
    tern_status st = TERN_OK, first;
    int         n = 1;

    for (; n < AHEAD && st == TERN_OK; n += st == TERN_OK)
        st = start_one((int)(job_random(&seed) % TEAMS), n, &event[n]);
    first = st == TERN_OK ? block_one((int)(job_random(&seed) % TEAMS)) : st;
    for (int i = n - 1; i > 0; i--)
        if ((st = tern_event_wait(&event[i], TERN_FOREVER)) < 0 && first == TERN_OK)
            first = st;
    return first;
}

static void open_teams(tern_team **team)
{
    OK(tern_team_dup(TERN_WORLD, &team[0]));
    OK(tern_team_split(TERN_WORLD, 0, -tern_rank(), &team[1])); /* in the opposite order */
    for (int i = 0; i < TEAMS; i++) {
        OK(tern_ctx_create(team[i], TERN_RELAXED, &teams[i].ctx));
        OK(tern_counter_create(teams[i].ctx, &teams[i].start));
    }
}

static void close_teams(tern_team **team)
{
    for (int i = 0; i < TEAMS; i++) {
        OK(tern_counter_free(teams[i].start));
        OK(tern_ctx_free(teams[i].ctx));
        OK(tern_team_free(team[i]));
    }
}

static void combine_slowly(const void *in, void *inout, size_t count, void *user)
{
    static bool once;
    uint64_t    a, b;

    (void)user;
    for (size_t i = 0; i < count; i++) {
        memcpy(&a, (const char *)in + i * sizeof(a), sizeof(a));
        memcpy(&b, (const char *)inout + i * sizeof(b), sizeof(b));
        a += b;
        memcpy((char *)inout + i * sizeof(a), &a, sizeof(a));
    }
    if (once)
        return;
    once = true;
    usleep(tern_rank() == victim ? 50000 : tern_rank() == (victim + 1) % tern_size() ? 300000 : 0);
    if (tern_rank() == victim)
        fault_die();
}

static tern_status reading(tern_ctx *ctx)
{
    const tern_reduce_args slowly = {
        .size = sizeof(slowly), .op = TERN_USER, .flags = TERN_COMMUTATIVE, .elem = 8, .fn = combine_slowly
    };
    tern_event  event;
    tern_status st = tern_allreduce_with(ctx, from, to[0], WORDS, &slowly, &TERN_OPTS(.event = &event));

    if (st < 0)
        return st;
    st = tern_event_wait(&event, TERN_FOREVER);
    if (tern_rank() == (victim + 2) % tern_size()) {
        memset(to[0], 0x5a, sizeof(to[0]));
        usleep(500000);
        for (size_t i = 0; i < sizeof(to[0]); i++)
            REQUIRE(((unsigned char *)to[0])[i] == 0x5a);
    }
    return st;
}

/* Wait for the death without a call of Tern, then make one call in which all ranks but one only send. */
static tern_status leaf(tern_ctx *ctx)
{
    static int calls_made;
    size_t     len[64];
    int        root = (victim + 1) % tern_size();

    REQUIRE(calls_made++ == 0);
    if (tern_rank() == victim)
        pause();
    while (atomic_load(&tern_job.boot.segment->losses) == 0)
        sched_yield(); /* the call should come before the helper thread learns of the death */
    for (size_t i = 0; i < 64; i++)
        len[i] = sizeof(from[0]);
    return tern_gatherv(ctx, root, from, sizeof(from[0]), to[0], tern_rank() == root ? &TERN_BLOCKS(.len = len) : NULL);
}

static tern_status calls(tern_ctx *ctx, const char *how)
{
    tern_status st;

    if (strcmp(how, "brief") == 0)
        return tern_allreduce(ctx, from, to[0], 1, &sum);
    if (strcmp(how, "with") == 0)
        return several(ctx);
    if (strcmp(how, "mixed") == 0)
        return mixed();
    if (strcmp(how, "reading") == 0)
        return reading(ctx);
    if (strcmp(how, "staged") == 0)
        return staged(ctx);
    if (strcmp(how, "leaf") == 0)
        return leaf(ctx);
    if (strcmp(how, "asleep") == 0) {
        tern_event event;

        if (tern_rank() == victim)
            pause();
        st = tern_allreduce_with(ctx, from, to[0], 1, &sum, &TERN_OPTS(.event = &event));
        return st < 0 ? st : tern_event_wait(&event, TERN_FOREVER);
    }
    st = tern_broadcast(ctx, 0, to[0], sizeof(to[0]));
    return st < 0 ? st : tern_allreduce(ctx, from, to[0], WORDS, &sum);
}

int main(int argc, char **argv)
{
    tern_team  *left, *team[TEAMS];
    tern_ctx   *ctx;
    tern_status st;
    uint64_t    one = 1, all = 0;

    REQUIRE(argc == 4);
    OK(tern_init());
    victim = atoi(argv[3]);
    seed = strtoull(argv[2], NULL, 10);
    open_teams(team);
    OK(tern_barrier(TERN_WORLD)); /* which a death afterwards does not undo */
    if (tern_rank() == victim)    /* in case of "reading", of a rank whose algorithm combines nothing */
        set_timer(atol(argv[2]) + (strcmp(argv[1], "reading") == 0 ? 600000 : 0));
    while ((st = calls(TERN_WORLD, argv[1])) == TERN_OK)
        continue;
    EXPECT(TERN_ERR_PEER, st);
    EXPECT(TERN_ERR_PEER, tern_sync(TERN_WORLD));
    close_teams(team);
    OK(tern_team_survivors(TERN_WORLD, &left));
    OK(tern_ctx_create(left, TERN_RELAXED, &ctx));
    OK(tern_allreduce(ctx, &one, &all, 1, &sum));
    REQUIRE(all == (uint64_t)tern_size() - 1);
    OK(tern_allreduce(ctx, from, to[0], WORDS, &sum));
    OK(tern_ctx_free(ctx));
    OK(tern_team_free(left));
    printf("survived %d\n", tern_rank());
    OK(tern_finalize());
    return 0;
}

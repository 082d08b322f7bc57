/* coll_job.c: collective calls of a job in which rank 1 dies; started by coll.sh with --on-failure return.
 *
 *   coll_job HOW US
 *
 * Rank 1 dies US microseconds after it began to make collective calls in a loop. Every other rank gets TERN_ERR_PEER,
 * and goes on with a team of the survivors. A rank that has passed prints "survived RANK".
 *
 *   brief     allreduces of 8 bytes
 *   full      allreduces and broadcasts of 300 KB
 *   with      nonblocking ones of both kinds, of which several are outstanding
 *   asleep    one nonblocking allreduce; rank 1 does not take part, and the others sleep until their events complete
 */
#include <sys/time.h>
#include <unistd.h>

#include "fault/fault_job.h"

#define VICTIM 1
#define WORDS 40000
#define AHEAD 8

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

static tern_status calls(tern_ctx *ctx, const char *how)
{
    tern_status st;

    if (strcmp(how, "brief") == 0)
        return tern_allreduce(ctx, from, to[0], 1, &sum);
    if (strcmp(how, "with") == 0)
        return several(ctx);
    if (strcmp(how, "asleep") == 0) {
        tern_event event;

        if (tern_rank() == VICTIM)
            pause();
        st = tern_allreduce_with(ctx, from, to[0], 1, &sum, &TERN_OPTS(.event = &event));
        return st < 0 ? st : tern_event_wait(&event, TERN_FOREVER);
    }
    st = tern_broadcast(ctx, 0, to[0], sizeof(to[0]));
    return st < 0 ? st : tern_allreduce(ctx, from, to[0], WORDS, &sum);
}

int main(int argc, char **argv)
{
    tern_team  *left;
    tern_ctx   *ctx;
    tern_status st;
    uint64_t    one = 1, all = 0;

    REQUIRE(argc == 3);
    OK(tern_init());
    OK(tern_barrier(TERN_WORLD)); /* which a death afterwards does not undo */
    if (tern_rank() == VICTIM)
        set_timer(atol(argv[2]));
    while ((st = calls(TERN_WORLD, argv[1])) == TERN_OK)
        continue;
    EXPECT(TERN_ERR_PEER, st);
    EXPECT(TERN_ERR_PEER, tern_sync(TERN_WORLD));
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

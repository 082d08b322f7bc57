/* quit_job.c: a job in which a rank gives up a team while others wait for it; started by quit.sh.
 *
 *   quit_job HOW VICTIM QUITTER
 *
 * The waits of all ranks but QUITTER have no limit. Every rank that lives prints "survived HOW" if all promises hold.
 *
 *   world     VICTIM enters a barrier of the world and dies. QUITTER, which has not entered it, asks for the team of
 *             survivors
 *   team      the same with a team that the program created
 *   gather    the same with tern_allgather
 *   free      QUITTER frees the team
 *   overlap   VICTIM is not a member of the team, dies, and QUITTER frees the team
 *   limit     nobody dies. The tern_allgather of QUITTER times out, because VICTIM is late
 *   limits    the same, and VICTIM is the only rank whose call has no limit
 *   again     nobody dies. VICTIM is stopped in tern_allgather. Two later calls of QUITTER, with other data, fail
 *   long      the same, with a long tern_allgather: the call of QUITTER fails after the ranks have agreed on it
 *   create    the same, with tern_team_split: its last exchange fails at QUITTER only, and the others use the new team
 *   leave     the same, but the others only free the new team
 *   ask       nobody dies. VICTIM is stopped in tern_team_survivors. The call of QUITTER times out, and the others get
 *             a team with QUITTER. They ask for a team without QUITTER, which stays in the job
 *   busy      nobody dies. The call of QUITTER times out while a handler on another thread of QUITTER runs for long
 *   reuse     nobody dies. QUITTER gives up a team, and the ranks make teams until an id is used again
 */
#include <pthread.h>
#include <sys/time.h>

#include "fault/fault_job.h"

#define RANKS 64

static const char  *how;
static int          victim, quitter;
static tern_region *region;

static bool is(const char *word)
{
    return strcmp(how, word) == 0;
}

static tern_status gather(tern_ctx *ctx)
{
    int rank = tern_rank(), all[RANKS];

    return tern_allgather(ctx, &rank, sizeof(rank), all);
}

static tern_status meet(tern_ctx *ctx)
{
    return is("gather") ? gather(ctx) : tern_barrier(ctx);
}

/* Enter a barrier, if there is a context, and die. */
static void be_victim(tern_ctx *ctx)
{
    struct itimerval when = { .it_value = { .tv_usec = 300000 } };

    signal(SIGALRM, SIG_DFL);
    setitimer(ITIMER_REAL, &when, NULL);
    if (ctx)
        meet(ctx);
    for (;;)
        pause();
}

static void await_death(void)
{
    tern_status st;

    while ((st = tern_put_u64(TERN_WORLD, region, victim, 8, 1)) == TERN_OK)
        usleep(1000);
    EXPECT(TERN_ERR_PEER, st);
}

/* The team of survivors works. */
static void use_survivors(tern_ctx *old)
{
    tern_team *team;
    tern_ctx  *ctx;

    EXPECT(TERN_OK, tern_team_survivors(old, &team));
    EXPECT(TERN_OK, tern_ctx_create(team, TERN_RELAXED, &ctx));
    REQUIRE(tern_team_size(team) == tern_size() - 1);
    EXPECT(TERN_OK, tern_barrier(ctx));
    EXPECT(TERN_OK, gather(ctx));
    EXPECT(TERN_OK, tern_ctx_free(ctx));
    EXPECT(TERN_OK, tern_team_free(team));
}

/* Return the team that is given up: all ranks, or all but the victim. */
static tern_team *make_team(void)
{
    tern_team *team = tern_team_world();

    if (is("overlap"))
        EXPECT(TERN_OK, tern_team_split(TERN_WORLD, tern_rank() == victim ? TERN_NO_COLOUR : 0, 0, &team));
    else if (!is("world"))
        EXPECT(TERN_OK, tern_team_dup(TERN_WORLD, &team));
    return team;
}

static void with_death(void)
{
    tern_team *team = make_team();
    tern_ctx  *ctx = NULL;
    bool       frees = is("free") || is("overlap");

    if (team)
        EXPECT(TERN_OK, tern_ctx_create(team, TERN_RELAXED, &ctx));
    if (ctx)
        EXPECT(TERN_OK, tern_barrier(ctx));
    if (tern_rank() == victim)
        be_victim(ctx);
    if (tern_rank() == quitter) {
        await_death();
    } else {
        EXPECT(TERN_ERR_PEER, meet(ctx));
        EXPECT(TERN_ERR_PEER, meet(ctx));
    }
    if (!frees)
        use_survivors(ctx);
    EXPECT(TERN_OK, tern_ctx_free(ctx));
    if (team != tern_team_world())
        EXPECT(TERN_OK, tern_team_free(team));
    use_survivors(TERN_WORLD);
}

/* The late rank comes when this rank has told it to. */
static void time_out(tern_ctx *ctx)
{
    tern_status st;

    EXPECT(TERN_OK, tern_ctx_set_timeout(ctx, 0.1));
    st = gather(ctx);
    REQUIRE(st == TERN_ERR_TIMEOUT || (is("limits") && st == TERN_ERR_PEER));
    EXPECT(st == TERN_ERR_PEER ? TERN_ERR_PEER : TERN_ERR_STATE, tern_barrier(ctx));
    EXPECT(TERN_OK, tern_put_u64(TERN_WORLD, region, victim, 8 * (uint64_t)tern_rank(), 1));
}

static void be_late(void)
{
    uint64_t told = 0;

    for (int rank = 0; rank < tern_size(); rank++)
        for (told = rank == victim || (rank != quitter && !is("limits")); told == 0; usleep(1000))
            EXPECT(TERN_OK, tern_get_u64(TERN_WORLD, region, victim, 8 * (uint64_t)rank, &told));
}

static void with_limit(void)
{
    tern_ctx   *ctx;
    tern_status st;

    EXPECT(TERN_OK, tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
    EXPECT(TERN_OK, tern_barrier(ctx));
    if (tern_rank() == victim)
        be_late();
    if (tern_rank() == quitter || (is("limits") && tern_rank() != victim)) {
        time_out(ctx);
    } else {
        while ((st = gather(ctx)) == TERN_OK)
            ;
        EXPECT(TERN_ERR_PEER, st);
        REQUIRE(strstr(tern_error_detail(), "has given up the team"));
        EXPECT(TERN_ERR_PEER, tern_barrier(ctx));
    }
    EXPECT(TERN_OK, tern_ctx_free(ctx));
}

/* Stop the victim, which is waiting in a collective call by then, and give this rank's calls a limit. */
static int stop_victim(tern_ctx *ctx)
{
    uint64_t pid = 0;

    EXPECT(TERN_OK, tern_get_u64(TERN_WORLD, region, victim, 0, &pid));
    EXPECT(TERN_OK, tern_ctx_set_timeout(ctx, 0.3));
    usleep(300000);
    fault_stop((int)pid);
    return (int)pid;
}

static tern_ctx *begin_stop(void)
{
    tern_ctx *ctx;

    EXPECT(TERN_OK, tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
    if (tern_rank() == victim)
        EXPECT(TERN_OK, tern_put_u64(TERN_WORLD, region, victim, 0, (uint64_t)getpid()));
    EXPECT(TERN_OK, tern_barrier(ctx));
    return ctx;
}

/* The data of calls that fail do not replace those that the victim has not read. */
static void with_retries(void)
{
    tern_ctx   *ctx = begin_stop();
    int         pid = 0, mine = tern_rank(), all[RANKS];
    tern_status st;

    if (tern_rank() == quitter)
        pid = stop_victim(ctx);
    EXPECT(TERN_OK, tern_allgather(ctx, &mine, sizeof(mine), all));
    for (int rank = 0; rank < tern_size(); rank++)
        REQUIRE(all[rank] == rank);
    mine = -1;
    st = tern_allgather(ctx, &mine, sizeof(mine), all);
    REQUIRE(st == TERN_OK || st == (pid ? TERN_ERR_TIMEOUT : TERN_ERR_PEER));
    if (pid) {
        mine = -2;
        EXPECT(TERN_ERR_STATE, tern_allgather(ctx, &mine, sizeof(mine), all));
        kill(pid, SIGCONT);
    } else {
        EXPECT(TERN_ERR_PEER, tern_barrier(ctx));
    }
    EXPECT(TERN_OK, tern_ctx_free(ctx));
}

#define LONG_BYTES 100000

static void with_long_data(void)
{
    unsigned char *mine = calloc(1, LONG_BYTES), *all = calloc((size_t)tern_size(), LONG_BYTES);
    tern_ctx      *ctx = begin_stop();
    int            pid = 0;
    tern_status    st;

    REQUIRE(mine && all);
    if (tern_rank() == quitter)
        pid = stop_victim(ctx);
    st = tern_allgather(ctx, mine, LONG_BYTES, all);
    REQUIRE(st == (pid ? TERN_ERR_TIMEOUT : TERN_ERR_PEER) || (!pid && st == TERN_OK)); /* the data may be there */
    EXPECT(pid ? TERN_ERR_STATE : TERN_ERR_PEER, tern_allgather(ctx, mine, LONG_BYTES, all));
    if (pid)
        kill(pid, SIGCONT);
    EXPECT(pid ? TERN_ERR_STATE : TERN_ERR_PEER, tern_barrier(ctx));
    EXPECT(TERN_OK, tern_ctx_free(ctx));
    free(mine);
    free(all);
}

/* Wait until all other ranks have written their words at this rank. */
static void await_others(void)
{
    uint64_t told = 0;

    for (int rank = 0; rank < tern_size(); rank++)
        for (told = rank == quitter; told == 0; usleep(1000)) {
            EXPECT(TERN_OK, tern_progress(TERN_WORLD));
            EXPECT(TERN_OK, tern_get_u64(TERN_WORLD, region, quitter, 8 * (uint64_t)(rank + 1), &told));
        }
}

/* The rank that does not get the team stays in the job until the others have freed it. */
static void with_new_team(void)
{
    tern_ctx   *ctx = begin_stop(), *own;
    tern_team  *team = NULL;
    int         pid = 0;
    tern_status st;

    if (tern_rank() == quitter)
        pid = stop_victim(ctx);
    st = tern_team_split(ctx, 0, 0, &team);
    REQUIRE(pid ? st == TERN_ERR_TIMEOUT : st == TERN_OK || st == TERN_ERR_PEER);
    if (pid)
        kill(pid, SIGCONT);
    if (st == TERN_OK && is("create")) {
        EXPECT(TERN_OK, tern_ctx_create(team, TERN_RELAXED, &own));
        EXPECT(TERN_ERR_PEER, tern_barrier(own));
        EXPECT(TERN_OK, tern_ctx_free(own));
    }
    if (st == TERN_OK)
        EXPECT(TERN_OK, tern_team_free(team));
    EXPECT(TERN_OK, tern_put_u64(TERN_WORLD, region, quitter, 8 * (uint64_t)(tern_rank() + 1), 1));
    EXPECT(TERN_OK, tern_quiet(TERN_WORLD));
    if (pid)
        await_others();
    EXPECT(TERN_OK, tern_ctx_free(ctx));
}

static void with_survivors(void)
{
    tern_ctx   *ctx = begin_stop(), *own;
    tern_team  *team, *rest;
    int         pid = 0;
    tern_status st;

    if (tern_rank() == quitter)
        pid = stop_victim(ctx);
    st = tern_team_survivors(ctx, &team);
    REQUIRE(pid ? st == TERN_ERR_TIMEOUT : st == TERN_OK);
    if (pid) {
        kill(pid, SIGCONT);
        await_others();
    } else {
        EXPECT(TERN_OK, tern_ctx_create(team, TERN_RELAXED, &own));
        EXPECT(TERN_ERR_PEER, tern_barrier(own));
        EXPECT(TERN_OK, tern_team_survivors(own, &rest));
        REQUIRE(tern_team_size(rest) == tern_size() - 1);
        EXPECT(TERN_OK, tern_ctx_free(own));
        EXPECT(TERN_OK, tern_team_free(rest));
        EXPECT(TERN_OK, tern_team_free(team));
        EXPECT(TERN_OK, tern_put_u64(TERN_WORLD, region, quitter, 8 * (uint64_t)(tern_rank() + 1), 1));
        EXPECT(TERN_OK, tern_quiet(TERN_WORLD));
    }
    EXPECT(TERN_OK, tern_ctx_free(ctx));
}

#define HANDLER 1

static _Atomic bool is_handling;

static void handle_slowly(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    is_handling = true;
    usleep(1800000);
}

static void *make_progress(void *arg)
{
    await_others();
    return arg;
}

/* While the handler runs, this rank cannot send what ends the streams of the barrier. */
static void with_handler(void)
{
    tern_ctx     *ctx = begin_stop();
    pthread_t     thread;
    tern_deadline begin;
    tern_status   st;

    if (tern_rank() == quitter) {
        REQUIRE(pthread_create(&thread, NULL, make_progress, NULL) == 0);
        while (!is_handling)
            usleep(1000);
        EXPECT(TERN_OK, tern_ctx_set_timeout(ctx, 0.2));
        begin = tern_clock();
        EXPECT(TERN_ERR_TIMEOUT, gather(ctx));
        REQUIRE(tern_clock() - begin < 1000000000);
        REQUIRE(pthread_join(thread, NULL) == 0);
    } else {
        if (tern_rank() == victim) {
            EXPECT(TERN_OK, tern_am_short(ctx, quitter, HANDLER, NULL, 0));
            usleep(3000000); /* longer than the handler */
        }
        while ((st = gather(ctx)) == TERN_OK) /* the barrier that the quitter has entered may complete */
            ;
        EXPECT(TERN_ERR_PEER, st);
        EXPECT(TERN_OK, tern_put_u64(TERN_WORLD, region, quitter, 8 * (uint64_t)(tern_rank() + 1), 1));
        EXPECT(TERN_OK, tern_quiet(TERN_WORLD));
    }
    EXPECT(TERN_OK, tern_ctx_free(ctx));
}

#define IDS 32700 /* that a rank proposes before it begins again */

static void with_old_id(void)
{
    tern_team *team;
    tern_ctx  *ctx;

    for (int i = 0; i < IDS + 1; i++) {
        EXPECT(TERN_OK, tern_team_dup(TERN_WORLD, &team));
        if (i == 0 || i >= IDS - 1) {
            EXPECT(TERN_OK, tern_ctx_create(team, TERN_RELAXED, &ctx));
            if (i == 0 && tern_rank() == quitter) {
                time_out(ctx);
            } else if (i == 0) {
                if (tern_rank() == victim)
                    be_late();
                gather(ctx);
            } else {
                EXPECT(TERN_OK, tern_barrier(ctx));
                EXPECT(TERN_OK, gather(ctx));
            }
            EXPECT(TERN_OK, tern_ctx_free(ctx));
        }
        EXPECT(TERN_OK, tern_team_free(team));
    }
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    how = argv[1];
    victim = atoi(argv[2]);
    quitter = atoi(argv[3]);
    EXPECT(TERN_OK, tern_am_register(HANDLER, handle_slowly, NULL));
    EXPECT(TERN_OK, tern_init());
    EXPECT(TERN_OK, tern_region_create(TERN_WORLD, 8 * (RANKS + 1), NULL, &region));
    fault_run(
        (const struct fault_way[]){
            { "limit", with_limit },
            { "limits", with_limit },
            { "again", with_retries },
            { "long", with_long_data },
            { "create", with_new_team },
            { "leave", with_new_team },
            { "ask", with_survivors },
            { "busy", with_handler },
            { "reuse", with_old_id },
            { NULL, with_death },
        },
        how);
    EXPECT(TERN_OK, tern_region_free(region));
    EXPECT(TERN_OK, tern_finalize());
    if (job_broken == 0)
        printf("survived %s\n", how);
    return job_broken;
}

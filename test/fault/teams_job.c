/* teams_job.c: a job in which ranks die while teams are made and used; started by teams.sh with --on-failure return.
 *
 *   teams_job HOW DEAD MICROSECONDS
 *
 * The ranks 1 to DEAD die, each by a timer, after some multiple of the time. Every other rank continues with the team
 * of survivors until only the ranks that do not die are left, uses that team for everything, and leaves in order. Each
 * broken promise is a line "...teams_job.c:LINE: rank R: ..." on standard error, and status 9.
 *
 *   barriers    ranks die in barriers of the world, and of the teams of survivors
 *   making      ranks die while teams are created by members, split and duplicated, used and freed
 *   regroup     ranks die while they call tern_team_survivors in a loop
 */
#include <sys/time.h>

#include "fault/fault_job.h"

#define RANKS 64
#define LIMIT 40 /* seconds: a call that lasts longer hangs */

static int dead, left;

/* Kill this rank after some time. */
static void set_timer(long us)
{
    struct itimerval when = { .it_value = { .tv_sec = us / 1000000, .tv_usec = us % 1000000 } };

    signal(SIGALRM, SIG_DFL);
    setitimer(ITIMER_REAL, &when, NULL);
}

/* The members of the team, as each of them sees it, are the same. */
static tern_status compare(tern_ctx *ctx)
{
    tern_team  *team = tern_ctx_team(ctx);
    int         size = tern_team_size(team), mine[RANKS] = { 0 }, all[RANKS * RANKS];
    tern_status st;

    for (int i = 0; i < size; i++)
        EXPECT(TERN_OK, tern_team_translate(team, i, tern_team_world(), &mine[i]));
    if ((st = tern_allgather(ctx, mine, sizeof(mine), all)) < 0)
        return st;
    for (int i = 0; i < size; i++)
        REQUIRE(memcmp(all + i * RANKS, mine, sizeof(mine)) == 0);
    REQUIRE(mine[tern_team_rank(team)] == tern_rank());
    return TERN_OK;
}

/* Every collective call, and operations of every kind, on a team of live ranks. Returns TERN_ERR_PEER if one died. */
static tern_status use_all(tern_ctx *ctx)
{
    tern_team          *team = tern_ctx_team(ctx), *part = NULL;
    int                 size = tern_team_size(team), rank = tern_team_rank(team), next = (rank + 1) % size;
    tern_region        *region = NULL;
    tern_atomic_domain *domain = NULL;
    tern_mutexes       *mutexes = NULL;
    uint64_t            value = (uint64_t)rank + 5;
    tern_status         st;

    if ((st = compare(ctx)) < 0 || (st = tern_region_create(ctx, 4096, NULL, &region)) < 0 ||
        (st = tern_put(ctx, region, next, 8, &value, sizeof(value))) < 0 || (st = tern_barrier(ctx)) < 0 ||
        (st = tern_atomic_domain_create(ctx, TERN_UINT64, TERN_ATOMIC_ADD, 0, &domain)) < 0 ||
        (st = tern_atomic_add(ctx, domain, region, 0, 16, (uint64_t)1)) < 0 || (st = tern_barrier(ctx)) < 0 ||
        (st = tern_mutex_create(ctx, 1, &mutexes)) < 0 || (st = tern_mutex_lock(ctx, mutexes, 0, 0)) < 0 ||
        (st = tern_mutex_unlock(ctx, mutexes, 0, 0)) < 0 || (st = tern_team_split(ctx, rank % 2, -rank, &part)) < 0)
        goto out;
    REQUIRE(((uint64_t *)tern_region_ptr(region, rank))[1] == (uint64_t)((rank + size - 1) % size) + 5);
    if (rank == 0)
        REQUIRE(((uint64_t *)tern_region_ptr(region, rank))[2] == (uint64_t)size);
    REQUIRE(tern_team_size(part) == (size + 1 - rank % 2) / 2);
    st = tern_barrier(ctx);
out:
    if (part)
        EXPECT(TERN_OK, tern_team_free(part));
    if (mutexes)
        EXPECT(TERN_OK, tern_mutex_free(mutexes));
    if (domain)
        EXPECT(TERN_OK, tern_atomic_domain_free(domain));
    if (region)
        EXPECT(TERN_OK, tern_region_free(region));
    return st;
}

/* Make and free teams of the team until that fails, or nobody else dies. */
static tern_status make(tern_ctx *ctx)
{
    tern_team  *team = tern_ctx_team(ctx), *made;
    int         size = tern_team_size(team), rank = tern_team_rank(team);
    tern_status st;

    for (int i = 0; i < 20 || size > left; i++) {
        if ((st = tern_team_split(ctx, (rank + i) % 2, rank, &made)) < 0)
            return st;
        EXPECT(TERN_OK, tern_team_free(made));
        if ((st = tern_team_strided(team, size - 1, -1, size, (uint64_t)i, &made)) < 0)
            return st;
        EXPECT(TERN_OK, tern_team_free(made));
        if ((st = tern_team_dup(ctx, &made)) < 0)
            return st;
        EXPECT(TERN_OK, tern_team_free(made));
    }
    return TERN_OK;
}

static tern_status barriers(tern_ctx *ctx)
{
    tern_status st = TERN_OK;

    for (int i = 0; (i < 200 || tern_team_size(tern_ctx_team(ctx)) > left) && st == TERN_OK; i++)
        st = tern_barrier(ctx);
    return st;
}

/* Ask for teams of survivors again and again. */
static tern_status regroup(tern_ctx *ctx)
{
    tern_team  *made;
    tern_status st = TERN_OK;

    for (int i = 0; i < 20 && st == TERN_OK; i++) {
        while ((st = tern_team_survivors(ctx, &made)) == TERN_ERR_PEER)
            ;
        EXPECT(TERN_OK, st);
        if (st == TERN_OK && tern_team_size(made) < tern_team_size(tern_ctx_team(ctx)))
            st = TERN_ERR_PEER;
        EXPECT(TERN_OK, tern_team_free(made));
    }
    return st;
}

int main(int argc, char **argv)
{
    tern_ctx   *ctx = NULL, *next;
    tern_team  *team;
    tern_status st;
    tern_status (*how)(tern_ctx *) = NULL;

    if (argc < 4)
        return 2;
    how = strcmp(argv[1], "making") == 0 ? make : strcmp(argv[1], "regroup") == 0 ? regroup : barriers;
    dead = atoi(argv[2]);
    EXPECT(TERN_OK, tern_init());
    left = tern_size() - dead;
    EXPECT(TERN_OK, tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
    EXPECT(TERN_OK, tern_barrier(ctx));
    if (tern_rank() >= 1 && tern_rank() <= dead)
        set_timer(atol(argv[3]) * (1 + tern_rank() * 7 % 5));
    for (;;) {
        EXPECT(TERN_OK, tern_ctx_set_timeout(ctx, LIMIT));
        st = how(ctx);
        if (st == TERN_OK && tern_team_size(tern_ctx_team(ctx)) == left)
            st = use_all(ctx);
        if (st == TERN_OK && tern_team_size(tern_ctx_team(ctx)) == left)
            break;
        if (st != TERN_OK)
            EXPECT(TERN_ERR_PEER, st);
        while ((st = tern_team_survivors(ctx, &team)) == TERN_ERR_PEER)
            ;
        EXPECT(TERN_OK, st);
        if (st < 0)
            break;
        EXPECT(TERN_OK, tern_ctx_create(team, TERN_RELAXED, &next));
        team = tern_ctx_team(ctx);
        EXPECT(TERN_OK, tern_ctx_free(ctx));
        if (team != tern_team_world())
            EXPECT(TERN_OK, tern_team_free(team));
        ctx = next;
    }
    EXPECT(TERN_OK, tern_finalize());
    if (job_broken == 0)
        printf("survived %s\n", argv[1]);
    return job_broken;
}

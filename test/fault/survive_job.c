/* survive_job.c: a job that continues when a rank dies; started by survive.sh with --on-failure return.
 *
 *   survive_job HOW [NUMBER]
 *
 * Rank 1 dies by SIGKILL, at a moment that HOW selects; every other rank checks the promises and leaves in order. Each
 * broken promise is a line "...survive_job.c:LINE: rank R: ..." on standard error, and status 9.
 *
 *   forms     in between: all forms of put and get, all kinds of regions, then the collectives
 *   inlined   others do nothing but inlined puts until these fail
 *   waiting   others are in tern_barrier when it dies (gather: in tern_allgather; alloc: in tern_region_create;
 *             register, free: likewise)
 *   within    it dies by itself inside a barrier, an allgather, an alloc, a register or a free, NUMBER microseconds
 *             after it began to make such calls in a loop
 *   behind    it dies when it has come to a barrier, and rank 2 is far behind: the barrier is done for both that live,
 *             the next fails; rank 2 still puts into a region when rank 0 frees it
 *   untold    rank 0 kills it while the launcher is stopped, so that rank 0 learns of the death from the kernel first
 *   bounced   it is stopped first, so that bounced transfers to it are outstanding when it dies
 */
#include <sys/time.h>
#include <sys/wait.h>

#include "fault/fault_job.h"

#define VICTIM 1
#define BYTES (1u << 20)
#define LIMIT 10 /* seconds: a death that is not known by then is never known */

static int            me, size;
static tern_region   *shared, *own; /* allocated, registered */
static unsigned char *memory;       /* of own */

/* Poll tern_peer_check until it reports the death. */
static void learn(void)
{
    tern_deadline until = tern_deadline_in(LIMIT);

    while (tern_peer_check(VICTIM) == TERN_OK && tern_clock() < until)
        usleep(1000);
    EXPECT(TERN_ERR_PEER, tern_peer_check(VICTIM));
    for (int rank = 0; rank < size; rank++)
        if (rank != VICTIM)
            EXPECT(TERN_OK, tern_peer_check(rank));
}

static void dead_target(tern_region *region)
{
    static unsigned char data[BYTES];
    tern_event           event = TERN_EVENT_INIT, local = TERN_EVENT_INIT;
    tern_opts            opts = TERN_OPTS(.event = &event, .local = &local);
    tern_opts            now = TERN_OPTS(.flags = TERN_IMMEDIATE, .event = &event);
    uint8_t              u8;
    uint16_t             u16;
    uint32_t             u32;
    uint64_t             u64;

    EXPECT(TERN_ERR_PEER, tern_put(TERN_WORLD, region, VICTIM, 0, data, 64));
    EXPECT(TERN_ERR_PEER, tern_get(TERN_WORLD, region, VICTIM, 0, data, 64));
    EXPECT(TERN_ERR_PEER, tern_put(TERN_WORLD, region, VICTIM, 0, data, sizeof(data)));
    EXPECT(TERN_ERR_PEER, tern_get(TERN_WORLD, region, VICTIM, 0, data, sizeof(data)));
    EXPECT(TERN_ERR_PEER, tern_put_nb(TERN_WORLD, region, VICTIM, 0, data, sizeof(data), &event));
    EXPECT(TERN_ERR_PEER, tern_get_nb(TERN_WORLD, region, VICTIM, 0, data, sizeof(data), &event));
    EXPECT(TERN_ERR_PEER, tern_put_nbi(TERN_WORLD, region, VICTIM, 0, data, 64));
    EXPECT(TERN_ERR_PEER, tern_get_nbi(TERN_WORLD, region, VICTIM, 0, data, 64));
    EXPECT(TERN_ERR_PEER, tern_put_with(TERN_WORLD, region, VICTIM, 0, data, 64, &opts));
    EXPECT(TERN_ERR_PEER, tern_get_with(TERN_WORLD, region, VICTIM, 0, data, 64, &opts));
    EXPECT(TERN_ERR_PEER, tern_put_with(TERN_WORLD, region, VICTIM, 0, data, 64, &now));
    EXPECT(TERN_ERR_PEER, tern_put_u8(TERN_WORLD, region, VICTIM, 0, 1));
    EXPECT(TERN_ERR_PEER, tern_put_u16(TERN_WORLD, region, VICTIM, 0, 1));
    EXPECT(TERN_ERR_PEER, tern_put_u32(TERN_WORLD, region, VICTIM, 0, 1));
    EXPECT(TERN_ERR_PEER, tern_put_u64(TERN_WORLD, region, VICTIM, 0, 1));
    EXPECT(TERN_ERR_PEER, tern_get_u8(TERN_WORLD, region, VICTIM, 0, &u8));
    EXPECT(TERN_ERR_PEER, tern_get_u16(TERN_WORLD, region, VICTIM, 0, &u16));
    EXPECT(TERN_ERR_PEER, tern_get_u32(TERN_WORLD, region, VICTIM, 0, &u32));
    EXPECT(TERN_ERR_PEER, tern_get_u64(TERN_WORLD, region, VICTIM, 0, &u64));
    EXPECT(TERN_OK, tern_quiet(TERN_WORLD)); /* an operation that did not start leaves no error behind */
    REQUIRE(tern_region_ptr(region, VICTIM) == NULL);
    EXPECT(TERN_ERR_RANGE, tern_put(TERN_WORLD, region, size, 0, data, 64)); /* still the right error */
}

/* To all living ranks, in all forms, with the right bytes: each rank has its own slice of every part. */
static void living_targets(tern_region *region)
{
    size_t         piece = BYTES / (size_t)size / 64 * 64;
    unsigned char *out = malloc(piece), *back = malloc(piece);
    uint64_t       at = (uint64_t)me * piece;

    for (int rank = 0, round = 0; rank < size; rank++, round++) {
        tern_event event;

        if (rank == VICTIM)
            continue;
        for (size_t i = 0; i < piece; i++)
            out[i] = (unsigned char)(i * 7 + (size_t)(me + rank * 3 + round));
        EXPECT(TERN_OK, tern_put_nb(TERN_WORLD, region, rank, at, out, piece, &event));
        EXPECT(TERN_OK, tern_event_wait(&event, tern_deadline_in(LIMIT)));
        memset(back, 0, piece);
        EXPECT(TERN_OK, tern_get(TERN_WORLD, region, rank, at, back, piece));
        REQUIRE(memcmp(out, back, piece) == 0);
        EXPECT(TERN_OK, tern_put_nbi(TERN_WORLD, region, rank, at, out + 8, 64));
        EXPECT(TERN_OK, tern_quiet(TERN_WORLD));
        EXPECT(TERN_OK, tern_get_nbi(TERN_WORLD, region, rank, at, back, 64));
        EXPECT(TERN_OK, tern_quiet(TERN_WORLD));
        REQUIRE(memcmp(out + 8, back, 64) == 0);
    }
    free(out);
    free(back);
}

/* No collective call hangs, whatever the order, and all return the same error. */
static void collectives(void)
{
    tern_region *none = NULL;
    int32_t      all[64];
    unsigned     turn = (unsigned)me;

    for (int i = 0; i < 8; i++, turn++) {
        switch (turn % 4) {
        case 0: EXPECT(TERN_ERR_PEER, tern_barrier(TERN_WORLD)); break;
        case 1: EXPECT(TERN_ERR_PEER, tern_allgather(TERN_WORLD, &me, sizeof(me), all)); break;
        case 2: EXPECT(TERN_ERR_PEER, tern_region_create(TERN_WORLD, 4096, NULL, &none)); break;
        default: EXPECT(TERN_ERR_PEER, tern_region_register(TERN_WORLD, all, sizeof(all), &none)); break;
        }
    }
    REQUIRE(none == NULL);
}

/* The promises that hold for every survivor. */
static void check_all(void)
{
    learn();
    dead_target(shared);
    dead_target(own);
    living_targets(shared);
    living_targets(own);
    collectives();
    living_targets(own);
}

static void run_inlined(void)
{
    tern_deadline until = tern_deadline_in(LIMIT);
    tern_status   st;
    uint64_t      i = 0;

    if (me == VICTIM)
        usleep(50000), fault_die();
    do
        st = tern_put_u64(TERN_WORLD, shared, VICTIM, 8 * (uint64_t)me, ++i);
    while (st == TERN_OK && (i % 1024 != 0 || tern_clock() < until));
    EXPECT(TERN_ERR_PEER, st);
}

static void run_waiting(const char *where)
{
    tern_region *region = NULL;
    int32_t      all[64];
    tern_status  st;

    if (me == VICTIM)
        usleep(100000), fault_die();
    if (strcmp(where, "waiting") == 0)
        st = tern_barrier(TERN_WORLD);
    else if (strcmp(where, "gather") == 0)
        st = tern_allgather(TERN_WORLD, &me, sizeof(me), all);
    else if (strcmp(where, "alloc") == 0)
        st = tern_region_create(TERN_WORLD, 1 << 20, NULL, &region);
    else if (strcmp(where, "register") == 0)
        st = tern_region_register(TERN_WORLD, memory, BYTES, &region);
    else if (strcmp(where, "waitall") == 0) /* a barrier as the only source of the death, twice */
        st = tern_barrier(TERN_WORLD) == TERN_ERR_PEER ? tern_barrier(TERN_WORLD) : TERN_OK;
    else
        st = TERN_ERR_ARG;
    EXPECT(TERN_ERR_PEER, st);
    REQUIRE(region == NULL);
}

/* The victim is killed by a timer, at some point of a stream of collective calls. */
static void run_within(long after)
{
    struct itimerval timer = { .it_value = { .tv_sec = after / 1000000, .tv_usec = after % 1000000 + 1 } };
    tern_status      st = TERN_OK;
    int32_t          all[64];
    tern_region     *region;

    if (me == VICTIM) /* SIGPROF and SIGALRM end a process that does not handle them; survive.sh takes 128 + 14 */
        setitimer(ITIMER_REAL, &timer, NULL);
    for (long i = 0; st == TERN_OK; i++) {
        region = NULL;
        if ((st = tern_region_create(TERN_WORLD, 1 << 16, NULL, &region)) == TERN_OK &&
            (st = tern_allgather(TERN_WORLD, &me, sizeof(me), all)) == TERN_OK)
            st = tern_barrier(TERN_WORLD);
        if (region)
            EXPECT(TERN_OK, tern_region_free(region));
        if (st != TERN_OK)
            break;
        if ((st = tern_region_register(TERN_WORLD, memory, BYTES / 2, &region)) == TERN_OK)
            EXPECT(TERN_OK, tern_region_free(region));
    }
    EXPECT(TERN_ERR_PEER, st); /* a collective call after the death */
}

static bool says(const char *words)
{
    return strstr(tern_error_detail(), words) != NULL;
}

/* Start a put without an event to the stopped target, a fence, and an event for all of this. What waits for them names
 * the put. */
static void start_aside(tern_ctx *ctx, tern_event *all)
{
    static unsigned char data[100];

    EXPECT(TERN_OK, tern_ctx_set_timeout(ctx, 0.1));
    EXPECT(TERN_OK, tern_put_nbi(ctx, own, VICTIM, 0, data, sizeof(data)));
    EXPECT(TERN_OK, tern_fence(ctx));
    EXPECT(TERN_ERR_TIMEOUT, tern_quiet(ctx));
    REQUIRE(says("tern_quiet waits for a put of 100 bytes") && says("rank 1"));
    EXPECT(TERN_ERR_TIMEOUT, tern_quiet_rank(ctx, VICTIM));
    REQUIRE(says("tern_quiet_rank, which waits for earlier operations, such as tern_put_nbi to rank 1"));
    EXPECT(TERN_OK, tern_quiet_rank(ctx, 0));
    EXPECT(TERN_OK, tern_quiet_nb(ctx, all));
    REQUIRE(all->pending != NULL);
}

/* Rank 0 starts transfers that fill all chunks of its bounce buffer while the target is stopped; then the target
 * dies. */
static void run_bounced(void)
{
    enum { COUNT = 6 };
    static unsigned char data[COUNT][BYTES];
    tern_event           event[COUNT], all;
    tern_ctx            *aside;
    int32_t              pids[64], pid = (int32_t)getpid();

    EXPECT(TERN_OK, tern_allgather(TERN_WORLD, &pid, sizeof(pid), pids));
    if (me == VICTIM)
        for (;;)
            pause();
    REQUIRE(strcmp(tern_region_path(own, VICTIM), "bounce") == 0);
    if (me == 0) {
        fault_stop(pids[VICTIM]);
        EXPECT(TERN_OK, tern_ctx_create(tern_team_world(), TERN_RELAXED, &aside));
        start_aside(aside, &all);
        for (int i = 0; i < COUNT; i++) { /* as many as there is space for */
            tern_opts   opts = TERN_OPTS(.flags = TERN_IMMEDIATE, .event = &event[i]);
            tern_status st = i % 2 ? tern_get_with(TERN_WORLD, own, VICTIM, 0, data[i], BYTES, &opts)
                                   : tern_put_with(TERN_WORLD, own, VICTIM, 0, data[i], BYTES, &opts);
            if (st == TERN_AGAIN)
                event[i] = TERN_EVENT_INIT;
            else
                EXPECT(TERN_OK, st);
        }
        REQUIRE(event[0].pending != NULL);
        EXPECT(TERN_ERR_TIMEOUT, tern_event_wait(&event[0], tern_deadline_in(0.2)));
        kill(pids[VICTIM], SIGKILL);
        EXPECT(TERN_ERR_PEER, tern_event_wait(&event[0], tern_deadline_in(LIMIT)));
        for (int i = 1; i < COUNT; i++)
            if (event[i].pending)
                EXPECT(TERN_ERR_PEER, tern_event_wait(&event[i], tern_deadline_in(LIMIT)));
        EXPECT(TERN_ERR_PEER, tern_event_wait(&all, tern_deadline_in(LIMIT)));
        REQUIRE(says("tern_quiet_nb, or rather an earlier put of 100 bytes"));
        EXPECT(TERN_OK, tern_ctx_free(aside));
    } else { /* a blocking transfer, stuck in the middle */
        tern_status st;

        usleep(50000);
        do
            st = tern_put(TERN_WORLD, own, VICTIM, 0, data[0], BYTES);
        while (st == TERN_OK);
        EXPECT(TERN_ERR_PEER, st);
    }
    EXPECT(TERN_OK, tern_quiet(TERN_WORLD));
}

/* A put returns TERN_ERR_PEER before the launcher can report the death: tern_peer_check agrees. */
static void run_untold(void)
{
    int32_t       pids[64], pid = (int32_t)getpid();
    tern_status   put, check;
    char          byte = 0;
    tern_deadline until = tern_deadline_in(LIMIT);

    EXPECT(TERN_OK, tern_allgather(TERN_WORLD, &pid, sizeof(pid), pids));
    if (me == VICTIM)
        for (;;)
            pause();
    if (me != 0)
        return;
    REQUIRE(strcmp(tern_region_path(own, VICTIM), "cma") == 0);
    fault_stop(getppid());
    kill(pids[VICTIM], SIGKILL);
    do
        put = tern_put(TERN_WORLD, own, VICTIM, 0, &byte, 1);
    while (put == TERN_OK);
    check = tern_peer_check(VICTIM);
    kill(getppid(), SIGCONT);
    EXPECT(TERN_ERR_PEER, put);
    EXPECT(TERN_ERR_PEER, check);
    while (tern_put_u64(TERN_WORLD, shared, VICTIM, 0, 1) == TERN_OK && tern_clock() < until)
        usleep(1000); /* until the launcher has reported it */
}

static int finish(void)
{
    EXPECT(TERN_OK, tern_region_free(shared));
    EXPECT(TERN_OK, tern_finalize());
    free(memory);
    if (!job_broken)
        printf("survived %d\n", me);
    return job_broken;
}

/* The victim has arrived at the barrier before it dies, so that rank 2, which arrives last, completes it. */
static void run_behind(void)
{
    static unsigned char data[BYTES];

    if (me == VICTIM) { /* as if it had called: then it dies */
        tern_ctx_set_timeout(TERN_WORLD, 0.05);
        tern_barrier(TERN_WORLD);
        fault_die();
    }
    if (me == 2) {
        learn();
        usleep(400000);
        memset(data, 0x11, sizeof(data));
        EXPECT(TERN_OK, tern_put(TERN_WORLD, own, 0, 0, data, sizeof(data)));
        EXPECT(TERN_OK, tern_barrier(TERN_WORLD)); /* all have arrived, though one is dead now */
        usleep(400000);
        EXPECT(TERN_OK, tern_put(TERN_WORLD, own, 0, 0, data, sizeof(data)));
        EXPECT(TERN_OK, tern_region_free(own));
        return;
    }
    EXPECT(TERN_OK, tern_barrier(TERN_WORLD)); /* the same for rank 0, which arrives long before rank 2 */
    EXPECT(TERN_ERR_PEER, tern_barrier(TERN_WORLD));
    EXPECT(TERN_OK, tern_region_free(own));
    memset(memory, 0x22, BYTES); /* the program may reuse the memory */
    usleep(800000);
    for (size_t i = 0; i < BYTES && !job_broken; i++)
        REQUIRE(memory[i] == 0x22); /* no rank writes to a freed region */
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "forms";

    EXPECT(TERN_OK, tern_init());
    me = tern_rank();
    size = tern_size();
    memory = malloc(BYTES);
    EXPECT(TERN_OK, tern_region_create(TERN_WORLD, BYTES, NULL, &shared));
    EXPECT(TERN_OK, tern_region_register(TERN_WORLD, memory, BYTES, &own));
    EXPECT(TERN_OK, tern_barrier(TERN_WORLD));
    if (job_broken)
        return job_broken;
    if (strcmp(how, "forms") == 0 && me == VICTIM)
        fault_die();
    else if (strcmp(how, "inlined") == 0)
        run_inlined();
    else if (strcmp(how, "within") == 0)
        run_within(argc > 2 ? atol(argv[2]) : 1000);
    else if (strcmp(how, "bounced") == 0)
        run_bounced();
    else if (strcmp(how, "untold") == 0)
        run_untold();
    else if (strcmp(how, "behind") == 0)
        return run_behind(), finish();
    else if (strcmp(how, "forms") != 0)
        run_waiting(how);
    check_all();
    EXPECT(TERN_OK, tern_region_free(own)); /* returns when the slowest survivor has finished with it */
    return finish();
}

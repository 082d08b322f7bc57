/* far_job.c: a job with ranks that become unreachable or die; for far.sh and cut.sh.
 *
 *   far_job timeout FIRST   the ranks from FIRST on are cut off, or stopped, in the middle of transfers, until
 *                           $FAULT_DIR/healed is there
 *   far_job peer FIRST      they are killed
 *
 * The victims compute. The others put to and get from all ranks, and print "ready" when that has worked for a while.
 * When an operation on a victim fails, they check that it fails in every form, with the given status, and that all
 * other operations work, and print "told". When the network is healed, operations that timed out complete successfully.
 * A rank that has seen all of this prints "survived".
 */
#include "fault/fault_job.h"

#define SMALL 8u
#define LARGE (300u << 10) /* in several work requests, from the program's memory */
#define READY 20           /* rounds */
#define PATIENCE 40        /* seconds: an event that has not happened by then never happens */
#define SHORT 0.7          /* seconds */

static int           me, size, first;
static tern_status   want;
static tern_region  *region;
static unsigned char out[LARGE], back[LARGE];

static bool is_victim(int rank)
{
    return rank >= first;
}

static bool is_healed(void)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/healed", getenv("FAULT_DIR"));
    return access(path, F_OK) == 0;
}

/* Each rank has its own place in every part. */
static uint64_t place(void)
{
    return (uint64_t)me * LARGE;
}

/* The put and get of touch() in extents of 8 bytes, every second one at the target. */
static tern_status touch_pieces(int rank, unsigned round)
{
    size_t       count = LARGE / 16;
    tern_strided s =
        TERN_STRIDED(.dims = 1, .element = 8, .count = &count, .local = out, .local_stride = &(ptrdiff_t){ 8 },
                     .remote = place(), .remote_stride = &(int64_t){ 16 });
    tern_status st = tern_put_strided(TERN_WORLD, region, rank, &s);

    if (st != TERN_OK)
        return st;
    s.local = back;
    memset(back, 0, LARGE / 2);
    if ((st = tern_get_strided(TERN_WORLD, region, rank, &s)) == TERN_OK)
        HOLDS(back, LARGE / 2, (unsigned)me, round);
    return st;
}

/* Put and get the data back, with a time limit. */
static tern_status touch(int rank, unsigned round, double limit)
{
    size_t      len = round % 2 ? LARGE : SMALL;
    tern_status st;

    EXPECT(TERN_OK, tern_ctx_set_timeout(TERN_WORLD, limit));
    job_fill(out, LARGE, (unsigned)me, round);
    if (round % 3 == 2)
        return touch_pieces(rank, round);
    if ((st = tern_put(TERN_WORLD, region, rank, place(), out, len)) != TERN_OK)
        return st;
    memset(back, 0, len);
    if ((st = tern_get(TERN_WORLD, region, rank, place(), back, len)) == TERN_OK)
        HOLDS(back, len, (unsigned)me, round);
    return st;
}

static void touch_living(unsigned round)
{
    for (int rank = 0; rank < first; rank++)
        EXPECT(TERN_OK, touch(rank, round, PATIENCE));
}

static void say(const char *what)
{
    printf("%s %d\n", what, me);
    fflush(stdout);
}

/* Wait until an operation on a victim fails. */
static void await_trouble(void)
{
    tern_deadline until = tern_deadline_in(PATIENCE);
    tern_status   st = TERN_OK;

    for (unsigned round = 0; st == TERN_OK && tern_clock() < until; round++) {
        touch_living(round);
        for (int rank = first; rank < size && st == TERN_OK; rank++)
            st = touch(rank, round, want == TERN_ERR_PEER ? PATIENCE : SHORT);
        if (round == READY)
            say("ready");
    }
    EXPECT(want, st);
}

/* Unreachable ranks: deadlines hold, and no other operation is affected. The event stays outstanding. */
static void check_unreachable(tern_event *event)
{
    EXPECT(TERN_OK, tern_ctx_set_timeout(TERN_WORLD, SHORT));
    for (int rank = first; rank < size; rank++) {
        EXPECT(TERN_ERR_TIMEOUT, tern_put(TERN_WORLD, region, rank, place(), out, SMALL));
        EXPECT(TERN_ERR_TIMEOUT, tern_get(TERN_WORLD, region, rank, place(), back, SMALL));
        EXPECT(TERN_ERR_TIMEOUT, touch_pieces(rank, 0));
        EXPECT(TERN_OK, tern_peer_check(rank)); /* the rank is alive */
    }
    EXPECT(TERN_OK, tern_put_nb(TERN_WORLD, region, first, place(), out, SMALL, event));
    EXPECT(TERN_ERR_TIMEOUT, tern_event_wait(event, tern_deadline_in(SHORT)));
    touch_living(0);
    touch_living(2);
    EXPECT(TERN_OK, tern_ctx_set_timeout(TERN_WORLD, SHORT));
    EXPECT(TERN_ERR_TIMEOUT, tern_quiet(TERN_WORLD));
    EXPECT(TERN_ERR_TIMEOUT, tern_barrier(TERN_WORLD));
    touch_living(1);
}

static void check_dead(void)
{
    tern_event event;
    int32_t    all[64];

    for (int rank = first; rank < size; rank++) {
        tern_deadline until = tern_deadline_in(PATIENCE);
        while (tern_peer_check(rank) == TERN_OK && tern_clock() < until)
            usleep(1000);
        EXPECT(TERN_ERR_PEER, tern_peer_check(rank));
        EXPECT(TERN_ERR_PEER, tern_put(TERN_WORLD, region, rank, place(), out, SMALL));
        EXPECT(TERN_ERR_PEER, tern_get(TERN_WORLD, region, rank, place(), back, LARGE));
        EXPECT(TERN_ERR_PEER, tern_put_nb(TERN_WORLD, region, rank, place(), out, LARGE, &event));
        EXPECT(TERN_ERR_PEER, touch_pieces(rank, 0));
    }
    touch_living(0);
    EXPECT(TERN_ERR_PEER, tern_barrier(TERN_WORLD));
    EXPECT(TERN_ERR_PEER, tern_allgather(TERN_WORLD, &me, sizeof(me), all));
    touch_living(1);
}

/* Everything works again, and outstanding operations complete. */
static void heal(tern_event *event)
{
    EXPECT(TERN_OK, tern_ctx_set_timeout(TERN_WORLD, PATIENCE));
    if (event)
        EXPECT(TERN_OK, tern_event_wait(event, tern_deadline_in(PATIENCE)));
    EXPECT(TERN_OK, tern_quiet(TERN_WORLD));
    EXPECT(TERN_OK, tern_barrier(TERN_WORLD)); /* the barrier that some ranks gave up */
    for (unsigned round = 0; round < 4; round++)
        for (int rank = 0; rank < size; rank++)
            EXPECT(TERN_OK, touch(rank, round, PATIENCE));
    EXPECT(TERN_OK, tern_barrier(TERN_WORLD));
}

static void await_healed(void)
{
    while (!is_healed())
        usleep(10000);
}

int main(int argc, char **argv)
{
    tern_event event = TERN_EVENT_INIT;

    CHECK(argc == 3);
    want = strcmp(argv[1], "peer") == 0 ? TERN_ERR_PEER : TERN_ERR_TIMEOUT;
    fault_tell("pid");
    OK(tern_init());
    me = tern_rank();
    size = tern_size();
    first = atoi(argv[2]);
    OK(tern_region_create(TERN_WORLD, (uint64_t)size * LARGE, NULL, &region));
    OK(tern_barrier(TERN_WORLD));
    if (is_victim(me)) {
        await_healed();
        heal(NULL);
    } else {
        await_trouble();
        if (want == TERN_ERR_PEER)
            check_dead();
        else
            check_unreachable(&event);
        say("told");
        if (want == TERN_ERR_TIMEOUT) {
            await_healed();
            heal(&event);
        }
    }
    EXPECT(TERN_OK, tern_region_free(region));
    EXPECT(TERN_OK, tern_finalize());
    if (!job_broken)
        say("survived");
    return job_broken;
}

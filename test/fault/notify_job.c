/* notify_job.c: jobs whose notifications go wrong; started by notify.sh.
 *
 *   notify_job source    rank 1 notifies everyone and is killed by SIGKILL; the others wait for more
 *   notify_job target    rank 1 makes no progress, everyone fills its queue, and when all are stuck it dies by SIGKILL
 *   notify_job alone     two ranks; rank 0 waits for any source, and rank 1 dies
 *   notify_job signal    rank 1 gives everyone a signal and is killed; the others wait for one more until a deadline
 *   notify_job full      rank 0 keeps what nobody asked for until nothing more fits, and waits for what is behind it
 *
 * Survivors print "survived R" when all that they were promised held.
 */
#include <stdatomic.h>

#include "fault/fault_job.h"

#define SENT 100u

static int          me, size;
static tern_region *region;

static tern_notice *started(int source, int64_t tag, uint32_t count)
{
    tern_notice *notice = NULL;

    EXPECT(TERN_OK, tern_notice_init(TERN_WORLD, region, source, tag, count, &notice));
    EXPECT(TERN_OK, tern_notice_start(notice));
    return notice;
}

/* Those who are left go on: everyone is notified by every other one. */
static void go_on(int dead)
{
    tern_notice *notice = started(TERN_ANY_SOURCE, 7, 20 * (uint32_t)(size - 1));
    unsigned     byte = 0;

    for (int i = 0; i < 20; i++)
        for (int rank = 0; rank < size; rank++)
            if (rank != dead)
                EXPECT(TERN_OK, tern_put_notify(TERN_WORLD, region, rank, 0, &byte, 1, 7));
    EXPECT(TERN_OK, tern_notice_wait(notice, tern_deadline_in(20), NULL));
    EXPECT(TERN_OK, tern_notice_free(notice));
    EXPECT(TERN_ERR_PEER, tern_notify(TERN_WORLD, region, dead, 7));
    EXPECT(TERN_ERR_PEER, tern_put_notify(TERN_WORLD, region, dead, 0, &byte, 1, 7));
    EXPECT(TERN_ERR_PEER, tern_get_notify(TERN_WORLD, region, dead, 0, &byte, 1, 7));
    notice = started(dead, 8, 1);
    EXPECT(TERN_ERR_PEER, tern_notice_wait(notice, tern_deadline_in(20), NULL));
    EXPECT(TERN_ERR_PEER, tern_notice_test(notice, NULL));
    EXPECT(TERN_OK, tern_notice_cancel(notice, NULL));
    EXPECT(TERN_OK, tern_notice_free(notice));
}

/* What was sent before the death comes, or not all of it where it was under way; then the wait ends. */
static void run_source(void)
{
    tern_notice     *notice;
    tern_notice_info info = { 0 };
    uint32_t         got = 0;
    tern_status      st;

    if (me == 1) {
        for (uint32_t i = 0; i < SENT; i++)
            for (int rank = 0; rank < size; rank++)
                if (rank != me)
                    EXPECT(TERN_OK, tern_notify(TERN_WORLD, region, rank, i));
        fault_die();
    }
    notice = started(1, TERN_ANY_TAG, 1);
    while ((st = tern_notice_wait(notice, tern_deadline_in(20), &info)) == TERN_OK) {
        REQUIRE(info.tag == got++ && info.source == 1);
        EXPECT(TERN_OK, tern_notice_start(notice));
    }
    EXPECT(TERN_ERR_PEER, st);
    REQUIRE(got == SENT || (job_far(1) && got < SENT));
    EXPECT(TERN_OK, tern_notice_free(notice));
    go_on(1);
}

/* Rank 1 says in its memory that it is in no call any more; then everyone fills its queue, says so there, and waits for
 * room. */
static void run_target(void)
{
    tern_opts         opts = { .flags = TERN_IMMEDIATE | TERN_NOTIFY };
    _Atomic uint64_t *who = tern_region_ptr(region, me);
    tern_status       st;

    if (me == 1) {
        atomic_store(&who[me], 1);
        for (int rank = 0; rank < size; rank++)
            while (rank != me && atomic_load(&who[rank]) == 0)
                usleep(1000);
        fault_die();
    }
    for (uint64_t deaf = 0; deaf == 0;)
        EXPECT(TERN_OK, tern_get_u64(TERN_WORLD, region, 1, sizeof(*who), &deaf));
    while ((st = tern_put_with(TERN_WORLD, region, 1, 0, NULL, 0, &opts)) == TERN_OK)
        ;
    EXPECT(TERN_AGAIN, st);
    EXPECT(TERN_OK, tern_put_u64(TERN_WORLD, region, 1, (uint64_t)me * sizeof(*who), 1));
    EXPECT(TERN_ERR_PEER, tern_notify(TERN_WORLD, region, 1, 9));
    go_on(1);
}

static tern_status give(int rank, uint64_t value)
{
    const tern_signal signal = { region, 8 * (uint64_t)me, value, TERN_SIGNAL_SET };

    return tern_put_signal(TERN_WORLD, region, rank, 8 * (uint64_t)(size + me), &value, sizeof(value), &signal);
}

/* The signal was given when the call returned, so it is there after the death. Whoever waits for another one is not told who
 * was to give it: its deadline ends the wait. */
static void run_signal(void)
{
    tern_status st;

    for (int rank = 0; rank < size && me == 1; rank++)
        if (rank != me)
            EXPECT(TERN_OK, give(rank, 5));
    if (me == 1)
        fault_die();
    EXPECT(TERN_OK, tern_signal_wait(TERN_WORLD, region, 8, TERN_EQ, 5, tern_deadline_in(20), NULL));
    REQUIRE(((uint64_t *)tern_region_ptr(region, me))[size + 1] == 5);
    EXPECT(TERN_ERR_TIMEOUT, tern_signal_wait(TERN_WORLD, region, 8, TERN_NE, 5, tern_deadline_in(0.1), NULL));
    while ((st = give(1, 1)) == TERN_OK)
        usleep(1000); /* the launcher has not told yet */
    EXPECT(TERN_ERR_PEER, st);
    EXPECT(TERN_ERR_PEER,
           tern_put_signal_nbi(TERN_WORLD, region, 1, 0, NULL, 0, &(tern_signal){ region, 0, 1, TERN_SIGNAL_ADD }));
    for (int rank = 0; rank < size; rank++)
        if (rank != 1)
            EXPECT(TERN_OK, give(rank, 7));
    for (int rank = 0; rank < size; rank++)
        if (rank != 1)
            EXPECT(TERN_OK,
                   tern_signal_wait(TERN_WORLD, region, 8 * (uint64_t)rank, TERN_EQ, 7, tern_deadline_in(20), NULL));
}

static void run_alone(void)
{
    tern_notice *notice;

    if (me == 1)
        fault_die();
    notice = started(TERN_ANY_SOURCE, TERN_ANY_TAG, 1);
    EXPECT(TERN_ERR_PEER, tern_notice_wait(notice, tern_deadline_in(20), NULL));
    EXPECT(TERN_OK, tern_notice_free(notice));
}

/* TERN_NOTIFY_KEEP is 10. Tag 1 is behind more than that; then somebody asks for what is in front. */
static void run_full(void)
{
    tern_notice *notice;

    if (me == 1) {
        for (int i = 0; i < 20; i++)
            EXPECT(TERN_OK, tern_notify(TERN_WORLD, region, 0, 0));
        EXPECT(TERN_OK, tern_notify(TERN_WORLD, region, 0, 1));
        return;
    }
    notice = started(1, 1, 1);
    EXPECT(TERN_ERR_TIMEOUT, tern_notice_wait(notice, tern_deadline_in(2.5), NULL));
    EXPECT(TERN_OK, tern_notice_free(started(1, 0, 15))); /* gone with what it took */
    EXPECT(TERN_OK, tern_notice_wait(notice, tern_deadline_in(20), NULL));
    EXPECT(TERN_OK, tern_notice_free(notice));
}

static const struct fault_way ways[] = {
    { "source", run_source }, { "target", run_target }, { "signal", run_signal },
    { "alone", run_alone },   { NULL, run_full },
};

int main(int argc, char **argv)
{
    (void)argc;
    EXPECT(TERN_OK, tern_init());
    me = tern_rank();
    size = tern_size();
    EXPECT(TERN_OK, tern_region_alloc(TERN_WORLD, 64 * sizeof(uint64_t), NULL, &region));
    EXPECT(TERN_OK, tern_barrier(TERN_WORLD));
    fault_run(ways, argv[1]);
    EXPECT(TERN_OK, tern_finalize());
    if (!job_broken)
        printf("survived %d\n", me);
    return job_broken;
}

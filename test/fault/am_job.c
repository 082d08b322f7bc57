/* am_job.c: jobs whose active messages go wrong; started by am.sh.
 *
 *   am_job unknown       rank 0 sends rank 1 a message with a handler that rank 1 does not know
 *   am_job sender        rank 1 floods everyone and is killed by SIGKILL in the middle
 *   am_job receiver      rank 1 makes no progress, everyone floods it, and when all are stuck it dies by SIGKILL
 *   am_job prepared      rank 0 prepares a message, never commits it, and goes on sending until the queue is full
 *   am_job asleep        ranks play ping-pong; then rank 0 waits in vain, and prints how often it polled
 *
 * A survivor prints "survived R" if all promises to it held.
 */
#include <stdatomic.h>

#include "base/options.h"
#include "core/job.h"
#include "fault/fault_job.h"

#define COUNT 9u
#define ECHO 10u
#define ANSWER 11u
#define STRANGE 77u

static int           me, size;
static uint64_t      got[64], answers, looks;
static unsigned char data[512];

static void on_count(const tern_am_event *event, void *user)
{
    (void)user;
    got[event->source]++;
}

static void on_echo(const tern_am_event *event, void *user)
{
    (void)user;
    EXPECT(TERN_OK, tern_am_reply(event->token, &TERN_AM(.handler = ANSWER)));
}

static void on_answer(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    answers++;
}

static bool answered(void *arg)
{
    looks++;
    return answers >= *(uint64_t *)arg;
}

static bool gone(void *arg)
{
    return tern_peer_check(*(int *)arg) != TERN_OK;
}

/* The survivors continue: each hears from every other. */
static void go_on(int dead)
{
    uint64_t want = answers;

    for (int i = 0; i < 100; i++)
        for (int rank = 0; rank < size; rank++)
            if (rank != dead) {
                EXPECT(TERN_OK, tern_am_short(TERN_WORLD, rank, ECHO, NULL, 0));
                want++;
            }
    EXPECT(TERN_OK, tern_wait_until(TERN_WORLD, answered, &want, tern_deadline_in(20)));
    EXPECT(TERN_ERR_PEER, tern_am_short(TERN_WORLD, dead, ECHO, NULL, 0));
    EXPECT(TERN_ERR_PEER, tern_am_prepare(TERN_WORLD, dead, &TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .max = 8),
                                          &(tern_am_prepared){ .len = 0 }));
}

/* If a death ends the job, the survivors have nothing to check: they wait until the launcher ends them. */
static void learn(int dead)
{
    EXPECT(TERN_OK, tern_wait_until(TERN_WORLD, gone, &dead, tern_deadline_in(20)));
    while (tern_job.boot.segment->on_failure == TERN_ON_FAILURE_ABORT)
        pause();
}

static void run_sender(void)
{
    uint64_t count = 0;

    if (me == 1) {
        for (;; count++) {
            for (int rank = 0; rank < size; rank++)
                if (rank != me)
                    (void)tern_am_medium(TERN_WORLD, rank, COUNT, NULL, 0, data, count % sizeof(data));
            if (count == 3000)
                fault_die();
        }
    }
    learn(1);
    go_on(1);
}

/* Rank 1 writes to its memory that it makes no more calls; then all others fill its queue, write there that they have,
 * and wait for space. */
static void run_receiver(void)
{
    tern_am           am = TERN_AM(.kind = TERN_AM_MEDIUM, .handler = COUNT, .payload = data, .len = sizeof(data));
    tern_region      *stuck;
    _Atomic uint64_t *who;
    tern_status       st;

    EXPECT(TERN_OK, tern_region_create(TERN_WORLD, 64 * sizeof(*who), NULL, &stuck));
    who = tern_region_ptr(stuck, me);
    if (me == 1) {
        atomic_store(&who[me], 1);
        for (int rank = 0; rank < size; rank++)
            while (rank != me && atomic_load(&who[rank]) == 0)
                usleep(1000);
        fault_die();
    }
    for (uint64_t deaf = 0; deaf == 0;)
        EXPECT(TERN_OK, tern_get_u64(TERN_WORLD, stuck, 1, sizeof(*who), &deaf));
    am.flags = TERN_IMMEDIATE;
    while ((st = tern_am_request(TERN_WORLD, 1, &am)) == TERN_OK)
        ;
    EXPECT(TERN_AGAIN, st);
    EXPECT(TERN_OK, tern_put_u64(TERN_WORLD, stuck, 1, (uint64_t)me * sizeof(*who), 1));
    am.flags = 0;
    EXPECT(TERN_ERR_PEER, tern_am_request(TERN_WORLD, 1, &am));
    go_on(1);
    EXPECT(TERN_OK, tern_region_free(stuck));
}

static void run_unknown(void)
{
    if (me == 0) {
        EXPECT(TERN_OK, tern_am_register(STRANGE, on_count, NULL));
        EXPECT(TERN_OK, tern_am_short(TERN_WORLD, 1, STRANGE, NULL, 0));
    }
    learn(1);
}

static void run_prepared(void)
{
    tern_am_prepared out;
    tern_status      st = TERN_OK;

    if (me == 0) {
        EXPECT(TERN_OK, tern_ctx_set_timeout(TERN_WORLD, 2.5));
        EXPECT(TERN_OK, tern_am_prepare(TERN_WORLD, 1, &TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .max = 8), &out));
        while (st == TERN_OK)
            st = tern_am_short(TERN_WORLD, 1, COUNT, NULL, 0);
        EXPECT(TERN_ERR_TIMEOUT, st); /* the queue is full behind the prepared message */
        EXPECT(TERN_OK, tern_am_cancel(&out));
        EXPECT(TERN_OK, tern_am_short(TERN_WORLD, 1, COUNT, NULL, 0)); /* and the queue moves again */
    }
}

/* Rounds in which one message wakes the waiting rank; then a wait in which no message arrives. */
static void run_asleep(void)
{
    uint64_t want = 0;

    if (me == 0) {
        for (int i = 0; i < 600; i++) {
            want++;
            EXPECT(TERN_OK, tern_am_short(TERN_WORLD, 1, ECHO, NULL, 0));
            EXPECT(TERN_OK, tern_wait_until(TERN_WORLD, answered, &want, tern_deadline_in(20)));
        }
        looks = 0;
        EXPECT(TERN_ERR_TIMEOUT, tern_wait_until(TERN_WORLD, answered, &(uint64_t){ UINT64_MAX }, tern_deadline_in(1)));
        printf("looks %llu\n", (unsigned long long)looks);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    EXPECT(TERN_OK, tern_am_register(COUNT, on_count, NULL));
    EXPECT(TERN_OK, tern_am_register(ECHO, on_echo, NULL));
    EXPECT(TERN_OK, tern_am_register(ANSWER, on_answer, NULL));
    EXPECT(TERN_OK, tern_init());
    me = tern_rank();
    size = tern_size();
    EXPECT(TERN_OK, tern_barrier(TERN_WORLD));
    if (strcmp(how, "unknown") == 0)
        run_unknown();
    else if (strcmp(how, "sender") == 0)
        run_sender();
    else if (strcmp(how, "receiver") == 0)
        run_receiver();
    else if (strcmp(how, "prepared") == 0)
        run_prepared();
    else
        run_asleep();
    EXPECT(TERN_OK, tern_finalize());
    if (!job_broken)
        printf("survived %d\n", me);
    return job_broken;
}

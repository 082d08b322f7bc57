/* tagged_job.c: jobs in which a rank dies while tagged messages are in some state; started by tagged.sh.
 *
 *   tagged_job source: rank 1 sends short messages and an offer to all and is killed; they receive what there is
 *
 *   tagged_job target: rank 1 receives nothing and dies; the others have sends of every kind under way to it
 *
 *   tagged_job pulled: rank 1 dies while the others fetch a long message from it
 *
 *   tagged_job pulling: rank 1 dies while it fetches a long message from each of the others
 *
 *   tagged_job alone: two ranks; rank 0 waits for any source, and rank 1 dies
 *
 * Survivors print "survived R" when all that they were promised held.
 */
#include <stdatomic.h>

#include "fault/fault_job.h"

#define SENT 50u
#define LONG (8u << 20)

static int            me, size;
static unsigned char *data;
static tern_region   *region; /* a word for each rank: it has begun */

static void wait_for(tern_request **request, tern_status want)
{
    EXPECT(want, tern_request_wait(request, tern_deadline_in(20), NULL));
    REQUIRE(*request == NULL);
}

/* Those who are left go on, and the dead one is refused. */
static void go_on(int dead)
{
    tern_request *send[64], *recv[64];
    size_t        n = 0;
    char          byte = 0;

    for (int rank = 0; rank < size; rank++) {
        if (rank == dead)
            continue;
        EXPECT(TERN_OK, tern_irecv(TERN_WORLD, rank, 7, data + LONG + (size_t)rank * 100000, 100000, &recv[n]));
        EXPECT(TERN_OK, tern_isend(TERN_WORLD, rank, 7, data, 100000, &send[n++]));
    }
    EXPECT(TERN_OK, tern_request_wait_all(recv, n, tern_deadline_in(20), NULL, NULL));
    EXPECT(TERN_OK, tern_request_wait_all(send, n, tern_deadline_in(20), NULL, NULL));
    EXPECT(TERN_ERR_PEER, tern_send(TERN_WORLD, dead, 7, &byte, 1));
    EXPECT(TERN_ERR_PEER, tern_ssend(TERN_WORLD, dead, 7, &byte, 1));
    EXPECT(TERN_ERR_PEER, tern_send(TERN_WORLD, dead, 7, data, LONG));
    EXPECT(TERN_ERR_PEER, tern_recv(TERN_WORLD, dead, 7, &byte, 1, NULL));
    EXPECT(TERN_ERR_PEER, tern_probe(TERN_WORLD, dead, 7, tern_deadline_in(20), NULL));
}

/* Short messages that were sent before the death come, or not all of them where they were under way. The offer
 * cannot be fetched any more. */
static void run_source(void)
{
    tern_request     *request;
    tern_message_info info;
    uint32_t          got = 0, number;
    tern_status       st;

    if (me == 1) {
        for (uint32_t i = 0; i < SENT; i++)
            for (int rank = 0; rank < size; rank++)
                if (rank != me)
                    EXPECT(TERN_OK, tern_send(TERN_WORLD, rank, 3, &i, sizeof(i)));
        for (int rank = 0; rank < size; rank++)
            if (rank != me)
                EXPECT(TERN_OK, tern_isend(TERN_WORLD, rank, 4, data, LONG, &request));
        fault_die();
    }
    while ((st = tern_recv(TERN_WORLD, 1, 3, &number, sizeof(number), &info)) == TERN_OK)
        REQUIRE(number == got++ && info.source == 1);
    EXPECT(TERN_ERR_PEER, st);
    REQUIRE(got == SENT || (job_far(1) && got < SENT));
    EXPECT(TERN_ERR_PEER, tern_recv(TERN_WORLD, 1, 4, data, LONG, NULL));
    go_on(1);
}

/* Sends that wait for their receiver, and sends that wait for room. */
static void run_target(void)
{
    static tern_request *sends[4000];
    tern_request        *sync, *offer;
    size_t               n = 0;

    if (me == 1) {
        _Atomic uint64_t *who = tern_region_ptr(region, me);

        for (int rank = 0; rank < size; rank++)
            while (rank != me && atomic_load(&who[rank]) == 0)
                usleep(1000); /* in no call that would take anything */
        fault_die();
    }
    EXPECT(TERN_OK, tern_issend(TERN_WORLD, 1, 1, data, 8, &sync));
    EXPECT(TERN_OK, tern_isend(TERN_WORLD, 1, 1, data, LONG, &offer));
    while (n < 4000 && tern_isend(TERN_WORLD, 1, 1, data, 2000, &sends[n]) == TERN_OK)
        n++;
    EXPECT(TERN_OK, tern_put_u64(TERN_WORLD, region, 1, (uint64_t)me * sizeof(uint64_t), 1));
    wait_for(&sync, TERN_ERR_PEER);
    wait_for(&offer, TERN_ERR_PEER);
    if (n > 0) {
        tern_status st = tern_request_wait_all(sends, n, tern_deadline_in(20), NULL, NULL);

        REQUIRE(st == TERN_ERR_PEER || st == TERN_OK);
    }
    go_on(1);
}

/* TERN_MSG_CHUNK is small: some chunks are fetched before the death, and others mostly are not. */
static void run_pulled(void)
{
    tern_request *request = NULL;
    char          byte = 0;
    tern_status   st;

    if (me == 1) {
        for (int rank = 0; rank < size; rank++)
            if (rank != me)
                EXPECT(TERN_OK, tern_isend(TERN_WORLD, rank, 4, data, LONG, &request));
        for (int rank = 0; rank < size; rank++)
            if (rank != me)
                EXPECT(TERN_OK, tern_recv(TERN_WORLD, rank, 5, &byte, 1, NULL));
        fault_die();
    }
    EXPECT(TERN_OK, tern_irecv(TERN_WORLD, 1, 4, data, LONG, &request));
    EXPECT(TERN_OK, tern_progress(TERN_WORLD));
    EXPECT(TERN_OK, tern_send(TERN_WORLD, 1, 5, &byte, 1));
    while (tern_peer_check(1) == TERN_OK) /* no call that would fetch */
        usleep(1000);
    st = tern_request_wait(&request, tern_deadline_in(20), NULL);
    /* The thread beside this one may have fetched the last chunk before the death was seen. */
    REQUIRE((st == TERN_ERR_PEER || st == TERN_OK) && request == NULL);
    go_on(1);
}

static void run_pulling(void)
{
    tern_request *request = NULL;
    tern_status   st;
    char          byte = 0;

    if (me == 1) {
        for (int rank = 0; rank < size; rank++)
            if (rank != me)
                EXPECT(TERN_OK, tern_irecv(TERN_WORLD, rank, 4, data + (size_t)rank * 4096, LONG, &request));
        for (int rank = 0; rank < size; rank++)
            if (rank != me)
                EXPECT(TERN_OK, tern_recv(TERN_WORLD, rank, 5, &byte, 1, NULL)); /* behind the offers */
        fault_die();
    }
    EXPECT(TERN_OK, tern_isend(TERN_WORLD, 1, 4, data, LONG, &request));
    EXPECT(TERN_OK, tern_send(TERN_WORLD, 1, 5, &byte, 1));
    st = tern_request_wait(&request, tern_deadline_in(20), NULL);
    REQUIRE(st == TERN_ERR_PEER || st == TERN_OK); /* it may have fetched all of it */
    go_on(1);
}

static void run_alone(void)
{
    tern_request *request = NULL;
    tern_event    event;
    char          byte;

    if (me == 1)
        fault_die();
    EXPECT(TERN_OK, tern_irecv(TERN_WORLD, TERN_ANY_SOURCE, TERN_ANY_TAG, &byte, 1, &request));
    EXPECT(TERN_OK, tern_request_event(request, &event));
    EXPECT(TERN_ERR_PEER, tern_event_wait(&event, tern_deadline_in(20)));
    wait_for(&request, TERN_ERR_PEER);
    EXPECT(TERN_ERR_PEER, tern_recv(TERN_WORLD, TERN_ANY_SOURCE, TERN_ANY_TAG, &byte, 1, NULL));
}

static const struct fault_way ways[] = {
    { "source", run_source },   { "target", run_target }, { "pulled", run_pulled },
    { "pulling", run_pulling }, { NULL, run_alone },
};

int main(int argc, char **argv)
{
    (void)argc;
    EXPECT(TERN_OK, tern_init());
    me = tern_rank();
    size = tern_size();
    data = job_new(LONG + 64 * 100000u);
    EXPECT(TERN_OK, tern_region_alloc(TERN_WORLD, 64 * sizeof(uint64_t), NULL, &region));
    EXPECT(TERN_OK, tern_barrier(TERN_WORLD));
    fault_run(ways, argv[1]);
    EXPECT(TERN_OK, tern_finalize());
    free(data);
    if (!job_broken)
        printf("survived %d\n", me);
    return job_broken;
}

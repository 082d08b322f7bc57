/* tagged_job.c: jobs in which rank 1 dies by SIGKILL while tagged messages are in some state; started by tagged.sh,
 * which sets limits so that the lengths below select the four protocols.
 *
 *   tagged_job sent      it has sent messages of every protocol, also synchronous ones; all have arrived, and no
 *                        rank has received them
 *   tagged_job expected  the others have posted receives for every protocol; it sends nothing
 *   tagged_job stopped   it is stopped when its RTS messages have arrived, and dies when the others fetch from it
 *   tagged_job pulled    the others have fetched some chunks from it, and not all
 *   tagged_job target    it receives nothing; the others have sends of every protocol outstanding, also synchronous
 *                        ones, and some that find no room
 *   tagged_job pulling   it has fetched some chunks from each of the others, and not all
 *   tagged_job helping   at some moment while it sends long messages to rank 0 and copies a part of each
 *   tagged_job behind    all ranks have sent all ranks more than TERN_MSG_KEEP, and no rank receives
 *   tagged_job alone     two ranks; rank 0 waits for any source
 *
 * A survivor prints "survived R" if all promises to it held.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "fault/fault_job.h"

/* By TERN_MSG_EAGER=8K TERN_MSG_FIRST=4K TERN_MSG_CHUNKED=64K TERN_MSG_CHUNK=4K. */
static const struct protocol {
    const char *name;
    size_t      len;
    bool        fetched; /* the receiver needs the sender's help, or its memory */
} protocols[] = {
    { "inline", 8, false }, { "eager", 2000, false }, { "one get", 32768, true }, { "chunked", 300000, true }
};
#define PROTOCOLS (sizeof(protocols) / sizeof(protocols[0]))

#define LONG (8u << 20) /* many chunks */
#define QUEUED 4000u    /* more sends than find room */

static int               me, size;
static unsigned char    *data;
static tern_region      *region; /* a word for each rank, which it sets */
static _Atomic uint64_t *words;
static tern_region *own; /* memory that the program registered: reached in the same way as the memory of messages */
static int          pids[64];

static bool names_it(void)
{
    return strstr(tern_error_detail(), "rank 1") != NULL;
}

static void wait_for(tern_request **request, tern_status want)
{
    EXPECT(want, tern_request_wait(request, tern_deadline_in(20), NULL));
    REQUIRE(*request == NULL);
    REQUIRE(want != TERN_ERR_PEER || names_it());
}

/* Tell another rank, in its memory, that this rank has come so far; the other rank waits for all. Rank 1 dies when it
 * has heard the last, over a network perhaps before it has confirmed it. */
static void say_to(int rank)
{
    tern_status st = tern_put_u64(TERN_WORLD, region, rank, (uint64_t)me * sizeof(uint64_t), 1);

    if (st != TERN_ERR_PEER || rank != 1)
        EXPECT(TERN_OK, st);
}

static void hear_all(bool progress)
{
    for (int rank = 0; rank < size; rank++)
        while (rank != 1 && atomic_load(&words[rank]) == 0) {
            if (progress)
                EXPECT(TERN_OK, tern_progress(TERN_WORLD));
            usleep(100);
        }
}

/* Wait for the death without a call that would deliver or fetch a message. */
static void see_death(void)
{
    while (tern_peer_check(1) == TERN_OK)
        usleep(1000);
}

/* The survivors continue, and operations on the dead rank are refused. */
static void go_on(void)
{
    tern_request *send[64], *recv[64];
    tern_message *message;
    char          byte = 0;

    for (size_t p = 0; p < PROTOCOLS; p++) {
        size_t n = 0;

        job_note = protocols[p].name;
        for (int rank = 0; rank < size; rank++) {
            if (rank == 1)
                continue;
            EXPECT(TERN_OK, tern_irecv(TERN_WORLD, rank, 7, data + LONG + (size_t)rank * 300000, 300000, &recv[n]));
            EXPECT(TERN_OK, tern_isend(TERN_WORLD, rank, 7, data, protocols[p].len, &send[n++]));
        }
        EXPECT(TERN_OK, tern_request_wait_all(recv, n, tern_deadline_in(20), NULL, NULL));
        EXPECT(TERN_OK, tern_request_wait_all(send, n, tern_deadline_in(20), NULL, NULL));
        EXPECT(TERN_ERR_PEER, tern_send(TERN_WORLD, 1, 7, data, protocols[p].len));
        REQUIRE(names_it());
        EXPECT(TERN_ERR_PEER, tern_ssend(TERN_WORLD, 1, 7, data, protocols[p].len));
        REQUIRE(names_it());
        EXPECT(TERN_ERR_PEER, tern_isend(TERN_WORLD, 1, 7, data, protocols[p].len, &send[0]));
        REQUIRE(names_it());
    }
    job_note = NULL;
    EXPECT(TERN_ERR_PEER, tern_recv(TERN_WORLD, 1, 7, &byte, 1, NULL));
    REQUIRE(names_it());
    EXPECT(TERN_ERR_PEER, tern_probe(TERN_WORLD, 1, 7, tern_deadline_in(20), NULL));
    REQUIRE(names_it());
    EXPECT(TERN_ERR_PEER, tern_mprobe(TERN_WORLD, 1, 7, tern_deadline_in(20), &message, NULL));
    REQUIRE(names_it());
}

/* ---- a sender that dies ---- */

/* The tag encodes the protocol, and whether the send is synchronous. */
static void send_all(int rank)
{
    tern_request *request;

    for (size_t i = 0; i < 2 * PROTOCOLS; i++) {
        unsigned char *from = job_new(protocols[i / 2].len);

        job_fill(from, protocols[i / 2].len, 1, (unsigned)i);
        EXPECT(TERN_OK, i % 2 ? tern_issend(TERN_WORLD, rank, (int64_t)i, from, protocols[i / 2].len, &request)
                              : tern_isend(TERN_WORLD, rank, (int64_t)i, from, protocols[i / 2].len, &request));
    }
}

/* Eager messages are received; messages that would have to be fetched are not. */
static void run_sent(void)
{
    tern_message *message[2 * PROTOCOLS] = { NULL };

    if (me == 1) {
        for (int rank = 0; rank < size; rank++)
            if (rank != me)
                send_all(rank);
        hear_all(true);
        fault_die();
    }
    for (size_t i = 0; i < 2 * PROTOCOLS; i++)
        EXPECT(TERN_OK, i % 2 ? tern_mprobe(TERN_WORLD, 1, (int64_t)i, tern_deadline_in(20), &message[i], NULL)
                              : tern_probe(TERN_WORLD, 1, (int64_t)i, tern_deadline_in(20), NULL));
    say_to(1);
    see_death();
    for (size_t i = 0; i < 2 * PROTOCOLS; i++) {
        const struct protocol *p = &protocols[i / 2];

        job_note = p->name;
        EXPECT(p->fetched ? TERN_ERR_PEER : TERN_OK, i % 2 ? tern_mrecv(&message[i], data, LONG, NULL)
                                                           : tern_recv(TERN_WORLD, 1, (int64_t)i, data, LONG, NULL));
        REQUIRE(p->fetched ? names_it() : job_put_holds(data, p->len, 1, (unsigned)i));
    }
    go_on();
}

static void run_expected(void)
{
    tern_request *recv[PROTOCOLS], *bits, *any;

    if (me == 1) {
        hear_all(true);
        fault_die();
    }
    for (size_t p = 0; p < PROTOCOLS; p++)
        EXPECT(TERN_OK, tern_irecv(TERN_WORLD, 1, (int64_t)p, data, protocols[p].len, &recv[p]));
    EXPECT(TERN_OK, tern_irecv_masked(TERN_WORLD, 1, 0, 1, data, LONG, &bits));
    EXPECT(TERN_OK, tern_irecv(TERN_WORLD, TERN_ANY_SOURCE, 9, data, LONG, &any));
    say_to(1);
    for (size_t p = 0; p < PROTOCOLS; p++)
        wait_for(&recv[p], TERN_ERR_PEER);
    wait_for(&bits, TERN_ERR_PEER);
    EXPECT(size > 2 ? TERN_PENDING : TERN_ERR_PEER, tern_request_test(&any, NULL));
    if (size > 2)
        EXPECT(TERN_OK, tern_request_cancel(&any, NULL));
    go_on();
}

/* Where cross-memory attach can read a stopped process, the messages are fetched; elsewhere they are not. */
static void run_stopped(void)
{
    bool          alone = strcmp(tern_region_path(own, 1), "cma") == 0;
    tern_request *recv[2], *request;

    if (me == 1) {
        for (int rank = 0; rank < size; rank++)
            for (int64_t p = 2; p < 4; p++)
                if (rank != me)
                    EXPECT(TERN_OK, tern_isend(TERN_WORLD, rank, p, data, protocols[p].len, &request));
        for (;;)
            EXPECT(TERN_OK, tern_progress(TERN_WORLD));
    }
    for (int64_t p = 2; p < 4; p++)
        EXPECT(TERN_OK, tern_probe(TERN_WORLD, 1, p, tern_deadline_in(20), NULL));
    if (me == 0) {
        atomic_store(&words[0], 1);
        hear_all(true);
        fault_stop(pids[1]);
        for (int rank = 2; rank < size; rank++)
            EXPECT(TERN_OK, tern_send(TERN_WORLD, rank, 8, "", 1));
    } else {
        char byte;

        say_to(0);
        EXPECT(TERN_OK, tern_recv(TERN_WORLD, 0, 8, &byte, 1, NULL)); /* the sender is stopped */
    }
    for (int64_t p = 2; p < 4; p++)
        EXPECT(TERN_OK, tern_irecv(TERN_WORLD, 1, p, data + p * 300000, 300000, &recv[p - 2]));
    for (int i = 0; i < 200; i++)
        EXPECT(TERN_OK, tern_progress(TERN_WORLD));
    for (int p = 0; p < 2 && alone; p++)
        wait_for(&recv[p], TERN_OK);
    for (int p = 0; p < 2 && !alone; p++)
        EXPECT(TERN_PENDING, tern_request_test(&recv[p], NULL));
    if (me == 0) {
        char byte;

        for (int rank = 2; rank < size; rank++)
            EXPECT(TERN_OK, tern_recv(TERN_WORLD, rank, 8, &byte, 1, NULL));
        kill(pids[1], SIGKILL);
    } else {
        EXPECT(TERN_OK, tern_send(TERN_WORLD, 0, 8, "", 1));
    }
    for (int p = 0; p < 2 && !alone; p++)
        wait_for(&recv[p], TERN_ERR_PEER);
    see_death();
    go_on();
}

/* No helper thread fetches: when the first chunk has arrived, only a few others have. */
static void run_pulled(void)
{
    _Atomic unsigned char *first = (_Atomic unsigned char *)(data + 5000); /* behind the data of the RTS */
    tern_request          *request = NULL;

    if (me == 1) {
        memset(data, 0x5a, LONG);
        for (int rank = 0; rank < size; rank++)
            if (rank != me)
                EXPECT(TERN_OK, tern_isend(TERN_WORLD, rank, 4, data, LONG, &request));
        hear_all(true);
        fault_die();
    }
    EXPECT(TERN_OK, tern_irecv(TERN_WORLD, 1, 4, data, LONG, &request));
    while (atomic_load(first) == 0)
        EXPECT(TERN_OK, tern_progress(TERN_WORLD));
    say_to(1);
    see_death();
    wait_for(&request, TERN_ERR_PEER);
    go_on();
}

/* ---- a receiver that dies ---- */

/* Sends that have left have completed; sends that wait for their receiver, or for room, have not. */
static void run_target(void)
{
    static tern_request *sends[QUEUED];
    static tern_status   statuses[QUEUED];
    tern_request        *sync[PROTOCOLS], *offer[PROTOCOLS];
    size_t               left = 0;

    if (me == 1) {
        hear_all(false);
        fault_die();
    }
    for (size_t p = 0; p < PROTOCOLS; p++) {
        EXPECT(TERN_OK, tern_issend(TERN_WORLD, 1, 1, data, protocols[p].len, &sync[p]));
        EXPECT(TERN_OK, tern_isend(TERN_WORLD, 1, 1, data, protocols[p].len, &offer[p]));
    }
    for (size_t i = 0; i < QUEUED; i++)
        EXPECT(TERN_OK, tern_isend(TERN_WORLD, 1, 1, data, 2000, &sends[i]));
    say_to(1);
    for (size_t p = 0; p < PROTOCOLS; p++) {
        job_note = protocols[p].name;
        wait_for(&sync[p], TERN_ERR_PEER);
        wait_for(&offer[p], protocols[p].fetched ? TERN_ERR_PEER : TERN_OK);
    }
    job_note = NULL;
    EXPECT(TERN_ERR_PEER, tern_request_wait_all(sends, QUEUED, tern_deadline_in(20), NULL, statuses));
    REQUIRE(names_it());
    while (left < QUEUED && statuses[left] == TERN_OK)
        left++;
    REQUIRE(left > 0 && left < QUEUED);
    for (size_t i = left; i < QUEUED; i++)
        EXPECT(TERN_ERR_PEER, statuses[i]);
    go_on();
}

static void run_pulling(void)
{
    tern_request *request = NULL;

    if (me == 1) {
        hear_all(true); /* their RTS messages are in flight */
        for (int rank = 0; rank < size; rank++)
            if (rank != me)
                EXPECT(TERN_OK, tern_irecv(TERN_WORLD, rank, 4, job_new(LONG), LONG, &request));
        for (int i = 0; i < 50; i++) /* at most two chunks of each at a time */
            EXPECT(TERN_OK, tern_progress(TERN_WORLD));
        fault_die();
    }
    EXPECT(TERN_OK, tern_isend(TERN_WORLD, 1, 4, data, LONG, &request));
    say_to(1);
    wait_for(&request, TERN_ERR_PEER);
    go_on();
}

static void *die_soon(void *arg)
{
    usleep(20000 + 1000 * (unsigned)(getpid() % 7)); /* any moment will do */
    fault_die();
    return arg;
}

/* Every message arrives whole, except the last. */
static void run_helping(void)
{
    pthread_t     thread;
    unsigned char number = 0;
    tern_status   st;

    if (me == 1) {
        REQUIRE(pthread_create(&thread, NULL, die_soon, NULL) == 0);
        for (;;) {
            memset(data, ++number, LONG);
            tern_send(TERN_WORLD, 0, 4, data, LONG);
        }
    }
    while (me != 0 && tern_peer_check(1) == TERN_OK)
        usleep(1000);
    while (me == 0 && (st = tern_recv(TERN_WORLD, 1, 4, data, LONG, NULL)) != TERN_ERR_PEER) {
        EXPECT(TERN_OK, st);
        number++;
        for (size_t i = 0; i < LONG; i += 512)
            REQUIRE(data[i] == number);
    }
    go_on();
}

#define BEHIND 10

static void receive_from(int rank, int64_t tag, size_t len, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        EXPECT(TERN_OK, tern_recv(TERN_WORLD, rank, tag, data, LONG, NULL));
        REQUIRE(job_put_holds(data, len, (unsigned)rank, (unsigned)tag));
    }
}

/* The last message of rank 1 can be received, although others of rank 1 and of living ranks are in front of it, and a
 * receive of a message that it did not send ends. Rank 1 dies when all of its messages have arrived at the others. */
static void run_behind(void)
{
    char byte;

    for (int i = 0; i <= BEHIND; i++) {
        int64_t tag = i < BEHIND ? 5 : 6;
        size_t  len = i < BEHIND ? 1000 : 8;

        job_fill(data, len, (unsigned)me, (unsigned)tag);
        for (int rank = 0; rank < size; rank++)
            if (rank != me)
                EXPECT(TERN_OK, tern_send(TERN_WORLD, rank, tag, data, len));
    }
    if (me == 1) {
        hear_all(true);
        fault_die();
    }
    fault_await_arrival(1, TERN_CHANNEL_TAGGED, BEHIND + 1);
    say_to(1);
    see_death();
    receive_from(1, 6, 8, 1);
    EXPECT(TERN_ERR_PEER, tern_recv(TERN_WORLD, 1, 7, &byte, 1, NULL));
    REQUIRE(names_it());
    for (int rank = 0; rank < size; rank++)
        if (rank != me)
            receive_from(rank, 5, 1000, BEHIND);
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
    EXPECT(TERN_ERR_PEER, tern_request_wait(&request, tern_deadline_in(20), NULL));
    EXPECT(TERN_ERR_PEER, tern_recv(TERN_WORLD, TERN_ANY_SOURCE, TERN_ANY_TAG, &byte, 1, NULL));
}

static const struct fault_way ways[] = {
    { "sent", run_sent },       { "expected", run_expected }, { "stopped", run_stopped },
    { "pulled", run_pulled },   { "target", run_target },     { "pulling", run_pulling },
    { "helping", run_helping }, { "behind", run_behind },     { NULL, run_alone },
};

int main(int argc, char **argv)
{
    int pid = (int)getpid();

    (void)argc;
    EXPECT(TERN_OK, tern_init());
    me = tern_rank();
    size = tern_size();
    data = job_new(LONG + 64 * 300000u);
    EXPECT(TERN_OK, tern_region_create(TERN_WORLD, 64 * sizeof(uint64_t), NULL, &region));
    words = tern_region_ptr(region, me);
    EXPECT(TERN_OK, tern_region_register(TERN_WORLD, data, 4096, &own));
    EXPECT(TERN_OK, tern_allgather(TERN_WORLD, &pid, sizeof(pid), pids));
    fault_run(ways, argv[1]);
    EXPECT(TERN_OK, tern_finalize());
    free(data);
    if (!job_broken)
        printf("survived %d\n", me);
    return job_broken;
}

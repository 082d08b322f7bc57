/* tagged_destroy.c: contexts that are destroyed while their messages are outstanding.
 *
 * Promise: tern_ctx_free returns when every send of the context has left and every matched receive has its data: no
 * message is lost, and no buffer is read or written afterwards. Receives without a message are given up, and their
 * messages go to other receives. A message that a matched probe has found must be received first. After a time limit
 * the context is unchanged. tern_quiet waits for none of this. A receive that has no message when its rank calls
 * tern_finalize gets none, and the sender gets an error.
 *
 * Rank 0 sends to rank 1.
 *
 * ranks: 2 3
 * env: TERN_CMA=off
 * env: TERN_PROGRESS_THREAD=off
 * env: TERN_CMA=off TERN_PROGRESS_THREAD=off
 */
#include <pthread.h>

#include "job_test.h"

#define MANY 400u /* more messages than a queue has room for */
#define SMALL 1024u
#define LONG 1500000u
#define THREADS 3
#define ROUNDS 8u

enum { QUEUED = 1, LONGS, SYNC, MATCHED, BEHIND, UNMATCHED, PROBED, LIMITED, LEFT, OF_THREADS };

static unsigned char *data;

static tern_ctx *make(void)
{
    tern_ctx *ctx;

    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
    return ctx;
}

/* The program uses the buffer for something else. */
static void reuse(size_t len)
{
    memset(data, 0xee, len);
}

static void receive(int64_t tag, size_t len, unsigned when)
{
    tern_request_info info;

    memset(data, 0, len);
    OK(tern_recv(TERN_WORLD, 0, tag, data, len, &info));
    SAME(info.len, len);
    HOLDS(data, len, 0, when);
}

/* More messages than the queue of the receiver holds. */
static void queued(void)
{
    tern_request *request;
    tern_ctx     *ctx = make();

    if (tern_rank() == 0) {
        for (unsigned i = 0; i < MANY; i++) {
            job_fill(data + (size_t)i * SMALL, SMALL, 0, i);
            OK(tern_isend(ctx, 1, QUEUED, data + (size_t)i * SMALL, SMALL, &request));
        }
        OK(tern_quiet(ctx)); /* although rank 1 receives nothing before the barrier */
    }
    OK(tern_barrier(TERN_WORLD));
    for (unsigned i = 0; tern_rank() == 1 && i < MANY; i++)
        receive(QUEUED, SMALL, i);
    OK(tern_ctx_free(ctx));
    reuse((size_t)MANY * SMALL);
}

/* A message whose data the receiver fetches (rendezvous), and a synchronous one. */
static void offered(void)
{
    tern_request *request[2];
    tern_ctx     *ctx = make();

    if (tern_rank() == 0) {
        job_fill(data, LONG, 0, 1);
        OK(tern_isend(ctx, 1, LONGS, data, LONG, &request[0]));
        OK(tern_issend(ctx, 1, SYNC, data, 8, &request[1]));
        OK(tern_quiet(ctx));
    }
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 1) {
        receive(LONGS, LONG, 1);
        receive(SYNC, 8, 1);
    }
    OK(tern_ctx_free(ctx));
    reuse(LONG);
}

/* A receive that calls on another context have matched, and whose data has not arrived. */
static void matched(void)
{
    tern_request *request;
    tern_ctx     *ctx = make();

    if (tern_rank() == 1) {
        memset(data, 0, LONG);
        OK(tern_irecv(ctx, 0, MATCHED, data, LONG, &request));
    }
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0) {
        job_fill(data, LONG, 0, 2);
        OK(tern_isend(TERN_WORLD, 1, MATCHED, data, LONG, &request));
        OK(tern_send(TERN_WORLD, 1, BEHIND, data, 8)); /* it does not overtake the other */
        OK(tern_request_wait(&request, tern_deadline_in(60), NULL));
        reuse(LONG);
    }
    if (tern_rank() == 1) {
        unsigned char behind[8];

        OK(tern_recv(TERN_WORLD, 0, BEHIND, behind, sizeof(behind), NULL));
    }
    OK(tern_ctx_free(ctx));
    if (tern_rank() == 1)
        HOLDS(data, LONG, 0, 2);
}

/* A receive without a message is given up; the message goes to the next matching receive. */
static void unmatched(void)
{
    unsigned char given_up[8] = { 0 };
    tern_request *request;
    tern_ctx     *ctx = make();

    if (tern_rank() == 1)
        OK(tern_irecv(ctx, TERN_ANY_SOURCE, UNMATCHED, given_up, sizeof(given_up), &request));
    OK(tern_ctx_free(ctx));
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0) {
        job_fill(data, 8, 0, 3);
        OK(tern_ssend(TERN_WORLD, 1, UNMATCHED, data, 8));
    }
    if (tern_rank() == 1) {
        receive(UNMATCHED, 8, 3);
        ALL_ARE(given_up, sizeof(given_up), 0);
    }
}

static void probed(void)
{
    tern_message *message;
    tern_ctx     *ctx = make();

    if (tern_rank() == 0) {
        job_fill(data, 8, 0, 4);
        OK(tern_send(TERN_WORLD, 1, PROBED, data, 8));
    }
    if (tern_rank() == 1) {
        OK(tern_mprobe(ctx, 0, PROBED, TERN_FOREVER, &message, NULL));
        REFUSES(TERN_ERR_STATE, tern_ctx_free(ctx));
        SAYS("tern_mrecv");
        OK(tern_mrecv(&message, data, 8, NULL));
        HOLDS(data, 8, 0, 4);
    }
    OK(tern_ctx_free(ctx));
}

/* Rank 1 receives after the time limit. */
static void limited(void)
{
    tern_request *request;
    tern_ctx     *ctx = make();

    if (tern_rank() == 0) {
        job_fill(data, LONG, 0, 5);
        OK(tern_isend(ctx, 1, LIMITED, data, LONG, &request));
        OK(tern_ctx_set_timeout(ctx, 0.05));
        REFUSES(TERN_ERR_TIMEOUT, tern_ctx_free(ctx));
        SAYS("rank 1");
        OK(tern_ctx_set_timeout(ctx, 0));
    }
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0)
        OK(tern_request_wait(&request, tern_deadline_in(60), NULL)); /* it is still the program's */
    if (tern_rank() == 1)
        receive(LIMITED, LONG, 5);
    OK(tern_ctx_free(ctx));
}

/* ---- several threads, so that one delivers messages for another ---- */

static const size_t lens[] = { 8, 2000, 300000 };
#define LENS (sizeof(lens) / sizeof(lens[0]))

static void send_rounds(unsigned char *mine, int64_t thread)
{
    tern_request *request;

    for (unsigned round = 0; round < ROUNDS; round++) {
        tern_ctx *ctx = make();

        job_fill(mine, lens[LENS - 1], 0, round);
        for (unsigned i = 0; i < LENS; i++)
            OK(tern_isend(ctx, 1, OF_THREADS + thread, mine, lens[i], &request));
        OK(tern_ctx_free(ctx));
        memset(mine, 0xee, lens[LENS - 1]);
    }
}

/* The last receive of each round is outstanding, in some state, when its context is destroyed. */
static void receive_rounds(unsigned char *mine, int64_t thread)
{
    tern_request *request;

    for (unsigned round = 0; round < ROUNDS; round++) {
        tern_ctx *ctx = make(), *probes = make();

        for (unsigned i = 0; i + 1 < LENS; i++) {
            OK(tern_recv(ctx, 0, OF_THREADS + thread, mine, lens[i], NULL));
            HOLDS(mine, lens[i], 0, round);
        }
        OK(tern_probe(probes, 0, OF_THREADS + thread, TERN_FOREVER, NULL)); /* the receive has its message */
        OK(tern_irecv(ctx, 0, OF_THREADS + thread, mine, lens[LENS - 1], &request));
        OK(tern_ctx_free(ctx));
        HOLDS(mine, lens[LENS - 1], 0, round);
        OK(tern_ctx_free(probes));
    }
}

static void *run_thread(void *arg)
{
    unsigned char *mine = job_new(lens[LENS - 1]);

    (tern_rank() == 0 ? send_rounds : receive_rounds)(mine, (int64_t)(intptr_t)arg);
    free(mine);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];

    for (intptr_t i = 0; tern_rank() < 2 && i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, run_thread, (void *)i) == 0);
    for (int i = 0; tern_rank() < 2 && i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

/* Usually rank 1 is in tern_finalize when the message arrives; if not, the receive may get it. */
static void leave(void)
{
    tern_request *request;
    tern_status   st = TERN_OK;

    if (tern_rank() == 1)
        OK(tern_irecv(TERN_WORLD, 0, LEFT, data, LONG, &request));
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0) {
        usleep(100000);
        st = tern_send(TERN_WORLD, 1, LEFT, data, LONG);
    }
    CHECK(st == TERN_OK || st == TERN_ERR_PEER);
}

int main(void)
{
    data = job_new(LONG);
    setenv("TERN_MSG_KEEP", "64K", 1);
    OK(tern_init());
    void (*const parts[])(void) = { queued, offered, matched, unmatched, probed, limited, threads, leave };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        OK(tern_barrier(TERN_WORLD));
        parts[i]();
    }
    OK(tern_finalize());
    free(data);
    return 0;
}

/* tagged_races.c: tagged messages that several threads cancel, hold up and receive at the same time.
 *
 * Promise: a receive that is cancelled while its message arrives either gets the message or leaves it to the next
 * receive, so that every message is received once and in order, whichever thread delivers it; sends that wait for room
 * and are cancelled are never seen, all others are; a thread that sleeps because its message is behind messages that
 * exceed the buffer limit continues when another thread receives those.
 *
 * ranks: 2
 */
#include <pthread.h>
#include <stdatomic.h>

#include "job_test.h"

#include "core/job.h"
#include "core/message.h"

#define MESSAGES (JOB_SANITIZED ? 300u : 1500u)
#define CROWD 64u /* messages of 1 KiB, of which 4 KiB are kept */
#define SENDS 600u

static int peer; /* the other rank */

static tern_ctx *context(void)
{
    tern_ctx *ctx;

    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
    return ctx;
}

/* ---- cancelled receives ---- */

/* Numbers, in order, some of them long. */
static void send_numbers(int64_t tag)
{
    static uint64_t data[4096];

    for (uint64_t i = 0; i < MESSAGES; i++) {
        data[0] = i;
        OK(tern_send(TERN_WORLD, peer, tag, data, i % 7 == 0 ? sizeof(data) : 8));
    }
}

/* Deliver whatever arrives, until the last message. */
static void *take_in(void *arg)
{
    tern_ctx *ctx = context();
    char      last;

    (void)arg;
    OK(tern_recv(ctx, peer, 2, &last, 1, NULL));
    OK(tern_ctx_free(ctx));
    return NULL;
}

static void cancel_receives(void)
{
    static uint64_t   data[4096];
    tern_request_info info;
    unsigned          cancelled = 0;

    for (uint64_t i = 0; i < MESSAGES;) {
        tern_request *recv;

        data[0] = UINT64_MAX;
        OK(tern_irecv(TERN_WORLD, i % 3 ? peer : TERN_ANY_SOURCE, 1, data, sizeof(data), &recv));
        for (unsigned looks = (unsigned)(i + cancelled) % 4; looks > 0; looks--)
            OK(tern_progress(TERN_WORLD));
        if (tern_request_cancel(&recv, NULL) == TERN_OK) {
            CHECK(recv == NULL && data[0] == UINT64_MAX);
            cancelled++;
            continue;
        }
        OK(tern_request_wait(&recv, TERN_FOREVER, &info));
        CHECK(data[0] == i && info.tag == 1 && info.len == (i % 7 == 0 ? sizeof(data) : 8));
        i++;
    }
}

static void cancelled_receives(void)
{
    pthread_t thread;

    if (tern_rank() == 1) {
        send_numbers(1);
        OK(tern_send(TERN_WORLD, peer, 2, "", 1));
        return;
    }
    CHECK(pthread_create(&thread, NULL, take_in, NULL) == 0);
    cancel_receives();
    pthread_join(thread, NULL);
}

/* ---- sends without room ---- */

static void cancelled_sends(void)
{
    static tern_request *send[SENDS];
    static uint64_t      number[SENDS][128];
    uint64_t             got[128], before = 0, sent = 0;
    tern_request_info    info;

    if (tern_rank() == 1) {
        for (uint64_t i = 0; i < SENDS; i++) {
            number[i][0] = i + 1;
            OK(i % 5 ? tern_isend(TERN_WORLD, peer, 3, number[i], sizeof(number[i]), &send[i])
                     : tern_issend(TERN_WORLD, peer, 3, number[i], sizeof(number[i]), &send[i]));
        }
        for (uint64_t i = 0; i < SENDS; i += 2)
            if (tern_request_cancel(&send[i], NULL) == TERN_OK)
                CHECK(send[i] == NULL);
        for (uint64_t i = 0; i < SENDS; i++)
            sent += send[i] != NULL;
        OK(tern_send(TERN_WORLD, peer, 4, &sent, sizeof(sent)));
        OK(tern_request_wait_all(send, SENDS, TERN_FOREVER, NULL, NULL));
        return;
    }
    for (uint64_t i = 0;; i++, before = got[0]) {
        OK(tern_recv(TERN_WORLD, peer, TERN_ANY_TAG, got, sizeof(got), &info));
        if (info.tag == 4) {
            SAME(got[0], i);
            return;
        }
        CHECK(got[0] > before && info.len == sizeof(got)); /* the messages that were not cancelled, in order */
    }
}

/* ---- a thread that sleeps ---- */

static void *wait_behind(void *arg)
{
    tern_ctx *ctx = context();
    uint64_t  got = 0;

    (void)arg;
    OK(tern_recv(ctx, peer, 6, &got, sizeof(got), NULL));
    SAME(got, 66);
    OK(tern_ctx_free(ctx));
    return NULL;
}

/* Wait until the other thread sleeps because the messages in front of its own cannot be accepted. Links that poll by
 * the clock let it sleep for a moment only: after a while it does not matter. */
static void let_it_sleep(void)
{
    const struct tern_slot *slot = tern_core_job_slot(tern_rank());

    for (unsigned looks = 0, asleep = 0; looks < 400 && asleep < 20; looks++) {
        bool sleeps = tern_core_message_refuses(TERN_CHANNEL_TAGGED) && atomic_load(&slot->sleepers) > 0;

        asleep = sleeps ? asleep + 1 : 0;
        usleep(500);
    }
}

static void sleeper(void)
{
    static unsigned char data[CROWD][1024];
    tern_request        *recv[CROWD];
    pthread_t            thread;
    uint64_t             last = 66;

    if (tern_rank() == 1) {
        for (unsigned i = 0; i < CROWD; i++) {
            memset(data[0], (int)i, sizeof(data[0]));
            OK(tern_send(TERN_WORLD, peer, 5, data[0], sizeof(data[0])));
        }
        OK(tern_send(TERN_WORLD, peer, 6, &last, sizeof(last)));
        return;
    }
    CHECK(pthread_create(&thread, NULL, wait_behind, NULL) == 0);
    OK(tern_probe(TERN_WORLD, peer, 5, TERN_FOREVER, NULL)); /* they come */
    let_it_sleep();
    for (unsigned i = 0; i < CROWD; i++)
        OK(tern_irecv(TERN_WORLD, peer, 5, data[i], sizeof(data[i]), &recv[i]));
    pthread_join(thread, NULL); /* this thread delivers nothing */
    OK(tern_request_wait_all(recv, CROWD, TERN_FOREVER, NULL, NULL));
    for (unsigned i = 0; i < CROWD; i++)
        ALL_ARE(data[i], sizeof(data[i]), (unsigned char)i);
}

int main(void)
{
    setenv("TERN_MSG_KEEP", "4K", 1);
    setenv("TERN_MSG_QUEUE", "32K", 1);
    setenv("TERN_SPIN", "0", 1); /* a waiting thread sleeps soon */
    OK(tern_init());
    peer = 1 - tern_rank();
    if (tern_rank() < 2) {
        cancelled_receives();
        cancelled_sends();
        sleeper();
    }
    OK(tern_barrier(TERN_WORLD));
    OK(tern_finalize());
    return 0;
}

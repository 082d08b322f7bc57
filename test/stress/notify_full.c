/* notify_full.c: notifications of several threads to targets that store almost none.
 *
 * Promise: if a thread of the target starts a request for every notification eventually, whatever the other threads
 * wait for, senders under back-pressure make progress: no thread sleeps although a notification can be accepted or
 * space is available. A wait for a notification that has not arrived sleeps, although others have arrived that cannot
 * be stored.
 *
 * Each rank has threads that send and threads that receive, one of each for a tag. A receiving thread starts one
 * request after the other, so the first notification in a queue is often unexpected; or each thread starts all requests
 * before the first notification is sent, so that none is ever refused, and the sending threads receive as well.
 *
 * ranks: 1 2 4
 * env: TERN_SPIN=0 TERN_YIELDS=0
 * env: TERN_CMA=off TERN_SPIN=0
 * sanitized: 2
 */
#include <pthread.h>
#include <sys/resource.h>

#include "job_test.h"

#define TAGS 3
#define EACH (JOB_SANITIZED ? 60u : 300u) /* notifications of a thread to a rank */
#define UNASKED 99u

static tern_region *region;

static tern_ctx *make(void)
{
    tern_ctx *ctx;

    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
    return ctx;
}

/* Blocking notified puts to all ranks, this one included. */
static void send_all(tern_ctx *ctx, uint32_t tag)
{
    for (uint64_t i = 0; i < EACH; i++)
        for (int rank = 0; rank < tern_size(); rank++)
            OK(i % 3 ? tern_put_notify(ctx, region, rank, tag * sizeof(i), &i, sizeof(i), tag)
                     : tern_notify(ctx, region, rank, tag));
}

static void *sender(void *arg)
{
    tern_ctx *ctx = make();

    send_all(ctx, (uint32_t)(uintptr_t)arg);
    OK(tern_ctx_free(ctx));
    return NULL;
}

/* One after the other, by waits and by events. */
static void *receiver(void *arg)
{
    uint32_t          tag = (uint32_t)(uintptr_t)arg;
    tern_ctx         *ctx = make();
    tern_request     *request;
    tern_request_info info;

    OK(tern_notify_create(ctx, region, TERN_ANY_SOURCE, tag, 1, &request));
    for (unsigned i = 0; i < EACH * (unsigned)tern_size(); i++) {
        OK(tern_request_start(request));
        if (i % 2) {
            tern_event event = TERN_EVENT_INIT;

            OK(tern_request_event(request, &event));
            OK(tern_event_wait(&event, TERN_FOREVER));
        }
        OK(tern_request_wait(&request, TERN_FOREVER, &info));
        SAME(info.tag, tag);
    }
    OK(tern_request_free(&request));
    OK(tern_ctx_free(ctx));
    return NULL;
}

static void join(pthread_t *thread, int n)
{
    for (int i = 0; i < n; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
}

static void one_by_one(void)
{
    pthread_t thread[2 * TAGS];

    for (uintptr_t tag = 0; tag < TAGS; tag++) {
        CHECK(pthread_create(&thread[2 * tag], NULL, receiver, (void *)tag) == 0);
        CHECK(pthread_create(&thread[2 * tag + 1], NULL, sender, (void *)tag) == 0);
    }
    join(thread, 2 * TAGS);
}

struct asked {
    tern_ctx     *ctx;
    tern_request *request;
    uint32_t      tag;
};

static void *send_and_wait(void *arg)
{
    struct asked *a = arg;

    send_all(a->ctx, a->tag);
    OK(tern_request_wait(&a->request, TERN_FOREVER, NULL));
    return NULL;
}

/* All requests are started before the first notification is sent. */
static void all_at_once(void)
{
    struct asked asked[TAGS];
    pthread_t    thread[TAGS];

    for (uint32_t tag = 0; tag < TAGS; tag++) {
        asked[tag] = (struct asked){ .ctx = make(), .tag = tag };
        OK(tern_notify_create(asked[tag].ctx, region, TERN_ANY_SOURCE, tag, EACH * (unsigned)tern_size(),
                              &asked[tag].request));
        OK(tern_request_start(asked[tag].request));
    }
    OK(tern_barrier(TERN_WORLD));
    for (uint32_t tag = 0; tag < TAGS; tag++)
        CHECK(pthread_create(&thread[tag], NULL, send_and_wait, &asked[tag]) == 0);
    join(thread, TAGS);
    for (uint32_t tag = 0; tag < TAGS; tag++) {
        OK(tern_request_free(&asked[tag].request));
        OK(tern_ctx_free(asked[tag].ctx));
    }
}

/* How often this thread has slept. */
static long sleeps_of(void)
{
    struct rusage used;

    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw;
}

/* Every rank has more notifications of its neighbour than it stores, and waits for one that is never sent. */
static void sleeps(void)
{
    tern_request *wait, *rest;
    long          before;

    for (int i = 0; i < 4; i++)
        OK(tern_notify(TERN_WORLD, region, (tern_rank() + 1) % tern_size(), UNASKED));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_notify_create(TERN_WORLD, region, TERN_ANY_SOURCE, UNASKED + 1, 1, &wait));
    OK(tern_request_start(wait));
    before = sleeps_of();
    RETURNS(TERN_ERR_TIMEOUT, tern_request_wait(&wait, tern_deadline_in(1.0), NULL));
    CHECK(sleeps_of() > before);
    OK(tern_notify_create(TERN_WORLD, region, TERN_ANY_SOURCE, UNASKED, 4, &rest));
    OK(tern_request_start(rest));
    OK(tern_request_wait(&rest, TERN_FOREVER, NULL));
    OK(tern_request_free(&rest));
    OK(tern_request_free(&wait));
}

int main(void)
{
    setenv("TERN_NOTIFY_QUEUE", "4", 1);
    setenv("TERN_NOTIFY_KEEP", "2", 1);
    OK(tern_init());
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &region));
    OK(tern_barrier(TERN_WORLD));
    sleeps();
    OK(tern_barrier(TERN_WORLD));
    all_at_once();
    OK(tern_barrier(TERN_WORLD));
    one_by_one();
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
    OK(tern_finalize());
    return 0;
}

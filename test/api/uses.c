/* uses.c: tern_init and tern_finalize are counted.
 *
 * Promise: several parts of a program, also in several threads at the same time, can initialize and finalize Tern. Only
 * the first tern_init joins the job, and only the last tern_finalize leaves it; the calls in between return at once. A
 * handler and an idle hook may make neither call. After the last tern_finalize, tern_init returns an error that says
 * why and what to do.
 */
#include "job_test.h"

#include <pthread.h>

#define THREADS 4

static pthread_barrier_t together;

/* A library that uses Tern in a thread of its own. */
static void *use(void *arg)
{
    tern_ctx *ctx;

    (void)arg;
    pthread_barrier_wait(&together);
    OK(tern_init());
    CHECK(tern_rank() >= 0 && TERN_WORLD != NULL);
    for (int i = 0; i < 3; i++) {
        OK(tern_init());
        OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
        OK(tern_ctx_free(ctx));
        OK(tern_finalize());
        CHECK(tern_size() >= 1);
    }
    return NULL;
}

static void *finalize(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&together);
    OK(tern_finalize());
    return NULL;
}

static void at_once(void *(*run)(void *arg))
{
    pthread_t thread[THREADS];

    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, run, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
}

static int calls;

static void refused(void *arg)
{
    (void)arg;
    if (calls++ > 0)
        return;
    RETURNS(TERN_ERR_STATE, tern_init());
    SAYS("tern_init: an idle hook");
    RETURNS(TERN_ERR_STATE, tern_finalize());
    SAYS("tern_finalize: an idle hook");
}

static void refused_handler(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    calls++;
    RETURNS(TERN_ERR_STATE, tern_init());
    SAYS("tern_init: a handler");
    RETURNS(TERN_ERR_STATE, tern_finalize());
    SAYS("tern_finalize: a handler");
}

static bool is_called(void *arg)
{
    (void)arg;
    return calls > 0;
}

int main(void)
{
    CHECK(pthread_barrier_init(&together, NULL, THREADS) == 0);
    REFUSES(TERN_ERR_STATE, tern_finalize());
    OK(tern_am_register(1, refused_handler, NULL));
    at_once(use);
    OK(tern_on_idle(refused, NULL));
    OK(tern_wait_until(TERN_WORLD, is_called, NULL, TERN_FOREVER));
    OK(tern_on_idle_remove(refused, NULL));
    calls = 0;
    OK(tern_am_short(TERN_WORLD, tern_rank(), 1, NULL, 0));
    OK(tern_wait_until(TERN_WORLD, is_called, NULL, TERN_FOREVER));
    OK(tern_init());
    at_once(finalize);
    OK(tern_barrier(TERN_WORLD)); /* one use is left */
    OK(tern_finalize());
    CHECK(tern_rank() == -1 && TERN_WORLD == NULL);
    REFUSES(TERN_ERR_STATE, tern_finalize());
    REFUSES(TERN_ERR_STATE, tern_init());
    SAYS("a process joins a job once");
    SAYS("call tern_init once more before the last tern_finalize");
    CHECK(tern_rank() == -1);
    return 0;
}

/* tagged_threads.c: tagged messages of several threads, each with its own context.
 *
 * Promise: whichever thread delivers a message, the message goes to the receive that matches it; the completion of a
 * fetch by one thread reaches the thread that waits; messages of one context to one rank arrive in order.
 *
 * ranks: 2 3
 */
#include <pthread.h>

#include "job_test.h"

#define THREADS 3
#define ROUNDS (JOB_SANITIZED ? 60u : 300u)
#define LONGEST 700000u

static const size_t lens[] = { 8, 100, 9000, 0, LONGEST, 32, 3000, 90000 };

static unsigned char byte_of(int rank, int64_t thread, unsigned round, size_t at)
{
    return (unsigned char)((unsigned)rank * 3 + (unsigned)thread * 17 + round * 5 + at * 7 + at / 255);
}

/* Every thread has a tag, and sends to the thread of the next rank with the same tag. */
static void *exchange(void *arg)
{
    int64_t           thread = (int64_t)(intptr_t)arg;
    int               me = tern_rank(), right = (me + 1) % tern_size(), left = (me + tern_size() - 1) % tern_size();
    unsigned char    *out = job_new(LONGEST), *in = job_new(LONGEST);
    tern_request     *requests[2];
    tern_request_info info[2];
    tern_ctx         *ctx;

    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t len = lens[(round + (unsigned)thread) % 8];

        for (size_t i = 0; i < len; i++)
            out[i] = byte_of(me, thread, round, i);
        OK(tern_irecv(ctx, round % 2 ? TERN_ANY_SOURCE : left, thread, in, LONGEST, &requests[0]));
        OK(round % 3 ? tern_isend(ctx, right, thread, out, len, &requests[1])
                     : tern_issend(ctx, right, thread, out, len, &requests[1]));
        OK(tern_request_wait_all(requests, 2, TERN_FOREVER, info, NULL));
        CHECK(info[0].source == left && info[0].tag == thread && info[0].len == len);
        for (size_t i = 0; i < len; i++)
            CHECK(in[i] == byte_of(left, thread, round, i));
    }
    OK(tern_ctx_free(ctx));
    free(out);
    free(in);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    OK(tern_init());
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, exchange, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    OK(tern_finalize());
    return 0;
}

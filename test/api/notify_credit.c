/* notify_credit.c: a source whose notifications fill the target's queue, and a target that consumes a few of them.
 *
 * Promise: a notified put that found the queue full continues as soon as its target has consumed a notification,
 * however few the target consumes, while the target computes and does not call Tern any more. A source over the network
 * has to ask for credit, because the target returns credit by itself only when a quarter of the queue is free.
 *
 * The target computes until it sees in its memory that the puts have completed: credit that is not returned is a hang.
 *
 * ranks: 2
 * network: 2
 * providers: net
 * hosts: a:1,b:1
 * chaos: off, because chaos refuses where there is space
 */
#include "job_test.h"

#define QUEUE 32
#define KEPT 1  /* notifications that the target keeps before its request is started, if it is still in the barrier */
#define TAKEN 3 /* less than a quarter; includes those that were kept */
#define FULL 8  /* offsets of the words that the source sets */
#define OVER 16
#define DATA 64

static void compute_until(const struct job_region *r, size_t offset)
{
    while (__atomic_load_n((const uint64_t *)(const void *)(r->mine + offset), __ATOMIC_ACQUIRE) == 0)
        usleep(1000);
}

/* Put until there has been no space for a while; a single refusal may only mean that the provider is busy. */
static unsigned fill(const struct job_region *r, const unsigned char *data)
{
    const tern_opts opts = TERN_OPTS(.flags = TERN_NOTIFY | TERN_IMMEDIATE, .tag = 7);
    unsigned        count = 0;

    for (int refused = 0; refused < 200;) {
        tern_status st = tern_put_with(TERN_WORLD, r->region, 1, DATA, data, 8, &opts);

        CHECK(st == TERN_OK || st == TERN_AGAIN);
        count += st == TERN_OK;
        refused = st == TERN_OK ? 0 : refused + 1;
        OK(tern_progress(TERN_WORLD));
        if (refused)
            usleep(500);
    }
    return count;
}

static void source(const struct job_region *r)
{
    unsigned char data[8] = { 1 };

    unsigned count = fill(r, data);

    CHECK(count == QUEUE || count == QUEUE + KEPT);
    OK(tern_put_u64(TERN_WORLD, r->region, 1, FULL, 1));
    for (; count < QUEUE + TAKEN; count++)
        OK(tern_put_notify(TERN_WORLD, r->region, 1, DATA, data, sizeof(data), 7));
    OK(tern_put_u64(TERN_WORLD, r->region, 1, OVER, 1));
}

static void target(const struct job_region *r)
{
    tern_request *request;

    OK(tern_notify_create(TERN_WORLD, r->region, 0, 7, TAKEN, &request));
    compute_until(r, FULL);
    OK(tern_request_start(request));
    OK(tern_request_wait(&request, TERN_FOREVER, NULL));
    compute_until(r, OVER);
    OK(tern_request_free(&request));
}

int main(void)
{
    struct job_region r;

    setenv("TERN_NOTIFY_QUEUE", "32", 1);
    setenv("TERN_NOTIFY_KEEP", "1", 1);
    OK(tern_init());
    job_region_make(&r, JOB_HOST, 4096);
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0)
        source(&r);
    else if (tern_rank() == 1)
        target(&r);
    OK(tern_barrier(TERN_WORLD));
    job_region_drop(&r);
    OK(tern_finalize());
    return 0;
}

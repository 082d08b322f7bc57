/* shared_job.c: a job in which rank 1 dies by SIGKILL while several threads of the other ranks wait on one shared
 * context; started by shared.sh. Each thread waits for something else that only rank 1 could do: a tagged message, a
 * synchronous send, a notification, a stream of puts. Every one of them gets TERN_ERR_PEER, and the context works for
 * the survivors afterwards.
 *
 * A survivor prints "survived R" if all promises to it held.
 */
#include <pthread.h>

#include "fault/fault_job.h"

#define THREADS 4
#define LONG 100000u

static tern_ctx         *ctx;
static struct job_region r;
static unsigned char     data[LONG];

static void *await(void *arg)
{
    int           number = *(int *)arg;
    tern_request *request;
    char          byte = 0;
    tern_status   st = TERN_OK;
    tern_event    event = TERN_EVENT_INIT;

    if (number == 0) {
        EXPECT(TERN_ERR_PEER, tern_recv(ctx, 1, 1, &byte, 1, NULL));
    } else if (number == 1) {
        EXPECT(TERN_ERR_PEER, tern_ssend(ctx, 1, 2, &byte, 1));
    } else if (number == 2) {
        EXPECT(TERN_OK, tern_notify_create(ctx, r.region, 1, 5, 1, &request));
        EXPECT(TERN_OK, tern_request_start(request));
        EXPECT(TERN_ERR_PEER, tern_request_wait(&request, tern_deadline_in(20), NULL));
    } else { /* until the death is known */
        for (tern_deadline end = tern_deadline_in(20); st == TERN_OK && tern_clock() < end;) {
            st = tern_put_nb(ctx, r.region, 1, 0, data, LONG, &event);
            if (st == TERN_OK)
                st = tern_event_wait(&event, tern_deadline_in(20));
        }
        REQUIRE(st == TERN_ERR_PEER);
    }
    return NULL;
}

/* The context works with the other survivors. */
static void go_on(void)
{
    int      me = tern_rank(), next = (me + 1) % tern_size(), last = (me + tern_size() - 1) % tern_size();
    uint64_t got = 0;

    next += next == 1;
    last -= last == 1;
    (void)tern_quiet(ctx); /* may report the errors of operations without events */
    EXPECT(TERN_OK, tern_send(ctx, next, 9, &next, sizeof(next)));
    EXPECT(TERN_OK, tern_recv(ctx, last, 9, &last, sizeof(last), NULL));
    REQUIRE(last == me);
    EXPECT(TERN_OK, tern_put_u64(ctx, r.region, next, 8 * (uint64_t)me, 7));
    EXPECT(TERN_OK, tern_get_u64(ctx, r.region, next, 8 * (uint64_t)me, &got));
    REQUIRE(got == 7);
    EXPECT(TERN_OK, tern_quiet(ctx));
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    int       number[THREADS], me;

    (void)argc;
    EXPECT(TERN_OK, tern_init());
    me = tern_rank();
    EXPECT(TERN_OK, tern_ctx_create(tern_team_world(),
                                    (strcmp(argv[1], "strict") == 0 ? TERN_STRICT : TERN_RELAXED) | TERN_SHARED, &ctx));
    job_region_make(&r, strcmp(argv[1], "registered") == 0 ? JOB_REGISTERED : JOB_HOST, LONG);
    EXPECT(TERN_OK, tern_barrier(ctx));
    if (me == 1) {
        usleep(100000); /* the others wait by then */
        fault_die();
    }
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        REQUIRE(pthread_create(&thread[i], NULL, await, &number[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    go_on();
    (void)tern_ctx_free(ctx);
    EXPECT(TERN_OK, tern_finalize());
    if (!job_broken)
        printf("survived %d\n", me);
    return job_broken;
}

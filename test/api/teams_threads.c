/* teams_threads.c: threads that use teams at the same time.
 *
 * Promise: each thread creates, uses and frees its own teams, while other threads of the process do the same with other
 * teams of the same ranks. Threads that create teams of the same parent at the same time pass different tags.
 *
 * ranks: 1 2 3 4
 * sanitized: 2 3
 */
#include <pthread.h>

#include "job_test.h"

#define THREADS 3
#define ROUNDS (JOB_SANITIZED ? 8 : 25)

static tern_team *base[THREADS];

static void use(tern_team *team, int round, int number)
{
    tern_ctx    *ctx;
    tern_region *region;
    int          size = tern_team_size(team), rank = tern_team_rank(team), all[64], got = -1;
    uint64_t     value = (uint64_t)(100 * round + number);

    OK(tern_ctx_create(team, TERN_RELAXED, &ctx));
    OK(tern_allgather(ctx, &(int){ 10 * rank + number }, sizeof(int), all));
    for (int i = 0; i < size; i++)
        CHECK(all[i] == 10 * i + number);
    OK(tern_region_create(ctx, 64, NULL, &region));
    OK(tern_put(ctx, region, (rank + 1) % size, 0, &value, sizeof(value)));
    OK(tern_barrier(ctx));
    CHECK(*(uint64_t *)tern_region_ptr(region, rank) == value);
    if (size > 1) {
        tern_request *request;

        OK(tern_irecv(ctx, (rank + size - 1) % size, 1, &got, sizeof(got), &request));
        OK(tern_send(ctx, (rank + 1) % size, 1, &(int){ number }, sizeof(int)));
        OK(tern_request_wait(&request, TERN_FOREVER, NULL));
        CHECK(got == number);
    }
    OK(tern_region_free(region));
    OK(tern_ctx_free(ctx));
}

static void *work(void *arg)
{
    int        number = (int)(intptr_t)arg, size = tern_size();
    tern_team *made, *parts;
    tern_ctx  *ctx;

    OK(tern_ctx_create(base[number], TERN_RELAXED, &ctx));
    for (int round = 0; round < ROUNDS; round++) {
        OK(tern_team_strided(tern_team_world(), size - 1, -1, size, (uint64_t)number, &made));
        CHECK(tern_team_rank(made) == size - 1 - tern_rank());
        use(made, round, number);
        OK(tern_team_split(ctx, tern_rank() % 2, 0, &parts));
        use(parts, round, number);
        OK(tern_team_free(made));
        OK(tern_team_free(parts));
    }
    OK(tern_ctx_free(ctx));
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];

    OK(tern_init());
    for (int i = 0; i < THREADS; i++)
        OK(tern_team_dup(TERN_WORLD, &base[i]));
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, work, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = THREADS - 1; i >= 0; i--)
        OK(tern_team_free(base[i]));
    OK(tern_finalize());
    return 0;
}

/* mutex.c: all ranks lock mutexes of all ranks.
 *
 * Promise: at most one rank holds a mutex: numbers that are read and written back under a mutex lose no addition, also
 * when some ranks give up at a deadline, which then do not hold it. A put that was not waited for is complete before
 * the next holder gets the mutex. Every rank gets the mutex eventually, also with more ranks than cores.
 *
 * ranks: 1 2 3 8
 * network: 2 3
 */
#include "job_test.h"

#define MUTEXES 3
#define ROUNDS (JOB_SANITIZED ? 60 : 200)

static tern_region  *region; /* a number for each mutex */
static tern_mutexes *mutexes;

static void add_one(int rank, uint64_t index, bool late)
{
    uint64_t value;

    OK(tern_get(TERN_WORLD, region, rank, index * 8, &value, sizeof(value)));
    value++;
    if (late)
        OK(tern_put_nbi(TERN_WORLD, region, rank, index * 8, &value, sizeof(value)));
    else
        OK(tern_put(TERN_WORLD, region, rank, index * 8, &value, sizeof(value)));
    OK(tern_mutex_unlock(TERN_WORLD, mutexes, rank, index));
}

/* Counts the additions of this rank to each number in mine: [rank][index]. */
static void add_many(uint64_t *mine)
{
    uint64_t seed = job_seed(77 + (uint64_t)tern_rank());

    for (int i = 0; i < ROUNDS; i++) {
        int         rank = i % 2 ? 0 : (int)(job_random(&seed) % (uint64_t)tern_size()); /* one of them is contended */
        uint64_t    index = i % 2 ? 0 : job_random(&seed) % MUTEXES, how = job_random(&seed) % 8;
        tern_status st;

        if (how == 0)
            st = tern_mutex_try(TERN_WORLD, mutexes, rank, index, TERN_NOW);
        else if (how == 1)
            st = tern_mutex_try(TERN_WORLD, mutexes, rank, index, tern_deadline_in(20e-6));
        else
            st = tern_mutex_lock(TERN_WORLD, mutexes, rank, index);
        if (st != TERN_OK) {
            RETURNS(how == 0 ? TERN_PENDING : TERN_ERR_TIMEOUT, st);
            CHECK(how < 2);
            continue;
        }
        add_one(rank, index, how % 2);
        mine[(uint64_t)rank * MUTEXES + index]++;
    }
}

int main(void)
{
    size_t    numbers;
    uint64_t *mine, *all;

    OK(tern_init());
    numbers = (size_t)tern_size() * MUTEXES;
    mine = job_new(numbers * sizeof(*mine));
    all = job_new(numbers * sizeof(*all) * (size_t)tern_size());
    OK(tern_region_create(TERN_WORLD, MUTEXES * 8, NULL, &region));
    memset(tern_region_ptr(region, tern_rank()), 0, MUTEXES * 8);
    OK(tern_mutex_create(TERN_WORLD, MUTEXES, &mutexes));
    add_many(mine);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_allgather(TERN_WORLD, mine, numbers * sizeof(*mine), all));
    for (int rank = 0; rank < tern_size(); rank++)
        for (uint64_t index = 0; index < MUTEXES; index++) {
            uint64_t sum = 0, value;

            for (int by = 0; by < tern_size(); by++)
                sum += all[(size_t)by * numbers + (size_t)rank * MUTEXES + index];
            OK(tern_get(TERN_WORLD, region, rank, index * 8, &value, sizeof(value)));
            SAME(value, sum);
        }
    OK(tern_mutex_free(mutexes));
    OK(tern_region_free(region));
    OK(tern_finalize());
    free(mine);
    free(all);
    return 0;
}

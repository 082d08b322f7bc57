/* shmem_coll.h: collective calls of the OpenSHMEM peer: the equivalents of tern-perf's broadcast, allreduce, allgather
 * and alltoall, with arrays in the symmetric heap. OpenSHMEM has no reduction at one PE.
 *
 * A call synchronizes through an array that it restores, and that must not be used again before all PEs have returned
 * from the call. There are SYNCS such arrays, with a barrier after the use of the last one. */
#ifndef BENCH_SHMEM_COLL_H
#define BENCH_SHMEM_COLL_H

#include <shmem.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SYNCS 64

static struct {
    uint64_t *src, *dst;
    double   *work;
    long     *sync; /* [SYNCS][the longest] */
} coll;

#define COLL_LONGS (SHMEM_COLLECT_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE + SHMEM_REDUCE_SYNC_SIZE + SHMEM_ALLTOALL_SYNC_SIZE)

static bool coll_is(const char *test)
{
    return strcmp(test, "broadcast") == 0 || strcmp(test, "allreduce") == 0 || strcmp(test, "allgather") == 0 ||
           strcmp(test, "alltoall") == 0;
}

/* Allocate the arrays for blocks of size bytes. Returns false if the heap is too small. */
static bool coll_open(uint64_t size, int ranks)
{
    uint64_t bytes = (size * (uint64_t)ranks + MEASURE_PAGE - 1) / MEASURE_PAGE * MEASURE_PAGE;
    uint64_t work = size / 2 + SHMEM_REDUCE_MIN_WRKDATA_SIZE * sizeof(double) + sizeof(double);

    coll.src = shmem_align(MEASURE_PAGE, 2 * bytes + MEASURE_PAGE);
    coll.work = shmem_align(LINE, work);
    coll.sync = shmem_align(LINE, (size_t)SYNCS * COLL_LONGS * sizeof(long));
    if (coll.src == NULL || coll.work == NULL || coll.sync == NULL)
        return false;
    memset(coll.src, 0, 2 * bytes + MEASURE_PAGE);
    coll.dst = coll.src + (bytes + MEASURE_SKEW) / sizeof(uint64_t);
    for (size_t i = 0; i < (size_t)SYNCS * COLL_LONGS; i++)
        coll.sync[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    return true;
}

static void coll_close(void)
{
    shmem_barrier_all();
    shmem_free(coll.sync);
    shmem_free(coll.work);
    shmem_free(coll.src);
}

static void coll_calls(struct job *j, uint64_t iters)
{
    size_t words = j->size / sizeof(uint64_t);

    for (uint64_t i = 0; i < iters; i++) {
        long *sync = coll.sync + (i % SYNCS) * COLL_LONGS;

        if (strcmp(j->test, "broadcast") == 0)
            shmem_broadcast64(coll.dst, coll.src, words, 0, 0, 0, j->ranks, sync);
        else if (strcmp(j->test, "allreduce") == 0)
            shmem_double_sum_to_all((double *)(void *)coll.dst, (double *)(void *)coll.src, (int)words, 0, 0, j->ranks,
                                    coll.work, sync);
        else if (strcmp(j->test, "allgather") == 0)
            shmem_fcollect64(coll.dst, coll.src, words, 0, 0, j->ranks, sync);
        else
            shmem_alltoall64(coll.dst, coll.src, words, 0, 0, j->ranks, sync);
        if (i % SYNCS == SYNCS - 1)
            shmem_barrier_all();
    }
}

#endif

/* shmem_rma.c: the tests of tern-perf as an OpenSHMEM 1.4 program, for comparison.
 *
 * Targets lie in the symmetric heap, sources are private. A complete put is shmem_putmem with shmem_quiet; a window
 * of nonblocking puts is many shmem_putmem_nbi with one quiet. In the ping-pong of puts, a PE waits for the last and
 * the first word of its message. In notify_lat, a PE waits with shmem_uint64_wait_until for a word that is put after
 * the data and a fence, which is how OpenSHMEM 1.4 notifies a target of data. Slices, statistics, alignment and
 * output format are those of tern-perf (slices.h).
 *
 * Usage: oshrun -n 2 tern-peer-oshmem TEST [--sizes LIST] [--time S] [--repeat R] [--window W] [--csv]
 */
#define _GNU_SOURCE 1
#include <shmem.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../measure.h"

#define LIBRARY "oshmem"
#define LOOKS 256
#define GAP 4 /* distance between words in strided_bw, in words */

struct job {
    const char    *test;
    uint64_t       sizes[MEASURE_MAX_SIZES];
    size_t         size_count;
    double         time;
    size_t         repeat;
    uint64_t       window, element;
    int            rank, ranks, peer;
    unsigned char *part;  /* in the symmetric heap: area, then ping; page-aligned */
    uint64_t      *flag;  /* in the symmetric heap: the word that announces data */
    long          *lock;  /* in the symmetric heap */
    unsigned char *local; /* private: area, then two times ping; MEASURE_SKEW off a page boundary */
    uint64_t       area, ping;
    uint64_t       size, stride;
    uint64_t       told; /* the next value of the flag */
    unsigned       turn;
};

#include "slices.h"
#include "shmem_coll.h"

static uint64_t *agreed; /* [2] in the symmetric heap, alternating: a slow PE may still read the previous one */

static uint64_t agree(uint64_t value)
{
    static unsigned turn;

    turn ^= 1;
    if (shmem_my_pe() == 0) {
        for (int pe = 0; pe < shmem_n_pes(); pe++)
            shmem_uint64_p(&agreed[turn], value, pe);
    }
    shmem_barrier_all();
    return agreed[turn];
}

static void barrier(void)
{
    shmem_barrier_all();
}

static void put_complete(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++) {
        shmem_putmem(j->part + spot(j, i), j->local, j->size, j->peer);
        shmem_quiet();
    }
}

static void get_blocking(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++)
        shmem_getmem(j->local, j->part + spot(j, i), j->size, j->peer);
}

static void put_windows(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < j->window; w++)
            shmem_putmem_nbi(j->part + w * j->stride, j->local + w * j->stride, j->size, j->peer);
        shmem_quiet();
    }
}

static void get_windows(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < j->window; w++)
            shmem_getmem_nbi(j->local + w * j->stride, j->part + w * j->stride, j->size, j->peer);
        shmem_quiet();
    }
}

/* Wait until a word of this PE's memory has a value. The function polls first, which is fastest if puts are stores,
 * and then waits with the library, which makes progress. */
static void await_word(unsigned char *at, uint64_t value)
{
    volatile uint64_t *word = (volatile uint64_t *)(void *)at;

    for (unsigned looks = 0; looks < LOOKS; looks++) {
        if (*word == value)
            return;
    }
    shmem_uint64_wait_until((uint64_t *)(void *)at, SHMEM_CMP_EQ, value);
}

/* Wait until the last and the first word of a message have arrived. */
static void await(struct job *j, unsigned char byte)
{
    uint64_t value = byte * 0x0101010101010101ull;

    await_word(j->part + j->area + j->size - sizeof(value), value);
    await_word(j->part + j->area, value);
}

static void put_pingpong(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++, j->turn ^= 1) {
        if (j->rank != 0)
            await(j, turn_byte[j->turn]);
        shmem_putmem(j->part + j->area, j->local + j->area + j->turn * j->ping, j->size, j->peer);
        if (j->rank == 0)
            await(j, turn_byte[j->turn]);
    }
    shmem_quiet();
}

/* Put the data, then a word that the target waits for. */
static void notify_pingpong(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++) {
        uint64_t told = ++j->told;

        if (j->rank != 0)
            shmem_uint64_wait_until(j->flag, SHMEM_CMP_EQ, told);
        shmem_putmem(j->part + j->area, j->local + j->area, j->size, j->peer);
        shmem_fence();
        shmem_uint64_p(j->flag, told, j->peer);
        if (j->rank == 0)
            shmem_uint64_wait_until(j->flag, SHMEM_CMP_EQ, told);
    }
    shmem_quiet();
}

/* Put words at a quarter of the density on both sides. */
static void put_strided(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++) {
        shmem_iput64(j->part, j->local, GAP, GAP, j->size / sizeof(uint64_t), j->peer);
        shmem_quiet();
    }
}

static void get_strided(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++)
        shmem_iget64(j->local, j->part, GAP, GAP, j->size / sizeof(uint64_t), j->peer);
}

static void fadd_blocking(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++)
        shmem_long_atomic_fetch_add((long *)(void *)j->part, 1, j->peer);
}

/* All PEs add to one value of PE 0, followed by a barrier. */
static void fadd_hot(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++)
        shmem_long_atomic_fetch_add((long *)(void *)j->part, 1, 0);
    shmem_barrier_all();
}

static void lock_alone(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++) {
        shmem_set_lock(j->lock);
        shmem_clear_lock(j->lock);
    }
}

static void lock_together(struct job *j, uint64_t iters)
{
    lock_alone(j, iters);
    shmem_barrier_all();
}

static void barriers(struct job *j, uint64_t iters)
{
    (void)j;
    for (uint64_t i = 0; i < iters; i++)
        shmem_barrier_all();
}

static void prepare_pingpong(struct job *j)
{
    j->turn = 0;
    memset(j->part + j->area, 0, j->size);
    memset(j->local + j->area, turn_byte[0], j->size);
    memset(j->local + j->area + j->ping, turn_byte[1], j->size);
    shmem_barrier_all();
}

/* Verify that the data of the tests arrives. */
static void verify(struct job *j)
{
    memset(j->part, 0x22, j->size);
    memset(j->local, 0x33, j->size);
    shmem_barrier_all();
    if (j->rank == 0)
        put_complete(j, 1);
    shmem_barrier_all();
    for (uint64_t i = 0; i < j->size; i++) {
        if (j->part[i] != (j->rank == j->ranks - 1 ? 0x33 : 0x22)) {
            fprintf(stderr, "tern-peer-%s: data arrived damaged\n", LIBRARY);
            shmem_global_exit(1);
        }
    }
    shmem_barrier_all();
}

static void run_transfers(struct job *j)
{
    bool        put = strncmp(j->test, "put", 3) == 0;
    const char *bandwidth = put ? "bandwidth_complete" : "bandwidth";

    verify(j);
    if (strstr(j->test, "_lat") != NULL) {
        measure(j, put ? put_complete : get_blocking, FIRST, 1, put ? "latency_complete" : "latency", "ns");
        if (put && j->ranks > 1 && j->size % sizeof(uint64_t) == 0) {
            prepare_pingpong(j);
            measure(j, put_pingpong, PAIR, 2, "half_rtt", "ns");
        }
    } else if (strstr(j->test, "_rate") != NULL) {
        measure(j, put ? put_windows : get_windows, FIRST, (double)j->window, "rate", "op/s");
    } else if (j->window > 0) {
        measure(j, put ? put_windows : get_windows, FIRST, (double)(j->size * j->window), bandwidth, "MB/s");
    } else {
        measure(j, put ? put_complete : get_blocking, FIRST, (double)j->size, bandwidth, "MB/s");
    }
}

static void run_size(struct job *j)
{
    if (strcmp(j->test, "barrier") == 0) {
        measure(j, barriers, ALL, 1, "latency", "ns");
    } else if (coll_is(j->test)) {
        if (!coll_open(j->size, j->ranks)) {
            fprintf(stderr, "tern-peer-%s: not enough memory; SHMEM_SYMMETRIC_SIZE sets the size of the heap\n",
                    LIBRARY);
            shmem_global_exit(1);
        }
        measure(j, coll_calls, ALL, 1, "region", "ns");
        coll_close();
    } else if (strcmp(j->test, "notify_lat") == 0) {
        measure(j, notify_pingpong, PAIR, 2, "half_rtt", "ns");
    } else if (strcmp(j->test, "strided_bw") == 0) {
        measure(j, put_strided, FIRST, (double)j->size, "bandwidth", "MB/s");
        measure(j, get_strided, FIRST, (double)j->size, "get_bandwidth", "MB/s");
    } else if (strcmp(j->test, "fadd_lat") == 0) {
        measure(j, fadd_blocking, FIRST, 1, "latency", "ns");
    } else if (strcmp(j->test, "hot_spot") == 0) {
        measure(j, fadd_hot, ALL, (double)j->ranks, "aggregate", "op/s");
    } else if (strcmp(j->test, "lock_rate") == 0) {
        measure(j, lock_alone, FIRST, 1, "rate", "op/s");
        measure(j, lock_together, ALL, (double)j->ranks, "contended", "op/s");
    } else {
        run_transfers(j);
    }
}

static void set_up(struct job *j)
{
    uint64_t largest = 0, bytes;
    void    *memory = NULL;

    for (size_t i = 0; i < j->size_count; i++)
        largest = j->sizes[i] > largest ? j->sizes[i] : largest;
    if (strcmp(j->test, "strided_bw") == 0)
        largest *= GAP;
    j->ping = whole_pages(largest);
    j->area = whole_pages(stride_of(largest) * (j->window > 0 ? j->window : 1));
    j->part = shmem_align(MEASURE_PAGE, j->area + j->ping);
    agreed = shmem_align(LINE, 2 * sizeof(*agreed));
    j->flag = shmem_align(LINE, sizeof(*j->flag));
    j->lock = shmem_align(LINE, sizeof(*j->lock));
    bytes = j->area + 2 * j->ping + MEASURE_PAGE;
    if (j->part == NULL || agreed == NULL || j->flag == NULL || j->lock == NULL ||
        posix_memalign(&memory, MEASURE_PAGE, bytes) != 0) {
        fprintf(stderr, "tern-peer-%s: not enough memory; SHMEM_SYMMETRIC_SIZE sets the size of the heap\n", LIBRARY);
        shmem_global_exit(1);
        return;
    }
    memset(j->part, 0, j->area + j->ping);
    memset(memory, 1, bytes);
    j->local = (unsigned char *)memory + MEASURE_SKEW;
    *j->flag = 0;
    *j->lock = 0;
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    static const char *const tests[] = { "put_lat",   "get_lat",   "put_bw",    "get_bw",    "put_rate",   "get_rate",
                                         "barrier",   "fadd_lat",  "hot_spot",  "lock_rate", "notify_lat", "strided_bw",
                                         "broadcast", "allreduce", "allgather", "alltoall",  NULL };
    struct job               j = { .sizes = { 8 }, .size_count = 1, .time = 0.3, .repeat = 15, .element = 8 };

    bind_rank();
    shmem_init();
    j.rank = shmem_my_pe();
    j.ranks = shmem_n_pes();
    j.peer = j.rank == 0 && j.ranks > 1 ? 1 : 0;
    if (!parse(&j, argc, argv, tests) || (j.ranks > 2 && !coll_is(j.test) && strcmp(j.test, "barrier") != 0)) {
        if (j.rank == 0)
            usage(tests);
        shmem_finalize();
        return 2;
    }
    if (j.window == 0 && (strcmp(j.test, "put_rate") == 0 || strcmp(j.test, "get_rate") == 0))
        j.window = 64;
    if (strcmp(j.test, "barrier") == 0 || strcmp(j.test, "fadd_lat") == 0 || strcmp(j.test, "hot_spot") == 0 ||
        strcmp(j.test, "lock_rate") == 0) {
        j.sizes[0] = 0;
        j.size_count = 1;
    }
    set_up(&j);
    if (j.rank == 0)
        puts(MEASURE_CSV_HEADER);
    for (size_t i = 0; i < j.size_count; i++) {
        j.size = j.sizes[i];
        j.stride = stride_of(j.size);
        run_size(&j);
    }
    free(j.local - MEASURE_SKEW);
    shmem_finalize();
    return 0;
}

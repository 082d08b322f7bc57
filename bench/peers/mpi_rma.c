/* mpi_rma.c: the tests of tern-perf as a plain MPI-3 program, for comparison. It is built once with each installed
 * MPI.
 *
 * The program uses one window from MPI_Win_allocate and one lock_all epoch. A blocking put is MPI_Put with
 * MPI_Win_flush; a window of nonblocking puts is many MPI_Put with one flush. Slices, statistics, alignment and
 * output format are those of tern-perf (bench/measure.h). The window's size is a multiple of 4096 because MPICH
 * 4.0.2 misplaces data in windows whose size is not a multiple of 16. Noncontiguous transfers with derived datatypes
 * are in mpi_shapes.c, messages in mpi_msg.c, collective calls in mpi_coll.c.
 *
 * Usage: mpiexec -n 2 tern-peer-... TEST [--sizes LIST] [--time S] [--repeat R] [--window W] [--element E] [--csv]
 */
#define _GNU_SOURCE 1
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_job.h"

#ifdef OPEN_MPI
#define LIBRARY "openmpi"
#else
#define LIBRARY "mpich"
#endif

#include "slices.h"

static uint64_t agree(uint64_t value)
{
    MPI_Bcast(&value, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return value;
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void put_blocking(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++) {
        MPI_Put(j->local, (int)j->size, MPI_BYTE, j->peer, j->far_disp + (MPI_Aint)spot(j, i), (int)j->size, MPI_BYTE,
                j->win);
        MPI_Win_flush(j->peer, j->win);
    }
}

static void get_blocking(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++) {
        MPI_Get(j->local, (int)j->size, MPI_BYTE, j->peer, j->far_disp + (MPI_Aint)spot(j, i), (int)j->size, MPI_BYTE,
                j->win);
        MPI_Win_flush(j->peer, j->win);
    }
}

static void put_windows(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < j->window; w++)
            MPI_Put(j->local + w * j->stride, (int)j->size, MPI_BYTE, j->peer, j->far_disp + (MPI_Aint)(w * j->stride),
                    (int)j->size, MPI_BYTE, j->win);
        MPI_Win_flush(j->peer, j->win);
    }
}

static void get_windows(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < j->window; w++)
            MPI_Get(j->local + w * j->stride, (int)j->size, MPI_BYTE, j->peer, j->far_disp + (MPI_Aint)(w * j->stride),
                    (int)j->size, MPI_BYTE, j->win);
        MPI_Win_flush(j->peer, j->win);
    }
}

/* Poll a byte of this rank's memory until it has the value. Lets MPI make progress now and then. */
static void poll_byte(struct job *j, const volatile unsigned char *byte, unsigned char value)
{
    unsigned looks = 0;
    int      flag;

    while (*byte != value) {
        if (++looks % 64 == 0) {
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            MPI_Win_sync(j->win);
        }
    }
}

/* Wait until the last and the first byte of a message have arrived. */
static void await(struct job *j, unsigned char value)
{
    poll_byte(j, j->mine + j->area + j->size - 1, value);
    poll_byte(j, j->mine + j->area, value);
    MPI_Win_sync(j->win);
}

static void put_pingpong(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++, j->turn ^= 1) {
        if (j->rank != 0)
            await(j, turn_byte[j->turn]);
        MPI_Put(j->local + j->area + j->turn * j->ping, (int)j->size, MPI_BYTE, j->peer,
                j->far_disp + (MPI_Aint)j->area, (int)j->size, MPI_BYTE, j->win);
        MPI_Win_flush(j->peer, j->win);
        if (j->rank == 0)
            await(j, turn_byte[j->turn]);
    }
}

/* Two-sided messages, MPI's counterpart of Tern's notified puts. */
static void send_pingpong(struct job *j, uint64_t iters)
{
    unsigned char *out = j->local + j->area, *in = j->mine + j->area;

    for (uint64_t i = 0; i < iters; i++) {
        if (j->rank != 0)
            MPI_Recv(in, (int)j->size, MPI_BYTE, j->peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, (int)j->size, MPI_BYTE, j->peer, 7, MPI_COMM_WORLD);
        if (j->rank == 0)
            MPI_Recv(in, (int)j->size, MPI_BYTE, j->peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static const uint64_t one = 1;

static void fadd_blocking(struct job *j, uint64_t iters)
{
    uint64_t was;

    for (uint64_t i = 0; i < iters; i++) {
        MPI_Fetch_and_op(&one, &was, MPI_UINT64_T, j->peer, j->far_disp, MPI_SUM, j->win);
        MPI_Win_flush(j->peer, j->win);
    }
}

static void fadd_windows(struct job *j, uint64_t iters)
{
    uint64_t *was = (uint64_t *)(void *)j->local;

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < j->window; w++)
            MPI_Fetch_and_op(&one, &was[w % 8], MPI_UINT64_T, j->peer, j->far_disp, MPI_SUM, j->win);
        MPI_Win_flush(j->peer, j->win);
    }
}

/* All ranks add to one value of rank 0, followed by a barrier. */
static void fadd_hot(struct job *j, uint64_t iters)
{
    uint64_t was;

    for (uint64_t i = 0; i < iters; i++) {
        MPI_Fetch_and_op(&one, &was, MPI_UINT64_T, 0, j->zero_disp, MPI_SUM, j->win);
        MPI_Win_flush(0, j->win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Accumulates of doubles. */
static void accumulate(struct job *j, uint64_t iters)
{
    int count = (int)(j->size / sizeof(double));

    for (uint64_t i = 0; i < iters; i++) {
        MPI_Accumulate(j->local, count, MPI_DOUBLE, j->peer, j->far_disp, count, MPI_DOUBLE, MPI_SUM, j->win);
        MPI_Win_flush(j->peer, j->win);
    }
}

static void lock_alone(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, j->peer, 0, j->win);
        MPI_Win_unlock(j->peer, j->win);
    }
}

/* All ranks lock the window of rank 0, followed by a barrier. */
static void lock_together(struct job *j, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, j->win);
        MPI_Win_unlock(0, j->win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void barriers(struct job *j, uint64_t iters)
{
    (void)j;
    for (uint64_t i = 0; i < iters; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void prepare_pingpong(struct job *j)
{
    j->turn = 0;
    memset(j->mine + j->area, 0, j->size);
    memset(j->local + j->area, turn_byte[0], j->size);
    memset(j->local + j->area + j->ping, turn_byte[1], j->size);
    MPI_Win_sync(j->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void run_messages(struct job *j)
{
    if (strcmp(j->test, "msg_lat") == 0) {
        measure(j, mpi_msg_pingpong, PAIR, 2, "half_rtt", "ns");
    } else if (strcmp(j->test, "msg_bw") == 0 || strcmp(j->test, "msg_bw_one") == 0) {
        measure(j, mpi_msg_windows, PAIR, (double)(j->size * j->window), "bandwidth", "MB/s");
    } else if (strcmp(j->test, "msg_rate") == 0) {
        measure(j, mpi_msg_windows, PAIR, (double)j->window, "rate", "op/s");
    } else if (strcmp(j->test, "msg_bibw") == 0) {
        char metric[32];

        snprintf(metric, sizeof(metric), "bandwidth_w%llu", (unsigned long long)j->window);
        measure(j, mpi_msg_both_ways, ALL, (double)(j->size * j->window) * j->ranks, metric, "MB/s");
    } else {
        mpi_msg_keep(j);
        measure(j, mpi_msg_word_pingpong, PAIR, 2, "half_rtt", "ns");
        mpi_msg_drop(j);
    }
}

static void run_size(struct job *j)
{
    bool put = strncmp(j->test, "put", 3) == 0;

    if (mpi_msg_is(j)) {
        run_messages(j);
    } else if (mpi_coll_is(j)) {
        mpi_coll_open(j);
        measure(j, mpi_coll_calls, ALL, 1, "latency", "ns");
        mpi_coll_close();
    } else if (mpi_shape_is(j)) {
        mpi_shape_open(j);
        measure(j, j->section ? mpi_shape_get : mpi_shape_put, FIRST, (double)j->payload, "bandwidth", "MB/s");
        if (!j->section && !j->square)
            measure(j, mpi_shape_get, FIRST, (double)j->payload, "get_bandwidth", "MB/s");
        mpi_shape_close(j);
    } else if (strcmp(j->test, "barrier") == 0) {
        measure(j, barriers, ALL, 1, "latency", "ns");
    } else if (strcmp(j->test, "notify_lat") == 0) {
        if (j->ranks > 1)
            measure(j, send_pingpong, PAIR, 2, "half_rtt", "ns");
    } else if (strcmp(j->test, "fadd_lat") == 0) {
        measure(j, fadd_blocking, FIRST, 1, "latency", "ns");
    } else if (strcmp(j->test, "fadd_rate") == 0) {
        measure(j, fadd_windows, FIRST, (double)j->window, "rate", "op/s");
    } else if (strcmp(j->test, "hot_spot") == 0) {
        measure(j, fadd_hot, ALL, (double)j->ranks, "aggregate", "op/s");
    } else if (strcmp(j->test, "acc_bw") == 0) {
        measure(j, accumulate, FIRST, (double)j->size, "bandwidth_complete", "MB/s");
    } else if (strcmp(j->test, "lock_rate") == 0) {
        MPI_Win_unlock_all(j->win);
        MPI_Barrier(MPI_COMM_WORLD);
        measure(j, lock_alone, FIRST, 1, "rate", "op/s");
        measure(j, lock_together, ALL, (double)j->ranks, "contended", "op/s");
        MPI_Win_lock_all(0, j->win);
    } else if (strstr(j->test, "_lat") != NULL) {
        measure(j, put ? put_blocking : get_blocking, FIRST, 1, put ? "latency_complete" : "latency", "ns");
        if (put && j->ranks > 1) {
            prepare_pingpong(j);
            measure(j, put_pingpong, PAIR, 2, "half_rtt", "ns");
        }
    } else if (strstr(j->test, "_bw") != NULL && j->window == 0) {
        measure(j, put ? put_blocking : get_blocking, FIRST, (double)j->size, put ? "bandwidth_complete" : "bandwidth",
                "MB/s");
    } else if (strstr(j->test, "_bw") != NULL) {
        measure(j, put ? put_windows : get_windows, FIRST, (double)(j->size * j->window),
                put ? "bandwidth_complete" : "bandwidth", "MB/s");
    } else {
        measure(j, put ? put_windows : get_windows, FIRST, (double)j->window, "rate", "op/s");
    }
}

/* Return the window's hints, which tell MPI what Tern's relaxed contexts and atomic domains know about the same
 * operations: accumulates may be executed in any order, all of them are sums of one type, and each atomic test uses
 * one word. MPICH and Open MPI ignore each other's own hints. */
static MPI_Info window_info(const struct job *j)
{
    static const char *const hints[][2] = {
        { "accumulate_ordering", "none" },
        { "accumulate_ops", "same_op" },
        { "same_size", "true" },
        { "same_disp_unit", "true" },
        { "which_accumulate_ops", "sum" },
        { "accumulate_noncontig_dtype", "false" },
        { "acc_single_intrinsic", "true" },
        { "accumulate_max_bytes", "8" },
    };
    const size_t count = sizeof(hints) / sizeof(hints[0]);
    bool         words = strcmp(j->test, "acc_bw") != 0; /* the last two hints hold only for single words */
    MPI_Info     info;

    MPI_Info_create(&info);
    for (size_t i = 0; i < (words ? count : count - 2); i++)
        MPI_Info_set(info, hints[i][0], hints[i][1]);
    return info;
}

/* Allocate the window and the private memory, and find where the peer's page-aligned part begins. */
static void set_up(struct job *j)
{
    unsigned char *base = NULL;
    uint64_t       largest = 0, bytes;
    long long      skew, *all = calloc((size_t)j->ranks, sizeof(*all));
    void          *memory = NULL;
    MPI_Info       info = window_info(j);

    for (size_t i = 0; i < j->size_count; i++)
        largest = j->sizes[i] > largest ? j->sizes[i] : largest;
    if (mpi_shape_is(j))
        largest = mpi_shape_bytes(j, largest);
    j->ping = whole_pages(largest);
    j->area = whole_pages(stride_of(largest) * (j->window > 0 ? j->window : 1));
    bytes = j->area + j->ping + MEASURE_PAGE;
    MPI_Win_allocate((MPI_Aint)bytes, 1, info, MPI_COMM_WORLD, &base, &j->win);
    MPI_Info_free(&info);
    skew = (long long)((MEASURE_PAGE - (uintptr_t)base % MEASURE_PAGE) % MEASURE_PAGE);
    bytes = j->area + 2 * j->ping + MEASURE_PAGE;
    if (all == NULL || posix_memalign(&memory, MEASURE_PAGE, bytes) != 0) {
        fprintf(stderr, "tern-peer-%s: not enough memory\n", LIBRARY);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    j->mine = base + skew;
    memset(j->mine, 0, j->area + j->ping);
    memset(memory, 1, bytes);
    j->local = (unsigned char *)memory + MEASURE_SKEW;
    MPI_Allgather(&skew, 1, MPI_LONG_LONG, all, 1, MPI_LONG_LONG, MPI_COMM_WORLD);
    j->far_disp = (MPI_Aint)all[j->peer];
    j->zero_disp = (MPI_Aint)all[0];
    free(all);
    MPI_Win_lock_all(0, j->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static const char *const tests[] = { "put_lat",   "get_lat",    "put_bw",     "get_bw",    "put_rate",  "get_rate",
                                     "barrier",   "strided_bw", "indexed_bw", "vector_bw", "transpose", "column_bw",
                                     "fadd_lat",  "fadd_rate",  "hot_spot",   "acc_bw",    "lock_rate", "notify_lat",
                                     "msg_lat",   "msg_bw",     "msg_rate",   "msg_bibw",  "msg_depth", "msg_bw_one",
                                     "broadcast", "reduce",     "allreduce",  "allgather", "alltoall",  NULL };

int main(int argc, char **argv)
{
    struct job j = { .sizes = { 8 }, .size_count = 1, .time = 0.3, .repeat = 15, .element = 8 };

    bind_rank();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &j.ranks);
    j.peer = j.rank == 0 && j.ranks > 1 ? 1 : 0;
    if (!parse(&j, argc, argv, tests)) {
        if (j.rank == 0)
            usage(tests);
        MPI_Finalize();
        return 2;
    }
    if (j.window == 0 && strstr(j.test, "_rate") != NULL && strcmp(j.test, "lock_rate") != 0)
        j.window = 64;
    if (j.window == 0 && strstr(j.test, "msg_b") != NULL)
        j.window = 8;
    if (strcmp(j.test, "barrier") == 0 || strncmp(j.test, "fadd", 4) == 0 || strcmp(j.test, "hot_spot") == 0 ||
        strcmp(j.test, "lock_rate") == 0) {
        j.sizes[0] = 0;
        j.size_count = 1;
    }
    set_up(&j);
    if (j.rank == 0)
        puts(MEASURE_CSV_HEADER);
    for (size_t i = 0; i < j.size_count; i++) {
        j.size = j.sizes[i];
        j.stride = strcmp(j.test, "msg_bw_one") == 0 ? 0 : stride_of(j.size);
        run_size(&j);
    }
    MPI_Win_unlock_all(j.win);
    MPI_Win_free(&j.win);
    free(j.local - MEASURE_SKEW);
    MPI_Finalize();
    return 0;
}

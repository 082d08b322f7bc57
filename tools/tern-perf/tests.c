/* tests.c: the table of all tests: what each measures, in which unit, over which sizes, and what limits it. A new test
 * is a row here and a function in a file of its own. */
#include <string.h>

#include "perf.h"

#define LINE_LIMIT "half round trip of a cache line between two cores"
#define COPY_LIMIT "memcpy between the same addresses; process_vm_writev or _readv for registered memory"

const struct perf_test perf_tests[] = {
    { .name = "put_lat",
      .what = "time of a blocking put, and half of a ping-pong of puts",
      .metric = "latency",
      .unit = "ns",
      .limit = LINE_LIMIT,
      .sizes = "1:1M",
      .min_ranks = 1,
      .run = perf_put_lat },
    { .name = "get_lat",
      .what = "time of a blocking get, and half of a ping-pong of gets",
      .metric = "latency",
      .unit = "ns",
      .limit = LINE_LIMIT,
      .sizes = "1:1M",
      .min_ranks = 1,
      .run = perf_get_lat },
    { .name = "put_bw",
      .what = "bandwidth of one stream of puts, blocking or in windows",
      .metric = "bandwidth",
      .unit = "MB/s",
      .limit = COPY_LIMIT,
      .sizes = "64:16M",
      .min_ranks = 1,
      .run = perf_put_bw },
    { .name = "get_bw",
      .what = "bandwidth of one stream of gets, blocking or in windows",
      .metric = "bandwidth",
      .unit = "MB/s",
      .limit = COPY_LIMIT,
      .sizes = "64:16M",
      .min_ranks = 1,
      .run = perf_get_bw },
    { .name = "put_rate",
      .what = "nonblocking puts per second, in windows that tern_quiet completes",
      .metric = "rate",
      .unit = "op/s",
      .limit = COPY_LIMIT,
      .sizes = "8",
      .window = 64,
      .min_ranks = 1,
      .run = perf_put_rate },
    { .name = "get_rate",
      .what = "nonblocking gets per second, in windows that tern_quiet completes",
      .metric = "rate",
      .unit = "op/s",
      .limit = COPY_LIMIT,
      .sizes = "8",
      .window = 64,
      .min_ranks = 1,
      .run = perf_get_rate },
    { .name = "barrier",
      .what = "time of a barrier of all ranks",
      .metric = "latency",
      .unit = "ns",
      .limit = LINE_LIMIT,
      .min_ranks = 1,
      .run = perf_barrier },
    { .name = "window",
      .what = "bidirectional bandwidth of all ranks in pairs, windows of nonblocking transfers",
      .metric = "put_bandwidth",
      .unit = "MB/s",
      .limit = "the same copies by memcpy, all ranks at a time",
      .sizes = "8:256K",
      .window = 64,
      .min_ranks = 2,
      .run = perf_window },
    { .name = "limits",
      .what = "what the machine can do: cache line, memcpy, atomics, plain store and load",
      .metric = "cacheline_half_rtt",
      .unit = "ns",
      .sizes = "8:16M",
      .min_ranks = 1,
      .run = perf_limits },
    { .name = "demo",
      .what = "a short tour: latency and bandwidth of this machine for a few sizes",
      .metric = "put_latency",
      .unit = "ns",
      .sizes = "8,64,512,4K,32K,256K,1M,4M",
      .min_ranks = 1,
      .run = perf_demo },
    { .name = "init",
      .what = "time of init and finalize, memory per rank; started without ternrun",
      .metric = "init_finalize",
      .unit = "ms",
      .command = perf_init },
    { .name = "compare",
      .what = "Tern, Open MPI, MPICH and UCX in turn; started without ternrun",
      .metric = "ratio_of_medians",
      .unit = "ratio",
      .command = perf_compare },
};

const size_t perf_test_count = sizeof(perf_tests) / sizeof(perf_tests[0]);

const struct perf_test *perf_test_find(const char *name)
{
    for (size_t i = 0; i < perf_test_count; i++) {
        if (strcmp(perf_tests[i].name, name) == 0)
            return &perf_tests[i];
    }
    return NULL;
}

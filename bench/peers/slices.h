/* slices.h: how the peer programs measure: the options, the slices and the output format of tern-perf.
 *
 * One file of each peer includes this header, after it has defined its struct job. The header uses the members test,
 * sizes, size_count, time, repeat, window, element, rank, ranks and size of that struct, the macro LIBRARY, and two
 * functions that the file provides: agree(), which returns rank 0's value on every rank, and barrier(). Calibration,
 * number of slices and statistics are those of tools/tern-perf/engine.c.
 */
#ifndef BENCH_SLICES_H
#define BENCH_SLICES_H

#include <sched.h>

#include "../measure.h"

#define LINE 64u
#define WORD_SPAN 1024u
#define MAX_REPEAT 1000
#define SETTLED (1ull << 63) /* flag in the number of iterations: calibration is finished */

typedef void (*kernel)(struct job *j, uint64_t iters);

static uint64_t agree(uint64_t value);
static void     barrier(void);

/* The ranks that run a kernel: rank 0, ranks 0 and 1, or all. The other ranks wait in agree(). */
enum who { FIRST, PAIR, ALL };

static const unsigned char turn_byte[2] = { 0x55, 0xaa }; /* alternating contents of a ping-pong's messages */

/* Return the offset of message i in a loop of small messages, with the same rule as perf_spot() of tern-perf. */
static inline uint64_t spot(const struct job *j, uint64_t i)
{
    return j->size <= LINE ? (i * LINE) % WORD_SPAN : 0;
}

static inline uint64_t whole_pages(uint64_t bytes)
{
    return ((bytes + MEASURE_PAGE - 1) / MEASURE_PAGE + 1) * MEASURE_PAGE;
}

/* Return the distance between the messages of a window. */
static inline uint64_t stride_of(uint64_t size)
{
    uint64_t unit = size >= MEASURE_PAGE ? MEASURE_PAGE : LINE;

    return (size + unit - 1) / unit * unit;
}

/* Bind this process to its cpu of TERN_PEER_CPUS ("a,b"), so that all programs of a comparison run on the same two
 * cores. The launcher's environment variables provide the rank. Must be called before the library starts threads of its
 * own. */
static void bind_rank(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_RANK" };
    const char              *cpus = getenv("TERN_PEER_CPUS"), *rank = NULL;
    cpu_set_t                set;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && rank == NULL; i++)
        rank = getenv(names[i]);
    if (cpus == NULL || rank == NULL)
        return;
    for (long left = strtol(rank, NULL, 10); left > 0 && cpus != NULL; left--)
        cpus = strchr(cpus, ',') != NULL ? strchr(cpus, ',') + 1 : NULL;
    if (cpus == NULL)
        return;
    CPU_ZERO(&set);
    CPU_SET((size_t)strtoul(cpus, NULL, 10), &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        fprintf(stderr, "tern-peer-%s: rank %s cannot run on cpu %s\n", LIBRARY, rank, cpus);
}

static int64_t slice(struct job *j, kernel run, enum who who, uint64_t iters)
{
    int64_t start;

    if (who == ALL)
        barrier();
    start = measure_now();
    if (who == ALL || j->rank == 0 || (who == PAIR && j->rank == 1))
        run(j, iters);
    if (who == ALL) /* the slice ends when the last rank has finished */
        barrier();
    return measure_now() - start;
}

/* Find how many iterations fill a slice. As in tern-perf, the first iteration does not count: it may connect ranks and
 * start threads, and if it took as long as a slice, calibration would choose slices of one iteration. */
static uint64_t calibrate(struct job *j, kernel run, enum who who, int64_t want)
{
    uint64_t iters = 1, next;
    int64_t  spent;

    slice(j, run, who, agree(1));
    for (;;) {
        iters = agree(iters);
        if (iters & SETTLED)
            return iters & ~SETTLED;
        spent = slice(j, run, who, iters);
        next = measure_next_batch(iters, spent, want);
        iters = measure_batch_settled(spent, want) ? next | SETTLED : next > iters ? next : iters * 2;
    }
}

static void print(const struct job *j, const char *metric, const char *unit, const struct measure_summary *s)
{
    printf("%s,%s,%d,%llu,%s,%.6g,%s,%.6g,%.6g,%.6g,%.6g\n", j->test, LIBRARY, j->ranks, (unsigned long long)j->size,
           metric, s->median, unit, s->p25, s->p75, s->min, s->max);
}

/* Measure a kernel and print its figure. The figure refers to the work of one iteration: nanoseconds divided by amount,
 * or amount per unit of time. */
static void measure(struct job *j, kernel run, enum who who, double amount, const char *metric, const char *unit)
{
    double                 values[MAX_REPEAT], ns;
    int64_t                want = (int64_t)(j->time * 1e9 / (double)j->repeat) + 1;
    uint64_t               iters = calibrate(j, run, who, want);
    struct measure_summary s;

    for (size_t r = 0; r < j->repeat; r++) {
        iters = agree(iters);
        ns = (double)slice(j, run, who, iters) / (double)iters;
        values[r] = strcmp(unit, "ns") == 0     ? ns / amount
                    : strcmp(unit, "MB/s") == 0 ? amount / ns * 1e3
                                                : amount / ns * 1e9;
    }
    barrier();
    if (j->rank != 0)
        return;
    s = measure_summarise(values, j->repeat);
    print(j, metric, unit, &s);
    fflush(stdout);
}

/* Parse the command line: one test of the NULL-terminated list, and the options of tern-perf that the peers support.
 * Returns false if the command line is invalid. */
static bool parse(struct job *j, int argc, char **argv, const char *const *tests)
{
    bool  known = false;
    char *end = NULL;

    if (argc < 2)
        return false;
    j->test = argv[1];
    for (size_t i = 0; tests[i] != NULL; i++)
        known |= strcmp(j->test, tests[i]) == 0;
    for (int i = 2; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";

        if (strcmp(argv[i], "--csv") == 0)
            continue;
        if (strcmp(argv[i], "--sizes") == 0)
            j->size_count = measure_sizes(value, j->sizes, MEASURE_MAX_SIZES);
        else if (strcmp(argv[i], "--time") == 0)
            j->time = measure_number(value);
        else if (strcmp(argv[i], "--repeat") == 0)
            j->repeat = (size_t)measure_number(value);
        else if (strcmp(argv[i], "--window") == 0)
            j->window = measure_size(value, &end);
        else if (strcmp(argv[i], "--element") == 0)
            j->element = measure_size(value, &end);
        else
            return false;
        i++;
    }
    for (size_t i = 0; i < j->size_count; i++)
        known &= j->sizes[i] <= 1u << 30; /* MPI and OpenSHMEM counts are ints */
    return known && j->size_count > 0 && j->time > 0 && j->repeat >= 1 && j->repeat <= MAX_REPEAT &&
           j->window <= 65536 && j->element > 0;
}

static void usage(const char *const *tests)
{
    fprintf(stderr,
            "usage: tern-peer-%s TEST [--sizes LIST] [--time S] [--repeat R] [--window W] [--element E] "
            "[--csv]\nTEST is one of:",
            LIBRARY);
    for (size_t i = 0; tests[i] != NULL; i++)
        fprintf(stderr, " %s", tests[i]);
    fputc('\n', stderr);
}

#endif

/* coll_overlap.c: coll_overlap: how much of the time of a nonblocking tern_allreduce is hidden behind what the ranks do
 * meanwhile.
 *
 * All ranks start the call, sleep or compute for one and a half times as long as the call takes alone, and then wait
 * for it. asleep and computing are the shares of the time of the call that this hides. cpu is the CPU time of rank 0,
 * with all its threads, for the computation and the nonblocking call, divided by that of the computation and of the
 * blocking call one after the other. Arrays are in private memory.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "perf.h"

static struct {
    double  *src, *dst;
    uint64_t pause; /* ns to sleep, */
    uint64_t work;  /* and rounds of work that take as long */
} now;

static const tern_reduce_args sum = TERN_REDUCE_ARGS(.type = TERN_DOUBLE, .op = TERN_SUM);

static void work(uint64_t rounds)
{
    uint64_t x = rounds | 1;

    for (uint64_t i = 0; i < rounds; i++)
        x = x * 6364136223846793005ull + 1442695040888963407ull; /* a chain of dependent operations */
    __asm__ volatile("" ::"r"(x));
}

static void rest(uint64_t ns)
{
    struct timespec time = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };

    if (ns > 0)
        nanosleep(&time, NULL);
}

static void start_then(struct perf_case *c, uint64_t iters, uint64_t ns, uint64_t rounds)
{
    for (uint64_t i = 0; i < iters; i++) {
        tern_event event = TERN_EVENT_INIT;

        perf_must(tern_allreduce_with(c->p->ctx, now.src, now.dst, c->size / sizeof(double), &sum,
                                      &TERN_OPTS(.event = &event)),
                  "tern_allreduce_with");
        rest(ns);
        work(rounds);
        perf_must(tern_event_wait(&event, TERN_FOREVER), "waiting for an event");
    }
}

static void blocking(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++)
        perf_must(tern_allreduce(c->p->ctx, now.src, now.dst, c->size / sizeof(double), &sum), "tern_allreduce");
}

static void alone(struct perf_case *c, uint64_t iters)
{
    start_then(c, iters, 0, 0);
}

static void and_sleep(struct perf_case *c, uint64_t iters)
{
    start_then(c, iters, now.pause, 0);
}

static void and_work(struct perf_case *c, uint64_t iters)
{
    start_then(c, iters, 0, now.work);
}

static void only_sleep(struct perf_case *c, uint64_t iters)
{
    (void)c;
    for (uint64_t i = 0; i < iters; i++)
        rest(now.pause);
}

static void only_work(struct perf_case *c, uint64_t iters)
{
    (void)c;
    for (uint64_t i = 0; i < iters; i++)
        work(now.work);
}

enum { BLOCKING, ALONE, AND_SLEEP, ONLY_SLEEP, AND_WORK, ONLY_WORK, KERNELS };
static const struct perf_kernel kernels[KERNELS] = {
    [BLOCKING] = { PERF_ALL, blocking },     [ALONE] = { PERF_ALL, alone },       [AND_SLEEP] = { PERF_ALL, and_sleep },
    [ONLY_SLEEP] = { PERF_ALL, only_sleep }, [AND_WORK] = { PERF_ALL, and_work }, [ONLY_WORK] = { PERF_ALL, only_work },
};

/* The CPU time of a few iterations, in ns. */
static double cpu_of(struct perf_case *c, int kernel)
{
    struct timespec begin, end;

    perf_must(tern_barrier(c->p->ctx), "barrier");
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    kernels[kernel].run(c, 4);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    return (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
}

/* Agree on how long the ranks sleep and work: rank 0 has the times. */
static void choose_pause(struct perf_case *c)
{
    uint64_t rounds = 1u << 16;
    double   each;

    now.work = rounds;
    now.pause = 0;
    perf_measure(c, kernels, KERNELS);
    each = measure_summarise(c->p->ns[ONLY_WORK], c->p->repeat).median / (double)rounds;
    now.pause = (uint64_t)(1.5 * measure_summarise(c->p->ns[ALONE], c->p->repeat).median);
    now.work = (uint64_t)((double)now.pause / (each > 0 ? each : 1)) + 1;
    perf_must(tern_broadcast(c->p->ctx, 0, &now.pause, sizeof(now.pause)), "tern_broadcast");
    perf_must(tern_broadcast(c->p->ctx, 0, &now.work, sizeof(now.work)), "tern_broadcast");
}

static void report_hidden(struct perf_case *c, int both, int only, const char *metric)
{
    static double share[PERF_MAX_REPEAT];

    for (size_t r = 0; r < c->p->repeat; r++)
        share[r] = 100 * (c->p->ns[ALONE][r] + c->p->ns[only][r] - c->p->ns[both][r]) / c->p->ns[ALONE][r];
    perf_figure_values(c, share, metric, "percent");
}

void perf_coll_overlap(struct perf_case *c)
{
    static double cpu[PERF_MAX_REPEAT];

    if (c->size < sizeof(double) || c->size % sizeof(double) != 0)
        return;
    now.src = calloc(2, c->size);
    if (now.src == NULL)
        tern_abort(1, "tern-perf: not enough memory for these sizes; choose smaller ones");
    now.dst = now.src + c->size / sizeof(double);
    memset(now.dst, 1, c->size);
    choose_pause(c);
    perf_measure(c, kernels, KERNELS);
    for (size_t r = 0; r < c->p->repeat; r++) {
        double both = cpu_of(c, AND_WORK), work_only = cpu_of(c, ONLY_WORK);

        cpu[r] = both / (work_only + cpu_of(c, BLOCKING));
    }
    perf_figure_time(c, BLOCKING, 1, "blocking");
    perf_figure_time(c, ALONE, 1, "nonblocking");
    report_hidden(c, AND_SLEEP, ONLY_SLEEP, "asleep");
    report_hidden(c, AND_WORK, ONLY_WORK, "computing");
    perf_figure_values(c, cpu, "cpu", "ratio");
    free(now.src);
}

/* engine.c: runs kernels in slices on the ranks of a job and stores the time of each slice.
 *
 * All ranks execute the same sequence of steps. Before each slice, rank 0 announces the number of iterations through
 * a small all-gather. Ranks that the kernel does not need skip the slice and wait in the next all-gather. Rank 0
 * reads the clock. Trials, which also serve as warm-up, determine the number of iterations. The kernels of one case
 * alternate slice by slice, so that disturbances of the machine affect all of them alike.
 *
 * The tests interpret the times of the slices.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

#define SETTLED (1ull << 63) /* flag in the number of iterations: calibration is finished */
#define DEFAULT_TIME 0.3
#define DEFAULT_REPEAT 15
#define LOOKS_WITH_A_CORE 200000u /* about 100 microseconds */
#define LOOKS_WITHOUT 200u

void perf_fail(tern_status status, const char *what)
{
    char text[640];

    snprintf(text, sizeof(text), "tern-perf: %s: %s (%s)", what, tern_strerror(status), tern_error_detail());
    tern_abort(1, text);
}

/* Let the network make progress, or yield the core to another process. Checks now and then whether the peer is still
 * alive. */
void perf_give_way(struct perf *p)
{
    if (p->network)
        perf_must(tern_progress(p->ctx), "progress");
    if (!p->network || !p->cores)
        sched_yield();
    if (++p->gave_way % 1024 == 0 && tern_peer_check(p->peer) < 0)
        tern_abort(1, "tern-perf: the rank on the other side is gone");
}

/* Return rank 0's value on every rank. */
static uint64_t agree(struct perf *p, uint64_t value)
{
    perf_must(tern_allgather(p->ctx, &value, sizeof(value), p->gather), "all-gather");
    memcpy(&value, p->gather, sizeof(value));
    return value;
}

static bool takes_part(const struct perf *p, enum perf_who who)
{
    return who == PERF_ALL || p->rank == 0 || (who == PERF_PAIR && p->rank == 1);
}

/* Run one slice and return its time. If all ranks run the kernel, the slice ends when the last rank has finished. */
static int64_t slice(struct perf_case *c, const struct perf_kernel *kernel, uint64_t iters)
{
    struct perf *p = c->p;
    int64_t      start;

    if (kernel->who == PERF_ALL)
        perf_must(tern_barrier(p->ctx), "barrier");
    start = measure_now();
    if (takes_part(p, kernel->who))
        kernel->run(c, iters);
    if (kernel->who == PERF_ALL)
        perf_must(tern_barrier(p->ctx), "barrier");
    return measure_now() - start;
}

/* Warm up, and find how many iterations fill a slice. The first iteration does not count: it may connect ranks and
 * start threads, and if it took as long as a slice, calibration would choose slices of one iteration. */
static uint64_t calibrate(struct perf_case *c, const struct perf_kernel *kernel, int64_t want)
{
    struct perf *p = c->p;
    uint64_t     iters = p->opt->iters != 0 ? p->opt->iters : 1, next;
    int64_t      spent;

    slice(c, kernel, agree(p, 1));
    for (;;) {
        iters = agree(p, iters);
        if (iters & SETTLED)
            return iters & ~SETTLED;
        spent = slice(c, kernel, iters);
        if (p->opt->iters != 0) {
            iters |= SETTLED;
        } else {
            next = measure_next_batch(iters, spent, want);
            iters = measure_batch_settled(spent, want) ? next | SETTLED : next > iters ? next : iters * 2;
        }
    }
}

void perf_measure(struct perf_case *c, const struct perf_kernel *kernels, size_t count)
{
    struct perf *p = c->p;
    double       seconds = p->opt->time > 0 ? p->opt->time : DEFAULT_TIME;
    int64_t      want = (int64_t)(seconds * 1e9 / (double)p->repeat) + 1;
    uint64_t     iters[PERF_MAX_KERNELS];
    size_t       steps = count * (p->repeat + 1), done = 0;

    for (size_t k = 0; k < count; k++, done++) {
        perf_progress((double)done / (double)steps);
        iters[k] = calibrate(c, &kernels[k], want);
    }
    for (size_t r = 0; r < p->repeat; r++) {
        for (size_t k = 0; k < count; k++, done++) {
            perf_progress((double)done / (double)steps);
            iters[k] = agree(p, iters[k]);
            p->ns[k][r] = (double)slice(c, &kernels[k], iters[k]) / (double)iters[k];
        }
    }
    perf_must(tern_barrier(p->ctx), "barrier");
}

/* Store the sizes to run and return the largest of them. */
uint64_t perf_default_sizes(const struct perf_options *opt, const struct perf_test *test, uint64_t *sizes, size_t *n)
{
    uint64_t largest = 0;

    if (test->sizes == NULL) {
        sizes[0] = 0;
        *n = 1;
        return 0;
    }
    *n = opt->size_count;
    memcpy(sizes, opt->sizes, opt->size_count * sizeof(*sizes));
    if (*n == 0)
        *n = measure_sizes_from(0, test->sizes, sizes, MEASURE_MAX_SIZES);
    for (size_t i = 0; i < *n; i++)
        largest = sizes[i] > largest ? sizes[i] : largest;
    return largest;
}

/* Store the windows to run and return the largest of them. If the test has no windows and the user requested none,
 * there is one window of 1. */
static uint64_t choose_windows(const struct perf_options *opt, const struct perf_test *test, uint64_t *windows,
                               size_t *n)
{
    uint64_t largest = 1;

    *n = opt->window_count;
    memcpy(windows, opt->windows, opt->window_count * sizeof(*windows));
    if (*n == 0) {
        *n = 1;
        windows[0] = 0;
        if (test->windows != NULL)
            *n = measure_sizes(test->windows, windows, PERF_MAX_WINDOWS);
    }
    for (size_t i = 0; i < *n; i++)
        largest = windows[i] > largest ? windows[i] : largest;
    return largest;
}

/* Return the distance between the messages of a window. The messages do not share a cache line, and large messages
 * begin on a page boundary. */
static uint64_t message_stride(uint64_t size)
{
    uint64_t unit = size >= MEASURE_PAGE ? MEASURE_PAGE : PERF_LINE;

    return (size + unit - 1) / unit * unit;
}

static void *take(size_t n, size_t bytes)
{
    void *memory = calloc(n, bytes);

    if (memory == NULL)
        tern_abort(1, "tern-perf: not enough memory");
    return memory;
}

/* Return the links over which rank 0 reaches the other ranks, joined by "+": all of them carry collective calls. */
static const char *collective_links(const struct perf *p)
{
    static char text[64];

    for (int r = 0; r < p->ranks; r++) {
        const char *link = tern_region_path(p->region, r);
        size_t      used = strlen(text);

        if ((r != p->rank || p->ranks == 1) && strstr(text, link) == NULL)
            snprintf(text + used, sizeof(text) - used, "%s%s", used > 0 ? "+" : "", link);
    }
    return text;
}

void perf_open(struct perf *p, const struct perf_options *opt, const struct perf_test *test)
{
    uint64_t sizes[MEASURE_MAX_SIZES], windows[PERF_MAX_WINDOWS], max_size, max_window;
    size_t   n;

    memset(p, 0, sizeof(*p));
    p->opt = opt;
    p->test = test;
    p->ctx = TERN_WORLD;
    p->rank = tern_rank();
    p->ranks = tern_size();
    p->peer = p->rank == 0 && p->ranks > 1 ? 1 : 0;
    p->repeat = opt->repeat != 0 ? opt->repeat : test->repeat != 0 ? test->repeat : DEFAULT_REPEAT;
    p->gather = take((size_t)p->ranks, 256);
    max_size = perf_default_sizes(opt, test, sizes, &n);
    max_window = choose_windows(opt, test, windows, &n);
    p->events = take(max_window, sizeof(*p->events));
    for (size_t k = 0; k < PERF_MAX_KERNELS; k++)
        p->ns[k] = take(p->repeat, sizeof(double));
    p->cores = perf_place_check(p);
    if (test->bytes != NULL) /* all transfers of a window go to the same place */
        perf_place_open(p, message_stride(test->bytes(max_size)), 1);
    else
        perf_place_open(p, message_stride(max_size), max_window);
    if (test->collective)
        p->link = collective_links(p);
    p->spins = p->network ? 0 : p->cores ? LOOKS_WITH_A_CORE : LOOKS_WITHOUT;
}

void perf_close(struct perf *p)
{
    perf_place_close(p);
    for (size_t k = 0; k < PERF_MAX_KERNELS; k++)
        free(p->ns[k]);
    free(p->events);
    free(p->gather);
}

/* Rank 0: report a size of the command line for which the test has no figures, because it is too long or no multiple of
 * what the test transfers. before is the number of figures before the test ran with this size. */
static void tell_missing(const struct perf *p, uint64_t size, size_t before)
{
    size_t count;

    perf_report_all(&count);
    if (p->rank == 0 && count == before && p->opt->size_count > 0 && !p->opt->quiet)
        fprintf(stderr,
                "tern-perf: warning: %s has no figures for size %llu; man tern-perf says which sizes it takes\n",
                p->test->name, (unsigned long long)size);
}

/* Run the test over its windows and sizes. */
void perf_run(struct perf *p)
{
    uint64_t sizes[MEASURE_MAX_SIZES], windows[PERF_MAX_WINDOWS];
    size_t   size_count, window_count, parts, part = 0;

    perf_default_sizes(p->opt, p->test, sizes, &size_count);
    choose_windows(p->opt, p->test, windows, &window_count);
    parts = size_count * window_count;
    for (size_t w = 0; w < window_count; w++) {
        for (size_t s = 0; s < size_count; s++, part++) {
            struct perf_case c = { .p = p, .size = sizes[s], .window = windows[w], .target = p->peer };
            size_t           before;

            c.stride = message_stride(c.size);
            perf_progress_part((double)part / (double)parts, (double)(part + 1) / (double)parts);
            perf_report_all(&before);
            p->test->run(&c);
            tell_missing(p, sizes[s], before);
        }
    }
}

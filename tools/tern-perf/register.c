/* register.c: register: the cost of registering memory with the network, by size and by the number of threads that
 * register concurrently (the ordering paper, figure 6).
 *
 * The user starts this command without a job. The command opens the network that a job on this machine would use,
 * and registers and deregisters memory that has been written to before; each thread has its own memory. The cost of
 * mlock and munlock of the same memory is shown for comparison: network hardware pins registered memory, TCP does
 * not.
 */
#include <errno.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/options.h"
#include "boot/fabric.h"
#include "perf.h"

#define DEFAULT_SIZES "4K,16K,64K,256K,1M,16M,256M,1G"
#define DEFAULT_THREADS "1,2,4,8"
#define DEFAULT_TIME 0.3
#define DEFAULT_REPEAT 15
#define BATCH 8 /* registrations between two readings of the clock */
#define MAX_THREADS 256
#define ACCESS (FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

/* The pair of operations that a figure consists of: an operation on memory, and its inverse. */
enum pair { REGISTER, PIN };
static const char *const pair_names[][2] = { { "register", "deregister" }, { "pin", "unpin" } };

static struct {
    struct tern_fabric fabric;
    struct fid_fabric *fid;
    struct fid_domain *domain;
    char               provider[48];
    unsigned char     *memory;
    enum pair          pair;
    size_t             size, threads;
    double             seconds; /* seconds of a slice */
    pthread_barrier_t  start;
    _Atomic int        failed; /* errno or libfabric's error number; other memory may still work */
} bench;

/* A thread, with its time per operation for the operation and for its inverse. */
struct worker {
    pthread_t thread;
    size_t    number;
    double    ns[2];
};

static bool network_open(void)
{
    struct tern_fabric *fabric = &bench.fabric;
    int                 rc;

    if (tern_base_options_load(environ) < 0 || tern_boot_fabric_choose(false, fabric) < 0) {
        fprintf(stderr, "tern-perf: %s\n", tern_base_detail());
        return false;
    }
    snprintf(bench.provider, sizeof(bench.provider), "%s", fabric->info->fabric_attr->prov_name);
    if ((rc = fabric->calls->fabric(fabric->info->fabric_attr, &bench.fid, NULL)) != 0 ||
        (rc = fi_domain(bench.fid, fabric->info, &bench.domain, NULL)) != 0) {
        fprintf(stderr, "tern-perf: %s: %s\n", bench.provider, fabric->calls->strerror(-rc));
        return false;
    }
    return true;
}

static void network_close(void)
{
    if (bench.domain != NULL)
        fi_close(&bench.domain->fid);
    if (bench.fid != NULL)
        fi_close(&bench.fid->fid);
    if (bench.fabric.info != NULL)
        bench.fabric.calls->freeinfo(bench.fabric.info);
}

/* Register the memory BATCH times, then deregister it. Keys are requested by number; a provider that chooses keys
 * itself ignores the number. */
static bool batch_register(unsigned char *at, uint64_t key, double ns[2])
{
    struct fid_mr *mr[BATCH];
    int64_t        start = measure_now(), middle;
    size_t         n = 0;
    int            rc = 0;

    while (n < BATCH && (rc = fi_mr_reg(bench.domain, at, bench.size, ACCESS, 0, key + n, 0, &mr[n], NULL)) == 0)
        n++;
    middle = measure_now();
    for (size_t i = 0; i < n; i++)
        fi_close(&mr[i]->fid);
    ns[0] += (double)(middle - start);
    ns[1] += (double)(measure_now() - middle);
    if (rc != 0)
        bench.failed = -rc;
    return rc == 0;
}

/* Pin and unpin the whole memory once, because pinning memory that is already pinned costs nothing. */
static bool batch_pin(unsigned char *at, double ns[2])
{
    int64_t start = measure_now(), middle;
    bool    ok = mlock(at, bench.size) == 0;

    if (!ok) {
        bench.failed = errno;
        return false;
    }
    middle = measure_now();
    munlock(at, bench.size);
    ns[0] += (double)(middle - start);
    ns[1] += (double)(measure_now() - middle);
    return true;
}

static void *work(void *arg)
{
    struct worker *me = arg;
    unsigned char *at = bench.memory + me->number * bench.size;
    uint64_t       key = 1 + me->number * BATCH, done = 0;
    double         ns[2] = { 0, 0 };
    int64_t        until;
    bool           ok = true;

    pthread_barrier_wait(&bench.start);
    until = measure_now() + (int64_t)(bench.seconds * 1e9);
    do {
        ok = bench.pair == PIN ? batch_pin(at, ns) : batch_register(at, key, ns);
        done += bench.pair == PIN ? 1 : BATCH;
    } while (ok && bench.failed == 0 && measure_now() < until);
    me->ns[0] = ns[0] / (double)done;
    me->ns[1] = ns[1] / (double)done;
    return NULL;
}

/* Run one slice on all threads and store the mean of their times. */
static bool slice(double *doing, double *undoing)
{
    struct worker all[MAX_THREADS] = { 0 };
    size_t        n = 0;

    if (pthread_barrier_init(&bench.start, NULL, (unsigned)bench.threads) != 0)
        return false;
    for (; n < bench.threads; n++) {
        all[n].number = n;
        if (pthread_create(&all[n].thread, NULL, work, &all[n]) != 0) {
            fprintf(stderr, "tern-perf: only %zu of %zu threads can be made\n", n, bench.threads);
            _exit(1); /* the threads that exist wait for the others */
        }
    }
    *doing = *undoing = 0;
    for (size_t i = 0; i < n; i++) {
        pthread_join(all[i].thread, NULL);
        *doing += all[i].ns[0] / (double)n;
        *undoing += all[i].ns[1] / (double)n;
    }
    pthread_barrier_destroy(&bench.start);
    return bench.failed == 0;
}

static void add(const char *name, double *values, size_t n)
{
    struct perf_figure f = { .test = "register",
                             .link = bench.provider,
                             .ranks = 1,
                             .size = bench.size,
                             .unit = "ns",
                             .spread = true,
                             .value = measure_summarise(values, n) };

    snprintf(f.metric, sizeof(f.metric), "%s_t%zu", name, bench.threads);
    perf_report_add(&f);
}

/* Measure one size and number of threads. Memory that cannot be pinned is skipped, because ordinary users have a
 * limit on pinned memory. */
static bool measure(const struct perf_options *o, enum pair pair)
{
    size_t repeat = o->repeat != 0 ? o->repeat : DEFAULT_REPEAT;
    double doing[PERF_MAX_REPEAT], undoing[PERF_MAX_REPEAT];

    bench.pair = pair;
    bench.failed = 0;
    bench.seconds = (o->time > 0 ? o->time : DEFAULT_TIME) / (double)repeat;
    for (size_t r = 0; r < repeat; r++) {
        if (slice(&doing[r], &undoing[r]))
            continue;
        if (pair == PIN && !o->quiet)
            fprintf(stderr, "tern-perf: %zu times %zu bytes cannot be pinned: %s (see ulimit -l)\n", bench.threads,
                    bench.size, strerror(bench.failed));
        else if (pair == REGISTER)
            fprintf(stderr, "tern-perf: %s: %zu bytes cannot be registered: %s\n", bench.provider, bench.size,
                    bench.fabric.calls->strerror(bench.failed));
        return pair == PIN;
    }
    add(pair_names[pair][0], doing, repeat);
    add(pair_names[pair][1], undoing, repeat);
    return true;
}

/* Measure one size and number of threads, unless the machine has too little memory. */
static bool measure_both(const struct perf_options *o)
{
    struct tern_memory_limits room = tern_base_memory_limits("");
    size_t                    bytes = bench.size * bench.threads;
    bool                      ok;

    if (bytes > room.available / 2) {
        if (!o->quiet)
            fprintf(stderr, "tern-perf: without %zu times %zu bytes: half of the memory is less\n", bench.threads,
                    bench.size);
        return true;
    }
    bench.memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bench.memory == MAP_FAILED) {
        fprintf(stderr, "tern-perf: no memory for %zu bytes\n", bytes);
        return false;
    }
    memset(bench.memory, 1, bytes);
    ok = measure(o, REGISTER) && measure(o, PIN);
    munmap(bench.memory, bytes);
    return ok;
}

static bool run_all(const struct perf_options *o)
{
    uint64_t sizes[MEASURE_MAX_SIZES], threads[PERF_MAX_WINDOWS];
    size_t   size_count = o->size_count, thread_count = o->threads_count;
    bool     ok = true;

    memcpy(sizes, o->sizes, sizeof(sizes));
    memcpy(threads, o->threads, sizeof(threads));
    if (size_count == 0)
        size_count = measure_sizes(DEFAULT_SIZES, sizes, MEASURE_MAX_SIZES);
    if (thread_count == 0)
        thread_count = measure_sizes(DEFAULT_THREADS, threads, PERF_MAX_WINDOWS);
    for (size_t t = 0; t < thread_count && ok; t++) {
        for (size_t s = 0; s < size_count && ok; s++) {
            perf_progress((double)(t * size_count + s) / (double)(thread_count * size_count));
            bench.threads = (size_t)threads[t];
            bench.size = (size_t)sizes[s];
            ok = measure_both(o);
        }
    }
    return ok;
}

int perf_register(const struct perf_options *o)
{
    bool ok;

    if (o->word_count > 0)
        return perf_complain("register takes options only, but is given", o->words[0]);
    if (o->plot != NULL && !perf_plot_possible(o->plot))
        return 1;
    perf_report_begin(o->format);
    perf_progress_begin("register", !o->quiet);
    ok = network_open() && run_all(o);
    network_close();
    perf_progress_end();
    perf_report_end("register: time of one call over the bytes and the threads (_tN) that do it at a time");
    if (ok && o->plot != NULL)
        ok = perf_plot(o->plot, "registration");
    return ok ? 0 : 1;
}

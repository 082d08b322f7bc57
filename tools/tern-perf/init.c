/* init.c: the cost of joining a job: the wall time of tern_init and tern_finalize beyond starting the processes, and
 * the memory that Tern adds to a rank before the rank creates any region.
 *
 * The user starts this command directly. The command starts small jobs of tern-perf under ternrun, alternately with
 * ranks that call Tern and with ranks that return at once. The difference of the two wall times is the cost of the
 * two calls. The memory is the growth of the proportional set size (each shared page is divided among the processes
 * that map it) from before tern_init until after it, on the rank with the largest growth, read while all ranks
 * exist.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

#define TIME_RANKS 2
#define MEMORY_RANKS 8
#define NETWORK_RANKS "2,8,16,32,64"

static bool over_network;

/* Return the proportional set size of this process in KiB, or -1 if the kernel does not provide it. */
static long proportional_kib(void)
{
    char  line[128];
    long  kib = -1;
    FILE *f = fopen("/proc/self/smaps_rollup", "re");

    while (f != NULL && kib < 0 && fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, "Pss:", 4) == 0)
            kib = strtol(line + 4, NULL, 10);
    }
    if (f != NULL)
        fclose(f);
    return kib;
}

/* The program of each rank of the small jobs; mode is plain, time or memory. */
int perf_init_rank(const char *mode)
{
    long    before = 0, after = 0;
    int64_t start = measure_now();
    int     rank;

    if (strcmp(mode, "plain") == 0)
        return 0;
    if (strcmp(mode, "memory") == 0)
        before = proportional_kib();
    perf_must(tern_init(), "tern_init");
    rank = tern_rank();
    if (strcmp(mode, "memory") == 0) {
        perf_must(tern_barrier(TERN_WORLD), "barrier");
        after = proportional_kib();
        perf_must(tern_barrier(TERN_WORLD), "barrier");
        printf("memory %ld\n", before < 0 || after < 0 ? -1 : after - before);
    }
    perf_must(tern_finalize(), "tern_finalize");
    if (rank == 0 && strcmp(mode, "time") == 0)
        printf("calls %lld\n", (long long)(measure_now() - start));
    return 0;
}

/* Run one job. Returns its wall time in ms, or -1 if the job failed. Stores the largest number that a rank printed
 * in *number. */
static double one_job(const struct perf_options *o, const char *launcher, const char *self, int ranks, const char *mode,
                      double *number)
{
    char              count[16];
    const char       *words[] = { launcher, "-n", count, "--bind", "core", self, "--init-rank", mode, NULL };
    struct perf_child child;
    double            ms = -1;

    *number = -1;
    snprintf(count, sizeof(count), "%d", ranks);
    if (!perf_child_start(&child, (char *const *)(uintptr_t)words, NULL, o->limit))
        return -1;
    if (perf_child_finish(&child)) {
        ms = (double)(child.finished - child.started) / 1e6;
        for (const char *at = child.text[0]; at != NULL && (at = strchr(at, ' ')) != NULL; at++) {
            double value = strtod(at, NULL);

            *number = value > *number ? value : *number;
        }
    } else if (!perf_child_stopped()) {
        fprintf(
            stderr, "tern-perf: a job of %d ranks (%s) %s%s\n", ranks, mode,
            child.late ? "did not end in time" : "failed: ", child.late || child.text[1] == NULL ? "" : child.text[1]);
    }
    perf_child_free(&child);
    return ms;
}

static void add(const char *metric, int ranks, double *values, size_t n, const char *unit)
{
    struct perf_figure f = { .test = "init",
                             .link = ranks == 1     ? "self"
                                     : over_network ? perf_net_link()
                                                    : "shm",
                             .ranks = ranks,
                             .unit = unit,
                             .spread = true,
                             .value = measure_summarise(values, n) };

    snprintf(f.metric, sizeof(f.metric), "%s", metric);
    perf_report_add(&f);
}

/* Run jobs that call Tern and jobs that do not, alternately. */
static bool times(const struct perf_options *o, const char *launcher, const char *self, int ranks)
{
    double plain[PERF_MAX_REPEAT], tern[PERF_MAX_REPEAT], more[PERF_MAX_REPEAT], calls[PERF_MAX_REPEAT], none;

    one_job(o, launcher, self, ranks, "time", &none); /* warm-up: loads all files into memory */
    for (size_t r = 0; r < o->rounds; r++) {
        perf_progress((double)r / (double)(o->rounds + 1));
        plain[r] = one_job(o, launcher, self, ranks, "plain", &none);
        tern[r] = one_job(o, launcher, self, ranks, "time", &calls[r]);
        if (plain[r] < 0 || tern[r] < 0)
            return false;
        more[r] = tern[r] - plain[r];
        calls[r] /= 1e6;
    }
    add("wall_plain", ranks, plain, o->rounds, "ms");
    add("wall_tern", ranks, tern, o->rounds, "ms");
    add("init_finalize", ranks, more, o->rounds, "ms");
    add("inside_calls", ranks, calls, o->rounds, "ms");
    return true;
}

static bool memory(const struct perf_options *o, const char *launcher, const char *self, int ranks)
{
    double kib[3];

    for (size_t r = 0; r < 3; r++) {
        if (one_job(o, launcher, self, ranks, "memory", &kib[r]) < 0)
            return false;
    }
    if (kib[0] < 0) {
        fprintf(stderr, "tern-perf: this kernel has no /proc/self/smaps_rollup: memory per rank is not known\n");
        return true;
    }
    add("memory_per_rank", ranks, kib, 3, "KiB");
    return true;
}

/* Measure time and memory for each number of ranks. Without a list, each is measured with the number of ranks that
 * shows it best. */
static bool all_jobs(const struct perf_options *o, const char *launcher, const char *self)
{
    uint64_t ranks[PERF_MAX_WINDOWS];
    size_t   n = o->ranks_count;

    memcpy(ranks, o->ranks, sizeof(ranks));
    if (n == 0 && !o->net) {
        perf_progress_part(0, 0.8);
        return times(o, launcher, self, TIME_RANKS) && memory(o, launcher, self, MEMORY_RANKS);
    }
    if (n == 0)
        n = measure_sizes(NETWORK_RANKS, ranks, PERF_MAX_WINDOWS);
    for (size_t i = 0; i < n; i++) {
        perf_progress_part((double)i / (double)n, (double)(i + 1) / (double)n);
        if (!times(o, launcher, self, (int)ranks[i]) || !memory(o, launcher, self, (int)ranks[i]))
            return false;
    }
    return true;
}

int perf_init(const struct perf_options *o)
{
    char launcher[512], self[512];
    bool ok;

    over_network = o->net;

    if (o->word_count > 0)
        return perf_complain("init takes options only, but is given", o->words[0]);
    if (!perf_find_sibling(NULL, "ternrun", launcher, sizeof(launcher)) ||
        !perf_find_sibling(NULL, "tern-perf", self, sizeof(self))) {
        fprintf(stderr,
                "tern-perf: init starts jobs with ternrun, which is neither beside tern-perf nor in PATH; add the "
                "directory of ternrun to PATH\n");
        return 1;
    }
    if (o->plot != NULL && !perf_plot_possible(o->plot))
        return 1;
    perf_child_guard();
    perf_report_begin(o->format);
    perf_progress_begin("init", !o->quiet);
    ok = all_jobs(o, launcher, self);
    perf_progress_end();
    perf_child_obey();
    perf_report_end("init: tern_init and tern_finalize beyond the start of the processes, and the memory of a rank");
    if (ok && o->plot != NULL)
        ok = perf_plot(o->plot, "init and finalize");
    return ok ? 0 : 1;
}

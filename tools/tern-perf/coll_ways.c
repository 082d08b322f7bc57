/* coll_ways.c: coll: every collective call by each of its algorithms (docs/collectives.md), and by the one that Tern
 * chooses. The report shows which algorithm is the fastest for each size, from which size on that changes, and how much
 * slower Tern's choice is.
 *
 * The variants differ only in the option TERN_COLL, so each is a job of its own, and the jobs alternate as in compare.
 * An algorithm that cannot be used for a team, such as the board over a network, is replaced by Tern's choice.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"

#define WAYS COMPARE_RUNNERS

/* The algorithms of each call; the first way is Tern's choice. */
static const struct {
    const char *call, *ways[WAYS - 1];
} lists[] = {
    { "sync", { "board", "tree", "dissemination", "central", "hierarchical" } },
    { "broadcast", { "board", "direct", "binomial", "linear", "chain", "scatter_ring", "hierarchical" } },
    { "reduce", { "board", "direct", "binomial", "linear", "hierarchical" } },
    { "allreduce",
      { "board", "tree", "direct", "recursive_doubling", "rabenseifner", "ring", "pieces", "hierarchical" } },
    { "reduce_scatter", { "board", "direct", "pieces", "ring", "hierarchical" } },
    { "gather", { "board", "direct", "binomial", "linear", "hierarchical" } },
    { "scatter", { "board", "direct", "binomial", "linear", "hierarchical" } },
    { "allgather", { "board", "direct", "ring", "bruck", "recursive_doubling", "linear", "hierarchical" } },
    { "alltoall", { "board", "direct", "pairwise", "linear", "bruck", "hierarchical" } },
    { "scan", { "board", "direct", "recursive_doubling", "chain" } },
};
#define CALLS (sizeof(lists) / sizeof(lists[0]))

static struct runner ways[WAYS];

/* Return the name of a way of a call; NULL: the call has fewer ways. */
static const char *way_name(const char *call, size_t way)
{
    if (way == 0)
        return "chosen";
    for (size_t i = 0; i < CALLS; i++)
        if (strcmp(lists[i].call, call) == 0)
            return lists[i].ways[way - 1];
    return NULL;
}

static bool run_way(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    size_t             way = (size_t)(runner - ways);
    const char        *name = way_name(test->name, way);
    char               forced[96];
    char              *env[] = { forced, NULL };
    struct compare_job job;

    if (name == NULL)
        return true;
    snprintf(forced, sizeof(forced), "TERN_COLL=%s=%s", test->name, name);
    compare_tern_words(&job, runner, test, o);
    return compare_run_csv(runner, test, o, (char *const *)(uintptr_t)job.words, way > 0 ? env : NULL);
}

/* ---- the report ---- */

static const struct compare_series *series_of(const struct compare_test *test, size_t way, uint64_t size, size_t metric)
{
    return compare_find(test, &ways[way], size, test->metrics[metric]);
}

/* Return the fastest algorithm for a size; 0: there are no figures. */
static size_t fastest(const struct compare_test *test, uint64_t size, size_t metric)
{
    size_t best = 0;
    double least = 0;

    for (size_t way = 1; way < WAYS; way++) {
        const struct compare_series *s = series_of(test, way, size, metric);

        if (s != NULL && (best == 0 || s->summary.median < least)) {
            best = way;
            least = s->summary.median;
        }
    }
    return best;
}

static void add_figure(const struct compare_test *test, uint64_t size, const char *way, const char *metric,
                       struct measure_summary value, const struct perf_options *o)
{
    bool               ratio = strcmp(metric, "chosen_to_best") == 0;
    struct perf_figure f = { .test = test->name,
                             .link = way,
                             .ranks = compare_ranks(o),
                             .size = size,
                             .unit = ratio ? "ratio" : "ns",
                             .spread = !ratio,
                             .value = value };

    snprintf(f.metric, sizeof(f.metric), "%s", metric);
    perf_report_add(&f);
}

/* Print the times of one size, and Tern's choice beside the fastest. */
static void report_size(const struct compare_test *test, uint64_t size, size_t metric, const struct perf_options *o)
{
    const struct compare_series *chosen = series_of(test, 0, size, metric);
    size_t                       best = fastest(test, size, metric);
    char                         text[24];
    bool                         prints = o->format == PERF_TEXT;

    perf_size_text(test->name, size, text);
    if (prints)
        printf("%9s", text);
    for (size_t way = 0; way < WAYS && way_name(test->name, way) != NULL; way++) {
        const struct compare_series *s = series_of(test, way, size, metric);

        if (s != NULL)
            add_figure(test, size, way_name(test->name, way), test->metrics[metric], s->summary, o);
        if (prints && s != NULL)
            printf(" %18.6g", s->summary.median);
        else if (prints)
            printf(" %18s", "-");
    }
    if (chosen != NULL && best > 0) {
        struct measure_summary ratio = { .median = chosen->summary.median /
                                                   series_of(test, best, size, metric)->summary.median };

        add_figure(test, size, way_name(test->name, best), "chosen_to_best", ratio, o);
        if (prints)
            printf("  %5.2f of %s", ratio.median, way_name(test->name, best));
    }
    if (prints)
        putchar('\n');
}

static void report_crossovers(const struct compare_test *test, const uint64_t *sizes, size_t n, size_t metric)
{
    size_t last = 0;

    for (size_t i = 0; i < n; i++) {
        size_t best = fastest(test, sizes[i], metric);
        char   text[24];

        if (best == 0 || best == last)
            continue;
        perf_size_text(test->name, sizes[i], text);
        if (last == 0)
            printf("%s: %s", test->name, way_name(test->name, best));
        else
            printf(", from %s on %s", text, way_name(test->name, best));
        last = best;
    }
    if (last > 0)
        putchar('\n');
}

static void report_call(const struct compare_test *test, size_t metric, const struct perf_options *o)
{
    uint64_t sizes[MEASURE_MAX_SIZES];
    size_t   n = compare_sizes(test, o, sizes);
    bool     prints = o->format == PERF_TEXT;

    if (prints) {
        printf("\n%s of %d ranks%s: median, in ns\n%9s", test->name, compare_ranks(o),
               test->sizes == NULL ? ""
               : metric == 0       ? ", private memory"
                                   : ", memory of a region",
               "size");
        for (size_t way = 0; way < WAYS && way_name(test->name, way) != NULL; way++)
            printf(" %18s", way_name(test->name, way));
        printf("  chosen to best\n");
    }
    for (size_t i = 0; i < n; i++)
        report_size(test, sizes[i], metric, o);
    if (prints && n > 1)
        report_crossovers(test, sizes, n, metric);
}

static void report(const struct comparison *cmp, const struct perf_options *o, const bool *wanted)
{
    size_t                       count;
    const struct compare_series *all = compare_all(&count);

    for (size_t i = 0; i < count; i++) {
        struct compare_series *s = compare_find(all[i].test, all[i].runner, all[i].size, all[i].metric);

        s->summary = measure_summarise(s->values, s->count);
    }
    for (size_t t = 0; t < cmp->test_count; t++)
        for (size_t m = 0; m < COMPARE_METRICS && wanted[t] && cmp->tests[t].metrics[m] != NULL; m++)
            report_call(&cmp->tests[t], m, o);
}

int perf_coll_ways(const struct perf_options *o)
{
    static struct compare_test tests[CALLS];
    const struct comparison    all = { .title = "Collective calls by each algorithm",
                                       .runners = ways,
                                       .runner_count = WAYS,
                                       .tests = tests,
                                       .test_count = CALLS,
                                       .report = report };

    if (o->ranks_count > 1)
        return perf_complain("coll --ranks wants one number", "");
    for (size_t way = 0; way < WAYS; way++)
        ways[way] = (struct runner){ .name = "Tern", .link = "tern", COMPARE_TERN_JOBS };
    for (size_t i = 0; i < CALLS; i++)
        tests[i] = (struct compare_test){ .name = lists[i].call,
                                          .sizes = strcmp(lists[i].call, "sync") == 0 ? NULL : "8,4K,64K,1M",
                                          .metrics = { "latency", i > 0 ? "region" : NULL },
                                          .unit = "ns",
                                          .collective = true,
                                          .run = run_way };
    return compare_run(&all, o);
}

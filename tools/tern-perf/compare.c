/* compare.c: the same tests in Tern and in what else is installed: Open MPI, MPICH and UCX.
 *
 * Machines change their speed from second to second, so each test runs in short runs of all programs in turn, many
 * times, and what is reported are the ratios of medians and of best values. The programs are described in runners.c;
 * this file calls them in turn, keeps one value per run, and prints.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

#define MAX_SERIES 512

/* One figure of one program: a value per run. */
struct series {
    const struct compare_test *test;
    const struct runner       *runner;
    uint64_t                   size;
    const char                *metric, *unit;
    double                    *values;
    size_t                     count;
    struct measure_summary     summary;
};

static struct {
    struct series all[MAX_SERIES];
    size_t        count;
    size_t        rounds;
} table;

static const struct compare_test tests[] = {
    { "put_lat", "8,4K", { "latency", "half_rtt" }, "ucp_put_lat", "half_rtt", "ns", NULL, NULL, false },
    { "get_lat", "8,4K", { "latency", NULL }, "ucp_get", "latency", "ns", "1", NULL, false },
    { "put_bw", "4K,64K,1M", { "bandwidth", NULL }, "ucp_put_bw", "bandwidth", "MB/s", NULL, NULL, false },
    { "get_bw", "4K,64K,1M", { "bandwidth", NULL }, "ucp_get", "bandwidth", "MB/s", NULL, NULL, false },
    { "put_rate", "8", { "rate", NULL }, "ucp_put_bw", "rate", "op/s", NULL, NULL, false },
    { "get_rate", "8", { "rate", NULL }, "ucp_get", "rate", "op/s", NULL, NULL, false },
    { "barrier", NULL, { "latency", NULL }, NULL, NULL, "ns", NULL, NULL, false },
    { "am_lat", "0,8,4K", { "half_rtt", NULL }, "ucp_am_lat", "half_rtt", "ns", NULL, "am_lat", true },
};
#define TEST_COUNT (sizeof(tests) / sizeof(tests[0]))

void compare_keep(const struct compare_test *test, const struct runner *runner, uint64_t size, const char *metric,
                  double value)
{
    struct series *s = table.all, *end = table.all + table.count;
    const char    *name = NULL;

    for (size_t i = 0; i < COMPARE_METRICS && test->metrics[i] != NULL; i++) {
        if (strcmp(test->metrics[i], metric) == 0)
            name = test->metrics[i];
    }
    if (name == NULL)
        return;
    while (s < end && !(s->test == test && s->runner == runner && s->size == size && s->metric == name))
        s++;
    if (s == end) {
        if (table.count == MAX_SERIES)
            return;
        *s = (struct series){ .test = test, .runner = runner, .size = size, .metric = name, .unit = test->unit };
        s->values = calloc(table.rounds, sizeof(double));
        if (s->values == NULL) {
            fprintf(stderr, "tern-perf: not enough memory\n");
            exit(1);
        }
        table.count++;
    }
    if (s->count < table.rounds)
        s->values[s->count++] = value;
}

static bool less_is_better(const struct series *s)
{
    return strcmp(s->unit, "ns") == 0;
}

static double best(const struct series *s)
{
    return less_is_better(s) ? s->summary.min : s->summary.max;
}

/* Tern's series for the figure that s is of; NULL if Tern did not run. */
static const struct series *tern_of(const struct series *s)
{
    for (size_t i = 0; i < table.count; i++) {
        const struct series *t = &table.all[i];

        if (t->runner == &compare_runners[0] && t->test == s->test && t->size == s->size && t->metric == s->metric)
            return t;
    }
    return NULL;
}

static void add(const struct series *s, const char *suffix, double value, const char *unit)
{
    struct perf_figure f = { .test = s->test->name,
                             .link = s->runner->link,
                             .ranks = 2,
                             .size = s->size,
                             .unit = unit,
                             .value = { .median = value } };

    f.spread = suffix[0] == '\0';
    if (f.spread)
        f.value = s->summary;
    snprintf(f.metric, sizeof(f.metric), "%s%s", s->metric, suffix);
    perf_report_add(&f);
}

/* One line for each program, Tern first. */
static void report(const struct series *s, bool text)
{
    const struct series *tern = tern_of(s);

    if (text)
        printf("%-9s %9" PRIu64 "  %-10s %-5s %-9s %14.6g %14.6g", s->test->name, s->size, s->metric, s->unit,
               s->runner->name, s->summary.median, best(s));
    add(s, "", 0, s->unit);
    add(s, "_best", best(s), s->unit);
    if (tern != NULL && tern != s) {
        add(s, "_ratio_of_medians", tern->summary.median / s->summary.median, "ratio");
        add(s, "_ratio_of_minima", best(tern) / best(s), "ratio");
        if (text)
            printf(" %12.4g %12.4g", tern->summary.median / s->summary.median, best(tern) / best(s));
    }
    if (text)
        putchar('\n');
}

static void report_all(bool text)
{
    for (size_t i = 0; i < table.count; i++)
        table.all[i].summary = measure_summarise(table.all[i].values, table.all[i].count);
    if (text)
        printf("Tern beside its peers: %zu runs of each, in turn. Ratios are Tern's figure over the peer's: below 1 is "
               "better for times (ns), above 1 for MB/s and op/s.\nbest: the smallest time, the largest rate.\n"
               "%-9s %9s  %-10s %-5s %-9s %14s %14s %12s %12s\n",
               table.rounds, "test", "bytes", "figure", "unit", "program", "median", "best", "of medians", "of best");
    for (size_t i = 0; i < table.count; i++) {
        bool first = true;

        for (size_t g = 0; g < i; g++)
            first &= table.all[g].test != table.all[i].test || table.all[g].size != table.all[i].size ||
                     table.all[g].metric != table.all[i].metric;
        for (size_t g = i; g < table.count && first; g++) {
            if (table.all[g].test == table.all[i].test && table.all[g].size == table.all[i].size &&
                table.all[g].metric == table.all[i].metric)
                report(&table.all[g], text);
        }
    }
}

/* Run everything once in each round; a program that failed twice in a test is left out of the rest of it. */
static void run_all(const struct perf_options *o, const bool *wanted, const bool *present)
{
    unsigned failures[TEST_COUNT][COMPARE_RUNNERS] = { 0 };
    size_t   steps = o->rounds * TEST_COUNT, done = 0;

    for (size_t round = 0; round < o->rounds; round++) {
        for (size_t t = 0; t < TEST_COUNT; t++, done++) {
            perf_progress((double)done / (double)steps);
            for (size_t r = 0; r < COMPARE_RUNNERS && wanted[t] && !perf_child_stopped(); r++) {
                if (!present[r] || failures[t][r] >= 2)
                    continue;
                if (!compare_runners[r].run(&compare_runners[r], &tests[t], o) && ++failures[t][r] == 2 &&
                    !perf_child_stopped())
                    fprintf(stderr, "tern-perf: %s failed twice in %s and is left out of it\n", compare_runners[r].name,
                            tests[t].name);
            }
        }
    }
}

static bool choose(const struct perf_options *o, bool *wanted)
{
    for (size_t t = 0; t < TEST_COUNT; t++)
        wanted[t] = o->word_count == 0;
    for (size_t w = 0; w < o->word_count; w++) {
        bool known = false;

        for (size_t t = 0; t < TEST_COUNT; t++) {
            if (strcmp(o->words[w], tests[t].name) == 0)
                known = wanted[t] = true;
        }
        if (!known) {
            fprintf(stderr, "tern-perf: %s cannot be compared; these can:", o->words[w]);
            for (size_t t = 0; t < TEST_COUNT; t++)
                fprintf(stderr, " %s", tests[t].name);
            fputc('\n', stderr);
            return false;
        }
    }
    return true;
}

int perf_compare(const struct perf_options *o)
{
    bool wanted[TEST_COUNT], present[COMPARE_RUNNERS];
    int  status = 0;

    if (!choose(o, wanted) || (o->plot != NULL && !perf_plot_possible(o->plot)))
        return 2;
    table.rounds = o->rounds;
    for (size_t r = 0; r < COMPARE_RUNNERS; r++) {
        present[r] = compare_runners[r].find(&compare_runners[r], o);
        if (!present[r])
            fprintf(stderr, "tern-perf: without %s: %s\n", compare_runners[r].name, compare_runners[r].install);
    }
    if (!present[0])
        return 1;
    perf_child_guard();
    perf_report_begin(o->format);
    perf_progress_begin("compare", !o->quiet);
    run_all(o, wanted, present);
    perf_progress_end();
    perf_child_obey();
    report_all(o->format == PERF_TEXT);
    if (o->format == PERF_JSON)
        perf_report_end("");
    if (table.count == 0 || (o->plot != NULL && !perf_plot(o->plot, "Tern beside its peers")))
        status = 1;
    for (size_t i = 0; i < table.count; i++)
        free(table.all[i].values);
    return status;
}

/* compare.c: runs the same tests with Tern and with the other installed libraries: Open MPI, MPICH, OpenSHMEM and
 * UCX, and over the network also plain TCP, fi_pingpong and iperf3.
 *
 * Machines change their speed from second to second. Therefore each test consists of many short runs of all programs
 * in turn, and the report shows the ratios of the medians and of the best values. runners.c, ucx.c and servers.c
 * describe the programs, comparisons.c describes the tests. This file schedules the runs, stores one value per run,
 * and prints the report.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

static struct {
    struct compare_series *all;
    size_t                 count, room;
    size_t                 rounds, round; /* the number of rounds, and the current round */
    const struct runner   *first;         /* the runner that the others are compared with */
    int                    ranks;
} table;

const struct compare_series *compare_all(size_t *count)
{
    *count = table.count;
    return table.all;
}

struct compare_series *compare_find(const struct compare_test *test, const struct runner *runner, uint64_t size,
                                    const char *metric)
{
    for (size_t i = 0; i < table.count; i++) {
        struct compare_series *s = &table.all[i];

        if (s->test == test && s->runner == runner && s->size == size && s->metric == metric)
            return s;
    }
    return NULL;
}

/* Append a series to the table, with memory for one value per round. */
static struct compare_series *new_series(void)
{
    struct compare_series *s = NULL;

    if (table.count == table.room) {
        table.room = table.room == 0 ? 64 : 2 * table.room;
        s = realloc(table.all, table.room * sizeof(*s));
        table.all = s;
    }
    if (table.all != NULL) {
        s = &table.all[table.count++];
        *s = (struct compare_series){ .values = calloc(table.rounds, sizeof(double)),
                                      .rounds = calloc(table.rounds, sizeof(size_t)) };
    }
    if (s == NULL || s->values == NULL || s->rounds == NULL) {
        fprintf(stderr, "tern-perf: not enough memory for the figures; use fewer sizes or rounds\n");
        exit(1);
    }
    return s;
}

static void free_series(void)
{
    for (size_t i = 0; i < table.count; i++) {
        free(table.all[i].values);
        free(table.all[i].rounds);
    }
    free(table.all);
    table.all = NULL;
    table.count = table.room = 0;
}

void compare_keep(const struct compare_test *test, const struct runner *runner, uint64_t size, const char *metric,
                  double value)
{
    struct compare_series *s;
    const char            *name = NULL;

    for (size_t i = 0; i < COMPARE_METRICS && test->metrics[i] != NULL; i++) {
        if (strcmp(test->metrics[i], metric) == 0)
            name = test->metrics[i];
    }
    if (name == NULL)
        return;
    s = compare_find(test, runner, size, name);
    if (s == NULL) {
        s = new_series();
        s->test = test;
        s->runner = runner;
        s->size = size;
        s->metric = name;
        s->unit = test->unit;
    }
    if (s->count < table.rounds) {
        s->rounds[s->count] = table.round;
        s->values[s->count++] = value;
    }
}

bool compare_less_is_better(const char *unit)
{
    return strcmp(unit, "MB/s") != 0 && strcmp(unit, "op/s") != 0;
}

static double best(const struct compare_series *s)
{
    return compare_less_is_better(s->unit) ? s->summary.min : s->summary.max;
}

static void add(const struct compare_series *s, const char *suffix, double value, const char *unit)
{
    struct perf_figure f = { .test = s->test->name,
                             .link = s->runner->link,
                             .label = s->runner->name,
                             .ranks = table.ranks,
                             .size = s->size,
                             .unit = unit,
                             .value = { .median = value } };

    f.spread = suffix[0] == '\0';
    if (f.spread)
        f.value = s->summary;
    snprintf(f.metric, sizeof(f.metric), "%s%s", s->metric, suffix);
    perf_report_add(&f);
}

/* Print one line for each program, Tern first. */
static void report(const struct compare_series *s, bool text)
{
    const struct compare_series *first = compare_find(s->test, table.first, s->size, s->metric);
    char                         size[24];

    perf_size_text(s->test->name, s->size, size);
    if (text)
        printf("%-10s %9s  %-18s %-5s %-11s %14.6g %14.6g", s->test->name, size, s->metric, s->unit, s->runner->name,
               s->summary.median, best(s));
    add(s, "", 0, s->unit);
    if (first != NULL && first != s) {
        add(s, "_ratio_of_medians", first->summary.median / s->summary.median, "ratio");
        add(s, "_ratio_of_minima", best(first) / best(s), "ratio");
        if (text)
            printf(" %12.4g %12.4g", first->summary.median / s->summary.median, best(first) / best(s));
    }
    if (text)
        putchar('\n');
}

void compare_print_sizes(void)
{
    fputs("in bytes", stdout);
    for (size_t i = 0; i < table.count; i++) {
        const struct compare_test *test = table.all[i].test;

        if ((i == 0 || test != table.all[i - 1].test) && strcmp(perf_size_counts(test->name), "bytes") != 0)
            printf("; %s: %s", test->name, perf_size_counts(test->name));
    }
    putchar('\n');
}

/* Print what the columns mean, and the head of the table. */
static void head(const char *title)
{
    const char *name = table.first->name;

    printf("%s: %zu run%s of each, in turn.\nsize: ", title, table.rounds, table.rounds == 1 ? "" : "s");
    compare_print_sizes();
    printf("best: the smallest time, or the largest bandwidth or rate.\n"
           "Ratios: the figure of %s divided by the figure of the other program. %s is better if the ratio is below "
           "1 for a\n        time (ns), or above 1 for MB/s and op/s.\n"
           "%-10s %9s  %-18s %-5s %-11s %14s %14s %12s %12s\n",
           name, name, "test", "size", "figure", "unit", "program", "median", "best", "of medians", "of best");
}

static void report_all(const char *title, bool text)
{
    for (size_t i = 0; i < table.count; i++)
        table.all[i].summary = measure_summarise(table.all[i].values, table.all[i].count);
    if (text)
        head(title);
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

/* Return whether a program can run a test with the number of ranks of the comparison. */
static bool suits_ranks(const struct compare_test *test, const struct runner *runner, const struct perf_options *o)
{
    return compare_ranks(o) == 2 || ((test->collective || strcmp(test->name, "barrier") == 0) && !runner->pair);
}

/* Run one test with all programs. A program that has failed twice in a test is excluded from the rest of the test. */
static void run_test(const struct comparison *cmp, const struct perf_options *o, const struct compare_test *test,
                     const bool *present, unsigned *failures)
{
    for (size_t i = 0; i < cmp->runner_count && !perf_child_stopped(); i++) {
        size_t               r = cmp->alternate && table.round % 2 == 1 ? cmp->runner_count - 1 - i : i;
        const struct runner *runner = &cmp->runners[r];

        if (!present[r] || failures[r] >= 2 || !suits_ranks(test, runner, o))
            continue;
        if (!(test->run != NULL ? test->run : runner->run)(runner, test, o) && ++failures[r] == 2 &&
            !perf_child_stopped())
            fprintf(stderr, "tern-perf: %s failed twice in %s and is left out of it\n", runner->name, test->name);
    }
}

/* Return whether another round, as long as those before it, would exceed the time that all rounds may take. */
static bool is_late(const struct perf_options *o, int64_t start)
{
    double spent = (double)(measure_now() - start) / 1e9, rounds = (double)table.round;

    return o->budget > 0 && table.round > 0 && spent * (rounds + 1) / rounds > o->budget;
}

/* Run every test once in each round. */
static void run_all(const struct comparison *cmp, const struct perf_options *o, const bool *wanted, const bool *present)
{
    unsigned failures[COMPARE_TESTS][COMPARE_RUNNERS] = { 0 };
    size_t   steps = o->rounds * cmp->test_count, done = 0;
    int64_t  start = measure_now();

    for (table.round = 0; table.round < o->rounds && !is_late(o, start); table.round++) {
        for (size_t t = 0; t < cmp->test_count; t++, done++) {
            perf_progress((double)done / (double)steps);
            if (wanted[t])
                run_test(cmp, o, &cmp->tests[t], present, failures[t]);
        }
    }
}

static void cannot_compare(const struct comparison *cmp, const char *name)
{
    struct perf_near near = { 0 };

    for (size_t t = 0; t < cmp->test_count; t++)
        perf_nearest(name, cmp->tests[t].name, &near);
    fprintf(stderr, "tern-perf: %s cannot be compared", name);
    if (near.name != NULL)
        fprintf(stderr, " (did you mean %s?)", near.name);
    fputs("; these can:", stderr);
    for (size_t t = 0; t < cmp->test_count; t++)
        fprintf(stderr, " %s", cmp->tests[t].name);
    fputc('\n', stderr);
}

static bool choose(const struct comparison *cmp, const struct perf_options *o, bool *wanted)
{
    for (size_t t = 0; t < cmp->test_count; t++)
        wanted[t] = o->word_count == 0 && !cmp->tests[t].optional;
    for (size_t w = 0; w < o->word_count; w++) {
        bool known = false;

        for (size_t t = 0; t < cmp->test_count; t++) {
            if (strcmp(o->words[w], cmp->tests[t].name) == 0)
                known = wanted[t] = true;
        }
        if (!known) {
            cannot_compare(cmp, o->words[w]);
            return false;
        }
    }
    return true;
}

/* Return whether a program was not reported as missing before. UCX is two programs, and all runs two comparisons. */
static bool is_news(const struct runner *runner)
{
    static const char *told[COMPARE_RUNNERS];
    size_t             i = 0;

    while (i < COMPARE_RUNNERS && told[i] != NULL && strcmp(told[i], runner->program) != 0)
        i++;
    if (i == COMPARE_RUNNERS || told[i] != NULL)
        return false;
    told[i] = runner->program;
    return true;
}

/* Find out which programs are installed. Returns false if the first one is missing. */
static bool find_all(const struct comparison *cmp, const struct perf_options *o, bool *present)
{
    for (size_t r = 0; r < cmp->runner_count; r++) {
        present[r] = cmp->runners[r].find(&cmp->runners[r], o);
        if (!present[r] && cmp->runners[r].install != NULL && is_news(&cmp->runners[r]))
            fprintf(stderr, "tern-perf: without %s: %s\n", cmp->runners[r].name, cmp->runners[r].install);
    }
    return cmp->runner_count > 0 && present[0];
}

/* Run the programs of a comparison. Returns false if Tern's programs are missing. */
static bool measure(const struct comparison *cmp, const struct perf_options *o, const bool *wanted)
{
    bool present[COMPARE_RUNNERS];

    table.rounds = o->rounds;
    table.ranks = compare_ranks(o);
    table.first = &cmp->runners[0];
    perf_child_guard();
    if (!find_all(cmp, o, present))
        return false;
    perf_child_obey();
    perf_progress_begin(cmp->title, !o->quiet);
    run_all(cmp, o, wanted, present);
    perf_progress_end();
    perf_child_obey();
    return true;
}

size_t compare_collect(const struct comparison *cmp, const struct perf_options *o)
{
    bool wanted[COMPARE_TESTS], ok;

    ok = choose(cmp, o, wanted) && measure(cmp, o, wanted);
    if (ok)
        report_all(cmp->title, false);
    ok &= table.count > 0;
    free_series();
    return ok ? table.round : 0;
}

int compare_run(const struct comparison *cmp, const struct perf_options *o)
{
    bool wanted[COMPARE_TESTS];
    int  status = 0;

    if (!choose(cmp, o, wanted) || (o->plot != NULL && !perf_plot_possible(o->plot)))
        return 2;
    perf_report_begin(o->format);
    if (!measure(cmp, o, wanted))
        return 1;
    if (cmp->report != NULL)
        cmp->report(cmp, o, wanted);
    else
        report_all(cmp->title, o->format == PERF_TEXT);
    if (cmp->after != NULL)
        cmp->after(cmp, o);
    if (o->format == PERF_JSON)
        perf_report_end("");
    if (table.count == 0 || (o->plot != NULL && !perf_plot(o->plot, cmp->title)))
        status = 1;
    free_series();
    return status;
}

int perf_compare(const struct perf_options *o)
{
    const struct comparison memory = { .title = "Tern beside its peers",
                                       .runners = compare_memory_runners,
                                       .runner_count = compare_memory_runner_count,
                                       .tests = compare_memory_tests,
                                       .test_count = compare_memory_test_count };
    const struct comparison net = { .title = "Tern beside its peers, over the network",
                                    .runners = compare_net_runners,
                                    .runner_count = compare_net_runner_count,
                                    .tests = compare_net_tests,
                                    .test_count = compare_net_test_count };

    struct perf_options with = *o;

    if (o->ranks_count > 1 || (o->build != NULL && o->ranks_count > 0))
        return perf_complain("compare --ranks wants one number, and not with --build", "");
    if (o->build != NULL && o->vs_limit)
        return perf_complain("compare --build compares two builds, without limits; leave out --vs-limit", "");
    if (o->build != NULL)
        return compare_builds(o);
    with.vs_limit |= o->plot != NULL;
    return compare_run(o->net ? &net : &memory, &with);
}

/* ratios.c: the report of a comparison of two builds: for each figure the medians of both builds, and the ratio of
 * the first build to the second in each round.
 *
 * The two runs of one round follow each other closely, so that a change of the machine's speed affects both.
 * Therefore the ratio of a row is the median of the ratios of the rounds and not the ratio of the medians, and the
 * quartiles of the ratios show the noise. A ratio above 1 always means that the first build is worse: rates and
 * bandwidths are inverted. A row is marked if its ratios stay above LIMIT and their distance from 1 exceeds their
 * spread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

#define LIMIT 1.03
#define FEWEST 5 /* minimum number of rounds; the quartiles of fewer rounds do not show the noise */
#define MARK "WORSE"
#define NO_RATIO "       -  " /* printed in the column of the ratio */

/* One figure of both builds. */
struct row {
    const struct compare_series *first, *second; /* NULL: the build has not printed the figure */
    struct measure_summary       ratio;
    size_t                       rounds; /* number of rounds in which both builds have a value */
};

/* Return the article for a build's name within a sentence. */
static const char *the(const struct runner *runner)
{
    return strncmp(runner->name, "this ", strlen("this ")) == 0 ? "" : "the ";
}

/* Print the part of a line before the ratio. */
static void row_head_print(const struct compare_test *test, const char *size, const char *metric, const char *first,
                           const char *second)
{
    printf("%-11s %9s  %-18s %-5s %12s %12s", test->name, size, metric, test->unit, first, second);
}

static struct measure_summary summary_of(const struct compare_series *s, double *scratch)
{
    memcpy(scratch, s->values, s->count * sizeof(*scratch)); /* keep the order of the series, which pairs the rounds */
    return measure_summarise(scratch, s->count);
}

/* Return the value of one round, or 0 if there is none. */
static double value_in(const struct compare_series *s, size_t round)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->rounds[i] == round)
            return s->values[i];
    }
    return 0;
}

/* Compute the ratios of the rounds in which both builds have a value. */
static void pair(struct row *row, size_t rounds, double *scratch)
{
    bool less = compare_less_is_better(row->first->unit);

    row->rounds = 0;
    for (size_t r = 0; r < rounds; r++) {
        double first = value_in(row->first, r), second = value_in(row->second, r);

        if (first > 0 && second > 0)
            scratch[row->rounds++] = less ? first / second : second / first;
    }
    if (row->rounds > 0)
        row->ratio = measure_summarise(scratch, row->rounds);
}

/* Return whether the first build is worse by more than the noise. */
static bool is_worse(const struct row *row)
{
    return row->rounds >= FEWEST && row->ratio.p25 > LIMIT && row->ratio.median - 1 > row->ratio.p75 - row->ratio.p25;
}

static void add(const struct compare_series *s, const char *suffix, const char *unit,
                const struct measure_summary *value)
{
    struct perf_figure f = { .test = s->test->name,
                             .link = s->runner->link,
                             .label = s->runner->name,
                             .ranks = 2,
                             .size = s->size,
                             .unit = unit,
                             .spread = strcmp(unit, "flag") != 0,
                             .value = *value };

    snprintf(f.metric, sizeof(f.metric), "%s%s", s->metric, suffix);
    perf_report_add(&f);
}

/* Format the median of one build as a cell of the table, and add it to the figures of CSV and JSON. */
static void median_cell(const struct compare_series *s, double *scratch, char text[24])
{
    struct measure_summary summary;

    snprintf(text, 24, "-");
    if (s == NULL)
        return;
    summary = summary_of(s, scratch);
    snprintf(text, 24, "%.5g", summary.median);
    add(s, "", s->unit, &summary);
}

/* Print the columns after the medians: the ratio with its quartiles, and the mark. */
static void ratio_print(const struct row *row, bool text)
{
    const struct measure_summary mark = { .median = is_worse(row) };

    if (row->rounds == 0) {
        if (text)
            puts(NO_RATIO "no round has a value of both builds");
        return;
    }
    add(row->first, "_ratio", "ratio", &row->ratio);
    add(row->first, "_worse", "flag", &mark);
    if (text)
        printf(" %7.3f  %.3f to %.3f%s\n", row->ratio.median, row->ratio.p25, row->ratio.p75,
               is_worse(row) ? "  " MARK : "");
}

static void row_print(struct row *row, size_t rounds, bool text)
{
    const struct compare_series *s = row->first != NULL ? row->first : row->second;
    double                      *scratch = calloc(rounds, sizeof(*scratch));
    char                         first[24], second[24], size[24];

    if (scratch == NULL) {
        fprintf(stderr, "tern-perf: not enough memory for the report\n");
        exit(1);
    }
    median_cell(row->first, scratch, first);
    median_cell(row->second, scratch, second);
    snprintf(size, sizeof(size), "%" PRIu64, s->size);
    if (text)
        row_head_print(s->test, s->test->sizes != NULL ? size : "-", s->metric, first, second);
    if (row->first != NULL && row->second != NULL) {
        pair(row, rounds, scratch);
        ratio_print(row, text);
    } else if (text) {
        printf(NO_RATIO "only %s%s has this size\n", the(s->runner), s->runner->name);
    }
    free(scratch);
}

/* Print a row for a figure that a build does not have, with the reason. CSV and JSON cannot represent the reason, so
 * with these formats it is printed on standard error. */
static void absence_print(const struct comparison *cmp, const struct compare_test *test, const char *metric,
                          const bool has[2], bool text)
{
    bool                 first = !has[0] && (has[1] || compare_build_note(&cmp->runners[0], test)[0] != '\0');
    const struct runner *lacks = &cmp->runners[first ? 0 : 1];
    const char          *note = compare_build_note(lacks, test);
    FILE                *to = text ? stdout : stderr;

    if (text)
        row_head_print(test, "-", metric, "-", "-");
    else
        fprintf(stderr, "tern-perf: %s, %s: ", test->name, metric);
    if (has[0] == has[1] && note[0] == '\0')
        fprintf(to, "%sneither build prints this figure\n", text ? NO_RATIO : "");
    else
        fprintf(to, "%s%s%s %s\n", text ? NO_RATIO : "", the(lacks), lacks->name,
                note[0] != '\0' ? note : "does not print this figure");
}

/* Print all sizes of one figure, in the order in which either build has printed them. */
static void metric_print(const struct comparison *cmp, const struct compare_test *test, const char *metric,
                         const struct perf_options *o)
{
    bool                         has[2] = { false, false }, text = o->format == PERF_TEXT;
    size_t                       n;
    const struct compare_series *all = compare_all(&n);

    for (size_t i = 0; i < n; i++) {
        if (all[i].test == test && all[i].metric == metric)
            has[all[i].runner - cmp->runners] = true;
    }
    if (!has[0] || !has[1]) {
        absence_print(cmp, test, metric, has, text);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct row row = { .first = compare_find(test, &cmp->runners[0], all[i].size, metric),
                           .second = compare_find(test, &cmp->runners[1], all[i].size, metric) };

        if (all[i].test != test || all[i].metric != metric)
            continue;
        if (row.first == &all[i] || row.first == NULL)
            row_print(&row, o->rounds, text);
    }
}

static void head_print(const struct comparison *cmp, const struct perf_options *o)
{
    const char *first = cmp->runners[0].name, *second = cmp->runners[1].name;

    printf("%s: %zu rounds, each with one job of either column, in alternating order.\n"
           "size       ",
           cmp->title, o->rounds);
    compare_print_sizes();
    printf(
        "ratio      the median of the ratios of the rounds. A ratio above 1.00 always means that the column \"%s\" is\n"
        "           worse: slower, or larger in memory. Ratios of MB/s and op/s are inverted for this.\n"
        "quartiles  half of the ratios lie between these two values. Values far apart mean a noisy row.\n"
        "%-9s  the lower quartile is above %.2f, and the ratio is further from 1.00 than the quartiles are from\n"
        "           each other. With fewer than %d rounds no row is marked.\n"
        "%-11s %9s  %-18s %-5s %12s %12s %7s  %s\n",
        first, MARK, LIMIT, FEWEST, "test", "size", "figure", "unit", first, second, "ratio", "quartiles");
}

void compare_report_ratios(const struct comparison *cmp, const struct perf_options *o, const bool *wanted)
{
    if (o->format == PERF_TEXT)
        head_print(cmp, o);
    for (size_t t = 0; t < cmp->test_count; t++) {
        const struct compare_test *test = &cmp->tests[t];

        for (size_t m = 0; wanted[t] && m < COMPARE_METRICS && test->metrics[m] != NULL; m++)
            metric_print(cmp, test, test->metrics[m], o);
    }
}

/* report.c: stores figures and prints them as an aligned table, as CSV or as JSON.
 *
 * A figure is a median with its spread: the quartiles, the minimum and the maximum. CSV and JSON have one line per
 * figure. CSV lines are written as soon as they are known; the table and the JSON array are written when all figures
 * are known. Only rank 0 reports.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

static struct {
    enum perf_format    format;
    struct perf_figure *all;
    size_t              count, room;
} report;

void perf_report_begin(enum perf_format format)
{
    report.format = format;
    if (format == PERF_CSV) {
        puts(MEASURE_CSV_HEADER);
        fflush(stdout);
    }
}

void perf_report_csv(FILE *to, const struct perf_figure *f)
{
    fprintf(to, "%s,%s,%d,%" PRIu64 ",%s,%.6g,%s", f->test, f->link, f->ranks, f->size, f->metric, f->value.median,
            f->unit);
    if (f->spread)
        fprintf(to, ",%.6g,%.6g,%.6g,%.6g\n", f->value.p25, f->value.p75, f->value.min, f->value.max);
    else
        fputs(",,,,\n", to);
}

void perf_report_add(const struct perf_figure *figure)
{
    if (report.count == report.room) {
        size_t              room = report.room == 0 ? 64 : 2 * report.room;
        struct perf_figure *all = realloc(report.all, room * sizeof(*all));

        if (all == NULL) {
            fprintf(stderr, "tern-perf: not enough memory for the figures\n");
            exit(1);
        }
        report.all = all;
        report.room = room;
    }
    report.all[report.count++] = *figure;
    if (report.format == PERF_CSV) {
        perf_report_csv(stdout, figure);
        fflush(stdout);
    }
}

const struct perf_figure *perf_report_all(size_t *count)
{
    *count = report.count;
    return report.all;
}

/* Print a member of a JSON object whose value is a number; JSON has no infinity and no NaN. */
static void json_number(FILE *to, const char *name, double value)
{
    fprintf(to, isfinite(value) ? ", \"%s\": %.6g" : ", \"%s\": null", name, value);
}

void perf_report_json(FILE *to, const struct perf_figure *f)
{
    fprintf(to, "{\"test\": \"%s\", \"link\": \"%s\", \"ranks\": %d, \"size\": %" PRIu64 ", \"metric\": \"%s\"",
            f->test, f->link, f->ranks, f->size, f->metric);
    json_number(to, "value", f->value.median);
    fprintf(to, ", \"unit\": \"%s\"", f->unit);
    if (f->spread) {
        json_number(to, "p25", f->value.p25);
        json_number(to, "p75", f->value.p75);
        json_number(to, "min", f->value.min);
        json_number(to, "max", f->value.max);
    }
    fputc('}', to);
}

void perf_report_json_all(FILE *to)
{
    fputc('[', to);
    for (size_t f = 0; f < report.count; f++) {
        fputs(f > 0 ? ",\n  " : "\n  ", to);
        perf_report_json(to, &report.all[f]);
    }
    fputs(report.count == 0 ? "]\n" : "\n]\n", to);
}

/* Format a number for people, with about four digits. */
static void human(char *text, size_t size, double value)
{
    double magnitude = fabs(value);
    int    decimals = magnitude < 10 ? 3 : magnitude < 100 ? 2 : magnitude < 1000 ? 1 : 0;

    snprintf(text, size, "%.*f", decimals, value);
}

/* Format the median, and half of the distance between the quartiles as a fraction of the median. */
static void cell(char *text, size_t size, const struct perf_figure *f)
{
    char   median[32];
    double middle = fabs(f->value.median), half = (f->value.p75 - f->value.p25) / 2;

    human(median, sizeof(median), f->value.median);
    if (!f->spread || middle < 1e-9)
        snprintf(text, size, "%s", median);
    else
        snprintf(text, size, "%s +-%2.0f%%", median, fmin(half / middle * 100, 999));
}

static bool same_column(const struct perf_figure *a, const struct perf_figure *b)
{
    return strcmp(a->test, b->test) == 0 && strcmp(a->metric, b->metric) == 0;
}

/* Return the index of the first figure in the same column. */
static size_t column_of(size_t f)
{
    size_t first = 0;

    while (!same_column(&report.all[first], &report.all[f]))
        first++;
    return first;
}

static int column_width(size_t column)
{
    char   text[128];
    size_t width = strlen(report.all[column].metric) + strlen(report.all[column].unit) + 3;

    for (size_t f = column; f < report.count; f++) {
        cell(text, sizeof(text), &report.all[f]);
        if (same_column(&report.all[f], &report.all[column]) && strlen(text) > width)
            width = strlen(text);
    }
    return (int)width;
}

/* Return whether the figures belong to several job sizes rather than to several message sizes. */
static bool by_ranks(void)
{
    bool differ = false;

    for (size_t f = 0; f < report.count; f++)
        differ |= report.all[f].ranks != report.all[0].ranks;
    return differ;
}

static bool same_row(const struct perf_figure *a, const struct perf_figure *b)
{
    return a->size == b->size && a->ranks == b->ranks;
}

const char *perf_size_counts(const char *name)
{
    const struct perf_test *test = perf_test_find(name);

    return test != NULL && test->counts != NULL ? test->counts : "bytes";
}

void perf_size_text(const char *name, uint64_t size, char text[24])
{
    const struct perf_test *test = perf_test_find(name);

    if (size == 0 && (test == NULL || !test->empty))
        snprintf(text, 24, "-");
    else
        snprintf(text, 24, "%" PRIu64, size);
}

/* Return the head of the first column. */
static const char *first_head(const struct perf_figure *first)
{
    return by_ranks() ? "ranks" : perf_size_counts(first->test);
}

static int first_width(const struct perf_figure *first)
{
    size_t width = strlen(first_head(first));

    return width > 10 ? (int)width : 10;
}

/* Print one row: the figures of a size, each below the head of its column. */
static void table_row(const struct perf_figure *row, const size_t *columns, size_t column_count)
{
    char text[128], size[24];

    perf_size_text(row->test, row->size, size);
    if (by_ranks())
        snprintf(size, sizeof(size), "%d", row->ranks);
    printf("%*s", first_width(&report.all[columns[0]]), size);
    for (size_t k = 0; k < column_count; k++) {
        snprintf(text, sizeof(text), "-");
        for (size_t f = columns[k]; f < report.count; f++) {
            if (same_row(&report.all[f], row) && same_column(&report.all[f], &report.all[columns[k]]))
                cell(text, sizeof(text), &report.all[f]);
        }
        printf("  %*s", column_width(columns[k]), text);
    }
    putchar('\n');
}

static bool in_columns(size_t figure, const size_t *columns, size_t column_count)
{
    for (size_t k = 0; k < column_count; k++) {
        if (same_column(&report.all[figure], &report.all[columns[k]]))
            return true;
    }
    return false;
}

/* Print a table of some columns: the head, then one row for each size that has a figure in these columns. */
static void table_print(const size_t *columns, size_t column_count)
{
    printf("%*s", first_width(&report.all[columns[0]]), first_head(&report.all[columns[0]]));
    for (size_t k = 0; k < column_count; k++) {
        const struct perf_figure *f = &report.all[columns[k]];
        char                      head[128];

        snprintf(head, sizeof(head), "%s [%s]", f->metric, f->unit);
        printf("  %*s", column_width(columns[k]), head);
    }
    putchar('\n');
    for (size_t f = 0; f < report.count; f++) {
        bool seen = false;

        for (size_t g = 0; g < f; g++)
            seen |= same_row(&report.all[g], &report.all[f]) && in_columns(g, columns, column_count);
        if (!seen && in_columns(f, columns, column_count))
            table_row(&report.all[f], columns, column_count);
    }
}

/* Print the tables. Columns that have figures for the same sizes share a table. Columns with other sizes (limits
 * without a size) have a table of their own, so that no table is mostly empty. A table has at most six columns. */
static void text_print(const char *title)
{
    size_t columns[6], n = 0;
    bool   sized = false;

    printf("%s\n", title);
    for (size_t f = 0; f < report.count; f++) {
        bool has_size = report.all[f].size != 0;

        if (column_of(f) != f)
            continue;
        if (n == 6 || (n > 0 && has_size != sized)) {
            table_print(columns, n);
            n = 0;
        }
        sized = has_size;
        columns[n++] = f;
    }
    if (n > 0)
        table_print(columns, n);
}

void perf_report_end(const char *title)
{
    if (report.format == PERF_JSON)
        perf_report_json_all(stdout);
    if (report.format == PERF_TEXT)
        text_print(title);
    fflush(stdout);
}

/* Make a figure of one value per slice. Sorts the values. */
void perf_figure_values(const struct perf_case *c, double *values, const char *metric, const char *unit)
{
    struct perf_figure f = { .test = c->p->test->name,
                             .link = c->p->link,
                             .ranks = c->p->ranks,
                             .size = c->size,
                             .unit = unit,
                             .spread = true };

    if (c->p->rank != 0)
        return;
    snprintf(f.metric, sizeof(f.metric), "%s", metric);
    f.value = measure_summarise(values, c->p->repeat);
    perf_report_add(&f);
}

void perf_figure_time(const struct perf_case *c, size_t kernel, double divide, const char *metric)
{
    double values[PERF_MAX_REPEAT];

    for (size_t r = 0; r < c->p->repeat; r++)
        values[r] = c->p->ns[kernel][r] / divide;
    perf_figure_values(c, values, metric, "ns");
}

void perf_figure_bandwidth(const struct perf_case *c, size_t kernel, double bytes, const char *metric)
{
    double values[PERF_MAX_REPEAT];

    for (size_t r = 0; r < c->p->repeat; r++)
        values[r] = bytes / c->p->ns[kernel][r] * 1e3; /* bytes per ns are GB/s */
    perf_figure_values(c, values, metric, "MB/s");
}

void perf_figure_rate(const struct perf_case *c, size_t kernel, double operations, const char *metric)
{
    double values[PERF_MAX_REPEAT];

    for (size_t r = 0; r < c->p->repeat; r++)
        values[r] = operations / c->p->ns[kernel][r] * 1e9;
    perf_figure_values(c, values, metric, "op/s");
}

void perf_figure_difference(const struct perf_case *c, size_t kernel, size_t less, const char *metric)
{
    double values[PERF_MAX_REPEAT];

    for (size_t r = 0; r < c->p->repeat; r++)
        values[r] = c->p->ns[kernel][r] - c->p->ns[less][r];
    perf_figure_values(c, values, metric, "ns");
}

void perf_figure_ratio(const struct perf_case *c, size_t top, size_t bottom, double factor, const char *metric)
{
    double values[PERF_MAX_REPEAT];

    for (size_t r = 0; r < c->p->repeat; r++)
        values[r] = factor * c->p->ns[top][r] / c->p->ns[bottom][r];
    perf_figure_values(c, values, metric, "ratio");
}

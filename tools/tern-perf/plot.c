/* plot.c: the figures over the message size as a picture, drawn by gnuplot. The file's name says which kind: .png or
 * .svg. There is one panel for each unit; sizes and values have logarithmic axes. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf.h"

#define MAX_UNITS 8

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && strcmp(text + n - m, end) == 0;
}

bool perf_plot_possible(const char *file)
{
    char path[512];

    if (!ends_in(file, ".png") && !ends_in(file, ".svg")) {
        fprintf(stderr, "tern-perf: --plot %s: the name must end in .png or .svg\n", file);
        return false;
    }
    if (!perf_find_program("gnuplot", path, sizeof(path))) {
        fprintf(stderr, "tern-perf: --plot needs gnuplot, which is not installed: install gnuplot-nox\n");
        return false;
    }
    return true;
}

/* A string that gnuplot takes literally. */
static void quoted(FILE *to, const char *text)
{
    fputc('\'', to);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputc('\'', to);
        fputc(*text, to);
    }
    fputc('\'', to);
}

/* What a plot is drawn over: the size or, where no figure has one, the number of ranks. */
static bool over_sizes(const struct perf_figure *all, size_t count)
{
    for (size_t f = 0; f < count; f++) {
        if (all[f].size != 0)
            return true;
    }
    return false;
}

static bool same_line(const struct perf_figure *a, const struct perf_figure *b)
{
    return strcmp(a->metric, b->metric) == 0 && strcmp(a->test, b->test) == 0 && strcmp(a->link, b->link) == 0;
}

/* Whether a figure is the first of its line in a panel. Figures without a size are left out where others have one. */
static bool starts_line(const struct perf_figure *all, size_t count, size_t f, const char *unit)
{
    if (strcmp(all[f].unit, unit) != 0 || (all[f].size == 0 && over_sizes(all, count)))
        return false;
    for (size_t g = 0; g < f; g++) {
        if (same_line(&all[g], &all[f]))
            return false;
    }
    return true;
}

static size_t units_of(const struct perf_figure *all, size_t count, const char **units)
{
    size_t n = 0, u;

    for (size_t f = 0; f < count; f++) {
        for (u = 0; u < n && strcmp(units[u], all[f].unit) != 0;)
            u++;
        if (u == n && n < MAX_UNITS && starts_line(all, count, f, all[f].unit))
            units[n++] = all[f].unit;
    }
    return n;
}

/* The data of each line as a named block. */
static void panel_data(FILE *to, const struct perf_figure *all, size_t count, const char *unit)
{
    bool sizes = over_sizes(all, count);

    for (size_t f = 0; f < count; f++) {
        if (!starts_line(all, count, f, unit))
            continue;
        fprintf(to, "$line%zu << END\n", f);
        for (size_t g = f; g < count; g++) {
            const struct measure_summary *v = &all[g].value;

            if (same_line(&all[g], &all[f]))
                fprintf(to, "%" PRIu64 " %g %g %g\n", sizes ? all[g].size : (uint64_t)all[g].ranks, v->median,
                        all[g].spread ? v->p25 : v->median, all[g].spread ? v->p75 : v->median);
        }
        fprintf(to, "END\n");
    }
}

/* One panel: the lines of one unit. What all lines have in common is not in their names. */
static void panel(FILE *to, const struct perf_figure *all, size_t count, const char *unit)
{
    const char *separator = "plot ";
    char        name[128];
    bool        tests = false, links = false;

    for (size_t f = 1; f < count; f++) {
        tests |= strcmp(all[f].test, all[0].test) != 0;
        links |= strcmp(all[f].link, all[0].link) != 0;
    }
    panel_data(to, all, count, unit);
    fprintf(to, "set ylabel '%s'\n%s\n", unit, strcmp(unit, "ratio") == 0 ? "unset logscale y" : "set logscale y");
    for (size_t f = 0; f < count; f++) {
        if (!starts_line(all, count, f, unit))
            continue;
        snprintf(name, sizeof(name), "%s%s%s%s%s", links ? all[f].link : "", links ? " " : "",
                 tests ? all[f].test : "", tests ? " " : "", all[f].metric);
        fprintf(to, "%s$line%zu using 1:2:3:4 with yerrorlines title ", separator, f);
        quoted(to, name);
        separator = ", ";
    }
    fputc('\n', to);
}

bool perf_plot(const char *file, const char *title)
{
    const struct perf_figure *all;
    const char               *units[MAX_UNITS];
    size_t                    count, n;
    FILE                     *to;
    int                       status;

    all = perf_report_all(&count);
    n = units_of(all, count, units);
    if (n == 0) {
        fprintf(stderr, "tern-perf: nothing to plot\n");
        return false;
    }
    signal(SIGPIPE, SIG_IGN);
    to = popen("gnuplot", "we");
    if (to == NULL) {
        fprintf(stderr, "tern-perf: gnuplot could not be started\n");
        return false;
    }
    fprintf(to, "set terminal %s size %d,600 noenhanced\nset output ", ends_in(file, ".svg") ? "svg" : "pngcairo",
            (int)(n > 2 ? 1600 : n == 2 ? 1300 : 800));
    quoted(to, file);
    fprintf(to, "\nset multiplot layout 1,%zu title ", n);
    quoted(to, title);
    fprintf(to, "\n%s\nset format x '%%.0f'\nset xtics rotate by -45\nset xlabel '%s'\nset grid\n"
                "set key top left font ',9'\nset bars small\n",
            over_sizes(all, count) ? "set logscale x 2" : "", over_sizes(all, count) ? "bytes" : "ranks");
    for (size_t u = 0; u < n; u++)
        panel(to, all, count, units[u]);
    fprintf(to, "unset multiplot\nunset output\n");
    status = pclose(to);
    if (status == 0)
        return true;
    fprintf(stderr, "tern-perf: gnuplot did not make %s (status %d)\n", file, status);
    return false;
}

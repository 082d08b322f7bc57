/* plot.c: which figures a picture shows, in which panels, and over which axes. gnuplot.c draws it.
 *
 * There is one panel for each unit. If the figures of several programs are compared, there is one panel for each test
 * and metric instead, with a line for each program and one for the limit. A line needs two points at least. If a panel
 * has only one value per line, it shows bars. The axis is logarithmic if the values differ by more than a factor of
 * ten, and otherwise linear from zero.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plot.h"

#define SMALL_RANGE 10.0     /* ratio of the largest to the smallest value up to which an axis is linear */
#define SMALL_BAR_RANGE 40.0 /* the same for bars, whose length is proportional to the value on a linear axis */

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && strcmp(text + n - m, end) == 0;
}

bool plot_is_svg(const char *file)
{
    return ends_in(file, ".svg");
}

/* Return whether the file can be written. Called before anything is measured. */
static bool is_writable(const char *file)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0) {
        fprintf(stderr, "tern-perf: --plot %s: %s\n", file, strerror(errno));
        return false;
    }
    close(fd);
    return true;
}

bool perf_plot_possible(const char *file)
{
    char path[512];

    if (!ends_in(file, ".png") && !plot_is_svg(file)) {
        fprintf(stderr, "tern-perf: --plot %s: the name must end in .png or .svg\n", file);
        return false;
    }
    if (!perf_find_program("gnuplot", path, sizeof(path))) {
        fprintf(stderr, "tern-perf: --plot needs gnuplot, which is not installed: install gnuplot-nox\n");
        return false;
    }
    return is_writable(file);
}

static bool same_line(const struct plot *plot, const struct perf_figure *a, const struct perf_figure *b)
{
    return strcmp(a->metric, b->metric) == 0 && strcmp(a->test, b->test) == 0 &&
           (!plot->links || strcmp(a->link, b->link) == 0);
}

/* Return whether a figure has no place on the x axis: it has no size, although others of the picture or, in a
 * comparison, of the test have. */
static bool lacks_size(const struct plot *plot, const struct perf_figure *f)
{
    if (f->size != 0 || !plot->sizes)
        return false;
    for (size_t g = 0; g < plot->count; g++) {
        if (plot->all[g].size != 0 && (!plot->links || strcmp(plot->all[g].test, f->test) == 0))
            return true;
    }
    return false;
}

/* Return whether a figure belongs to a panel. Comparisons exclude figures that are derived from the medians. */
static bool in_panel(const struct plot *plot, const struct perf_figure *f, const struct perf_figure *panel)
{
    if (lacks_size(plot, f) || (plot->links && !f->spread) || strcmp(f->unit, panel->unit) != 0)
        return false;
    return !plot->links || (strcmp(f->test, panel->test) == 0 && strcmp(f->metric, panel->metric) == 0);
}

double plot_x(const struct plot *plot, const struct perf_figure *f)
{
    return plot->sizes ? (double)f->size : (double)f->ranks;
}

/* Return whether figure f is the first one of a panel. */
static bool starts_panel(const struct plot *plot, size_t f)
{
    for (size_t g = 0; g < f; g++) {
        if (in_panel(plot, &plot->all[f], &plot->all[g]) && in_panel(plot, &plot->all[g], &plot->all[g]))
            return false;
    }
    return in_panel(plot, &plot->all[f], &plot->all[f]);
}

/* Return the number of points of the line that begins with figure f; 0 if a line that contains f begins before it. */
static size_t points_from(const struct plot *plot, size_t f, const struct perf_figure *panel)
{
    size_t points = 0;

    for (size_t g = 0; g < plot->count; g++) {
        if (!same_line(plot, &plot->all[g], &plot->all[f]) || !in_panel(plot, &plot->all[g], panel))
            continue;
        if (g < f)
            return 0;
        points++;
    }
    return points;
}

/* Extend the ranges of a panel by the points of a line. */
static void widen(const struct plot *plot, struct plot_panel *panel, const struct perf_figure *line)
{
    for (size_t g = 0; g < plot->count; g++) {
        const struct perf_figure *f = &plot->all[g];
        double                    x = plot_x(plot, f);

        if (!same_line(plot, f, line) || !in_panel(plot, f, panel->first))
            continue;
        panel->x_min = fmin(panel->x_min, x);
        panel->x_max = fmax(panel->x_max, x);
        panel->low = fmin(panel->low, f->value.median);
        panel->high = fmax(panel->high, f->spread ? f->value.p75 : f->value.median);
    }
}

/* Choose the lines of a panel. Lines of one point are left out, unless all lines have one point. */
static void panel_make(const struct plot *plot, struct plot_panel *panel, const struct perf_figure *first)
{
    size_t most = 0, points;

    *panel = (struct plot_panel){ .first = first, .x_min = HUGE_VAL, .low = HUGE_VAL, .high = -HUGE_VAL };
    for (size_t f = 0; f < plot->count; f++) {
        if (in_panel(plot, &plot->all[f], first) && (points = points_from(plot, f, first)) > most)
            most = points;
    }
    panel->bars = most == 1;
    for (size_t f = 0; f < plot->count && panel->lines < PLOT_LINES; f++) {
        if (!in_panel(plot, &plot->all[f], first) || points_from(plot, f, first) < (panel->bars ? 1 : 2))
            continue;
        panel->line[panel->lines++] = &plot->all[f];
        widen(plot, panel, &plot->all[f]);
    }
    panel->log_y = panel->low > 0 && strcmp(first->unit, "percent") != 0 &&
                   panel->high / panel->low > (panel->bars ? SMALL_BAR_RANGE : SMALL_RANGE);
    panel->log_x = plot->sizes && panel->x_min > 0 && panel->x_max / panel->x_min > SMALL_RANGE;
}

bool plot_has_point(const struct plot *plot, const struct perf_figure *f, const struct plot_panel *panel,
                    const struct perf_figure *line)
{
    return same_line(plot, f, line) && in_panel(plot, f, panel->first);
}

static void survey(struct plot *plot)
{
    for (size_t f = 0; f < plot->count; f++) {
        plot->sizes |= plot->all[f].size != 0;
        plot->tests |= strcmp(plot->all[f].test, plot->all[0].test) != 0;
        plot->links |= plot->all[f].label != NULL && strcmp(plot->all[f].link, plot->all[0].link) != 0;
    }
    for (size_t f = 0; f < plot->count && plot->panels < PLOT_PANELS; f++) {
        if (!starts_panel(plot, f))
            continue;
        panel_make(plot, &plot->panel[plot->panels], &plot->all[f]);
        plot->panels += plot->panel[plot->panels].lines > 0;
    }
}

bool perf_plot_figures(const char *file, const char *title, const struct perf_figure *figures, size_t count)
{
    struct plot *plot = calloc(1, sizeof(*plot));
    bool         ok = false;

    if (plot == NULL) {
        fprintf(stderr, "tern-perf: not enough memory for a plot\n");
        return false;
    }
    plot->all = figures;
    plot->count = count;
    survey(plot);
    if (plot->panels == 0)
        fprintf(stderr, "tern-perf: nothing to plot\n");
    else
        ok = plot_draw(plot, file, title);
    free(plot);
    return ok;
}

bool perf_plot(const char *file, const char *title)
{
    size_t                    count;
    const struct perf_figure *all = perf_report_all(&count);

    return perf_plot_figures(file, title, all, count);
}

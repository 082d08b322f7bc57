/* plot.c: plots the figures over the message size (or, if they have no size, over the number of ranks) with gnuplot.
 * The suffix of the file's name selects the format: .png or .svg.
 *
 * There is one panel for each unit. If the figures of several programs are compared, there is one panel for each
 * test and metric instead, with a line for each program. Bars show the quartiles.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf.h"

#define MAX_PANELS 12
#define NAME_BYTES 160

struct plot {
    const struct perf_figure *all;
    size_t                    count;
    bool                      sizes;        /* the x axis is the size: figures without a size are excluded */
    bool                      tests, links; /* there are several tests, several links */
    char                      panel[MAX_PANELS][NAME_BYTES];
    size_t                    panels;
};

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && strcmp(text + n - m, end) == 0;
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

    if (!ends_in(file, ".png") && !ends_in(file, ".svg")) {
        fprintf(stderr, "tern-perf: --plot %s: the name must end in .png or .svg\n", file);
        return false;
    }
    if (!perf_find_program("gnuplot", path, sizeof(path))) {
        fprintf(stderr, "tern-perf: --plot needs gnuplot, which is not installed: install gnuplot-nox\n");
        return false;
    }
    return is_writable(file);
}

/* Print a string that gnuplot takes literally. */
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

/* Return whether a figure is drawn at all. Comparisons exclude figures that are derived from the medians. */
static bool drawn(const struct plot *plot, const struct perf_figure *f)
{
    return (f->size != 0 || !plot->sizes) && (f->spread || !plot->links);
}

static void panel_name(const struct plot *plot, const struct perf_figure *f, char name[NAME_BYTES])
{
    if (plot->links)
        snprintf(name, NAME_BYTES, "%s %s, %s", f->test, f->metric, f->unit);
    else
        snprintf(name, NAME_BYTES, "%s", f->unit);
}

static bool in_panel(const struct plot *plot, const struct perf_figure *f, const char *panel)
{
    char name[NAME_BYTES];

    panel_name(plot, f, name);
    return drawn(plot, f) && strcmp(name, panel) == 0;
}

static bool same_line(const struct perf_figure *a, const struct perf_figure *b)
{
    return strcmp(a->metric, b->metric) == 0 && strcmp(a->test, b->test) == 0 && strcmp(a->link, b->link) == 0;
}

/* Return whether figure f is the first of its line in a panel. */
static bool starts_line(const struct plot *plot, size_t f, const char *panel)
{
    if (!in_panel(plot, &plot->all[f], panel))
        return false;
    for (size_t g = 0; g < f; g++) {
        if (same_line(&plot->all[g], &plot->all[f]) && drawn(plot, &plot->all[g]))
            return false;
    }
    return true;
}

/* Find out which panels and lines there are to draw. */
static void survey(struct plot *plot)
{
    char   name[NAME_BYTES];
    size_t p;

    for (size_t f = 0; f < plot->count; f++) {
        plot->sizes |= plot->all[f].size != 0;
        plot->tests |= strcmp(plot->all[f].test, plot->all[0].test) != 0;
        plot->links |= strcmp(plot->all[f].link, plot->all[0].link) != 0;
    }
    for (size_t f = 0; f < plot->count; f++) {
        panel_name(plot, &plot->all[f], name);
        for (p = 0; p < plot->panels && strcmp(plot->panel[p], name) != 0;)
            p++;
        if (p == plot->panels && p < MAX_PANELS && drawn(plot, &plot->all[f]))
            memcpy(plot->panel[plot->panels++], name, NAME_BYTES);
    }
}

static double x_of(const struct plot *plot, const struct perf_figure *f)
{
    return plot->sizes ? (double)f->size : (double)f->ranks;
}

/* Print the data of each line as a named block. The axis has a margin on both sides, also if there is only one
 * value. */
static void panel_data(FILE *to, const struct plot *plot, const char *panel)
{
    double low = 0, high = 0;

    for (size_t f = 0; f < plot->count; f++) {
        if (in_panel(plot, &plot->all[f], panel)) {
            double x = x_of(plot, &plot->all[f]);

            low = low <= 0 || x < low ? x : low;
            high = x > high ? x : high;
        }
        if (!starts_line(plot, f, panel))
            continue;
        fprintf(to, "$line%zu << END\n", f);
        for (size_t g = f; g < plot->count; g++) {
            const struct measure_summary *v = &plot->all[g].value;
            bool                          spread = plot->all[g].spread;

            if (same_line(&plot->all[g], &plot->all[f]) && drawn(plot, &plot->all[g]))
                fprintf(to, "%.0f %g %g %g\n", x_of(plot, &plot->all[g]), v->median, spread ? v->p25 : v->median,
                        spread ? v->p75 : v->median);
        }
        fprintf(to, "END\n");
    }
    fprintf(to, "set xrange [%g:%g]\n", plot->sizes ? low / 1.4 : low - 1, plot->sizes ? high * 1.4 : high + 1);
}

static void panel_draw(FILE *to, const struct plot *plot, const char *panel)
{
    const char *separator = "plot ";
    char        name[NAME_BYTES];

    panel_data(to, plot, panel);
    fprintf(to, "set ylabel ");
    quoted(to, panel);
    if (strcmp(panel, "percent") == 0)
        fprintf(to, "\nunset logscale y\nset yrange [*:*]\n");
    else
        fprintf(to, "\n%s\n", strcmp(panel, "ratio") == 0 ? "unset logscale y\nset yrange [0:*]" : "set logscale y");
    for (size_t f = 0; f < plot->count; f++) {
        const struct perf_figure *figure = &plot->all[f];

        if (!starts_line(plot, f, panel))
            continue;
        if (plot->links)
            snprintf(name, sizeof(name), "%s", figure->link);
        else
            snprintf(name, sizeof(name), "%s%s%s", plot->tests ? figure->test : "", plot->tests ? " " : "",
                     figure->metric);
        fprintf(to, "%s$line%zu using 1:2:3:4 with yerrorlines title ", separator, f);
        quoted(to, name);
        separator = ", ";
    }
    fputc('\n', to);
}

static void write_script(FILE *to, const struct plot *plot, const char *file, const char *title)
{
    size_t columns = plot->panels <= 3 ? plot->panels : (plot->panels + 1) / 2, rows = plot->panels <= 3 ? 1 : 2;

    fprintf(to, "set terminal %s size %zu,%zu noenhanced\nset output ", ends_in(file, ".svg") ? "svg" : "pngcairo",
            columns * 600 + 100, rows * 480 + 60);
    quoted(to, file);
    fprintf(to, "\nset multiplot layout %zu,%zu title ", rows, columns);
    quoted(to, title);
    fprintf(to, "\nset grid\nset key tmargin center horizontal font ',9'\nset bars small\n");
    fprintf(to, plot->sizes ? "set logscale x 2\nset format x '%%.0b%%B'\nset xlabel 'bytes'\n"
                            : "set format x '%%.0f'\nset xlabel 'ranks'\n");
    for (size_t p = 0; p < plot->panels; p++)
        panel_draw(to, plot, plot->panel[p]);
    fprintf(to, "unset multiplot\nunset output\n");
}

bool perf_plot(const char *file, const char *title)
{
    struct plot plot = { 0 };
    FILE       *to;
    int         status;

    plot.all = perf_report_all(&plot.count);
    survey(&plot);
    if (plot.panels == 0) {
        fprintf(stderr, "tern-perf: nothing to plot\n");
        return false;
    }
    signal(SIGPIPE, SIG_IGN);
    to = popen("gnuplot >/dev/null", "we");
    if (to == NULL) {
        fprintf(stderr, "tern-perf: gnuplot could not be started\n");
        return false;
    }
    write_script(to, &plot, file, title);
    status = pclose(to);
    if (status == 0)
        return true;
    fprintf(stderr, "tern-perf: gnuplot did not make %s (status %d)\n", file,
            WIFEXITED(status) ? WEXITSTATUS(status) : status);
    return false;
}

/* gnuplot.c: draws a picture (plot.h) with gnuplot. The script and the data go to the standard input of gnuplot.
 *
 * Values are converted to seconds, bytes per second and operations per second. On a linear axis, one prefix (n, u, m,
 * k, M, G) fits the largest value and is part of the axis label; on a logarithmic axis, each label has its own prefix.
 * Sizes are labelled in B, KiB and MiB.
 */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "plot.h"

#define PANEL_WIDTH 560
#define PANEL_HEIGHT 420
#define TITLE_LETTER 9 /* pixels of a letter of the title, on average */
#define TITLE_LINE 20  /* pixels of a line of the title */
#define NAME_BYTES 160
#define KEY_LETTER 7       /* pixels of a letter of the key */
#define KEY_SAMPLE 60      /* pixels of the sample beside a name of the key */
#define KEY_LINE 16        /* pixels of a line of the key */
#define FEW_DECADES 1000.0 /* a logarithmic axis of a smaller range has labels between the powers of ten */
#define TICKS 8            /* the x axis has at most this many labels */

/* A unit of figures: its factor to the base unit, the base unit, and what it measures. */
static const struct unit {
    const char *name;
    double      factor;
    const char *base, *what;
} units[] = {
    { "ns", 1e-9, "s", "time" },       { "ms", 1e-3, "s", "time" },        { "MB/s", 1e6, "B/s", "bandwidth" },
    { "op/s", 1, "op/s", "rate" },     { "KiB", 1, NULL, "memory [KiB]" }, { "ms/s", 1, NULL, "CPU time [ms/s]" },
    { "percent", 1, NULL, "percent" }, { "ratio", 1, NULL, "ratio" },      { "bytes", 1, NULL, "bytes" },
};

/* Colours of the programs of a comparison. */
static const struct {
    const char *link, *colour;
} colours[] = {
    { "tern", "#1f4fa3" },   { "limit", "#555555" },    { "openmpi", "#e07b00" }, { "mpich", "#2e8b3d" },
    { "oshmem", "#8b3db8" }, { "ucx", "#c8102e" },      { "uct", "#7a4a2a" },     { "tcp", "#7a4a2a" },
    { "iperf3", "#008b8b" }, { "pingpong", "#b8860b" },
};
/* Colours of other lines, in turn. */
static const char *const palette[] = { "#1f4fa3", "#e07b00", "#2e8b3d", "#8b3db8", "#c8102e",
                                       "#7a4a2a", "#008b8b", "#b8860b", "#d03fa0", "#4b7f00" };
#define LIMIT_COLOUR "#555555"
#define COLOURS (sizeof(colours) / sizeof(colours[0]))

static struct unit unit_of(const char *name)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(units[i].name, name) == 0)
            return units[i];
    }
    return (struct unit){ name, 1, NULL, name };
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

/* Break a text into lines of at most most letters, at blanks. Returns the number of lines. */
static size_t wrap(char *text, size_t most)
{
    size_t lines = 1, column = 0;
    char  *blank = NULL;

    for (char *at = text; *at != '\0'; at++, column++) {
        if (*at == '\n') {
            lines++;
            column = 0;
            blank = NULL;
        } else if (*at == ' ') {
            blank = at;
        }
        if (column >= most && blank != NULL) {
            *blank = '\n';
            column = (size_t)(at - blank);
            blank = NULL;
            lines++;
        }
    }
    return lines;
}

/* Print a text of several lines as a string of gnuplot, which takes \n only between double quotes. */
static void quoted_lines(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            fputs("\\n", to);
            continue;
        }
        if (*text == '"' || *text == '\\')
            fputc('\\', to);
        fputc(*text, to);
    }
    fputc('"', to);
}

static void line_name(const struct plot *plot, const struct perf_figure *f, char name[NAME_BYTES])
{
    if (plot->links)
        snprintf(name, NAME_BYTES, "%s", f->label != NULL ? f->label : f->link);
    else
        snprintf(name, NAME_BYTES, "%s%s%s", plot->tests ? f->test : "", plot->tests ? " " : "", f->metric);
}

/* Return whether a line is the limit of the machine, which is dashed. */
static bool is_limit(const struct plot *plot, const struct perf_figure *f)
{
    const char *name = plot->links ? f->link : f->metric;

    return strcmp(name, "limit") == 0 || strcmp(name, "cacheline_half_rtt") == 0 || strcmp(name, "tcp_half_rtt") == 0;
}

static const char *line_colour(const struct plot *plot, const struct perf_figure *f, size_t i)
{
    if (is_limit(plot, f))
        return LIMIT_COLOUR;
    for (size_t c = 0; plot->links && c < COLOURS; c++) {
        if (strcmp(colours[c].link, f->link) == 0)
            return colours[c].colour;
    }
    return palette[i % (sizeof(palette) / sizeof(palette[0]))];
}

/* Choose the prefix of a linear axis, such that the largest value is at least 1. Returns its factor. */
static double prefix_of(double largest, char *prefix)
{
    static const char letters[] = "pnum kMGT";
    int               power = largest > 0 ? (int)floor(log10(largest) / 3) : 0;

    power = power < -4 ? -4 : power > 4 ? 4 : power;
    *prefix = letters[power + 4];
    return pow(1000, power);
}

/* Print the labels of a logarithmic axis: at powers of ten, and if there are few of these, also at 2 and 5 times
 * them. */
static void log_labels(FILE *to, double low, double high)
{
    static const double steps[] = { 1, 2, 5 };
    const char         *separator = "";

    if (high / low > FEW_DECADES) {
        fputs("set ytics autofreq\n", to);
        return;
    }
    fputs("set ytics (", to);
    for (int power = (int)floor(log10(low)); power <= (int)floor(log10(high)); power++) {
        for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++, separator = ", ")
            fprintf(to, "%s%g", separator, steps[i] * pow(10, power));
    }
    fputs(")\n", to);
}

/* Print the axis of the values, and return the factor that converts figures to this axis. */
static double y_axis(FILE *to, const struct plot_panel *panel)
{
    struct unit unit = unit_of(panel->first->unit);
    char        prefix, label[96];
    double      scale;

    if (unit.base == NULL || !panel->log_y) {
        scale = unit.base != NULL ? prefix_of(fmax(fabs(panel->high), fabs(panel->low)) * unit.factor, &prefix) : 1;
        if (unit.base == NULL)
            snprintf(label, sizeof(label), "%s", unit.what);
        else if (prefix == ' ')
            snprintf(label, sizeof(label), "%s [%s]", unit.what, unit.base);
        else
            snprintf(label, sizeof(label), "%s [%c%s%s]", unit.what, prefix, unit.base[0] == 'o' ? " " : "", unit.base);
        fputs("set format y '%g'\n", to);
    } else {
        scale = 1;
        snprintf(label, sizeof(label), "%s", unit.what);
        fprintf(to, "set format y '%%.0s %%c%s'\n", strcmp(unit.base, "op/s") == 0 ? "/s" : unit.base);
    }
    fputs("set ylabel ", to);
    quoted(to, label);
    fprintf(to, "\n%s logscale y\n", panel->log_y ? "set" : "unset");
    if (panel->log_y) {
        log_labels(to, panel->low * unit.factor / scale, panel->high * unit.factor / scale);
        fprintf(to, "set yrange [%g:%g]\n", panel->low * unit.factor / scale / 1.6,
                panel->high * unit.factor / scale * 1.8);
    } else {
        fprintf(to, "set ytics autofreq\nset yrange [%s:%g]\n", panel->low >= 0 ? "0" : "*",
                panel->high > 0 ? panel->high * unit.factor / scale * 1.12 : 1.0);
    }
    return unit.factor / scale;
}

static void size_text(double size, char text[32])
{
    static const char *const names[] = { "B", "KiB", "MiB", "GiB" };
    size_t                   i = 0;

    for (; i < 3 && size >= 1024; i++)
        size /= 1024;
    snprintf(text, 32, "%.4g %s", size, names[i]);
}

/* Print a number with a letter for thousands and millions, for axes that count something else than bytes. */
static void count_text(double count, char text[32])
{
    if (count >= 1e6)
        snprintf(text, 32, "%.4g M", count / 1e6);
    else if (count >= 1e4)
        snprintf(text, 32, "%.4g k", count / 1e3);
    else
        snprintf(text, 32, "%.5g", count);
}

/* Return the next value on the x axis that is greater than after; HUGE_VAL: none. */
static double next_x(const struct plot *plot, const struct plot_panel *panel, double after)
{
    double next = HUGE_VAL;

    for (size_t l = 0; l < panel->lines; l++) {
        for (size_t f = 0; f < plot->count; f++) {
            double x = plot_x(plot, &plot->all[f]);

            if (plot_has_point(plot, &plot->all[f], panel, panel->line[l]) && x > after && x < next)
                next = x;
        }
    }
    return next;
}

/* Print the axis of the sizes or ranks, with labels at measured values. */
static void x_axis(FILE *to, const struct plot *plot, const struct plot_panel *panel)
{
    const struct perf_test *test = perf_test_find(panel->first->test);
    const char             *counts = test != NULL ? test->counts : NULL;
    size_t                  n = 0, step;
    double                  x = -1;
    const char             *separator = "set xtics (";
    char                    text[32];

    fputs("set xlabel ", to);
    quoted(to, !plot->sizes ? "ranks" : counts != NULL ? counts : "size");
    fprintf(to, "\n%s\n", panel->log_x ? "set logscale x 2" : "unset logscale x");
    while ((x = next_x(plot, panel, x)) < HUGE_VAL)
        n++;
    step = n / TICKS + 1;
    x = -1;
    for (size_t i = 0; i < n; i++) {
        x = next_x(plot, panel, x);
        if (i % step != 0)
            continue;
        if (plot->sizes && counts == NULL)
            size_text(x, text);
        else
            count_text(x, text);
        fprintf(to, "%s'%s' %.0f", separator, text, x);
        separator = ", ";
    }
    fputs(") norotate\n", to);
    if (panel->log_x)
        fprintf(to, "set xrange [%g:%g]\n", panel->x_min / 1.4, panel->x_max * 1.4);
    else
        fprintf(to, "set xrange [%g:%g]\n", panel->x_min - (panel->x_max - panel->x_min) * 0.05,
                panel->x_max + (panel->x_max - panel->x_min) * 0.05);
}

/* Print the data of each line as a named block: x, median and quartiles. */
static void lines_data(FILE *to, const struct plot *plot, const struct plot_panel *panel, double factor)
{
    for (size_t l = 0; l < panel->lines; l++) {
        fprintf(to, "$line%zu << END\n", l);
        for (size_t f = 0; f < plot->count; f++) {
            const struct perf_figure     *figure = &plot->all[f];
            const struct measure_summary *v = &figure->value;

            if (plot_has_point(plot, figure, panel, panel->line[l]))
                fprintf(to, "%.0f %g %g %g\n", panel->bars ? (double)l : plot_x(plot, figure), v->median * factor,
                        (figure->spread ? v->p25 : v->median) * factor, (figure->spread ? v->p75 : v->median) * factor);
        }
        fprintf(to, "END\n");
    }
}

static void lines_draw(FILE *to, const struct plot *plot, const struct plot_panel *panel)
{
    char name[NAME_BYTES];

    for (size_t l = 0; l < panel->lines; l++) {
        const struct perf_figure *f = panel->line[l];

        line_name(plot, f, name);
        fprintf(to, "%s$line%zu using 1:2:3:4 with yerrorlines lc rgb '%s' lw %s pt %zu ps 0.7%s title ",
                l == 0 ? "plot " : ", ", l, line_colour(plot, f, l), strcmp(f->link, "tern") == 0 ? "2.4" : "1.4",
                4 + l % 12, is_limit(plot, f) ? " dt 2" : "");
        quoted(to, name);
    }
    fputc('\n', to);
}

/* Draw a bar with its quartiles and its value for each line, which has one value. On a logarithmic axis, each value has
 * a prefix and a unit of its own, like the labels of the axis. */
static void bars_draw(FILE *to, const struct plot *plot, const struct plot_panel *panel)
{
    struct unit unit = unit_of(panel->first->unit);
    char        name[NAME_BYTES], value[64];

    if (panel->log_y && unit.base != NULL)
        snprintf(value, sizeof(value), "gprintf('%%.1s %%c%s', $2)", strcmp(unit.base, "op/s") == 0 ? "/s" : unit.base);
    else
        snprintf(value, sizeof(value), "sprintf('%%.4g', $2)");
    fputs("unset logscale x\nset xlabel ''\nset xtics (", to);
    for (size_t l = 0; l < panel->lines; l++) {
        line_name(plot, panel->line[l], name);
        fputs(l > 0 ? ", " : "", to);
        quoted(to, name);
        fprintf(to, " %zu", l);
    }
    fprintf(to, ") %s\nset xrange [%g:%g]\nset boxwidth 0.6\nset style fill solid 0.75\n",
            panel->lines > 4 ? "rotate by 25 right" : "norotate", panel->lines > 1 ? -0.6 : -1.5,
            (double)panel->lines - (panel->lines > 1 ? 0.4 : -0.5));
    for (size_t l = 0; l < panel->lines; l++)
        fprintf(to,
                "%s$line%zu using 1:2 with boxes lc rgb '%s' notitle, $line%zu using 1:3:(0):($4-$3) with vectors "
                "nohead lc "
                "rgb 'black' notitle, $line%zu using 1:4:(%s) with labels font ',8' offset 0,0.7 notitle",
                l == 0 ? "plot " : ", ", l, line_colour(plot, panel->line[l], l), l, l, value);
    fputc('\n', to);
}

static void panel_draw(FILE *to, const struct plot *plot, const struct plot_panel *panel)
{
    char   title[NAME_BYTES];
    double factor;

    title[0] = '\0';
    if (plot->links)
        snprintf(title, sizeof(title), "%s: %s", panel->first->test, panel->first->metric);
    fputs("set title ", to);
    quoted(to, title);
    fputc('\n', to);
    factor = y_axis(to, panel);
    lines_data(to, plot, panel, factor);
    if (panel->bars) {
        bars_draw(to, plot, panel);
    } else {
        x_axis(to, plot, panel);
        lines_draw(to, plot, panel);
    }
}

/* Return how many names fit side by side below a panel. */
static size_t key_columns(const struct plot *plot, const struct plot_panel *panel)
{
    char   name[NAME_BYTES];
    size_t longest = 1, columns;

    for (size_t l = 0; l < panel->lines; l++) {
        line_name(plot, panel->line[l], name);
        longest = strlen(name) > longest ? strlen(name) : longest;
    }
    columns = PANEL_WIDTH / (longest * KEY_LETTER + KEY_SAMPLE);
    return columns < 1 ? 1 : columns;
}

/* Return the height of the largest key below a panel. */
static double key_height(const struct plot *plot)
{
    size_t most = 1;

    for (size_t p = 0; p < plot->panels; p++) {
        size_t columns = key_columns(plot, &plot->panel[p]), rows = (plot->panel[p].lines + columns - 1) / columns;

        most = !plot->panel[p].bars && rows > most ? rows : most;
    }
    return (double)(most * KEY_LINE);
}

/* Print the size of the picture and the margins: the title above, and axis labels and keys below each panel. */
static void write_layout(FILE *to, const struct plot *plot, const char *file, const char *title)
{
    size_t columns = plot->panels <= 3 ? plot->panels : plot->panels == 4 ? 2 : 3;
    size_t rows = (plot->panels + columns - 1) / columns;
    double width = (double)(columns * PANEL_WIDTH) + 70, below = 78 + key_height(plot), above = plot->links ? 54 : 16;
    double head, height;
    char   text[600];

    snprintf(text, sizeof(text), "%s", title);
    head = (double)(wrap(text, (size_t)(width / TITLE_LETTER)) * TITLE_LINE);
    height = (double)rows * (PANEL_HEIGHT - 100 + below + above) + head;
    fprintf(to, "set terminal %s size %.0f,%.0f noenhanced font 'sans,11' background rgb 'white'\nset output ",
            plot_is_svg(file) ? "svg" : "pngcairo", width, height);
    quoted(to, file);
    fprintf(to, "\nset multiplot layout %zu,%zu margins %g,%g,%g,%g spacing %g,%g title ", rows, columns, 125 / width,
            1 - 20 / width, below / height, 1 - (head + above) / height, 125 / width, (below + above) / height);
    quoted_lines(to, text);
    fputs(" font 'sans,12'\n", to);
}

static void write_script(FILE *to, const struct plot *plot, const char *file, const char *title)
{
    write_layout(to, plot, file, title);
    fprintf(to, "set grid lt 1 lw 0.5 lc rgb '#dddddd'\nset bars small\nset tics nomirror font ',9'\nset border 3\n");
    for (size_t p = 0; p < plot->panels; p++) {
        fprintf(to, "set key at graph 0.5,-0.17 center top horizontal font ',9' maxcols %zu\n",
                key_columns(plot, &plot->panel[p]));
        panel_draw(to, plot, &plot->panel[p]);
    }
    fprintf(to, "unset multiplot\nunset output\n");
}

bool plot_draw(const struct plot *plot, const char *file, const char *title)
{
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    FILE *to = popen("gnuplot >/dev/null", "we");
    int   status;

    if (to == NULL) {
        fprintf(stderr, "tern-perf: gnuplot could not be started\n");
        return false;
    }
    write_script(to, plot, file, title);
    status = pclose(to);
    signal(SIGPIPE, before);
    if (status == 0)
        return true;
    fprintf(stderr, "tern-perf: gnuplot did not make %s (status %d)\n", file,
            WIFEXITED(status) ? WEXITSTATUS(status) : status);
    return false;
}

/* plot.h: a picture as plot.c plans it and gnuplot.c draws it. */
#ifndef TERN_PERF_PLOT_H
#define TERN_PERF_PLOT_H

#include "perf.h"

#define PLOT_PANELS 64 /* a comparison of all tests has half as many */
#define PLOT_LINES 24

struct plot_panel {
    const struct perf_figure *first; /* its unit and, in a comparison, its test and metric are those of the panel */
    const struct perf_figure *line[PLOT_LINES]; /* the first figure of each line, or of each bar */
    size_t                    lines;
    double                    x_min, x_max, low, high; /* of the points that are drawn; high includes the quartiles */
    bool                      bars, log_x, log_y;
};

struct plot {
    const struct perf_figure *all;
    size_t                    count;
    bool                      sizes; /* the x axis is the size: figures without a size are excluded */
    bool                      tests; /* there are several tests */
    bool                      links; /* several programs are compared: their links have labels */
    struct plot_panel         panel[PLOT_PANELS];
    size_t                    panels;
};

bool   plot_is_svg(const char *file);
double plot_x(const struct plot *plot, const struct perf_figure *f);
/* Return whether a figure is a point of the line that begins with the figure line. */
bool   plot_has_point(const struct plot *plot, const struct perf_figure *f, const struct plot_panel *panel,
                      const struct perf_figure *line);

/* gnuplot.c: draw the picture into the file. Returns false, and prints the reason, if that fails. */
bool plot_draw(const struct plot *plot, const char *file, const char *title);

#endif

/* report.h: results in human-readable and machine-readable form. */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include <stdio.h>

#include "run.h"

/* One number of a result. Numbers that describe the machine (time, memory) differ from run to run; all others depend
 * only on the configuration. */
struct sim_figure {
    const char *name;
    double      value;
    bool        machine;
};

enum { SIM_MAX_FIGURES = 96 };

/* Store all numbers of a result in a fixed order, and return how many there are. figure must have room for
 * SIM_MAX_FIGURES. */
size_t sim_report_figures(const struct sim *sim, const struct sim_result *result, struct sim_figure *figure);

/* Write a summary as text. */
void sim_report_text(FILE *to, const struct sim *sim, const struct sim_result *result);

/* Write a line of names and a line of values: all parameters, then all figures. */
void sim_report_csv(FILE *to, const struct sim *sim, const struct sim_result *result);

/* Write one JSON object with the members config, result, machine, iterations, latency (histograms) and deadlock. */
void sim_report_json(FILE *to, const struct sim *sim, const struct sim_result *result);

/* Write one line per node, or one line per port of each router: the utilization of its output link and the occupancy of
 * its input buffers. */
void sim_report_nodes(FILE *to, const struct sim *sim, const struct sim_result *result);
void sim_report_links(FILE *to, const struct sim *sim, const struct sim_result *result);

#endif

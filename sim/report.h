/* report.h: results for people and for programs. */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include <stdio.h>

#include "run.h"

/* One number of a result. Those of the machine (time, memory) differ from run to run; all others depend on the
 * configuration alone. */
struct sim_figure {
    const char *name;
    double      value;
    bool        machine;
};

enum { SIM_MAX_FIGURES = 96 };

/* All numbers of a result, in a fixed order. Returns how many. */
size_t sim_report_figures(const struct sim *sim, const struct sim_result *result, struct sim_figure *figure);

/* A page of text. */
void sim_report_text(FILE *to, const struct sim *sim, const struct sim_result *result);

/* A line of names and a line of values: all parameters, then all figures. */
void sim_report_csv(FILE *to, const struct sim *sim, const struct sim_result *result);

/* One object: config, result, machine, iterations, latency (histograms), deadlock. */
void sim_report_json(FILE *to, const struct sim *sim, const struct sim_result *result);

/* A line for each node, and for each port of each router: how much its output link is used, and how full the buffers of
 * its input are. */
void sim_report_nodes(FILE *to, const struct sim *sim, const struct sim_result *result);
void sim_report_links(FILE *to, const struct sim *sim, const struct sim_result *result);

#endif

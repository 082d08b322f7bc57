/* report_file.c: results as CSV and JSON, together with the configuration that produced them. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report.h"

/* ---- CSV ---- */

static void csv_text(FILE *to, const char *text)
{
    if (strpbrk(text, ",\"\n") == NULL) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', to);
        fputc(*text, to);
    }
    fputc('"', to);
}

/* Write a number in the shortest form that keeps the significant digits. */
static void number(FILE *to, double value)
{
    if (value == floor(value) && fabs(value) < 1e15)
        fprintf(to, "%.0f", value);
    else
        fprintf(to, "%.6g", value);
}

void sim_report_csv(FILE *to, const struct sim *sim, const struct sim_result *result)
{
    struct sim_figure figure[SIM_MAX_FIGURES];
    size_t            figures = sim_report_figures(sim, result, figure);
    char              value[4096];

    for (size_t i = 0; i < sim_config_count(); i++)
        fprintf(to, "%s,", sim_config_row(i).name);
    for (size_t i = 0; i < figures; i++)
        fprintf(to, "%s%s", figure[i].name, i + 1 < figures ? "," : "\n");
    for (size_t i = 0; i < sim_config_count(); i++) {
        sim_config_value(sim->config, i, value, sizeof(value));
        csv_text(to, value);
        fputc(',', to);
    }
    for (size_t i = 0; i < figures; i++) {
        number(to, figure[i].value);
        fputc(i + 1 < figures ? ',' : '\n', to);
    }
}

/* ---- JSON ---- */

static void json_text(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(to, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(to, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, to);
    }
    fputc('"', to);
}

static void json_config(FILE *to, const struct sim_config *config)
{
    char value[4096];

    fprintf(to, "  \"config\": {\n");
    for (size_t i = 0; i < sim_config_count(); i++) {
        struct sim_param_info row = sim_config_row(i);

        sim_config_value(config, i, value, sizeof(value));
        fprintf(to, "    \"%s\": ", row.name);
        if (strcmp(row.type, "COUNT") == 0 || strcmp(row.type, "DECIMAL") == 0)
            fputs(value, to);
        else
            json_text(to, value);
        fputs(i + 1 < sim_config_count() ? ",\n" : "\n", to);
    }
    fprintf(to, "  },\n");
}

static void json_figures(FILE *to, const char *name, const struct sim_figure *figure, size_t figures, bool machine)
{
    const char *separator = "";

    fprintf(to, "  \"%s\": {", name);
    for (size_t i = 0; i < figures; i++) {
        if (figure[i].machine != machine)
            continue;
        fprintf(to, "%s\n    \"%s\": ", separator, figure[i].name);
        number(to, figure[i].value);
        separator = ",";
    }
    fprintf(to, "\n  },\n");
}

static void json_iterations(FILE *to, const struct sim_result *result)
{
    fprintf(to, "  \"iterations\": [");
    for (size_t i = 0; i < result->periods; i++) {
        const struct sim_period *at = &result->period[i];

        fprintf(to, "%s\n    { \"end\": %u, \"injected\": %.6g, \"accepted\": %.6g, \"in_flight\": %" PRIu64,
                i > 0 ? "," : "", at->end, at->injected, at->accepted, at->in_flight);
        for (int slow = 0; slow < 2; slow++)
            fprintf(to, ", \"busy_%s_sent\": %.6g, \"busy_%s_taken\": %.6g", slow ? "slow" : "fast",
                    at->busy_sent[slow], slow ? "slow" : "fast", at->busy_taken[slow]);
        fprintf(to, ", \"hops\": %" PRIu64 " }", at->hops);
    }
    fprintf(to, "\n  ],\n");
}

/* Write a histogram as pairs of a bucket's lowest value and its count. */
static void json_histogram(FILE *to, const char *name, const struct sim_hist *hist, const char *end)
{
    const char *separator = "";

    fprintf(to, "    \"%s\": [", name);
    for (unsigned i = 0; hist != NULL && i < SIM_HIST_BUCKETS; i++) {
        if (hist->bucket[i] == 0)
            continue;
        fprintf(to, "%s[%u,%" PRIu64 "]", separator, sim_hist_floor(i), hist->bucket[i]);
        separator = ",";
    }
    fprintf(to, "]%s\n", end);
}

static void json_deadlock(FILE *to, const struct sim_result *result)
{
    fprintf(to, "  \"deadlock\": [");
    for (size_t i = 0; i < result->deadlock && i < SIM_SHOWN_BLOCKED; i++) {
        const struct sim_blocked *at = &result->blocked[i];

        fprintf(to, "%s\n    { \"router\": %u, \"input\": %u, \"vc\": %u, \"output\": %u, \"output_vc\": %u }",
                i > 0 ? "," : "", at->router, at->port, at->vc, at->out, at->out_vc);
    }
    fprintf(to, "%s]\n", result->deadlock > 0 ? "\n  " : "");
}

void sim_report_json(FILE *to, const struct sim *sim, const struct sim_result *result)
{
    struct sim_figure figure[SIM_MAX_FIGURES];
    size_t            figures = sim_report_figures(sim, result, figure);

    fprintf(to, "{\n  \"program\": \"tern-sim\",\n  \"version\": \"%s\",\n", TERN_VERSION);
    json_config(to, sim->config);
    json_figures(to, "result", figure, figures, false);
    json_figures(to, "machine", figure, figures, true);
    json_iterations(to, result);
    fprintf(to, "  \"latency\": {\n");
    json_histogram(to, "packet", result->totals.packet_latency, ",");
    json_histogram(to, "network", result->totals.network_latency, "");
    fprintf(to, "  },\n");
    json_deadlock(to, result);
    fprintf(to, "}\n");
}

/* ---- tables ---- */

void sim_report_nodes(FILE *to, const struct sim *sim, const struct sim_result *result)
{
    fprintf(to, "node,router,cycles_per_flit,target,injected,accepted\n");
    for (uint32_t i = 0; result->complete && i < sim->shape.nodes; i++) {
        const struct sim_node *node = &sim->node[i];

        fprintf(to, "%u,%u,%u,", i, node->router->index, node->slow);
        if (node->fixed != SIM_NONE)
            fprintf(to, "%u", node->fixed);
        fprintf(to, ",%.6g,%.6g\n", result->node_injected[i], result->node_accepted[i]);
    }
}

void sim_report_links(FILE *to, const struct sim *sim, const struct sim_result *result)
{
    fprintf(to, "router,port,class,to,to_port,used,fill\n");
    for (uint32_t r = 0; result->complete && r < sim->shape.routers; r++) {
        for (unsigned i = 0; i < sim->shape.ports; i++) {
            struct sim_end end = sim->topology->far(sim, r, i);
            size_t         at = (size_t)r * sim->shape.ports + i;

            if (end.link_class != SIM_LINK_UNUSED)
                fprintf(to, "%u,%u,%s,%u,%u,%.6g,%.6g\n", r, i, sim_link_class_name[end.link_class], end.index,
                        end.port, result->link_used[at], result->link_fill[at]);
        }
    }
}

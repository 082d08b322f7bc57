/* report.c: the numbers of a result, and a summary as text. */
#include "report.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

struct list {
    struct sim_figure *figure;
    size_t             count;
};

static void add(struct list *list, const char *name, double value)
{
    list->figure[list->count++] = (struct sim_figure){ name, value, false };
}

/* Return the value below which the given share of all nodes lies. */
static double node_quantile(const struct sim *sim, const struct sim_result *result, double share)
{
    return result->sorted_accepted[(size_t)(share * (sim->shape.nodes - 1) + 0.5)];
}

static void add_run(struct list *list, const struct sim *sim, const struct sim_result *result)
{
    add(list, "nodes", sim->shape.nodes);
    add(list, "routers", sim->shape.routers);
    add(list, "ports", sim->shape.ports);
    add(list, "vcs_used", sim->vcs);
    add(list, "steady", result->steady);
    add(list, "deadlock_vcs", (double)result->deadlock);
    add(list, "stuck", result->stuck);
    add(list, "cycles", result->cycles);
    add(list, "measured_from", result->measured_from);
    add(list, "measured", result->measured);
    add(list, "hops", (double)result->hops);
}

static void add_accepted(struct list *list, const struct sim *sim, const struct sim_result *result)
{
    double squares = 0, mean = result->accepted;

    for (uint32_t i = 0; i < sim->shape.nodes; i++)
        squares += result->sorted_accepted[i] * result->sorted_accepted[i] / sim->shape.nodes;
    add(list, "offered", result->offered);
    add(list, "injected", result->injected);
    add(list, "accepted", mean);
    add(list, "accepted_fast", result->accepted_fast);
    add(list, "accepted_slow", result->accepted_slow);
    add(list, "accepted_min", result->sorted_accepted[0]);
    add(list, "accepted_p01", node_quantile(sim, result, 0.01));
    add(list, "accepted_p05", node_quantile(sim, result, 0.05));
    add(list, "accepted_p25", node_quantile(sim, result, 0.25));
    add(list, "accepted_p50", node_quantile(sim, result, 0.50));
    add(list, "accepted_p75", node_quantile(sim, result, 0.75));
    add(list, "accepted_p95", node_quantile(sim, result, 0.95));
    add(list, "accepted_p99", node_quantile(sim, result, 0.99));
    add(list, "accepted_max", result->sorted_accepted[sim->shape.nodes - 1]);
    add(list, "accepted_stddev", sqrt(fmax(squares - mean * mean, 0)));
    add(list, "fairness", squares > 0 ? mean * mean / squares : 1);
}

static void add_latency(struct list *list, const struct sim_stats *totals, uint64_t missing)
{
    const struct sim_hist *packet = totals->packet_latency, *network = totals->network_latency;

    add(list, "packets", (double)totals->packets);
    add(list, "packets_missing", (double)missing);
    add(list, "packet_latency", sim_hist_mean(packet));
    add(list, "packet_latency_min", packet->count > 0 ? packet->min : 0);
    add(list, "packet_latency_p50", sim_hist_quantile(packet, 0.50));
    add(list, "packet_latency_p95", sim_hist_quantile(packet, 0.95));
    add(list, "packet_latency_p99", sim_hist_quantile(packet, 0.99));
    add(list, "packet_latency_p999", sim_hist_quantile(packet, 0.999));
    add(list, "packet_latency_max", packet->max);
    add(list, "network_latency", sim_hist_mean(network));
    add(list, "network_latency_min", network->count > 0 ? network->min : 0);
    add(list, "network_latency_p50", sim_hist_quantile(network, 0.50));
    add(list, "network_latency_p95", sim_hist_quantile(network, 0.95));
    add(list, "network_latency_p99", sim_hist_quantile(network, 0.99));
    add(list, "network_latency_p999", sim_hist_quantile(network, 0.999));
    add(list, "network_latency_max", network->max);
    add(list, "flit_latency", totals->flits > 0 ? (double)totals->flit_latency / (double)totals->flits : 0);
}

static void add_paths(struct list *list, const struct sim *sim, const struct sim_result *result)
{
    const struct sim_stats *totals = &result->totals;
    double                  packets = totals->packets > 0 ? (double)totals->packets : 1;
    double                  chances = (double)result->measured * sim->shape.nodes;

    add(list, "routers_per_path", (double)totals->routers / packets);
    add(list, "round_share", (double)totals->rounds / packets);
    add(list, "marked_share", (double)totals->marked / packets);
    add(list, "throttled_share", chances > 0 ? (double)totals->throttled / chances : 0);
    add(list, "starved_share", chances > 0 ? (double)totals->starved / chances : 0);
    add(list, "ack_flit_share", totals->ejected > 0 ? (double)totals->acks / (double)totals->ejected : 0);
    add(list, "in_flight", result->periods > 0 ? (double)result->period[result->periods - 1].in_flight : 0);
}

static void add_links(struct list *list, const struct sim_result *result)
{
    static const char *const names[SIM_LINK_CLASSES][5] = {
        { "eject_used", "eject_used_max", "inject_fill", "inject_full", "inject_fill_max" },
        { "local_used", "local_used_max", "local_fill", "local_full", "local_fill_max" },
        { "global_used", "global_used_max", "global_fill", "global_full", "global_fill_max" },
    };

    for (unsigned c = 0; c < SIM_LINK_CLASSES; c++) {
        add(list, names[c][0], result->used_mean[c]);
        add(list, names[c][1], result->used_max[c]);
        add(list, names[c][2], result->fill[c].mean);
        add(list, names[c][3], result->fill[c].full);
        add(list, names[c][4], result->fill[c].worst);
    }
}

static void add_machine(struct list *list, const struct sim *sim, const struct sim_result *result)
{
    size_t        first = list->count;
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    add(list, "threads_used", sim->workers);
    add(list, "seconds", result->seconds);
    add(list, "cpu_seconds", result->cpu_seconds);
    add(list, "cycles_per_second", result->seconds > 0 ? result->cycles / result->seconds : 0);
    add(list, "hops_per_cpu_second", result->cpu_seconds > 0 ? (double)result->hops / result->cpu_seconds : 0);
    add(list, "memory_mib", (double)usage.ru_maxrss / 1024);
    for (size_t i = first; i < list->count; i++)
        list->figure[i].machine = true;
}

size_t sim_report_figures(const struct sim *sim, const struct sim_result *result, struct sim_figure *figure)
{
    struct list list = { .figure = figure };

    add_run(&list, sim, result);
    if (result->complete) {
        add_accepted(&list, sim, result);
        add_latency(&list, &result->totals, result->missing);
        add_paths(&list, sim, result);
        add_links(&list, result);
    }
    add_machine(&list, sim, result);
    return list.count;
}

/* ---- text ---- */

static void text_deadlock(FILE *to, const struct sim_result *result)
{
    fprintf(to, "DEADLOCK at cycle %u: %zu virtual channels wait for each other in a circle:\n", result->cycles,
            result->deadlock);
    for (size_t i = 0; i < result->deadlock && i < SIM_SHOWN_BLOCKED; i++) {
        const struct sim_blocked *at = &result->blocked[i];

        fprintf(to, "  router %u, input %u, VC %u waits for output %u, VC %u\n", at->router, at->port, at->vc, at->out,
                at->out_vc);
    }
    if (result->deadlock > SIM_SHOWN_BLOCKED)
        fprintf(to, "  and %zu more\n", result->deadlock - SIM_SHOWN_BLOCKED);
}

static void text_links(FILE *to, const struct sim_result *result)
{
    static const char *const names[SIM_LINK_CLASSES] = { "to nodes", "local", "global" };

    for (unsigned c = 0; c < SIM_LINK_CLASSES; c++) {
        if (result->used_max[c] <= 0)
            continue;
        fprintf(to,
                "  links %-9s used %.3f of the time, the busiest %.3f; buffers behind %s %.1f%% full, %.1f%% of VCs "
                "stopped\n",
                names[c], result->used_mean[c], result->used_max[c], c == SIM_LINK_TERMINAL ? "nodes" : "them",
                100 * result->fill[c].mean, 100 * result->fill[c].full);
    }
}

static void text_measured(FILE *to, const struct sim *sim, const struct sim_result *result)
{
    const struct sim_stats *totals = &result->totals;

    fprintf(to, "  accepted       %.4f flits per cycle and node (offered %.4f, injected %.4f)\n", result->accepted,
            result->offered, result->injected);
    fprintf(to, "    of nodes     min %.4f, 5%% %.4f, median %.4f, 95%% %.4f, max %.4f\n", result->sorted_accepted[0],
            node_quantile(sim, result, 0.05), node_quantile(sim, result, 0.5), node_quantile(sim, result, 0.95),
            result->sorted_accepted[sim->shape.nodes - 1]);
    if (result->accepted_slow > 0)
        fprintf(to, "    slow nodes   %.4f, others %.4f\n", result->accepted_slow, result->accepted_fast);
    fprintf(to, "  packet latency %.1f cycles (median %.0f, 99%% %.0f, max %u), in the network %.1f\n",
            sim_hist_mean(totals->packet_latency), sim_hist_quantile(totals->packet_latency, 0.5),
            sim_hist_quantile(totals->packet_latency, 0.99), totals->packet_latency->max,
            sim_hist_mean(totals->network_latency));
    if (result->missing > 0)
        fprintf(to, "    without %lu packets that had not arrived at the end\n", (unsigned long)result->missing);
    fprintf(to, " paths %.3f routers, %.1f%% of packets on non-minimal paths\n",
            (double)totals->routers / (double)(totals->packets > 0 ? totals->packets : 1),
            100 * (double)totals->rounds / (double)(totals->packets > 0 ? totals->packets : 1));
    text_links(to, result);
}

void sim_report_text(FILE *to, const struct sim *sim, const struct sim_result *result)
{
    fprintf(to, "%s: %u nodes, %u routers with %u ports, %u VCs of %u flits\n", sim->topology->name, sim->shape.nodes,
            sim->shape.routers, sim->shape.ports, sim->vcs, sim->buffer);
    if (result->deadlock > 0) {
        text_deadlock(to, result);
    } else if (result->stuck) {
        fprintf(to, "STUCK at cycle %u: nothing moves, although no virtual channels wait for each other\n",
                result->cycles);
    } else {
        fprintf(to, "%s; measured cycles %u to %u\n",
                sim->config->stop == SIM_CYCLES ? "not asked to be steady"
                : result->steady                ? "steady"
                                                : "NOT STEADY: max_cycles came first",
                result->measured_from, result->measured_from + result->measured);
        text_measured(to, sim, result);
    }
    fprintf(
        to,
        "  cost           %u cycles in %.1f s (%.0f per second), %.2f million flit-hops per CPU second, %u thread%s\n",
        result->cycles, result->seconds, result->seconds > 0 ? result->cycles / result->seconds : 0,
        result->cpu_seconds > 0 ? (double)result->hops / result->cpu_seconds / 1e6 : 0, sim->workers,
        sim->workers == 1 ? "" : "s");
}

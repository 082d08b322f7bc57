/* stats.c: histograms and sums of counters. */
#include "stats.h"

#include <stdlib.h>
#include <string.h>

tern_status sim_stats_open(struct sim_stats *stats)
{
    memset(stats, 0, sizeof(*stats));
    stats->packet_latency = calloc(1, sizeof(struct sim_hist));
    stats->network_latency = calloc(1, sizeof(struct sim_hist));
    if (stats->packet_latency == NULL || stats->network_latency == NULL) {
        sim_stats_free(stats);
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for counters");
    }
    sim_stats_reset(stats);
    return TERN_OK;
}

void sim_stats_free(struct sim_stats *stats)
{
    free(stats->packet_latency);
    free(stats->network_latency);
    stats->packet_latency = stats->network_latency = NULL;
}

static void hist_reset(struct sim_hist *hist)
{
    memset(hist, 0, sizeof(*hist));
    hist->min = UINT32_MAX;
}

void sim_stats_reset(struct sim_stats *stats)
{
    stats->begun = 0;
    stats->packets = stats->routers = stats->rounds = stats->marked = 0;
    stats->flits = stats->flit_latency = stats->throttled = stats->starved = 0;
    hist_reset(stats->packet_latency);
    hist_reset(stats->network_latency);
}

static void hist_add(struct sim_hist *sum, const struct sim_hist *from)
{
    sum->count += from->count;
    sum->sum += from->sum;
    if (from->min < sum->min)
        sum->min = from->min;
    if (from->max > sum->max)
        sum->max = from->max;
    for (unsigned i = 0; i < SIM_HIST_BUCKETS; i++)
        sum->bucket[i] += from->bucket[i];
}

void sim_stats_add(struct sim_stats *sum, const struct sim_stats *from)
{
    sum->injected += from->injected;
    sum->ejected += from->ejected;
    sum->hops += from->hops;
    sum->acks += from->acks;
    sum->begun += from->begun;
    sum->packets += from->packets;
    sum->routers += from->routers;
    sum->rounds += from->rounds;
    sum->marked += from->marked;
    sum->flits += from->flits;
    sum->flit_latency += from->flit_latency;
    sum->throttled += from->throttled;
    sum->starved += from->starved;
    hist_add(sum->packet_latency, from->packet_latency);
    hist_add(sum->network_latency, from->network_latency);
}

uint32_t sim_hist_floor(unsigned bucket)
{
    unsigned top;

    if (bucket < 2u << SIM_HIST_FINE)
        return bucket;
    top = (bucket >> SIM_HIST_FINE) - 1;
    return (bucket - (top << SIM_HIST_FINE)) << top;
}

double sim_hist_mean(const struct sim_hist *hist)
{
    return hist->count > 0 ? (double)hist->sum / (double)hist->count : 0;
}

double sim_hist_quantile(const struct sim_hist *hist, double share)
{
    uint64_t wanted = (uint64_t)(share * (double)hist->count), seen = 0;

    if (hist->count == 0)
        return 0;
    for (unsigned i = 0; i < SIM_HIST_BUCKETS; i++) {
        seen += hist->bucket[i];
        if (seen > wanted || seen == hist->count) {
            double low = sim_hist_floor(i), high = sim_hist_floor(i + 1) - 1.0, middle = (low + high) / 2;

            return middle < hist->min ? hist->min : middle > hist->max ? hist->max : middle;
        }
    }
    return hist->max;
}

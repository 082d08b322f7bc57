/* stats.h: counters. Each worker has its own integer counters, so that the sums do not depend on the number of workers.
 */
#ifndef SIM_STATS_H
#define SIM_STATS_H

#include <stdint.h>

#include "base/status.h"

/* A histogram of cycles. Values below 64 have one bucket each; above, a bucket is at most 1/32 of its value wide. */
#define SIM_HIST_FINE 5
#define SIM_HIST_BUCKETS ((33 - SIM_HIST_FINE) << SIM_HIST_FINE)

struct sim_hist {
    uint64_t count, sum;
    uint32_t min, max;
    uint64_t bucket[SIM_HIST_BUCKETS];
};

/* Counters since the start of the run, of which callers take differences, and counters of the measurement. */
struct sim_stats {
    uint64_t injected, ejected; /* flits */
    uint64_t hops;              /* flits that passed through a switch */
    uint64_t acks;              /* flits of packets that carry only credits; they also count as injected and ejected */
    uint64_t begun;             /* packets that sources started during the measurement */
    /* of the measured packets that have arrived: */
    uint64_t packets, routers, rounds,
        marked; /* packets; routers that they passed; packets on non-minimal routes; packets with FECN */
    uint64_t flits, flit_latency;     /* their flits, and the sum over all flits of the cycles from source to sink */
    uint64_t throttled;               /* cycles in which BECN kept a source from sending a flit */
    uint64_t starved;                 /* cycles in which a source had a packet but no RDRP credit */
    struct sim_hist *packet_latency;  /* from generation until the last flit is consumed */
    struct sim_hist *network_latency; /* from sending the first flit until the last flit is consumed */
};

tern_status sim_stats_open(struct sim_stats *stats);
void        sim_stats_free(struct sim_stats *stats);

/* Reset the counters of the measurement. */
void sim_stats_reset(struct sim_stats *stats);

/* Add the counters of from to sum. */
void sim_stats_add(struct sim_stats *sum, const struct sim_stats *from);

static inline unsigned sim_hist_index(uint32_t value)
{
    unsigned top;

    if (value < 2u << SIM_HIST_FINE)
        return value;
    top = 31u - (unsigned)__builtin_clz(value) - SIM_HIST_FINE;
    return (top << SIM_HIST_FINE) + (value >> top);
}

static inline void sim_hist_count(struct sim_hist *hist, uint32_t value)
{
    hist->count++;
    hist->sum += value;
    if (value < hist->min)
        hist->min = value;
    if (value > hist->max)
        hist->max = value;
    hist->bucket[sim_hist_index(value)]++;
}

/* Return the lowest value that a bucket counts. */
uint32_t sim_hist_floor(unsigned bucket);

/* Return the value that the given share of all values does not exceed, with the precision of its bucket. Returns 0 if
 * the histogram is empty. */
double sim_hist_quantile(const struct sim_hist *hist, double share);
double sim_hist_mean(const struct sim_hist *hist);

#endif

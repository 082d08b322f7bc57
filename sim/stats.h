/* stats.h: what is counted. Each worker counts for itself, in whole numbers, so that sums do not depend on how many
 * workers there are.
 */
#ifndef SIM_STATS_H
#define SIM_STATS_H

#include <stdint.h>

#include "base/status.h"

/* A histogram of cycles whose buckets are at most 1/32 of their value wide; below 64 each value has its own. */
#define SIM_HIST_FINE 5
#define SIM_HIST_BUCKETS ((33 - SIM_HIST_FINE) << SIM_HIST_FINE)

struct sim_hist {
    uint64_t count, sum;
    uint32_t min, max;
    uint64_t bucket[SIM_HIST_BUCKETS];
};

/* Counts since the beginning of the run, of which differences are taken; and those while measuring. */
struct sim_stats {
    uint64_t injected, ejected; /* flits */
    uint64_t hops;              /* flits through a switch */
    uint64_t acks;              /* flits of packets that carry credits only; they are injected and ejected too */
    uint64_t begun;             /* packets that sources took up while measuring */
    /* of those of them that have arrived */
    uint64_t packets, routers, rounds,
        marked;                           /* their number; routers on their ways; those that went round; with FECN */
    uint64_t         flits, flit_latency; /* their flits, and the sum of cycles from source to sink of each */
    uint64_t         throttled;           /* cycles in which a source held a flit back because of BECN */
    uint64_t         starved;             /* cycles in which a source had a packet and no credit of RDRP */
    struct sim_hist *packet_latency;      /* from being made to its last flit's being taken */
    struct sim_hist *network_latency;     /* from its first flit's being sent */
};

tern_status sim_stats_open(struct sim_stats *stats);
void        sim_stats_free(struct sim_stats *stats);

/* Begin to measure. */
void sim_stats_reset(struct sim_stats *stats);

/* Add from to sum. */
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

/* The lowest value that is counted in a bucket. */
uint32_t sim_hist_floor(unsigned bucket);

/* The value below or at which a share of all lie, to within its bucket; 0 where there are none. */
double sim_hist_quantile(const struct sim_hist *hist, double share);
double sim_hist_mean(const struct sim_hist *hist);

#endif

/* run.h: a complete run: simulate until the network is steady, measure, then let the measured packets arrive. */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "deadlock.h"
#include "sim.h"
#include "topology.h"

/* The results of one iteration. Rates are data flits per cycle and node. */
struct sim_period {
    uint32_t end; /* cycle in which the iteration ends */
    double   injected, accepted;
    uint64_t in_flight; /* flits in the network at the end of the iteration */
    /* For receivers that consume flits at their full rate; [0] fast receivers, [1] slow receivers: */
    double   busy_sent[2];  /* flits that sources started to send to them, and */
    double   busy_taken[2]; /* flits that they consumed, both per cycle and node of the network */
    uint64_t hops;
};

/* Buffer occupancy of one class of links. */
struct sim_fill {
    double mean;  /* occupied fraction of the buffers */
    double full;  /* fraction of VCs that are full */
    double worst; /* occupied fraction on the fullest link */
};

enum { SIM_SHOWN_BLOCKED = 32 };

struct sim_result {
    bool   steady;   /* the network was steady when the measurement began, or stop=cycles does not require it */
    bool   complete; /* the results of the measurement are valid */
    size_t deadlock; /* number of VCs in the deadlock cycle; 0: none */
    bool   stuck;    /* nothing moves, although there is no cycle of waiting VCs */
    struct sim_blocked blocked[SIM_SHOWN_BLOCKED];
    uint32_t           measured_from, measured; /* cycles */
    uint32_t           cycles;                  /* total */
    struct sim_period *period;
    size_t             periods;
    struct sim_stats   totals;
    uint64_t           missing; /* measured packets that did not arrive in time */
    double             offered, injected, accepted, accepted_slow, accepted_fast;
    double            *sorted_accepted;               /* of all nodes, ascending */
    double            *node_injected, *node_accepted; /* [node] */
    double            *link_used, *link_fill; /* [router * ports + port] like used_mean and fill.mean, for one link */
    double             used_mean[SIM_LINK_CLASSES], used_max[SIM_LINK_CLASSES]; /* flits per cycle and link */
    struct sim_fill    fill[SIM_LINK_CLASSES];
    double             seconds, cpu_seconds;
    uint64_t           hops; /* in the whole run */
};

/* Progress callback, called several times per second. until is the cycle at which the current phase ends, or 0 if that
 * is unknown; what describes the phase. */
struct sim_watch {
    void (*tell)(void *self, const struct sim *sim, const char *what, uint32_t until);
    void *self;
};

/* Run sim to the end. The caller must release the result with sim_result_free, also after an error. */
tern_status sim_run(struct sim *sim, const struct sim_watch *watch, struct sim_result *result);
void        sim_result_free(struct sim_result *result);

/* Return whether the last iterations show that the network is steady. */
bool sim_run_is_steady(const struct sim_config *config, const struct sim_period *period, size_t periods);

#endif

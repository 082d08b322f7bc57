/* run.h: a whole run: until the network has settled, then measuring, then letting what was measured arrive. */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "deadlock.h"
#include "sim.h"
#include "topology.h"

/* What happened in an iteration. Rates are flits of data per cycle and node. */
struct sim_period {
    uint32_t end; /* cycle */
    double   injected, accepted;
    uint64_t in_flight; /* flits in the network at its end */
    /* Of receivers that take flits as fast as they can, [0] those of full rate, [1] slow ones: */
    double   busy_sent[2];  /* flits that sources took up for them... */
    double   busy_taken[2]; /* ...and that they took, per cycle and node of the network */
    uint64_t hops;
};

/* How full the buffers of one class of links are. */
struct sim_fill {
    double mean;  /* share of the buffers that is occupied */
    double full;  /* share of VCs that are full */
    double worst; /* of the link that is fullest */
};

enum { SIM_SHOWN_BLOCKED = 32 };

struct sim_result {
    bool               steady;   /* the network had settled when measuring began, or was not asked to */
    bool               complete; /* the figures of measuring are there */
    size_t             deadlock; /* VCs that wait for each other */
    bool               stuck;    /* nothing moves, although no VCs do */
    struct sim_blocked blocked[SIM_SHOWN_BLOCKED];
    uint32_t           measured_from, measured; /* cycles */
    uint32_t           cycles;                  /* all together */
    struct sim_period *period;
    size_t             periods;
    struct sim_stats   totals;
    uint64_t           missing; /* packets that count for latencies, but did not arrive in time */
    double             offered, injected, accepted, accepted_slow, accepted_fast;
    double            *sorted_accepted;               /* of all nodes, ascending */
    double            *node_injected, *node_accepted; /* [node] */
    double            *link_used, *link_fill; /* [router * ports + port], as used_mean and fill.mean, of one link */
    double             used_mean[SIM_LINK_CLASSES], used_max[SIM_LINK_CLASSES]; /* flits per cycle and link */
    struct sim_fill    fill[SIM_LINK_CLASSES];
    double             seconds, cpu_seconds;
    uint64_t           hops; /* of the whole run */
};

/* Called some times a second. until is the cycle that is aimed at, or 0 if it is not known; what says what is done. */
struct sim_watch {
    void (*tell)(void *self, const struct sim *sim, const char *what, uint32_t until);
    void *self;
};

/* Run sim to the end. The result is to be given back with sim_result_free, also after an error. */
tern_status sim_run(struct sim *sim, const struct sim_watch *watch, struct sim_result *result);
void        sim_result_free(struct sim_result *result);

/* Whether the last iterations say that the network has settled. */
bool sim_run_is_steady(const struct sim_config *config, const struct sim_period *period, size_t periods);

#endif

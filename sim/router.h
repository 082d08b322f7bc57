/* router.h: simulating a router. */
#ifndef SIM_ROUTER_H
#define SIM_ROUTER_H

#include "sim.h"

/* Simulate a router and its nodes from cycle begin up to, but not including, cycle end. */
void sim_router_run(struct sim_worker *worker, struct sim_router *router, uint32_t begin, uint32_t end);

#endif

/* engine.h: threads that take the network through time. */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "sim.h"

/* Decide how many workers there are and which routers each one has, and how long they can run without each other. */
void sim_engine_divide(struct sim *sim);

/* Start the workers of a network that is wired. */
tern_status sim_engine_open(struct sim *sim);
void        sim_engine_close(struct sim *sim);

#endif

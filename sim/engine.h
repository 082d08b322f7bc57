/* engine.h: the worker threads that simulate the network. */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "sim.h"

/* Set the number of workers, the range of routers of each worker, and the number of cycles that workers can run without
 * synchronizing. */
void sim_engine_divide(struct sim *sim);

/* Start the workers. The caller must have connected all routers and nodes of the network. */
tern_status sim_engine_open(struct sim *sim);
void        sim_engine_close(struct sim *sim);

#endif

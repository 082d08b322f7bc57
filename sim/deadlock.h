/* deadlock.h: finding packets that wait for each other in a circle. */
#ifndef SIM_DEADLOCK_H
#define SIM_DEADLOCK_H

#include "sim.h"

/* One VC of a circle: the first packet in its buffer waits for the VC that comes next. */
struct sim_blocked {
    uint32_t router;
    unsigned port, vc, out, out_vc;
};

/* Look for a circle. Returns its length and up to room members of it; 0: there is none, so something can still move in
 * every part of the network, now or when what is under way has come. To be called between two advances. */
size_t sim_deadlock_find(const struct sim *sim, struct sim_blocked *member, size_t room);

#endif

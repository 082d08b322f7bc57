/* deadlock.h: detecting a cycle of packets that wait for each other. */
#ifndef SIM_DEADLOCK_H
#define SIM_DEADLOCK_H

#include "sim.h"

/* One VC of a cycle: the first packet in its buffer waits for the next VC of the cycle. */
struct sim_blocked {
    uint32_t router;
    unsigned port, vc, out, out_vc;
};

/* Search for a cycle of waiting VCs. Returns its length and stores up to room of its members, or returns 0 if there is
 * none. 0 means that every part of the network can still move, now or when the flits and credits in flight have
 * arrived. The caller must not be inside sim_advance. */
size_t sim_deadlock_find(const struct sim *sim, struct sim_blocked *member, size_t room);

#endif

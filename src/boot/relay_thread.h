/* relay_thread.h: the relay (relay.h) of a job on several nodes that a foreign launcher started: a thread in the
 * first rank of each node. That of rank 0 is the hub, the others are spokes; relay_connect.h connects them.
 *
 * A node whose spoke is gone has lost its ranks, and a job without its hub is over: where such a rank dies, those
 * that depend on it end too, also where the job is to survive deaths.
 * */
#ifndef TERN_BOOT_RELAY_THREAD_H
#define TERN_BOOT_RELAY_THREAD_H

#include "boot/boot.h"
#include "boot/relay_connect.h"

/* Start the thread. lines are connections: of the hub, one for each node but its own (lines[0] is not used); of a
 * spoke, one at lines[0]. They belong to the thread from here on, also after an error. Once at a time in a process. */
tern_status tern_boot_relay_thread_start(const struct tern_boot *boot, const struct tern_relay_conn *lines);

/* Pass on what is to be passed on, and stop the thread, if it runs. */
void tern_boot_relay_thread_stop(void);

/* Whether the wheel is no longer needed: all ranks of the node (-1: of the job) are past all meetings, or are known to
 * have ended. */
bool tern_boot_relay_thread_done(struct tern_segment *segment, int node);

#endif

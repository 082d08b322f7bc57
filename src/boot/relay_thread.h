/* relay_thread.h: the relay (relay.h) of a job on several nodes that a foreign launcher started. It is a thread in the
 * first rank of each node. The thread of rank 0 is the hub, the others are spokes; relay_connect.h connects them.
 *
 * If a spoke dies, the ranks of its node are lost; if the hub dies, the job ends. So when a rank with a relay thread
 * dies, the ranks that depend on it end too, even if the job is configured to survive deaths.
 * */
#pragma once

#include "boot/boot.h"
#include "boot/relay_connect.h"

/* Start the thread. For the hub, lines has a connection for every other node (lines[0] is not used); for a spoke, only
 * lines[0] is used. The thread takes ownership of the connections, even if the call fails. A process has at most one
 * relay thread at a time. */
tern_status tern_boot_relay_thread_start(const struct tern_boot *boot, const struct tern_relay_conn *lines);

/* Forward all pending frames and stop the thread, if it is running. */
void tern_boot_relay_thread_stop(void);

/* Return whether the thread has told the other nodes that a rank has called tern_exit, or does not run. Any thread may
 * call this. */
bool tern_boot_relay_thread_told(void);

/* Return whether the relay is no longer needed: every rank of the node (-1: of the job) is past all collective
 * operations, or is known to have ended. */
bool tern_boot_relay_thread_done(struct tern_segment *segment, int node);

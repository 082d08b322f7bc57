/* death_watch.h: a thread that detects the deaths of other ranks in jobs without ternrun.
 *
 * Each rank watches the next rank of its node, and after that rank's death the one after it, so that one living rank
 * sees every death. The thread writes the fate into the segment and rings the bells, as ternrun would; in a job on
 * several nodes it leaves that to the relay. If a death ends the job and the launcher does not end the job by itself,
 * the thread asks the launcher to do so. The thread also ends its own process when the launcher dies. It sleeps in the
 * kernel while there is nothing to do.
 */
#pragma once

#include "boot/boot.h"
#include "boot/pmi.h"

/* Start the thread. A process has at most one death watch at a time. The segment must contain the pid of every rank of
 * the node, of which host is the first; the host relays between nodes.
 * Returns TERN_OK, also if there is no rank to watch. TERN_ERR_SYSTEM: the thread could not be created, or the kernel
 * does not support watching processes and the job must survive deaths. */
tern_status tern_boot_death_watch_start(const struct tern_boot *boot, struct tern_pmi *pmi, int host);

/* Stop the thread, if it is running. */
void tern_boot_death_watch_stop(void);

/* death_watch.h: a thread that learns of the deaths of others where no ternrun is there to tell.
 *
 * Each rank watches the next one of its node, and when that is gone the one after it: so every death is seen by one
 * living rank. It writes the fate into the segment and rings the bells, as ternrun would; in a job on several nodes it
 * leaves that to the relay. Where a death ends the job and
 * the launcher does not end it by itself, the thread asks for it. It also ends its own process when the launcher dies.
 * It sleeps in the kernel.
 */
#ifndef TERN_BOOT_DEATH_WATCH_H
#define TERN_BOOT_DEATH_WATCH_H

#include <stdint.h>
#include <sys/types.h>

#include "boot/boot.h"
#include "boot/pmi.h"

/* Start the thread. Once at a time in a process. The segment has the pid of every rank of the node, of which host is
 * the first, and relays between nodes.
 * Returns TERN_OK also where there is nobody to watch. TERN_ERR_SYSTEM: no thread, or the kernel does not let processes
 * be watched and the job is to survive deaths. */
tern_status tern_boot_death_watch_start(const struct tern_boot *boot, struct tern_pmi *pmi, int host);

/* When a process started, in the kernel's ticks since the machine started. The kernel gives the number of a dead
 * process to a new one; number and start together name one process.
 * Returns 0 where there is no such process, or /proc is not mounted. */
uint64_t tern_boot_process_start_time(pid_t pid);

/* Stop it, if it runs. */
void tern_boot_death_watch_stop(void);

#endif

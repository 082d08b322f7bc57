/* process.h: the start time and the exit status of a process, and the tie between a rank and the process that started
 * it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

/* Make the kernel end this process when its parent dies, if the parent is the launcher or a program between the
 * launcher and this process, such as a shell. A rank then never outlives the chain of processes that started it.
 * Returns TERN_OK, also if this is not set up: because the parent is not a descendant of the launcher, or because the
 * parent has several threads (the kernel treats the end of the thread that started this process as the end of the
 * parent). TERN_ERR_BOOT: the parent died during the call. */
tern_status tern_boot_process_bind_parent(pid_t launcher);

/* Return the start time of a process in kernel ticks since the machine booted. The kernel reuses process ids; pid and
 * start time together identify a process.
 * Returns 0 if there is no such process, or /proc is not mounted. */
uint64_t tern_boot_process_start_time(pid_t pid);

/* Return whether a process, which has ended, is known to have died of a signal or exited with a status other than 0.
 * Nothing is known if its parent has already waited for it. */
bool tern_boot_process_failed(pid_t pid);

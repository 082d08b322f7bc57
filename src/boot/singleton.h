/* singleton.h: what a process that no launcher started has to find out by itself. */
#ifndef TERN_BOOT_SINGLETON_H
#define TERN_BOOT_SINGLETON_H

#include "base/status.h"

/* The number of CPUs that this process may use; at least 1. */
int tern_boot_singleton_cores(void);

/* Whether this process may be a job of one. Where the environment shows that a launcher started it as one of several,
 * and Tern cannot use that launcher, it may not, unless TERN_LAUNCHER=alone says that it is meant. Where the
 * environment only hints at more, that is said once.
 * Returns TERN_OK. TERN_ERR_BOOT. */
tern_status tern_boot_singleton_check(void);

#endif

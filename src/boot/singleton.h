/* singleton.h: start-up of a singleton, a process that was started without a launcher. */
#pragma once

#include "base/status.h"

/* Return the number of CPUs that this process may use; at least 1. */
int tern_boot_singleton_cores(void);

/* Check whether this process may be a job of one rank. If the environment shows that a launcher which Tern cannot use
 * started the process as one of several, the process may not be a singleton, unless TERN_LAUNCHER=alone requests it. If
 * the environment only suggests this, the function prints a message once.
 * Returns TERN_OK. TERN_ERR_BOOT: the process may not be a singleton. */
tern_status tern_boot_singleton_check(void);

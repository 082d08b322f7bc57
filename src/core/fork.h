/* fork.h: what happens in a child that fork creates while the job is running. */
#pragma once

#include "base/status.h"

/* Install the handlers that run around fork, once per process. Returns TERN_ERR_NOMEM if there is no memory. */
tern_status tern_core_fork_watch(void);

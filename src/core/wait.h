/* wait.h: the one way to wait. Spin while the answer may come within a message's time, then yield the core, then sleep
 * until someone rings. */
#ifndef TERN_CORE_WAIT_H
#define TERN_CORE_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tern/job.h>

#include "base/status.h"

struct tern_wait {
    /* Make progress and look: TERN_PENDING goes on waiting, anything else ends the wait. */
    tern_status (*poll)(void *arg);
    /* Write what is being waited for, such as "tern_barrier, for rank 3". */
    void (*describe)(void *arg, char *text, size_t size);
    void         *arg;
    tern_deadline deadline;
    bool          by_handler; /* what it waits for needs no message but replies: a handler may wait for it */
};

/* What poll returned, or TERN_ERR_TIMEOUT with a detail. A deadline that has passed already: looks once. */
tern_status tern_core_wait(const struct tern_wait *wait);

/* The longest sleep, in ns: a safety net that nobody relies on. Tests take it away, so that who does hangs. */
extern int64_t tern_core_wait_longest_sleep;

#endif

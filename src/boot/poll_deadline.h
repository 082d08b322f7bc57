/* poll_deadline.h: waiting for descriptors while the ranks connect to each other. These waits obey the same options as
 * all others: TERN_TIMEOUT limits them, and a wait that exceeds TERN_STALL_REPORT prints what it is waiting for.
 * */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct tern_poll_deadline {
    const char *what; /* what the caller waits for: "the other ranks to ...". The caller owns the text */
    int64_t     start, report_at, deadline;
};

/* A function for idle hooks (core/idle_hook.h) that tern_boot_poll() calls while it waits; NULL: none. The function
 * returns whether there are hooks; while there are, it is called at least once per millisecond. Set this before the
 * first wait. */
extern bool (*tern_boot_poll_idle)(void);

/* Start a wait: compute its deadline. what must remain valid during the wait. */
void tern_boot_poll_begin(struct tern_poll_deadline *wait, const char *what);

/* Wait until poll() reports an event for one of the descriptors, or until the clock (base/clock.h) reaches until;
 * INT64_MAX: never.
 * Returns TERN_OK. TERN_ERR_TIMEOUT. TERN_ERR_SYSTEM: poll() failed. */
tern_status tern_boot_poll(struct tern_poll_deadline *wait, struct pollfd *fds, nfds_t count, int64_t until);

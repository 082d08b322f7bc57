/* poll_deadline.h: waiting for a descriptor while the ranks find each other. Such waits keep the promises of all
 * others: TERN_TIMEOUT limits them, and one that lasts longer than TERN_STALL_REPORT says what it waits for.
 * */
#ifndef TERN_BOOT_POLL_DEADLINE_H
#define TERN_BOOT_POLL_DEADLINE_H

#include <poll.h>
#include <stdint.h>

#include "base/status.h"

struct tern_poll_deadline {
    const char *what; /* is waited for: "the other ranks to ...", kept by the caller */
    int64_t     start, report_at, deadline;
};

/* Begin to wait. */
void tern_boot_poll_begin(struct tern_poll_deadline *patience, const char *what);

/* Wait until poll() has something to say about one of the descriptors.
 * Returns TERN_OK. TERN_ERR_TIMEOUT. TERN_ERR_SYSTEM: poll() refused. */
tern_status tern_boot_poll(struct tern_poll_deadline *patience, struct pollfd *fds, nfds_t count);

/* The same, but also return TERN_OK when the clock (base/clock.h) has come to until. */
tern_status tern_boot_poll_until(struct tern_poll_deadline *patience, struct pollfd *fds, nfds_t count, int64_t until);

#endif

/* poll_deadline.c: poll() with a deadline and with reports. */
#include "boot/poll_deadline.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"

#define NS_PER_MS 1000000

bool (*tern_boot_poll_idle)(void);

void tern_boot_poll_begin(struct tern_poll_deadline *wait, const char *what)
{
    int64_t now = tern_base_now();

    *wait = (struct tern_poll_deadline){
        .what = what,
        .start = now,
        .report_at = tern_opt.stall_report > 0 ? now + (int64_t)(tern_opt.stall_report * 1e9) : INT64_MAX,
        .deadline = tern_opt.timeout > 0 ? tern_base_deadline_in(tern_opt.timeout) : TERN_FOREVER,
    };
}

/* Return the timeout for poll() until the given time, rounded up. Returns -1 (no limit) only if until is INT64_MAX. */
static int time_left(int64_t now, int64_t until)
{
    int64_t ms;

    if (until == INT64_MAX)
        return -1;
    ms = until <= now ? 0 : (until - now - 1) / NS_PER_MS + 1;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

tern_status tern_boot_poll(struct tern_poll_deadline *wait, struct pollfd *fds, nfds_t count, int64_t until)
{
    for (;;) {
        int64_t now = tern_base_now(), next;
        int     ready;

        if (now >= wait->report_at) {
            tern_base_log(TERN_LOG_WARN, "has waited %.0f s: tern_init waits for %s", (double)(now - wait->start) / 1e9,
                          wait->what);
            wait->report_at = now + (now - wait->start); /* the next report comes when the wait is twice as old */
        }
        next = wait->report_at < wait->deadline ? wait->report_at : wait->deadline;
        if (tern_boot_poll_idle && tern_boot_poll_idle() && next > now + NS_PER_MS)
            next = now + NS_PER_MS;
        ready = poll(fds, count, time_left(now, until < next ? until : next));
        if (ready > 0)
            return TERN_OK;
        if (ready < 0 && errno != EINTR)
            return tern_base_fail(TERN_ERR_SYSTEM, "tern_init cannot wait for %s (poll): %s", wait->what,
                                  strerror(errno));
        if (ready == 0 && tern_base_now() >= wait->deadline)
            return tern_base_fail(TERN_ERR_TIMEOUT, "gave up after %.3f s: tern_init waits for %s",
                                  (double)(tern_base_now() - wait->start) / 1e9, wait->what);
        if (ready == 0 && tern_base_now() >= until)
            return TERN_OK;
    }
}

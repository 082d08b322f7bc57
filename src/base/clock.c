/* clock.c: the monotonic clock, which is read through the vDSO without a system call. The clock is the same for all
 * processes of a node, so that deadlines and ages can be compared between ranks.
 */
#include "base/clock.h"

#include <time.h>

#define NS_PER_SECOND 1000000000
#define YEARS_290 (290.0 * 365.25 * 86400.0) /* in seconds; in nanoseconds it still fits into 63 bits */

int64_t tern_base_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

tern_deadline tern_base_deadline_in(double seconds)
{
    tern_deadline deadline;

    if (!(seconds > 0)) /* also true for not-a-number */
        return TERN_NOW;
    if (seconds > YEARS_290)
        return TERN_FOREVER;
    if (__builtin_add_overflow(tern_base_now(), (int64_t)(seconds * NS_PER_SECOND), &deadline))
        return TERN_FOREVER;
    return deadline;
}

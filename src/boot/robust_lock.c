/* robust_lock.c: waiting for a guard: look a few times, give way, sleep. Whoever has slept keeps the mark that
 * somebody may sleep, because others may still do. A sleep ends by the clock too, to see whether the holder is still
 * there. */
#define _GNU_SOURCE 1
#include "boot/robust_lock.h"

#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "boot/bell.h"

#define LOOKS 200          /* about the time for which a guard is held */
#define YIELDS 4           /* before the first sleep */
#define LOOK_AFTER 5000000 /* ns of a sleep, after which the holder's fate is looked at */

/* Whether the holder is dead, or has left. */
static bool holder_gone(const struct tern_segment *segment, uint32_t word)
{
    uint32_t holder = (word & ~TERN_ROBUST_LOCK_SLEEPERS) - 1;

    return holder >= segment->ranks ||
           /* acquire: what the holder wrote before it died. Pairs with the launcher's release. */
           atomic_load_explicit(&segment->slot[holder].fate, memory_order_acquire) != TERN_FATE_RUNNING;
}

/* Replace a word that was seen by this rank's. */
static bool take(struct tern_robust_lock *guard, uint32_t seen, uint32_t mine)
{
    /* acquire: what the last holder wrote. Pairs with the release in tern_boot_robust_unlock(). */
    return atomic_compare_exchange_strong_explicit(&guard->word, &seen, mine, memory_order_acquire,
                                                   memory_order_relaxed);
}

static bool look_often(struct tern_robust_lock *guard, uint32_t mine)
{
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load_explicit(&guard->word, memory_order_relaxed) == 0 && take(guard, 0, mine))
            return true;
        tern_base_relax();
    }
    return false;
}

/* Sleep until the guard is given back, or for a while. */
static void sleep_on(struct tern_robust_lock *guard, uint32_t seen)
{
    uint32_t marked = seen | TERN_ROBUST_LOCK_SLEEPERS;

    if (seen == marked || take(guard, seen, marked))
        tern_boot_bell_wait(&guard->word, marked, LOOK_AFTER);
}

static void report(uint32_t word, int64_t age)
{
    tern_base_log(TERN_LOG_WARN, "has waited %.0f s for rank %u, which is stopped in the middle of an accumulate",
                  (double)age / 1e9, (word & ~TERN_ROBUST_LOCK_SLEEPERS) - 1);
}

void tern_boot_robust_lock_wait(struct tern_segment *segment, struct tern_robust_lock *guard, int rank)
{
    uint32_t mine = (uint32_t)rank + 1;
    int64_t  start, period = (int64_t)(tern_opt.stall_report * 1e9), report_after = period;

    if (segment->locals <= segment->cores && look_often(guard, mine))
        return;
    start = tern_base_now();
    for (int turns = 0;; turns++) {
        uint32_t seen = atomic_load_explicit(&guard->word, memory_order_relaxed);

        if (seen == 0) {
            if (take(guard, 0, turns > YIELDS ? mine | TERN_ROBUST_LOCK_SLEEPERS : mine))
                return;
        } else if (turns < YIELDS) {
            sched_yield();
        } else {
            if (holder_gone(segment, seen) && take(guard, seen, mine | TERN_ROBUST_LOCK_SLEEPERS))
                return;
            sleep_on(guard, seen);
            if (period > 0 && tern_base_now() - start > report_after) {
                report(seen, tern_base_now() - start);
                report_after *= 2;
            }
        }
    }
}

void tern_boot_robust_lock_wake(struct tern_robust_lock *guard)
{
    syscall(SYS_futex, &guard->word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* robust_lock.c: the slow path of the robust lock: spin, yield, then sleep. A rank that has slept keeps the SLEEPERS
 * bit set when it acquires the lock, because other ranks may still be asleep. A sleep is limited in time, so that the
 * sleeper can check whether the holder is still alive. */
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

#define SPINS 200        /* number of polls, which take about as long as a lock is held */
#define YIELDS 4         /* number of yields before the first sleep */
#define SLEEP_NS 5000000 /* length of a sleep in ns, after which the holder's fate is checked */

/* Return whether the holder is dead or has left. */
static bool holder_gone(const struct tern_segment *segment, uint32_t word)
{
    uint32_t holder = (word & ~TERN_ROBUST_LOCK_SLEEPERS) - 1;

    return holder >= segment->ranks ||
           /* acquire: makes visible what the holder wrote before it died. Pairs with the launcher's release. */
           atomic_load_explicit(&segment->slot[holder].fate, memory_order_acquire) != TERN_FATE_RUNNING;
}

/* Store mine in the lock word if the word still equals seen. Returns whether it did. */
static bool try_acquire(struct tern_robust_lock *lock, uint32_t seen, uint32_t mine)
{
    /* acquire: makes visible what the last holder wrote. Pairs with the release in tern_boot_robust_unlock(). */
    return atomic_compare_exchange_strong_explicit(&lock->word, &seen, mine, memory_order_acquire,
                                                   memory_order_relaxed);
}

static bool spin(struct tern_robust_lock *lock, uint32_t mine)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&lock->word, memory_order_relaxed) == 0 && try_acquire(lock, 0, mine))
            return true;
        tern_base_relax();
    }
    return false;
}

/* Set the SLEEPERS bit, and sleep until the lock is released or SLEEP_NS have passed. */
static void sleep_on(struct tern_robust_lock *lock, uint32_t seen)
{
    uint32_t marked = seen | TERN_ROBUST_LOCK_SLEEPERS;

    if (seen == marked || try_acquire(lock, seen, marked))
        tern_boot_bell_wait(&lock->word, marked, SLEEP_NS);
}

void tern_boot_robust_lock_wait(struct tern_segment *segment, struct tern_robust_lock *lock, int rank)
{
    uint32_t mine = (uint32_t)rank + 1;
    int64_t  start, period = (int64_t)(tern_opt.stall_report * 1e9), report_after = period;

    if (segment->locals <= segment->cores && spin(lock, mine))
        return;
    start = tern_base_now();
    for (int rounds = 0;; rounds++) {
        uint32_t seen = atomic_load_explicit(&lock->word, memory_order_relaxed);

        if (seen == 0) {
            if (try_acquire(lock, 0, rounds > YIELDS ? mine | TERN_ROBUST_LOCK_SLEEPERS : mine))
                return;
        } else if (rounds < YIELDS) {
            sched_yield();
        } else {
            if (holder_gone(segment, seen) && try_acquire(lock, seen, mine | TERN_ROBUST_LOCK_SLEEPERS))
                return;
            sleep_on(lock, seen);
            if (period > 0 && tern_base_now() - start > report_after) {
                tern_base_log(TERN_LOG_WARN,
                              "has waited %.0f s for rank %u, which is stopped in the middle of an accumulate",
                              (double)(tern_base_now() - start) / 1e9, (seen & ~TERN_ROBUST_LOCK_SLEEPERS) - 1);
                report_after *= 2;
            }
        }
    }
}

void tern_boot_robust_lock_wake(struct tern_robust_lock *lock)
{
    syscall(SYS_futex, &lock->word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

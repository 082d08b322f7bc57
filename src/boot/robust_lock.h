/* robust_lock.h: short locks in the segment, for what several processes of a node change in each other's memory.
 *
 * A guard is held for some microseconds and never while waiting for anything. Its word names the rank that holds it, so
 * that a rank which is killed while it holds one holds up nobody: whoever waits sees its fate and takes the guard over.
 * What it was changing is then half changed.
 */
#ifndef TERN_BOOT_ROBUST_LOCK_H
#define TERN_BOOT_ROBUST_LOCK_H

#include "boot/segment.h"

#define TERN_ROBUST_LOCK_SLEEPERS 0x80000000u /* in the word: somebody may sleep on it */

/* The part of lock and unlock that is not short. */
void tern_boot_robust_lock_wait(struct tern_segment *segment, struct tern_robust_lock *guard, int rank);
void tern_boot_robust_lock_wake(struct tern_robust_lock *guard);

/* Take a guard for a thread of the rank; no thread takes one that it has. */
static inline void tern_boot_robust_lock(struct tern_segment *segment, struct tern_robust_lock *guard, int rank)
{
    uint32_t none = 0;

    /* acquire: what the last holder wrote. Pairs with the release in tern_boot_robust_unlock(). */
    if (__builtin_expect(!atomic_compare_exchange_strong_explicit(&guard->word, &none, (uint32_t)rank + 1,
                                                                  memory_order_acquire, memory_order_relaxed),
                         0))
        tern_boot_robust_lock_wait(segment, guard, rank);
}

static inline void tern_boot_robust_unlock(struct tern_robust_lock *guard)
{
    /* release: what this thread wrote while it held the guard. Pairs with the acquires in lock and wait. */
    uint32_t before = atomic_exchange_explicit(&guard->word, 0, memory_order_release);

    if (__builtin_expect((before & TERN_ROBUST_LOCK_SLEEPERS) != 0, 0))
        tern_boot_robust_lock_wake(guard);
}

#endif

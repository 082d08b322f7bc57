/* robust_lock.h: robust locks in the segment, for memory that several processes of a node modify.
 *
 * A lock is held for a few microseconds, and its holder never waits for anything. The word contains the rank of the
 * holder, so that a rank that is killed while it holds the lock blocks nobody: a waiter sees the fate of that rank and
 * takes the lock over. The data that the dead rank was modifying may then be partly modified.
 */
#pragma once

#include "boot/segment.h"

#define TERN_ROBUST_LOCK_SLEEPERS 0x80000000u /* flag in the word: a thread may sleep on it */

/* The slow paths of lock and unlock. */
void tern_boot_robust_lock_wait(struct tern_segment *segment, struct tern_robust_lock *lock, int rank);
void tern_boot_robust_lock_wake(struct tern_robust_lock *lock);

/* Acquire a lock for a thread of the rank. The calling thread must not hold the lock already. */
static inline void tern_boot_robust_lock(struct tern_segment *segment, struct tern_robust_lock *lock, int rank)
{
    uint32_t none = 0;

    /* acquire: the data that the last holder wrote. Pairs with the release in tern_boot_robust_unlock(). */
    if (__builtin_expect(!atomic_compare_exchange_strong_explicit(&lock->word, &none, (uint32_t)rank + 1,
                                                                  memory_order_acquire, memory_order_relaxed),
                         0))
        tern_boot_robust_lock_wait(segment, lock, rank);
}

/* Release a lock that the calling thread holds. */
static inline void tern_boot_robust_unlock(struct tern_robust_lock *lock)
{
    /* release: the data that this thread wrote while it held the lock. Pairs with the acquires in
     * tern_boot_robust_lock() and tern_boot_robust_lock_wait(). */
    uint32_t before = atomic_exchange_explicit(&lock->word, 0, memory_order_release);

    if (__builtin_expect((before & TERN_ROBUST_LOCK_SLEEPERS) != 0, 0))
        tern_boot_robust_lock_wake(lock);
}

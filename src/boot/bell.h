/* bell.h: waking a rank, and sleeping until woken.
 *
 * A rank that has found nothing to do reads its bell, announces that it sleeps, looks once more, and sleeps while the
 * bell has the value that it read. Whoever has news publishes it first and rings then. The two full fences make sure
 * that either the sleeper sees the news or the ringer sees the sleeper.
 *
 * A fence makes the ringer wait until its news has reached memory, which takes as long as the news itself. Where a rank
 * seldom sleeps, it bears the cost alone: before it looks for the last time it has the kernel run a full barrier on all
 * threads of processes that have asked for that (membarrier), and those ring it without a fence.
 */
#ifndef TERN_BOOT_BELL_H
#define TERN_BOOT_BELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Sleep while *bell is seen, at most ns nanoseconds (negative: no limit). May return early. */
void tern_boot_bell_wait(_Atomic uint32_t *bell, uint32_t seen, int64_t ns);

/* Change *bell and wake all that sleep on it, whether or not any announced itself. */
void tern_boot_bell_wake(_Atomic uint32_t *bell);

/* Wake the threads that sleep on *bell, if any announced itself in *sleepers. */
static inline void tern_boot_bell_ring(_Atomic uint32_t *bell, _Atomic uint32_t *sleepers)
{
    /* seq_cst: the news that the caller has published before the load of sleepers. Pairs with the fence between the
     * announcement and the last look in tern_boot_bell_announce(). */
    atomic_thread_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(sleepers, memory_order_relaxed) != 0, 0))
        tern_boot_bell_wake(bell);
}

/* Whether this process has asked for barriers. Written by tern_boot_bell_join() only. */
extern bool tern_boot_bell_joined;

/* Ask for barriers that others have run. False: the kernel has none. */
bool tern_boot_bell_join(void);

/* Have a full barrier run on all threads of all processes that have joined, and this one. */
void tern_boot_bell_barrier(void);

/* Ring for a rank whose threads call tern_boot_bell_barrier() after each announcement, by a process that has joined. */
static inline void tern_boot_bell_ring_lightly(_Atomic uint32_t *bell, _Atomic uint32_t *sleepers)
{
    atomic_signal_fence(memory_order_seq_cst); /* the rest of the fence is run by tern_boot_bell_barrier() */
    if (__builtin_expect(atomic_load_explicit(sleepers, memory_order_relaxed) != 0, 0))
        tern_boot_bell_wake(bell);
}

/* Announce a sleeper and return the value to sleep on. The caller looks for news once more, then sleeps; and in any
 * case withdraws. */
static inline uint32_t tern_boot_bell_announce(_Atomic uint32_t *bell, _Atomic uint32_t *sleepers)
{
    uint32_t seen = atomic_load_explicit(bell, memory_order_relaxed);

    atomic_fetch_add_explicit(sleepers, 1, memory_order_relaxed);
    /* seq_cst: the announcement before the caller's last look for news. Pairs with the fence in tern_boot_bell_ring().
     */
    atomic_thread_fence(memory_order_seq_cst);
    return seen;
}

static inline void tern_boot_bell_withdraw(_Atomic uint32_t *sleepers)
{
    atomic_fetch_sub_explicit(sleepers, 1, memory_order_relaxed);
}

#endif

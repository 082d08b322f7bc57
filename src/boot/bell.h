/* bell.h: a doorbell (an eventcount on a futex) to wake a rank, and to sleep until woken.
 *
 * A thread that has found nothing to do reads its rank's bell, announces that it is going to sleep, polls once more,
 * and sleeps while the bell has the value that it read. A waker first publishes its data and then rings the bell. A
 * full fence on each side guarantees that either the sleeper sees the data or the waker sees the sleeper.
 *
 * The waker's fence stalls until its stores are visible, which takes as long as the message itself. A rank that seldom
 * sleeps therefore bears the cost of both fences: before its last poll it asks the kernel to run a full barrier on all
 * threads of the processes that have registered for it (membarrier), and registered processes ring without a fence.
 */
#pragma once

#include "boot/segment.h"

/* Sleep while *bell equals seen, for at most ns nanoseconds (negative: no limit). May return early. */
void tern_boot_bell_wait(_Atomic uint32_t *bell, uint32_t seen, int64_t ns);

/* Change *bell and wake all threads that sleep on it, whether or not any of them has announced itself. */
void tern_boot_bell_wake(_Atomic uint32_t *bell);

/* Wake the threads that sleep on *bell, if any thread has announced itself in *sleepers. The caller has published its
 * data. */
static inline void tern_boot_bell_ring(_Atomic uint32_t *bell, _Atomic uint32_t *sleepers)
{
    /* seq_cst: the data that the caller has published before the load of sleepers. Pairs with the fence between the
     * announcement and the last poll in tern_boot_bell_announce(). */
    atomic_thread_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(sleepers, memory_order_relaxed) != 0, 0))
        tern_boot_bell_wake(bell);
}

/* This process has registered for barriers. Writer: tern_boot_bell_join(). */
extern bool tern_boot_bell_joined;

/* Register this process for the barriers that others run. Returns false if the kernel lacks membarrier. */
bool tern_boot_bell_join(void);

/* Return whether a thread of the rank may sleep on the rank's bell. A thread that has set memory_waits relies on every
 * ring from then on: it may evaluate its condition once more, and sleep without another poll. */
static inline bool tern_boot_may_sleep(const struct tern_slot *slot)
{
    /* relaxed, both: the caller orders them after what it has published */
    return (atomic_load_explicit(&slot->sleepers, memory_order_relaxed) |
            atomic_load_explicit(&slot->memory_waits, memory_order_relaxed)) != 0;
}

/* Wake the threads of a rank that sleep on its bell. The caller has found that there may be such threads. */
void tern_boot_slot_wake(struct tern_slot *slot);

/* Wake the threads of a rank that sleep on its bell, without a fence. The calling process must be registered, and the
 * threads of the rank that is woken must call tern_base_membarrier() after each announcement. */
static inline void tern_boot_wake_lightly(struct tern_slot *slot)
{
    atomic_signal_fence(memory_order_seq_cst); /* tern_base_membarrier() provides the rest of the fence */
    if (__builtin_expect(tern_boot_may_sleep(slot), 0))
        tern_boot_slot_wake(slot);
}

/* Wake the threads of a rank that wait for a change of the rank's memory. The caller has found that slot->memory_waits
 * is not 0. */
void tern_boot_memory_wake(struct tern_slot *slot);

/* Wake the threads of a rank that wait for a change of the rank's memory, if there are any. The caller has written to
 * the memory. There is no fence: a thread that sets memory_waits afterwards runs a membarrier before its last poll, or
 * does not rely on being woken. */
static inline void tern_boot_written(struct tern_slot *slot)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&slot->memory_waits, memory_order_relaxed) != 0, 0))
        tern_boot_memory_wake(slot);
}

/* Announce a sleeper and return the value to sleep on. The caller must poll once more before it sleeps, and must call
 * tern_boot_bell_withdraw() in any case. */
static inline uint32_t tern_boot_bell_announce(_Atomic uint32_t *bell, _Atomic uint32_t *sleepers)
{
    uint32_t seen = atomic_load_explicit(bell, memory_order_relaxed);

    atomic_fetch_add_explicit(sleepers, 1, memory_order_relaxed);
    /* seq_cst: the announcement before the caller's last poll. Pairs with the fence in tern_boot_bell_ring(). */
    atomic_thread_fence(memory_order_seq_cst);
    return seen;
}

/* Wake the threads of a rank that sleep on its bell. The caller has published its data. */
static inline void tern_boot_wake(struct tern_slot *slot)
{
    /* seq_cst: the data that the caller has published before the loads of sleepers and memory_waits. Pairs with the
     * fences of tern_boot_bell_announce(), and of the announcement in core/wait.c. */
    atomic_thread_fence(memory_order_seq_cst);
    if (__builtin_expect(tern_boot_may_sleep(slot), 0))
        tern_boot_slot_wake(slot);
}

/* Wake the thread that serves a rank's peers. The caller has published its request. */
static inline void tern_boot_wake_service(struct tern_slot *slot)
{
    uint32_t sleeps;

    /* seq_cst: the request before the load of service_sleeps. Pairs with the fence in tern_boot_bell_announce(). */
    atomic_thread_fence(memory_order_seq_cst);
    if ((sleeps = atomic_load_explicit(&slot->service_sleeps, memory_order_relaxed)) != 0)
        tern_boot_bell_wake(sleeps == TERN_SERVICE_ON_BELL ? &slot->bell : &slot->service_bell);
}

/* Withdraw an announcement, after sleeping or instead of it. */
static inline void tern_boot_bell_withdraw(_Atomic uint32_t *sleepers)
{
    atomic_fetch_sub_explicit(sleepers, 1, memory_order_relaxed);
}

/* wake_request.h: how a producer asks its consumer to wake it when a queue has space or a copy is complete.
 *
 * The request is a word in memory that both sides map. The producer sets the word when it finds the queue full. The
 * consumer checks the word after it has consumed a message, clears it, and rings the producer's bell. The consumer has
 * no fence between consuming and checking, because the fence would slow down every message. A producer that has just
 * set the word may therefore be too late for a message that is being consumed at that moment; it must not sleep before
 * it has checked the queue again. A producer whose word was set before it announced its sleep may sleep: the membarrier
 * before its last check (boot/bell.h) replaces the consumer's fence. If the producer does not run that barrier, the
 * consumer does use a fence (link/inject.h, tern_link_needs_fence).
 *
 * The threads of a process share the words. A thread that finds a word set in its last check must therefore know that
 * no other thread has been setting a word since before the barrier. The start and the end of each such store are
 * counted. A thread may sleep if, after its last check, the number of stores started equals the number that had ended
 * before its barrier.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Number of times that threads of this process have started and finished setting a clear word. */
struct tern_wake_requests {
    _Atomic uint32_t begun, ended;
};
extern struct tern_wake_requests tern_base_wake_requests;

/* Producer: set the word *wanted, so that the consumer wakes this process. Any thread may call this. */
static inline void tern_base_wake_request(_Atomic uint32_t *wanted)
{
    /* acquire: the count that the thread which set the word incremented. Pairs with the release store below. */
    if (atomic_load_explicit(wanted, memory_order_acquire) != 0)
        return;
    atomic_fetch_add_explicit(&tern_base_wake_requests.begun, 1,
                              memory_order_relaxed); /* ordered by the release below */
    atomic_store_explicit(wanted, 1, memory_order_release);
    /* release: the word before the count. Pairs with the acquire in tern_base_wake_requests_ended(). */
    atomic_fetch_add_explicit(&tern_base_wake_requests.ended, 1, memory_order_release);
}

/* Consumer: return whether the word *wanted was set since the last call; the caller must then wake the producer. Call
 * this after consuming. */
static inline bool tern_base_wake_requested(_Atomic uint32_t *wanted)
{
    if (__builtin_expect(atomic_load_explicit(wanted, memory_order_relaxed) == 0, 1))
        return false;
    atomic_store_explicit(wanted, 0, memory_order_relaxed);
    return true;
}

/* Return the number of finished requests. A thread that is about to sleep calls this before its barrier. */
static inline uint32_t tern_base_wake_requests_ended(void)
{
    return atomic_load_explicit(&tern_base_wake_requests.ended, memory_order_acquire);
}

/* Return whether a thread has been setting a word since `then`, the result of tern_base_wake_requests_ended(). A thread
 * that is about to sleep calls this after its last check, and repeats the check if the result is true. */
static inline bool tern_base_wake_requests_since(uint32_t then)
{
    return atomic_load_explicit(&tern_base_wake_requests.begun, memory_order_relaxed) !=
           then; /* see tern_base_wake_request() */
}

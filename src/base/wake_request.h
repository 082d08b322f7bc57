/* wake_request.h: how a producer asks its consumer to wake it when there is room, or when something has been done.
 *
 * The word lies in memory that both map. The producer sets it when it has found no room; the consumer looks at it after
 * it has consumed, clears it and rings. There is no fence between the two in the consumer, which would cost every
 * message. So a producer that finds the word clear and sets it may have come too late for what is being consumed in
 * this very moment, and must not sleep yet: it looks for room once more first. A producer whose word was set before it
 * announced its sleep may: the barrier before its last look (boot/bell.h) stands for the consumer's fence. A consumer
 * whose producer runs no barrier has a fence (link/inject.h, tern_link_needs_fence).
 *
 * The threads of a process share the words. A thread that finds a word set in its last look therefore has to know that
 * no thread was setting one since before its barrier. Each setting is counted when it begins and when it has ended; a
 * thread may sleep if none has begun after its last look beyond those that had ended before its barrier.
 */
#ifndef TERN_BASE_WAKE_REQUEST_H
#define TERN_BASE_WAKE_REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How often words that were clear have been set by threads of this process. */
struct tern_wake_requests {
    _Atomic uint32_t begun, ended;
};
extern struct tern_wake_requests tern_base_wake_requests;

static inline void tern_base_wake_request(_Atomic uint32_t *wanted)
{
    /* acquire: the count of the thread that set the word. Pairs with the release below. */
    if (atomic_load_explicit(wanted, memory_order_acquire) != 0)
        return;
    atomic_fetch_add_explicit(&tern_base_wake_requests.begun, 1,
                              memory_order_relaxed); /* before the word, by its release */
    atomic_store_explicit(wanted, 1, memory_order_release);
    /* release: the word before the count. Pairs with the acquire in tern_base_wake_requests_ended(). */
    atomic_fetch_add_explicit(&tern_base_wake_requests.ended, 1, memory_order_release);
}

/* How many have ended: to be taken before the barrier of a thread that is about to sleep. */
static inline uint32_t tern_base_wake_requests_ended(void)
{
    return atomic_load_explicit(&tern_base_wake_requests.ended, memory_order_acquire);
}

/* Whether a word was being set since then: to be asked after the last look, which is to be made again if so. */
static inline bool tern_base_wake_requests_since(uint32_t then)
{
    return atomic_load_explicit(&tern_base_wake_requests.begun, memory_order_relaxed) !=
           then; /* see tern_base_wake_request() */
}

#endif

/* biased_lock.h: exclusion that costs no locked instruction while a process has one thread that communicates.
 *
 * The thread that calls tern_init is alone until another one asks for exclusion. While it is alone it enters by plain
 * stores. The first other thread ends that for good: it sets tern_bias.ended and has the kernel run a full barrier on
 * every thread of the process (membarrier). After that the first thread is either inside, which its plain store shows,
 * or will see that the time is over; from then on all use locked instructions.
 */
#ifndef TERN_BASE_BIASED_LOCK_H
#define TERN_BASE_BIASED_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"

extern struct tern_bias {
    _Atomic bool revoked; /* for the first thread to see. True where the kernel has no such barrier, and under TSan */
    _Atomic bool revoke_seen; /* and it has seen it */
} tern_bias;

extern _Thread_local bool tern_bias_owner __attribute__((tls_model("initial-exec"))); /* this thread was the first */

/* The calling thread is the first. */
void tern_base_bias_claim(void);

/* End the time. */
void tern_base_bias_revoke(void);

/* Enter by a plain store to *inside, which only the first thread writes. False: the time is over, *inside is false. */
static inline bool tern_base_bias_enter(_Atomic bool *inside)
{
    if (TERN_UNLIKELY(!tern_bias_owner)) {
        if (TERN_UNLIKELY(!atomic_load_explicit(&tern_bias.revoke_seen, memory_order_acquire))) /* pairs with the end */
            tern_base_bias_revoke();
        return false;
    }
    atomic_store_explicit(inside, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* the store before the look: pairs with tern_base_bias_revoke() */
    if (TERN_LIKELY(!atomic_load_explicit(&tern_bias.revoked, memory_order_relaxed)))
        return true;
    atomic_store_explicit(inside, false, memory_order_release);
    return false;
}

struct tern_biased_lock {
    _Atomic bool biased; /* the first thread has it, by tern_base_bias_enter */
    _Atomic bool held;   /* a thread has it, by a locked instruction */
};

void tern_base_biased_lock_slow(struct tern_biased_lock *lock);

/* Returns what the unlock has to be told. acquire and release: what the lock guards, from one thread to the next. */
static inline bool tern_base_biased_lock(struct tern_biased_lock *lock)
{
    if (TERN_LIKELY(tern_base_bias_enter(&lock->biased)))
        return true;
    tern_base_biased_lock_slow(lock);
    return false;
}

/* The same where that is nothing but the plain store; false: otherwise, and it is not locked. Calls nothing. */
static inline bool tern_base_biased_trylock(struct tern_biased_lock *lock)
{
    return TERN_LIKELY(tern_bias_owner) && tern_base_bias_enter(&lock->biased);
}

static inline void tern_base_biased_unlock(struct tern_biased_lock *lock, bool alone)
{
    atomic_store_explicit(alone ? &lock->biased : &lock->held, false, memory_order_release);
}

#endif

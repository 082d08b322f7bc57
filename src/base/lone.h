/* lone.h: exclusion that costs no locked instruction while a process has one thread that communicates.
 *
 * The thread that calls tern_init is alone until another one asks for exclusion. While it is alone it enters by plain
 * stores. The first other thread ends that for good: it sets tern_lone.ended and has the kernel run a full barrier on
 * every thread of the process (membarrier). After that the first thread is either inside, which its plain store shows,
 * or will see that the time is over; from then on all use locked instructions.
 */
#ifndef TERN_BASE_LONE_H
#define TERN_BASE_LONE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"

extern struct tern_lone {
    _Atomic bool ended;   /* for the first thread to see. True where the kernel has no such barrier, and under TSan */
    _Atomic bool settled; /* and it has seen it */
} tern_lone;

extern _Thread_local bool tern_lone_first __attribute__((tls_model("initial-exec"))); /* this thread was the first */

/* The calling thread is the first. */
void tern_base_lone_begin(void);

/* End the time. */
void tern_base_lone_end(void);

/* Enter by a plain store to *inside, which only the first thread writes. False: the time is over, *inside is false. */
static inline bool tern_base_lone_enter(_Atomic bool *inside)
{
    if (TERN_UNLIKELY(!tern_lone_first)) {
        if (TERN_UNLIKELY(!atomic_load_explicit(&tern_lone.settled, memory_order_acquire))) /* pairs with the end */
            tern_base_lone_end();
        return false;
    }
    atomic_store_explicit(inside, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* the store before the look: pairs with tern_base_lone_end() */
    if (TERN_LIKELY(!atomic_load_explicit(&tern_lone.ended, memory_order_relaxed)))
        return true;
    atomic_store_explicit(inside, false, memory_order_release);
    return false;
}

struct tern_lone_lock {
    _Atomic bool inside; /* the first thread has it, by tern_base_lone_enter */
    _Atomic bool busy;   /* a thread has it, by a locked instruction */
};

void tern_base_lone_lock_shared(struct tern_lone_lock *lock);

/* Returns what the unlock has to be told. acquire and release: what the lock guards, from one thread to the next. */
static inline bool tern_base_lone_lock(struct tern_lone_lock *lock)
{
    if (TERN_LIKELY(tern_base_lone_enter(&lock->inside)))
        return true;
    tern_base_lone_lock_shared(lock);
    return false;
}

/* The same where that is nothing but the plain store; false: otherwise, and it is not locked. Calls nothing. */
static inline bool tern_base_lone_try(struct tern_lone_lock *lock)
{
    return TERN_LIKELY(tern_lone_first) && tern_base_lone_enter(&lock->inside);
}

static inline void tern_base_lone_unlock(struct tern_lone_lock *lock, bool alone)
{
    atomic_store_explicit(alone ? &lock->inside : &lock->busy, false, memory_order_release);
}

#endif

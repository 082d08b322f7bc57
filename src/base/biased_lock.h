/* biased_lock.h: a biased lock, which needs no atomic instruction while only one thread of the process communicates.
 *
 * The thread that calls tern_init owns the bias: it acquires the lock with plain stores until another thread wants the
 * lock. That other thread revokes the bias permanently: it sets tern_bias.revoked and asks the kernel to run a full
 * barrier on every thread of the process (membarrier). After the barrier the owner is either inside the critical
 * section, and its plain store shows that, or it will see that the bias is revoked. From then on all threads acquire
 * the lock with atomic instructions. A thread that releases the lock and acquires it again at once would almost always
 * overtake a waiting thread, which could then wait for seconds. Therefore a thread that has waited for a while takes
 * precedence over the others.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

extern struct tern_bias {
    _Atomic bool revoked;     /* read by the owner. Always true if the kernel lacks membarrier, and under TSan */
    _Atomic bool revoke_seen; /* the barrier has run, so the owner cannot miss revoked any more */
} tern_bias;

/* The calling thread owns the bias. */
extern _Thread_local bool tern_bias_owner __attribute__((tls_model("initial-exec")));

/* Make the calling thread the owner of the bias. Has no effect under TSan; if the kernel lacks membarrier, the bias is
 * revoked from the start. */
void tern_base_bias_claim(void);

/* Revoke the bias permanently. Called by every thread other than the owner that finds it not yet revoked. When this
 * function returns, every thread acquires locks with an atomic instruction. */
void tern_base_bias_revoke(void);

/* Enter a critical section with a plain store to *inside, which only the owner of the bias writes. Returns false if the
 * calling thread is not the owner or the bias is revoked; *inside is then not set by this thread. */
static inline bool tern_base_bias_enter(_Atomic bool *inside)
{
    if (TERN_UNLIKELY(!tern_bias_owner)) {
        if (TERN_UNLIKELY(!atomic_load_explicit(&tern_bias.revoke_seen,
                                                memory_order_acquire))) /* pairs with the end of a revocation */
            tern_base_bias_revoke();
        return false;
    }
    atomic_store_explicit(inside, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* store before load; pairs with tern_base_bias_revoke() */
    if (TERN_LIKELY(!atomic_load_explicit(&tern_bias.revoked, memory_order_relaxed)))
        return true;
    atomic_store_explicit(inside, false, memory_order_release);
    return false;
}

/* Return whether the calling thread owns the bias, and no other thread is known to have revoked it. */
static inline bool tern_base_bias_held(void)
{
    return TERN_LIKELY(tern_bias_owner) && TERN_LIKELY(!atomic_load_explicit(&tern_bias.revoked, memory_order_relaxed));
}

/* Enter two critical sections at once, with one check of the bias. The calling thread owns the bias. Returns false if
 * the bias is revoked; neither of the flags is then set by this thread, but other threads may have seen them set. */
static inline bool tern_base_bias_enter_both(_Atomic bool *inside, _Atomic bool *also)
{
    atomic_store_explicit(inside, true, memory_order_relaxed);
    atomic_store_explicit(also, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* as in tern_base_bias_enter() */
    if (TERN_LIKELY(!atomic_load_explicit(&tern_bias.revoked, memory_order_relaxed)))
        return true;
    atomic_store_explicit(also, false, memory_order_release);
    atomic_store_explicit(inside, false, memory_order_release);
    return false;
}

struct tern_biased_lock {
    _Atomic bool     biased; /* held by the owner of the bias, through tern_base_bias_enter() */
    _Atomic bool     held;   /* held by a thread that acquired it with an atomic instruction */
    _Atomic uint16_t late;   /* number of threads that have waited for long: the others let them pass */
};

/* Acquire the lock with an atomic instruction. The bias must be revoked. */
void tern_base_biased_lock_slow(struct tern_biased_lock *lock);

/* Acquire the lock. Returns the value that the caller must pass to tern_base_biased_unlock(). The acquire here and the
 * release there pass the data that the lock guards from one thread to the next. */
static inline bool tern_base_biased_lock(struct tern_biased_lock *lock)
{
    if (TERN_LIKELY(tern_base_bias_enter(&lock->biased)))
        return true;
    tern_base_biased_lock_slow(lock);
    return false;
}

/* Acquire the lock only if a plain store is enough, without calling any function. Returns true if the lock is held; the
 * caller then releases it with tern_base_biased_unlock(lock, true). Returns false if the lock is not acquired. */
static inline bool tern_base_biased_trylock(struct tern_biased_lock *lock)
{
    return TERN_LIKELY(tern_bias_owner) && tern_base_bias_enter(&lock->biased);
}

/* Release the lock. biased is the value that the acquiring call returned. */
static inline void tern_base_biased_unlock(struct tern_biased_lock *lock, bool biased)
{
    atomic_store_explicit(biased ? &lock->biased : &lock->held, false, memory_order_release);
}

/* A claim: a lock that is never waited for, with a bias of its own. The first thread that claims becomes the owner of
 * the bias, and claims with plain stores until another thread wants to claim. An object that is all 0 is free. */
struct tern_biased_claim {
    _Atomic(const void *) owner;       /* &tern_bias_owner of the owner; NULL: no thread has claimed yet */
    _Atomic bool          biased;      /* claimed by the owner with a plain store. Written by the owner only */
    _Atomic bool          held;        /* claimed with an atomic instruction */
    _Atomic bool          revoked;     /* another thread has revoked the bias */
    _Atomic bool          revoke_seen; /* the barrier has run, so the owner cannot miss revoked any more */
};

/* Claim with an atomic instruction. */
bool tern_base_biased_claim_slow(struct tern_biased_claim *claim);

/* Claim. Returns false if a thread, perhaps the calling one, has claimed already. The acquire here and the release in
 * tern_base_biased_unclaim() pass the data that the claim guards from one thread to the next. */
static inline bool tern_base_biased_claim(struct tern_biased_claim *claim)
{
    if (TERN_UNLIKELY(atomic_load_explicit(&claim->owner, memory_order_relaxed) != (const void *)&tern_bias_owner))
        return tern_base_biased_claim_slow(claim);
    if (TERN_UNLIKELY(atomic_load_explicit(&claim->biased, memory_order_relaxed)))
        return false;
    atomic_store_explicit(&claim->biased, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* store before load; pairs with the barrier of a revocation */
    if (TERN_LIKELY(!atomic_load_explicit(&claim->revoked, memory_order_relaxed)))
        return true;
    atomic_store_explicit(&claim->biased, false, memory_order_release);
    return tern_base_biased_claim_slow(claim);
}

/* End the claim of the calling thread. */
static inline void tern_base_biased_unclaim(struct tern_biased_claim *claim)
{
    /* relaxed: only the owner writes `biased`, perhaps in an attempt to claim what this thread has claimed */
    bool biased = atomic_load_explicit(&claim->owner, memory_order_relaxed) == (const void *)&tern_bias_owner &&
                  atomic_load_explicit(&claim->biased, memory_order_relaxed);

    atomic_store_explicit(biased ? &claim->biased : &claim->held, false, memory_order_release);
}

/* biased_lock.c: revocation of the bias, and the lock after revocation. */
#include "base/biased_lock.h"

#include <sched.h>

#include "base/membarrier.h"
#include "base/sanitize.h"

#define PATIENCE 16 /* number of yields after which a waiting thread takes precedence over others */

struct tern_bias   tern_bias = { .revoked = true, .revoke_seen = true };
_Thread_local bool tern_bias_owner;

void tern_base_bias_claim(void)
{
#ifndef TERN_BASE_TSAN /* TSan does not understand membarrier */
    bool supported = tern_base_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);

    tern_bias_owner = true;
    atomic_store(&tern_bias.revoke_seen, !supported);
    atomic_store(&tern_bias.revoked, !supported);
#endif
}

void tern_base_bias_revoke(void)
{
    atomic_store_explicit(&tern_bias.revoked, true, memory_order_relaxed); /* ordered by the barrier */
    tern_base_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    /* release: orders the barrier before everything that a thread does after it reads this flag. Pairs with the acquire
     * in tern_base_bias_enter(). */
    atomic_store_explicit(&tern_bias.revoke_seen, true, memory_order_release);
}

/* Try to acquire the lock. is_late: this thread has waited for long, and takes precedence over threads that have
 * not. */
static bool try_lock(struct tern_biased_lock *lock, bool is_late)
{
    /* relaxed: the number is only advice. acquire: the data that the lock guards. Pairs with the release in
     * tern_base_biased_unlock(). */
    return (is_late || atomic_load_explicit(&lock->late, memory_order_relaxed) == 0) &&
           !atomic_load_explicit(&lock->held, memory_order_relaxed) &&
           !atomic_exchange_explicit(&lock->held, true, memory_order_acquire);
}

static __attribute__((noinline)) void wait_for_lock(struct tern_biased_lock *lock)
{
    unsigned yields = 0;

    while (!try_lock(lock, yields >= PATIENCE)) {
        sched_yield(); /* the holder may need this core to run */
        if (yields < PATIENCE && ++yields == PATIENCE)
            atomic_fetch_add_explicit(&lock->late, 1, memory_order_relaxed); /* the number is only advice */
    }
    if (yields == PATIENCE)
        atomic_fetch_sub_explicit(&lock->late, 1, memory_order_relaxed); /* the number is only advice */
}

void tern_base_biased_lock_slow(struct tern_biased_lock *lock)
{
    if (TERN_UNLIKELY(!try_lock(lock, false)))
        wait_for_lock(lock);
    while (atomic_load_explicit(&lock->biased, memory_order_acquire))
        sched_yield(); /* the owner of the bias is inside for the last time */
}

/* ---- claims ---- */

/* Become the owner of the bias of a claim that has none. Returns false if there is an owner, or the bias is not
 * possible. */
static bool claim_bias(struct tern_biased_claim *claim)
{
    const void *none = NULL;
    bool        possible = false;

#ifndef TERN_BASE_TSAN /* TSan does not understand membarrier */
    possible = tern_base_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
#endif
    return possible && atomic_compare_exchange_strong_explicit(&claim->owner, &none, &tern_bias_owner,
                                                               memory_order_relaxed, memory_order_relaxed);
}

/* Make sure that the owner of the bias does not claim with a plain store any more. */
static void revoke_claim(struct tern_biased_claim *claim)
{
    if (TERN_LIKELY(atomic_load_explicit(&claim->revoke_seen, memory_order_acquire))) /* pairs with the store below */
        return;
    atomic_store_explicit(&claim->revoked, true, memory_order_relaxed); /* ordered by the barrier */
    tern_base_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    atomic_store_explicit(&claim->revoke_seen, true, memory_order_release); /* release: orders the barrier before it */
}

bool tern_base_biased_claim_slow(struct tern_biased_claim *claim)
{
    if (atomic_load_explicit(&claim->owner, memory_order_relaxed) == NULL && claim_bias(claim))
        return tern_base_biased_claim(claim);
    if (atomic_load_explicit(&claim->owner, memory_order_relaxed) != NULL)
        revoke_claim(claim);
    /* The owner is either inside for the last time, or does not succeed with a plain store any more. Therefore `held`
     * is not touched before `biased` is false: the attempt of a thread that is refused must not let the owner's fail.
     * acquire: what the previous thread left. Both pair with the releases in tern_base_biased_unclaim(). */
    return !atomic_load_explicit(&claim->biased, memory_order_acquire) &&
           !atomic_exchange_explicit(&claim->held, true, memory_order_acquire);
}
